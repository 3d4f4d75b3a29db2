"""How recognition suffers when bands of frequencies are changed, and whether sensitivity tells.

Every picture is compared with itself unperturbed. Bands are only compared at the same RMSE: scores
take the RMSEs up to the largest at which most bands could be made of most pictures, and the bands
that could be made at all of these.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import around, cluster_counts
from fechner.scores.notes import join_notes, left_out
from fechner.scores.paired import in_common
from fechner.scores.rates import wilson
from fechner.scores.score import Resampled, Score
from fechner.scores.sensitivity import ContrastSensitivity
from fechner.scores.sensitivity_of_bands import correlate, log_sensitivity

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

#: A band counts at an RMSE where so much of the pictures could be made; an RMSE counts where so
#: much of the bands do.
_MOST_PICTURES = 1 / 2
_MOST_BANDS = 2 / 3

_BY_DEFAULT = ContrastSensitivity()


@dataclass(frozen=True)
class BandAccuracy:
    """How accuracy changes by band, and how that goes with contrast sensitivity.

    The first score is the mean change over bands; others need the answers to a test of contrast
    detection, and to the test with the other kind of change, in this order.

    Parameters
    ----------
    sensitivity
        How sensitivity is found in the answers to the test of detection.
    """

    sensitivity: ContrastSensitivity = _BY_DEFAULT

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out."""
        detection, other = (*others, None, None)[:2]
        return [
            score
            for layer, readout, part in outputs(data)
            for score in self._scores(part, layer, readout, detection, other)
        ]

    def _scores(
        self, data: xr.Dataset, layer: str, readout: str, detection: Any, other: Any
    ) -> Iterator[Score]:
        found = Changes(data)
        yield found.score("accuracy-change", found.mean, found.resampled_mean)
        for band, cpd in enumerate(found.bands_cpd[found.bands]):
            value, values = found.by_band[band], found.resampled_by_band[:, band]
            yield found.score(f"accuracy-change-{cpd:.3g}-cpd", float(value), values)
        yield _unperturbed(found)
        if found.reads != "nothing":
            yield _invalid(data, layer, readout)
        known = log_sensitivity(self.sensitivity, detection, found.bands_cpd, layer, readout)
        yield correlate("drop-csf-correlation", found, found.bands, found.levels, known)
        for level, rmse in enumerate(found.rmse):
            alone = np.arange(len(found.rmse)) == level
            bands = found.enough[:, level]
            yield correlate(f"drop-csf-correlation-rmse-{rmse:g}", found, bands, alone, known)
        if other is not None:
            yield _asymmetry(data, other.sel(layer=layer, readout=readout))

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the mean change of one layer and read-out with its bootstrap over pictures."""
        found = Changes(data)
        main = found.score("accuracy-change", found.mean, found.resampled_mean)
        places = np.array([float(zlib.crc32(name.encode())) for name in found.names])
        return Resampled(main, found.resampled_mean, places, "correlation")

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the pictures, bands and RMSEs that both were shown."""
        a, b = in_common(first, second, band="band", rmse="rmse")
        ours, theirs = a["picture"].values, b["picture"].values
        if not np.array_equal(ours, theirs):
            _, i, j = np.intersect1d(ours, theirs, return_indices=True)
            a, b = a.isel(picture=i), b.isel(picture=j)
        known, other = np.isfinite(a["right"].values), np.isfinite(b["right"].values)
        if np.array_equal(known, other):
            return a, b
        both = known & other
        a, b = (part.assign(right=part["right"].where(both)) for part in (a, b))
        return a, b

    def printed(self, value: float, experiment: Any) -> Score:
        """Return a mean change of which only the value is known."""
        nothing = float("nan")
        return Score(
            "accuracy-change", value, nothing, nothing, True, nothing, -1.0, "pictures", n=0
        )


