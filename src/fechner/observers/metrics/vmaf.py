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
from fechner.observers.metrics.luma import BT709_WEIGHTS, BT2020_WEIGHTS, luma
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.packages import release
from fechner.observers.metrics.vmaf_engines import LibvmafEngine, Pairs, TorchEngine
from fechner.observers.weights import hash_file
from fechner.stimuli import Clips, Frames

if TYPE_CHECKING:
    from torch import Tensor

Engine = Literal["torch", "libvmaf"]

#: The standard whose weights make luma of red, green and blue.
Matrix = Literal["bt709", "bt2020"]

ScoreType = Literal["float64", "float32"]

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
    matrix
        Weights of luma. Pictures are sRGB, so BT.709's are right; the published numbers of Hammou
        et al. (2025) were made with BT.2020's.
    clip
        Whether scores are cut to 0..100.
    scores_in
        What scores are kept in: in ``float32``, as the published numbers were, those less than
        8e-6 apart are the same, and many near threshold are.
    """

    def __init__(
        self,
        about: About,
        score: TorchEngine | LibvmafEngine,
        levels: Levels,
        matrix: Matrix,
        clip: bool,
        scores_in: ScoreType,
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
        self._weights = BT2020_WEIGHTS if matrix == "bt2020" else BT709_WEIGHTS
        self._clip = clip
        self._scores_in = scores_in

    def _codes(self, encoded: Tensor) -> Tensor:
        black, white = (16, 235) if self._levels == "limited" else (0, 255)
        return black + (white - black) * luma(encoded, self._weights)

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

        found = [self.about.best, *map(self._score, videos)]
        scores = torch.tensor(found, dtype=getattr(torch, self._scores_in)).double()
        return scores[0] - (scores[1:].clamp(0, 100) if self._clip else scores[1:])


def make(
    device: str = "cpu",
    engine: Engine = "torch",
    levels: Levels = "limited",
    matrix: Matrix = "bt709",
    clip: bool = False,
    scores_in: ScoreType = "float64",
) -> Vmaf:
    """Return the observer.

    Parameters
    ----------
    engine
        ``torch``, or ``libvmaf``, which is always run on the CPU.
    levels, matrix, clip, scores_in
        See `Vmaf`.
    """
    about, settings = ABOUT["vmaf"], f"v0.6.1/{levels}/{matrix}/{clip}/{scores_in}"
    if engine == "torch":
        fingerprint = f"{release('vmaf-torch')}/float64/{settings}"
        return Vmaf(about, TorchEngine(device), levels, matrix, clip, scores_in, fingerprint)
    original = LibvmafEngine()
    step = step_contrast(16, levels)
    about = replace(
        about,
        best=97.428043,  # as it is printed
        precision="fixed point, the original's own",
        fed=f"16-bit luma of {levels} levels (one step at mid grey is a contrast of {step:.1e})",
    )
    fingerprint = f"libvmaf/{hash_file(original.ffmpeg)}/{settings}"
    return Vmaf(about, original, levels, matrix, clip, scores_in, fingerprint)
