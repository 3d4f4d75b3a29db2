"""Painting: from recipes to pixels, batch by batch.

And whether a display can show a stimulus, and up to which contrast, pixel by pixel. `gamut_limit`
answers for patterns between -1 and 1 without drawing them. Noise goes beyond, and where several
layers are added it matters whether their peaks meet, so here they are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor, torch
from fechner.errors import GamutError
from fechner.stimuli.display import Display
from fechner.stimuli.field import Field
from fechner.stimuli.patterns import Pattern, drawn
from fechner.stimuli.pictures import Manipulated, Picture, Recent, picture_drawn
from fechner.stimuli.stimulus import Layer, Stimulus

#: ``display``: encoded values as in a picture file, 0..1; ``cdm2``: linear RGB in cd/m2.
Light = Literal["display", "cdm2"]

#: What one unit of contrast of a layer adds to each pixel, [3, h, w], up to so many bytes.
_BASES: Recent[Tensor] = Recent(1 << 26)


@dataclass(frozen=True)
class Frames:
    """Pixels with what they mean.

    Parameters
    ----------
    pixels
        [n, 3, h, w], or [n, 3, t, h, w] for video.
    light
        Whether the pixels are display-encoded or cd/m2.
    share
        What a mean over these pixels counts in a mean over the field: below 1 where pixels that
        are the same in test and reference were not painted.
    """

    pixels: Tensor
    field: Field
    display: Display
    light: Light
    share: float = 1.0

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def device(self) -> torch.device:
        """Where the pixels are."""
        return self.pixels.device

    def luminance(self) -> Tensor:
        """Return luminance in cd/m2, [n, h, w] or [n, t, h, w]."""
        weights = self.pixels.new_tensor(self.display.rgb_to_xyz[1])
        shape = (-1, *(1 for _ in self.pixels.shape[2:]))
        return (self.cdm2() * weights.reshape(shape)).sum(dim=1)

    def cdm2(self) -> Tensor:
        """Return linear RGB in cd/m2, [n, 3, h, w]."""
        return self.pixels if self.light == "cdm2" else self.display.decode(self.pixels)


def paint(
    stimuli: Sequence[Stimulus | Picture],
    field: Field,
    display: Display,
    *,
    light: Light = "display",
    dtype: torch.dtype | None = None,
    device: str = "cpu",
    part: Part | None = None,
    strict: bool = False,
) -> Frames:
    """Paint stimuli on a display; where the field has several frames, as videos.

    Neighbours that differ in contrast only share their drawn patterns: the contrast axis
    is one multiply-add, and so is time. Light that the display cannot show is cut, and frequencies
    that the pixels cannot hold alias, as they would; with ``strict=True`` both raise a `GamutError`
    instead.

    Parameters
    ----------
    part
        What of the field is painted; None is all of it.

    Examples
    --------
    >>> from fechner.stimuli import Field, Stimulus, display
    >>> grey = Stimulus(background_xyz=(95.047, 100.0, 108.883))
    >>> frames = paint([grey], Field.of(pixels=4, ppd=60), display("encoders"), light="cdm2")
    >>> round(float(frames.luminance()[0, 0, 0]), 3)
    100.0
    """
    if not stimuli:
        raise ValueError("there is nothing to paint: give at least one stimulus.")
    if light not in get_args(Light):
        raise ValueError(f"light is one of {', '.join(get_args(Light))}, not '{light}'.")
    dtype = dtype or torch.float32
    if field.is_video:
        moments = [stimulus.at(time) for stimulus in stimuli for time in field.times_s]
        settings: dict[str, Any] = {"dtype": dtype, "device": device, "strict": strict}
        stills = paint(moments, field.still(), display, light=light, part=part, **settings)
        shape = (len(stimuli), field.frames, *stills.pixels.shape[1:])
        clips = stills.pixels.reshape(shape).transpose(1, 2)
        return Frames(clips, field, display, light, stills.share)
    rows, columns = part.slices if part else (slice(None), slice(None))
    share = part.share if part else 1.0
    recipes = [stimulus for stimulus in stimuli if isinstance(stimulus, Stimulus)]
    pictures = len(recipes) < len(stimuli)
    if pictures or any(recipe.overlay for recipe in recipes):
        # These are made of encoded values, and shown as what they stand for.
        as_light = light == "cdm2"
        if pictures:
            inner = torch.float64 if as_light else dtype
            shown = _encoded_pictures(stimuli, field, display, inner, device)
            shown = display.decode(shown).to(dtype) if as_light else shown
        else:
            shown = _encoded_overlaid(recipes, field, display, dtype, device)
            shown = display.decode(shown.clamp(min=0)) if as_light else shown
        return Frames(shown[..., rows, columns], field, display, light, share)
    # Grey pictures on a neutral display are painted in one channel.
    kinds = list(map(_without_contrast, recipes))
    channels = 1 if all(map(partial(_is_grey, display=display), set(kinds))) else 3
    size = (len(range(field.height_px)[rows]), len(range(field.width_px)[columns]))
    pixels = torch.empty((len(stimuli), channels, *size), dtype=dtype, device=device)
    for kind, group in groupby(range(len(recipes)), key=kinds.__getitem__):
        numbers = list(group)
        same = pixels[numbers[0] : numbers[-1] + 1]
        background = display.linear_rgb(kind.background_xyz)[:channels]
        same.copy_(pixels.new_tensor(background)[:, None, None])
        for index, layer in enumerate(kind.layers):
            key = (layer, field, display, dtype, device)
            basis = _BASES.get(key)
            if basis is None:
                pattern = drawn(layer.pattern, field, device)
                direction = pattern.new_tensor(display.linear_rgb(layer.modulation_xyz))
                basis = (direction[:, None, None] * pattern).to(dtype)
                _BASES.keep(key, basis, basis.nbytes)
            contrasts = [recipes[number].layers[index].contrast for number in numbers]
            strengths = pixels.new_tensor(contrasts)[:, None, None, None]
            same.addcmul_(strengths, basis[:channels, rows, columns])
    if strict:
        _check_shown(pixels, recipes, field, display)
    show = display.encode_ if light == "display" else display.show
    # A few frames at a time: what is computed in between stays in cache and is soon reused.
    few = max(1, (1 << 18) // pixels[0].numel())
    for first in range(0, len(pixels), few):
        some = pixels[first : first + few]
        shown = show(some)
        if shown.data_ptr() != some.data_ptr():
            some.copy_(shown)
    return Frames(pixels.expand(-1, 3, -1, -1).contiguous(), field, display, light, share)


def resample(pixels: Tensor, size_px: Sequence[int]) -> Tensor:
    """Resample pixels [n, channels, h, w] to another (height, width), without aliasing.

    Bilinear. Where pixels are lost, the filter is as wide as two of the new ones.
    """
    return torch.nn.functional.interpolate(
        pixels, size=tuple(size_px), mode="bilinear", align_corners=False, antialias=True
    )


def _encoded_overlaid(
    recipes: Sequence[Stimulus], field: Field, display: Display, dtype: torch.dtype, device: str
) -> Tensor:
    """Paint stimuli, and add the encoded values of their overlays less the mean of these."""
    overlays = list(dict.fromkeys(recipe.overlay for recipe in recipes if recipe.overlay))
    alone = [replace(recipe, overlay=None) for recipe in recipes]
    pixels, added = (
        paint(each, field, display, dtype=dtype, device=device).pixels for each in (alone, overlays)
    )
    added = added - added.mean(dim=(1, 2, 3), keepdim=True)
    for row, recipe in zip(pixels, recipes, strict=True):
        if recipe.overlay:
            row += added[overlays.index(recipe.overlay)]
    return pixels.clamp(0, 1) if display.clips else pixels


def _encoded_pictures(
    stimuli: Sequence[Any], field: Field, display: Display, dtype: torch.dtype, device: str
) -> Tensor:
    """Put pictures on a display: their values are sent to it as they are, without dither."""
    painted: list[Tensor] = []
    # Neighbours of one manipulation are painted at once.
    kinds = [
        each.manipulation if isinstance(each, Manipulated) and not each.manipulation.alone else None
        for each in stimuli
    ]
    for kind, numbers in groupby(range(len(stimuli)), key=kinds.__getitem__):
        same = [stimuli[number] for number in numbers]
        if kind is not None:
            painted += kind.show(same, field, display.bits, device, dtype)
            continue
        for each in same:
            if isinstance(each, Picture):
                picture = picture_drawn(each, field, display.bits, device)
            else:
                frames = paint([each], field, display, dtype=torch.float64, device=device)
                picture = frames.pixels[0]
            painted.append(picture.to(dtype))
    return torch.stack(painted)


def _check_shown(
    pixels: Tensor, recipes: Sequence[Stimulus], field: Field, display: Display
) -> None:
    """Refuse light that the display cannot show, and frequencies that pixels cannot hold."""
    low, high = display.limits_cdm2()
    slack = 1e-6 * high
    outside = ((pixels < low - slack) | (pixels > high + slack)).flatten(1).any(dim=1)
    if outside.any():
        raise GamutError(
            f"{int(outside.sum())} of {len(pixels)} stimuli ask for light outside "
            f"{low:g}-{high:g} cd/m2 of display '{display.name}' (first: number "
            f"{int(outside.nonzero()[0])}); lower the contrast, `gamut_limit` gives the largest."
        )
    highest = max(
        (layer.pattern.highest_cpd for recipe in recipes for layer in recipe.layers), default=0
    )
    if highest > field.nyquist_cpd:
        raise GamutError(
            f"{highest:g} cpd is above the {field.nyquist_cpd:g} cpd that {field.ppd:g} pixels per "
            "degree can hold; raise the ppd or lower the frequency."
        )


def _without_contrast(stimulus: Stimulus) -> Stimulus:
    layers = tuple(replace(layer, contrast=1.0) for layer in stimulus.layers)
    return Stimulus(stimulus.background_xyz, layers)


@lru_cache(maxsize=64)
def _is_grey(recipe: Stimulus, display: Display) -> bool:
    """Say whether R = G = B in all pixels, light and encoded."""
    colours = [recipe.background_xyz, *(layer.modulation_xyz for layer in recipe.layers)]
    rgb = display.linear_rgb(np.array(colours))
    neutral = display.eotf != "gamma" or len(set(display.gamma)) == 1
    return neutral and bool((np.ptp(rgb, axis=1) <= 1e-6 * np.abs(rgb).max(axis=1)).all())


@dataclass(frozen=True)
class Clips:
    """Videos of the same size and length, not painted yet.

    Examples
    --------
    >>> import torch
    >>> from fechner.stimuli import Stimulus, display
    >>> grey = Stimulus(background_xyz=(95.047, 100.0, 108.883))
    >>> clips = Clips((grey,), Field(8, 8, 60.0, frames=30), display("encoders"), "display",
    ...               torch.float32)
    >>> clips.whole().pixels.shape, clips.frame(29).pixels.shape
    (torch.Size([1, 3, 30, 8, 8]), torch.Size([1, 3, 8, 8]))
    """

    stimuli: tuple[Stimulus | Picture, ...]
    field: Field
    display: Display
    light: Light
    dtype: torch.dtype
    device: str = "cpu"

    def __len__(self) -> int:
        return len(self.stimuli)

    def frame(self, number: int) -> Frames:
        """Paint one frame of every video, [n, 3, h, w]."""
        time = self.field.times_s[number]
        moments = tuple(stimulus.at(time) for stimulus in self.stimuli)
        return replace(self, stimuli=moments, field=self.field.still()).whole()

    def __iter__(self) -> Iterator[Frames]:
        """Paint frame after frame."""
        return (self.frame(number) for number in range(self.field.frames))

    def whole(self) -> Frames:
        """Paint all frames, [n, 3, t, h, w]."""
        how: dict[str, Any] = {"light": self.light, "dtype": self.dtype, "device": self.device}
        return paint(self.stimuli, self.field, self.display, **how)

    def rows(self, which: list[int]) -> Clips:
        """Return some of the videos, by number."""
        return replace(self, stimuli=tuple(self.stimuli[row] for row in which))


#: Amplitudes below this are nothing: they change a mean by less than this, relatively.
_NOTHING = 1e-7


@dataclass(frozen=True)
class Part:
    """A rectangle of pixels: rows from top to bottom and columns from left to right.

    Parameters
    ----------
    share
        What a mean over its pixels counts in a mean over the field; pixels of a mirrored half
        count twice.
    """

    top: int
    bottom: int
    left: int
    right: int
    share: float

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns."""
        return slice(self.top, self.bottom), slice(self.left, self.right)


