"""Writing sheets of receptive fields: figures, one self-contained page, or a table."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path

import fechner
from fechner.errors import FechnerError, UnknownNameError
from fechner.physiology import RULES, Tuning
from fechner.report.fields.sheet import draw_sheets
from fechner.report.fields.table import row, to_csv
from fechner.report.fields.words import Section, caption, scale_bar, sections
from fechner.report.paper.style import SUFFIXES as FIGURES
from fechner.report.paper.style import save_pages
from fechner.runs.store import write_atomically

SUFFIXES = (*FIGURES, ".html", ".csv")

#: Columns of the table on the page.
_SHOWN = (
    "channel",
    "kind",
    "gabor_frequency_cpd",
    "gabor_peak_cpd",
    "gabor_bandwidth_octaves",
    "gabor_orientation_deg",
    "gabor_phase_deg",
    "gabor_n_x",
    "gabor_n_y",
    "gabor_aspect",
    "gabor_r2",
    "dog_centre_sigma_deg",
    "dog_surround_sigma_deg",
    "dog_antagonism",
    "dog_r2",
    "colour_axis",
    *"atdlms",
    "azimuth_deg",
    "elevation_deg",
    "separable",
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
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fechner.report.fields", "template"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "picture": _data_uri,
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


def _data_uri(tuning: Tuning, section: Section) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(section.picture(tuning)).save(file, format="PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
