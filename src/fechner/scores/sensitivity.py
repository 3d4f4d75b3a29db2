"""Contrast sensitivity from answers: thresholds per prompt, a curve, and its distance from people.

A psychometric function is fitted to the answers to every prompt at every frequency. Its threshold
is where the observer detects half the time, corrected for guesses and lapses; sensitivity is its
inverse, averaged over prompts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import RESAMPLES, Scale, cluster_counts, interval
from fechner.scores.detectability import d_prime_scores
from fechner.scores.notes import SAME_ANSWERS, TOO_FEW, join_notes, left_out
from fechner.scores.paired import in_common
from fechner.scores.rates import rate_score
from fechner.scores.score import Resampled, Score
from fechner.scores.thresholds import Thresholds, thresholds
from fechner.scores.wording import Asked, wording_scores

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Frequencies with a threshold that a correlation needs.
FEWEST = 3

_SAME = "not computable: it is as sensitive to every frequency as to any other"

#: A curve that varies by less than this share is flat.
_FLAT = 1e-3

#: Slope of what stands for a step where it is drawn.
_STEP = 1e4

#: What stands for the number of clusters where trials are resampled, of which there are many.
_MANY = 1000


@dataclass(frozen=True)
class ContrastSensitivity:
    """How the contrast sensitivity of an observer compares with people's.

    The first score is Pearson's correlation with the Standard Spatial Observer, in sensitivity.

    Parameters
    ----------
    guess
        Share of right answers by chance; None where the observer's own rate of yes is to be found.
    by_likelihood
        Fit by maximum likelihood, without guesses and lapses, and threshold where yes is said half
        the time, as published.
    arithmetic
        Average sensitivities over prompts as published; else thresholds, geometrically.
    """

    guess: float | None = None
    by_likelihood: bool = False
    arithmetic: bool = False

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out."""
        return [
            score
            for layer, readout, part in outputs(data)
            for score in self._scores(part, layer, readout)
        ]

    def measured(self, data: xr.Dataset) -> Thresholds:
        """Return the thresholds of one layer and read-out."""
        return thresholds(data, self.guess, self.by_likelihood)

    def curve(self, found: Thresholds) -> Floats:
        """Return sensitivity at every frequency, averaged over prompts; NaN where it is unknown."""
        counts = np.ones((1, found.log10.shape[1]))
        return np.asarray(self._pooled(found.log10[None], counts)[0])

    def fitted(self, found: Thresholds, point: int, contrasts: Floats) -> Floats:
        """Return the probability of yes at contrasts: the mean of the functions of all prompts."""
        from fechner.psychometrics import MaximumLikelihood, psychometric

        own = found.fitted
        if not isinstance(own, MaximumLikelihood):
            return np.asarray(own[point].probability(contrasts).probability.mean(axis=0))
        # Nothing but yes, or nothing but no, has no threshold but is known all the same.
        ends = {"below": 0.0, "above": np.inf}
        threshold = np.array(
            [ends.get(c, t) for c, t in zip(own.censored[point], own.threshold[point], strict=True)]
        )
        slope = np.where(np.isfinite(own.slope[point]), own.slope[point], _STEP)
        curves = psychometric(
            contrasts, threshold[:, None], slope[:, None], guess=self.guess or 0.0
        )
        known = np.isfinite(curves).all(axis=1)
        return (
            np.asarray(curves[known].mean(axis=0))
            if known.any()
            else np.full(len(contrasts), np.nan)
        )

    def band(self, found: Thresholds) -> tuple[Floats, Floats]:
        """Return the 95 % range of the curve over prompts and trials."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where no prompt has a threshold there is no range
            low, high = np.nanpercentile(self.resampled_curves(found), (2.5, 97.5), axis=0)
        return low, high

    def _pooled(self, log10: Floats, counts: Floats) -> Floats:
        """Average thresholds [.., points, prompts] over prompts that occur so often, [.., points].

        Prompts without a threshold are left out.
        """
        weights = np.where(np.isfinite(log10), counts[:, None, :], 0.0)
        values = np.where(np.isfinite(log10), -log10, 0.0)
        total = weights.sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.arithmetic:
                return np.asarray((weights * 10**values).sum(axis=-1) / total)
            return np.asarray(10 ** ((weights * values).sum(axis=-1) / total))

    def resampled_curves(self, found: Thresholds) -> Floats:
        """Return curves of other prompts and other trials, [resamples, points]."""
        prompts = found.log10.shape[1]
        counts = cluster_counts(prompts) if prompts > 1 else np.ones((RESAMPLES, 1))
        order = np.random.default_rng(0).integers(found.draws.shape[-1], size=RESAMPLES)
        draws = np.moveaxis(found.draws[..., order], -1, 0)
        return self._pooled(draws, counts)

    def _scores(self, data: xr.Dataset, layer: str, readout: str) -> Iterator[Score]:
        found = self.measured(data)
        own, others = self.curve(found), self.resampled_curves(found)
        usable = found.usable & np.isfinite(own)
        clusters = found.log10.shape[1]
        note = join_notes(left_out(data["dropped"]), found.note)

        def score(
            name: str, human: Floats, measure: Any, scale: Scale, chance: float, words: str = ""
        ) -> Score:
            enough = (usable & found.known).sum() >= FEWEST
            value = measure(own[usable], human[usable]) if enough else float("nan")
            low = high = float("nan")
            # One prompt and a fit without a posterior leave nothing to resample.
            if enough and not np.isnan(value) and max(clusters, found.draws.shape[-1]) > 1:
                resampled = np.array([measure(row[usable], human[usable]) for row in others])
                many = clusters if clusters > 1 else _MANY
                low, high = interval(value, resampled, many, scale)
            why = "" if enough else TOO_FEW
            if found.n.any() and found.k.sum() in (0, found.n.sum()):
                why = SAME_ANSWERS
            elif enough and np.isnan(value):
                why = _SAME
            return Score(
                name,
                value,
                low,
                high,
                higher_is_better=scale == "correlation",
                best=1.0 if scale == "correlation" else 0.0,
                chance=chance,
                resampled="prompts" if clusters > 1 else "trials",
                n=int(usable.sum()),
                layer=layer,
                readout=readout,
                note=join_notes(note, why, words),
            )

        sso, castle = 1 / found.human, 1 / found.castle
        yield score(
            "csf-correlation", sso, correlation, "correlation", 0.0, shape_in_words(found, own)
        )
        yield score("csf-correlation-log", sso, _in_log(correlation), "correlation", 0.0)
        # An observer that sees nothing at all, and one as sensitive to everything.
        blind = _level(sso[usable])
        said = f"an observer that sees nothing has {blind:.1f}"
        yield score("csf-rmse", sso, rmse, "error", blind, said if np.isfinite(blind) else "")
        yield score("csf-rmse-log10", sso, _in_log(rmse), "error", _spread(sso[usable]))
        yield score("castle-correlation", castle, correlation, "correlation", 0.0)
        yield score("castle-rmse-log10", castle, _in_log(rmse), "error", _spread(castle[usable]))
        place: dict[str, Any] = {"layer": layer, "readout": readout}
        if self.guess is None:
            yield rate_score("false-alarms", found.false_alarms, "yes to nothing", 0.5, place)
        if found.reads != "nothing":
            yield rate_score("invalid-replies", found.invalid, "neither yes nor no", 1.0, place)
        yield from d_prime_scores(found, self.guess, place)
        yield from self.wording(found, **place)

    def wording(self, found: Thresholds, layer: str = "", readout: str = "") -> Iterator[Score]:
        """Return scores of how much answers depend on wording, where all were asked the same."""
        if found.same_pictures is not None:
            with np.errstate(divide="ignore"):
                asked = Asked(found.same_pictures, found.contrasts, 1 / self.curve(found))
            yield from wording_scores(asked, layer, readout)

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the correlation of one layer and read-out with its bootstrap over frequencies."""
        found = self.measured(data)
        own = self.curve(found)
        usable = self._known(data)
        (main, *_) = self._scores(data, str(data["layer"].values), str(data["readout"].values))
        counts = cluster_counts(int(usable.sum())) if usable.any() else np.empty((0, 0))
        values = np.array([_weighted(own[usable], 1 / found.human[usable], row) for row in counts])
        return Resampled(main, values, found.abscissae[usable], "correlation")

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the frequencies at which both have a threshold."""
        a, b = in_common(first, second, point="abscissa")
        both = self._known(a) & self._known(b)
        return a.isel(point=both), b.isel(point=both)

    def _known(self, data: xr.Dataset) -> NDArray[np.bool_]:
        found = self.measured(data)
        return np.asarray(found.usable & np.isfinite(self.curve(found)))

    def printed(self, value: float, experiment: Any) -> Score:
        """Return a correlation of which only the value is known."""
        nothing = float("nan")
        return Score(
            "csf-correlation", value, nothing, nothing, True, 1.0, 0.0, resampled="prompts", n=0
        )


def correlation(a: Floats, b: Floats) -> float:
    """Return Pearson's correlation; NaN where one of them does not vary.

    Examples
    --------
    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])), 4)
    0.982
    """
    return _weighted(a, b, np.ones(len(a)))


def _weighted(a: Floats, b: Floats, weights: Floats) -> float:
    # A fit is good to a millionth or so, which is no variation.
    if any(np.ptp(x) <= _FLAT * np.abs(x).max() for x in (a, b)):
        return float("nan")
    a, b = (x - np.average(x, weights=weights) for x in (a, b))
    with np.errstate(invalid="ignore"):  # a bootstrap sample may be of one point
        scale = np.sqrt((weights * a * a).sum() * (weights * b * b).sum())
        return float((weights * a * b).sum() / scale)


def rmse(a: Floats, b: Floats) -> float:
    """Return the root of the mean squared difference."""
    return float(np.sqrt(np.square(a - b).mean()))


def _in_log(measure: Any) -> Any:
    def of_logs(a: Floats, b: Floats) -> float:
        return float(measure(np.log10(a), np.log10(b)))

    return of_logs


def _level(sensitivity: Floats) -> float:
    return float(np.sqrt(np.square(sensitivity).mean())) if len(sensitivity) else float("nan")


def _spread(sensitivity: Floats) -> float:
    return float(np.log10(sensitivity).std()) if len(sensitivity) else float("nan")


def shape_in_words(found: Thresholds, sensitivity: Floats) -> str:
    """Say where a curve peaks and how wide it is, beside people's."""
    seen = found.usable & np.isfinite(sensitivity)
    if (seen & found.known).sum() < FEWEST:
        return ""
    beyond = found.abscissae[found.shown & ~found.usable]
    if len(beyond):
        ends = " to ".join(dict.fromkeys(f"{end:.2g}" for end in beyond[[0, -1]]))
        return f"most sensitive at {ends}, which the score leaves out"
    x = found.abscissae[seen]
    own = curve_shape(x, sensitivity[seen])
    human = curve_shape(x, 1 / found.human[seen])
    if np.isnan(correlation(sensitivity[seen], 1 / found.human[seen])):
        return ""
    known = [f"{end:.2g}" for end in own[1:] if np.isfinite(end)]
    half = f", half as high at {' and '.join(known)}" if known else ""
    return f"peak at {own[0]:.2g} (people {human[0]:.2g}){half}"


