"""What a display and its pixels can show of a stimulus, and what is left of the rest.

Limits are stated for a target added to a reference: the background with its masks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.stimuli import Display, Field, Layer, Stimulus, gamut_limit
from fechner.stimuli.painting import resample
from fechner.stimuli.patterns import contrast_of, drawn, share_inside
from fechner.stimuli.stimulus import asked_light, contrast_limit, fits_gamut

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from fechner.stimuli.contrast import Floats

#: Why a point is left out of the score; stored as the flag of each point.
REASONS = (
    "kept",
    "aliased",
    "out-of-gamut",
    "contrast-above-1",
    "noise-clipped",
    "window-cut",
    "no-colour-seen",
)

#: At the Nyquist limit itself, what pixels show of a grating is a matter of its phase.
_BELOW_NYQUIST = 1 - 1e-9

#: Noise whose pixels leave the display's range more often than this is left out.
_CLIPPED_SHARE = 0.01

#: A pattern of which the field holds a smaller share of energy is left out.
SHARE_INSIDE = 0.9


def flagged(dims: Any, flags: Any) -> tuple[Any, NDArray[np.uint8], dict[str, str]]:
    """Return flags of points as a variable of a result, which says what they mean."""
    return dims, np.asarray(flags, np.uint8), {"meanings": " ".join(REASONS)}


def flag_contrasts(
    reference: Stimulus,
    target: Layer,
    contrasts: Floats,
    display: Display,
    field: Field,
    seen: Field | None = None,
) -> NDArray[np.uint8]:
    """Say of each contrast of the target why it cannot be shown as meant; 0 if it can.

    Parameters
    ----------
    field, seen
        The field that is drawn, and as the observer sees it after resampling, if there is any.
    """
    flags = np.zeros(len(contrasts), dtype=np.uint8)
    layers = (*reference.layers, target)
    if reason := _geometry(layers, field, seen or field):
        flags[:] = REASONS.index(reason)
    elif any(_is_rms(layer) for layer in layers):
        low, high = display.limits_cdm2()
        lights = _lights(reference, target, contrasts, display, field)
        share = np.array([((rgb < low) | (rgb > high)).any(axis=0).mean() for rgb in lights])
        flags[share > _CLIPPED_SHARE] = REASONS.index("noise-clipped")
        if gamut_limit(display, reference.background_xyz, target.modulation_xyz) < 0:
            flags[:] = REASONS.index("out-of-gamut")
    elif any(layer.modulation_xyz != target.modulation_xyz for layer in reference.layers):
        limit = contrast_limit(reference, target, field, display)
        flags[contrasts > limit * (1 + 1e-9)] = REASONS.index("out-of-gamut")
    else:
        total = contrasts + sum(layer.contrast for layer in reference.layers)
        limit = gamut_limit(display, reference.background_xyz, target.modulation_xyz)
        flags[total > limit * (1 + 1e-9)] = REASONS.index("out-of-gamut")
        achromatic = np.allclose(target.modulation_xyz, reference.background_xyz, rtol=1e-6)
        if achromatic:
            flags[total > 1 + 1e-9] = REASONS.index("contrast-above-1")
    return flags


def flag_stimulus(
    stimulus: Stimulus, display: Display, drawn: Field, seen: Field, *, cut: bool = False
) -> int:
    """Say why a stimulus cannot be shown as meant, to the last pixel; 0 if it can.

    Parameters
    ----------
    drawn, seen
        The field that is drawn, and what is left of its pixels after resampling.
    cut
        Whether light that the display cannot show is meant to be cut.
    """
    if reason := _geometry(stimulus.layers, drawn, seen):
        return REASONS.index(reason)
    return 0 if cut or fits_gamut(stimulus, drawn, display) else REASONS.index("out-of-gamut")


def _geometry(layers: Sequence[Layer], drawn: Field, seen: Field) -> str:
    """Say why patterns do not fit the pixels, the frames or the extent of a field."""
    nyquist_cpd = _BELOW_NYQUIST * min(drawn.nyquist_cpd, seen.nyquist_cpd)
    for layer in layers:
        hz = 0.0 if layer.flicker is None else layer.flicker.frequency_hz
        if layer.pattern.highest_cpd > nyquist_cpd or hz > drawn.fps / 2:
            return "aliased"
    if any(share_inside(layer.pattern, drawn) < SHARE_INSIDE for layer in layers):
        return "window-cut"
    return ""


def realised_contrasts(
    reference: Stimulus, target: Layer, contrasts: Floats, display: Display, field: Field
) -> Floats:
    """Return the contrasts of noise after the display has cut it; others are as asked for.

    The contrast is the standard deviation along the direction of the target, in linear RGB, over
    the mean luminance; sqrt 2 times that where the contrast of the pattern is.
    """
    if not _is_rms(target):
        return contrasts
    background, direction = map(
        display.linear_rgb, (reference.background_xyz, target.modulation_xyz)
    )
    weights = np.array(display.rgb_to_xyz[1])
    scale = math.sqrt(2) if contrast_of(target.pattern) == "rms_sqrt2" else 1.0
    realised = []
    for rgb in _lights(reference, target, contrasts, display, field):
        shown = rgb.clip(*display.limits_cdm2())
        spread = scale * (direction @ shown).std() / (direction @ direction)
        realised.append(spread / ((weights @ shown).mean() / (weights @ background)))
    return np.array(realised)


def remaining_contrast(luminance: Tensor, target: Layer, field: Field) -> float:
    """Return the RMS contrast of a pattern in a picture: its share of what varies there.

    Rounding to grey levels, dither and cut-off peaks add much that is not the pattern; the
    covariance with the pattern is what is left of it. Pictures of another size are compared with
    the pattern resampled in the same way.

    Parameters
    ----------
    luminance
        The picture, a tensor [h, w].
    """
    pattern = drawn(target.pattern, field, str(luminance.device))
    if pattern.shape != luminance.shape:
        pattern = resample(pattern[None, None], luminance.shape)[0, 0]
    pattern = pattern - pattern.mean()
    relative = luminance / luminance.mean() - 1
    return float((relative * pattern).mean() / pattern.square().mean().sqrt())


def realised_mask(reference: Stimulus, display: Display, field: Field) -> float:
    """Return the contrast of a noise mask after the display has cut it, NaN if there is none."""
    for mask in reference.layers:
        if _is_rms(mask):
            alone = Stimulus(reference.background_xyz)
            contrast = np.array([mask.contrast])
            return float(realised_contrasts(alone, mask, contrast, display, field)[0])
    return float("nan")


def _is_rms(layer: Layer) -> bool:
    """Whether a contrast is no bound: peaks of noise lie far above its standard deviation."""
    return contrast_of(layer.pattern) != "amplitude"


def _lights(
    reference: Stimulus, target: Layer, contrasts: Floats, display: Display, field: Field
) -> Iterator[Floats]:
    """Return linear RGB as asked for, [3, pixels], one contrast after the other."""
    base = asked_light(reference, field, display).reshape(3, -1)
    alone = Stimulus((0.0, 0.0, 0.0), (replace(target, contrast=1.0),))
    added = asked_light(alone, field, display).reshape(3, -1)
    return (base + contrast * added for contrast in contrasts)
