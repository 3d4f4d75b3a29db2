"""Human data sets: small CSV files with their source in the header, and what they are about.

A file holds ``#`` lines that tell where the numbers come from, then one table. The registry here
adds what a program needs: units of the columns, conditions of the experiment, uncertainty. The
list `HUMAN` names every human reference of fechner, models and data.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fechner.errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class HumanData:
    """What a data set is, without its numbers.

    Parameters
    ----------
    columns : tuple of (str, str)
        Name and unit of every column, in the order of the file. The units ``"text"`` and
        ``"index"`` mark words and whole numbers.
    uncertainty_db : float
        Standard uncertainty of one contrast in the table, in dB (20 log10 units).
    luminance_cdm2 : float
        Mean luminance of the display.
    frequency_cpd, sigma_deg : float or None
        Spatial frequency of the target or of the reference, and standard deviation of its Gaussian
        window; ``None`` where it varies or there is none.
    """

    key: str
    title: str
    reference_key: str
    columns: tuple[tuple[str, str], ...]
    uncertainty_db: float
    luminance_cdm2: float
    frequency_cpd: float | None = None
    sigma_deg: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class HumanTable:
    """A data set with its numbers; ``table["threshold_contrast"]`` is one column.

    Parameters
    ----------
    columns : Mapping of str to ndarray
        Read-only arrays of equal length; a missing number is NaN. `pandas.DataFrame(dict(columns))`
        makes a table of them.
    header : str
        The text at the head of the file: source, how obtained, uncertainty.
    """

    about: HumanData
    columns: Mapping[str, NDArray[Any]]
    header: str

    def __getitem__(self, column: str) -> NDArray[Any]:
        if column not in self.columns:
            known = ", ".join(self.columns)
            raise UnknownNameError(
                f"column of {self.about.key}", column, self.columns, f"the columns are {known}"
            )
        return self.columns[column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True, slots=True)
class HumanEntry:
    """One line of the list of human references."""

    name: str
    kind: Literal["model", "data"]
    description: str
    reference_key: str


_DATA = (
    HumanData(
        key="foley1994",
        title="Detection of a 2 cpd Gabor on a 2 cpd grating at 0, 45 and 90 deg",
        reference_key="foley1994",
        columns=(
            ("mask_orientation_deg", "deg"),
            ("mask_contrast", "1"),
            ("threshold_contrast", "1"),
            ("mask_db", "dB"),
            ("threshold_db", "dB"),
        ),
        uncertainty_db=0.5,
        luminance_cdm2=32.0,
        frequency_cpd=2.0,
        sigma_deg=0.5,
    ),
    HumanData(
        key="gegenfurtner_kiper1992",
        title="Detection of a 1.2 cpd Gabor in broadband luminance noise",
        reference_key="gegenfurtner_kiper1992",
        columns=(("mask_contrast", "1"), ("threshold_contrast", "1")),
        uncertainty_db=0.5,
        luminance_cdm2=37.0,
        frequency_cpd=1.2,
        sigma_deg=0.8,
    ),
    HumanData(
        key="georgeson_sullivan1975",
        title="Contrast of gratings of 0.25-25 cpd that matches one of 5 cpd",
        reference_key="georgeson_sullivan1975",
        columns=(
            ("reference_index", "index"),
            ("reference_contrast", "1"),
            ("test_frequency_cpd", "cpd"),
            ("matched_contrast", "1"),
        ),
        uncertainty_db=0.8,
        luminance_cdm2=10.0,
        frequency_cpd=5.0,
    ),
    HumanData(
        key="modelfest",
        title="Detection of 43 foveal patterns by 16 observers",
        reference_key="carney1999",
        columns=(
            ("stimulus", "index"),
            ("kind", "text"),
            ("frequency_cpd", "cpd"),
            ("second_frequency_cpd", "cpd"),
            ("orientation_deg", "deg"),
            ("second_orientation_deg", "deg"),
            ("sigma_across_deg", "deg"),
            ("sigma_along_deg", "deg"),
            ("note", "text"),
            ("mean_log10_sensitivity", "log10"),
            ("mean_db", "dB"),
            ("sd_between_log10", "log10"),
            ("sd_run_log10", "log10"),
        ),
        uncertainty_db=0.9,
        luminance_cdm2=30.0,
    ),
    HumanData(
        key="switkes_crognale1999",
        title="Contrasts of 1 cpd gratings that match across colour directions, as one ratio",
        reference_key="switkes_crognale1999",
        columns=(
            ("direction", "text"),
            ("achromatic_contrast", "1"),
            ("dkl_amplitude", "1"),
            ("cone_contrast_l", "1"),
            ("cone_contrast_m", "1"),
            ("cone_contrast_s", "1"),
            ("cone_contrast_rms", "1"),
        ),
        uncertainty_db=0.8,
        luminance_cdm2=21.4,
        frequency_cpd=1.0,
    ),
)

DATASETS: Mapping[str, HumanData] = MappingProxyType({data.key: data for data in _DATA})
"""Every data set by its key."""

#: What each model says.
_MODELS = {
    "brightness": "Brightness of patches on a background: how far above the darkest",
    "castle_csf": "Sensitivity over colour, area, space, time, luminance, eccentricity (castleCSF)",
    "castle_csf_disc": "castleCSF for a disc with a sharp edge",
    "chromatic_rg_csf": "Red-green companion of the Standard Spatial Observer, after Mullen 1985",
    "chromatic_yb_csf": "Yellow-blue companion of the Standard Spatial Observer, after Mullen 1985",
    "colour_matching": "Colour-matching functions of the 2 deg observer, after Judd and Vos",
    "colour_response": "Colour of patches on a background, CIEDE2000 with a sign",
    "contrast_increment": (
        "Just noticeable difference of contrast over contrast, frequency, colour, mask"
    ),
    "contrast_response": (
        "Response to contrast: just noticeable differences from nothing, summed up"
    ),
    "critical_flicker_frequency": (
        "Highest frequency at which a disc is seen to flicker at full contrast (elaTCSF)"
    ),
    "elatcsf_disc": (
        "Sensitivity to flicker over frequency, luminance, radius, eccentricity (elaTCSF)"
    ),
    "elatcsf_rectangle": "elaTCSF for a rectangle",
    "foley_threshold": "Threshold of a 2 cpd Gabor on a grating, by divisive inhibition",
    "jameson_hurvich": "Achromatic, red-green and yellow-blue curves over wavelength",
    "kulikowski_match": "Contrast that looks the same at another frequency, from two thresholds",
    "standard_spatial_observer": "Achromatic sensitivity over frequency and orientation",
    "threshold_elevation": "Rise of the threshold by a mask of another frequency and orientation",
    "watson_ahumada_csf": "Filter of the standard model for foveal detection (HPmH)",
}

#: Models by the key of their reference.
_REFERENCES = {
    "ashraf2024": ("castle_csf", "castle_csf_disc"),
    "cai2024_elatcsf": ("critical_flicker_frequency", "elatcsf_disc", "elatcsf_rectangle"),
    "foley1994": ("foley_threshold",),
    "jameson_hurvich1957": ("jameson_hurvich",),
    "kulikowski1976": ("kulikowski_match",),
    "vila_tomas2026": (
        "brightness",
        "chromatic_rg_csf",
        "chromatic_yb_csf",
        "colour_response",
        "contrast_increment",
        "contrast_response",
        "threshold_elevation",
    ),
    "vos1978": ("colour_matching",),
    "watson_ahumada2005": ("watson_ahumada_csf",),
    "watson_malo2002": ("standard_spatial_observer",),
}
_KEYS = {name: key for key, names in _REFERENCES.items() for name in names}

HUMAN: tuple[HumanEntry, ...] = (
    *(HumanEntry(name, "model", text, _KEYS[name]) for name, text in sorted(_MODELS.items())),
    *(HumanEntry(data.key, "data", data.title, data.reference_key) for data in _DATA),
)
"""Every human reference, models first, each kind sorted by name."""


@cache
def load(name: str) -> HumanTable:
    """Read a data set.

    The columns, what they are, and the header of the file. Read once per process.

    Parameters
    ----------
    name : str
        Key in `DATASETS`.

    Examples
    --------
    >>> table = load("foley1994")
    >>> len(table), float(table["threshold_contrast"][0])
    (30, 0.0261016)
    """
    if name not in DATASETS:
        raise UnknownNameError(
            "human data set", name, DATASETS, f"the data sets are {', '.join(DATASETS)}"
        )
    about = DATASETS[name]
    header = "\n".join(line[1:].removeprefix(" ") for line in _lines(name) if line[0] == "#")
    return HumanTable(about, read_columns(name, about.columns), header)


def read_columns(name: str, columns: tuple[tuple[str, str], ...]) -> Mapping[str, NDArray[Any]]:
    """Read the table of a file: columns by name, each with its unit."""
    rows = list(csv.DictReader(line for line in _lines(name) if line[0] != "#"))
    return MappingProxyType(
        {column: _array([row[column] for row in rows], unit) for column, unit in columns}
    )


def _lines(name: str) -> list[str]:
    source = resources.files("fechner.human").joinpath("data", f"{name}.csv")
    return source.read_text(encoding="utf-8").splitlines()


def _array(cells: list[str], unit: str) -> NDArray[Any]:
    array: NDArray[Any]
    if unit == "text":
        array = np.array(cells, dtype=np.str_)
    elif unit == "index":
        array = np.array([int(cell) for cell in cells], dtype=np.int64)
    else:
        array = np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    array.setflags(write=False)  # the table is shared by everyone who loads it
    return array
