"""How much neighbouring responses to photographs say about each other, layer by layer.

Neighbouring pixels of photographs are alike, and so are the energies of neighbouring wavelet
coefficients. Vila-Tomás et al. (2026, ``vila_tomas2026``, Figure 17) argue that responses that are
normalised by their neighbours are more independent (Malo & Laparra 2010, ``malo_laparra2010``).
Here the redundancy of a layer is the mutual information of pairs of its responses: of one channel
at neighbouring places, and of two channels at one place. A coarse map has neighbours that are
farther apart in the picture, where pixels say less about each other, too: every layer stands beside
the picture's own redundancy at its distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fechner.arrays import Floats, Tensor, torch
from fechner.errors import FechnerError, ObserverError
from fechner.observers.abilities import Encodes
from fechner.physiology.conditions import Conditions
from fechner.physiology.recording import Site, find_sites
from fechner.stimuli.pictures import Photograph

if TYPE_CHECKING:
    from fechner.physiology.recording import Progress


#: Places of a map that are needed to speak of its redundancy.
_FEWEST_PLACES = 100

#: One in as many places at either end of a map is left out: padding shows there.
_BORDER = 8

#: What distances of normal scores may lose to rounding.
_ROUNDING = 1e-10


def mutual_information(x: ArrayLike, y: ArrayLike, neighbours: int = 3) -> float:
    """Return the mutual information of two variables in bits, from samples in pairs.

    The first estimator of Kraskov, Stögbauer & Grassberger (2004), key ``kraskov2004``. Around 0,
    and sometimes below, for variables that are independent. Values are replaced by normal scores of
    their ranks first, which leaves the information as it is, so that no monotone function of a
    response changes the estimate. Equal values, as of rectified responses and of pixels in 8 bits,
    are put in an order at random, which leaves the information as it is, too.

    Parameters
    ----------
    neighbours : int
        How many neighbours set the scale: more have less variance and more bias.

    Examples
    --------
    For normal variables it is -log2(1 - r^2) / 2: 1.198 bits at r = 0.9.

    >>> x, z = np.random.default_rng(0).normal(size=(2, 4000))
    >>> round(mutual_information(x, 0.9 * x + (1 - 0.9**2) ** 0.5 * z), 2)
    1.2
    """
    from scipy.spatial import cKDTree
    from scipy.special import digamma, ndtri

    first, second = (np.asarray(each, dtype=np.float64).ravel() for each in (x, y))
    n = len(first)
    if len(second) != n or n <= neighbours:
        raise FechnerError(
            f"mutual information needs pairs of samples, more than {neighbours}: there are {n} and "
            f"{len(second)}."
        )
    draw = np.random.default_rng(0)
    scores = []
    for values in (first, second):
        ranks = np.empty(n)
        ranks[np.lexsort((draw.random(n), values))] = np.arange(1, n + 1)
        scores.append(ndtri(ranks / (n + 1)))
    # The nearest of all is the sample itself.
    pairs = np.stack(scores, axis=1)
    distance = cKDTree(pairs).query(pairs, neighbours + 1, p=math.inf)[0][:, -1]
    nats = digamma(neighbours) + digamma(n)
    for values in scores:
        # How many are nearer than that, itself among them. Rounding must not count the neighbour
        # that set the distance.
        ordered, within = np.sort(values), distance - _ROUNDING
        above = np.searchsorted(ordered, values + within, "right")
        below = np.searchsorted(ordered, values - within, "left")
        nats -= digamma((above - below).astype(np.float64)).mean()
    return float(nats / math.log(2))


class Estimate(NamedTuple):
    """A mean over photographs with its 95 % interval (Student's t)."""

    value: float
    low: float
    high: float


def mean_interval(values: Floats) -> Estimate:
    """Return the mean of values with its 95 % interval.

    Examples
    --------
    >>> [round(value, 3) for value in mean_interval(np.array([1.0, 2.0, 3.0]))]
    [2.0, -0.484, 4.484]
    """
    from scipy.special import stdtrit

    known = values[np.isfinite(values)]
    n, mean, half = len(known), _mean(known), math.nan
    if n > 1:
        half = float(stdtrit(n - 1, 0.975) * known.std(ddof=1) / math.sqrt(n))
    return Estimate(mean, mean - half, mean + half)


@dataclass(frozen=True, eq=False)
class LayerRedundancy:
    """The redundancy of a layer, in bits per pair, for each photograph.

    Parameters
    ----------
    apart_px
        Pixels of the picture between the places of a pair, the mean over channels.
    places
        Of one channel at two places, the mean over channels and both directions.
    channels
        Of two channels at one place, the mean over pairs; NaN for a layer of one channel.
    picture
        Of the picture's luminance at places as far apart as those of the layer.
    """

    layer: str
    apart_px: float
    places: Floats
    channels: Floats
    picture: Floats


@dataclass(frozen=True)
class Redundancy:
    """The redundancy of an observer's layers, in order.

    Parameters
    ----------
    left_out
        Layers without a map of enough places, and why.
    """

    observer: str
    photographs: tuple[str, ...]
    layers: tuple[LayerRedundancy, ...]
    left_out: tuple[str, ...] = ()

    @property
    def against_picture(self) -> Estimate:
        """Redundancy of places in the last layer less that of the picture at their distance."""
        last = self.layers[-1]
        return mean_interval(last.places - last.picture)

    @property
    def across_channels(self) -> Estimate:
        """Redundancy of channels in the last layer that has several less that in the first."""
        several = [each.channels for each in self.layers if np.isfinite(each.channels).any()]
        return mean_interval(several[-1] - several[0] if len(several) > 1 else np.empty(0))

    @property
    def checks(self) -> tuple[str, ...]:
        """Whether redundancy falls along the layers, with 95 % confidence, as sentences."""
        last = self.layers[-1].layer
        said = {
            "places": (self.against_picture, f"{last} against the picture"),
            "channels": (self.across_channels, "last against first"),
        }
        checks = []
        for between, ((value, low, high), against) in said.items():
            verdict = "yes" if high < 0 else "no" if low > 0 else "not established"
            change = f"{value:+.2f} [{low:+.2f}, {high:+.2f}] bits"
            if not math.isnan(value):
                found = f"{verdict}, {change}, {against}"
                checks.append(f"redundancy falls between {between}: {found}")
        return tuple(checks)


def measure_redundancy(
    encoder: Any,
    photographs: Sequence[Photograph],
    layers: str | Sequence[str] | None = None,
    *,
    channels: int = 16,
    pairs: int = 1000,
    apart_px: float | None = None,
    seed: int = 0,
    conditions: Conditions | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Redundancy:
    """Show photographs to an encoder and estimate the redundancy of its layers.

    Parameters
    ----------
    photographs
        At least two; each is estimated by itself, and intervals are over photographs.
    layers
        Names or patterns of layers; None is the encoder's stages.
    channels
        Channels of each layer, evenly spaced, and as many pairs of channels at most.
    pairs
        Pairs of places, drawn at random from the inside of a map.
    apart_px
        Distance of the places of a pair in pixels of the picture, as near as a map has them; None
        is the next place of each map.
    conditions
        Field and display; photographs are shown as its display-encoded values.
    """
    if len(photographs) < 2:
        raise FechnerError(f"give at least two photographs, not {len(photographs)}.")
    seen = replace(conditions or Conditions(), of="pixels").seen_by(encoder.wants)
    sites = find_sites(encoder, layers, seen, None, device)
    height = seen.field.height_px
    maps, steps, left_out = {}, {}, []
    for site in sites:
        size = _map_of(site)
        if size is None:
            left_out.append(f"{site.layer} (no map)")
            continue
        step = 1 if apart_px is None else max(1, round(apart_px * size[0] / height))
        if _inside_places(size, step) < _FEWEST_PLACES:
            left_out.append(f"{site.layer} ({size[0]} x {size[1]} places are too few)")
            continue
        maps[site.layer], steps[site.layer] = size, step
    if not maps:
        raise FechnerError(
            f"no layer of '{encoder.name}' has a map of {_FEWEST_PLACES} places inside: "
            f"{', '.join(left_out)}."
        )
    if progress is not None:
        progress.start(len(photographs))
    found: dict[str, list[tuple[float, float, float]]] = {layer: [] for layer in maps}
    spaced: dict[str, float] = {}
    for photograph in photographs:
        responses, light = _look(encoder, photograph, seen, sites, maps, device)
        for layer, values in responses.items():
            draw = np.random.default_rng(seed)
            places, across, spacings = _redundancy(values, channels, pairs, draw, steps[layer])
            own = {}
            for spacing in set(spacings):
                draw = np.random.default_rng(seed)
                apart = max(1, round(spacing * steps[layer] * height / values.shape[1]))
                own[spacing] = _redundancy(light[None], 1, pairs, draw, apart)[0]
            found[layer].append((places, across, _mean([own[each] for each in spacings])))
            spaced[layer] = _mean(spacings) * steps[layer] * height / maps[layer][0]
        if progress is not None:
            progress.images(1)
    measured = (
        LayerRedundancy(layer, spaced[layer], *np.array(values).T)
        for layer, values in found.items()
    )
    names = tuple(each.name for each in photographs)
    return Redundancy(encoder.name, names, tuple(measured), tuple(left_out))


def _map_of(site: Site) -> tuple[int, int] | None:
    """Return rows and columns of a layer's map; tokens that form a square have one."""
    places = site.shape[: site.channel_axis] + site.shape[site.channel_axis + 1 :]
    if len(places) == 2:
        return places[0], places[1]
    side = math.isqrt(places[0]) if len(places) == 1 else 0
    return (side, side) if side > 1 else None


def _inside_places(size: tuple[int, int], step: int) -> int:
    return math.prod(max(0, n - 2 * (n // _BORDER) - step) for n in size)


def _look(
    encoder: Encodes,
    photograph: Photograph,
    conditions: Conditions,
    sites: Sequence[Site],
    maps: dict[str, tuple[int, int]],
    device: str,
) -> tuple[dict[str, Floats], Floats]:
    """Return responses of each layer, [channels, rows, columns], and the picture's luminance."""
    said: dict[str, Floats] = {}

    def tap(site: Site, activation: Tensor) -> None:
        values = activation.reshape(site.shape).movedim(site.channel_axis, 0)
        rows, columns = maps[site.layer]
        # Tokens that form no square come before those that do.
        flat = values.flatten(1)[:, -rows * columns :]
        said[site.layer] = flat.reshape(-1, rows, columns).double().cpu().numpy()

    pixels = photograph.draw(conditions.field, None, device)
    with torch.no_grad():
        frames = conditions.frames(
            pixels[None].to(getattr(torch, encoder.wants.dtype)), encoder.wants
        )
        taps = {site.layer: partial(tap, site) for site in sites if site.layer in maps}
        encoder.features(frames, taps)
        light = conditions.display.decode(pixels.double())
        weights = torch.as_tensor(conditions.display.rgb_to_xyz[1], dtype=light.dtype)
        luminance: Floats = torch.einsum("chw,c->hw", light.cpu(), weights).numpy()
    if not all(np.isfinite(each).all() for each in said.values()):
        raise ObserverError(f"observer '{encoder.name}' gave values that are not finite numbers.")
    return said, luminance


def _redundancy(
    values: Floats, channels: int, pairs: int, draw: np.random.Generator, apart: int
) -> tuple[float, float, list[int]]:
    """Return the mean information of neighbouring places, and that of channels at one place.

    And the spacing of places of the channels that were taken.
    """
    spread = np.flatnonzero(np.ptp(values.reshape(len(values), -1), axis=1) > 0)
    chosen = spread[np.unique(np.linspace(0, len(spread) - 1, channels).round().astype(int))]
    # How far apart the places of a map are that has zeros between them.
    spacing = {
        k: max(1, int(np.gcd.reduce(np.nonzero(values[k]), axis=None))) for k in chosen.tolist()
    }
    places, taken = [], []
    for number, step in spacing.items():
        own = values[number][::step, ::step]
        if step > 1 and _inside_places(own.shape, apart) < _FEWEST_PLACES:
            continue
        taken.append(step)
        # To the right, and below.
        for down, right in ((0, apart), (apart, 0)):
            rows, columns = _places(own.shape, pairs, draw, (down, right))
            places += _information(own[rows, columns], own[rows + down, columns + right])
    everywhere = _places(values.shape[1:], pairs, draw, (0, 0))
    among = []
    first, second = np.triu_indices(len(chosen), 1)
    for k in draw.permutation(len(first))[:channels]:
        one, other = int(chosen[first[k]]), int(chosen[second[k]])
        step = math.lcm(spacing[one], spacing[other])
        both = values[[one, other]][:, ::step, ::step]
        if step > 1 and _inside_places(both.shape[1:], 0) < _FEWEST_PLACES:
            continue
        at = everywhere if step == 1 else _places(both.shape[1:], pairs, draw, (0, 0))
        among += _information(both[0][at], both[1][at])
    return _mean(places), _mean(among), taken


def _information(one: Floats, other: Floats) -> list[float]:
    """Return the information of two responses, nothing if either is constant."""
    varies = np.ptp(one) > 0 and np.ptp(other) > 0
    return [mutual_information(one, other)] if varies else []


def _mean(values: Sequence[float] | Floats) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _places(
    size: Sequence[int], pairs: int, draw: np.random.Generator, step: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of places inside a map whose neighbours are inside, each once."""
    starts = [n // _BORDER for n in size]
    sides = [max(1, n - 2 * (n // _BORDER) - away) for n, away in zip(size, step, strict=True)]
    drawn = draw.permutation(sides[0] * sides[1])[:pairs]
    return starts[0] + drawn // sides[1], starts[1] + drawn % sides[1]