@lru_cache(maxsize=256)
def part_that_differs(
    targets: tuple[Pattern, ...], others: tuple[Pattern, ...], field: Field, device: str = "cpu"
) -> Part:
    """Return where targets are more than nothing, and only the upper half if all is mirrored.

    Parameters
    ----------
    targets
        Patterns that tests have and references lack.
    others
        Patterns that both have.

    Examples
    --------
    >>> from fechner.stimuli import Field, Gabor
    >>> part_that_differs((Gabor(2.0, sigma_deg=0.25),), (), Field(1920, 1080, 60.0))
    Part(top=455, bottom=540, left=875, right=1045, share=0.0139...)
    """
    height, width = field.height_px, field.width_px
    there = torch.zeros(height, width, dtype=torch.bool, device=device)
    for target in targets:
        there |= drawn(target, field, device).abs() > _NOTHING
    if not there.any():
        return Part(0, 1, 0, 1, 1.0)  # nothing differs, so one pixel tells
    rows, columns = (there.any(dim=axis).nonzero() for axis in (1, 0))
    top, bottom, left, right = (
        int(rows[0]),
        int(rows[-1]) + 1,
        int(columns[0]),
        int(columns[-1]) + 1,
    )
    share = (bottom - top) * (right - left) / (height * width)
    if top == height - bottom and (bottom - top) % 2 == 0:
        pictures = (drawn(pattern, field, device) for pattern in (*targets, *others))
        if all(bool((picture == picture.flip(0)).all()) for picture in pictures):
            bottom = (top + bottom) // 2
    return Part(top, bottom, left, right, share)


