"""Tiles: the stimuli of a test as pictures that are small enough to stand side by side.

A tile shows a field as it is, or the same degrees with fewer pixels where its finest pattern still
has enough of them, or else the centre of the field, pixel for pixel. What flickers is shown at the
moment of its largest contrast.

Tiles are for sRGB screens: encoded values mean other colours on other displays, so the light of a
display with its own primaries and exponents is turned into values for such a screen. White of the
display is white of the screen in luminance; on HDR displays, the reference white of ITU-R BT.2408
is. What looks grey on the display is grey on the screen, by scaling cone responses (von Kries).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor, torch
from fechner.errors import PictureError
from fechner.experiments import Experiment, Scene
from fechner.stimuli import Display, Field, Frames, Picture, Stimulus, paint
from fechner.stimuli.colour import (
    D65_XYZ,
    SRGB_TO_XYZ,
    XYZ_TO_LMS2006,
    Matrix,
    Triple,
    as_matrix,
    as_triple,
    inverse,
    transform,
)
from fechner.stimuli.painting import Part

Pixels = NDArray[np.uint8]

#: Side of the square that a tile has about as many pixels as; fields a little larger stay whole.
_SIDE_PX = 256
_WHOLE_PX = 300 * 300
#: With fewer pixels a cycle of a sine is another pattern to the eye.
_LEAST_PX_PER_CYCLE = 4.0
#: What is seen of a picture that cannot be drawn any more.
_GREY = 128
#: Stills that stand for a cycle of flicker.
PHASES = 12

#: What is said of pictures that are not what the display was sent.
OTHER_SCREEN = (
    "for an sRGB screen: white is the display's, 203 cd/m2 at most; grey is neutral, and what is "
    "beyond the screen is cut"
)

#: Luminance of HDR reference white (ITU-R BT.2408).
_REFERENCE_WHITE_CDM2 = 203.0
#: What stands in the place of a picture whose file is gone.
GONE = "picture cannot be drawn any more"


@dataclass(frozen=True)
class View:
    """What a tile shows of a field.

    Parameters
    ----------
    field
        As it is painted: one frame.
    part
        What of it is seen; None is all.
    note
        What differs from the field that observers are shown, in words; empty if nothing.
    """

    field: Field
    part: Part | None = None
    note: str = ""

    @property
    def width_px(self) -> int:
        """Width of a tile."""
        return self.part.right - self.part.left if self.part else self.field.width_px

    @property
    def height_px(self) -> int:
        """Height of a tile."""
        return self.part.bottom - self.part.top if self.part else self.field.height_px


def view_of(experiment: Experiment) -> View:
    """Return what the tiles of a test show of its field.

    Examples
    --------
    >>> from fechner.suites import suite
    >>> tests = {test.id: test.experiment for test in suite("metrics").build()}
    >>> view = view_of(tests["area"])
    >>> view.width_px, view.height_px, view.field.ppd, view.note
    (320, 180, 10.0, 'drawn at 1/6 of the pixels per degree')
    >>> view_of(tests["frequency-ach"]).note, view_of(tests["flicker"]).note
    ('centre of the field', '')
    """
    screen = "" if shows_srgb(experiment.scene.display) else OTHER_SCREEN
    field = experiment.scene.field.still()
    pixels = field.width_px * field.height_px
    if pixels <= _WHOLE_PX:
        return View(field, note=screen)
    fewer = math.ceil(math.sqrt(pixels) / _SIDE_PX)
    coarse = replace(
        field,
        width_px=max(1, round(field.width_px / fewer)),
        height_px=max(1, round(field.height_px / fewer)),
        ppd=field.ppd / fewer,
    )
    layers = (layer for row in experiment.samples() for s in row for layer in s.stimulus.layers)
    finest = max((layer.pattern.highest_cpd for layer in layers), default=0.0)
    if coarse.ppd >= _LEAST_PX_PER_CYCLE * finest:
        size = f"drawn at 1/{fewer} of the pixels per degree"
        return View(coarse, note="; ".join(filter(None, (size, screen))))
    width, height = min(_SIDE_PX, field.width_px), min(_SIDE_PX, field.height_px)
    left, top = (field.width_px - width) // 2, (field.height_px - height) // 2
    centre = Part(top, top + height, left, left + width, width * height / pixels)
    return View(field, centre, "; ".join(filter(None, ("centre of the field", screen))))


def tile_rows(experiment: Experiment) -> list[Pixels]:
    """Paint the samples of a test, at the moment of largest contrast: rows of [n, h, w, 3]."""
    view, field = view_of(experiment), experiment.scene.field
    return [
        painted([s.stimulus.at(peak_time_s(s.stimulus, field)) for s in row], experiment, view)
        for row in experiment.samples()
    ]


def painted(stills: Sequence[Stimulus | Picture], experiment: Experiment, view: View) -> Pixels:
    """Paint stills as tiles, [n, h, w, 3]; a picture whose file is gone is grey."""
    scene = experiment.scene
    try:
        frames = paint(stills, view.field, scene.display, part=view.part)
    except PictureError:
        if len(stills) > 1:
            return np.concatenate([painted([still], experiment, view) for still in stills])
        return np.full((1, view.height_px, view.width_px, 3), _GREY, np.uint8)
    return visible(frames, scene.space.white_xyz)


def visible(frames: Frames, grey_xyz: Triple | None = None) -> Pixels:
    """Return 8-bit pictures [n, h, w, 3] for a screen, dithered so that low contrasts are not lost.

    Parameters
    ----------
    grey_xyz
        What looks grey on the display; None takes its white.
    """
    pixels = on_screen(frames, grey_xyz)
    noise = torch.rand(pixels.shape[-2:], generator=torch.Generator().manual_seed(0)) - 0.5
    levels = (pixels * 255 + noise).round().clamp(0, 255)
    pictures: Pixels = levels.to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()
    return pictures


# Time


@dataclass(frozen=True)
class Cycle:
    """A cycle of what a stimulus does over time.

    Parameters
    ----------
    hz
        Cycles per second; 0 for what is steady.
    stills
        What is shown at equal steps from time 0 on.
    peak
        Which of them is nearest to the moment of the largest contrast that is shown.
    """

    hz: float
    stills: tuple[Stimulus | Picture, ...]
    peak: int = 0


def peak_time_s(stimulus: Stimulus | Picture, field: Field) -> float:
    """Return when, among the frames of a field, the contrast of a stimulus is largest.

    Examples
    --------
    >>> from fechner.stimuli import Disk, Flicker, Layer
    >>> disk = Layer(Disk(1.0), (1.0, 1.0, 1.0), 0.5, Flicker(2.0))
    >>> peak_time_s(Stimulus((9.5, 10.0, 10.9), (disk,)), Field(8, 8, 8.0, frames=16, fps=16.0))
    0.125
    """
    waves = [(layer.contrast, layer.flicker) for layer in stimulus.layers if layer.flicker]
    if not waves:
        return 0.0
    # Rounded, so that of equal peaks the first is taken.
    return max(field.times_s, key=lambda time: round(sum(c * wave(time) for c, wave in waves), 9))


def cycle_of(stimulus: Stimulus | Picture, field: Field) -> Cycle:
    """Return a cycle of a stimulus; of one with several rhythms, its whole clip.

    Stills that look the same are equal, whatever they are a moment of.
    """
    rates = {layer.flicker.frequency_hz for layer in stimulus.layers if layer.flicker}
    hz = rates.pop() if len(rates) == 1 else field.fps / field.frames if rates else 0.0
    if hz == 0:
        return Cycle(0.0, (_seen(stimulus.at(0.0)),))
    stills = tuple(_seen(stimulus.at(step / PHASES / hz)) for step in range(PHASES))
    return Cycle(hz, stills, round(peak_time_s(stimulus, field) * hz * PHASES) % PHASES)


def _seen(still: Stimulus | Picture) -> Stimulus | Picture:
    """Leave out what has no contrast, and what rounding has added to the rest."""
    if isinstance(still, Picture):
        return still
    rounded = (replace(layer, contrast=round(layer.contrast, 9)) for layer in still.layers)
    return replace(still, layers=tuple(layer for layer in rounded if layer.contrast))


# Galleries


def draw_picture(
    picture: Picture | Stimulus, scene: Scene, side_px: int | None = None
) -> Pixels | None:
    """Return a picture as it is looked at, [h, w, 3]; None if it cannot be drawn any more.

    Parameters
    ----------
    side_px
        Longest side; larger pictures are resampled to it. None keeps every pixel.
    """
    from PIL import Image

    still = picture.at(peak_time_s(picture, scene.field))
    try:
        frames = paint([still], scene.field.still(), scene.display)
    except PictureError:
        return None
    image = Image.fromarray(visible(frames, scene.space.white_xyz)[0])
    if side_px is not None:
        image.thumbnail((side_px, side_px), Image.Resampling.LANCZOS, reducing_gap=None)
    return np.asarray(image)


# Screens


def shows_srgb(display: Display) -> bool:
    """Whether a display shows what any screen shows of the same values.

    Examples
    --------
    >>> from fechner.stimuli import display
    >>> shows_srgb(display("metrics-published")), shows_srgb(display("decalogue"))
    (True, False)
    """
    return display.eotf == "srgb" and display.primaries == "bt709"


def adaptation(grey_xyz: Triple) -> Matrix:
    """Return what turns XYZ seen by somebody adapted to a grey into XYZ on a D65 screen.

    Examples
    --------
    >>> (transform(adaptation((2.0, 2.0, 2.0)), (1.0, 1.0, 1.0)) / D65_XYZ).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    grey = np.asarray(grey_xyz) / grey_xyz[1]
    cones, wanted = (transform(XYZ_TO_LMS2006, each) for each in (grey, D65_XYZ))
    scaled = (wanted / cones)[:, None] * np.asarray(XYZ_TO_LMS2006)
    return as_matrix(np.asarray(inverse(XYZ_TO_LMS2006)) @ scaled)


def on_screen(frames: Frames, grey_xyz: Triple | None = None) -> Tensor:
    """Return values for an sRGB screen, 0..1, that look as the frames do on their display.

    Parameters
    ----------
    grey_xyz
        What looks grey on the display; None takes its white.
    """
    display = frames.display
    if frames.light == "display" and shows_srgb(display):
        return frames.pixels
    white = as_triple(np.sum(display.rgb_to_xyz, axis=1))
    matrix = (
        np.asarray(inverse(SRGB_TO_XYZ))
        @ np.asarray(adaptation(grey_xyz or white))
        @ np.asarray(display.rgb_to_xyz)
    )
    light = frames.cdm2() / min(display.peak_cdm2, _REFERENCE_WHITE_CDM2)
    linear = torch.einsum("ij,njhw->nihw", light.new_tensor(matrix), light)
    return Display("screen", peak_cdm2=1.0).encode(linear)