def curve_shape(x: Floats, sensitivity: Floats) -> tuple[float, float, float]:
    """Return where a curve peaks, and where it is half as high below and above; NaN outside.

    Examples
    --------
    >>> x = np.geomspace(0.5, 32, 13)
    >>> [round(f, 3) for f in curve_shape(x, np.exp(-(np.log2(x / 4) ** 2) / 2))]
    [4.0, 1.797, 8.904]
    """
    at = int(np.argmax(sensitivity))
    u, v = np.log(x), np.log(sensitivity)
    peak, top = u[at], v[at]
    if 0 < at < len(x) - 1:
        a, b, _ = np.polyfit(u[at - 1 : at + 2], v[at - 1 : at + 2], 2)
        if a < 0:
            peak = -b / (2 * a)
    half = top - np.log(2)

    def crossing(side: slice) -> float:
        us, vs = u[side], v[side]
        if len(us) < 2 or vs[-1] > half:
            return float("nan")
        i = int(np.argmax(vs <= half))
        share = (vs[i - 1] - half) / (vs[i - 1] - vs[i])
        return float(np.exp(us[i - 1] + share * (us[i] - us[i - 1])))

    below = crossing(slice(at, None, -1)) if at else float("nan")
    return float(np.exp(peak)), below, crossing(slice(at, None))