def fits_gamut(stimulus: Stimulus, field: Field, display: Display) -> bool:
    """Say whether every pixel of a still stimulus can be shown as meant.

    Examples
    --------
    >>> from fechner.stimuli import ATD, OrientedNoise, display
    >>> screen, field = display("decalogue"), Field.of(degrees=2, ppd=64)
    >>> red_green = ATD.modulation_xyz("rg", 40.0)
    >>> for contrast in (0.05, 0.3):
    ...     layer = Layer(OrientedNoise(6.0), red_green, contrast)
    ...     fits_gamut(Stimulus(ATD.background_xyz(40.0), (layer,)), field, screen)
    True
    False
    """
    low, high = _range(display)
    light = asked_light(stimulus, field, display)
    return bool(light.min() >= low and light.max() <= high)


def contrast_limit(reference: Stimulus, target: Layer, field: Field, display: Display) -> float:
    """Return the highest contrast of a target, added to a reference, that can be shown as meant.

    Its own contrast does not matter. Minus infinity where the reference itself, background and
    masks, cannot be shown, so that no contrast is below it.

    Examples
    --------
    >>> from fechner.stimuli import ATD, Grating, display
    >>> grey = Stimulus(ATD.background_xyz(40.0))
    >>> grating = Layer(Grating(4.0, phase_deg=90), ATD.modulation_xyz("yb", 40.0), 1.0)
    >>> round(contrast_limit(grey, grating, Field.of(pixels=65, ppd=64), display("decalogue")), 4)
    0.3602
    """
    low, high = _range(display)
    light = asked_light(reference, field, display)
    if light.min() < low or light.max() > high:
        return -math.inf
    full = Layer(target.pattern, target.modulation_xyz, 1.0)
    added = asked_light(Stimulus((0.0, 0.0, 0.0), (full,)), field, display)
    room = np.where(added > 0, high - light, light - low)
    changes = added != 0
    return float((room[changes] / np.abs(added[changes])).min(initial=np.inf))


def _range(display: Display) -> tuple[float, float]:
    """Return what a display can show; missing it by a millionth of the peak is rounding."""
    low, high = display.limits_cdm2()
    return low - 1e-6 * high, high + 1e-6 * high


def asked_light(stimulus: Stimulus, field: Field, display: Display) -> NDArray[np.float64]:
    """Return linear RGB as asked for, [3, h, w], before the display cuts any of it.

    Examples
    --------
    >>> from fechner.stimuli import display
    >>> light = asked_light(Stimulus((40.0, 40.0, 40.0)), Field.of(pixels=2, ppd=64),
    ...                     display("encoders"))
    >>> light[:, 0, 0].round(1).tolist()
    [48.2, 37.9, 36.4]
    """
    background = np.asarray(display.linear_rgb(stimulus.background_xyz))
    light: NDArray[np.float64] = background[:, None, None] + np.zeros(
        (3, field.height_px, field.width_px)
    )
    for layer in stimulus.layers:
        modulation = layer.contrast * np.asarray(display.linear_rgb(layer.modulation_xyz))
        light = light + modulation[:, None, None] * drawn(layer.pattern, field).numpy()
    return light
