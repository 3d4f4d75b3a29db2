"""Fits of receptive fields as a table: a unit on each row."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

from fechner.physiology import DogFit, GaborFit, Tuning

_GABOR = (
    "frequency_cpd",
    "peak_cpd",
    "bandwidth_octaves",
    "orientation_deg",
    "phase_deg",
    "sigma_deg",
    "sigma_along_deg",
    "aspect",
    "n_x",
    "n_y",
    "x_deg",
    "y_deg",
    "amplitude",
)
_DOG = (
    "centre_sigma_deg",
    "surround_sigma_deg",
    "centre_weight",
    "surround_weight",
    "x_deg",
    "y_deg",
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
    rows = [row(tuning) for tuning in tunings]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for each in rows:
        missing = {k: "" for k, v in each.items() if isinstance(v, float) and math.isnan(v)}
        writer.writerow(each | missing)
    return file.getvalue()
