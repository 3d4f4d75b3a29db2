"""VMAF v0.6.1 (li2018): visual information, loss of detail and motion, fused by regression.

Two engines look at the same luma: ``torch`` in float64, and ``libvmaf``, the original, which is fed
with 16 bits and computes in fixed point. They agree where differences are large; near the human
threshold, the rounding of the original is larger than what it should see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from fechner.observers.abilities import Wants
from fechner.observers.metrics.files import Levels, step_contrast
from fechner.observers.metrics.luma import luma
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.packages import release
from fechner.observers.metrics.vmaf_engines import LibvmafEngine, Pairs, TorchEngine
from fechner.observers.weights import hash_file
from fechner.stimuli import Clips, Frames

if TYPE_CHECKING:
    from torch import Tensor

Engine = Literal["torch", "libvmaf"]

ABOUT = {
    "vmaf": About(
        "video",
        Wants(dtype="float64", colour=False, video=True),
        # Of a still reference. What is the same as a reference that moves scores higher, by 0.7 for
        # each unit of motion: the mean change of the blurred luma from frame to frame, of 255.
        best=97.4280426426,
        scores=(float("-inf"), float("inf")),
        higher_is_better=True,
        csf_based=True,
        precision=(
            "float32 rounds by more than a Gabor of contrast 0.003 changes the score; float64 is "
            "no slower here"
        ),
    )
}


class Vmaf(Metric):
    """Compares by VMAF: the score of a still picture and itself, less the score.

    It is below 0 where a test has more contrast than its reference, which VMAF takes for
    enhancement. Scores of frames are averaged.

    Parameters
    ----------
    score
        The engine: takes pairs of frames and returns the score.
    levels
        Where black and white are: 16 and 235 as in the video that VMAF was made for, or 0 and 255.
    clip
        Whether scores are cut to 0..100.
    """

    def __init__(
        self,
        about: About,
        score: TorchEngine | LibvmafEngine,
        levels: Levels,
        clip: bool,
        fingerprint: str,
    ) -> None:
        super().__init__(
            "vmaf",
            about,
            self._pictures,
            look=lambda frames: self._codes(frames.pixels),
            watch=self._videos,
            fingerprint=fingerprint,
        )
        self._score = score
        self._levels = levels
        self._clip = clip

    def _codes(self, encoded: Tensor) -> Tensor:
        black, white = (16, 235) if self._levels == "limited" else (0, 255)
        return black + (white - black) * luma(encoded)

    def _pictures(self, test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        pairs = zip(test, reference.expand_as(test), strict=True)
        return self._differences([pair] for pair in pairs)

    def _videos(self, test: Clips, reference: Clips) -> Tensor:
        def pairs(row: int) -> Pairs:
            for a, b in zip(test.rows([row]), reference.rows([row]), strict=True):
                yield self._codes(a.pixels)[0], self._codes(b.pixels)[0]

        return self._differences(map(pairs, range(len(test))))

    def _differences(self, videos: Iterable[Pairs]) -> Tensor:
        import torch

        scores = torch.tensor([self._score(pairs) for pairs in videos], dtype=torch.float64)
        if self._clip:
            scores = scores.clamp(0, 100)
        difference: Tensor = self.about.difference(scores)
        return difference


def make(
    device: str = "cpu",
    engine: Engine = "torch",
    levels: Levels = "limited",
    clip: bool = False,
) -> Vmaf:
    """Return the observer.

    Parameters
    ----------
    engine
        ``torch``, or ``libvmaf``, which is always run on the CPU.
    levels, clip
        See `Vmaf`.
    """
    about, settings = ABOUT["vmaf"], f"v0.6.1/{levels}/{clip}"
    if engine == "torch":
        fingerprint = f"{release('vmaf-torch')}/float64/{settings}"
        return Vmaf(about, TorchEngine(device), levels, clip, fingerprint)
    original = LibvmafEngine()
    step = step_contrast(16, levels)
    about = replace(
        about,
        best=97.428043,  # as it is printed
        precision="fixed point, the original's own",
        fed=f"16-bit luma of {levels} levels (one step at mid grey is a contrast of {step:.1e})",
    )
    return Vmaf(about, original, levels, clip, f"libvmaf/{hash_file(original.ffmpeg)}/{settings}")
