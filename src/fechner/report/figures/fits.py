"""Psychometric functions as matplotlib draws them: curve with answers, and what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.arrays import Floats
from fechner.errors import FechnerError
from fechner.psychometrics.functions import from_axis, to_axis
from fechner.report.figures.axes import Scale, set_axis
from fechner.report.figures.style import INK, PALETTE, finish, new_page, paper_style
from fechner.report.panels import Which
from fechner.scores.panels import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fechner.psychometrics.result import Fit, Name

#: Sizes of figures with one panel, and of each panel of several, in mm.
_ONE_MM, _EACH_MM = (85.0, 65.0), (50.0, 45.0)

#: Area of the point with the most trials, in square points, and share of the rest of the area that
#: points with few trials have at least.
_LARGEST_POINT, _LEAST = 40.0, 0.08

#: Length of the axis beyond the levels, in lengths of their range.
_BEYOND = 0.06

_CURVE, _PRIOR = PALETTE[0], "#8A8A8A"


def draw_function(
    fit: Fit, *, axes: Axes | None = None, label: str = "level", answer: str = "P(yes)"
) -> Figure:
    """Draw one function: answers, the curve with its credible band, and the threshold.

    The area of points is the number of trials. The vertical line is the threshold, half-way between
    the asymptotes, and the horizontal one its credible interval; a censored threshold is an arrow
    at its bound. Level 0 of the log scale stands at the left, where the axis is broken.

    Parameters
    ----------
    fit
        Of one function; take one of several with ``fit[i]``.
    axes
        Where to draw; a new figure of one column if None.
    label, answer
        Of the two axes.
    """
    _check_one(fit)
    given = axes
    with paper_style():
        figure, (axes,) = _figure(1, given)
        asked = fit.n > 0
        levels, n, k = fit.levels[asked], fit.n[asked], fit.k[asked]
        zero = (levels == 0) if fit.scale == "log" else np.zeros(len(levels), bool)
        tested = to_axis(levels[~zero], fit.scale)
        first, last = tested.min(), tested.max()
        beyond = _BEYOND * (last - first or 1.0)
        low, high = first - beyond, last + beyond
        fine = from_axis(np.linspace(low, high, 300), fit.scale)
        curve = fit.probability(fine)
        axes.fill_between(fine, curve.low, curve.high, color=_CURVE, alpha=0.2, lw=0)
        axes.plot(fine, fit.curve(fine), color=_CURVE)
        # Level 0 stands where it is seen to be apart.
        nothing = from_axis(np.array(first - 3 * beyond), fit.scale)
        area = _LARGEST_POINT * np.maximum(n / n.max(), _LEAST)
        points: dict[str, Any] = {"alpha": 0.75, "lw": 0, "zorder": 3, "clip_on": False}
        axes.scatter(np.where(zero, nothing, levels), k / n, area, INK, **points)
        ends = np.array([low - 3 * beyond if zero.any() else low, high])
        _set_scale(axes, "x", fit, "threshold", fine)
        axes.set(xlim=from_axis(ends, fit.scale), ylim=(-0.02, 1.02), xlabel=label, ylabel=answer)
        if zero.any():
            apart = float(from_axis(np.array(low - beyond), fit.scale))
            axes.axvline(apart, color=INK, lw=0.5, ls=":")
            where = axes.get_xaxis_transform()
            axes.annotate(
                "0", (float(nothing), 0), (0, -4), where, "offset points", ha="center", va="top"
            )
        _threshold(axes, fit)
        axes.spines[["top", "right"]].set_visible(False)
        return finish(figure) if given is None else figure


def draw_marginals(fit: Fit, *, label: str = "level") -> Figure:
    """Draw the posterior of each parameter of one function that was estimated, with its prior.

    Densities are over the axes of the grid (logarithms of thresholds on the log scale, and of
    slopes), the highest point of the posterior at 1; the shaded part is the credible interval.
    """
    _check_one(fit)
    every: list[Name] = ["threshold", "slope", "guess", "lapse", "overdispersion"]
    free = fit.ends[:, 1] > fit.ends[:, 0]
    names = [name for name, estimated in zip(every, free, strict=False) if estimated]
    if fit.equal_asymptotes and "guess" in names:
        names.remove("guess")
    with paper_style():
        figure, panels = _figure(len(names))
        for axes, name in zip(panels, names, strict=True):
            values, log_density = fit.marginal(name)
            density = np.exp(log_density - log_density.max())
            low, high = (
                fit.overdispersion[1:]
                if name == "overdispersion"
                else (getattr(end, name) for end in (fit.low, fit.high))
            )
            inside = np.where((values >= low) & (values <= high), density, np.nan)
            axes.fill_between(values, 0, inside, color=_CURVE, alpha=0.2, lw=0)
            axes.plot(values, density, color=_CURVE)
            axes.axvline(_value(fit, name), color=PALETTE[1], lw=0.8)
            axes.plot(values, _prior(fit, name, values, log_density), color=_PRIOR, lw=0.8, ls="--")
            _set_scale(axes, "x", fit, name, values)
            axes.set(xlabel=label if name == "threshold" else name, yticks=[], ylim=(0, 1.08))
            axes.spines[["top", "right", "left"]].set_visible(False)
        panels[0].set_ylabel("density")
        return finish(figure)


def draw_joint(
    fit: Fit,
    first: Name = "threshold",
    second: Name = "slope",
    *,
    axes: Axes | None = None,
) -> Figure:
    """Draw the joint posterior of two parameters of one function, with regions of 50 and 95 %."""
    x, y, density = fit.joint(first, second)
    given = axes
    with paper_style():
        figure, (axes,) = _figure(1, given)
        axes.pcolormesh(x, y, density.T, cmap="Blues", shading="nearest", rasterized=True)
        # Contours that enclose a share of the whole.
        ranked = np.sort(density.ravel())[::-1]
        held = np.cumsum(ranked) / ranked.sum()
        heights = [float(ranked[np.searchsorted(held, share)]) for share in (0.95, 0.5)]
        if heights[0] < heights[1]:
            axes.contour(x, y, density.T, heights, colors=INK, linewidths=0.7)
        at = [_value(fit, name) for name in (first, second)]
        axes.plot(*at, marker="+", color=PALETTE[1], ms=6, mew=1.2)
        _set_scale(axes, "x", fit, first, x)
        _set_scale(axes, "y", fit, second, y)
        axes.set(xlabel=first, ylabel=second)
        return finish(figure) if given is None else figure


def _figure(panels: int, given: Axes | None = None) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, or the axes that somebody has already."""
    if given is not None:
        return given.get_figure(root=True), [given]  # type: ignore[return-value]
    width, height = _ONE_MM if panels == 1 else (panels * _EACH_MM[0], _EACH_MM[1])
    figure = new_page(width, 200.0, height)
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def _set_scale(axes: Axes, which: Which, fit: Fit, name: Name, values: Floats) -> None:
    """Make the axis of a parameter logarithmic if it is, with a few round numbers."""
    if name == "slope" or (name == "threshold" and fit.scale == "log"):
        ends = float(values[0]), float(values[-1])
        set_axis(axes, which, Scale(Axis("", log=True), *ends), 35.0)


