"""A receptive field: how a unit's response changes with the light of every pixel and channel.

It is found in one of three ways: by the Jacobian, by deltas or by reverse correlation. For a unit
that is linear in light they agree. At a grey they differ in what a nonlinearity does: the Jacobian
is the slope at the grey, deltas are slopes over steps of one pixel, and noise is the best linear
prediction over pictures around the grey (Chichilnisky 2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats, torch
from fechner.errors import FechnerError, ObserverError
from fechner.physiology.conditions import Conditions, Window
from fechner.physiology.recording import Progress, Recording, Unit
from fechner.stimuli import Field

#: How a receptive field was obtained.
By = Literal["jacobian", "deltas", "noise"]

#: What the noise of reverse correlation is: normal, cut at 3 standard deviations, or of two values.
NoiseKind = Literal["binary", "gaussian"]

_CUT_SD = 3.0
#: Of fewer pictures nothing can be said, not even how uncertain it is.
_FEWEST_PICTURES = 20
#: Pictures of which the graph is kept for gradients.
_COPIES = 8


@dataclass(frozen=True, eq=False)
class ReceptiveField:
    """The weights of a unit, with how they were obtained.

    Parameters
    ----------
    weights
        [3, h, w]: response per cd/m2 of linear R, G and B, or per unit of display-encoded value, as
        the conditions say; 0 outside of the window, or not measured there.
    window
        Which pixels of the field the weights are of.
    pictures
        How many pictures were shown to find it.
    contrast
        Of deltas and noise, relative to the grey.
    errors
        Standard error of each weight where it is an estimate: from noise.
    linear
        Share of the variance of responses to noise that the weights explain, corrected for the
        errors of the weights; 1 is a unit that is linear in light.
    channels
        How many channels its layer has, recorded or not; 0 if that is not known.
    """

    observer: str
    layer: str
    unit: Unit
    by: By
    weights: Floats
    conditions: Conditions
    window: Window
    pictures: int
    contrast: float | None = None
    errors: Floats | None = None
    linear: float | None = None
    channels: int = 0

    @property
    def field(self) -> Field:
        """The field that was shown."""
        return self.conditions.field

    @property
    def name(self) -> str:
        """Layer, channel and place."""
        place = ",".join(map(str, self.unit.place))
        return f"{self.layer}[{self.unit.channel}]" + (f" at {place}" if place else "")

    def grid(self) -> tuple[Floats, Floats]:
        """Return x [1, w] (rightwards) and y [h, 1] (upwards) of its pixels in degrees.

        They are counted from the centre of the field.
        """
        x, y = self.field.grid()
        rows, columns = self.window.slices
        return x[:, columns].numpy(), y[rows].numpy()


def by_jacobian(
    recording: Recording,
    *,
    pictures: int = 1,
    contrast: float = 0.01,
    seed: int = 0,
    batch: int = _COPIES,
    progress: Progress | None = None,
) -> tuple[ReceptiveField, ...]:
    """Find receptive fields as derivatives of responses at the grey, or around it.

    A uniform grey is a tie for maximum pooling, whose derivative there is that of one pixel of
    every pool. The mean derivative over pictures of faint noise has none of that, and is what
    reverse correlation with normal noise of that contrast converges to.

    Parameters
    ----------
    pictures
        1 is the grey itself; more are that many pictures of normal noise around it.
    batch
        How many units' derivatives are taken at a time.

    Examples
    --------
    >>> from fechner.physiology import record
    >>> from fechner.observers import resolve
    >>> (found,) = by_jacobian(record(resolve("pixels"), units=[(1, 64, 64)]))
    >>> found.window, found.weights.ravel().round(5).tolist()
    (Window(top=64, bottom=65, left=64, right=65), [0.0, 0.00587, 0.0])
    """
    window = recording.window
    weights = recording.empty()
    if pictures > 1:
        recording.conditions.check_contrast(contrast * _CUT_SD, "noise, at its extremes")
    n, copies = recording.n_units, min(batch, recording.n_units)
    if progress:
        progress.start(n * pictures)
    rows, columns = window.slices
    random = np.random.default_rng(seed)
    with torch.enable_grad():
        for _ in range(pictures):
            shown = recording.grey(1)
            if pictures > 1:
                drawn = _draw(random, "gaussian", tuple(shown.shape))
                shown *= 1 + contrast * torch.as_tensor(drawn).to(shown)
            # Copies of one picture: each carries the derivative of one unit at a time.
            shown = shown.repeat(copies, 1, 1, 1).requires_grad_()
            said = recording.look(shown)
            if not said.requires_grad:
                raise ObserverError(
                    f"observer '{recording.encoder.name}' cannot be differentiated; find its "
                    "receptive fields by deltas or noise."
                )
            for first in range(0, n, copies):
                number = min(copies, n - first)
                chosen = torch.zeros_like(said)
                chosen[torch.arange(number), torch.arange(first, first + number)] = 1.0
                more = first + number < n
                (slopes,) = torch.autograd.grad(said, shown, chosen, retain_graph=more)
                found = slopes[:number, :, rows, columns].double().cpu().numpy()
                weights[first : first + number] += found / pictures
                if progress:
                    progress.images(number)
    return _fields(recording, "jacobian", weights, pictures, contrast if pictures > 1 else None)


def by_deltas(
    recording: Recording,
    *,
    contrast: float = 0.1,
    batch: int | None = None,
    progress: Progress | None = None,
) -> tuple[ReceptiveField, ...]:
    """Find receptive fields with increments and decrements of single pixels and channels.

    Steps have a contrast relative to the grey.
    """
    conditions = recording.conditions
    conditions.check_contrast(contrast, "steps")
    window = recording.window
    weights = recording.empty()
    height, width = window.size_px
    flat = weights.reshape(recording.n_units, -1)
    pairs = max(1, recording.batch_size(batch) // 2)
    if progress:
        progress.start(2 * flat.shape[1])
    steps = contrast * np.asarray(conditions.grey)
    with torch.no_grad():
        pictures = recording.grey(2 * pairs)
        for first in range(0, flat.shape[1], pairs):
            places = np.arange(first, min(first + pairs, flat.shape[1]))
            channel, row, column = np.unravel_index(places, (3, height, width))
            up, down = np.arange(len(places)) * 2, np.arange(len(places)) * 2 + 1
            at = (channel, row + window.top, column + window.left)
            step = torch.as_tensor(steps[channel]).to(pictures)
            before = pictures[(up, *at)]
            pictures[(up, *at)] = before + step
            pictures[(down, *at)] = before - step
            said = recording.look(pictures[: 2 * len(places)]).double()
            slopes = (said[0::2] - said[1::2]) / (2 * step[:, None].double())
            flat[:, places] = slopes.T.cpu().numpy()
            pictures[(up, *at)] = before
            pictures[(down, *at)] = before
            if progress:
                progress.images(2 * len(places))
    return _fields(recording, "deltas", weights, 2 * flat.shape[1], contrast)


def by_noise(
    recording: Recording,
    *,
    pictures: int = 20_000,
    noise: NoiseKind = "binary",
    contrast: float = 0.2,
    seed: int = 0,
    batch: int | None = None,
    progress: Progress | None = None,
) -> tuple[ReceptiveField, ...]:
    """Find receptive fields by reverse correlation with white noise.

    Every pixel and channel within the window has noise of its own, around the grey. A weight is the
    covariance of response and light over the variance of light: the spike-triggered average of a
    unit whose spikes are counted by its response. Its standard error is that of a regression on
    this one pixel, to which all others are noise; so relative to the whole field the energy of the
    errors is about (3 x pixels of the window) / pictures.

    Parameters
    ----------
    contrast
        Standard deviation of the noise, relative to the grey.
    """
    if noise not in get_args(NoiseKind):
        raise FechnerError(f"noise must be {' or '.join(get_args(NoiseKind))}, not '{noise}'.")
    if pictures < _FEWEST_PICTURES:
        raise FechnerError(
            f"reverse correlation needs at least {_FEWEST_PICTURES} pictures, not {pictures}."
        )
    conditions = recording.conditions
    reach = _CUT_SD if noise == "gaussian" else 1.0
    conditions.check_contrast(contrast * reach, f"{noise} noise, at its extremes")
    window = recording.window
    rows, columns = window.slices
    cross = recording.empty(arrays=5).reshape(recording.n_units, -1)
    size, most = cross.shape[1], recording.batch_size(batch)
    said_sum, said_squares = np.zeros(recording.n_units), np.zeros(recording.n_units)
    noise_sum, noise_squares = np.zeros(size), np.zeros(size)
    random = np.random.default_rng(seed)
    if progress:
        progress.start(pictures)
    with torch.no_grad():
        # Responses are taken relative to that to the grey, so that sums keep their precision.
        at_rest = recording.look(recording.grey(1))
        grey = recording.grey(1)[:, :, rows, columns]
        for first in range(0, pictures, most):
            n = min(most, pictures - first)
            drawn = _draw(random, noise, (n, size))
            shown = recording.grey(n)
            waves = torch.as_tensor(drawn).to(shown).reshape(n, 3, *window.size_px)
            shown[:, :, rows, columns] = grey * (1 + contrast * waves)
            said = (recording.look(shown) - at_rest).double()
            cross += (said.T @ waves.reshape(n, -1).double()).cpu().numpy()
            said_sum += said.sum(dim=0).cpu().numpy()
            said_squares += said.square().sum(dim=0).cpu().numpy()
            noise_sum += drawn.sum(axis=0, dtype=np.float64)
            noise_squares += np.square(drawn, dtype=np.float64).sum(axis=0)
            if progress:
                progress.images(n)
    said_variance = said_squares / pictures - (said_sum / pictures) ** 2
    variance = noise_squares / pictures - (noise_sum / pictures) ** 2
    slopes = cross
    slopes /= pictures
    slopes -= np.outer(said_sum / pictures, noise_sum / pictures)
    slopes /= variance
    left = np.maximum(said_variance[:, None] - slopes**2 * variance, 0.0)
    errors = np.sqrt(left / ((pictures - 2) * variance))
    explained = ((slopes**2 - errors**2) * variance).sum(axis=1)
    linear = explained / np.where(said_variance > 0, said_variance, np.nan)
    # From per standard deviation of the noise to per unit of light.
    per_channel = (contrast * np.asarray(conditions.grey))[:, None, None]
    shape = (recording.n_units, 3, *window.size_px)
    slopes, errors = (each.reshape(shape) / per_channel for each in (slopes, errors))
    return _fields(recording, "noise", slopes, pictures, contrast, errors, linear)


def _draw(
    random: np.random.Generator, noise: NoiseKind, shape: tuple[int, ...]
) -> NDArray[np.float32]:
    """Draw noise of unit variance, the same however it is split into batches."""
    if noise == "gaussian":
        return np.clip(random.standard_normal(shape, dtype=np.float32), -_CUT_SD, _CUT_SD)
    high = random.random(shape, dtype=np.float32) < 0.5
    return np.where(high, np.float32(1), np.float32(-1))


def _fields(
    recording: Recording,
    by: By,
    weights: Floats,
    pictures: int,
    contrast: float | None,
    errors: Floats | None = None,
    linear: Floats | None = None,
) -> tuple[ReceptiveField, ...]:
    """Return weights of all units as receptive fields, each in its layer's window."""
    made: list[ReceptiveField] = []
    for site, own in zip(recording.sites, recording.windows, strict=True):
        at = (slice(None), *own.within(recording.window).slices)
        for unit in site.units:
            k = len(made)
            made.append(
                ReceptiveField(
                    recording.encoder.name,
                    site.layer,
                    unit,
                    by,
                    weights[k][at],
                    recording.conditions,
                    own,
                    pictures,
                    contrast,
                    None if errors is None else errors[k][at],
                    None if linear is None else float(linear[k]),
                    site.shape[site.channel_axis],
                )
            )
    return tuple(made)
