"""Sheets of receptive fields: figures, one self-contained page, or a table of fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import fechner
from fechner.errors import FechnerError, UnknownNameError
from fechner.physiology import RULES, DogFit, GaborFit, Tuning
from fechner.report.fields.words import Section, caption, draw_sheets, scale_bar, sections
from fechner.report.figures.style import SUFFIXES as FIGURES
from fechner.report.figures.style import save_pages
from fechner.report.html import as_uri, templates
from fechner.runs.store import write_atomically

__all__ = [
    "SUFFIXES",
    "check_sheet_path",
    "draw_sheets",
    "make_fields_page",
    "to_csv",
    "write_sheet",
]

SUFFIXES = (*FIGURES, ".html", ".csv")

#: Columns of the table on the page.
_SHOWN = (
    *("channel", "kind", "gabor_frequency_cpd", "gabor_peak_cpd", "gabor_bandwidth_octaves"),
    *("gabor_orientation_deg", "gabor_phase_deg", "gabor_n_x", "gabor_n_y", "gabor_aspect"),
    *("gabor_r2", "dog_centre_sigma_deg", "dog_surround_sigma_deg", "dog_antagonism", "dog_r2"),
    *("colour_axis", *"atdlms", "azimuth_deg", "elevation_deg", "separable"),
)


def check_sheet_path(path: Path | str) -> Path:
    """Return where a sheet can be written, by its suffix."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        known = f"'{path}' should end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise UnknownNameError("kind of sheet", path.suffix, SUFFIXES, known)
    if not path.parent.is_dir():
        raise FechnerError(f"{path} cannot be written: there is no folder '{path.parent}'.")
    return path


def write_sheet(tunings: Sequence[Tuning], path: Path | str) -> str:
    """Write receptive fields by the suffix of a file, and say what was written.

    A figure of several pages is one PDF, or several PNG or SVG files, numbered from the second on.
    """
    path = check_sheet_path(path)
    suffix = path.suffix.lower()
    if suffix in FIGURES:
        pages = draw_sheets(tunings)
        paths = save_pages(pages, path)
        width, height = (
            round(25.4 * max(float(page.get_size_inches()[side]) for page in pages))
            for side in (0, 1)
        )
        size = f"{width} x {height} mm"
        if len(pages) == 1:
            return f"{path}: {size}"
        to = "" if len(paths) == 1 else f" to {paths[-1]}"
        return f"{path}{to}: {len(pages)} pages of {size} at most"
    text = to_csv(tunings) if suffix == ".csv" else make_fields_page(tunings)
    write_atomically(path, text.encode())
    return f"{path}: {len(tunings)} units"


def make_fields_page(tunings: Sequence[Tuning]) -> str:
    """Return receptive fields as HTML that needs nothing else."""
    environment = templates("fields/template")
    environment.filters |= {
        "picture": lambda tuning, section: as_uri(section.picture(tuning), "PNG"),
        "caption": caption,
        "row": _cells,
        "bar": _bar,
    }
    return environment.get_template("fields.html").render(
        sections=sections(tunings),
        columns=[name.replace("_", " ") for name in _SHOWN],
        rules=RULES,
        version=fechner.__version__,
    )


def _cells(tuning: Tuning) -> list[str]:
    found = row(tuning)
    return [_cell(found[name]) for name in _SHOWN]


def _cell(value: object) -> str:
    if isinstance(value, float):
        tiny = abs(value) < 1e-9
        return "" if value != value else "0" if tiny else f"{value:.3g}"
    return str(value)


def _bar(tuning: Tuning, section: Section) -> tuple[float, str]:
    """Return the length of a scale bar, in percent of the picture's side, and its label."""
    side = section.side_deg(tuning)
    length = scale_bar(side)
    return 100 * length / side, f"{length:g}°"


# Fits as a table

_GABOR = (
    *("frequency_cpd", "peak_cpd", "bandwidth_octaves", "orientation_deg", "phase_deg"),
    *("sigma_deg", "sigma_along_deg", "aspect", "n_x", "n_y", "x_deg", "y_deg", "amplitude"),
)
_DOG = (
    *("centre_sigma_deg", "surround_sigma_deg", "centre_weight", "surround_weight"),
    *("x_deg", "y_deg"),
)


def row(tuning: Tuning) -> dict[str, Any]:
    """Return what is known of a receptive field, by column; missing is nan."""
    field, colour = tuning.field, tuning.colour
    found: dict[str, Any] = {
        "observer": field.observer,
        "layer": field.layer,
        "channel": field.unit.channel,
        "place": " ".join(map(str, field.unit.place)),
        "by": field.by,
        "kind": tuning.kind,
        "ceiling": tuning.ceiling,
        "linear": math.nan if field.linear is None else field.linear,
        "pixels": field.window.size_px[0] * field.window.size_px[1],
    }
    found |= _fit("gabor", tuning.gabor, _GABOR)
    found |= _fit("dog", tuning.dog, _DOG)
    found["dog_antagonism"] = math.nan if tuning.dog is None else tuning.dog.antagonism
    found["colour_axis"] = colour.axis
    found |= dict(zip(("a", "t", "d"), colour.atd, strict=True))
    found |= dict(zip(("l", "m", "s"), colour.cones, strict=True))
    found |= {
        "azimuth_deg": colour.azimuth_deg,
        "elevation_deg": colour.elevation_deg,
        "separable": colour.separable,
    }
    return found


def _fit(kind: str, fit: GaborFit | DogFit | None, names: Iterable[str]) -> dict[str, float]:
    found = {f"{kind}_r2": math.nan if fit is None else fit.r2}
    for name in names:
        value, error = (
            (math.nan, math.nan) if fit is None else (getattr(fit, name), fit.errors.get(name))
        )
        found[f"{kind}_{name}"] = float(value)
        found[f"{kind}_{name}_error"] = math.nan if error is None else error
    return found


def to_csv(tunings: Iterable[Tuning]) -> str:
    """Return fits as CSV, a unit on each row; what was not found is empty."""
    import pandas as pd

    frame = pd.DataFrame([row(tuning) for tuning in tunings])
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text