def _threshold(axes: Axes, fit: Fit) -> None:
    """Mark the threshold and its interval, or where it lies beyond."""
    guess, lapse = fit.mode[2:4]
    half = (1 + guess - lapse) / 2
    if fit.censored == "unknown":
        return
    if fit.censored:
        arrow = {"below": "<", "above": ">"}[str(fit.censored)]
        axes.plot(fit.bound, half, marker=arrow, color=PALETTE[1], clip_on=False, ms=5)
        return
    how: dict[str, Any] = {"color": PALETTE[1], "solid_capstyle": "butt", "zorder": 2.5}
    axes.plot([fit.threshold] * 2, [-0.02, half], lw=0.8, **how)
    axes.plot([fit.low.threshold, fit.high.threshold], [half, half], lw=1.6, **how)


def _prior(fit: Fit, name: Name, values: Floats, log_density: Floats) -> Floats:
    """Return the prior at values, in units of the highest density of the posterior."""
    axis = fit.axis(name)
    prior, levels, shape, scale = fit.prior, fit.levels[fit.n > 0], fit.shape, fit.scale
    # With equal asymptotes both have the lapse rate's.
    own = 3 if fit.equal_asymptotes and axis == 2 else axis
    ends = prior.ends(levels, shape, scale)[axis] if axis < 4 else np.array([0.0, 1.0])
    cell = (ends[1] - ends[0]) / 2000
    wide = ends[0] + (np.arange(2000) + 0.5) * cell
    size = np.exp(prior.log_density(own, wide, levels, shape, scale)).sum() * cell
    at = to_axis(values, scale) if axis == 0 else np.log(values) if axis == 1 else values
    density = np.exp(prior.log_density(own, at, levels, shape, scale)) / size
    # Posterior densities of slopes are per decade.
    per = np.log(10) if axis == 1 else 1.0
    return np.asarray(density * per / np.exp(log_density.max()))


def _value(fit: Fit, name: Name) -> float:
    at = float(fit.mode[fit.axis(name)])
    if name == "threshold":
        return float(from_axis(np.array(at), fit.scale))
    return float(np.exp(at)) if name == "slope" else at


def _check_one(fit: Fit) -> None:
    if fit.threshold.ndim or not np.isfinite(fit.mode).all():
        raise FechnerError("one function with answers can be drawn: take one with fit[i].")