class Changes:
    """Changes of accuracy in the answers of one layer and read-out.

    Attributes
    ----------
    changes
        Right with the change minus right without, [bands, RMSEs, pictures]; NaN where a picture
        could not be made.
    enough
        Where most pictures could be made, [bands, RMSEs].
    bands, levels
        What scores are computed over.
    """

    def __init__(self, data: xr.Dataset) -> None:
        right = data["right"].values
        self.layer, self.readout = str(data["layer"].values), str(data["readout"].values)
        self.reads, self.chance = str(data.attrs["reads"]), float(data.attrs["chance"])
        self.kind = str(data.attrs["kind"])
        self.bands_cpd: Floats = data["band"].values[1:]
        self.rmse: Floats = data["rmse"].values
        readable = np.isfinite(right[0, 0])
        self.unperturbed: Floats = right[0, 0, readable]
        self.names = [str(name) for name in data["picture"].values[readable]]
        self.changes: Floats = right[1:, :, readable] - self.unperturbed
        self.enough, self.bands, self.levels = comparable(np.isfinite(self.changes))
        self.note = join_notes(
            left_out(data["problem"][1:]).replace("points", "pictures"),
            str(data.attrs.get("unreadable", "")).rstrip("."),
            self._in_words(),
        )

    def _in_words(self) -> str:
        if not self.bands.any():
            return ""
        rmse, bands = self.rmse[self.levels], self.bands_cpd[self.bands]
        levels = ", ".join(f"{level:g}" for level in rmse)
        return f"RMSE {levels}; {len(bands)} bands from {bands[0]:.3g} to {bands[-1]:.3g} cpd"

    @property
    def accuracy(self) -> float:
        """Share of unperturbed pictures that are recognised."""
        return float(self.unperturbed.mean()) if len(self.unperturbed) else float("nan")

    def averaged(self, bands: Flags, levels: Flags, counts: Floats | None = None) -> Floats:
        """Return the mean change over pictures and RMSEs for bands, [.., bands].

        Parameters
        ----------
        counts
            How often each picture occurs, [.., pictures]; once if None.
        """
        part = self.changes[bands][:, levels]
        known = np.isfinite(part)
        weights = np.ones(part.shape[-1]) if counts is None else counts
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.tensordot(weights, np.where(known, part, 0.0), (-1, -1))
            return np.asarray((total / np.tensordot(weights, known, (-1, -1))).mean(axis=-1))

    @cached_property
    def counts(self) -> Floats:
        """How often each picture occurs in bootstrap samples."""
        return cluster_counts(len(self.names)) if self.names else np.empty((0, 0))

    @cached_property
    def by_band(self) -> Floats:
        """Mean change, [bands]."""
        return self.averaged(self.bands, self.levels)

    @cached_property
    def resampled_by_band(self) -> Floats:
        """Mean change of other pictures, [resamples, bands]."""
        return self.averaged(self.bands, self.levels, self.counts)

    @property
    def mean(self) -> float:
        """Mean change over bands; NaN where there is nothing to lose."""
        above_chance = self.bands.any() and self.accuracy > self.chance
        return float(self.by_band.mean()) if above_chance else float("nan")

    @property
    def resampled_mean(self) -> Floats:
        """The same of other pictures, [resamples]."""
        if not self.bands.any():
            return np.full(len(self.counts), np.nan)
        return np.asarray(self.resampled_by_band.mean(axis=1))

    def score(self, name: str, value: float, values: Floats) -> Score:
        """Return a change as a score.

        No change is best for a classifier, but nobody knows what people would lose: there is no
        distance from human.
        """
        why = ""
        if not self.bands.any():
            why = "not computable: no band could be changed in most pictures"
        elif not self.accuracy > self.chance:
            why = "not computable: unperturbed pictures are not recognised above chance"
        low, high = around(value, values, len(self.names))
        return Score(
            name,
            float("nan") if why else value,
            float("nan") if why else low,
            float("nan") if why else high,
            higher_is_better=True,
            best=float("nan"),
            chance=float("nan") if why else self.chance - self.accuracy,
            resampled="pictures",
            n=len(self.names),
            layer=self.layer,
            readout=self.readout,
            note=join_notes(self.note, why),
        )


def comparable(known: Flags) -> tuple[Flags, Flags, Flags]:
    """Return where most pictures are known, [bands, RMSEs], and which bands and RMSEs to compare.

    Examples
    --------
    >>> known = np.array([[[1, 1], [1, 1]], [[1, 1], [1, 1]], [[1, 1], [0, 0]]], dtype=bool)
    >>> _, bands, levels = comparable(known)
    >>> bands.tolist(), levels.tolist()
    ([True, True, False], [True, True])
    """
    pictures = known.shape[2]
    enough: Flags = np.asarray(known.sum(axis=2) >= max(_MOST_PICTURES * pictures, 1))
    possible = enough.any(axis=1).sum()
    levels = np.arange(enough.shape[1])
    for level in levels[::-1]:
        bands: Flags = np.asarray(enough[:, : level + 1].all(axis=1))
        if bands.any() and bands.sum() >= _MOST_BANDS * possible:
            return enough, bands, levels <= level
    return enough, np.zeros(len(enough), bool), np.zeros(len(levels), bool)


def _unperturbed(found: Changes) -> Score:
    n = len(found.names)
    low, high = wilson(found.unperturbed.sum(), n) if n else (float("nan"),) * 2
    return Score(
        "accuracy-unperturbed",
        found.accuracy,
        low,
        high,
        higher_is_better=True,
        best=1.0,
        chance=found.chance,
        resampled="pictures",
        n=n,
        layer=found.layer,
        readout=found.readout,
    )


def _invalid(data: xr.Dataset, layer: str, readout: str) -> Score:
    """Return the share of replies that were none of the classes, over pictures."""
    asked = np.isfinite(data["right"].values)
    # What is unperturbed was asked once, and is stored for every RMSE.
    asked[0, 1:] = False
    none = asked & (data["chosen"].values == -1)
    n, k = float(asked.sum()), float(none.sum())
    value = k / n if n else float("nan")
    low, high = wilson(k, n) if n else (float("nan"),) * 2
    return Score(
        "invalid-replies",
        value,
        low,
        high,
        higher_is_better=False,
        best=0.0,
        chance=1.0,
        resampled="trials",
        n=int(n),
        layer=layer,
        readout=readout,
        note=f"none of the classes: {k:g} of {n:g}",
    )


def _asymmetry(data: xr.Dataset, other: xr.Dataset) -> Score:
    """Return by how much more noise changes accuracy than suppression, of the same pictures."""
    own, theirs = Changes(data), Changes(other)
    sign = 1.0 if own.kind == "noise" else -1.0
    _, i, j = np.intersect1d(own.bands_cpd.round(9), theirs.bands_cpd.round(9), return_indices=True)
    _, k, m = np.intersect1d(own.rmse.round(9), theirs.rmse.round(9), return_indices=True)
    _, p, q = np.intersect1d(own.names, theirs.names, return_indices=True)
    own.changes = sign * (own.changes[np.ix_(i, k, p)] - theirs.changes[np.ix_(j, m, q)])
    own.bands_cpd, own.rmse = own.bands_cpd[i], own.rmse[k]
    own.names, own.unperturbed = [own.names[place] for place in p], own.unperturbed[p]
    own.enough, own.bands, own.levels = comparable(np.isfinite(own.changes))
    own.note = own._in_words()
    return own.score("noise-minus-suppression", own.mean, own.resampled_mean)
