"""Whether a loss of accuracy by band goes with contrast sensitivity there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.scores.bootstrap import RESAMPLES, cluster_counts, interval
from fechner.scores.notes import join_notes
from fechner.scores.score import Score
from fechner.scores.sensitivity import ContrastSensitivity

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.scores.band_robustness import Changes

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

#: Bands that a correlation needs.
_FEWEST = 3


class LogSensitivity(NamedTuple):
    """Log10 of contrast sensitivity at the centres of bands; NaN where it was not measured.

    Parameters
    ----------
    value
        [bands].
    draws
        Of other prompts and trials, [resamples, bands].
    note
        Whose sensitivity it is, or why there is none.
    """

    value: Floats
    draws: Floats
    note: str


def log_sensitivity(
    scorer: ContrastSensitivity,
    detection: xr.Dataset | None,
    bands_cpd: Floats,
    layer: str,
    readout: str,
) -> LogSensitivity:
    """Return sensitivity at the centres of bands, from the answers to a test of detection.

    It is interpolated between the frequencies tested, on logarithmic scales. Where the observer was
    asked to detect at other places than those at which it recognises, the last layer and its first
    read-out are taken.
    """
    nothing = np.full(len(bands_cpd), np.nan)
    unknown = np.full((RESAMPLES, len(bands_cpd)), np.nan)
    if detection is None:
        why = "not computable: its contrast sensitivity was not measured in this run"
        return LogSensitivity(nothing, unknown, why)
    at = (
        _or_else(detection["layer"].values, layer, -1),
        _or_else(detection["readout"].values, readout, 0),
    )
    found = scorer.measured(detection.sel(layer=at[0], readout=at[1]))
    own = scorer.curve(found)
    usable = found.usable & np.isfinite(own)
    note = "" if at == (layer, readout) else f"sensitivity at {at[0]} by {at[1]}"
    if usable.sum() < _FEWEST:
        return LogSensitivity(nothing, unknown, join_notes(note, "too few thresholds"))
    x, wanted = np.log(found.abscissae[usable]), np.log(bands_cpd)
    # Rounding does not put a band outside of what was tested.
    inside = (wanted >= x[0] - 1e-9) & (wanted <= x[-1] + 1e-9)

    def at_bands(sensitivity: Floats) -> Floats:
        return np.where(inside, np.interp(wanted, x, np.log10(sensitivity[usable])), np.nan)

    draws = np.stack([at_bands(row) for row in scorer._resampled(found)])
    return LogSensitivity(at_bands(own), draws, note)


def _or_else(names: Any, wanted: str, otherwise: int) -> str:
    return wanted if wanted in names else str(names[otherwise])


def correlate(
    name: str, found: Changes, bands: Flags, levels: Flags, known: LogSensitivity
) -> Score:
    """Return Pearson's correlation over bands of the drop of accuracy with log sensitivity.

    The interval is over bands and pictures, both resampled, and over what is not known of the
    sensitivity.
    """
    bands = bands & np.isfinite(known.value)
    n = int(bands.sum())
    value, low, high, why = float("nan"), float("nan"), float("nan"), ""
    if n < _FEWEST:
        why = known.note or "not computable: too few bands"
    else:
        drops = -found.averaged(bands, levels)
        value = float(_weighted(drops[None], known.value[bands][None], np.ones((1, n)))[0])
        if np.isnan(value):
            why = "not computable: accuracy drops by the same at every band"
        else:
            others = -found.averaged(bands, levels, found.counts)
            # Pictures and bands are drawn independently of each other.
            order = np.random.default_rng(1).permutation(RESAMPLES)
            weights = cluster_counts(n)[order]
            values = _weighted(others, known.draws[:, bands], weights)
            low, high = interval(value, values, n, "correlation")
    return Score(
        name,
        value,
        low,
        high,
        higher_is_better=True,
        best=1.0,
        chance=0.0,
        resampled="bands and pictures",
        n=n,
        layer=found.layer,
        readout=found.readout,
        note=join_notes(
            "RMSE " + ", ".join(f"{level:g}" for level in found.rmse[levels]), why or known.note
        ),
    )


def _weighted(a: Floats, b: Floats, weights: Floats) -> Floats:
    """Return correlations of rows, [resamples, bands], that count so often; NaN of constants."""

    def centred(x: Floats) -> Floats:
        mean = (weights * x).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
        return np.asarray(x - mean)

    a, b = centred(a), centred(b)
    squares = (weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (weights * a * b).sum(axis=1) / np.sqrt(squares)
    return np.where(squares > 1e-20, found, np.nan)
