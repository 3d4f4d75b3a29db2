"""VMAF v0.6.1 (li2018): visual information, loss of detail and motion, fused by regression.

Two engines look at the same luma: ``torch``, the package vmaf-torch in float64, and ``libvmaf`` of
ffmpeg, the original, which is fed with 16 bits and computes in fixed point. They agree where
differences are large; near the human threshold, the rounding of the original is larger than what it
should see.
"""

from __future__ import annotations

import importlib
import re
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from types import FunctionType, MethodType
from typing import Any, Literal, TypeAlias

from fechner.arrays import Tensor, torch
from fechner.errors import MissingExtraError, ObserverError
from fechner.observers.metrics.files import step_contrast
from fechner.observers.metrics.metric import (
    BT709_WEIGHTS,
    Metric,
    declared,
    import_package,
    luma,
    release,
)
from fechner.observers.weights import cause_of, hash_file
from fechner.stimuli import Clips, Frames

#: Weights of ITU-R BT.2020, meant for its own primaries.
BT2020_WEIGHTS = (0.2627, 0.6780, 0.0593)

#: Scores may leave 0..100.
_MODEL = r"model='version=vmaf_v0.6.1\:disable_clip=true'"

#: Luma of test and reference in 0..255, [h, w] each, frame after frame.
Pairs: TypeAlias = "Iterable[tuple[Tensor, Tensor]]"


class Vmaf(Metric):
    """Compares by VMAF: the score of a still picture and itself, less the score.

    It is below 0 where a test has more contrast than its reference, which VMAF takes for
    enhancement. Scores of frames are averaged.

    Parameters
    ----------
    engine
        ``torch``, or ``libvmaf``, which is always run on the CPU.
    levels
        Where black and white are: 16 and 235 as in the video that VMAF was made for, or 0 and 255.
    matrix
        The standard whose weights make luma. Pictures are sRGB, so BT.709's are right; the
        published numbers of Hammou et al. (2025) were made with BT.2020's.
    clip
        Whether scores are cut to 0..100.
    scores_in
        What scores are kept in: in ``float32``, as the published numbers were, those less than
        8e-6 apart are the same, and many near threshold are.
    """

    def __init__(
        self,
        device: str = "cpu",
        engine: Literal["torch", "libvmaf"] = "torch",
        levels: Literal["limited", "full"] = "limited",
        matrix: Literal["bt709", "bt2020"] = "bt709",
        clip: bool = False,
        scores_in: Literal["float64", "float32"] = "float64",
    ) -> None:
        about = declared("vmaf")
        self._score: TorchEngine | LibvmafEngine
        if engine == "torch":
            self._score = TorchEngine(device)
            library = f"{release('vmaf-torch')}/float64"
        else:
            self._score = LibvmafEngine()
            library = f"libvmaf/{hash_file(self._score.ffmpeg)}"
            step = step_contrast(16, limited=levels == "limited")
            about = replace(
                about,
                best=97.428043,  # as it is printed
                precision="fixed point, the original's own",
                fed=f"16-bit luma of {levels} levels (one step at mid grey is a contrast of "
                f"{step:.1e})",
            )
        super().__init__(
            "vmaf",
            about,
            self._pictures,
            look=lambda frames: self._codes(frames.pixels),
            watch=self._videos,
            fingerprint=f"{library}/v0.6.1/{levels}/{matrix}/{clip}/{scores_in}",
        )
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
        found = [self.about.best, *map(self._score, videos)]
        scores = torch.tensor(found, dtype=getattr(torch, self._scores_in)).double()
        return scores[0] - (scores[1:].clamp(0, 100) if self._clip else scores[1:])


class TorchEngine:
    """VMAF by vmaf-torch, in float64 throughout."""

    def __init__(self, device: str) -> None:
        vmaf_torch = import_package("vmaf_torch", "vmaf", "vmaf", torchvision=False)
        # Made in float64, not turned into it: filters whose coefficients were rounded to float32
        # see detail in a uniform field.
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            self._vmaf: Any = vmaf_torch.VMAF().to(device)
        finally:
            torch.set_default_dtype(before)
        _blur_faster(self._vmaf.vif)

    def __call__(self, pairs: Pairs) -> float:
        """Return the mean of the scores of all frames; no more than two are held at a time."""
        spatial, moved = [], []
        previous: Tensor | None = None
        for test, reference in ((a[None, None], b[None, None]) for a, b in pairs):
            detail = self._vmaf.compute_adm_score(reference, test)
            information = self._vmaf.compute_vif_features(reference, test)
            spatial.append((detail, information))
            moved.append(self._moved(previous, reference))
            previous = reference
        # The motion of a frame is the lesser of that before and after it; the first has none.
        after = [*moved[1:], moved[-1]]
        motion = [
            torch.minimum(a, b) if i else a
            for i, (a, b) in enumerate(zip(moved, after, strict=True))
        ]
        scores = [
            self._vmaf.predict(detail, each, information)
            for (detail, information), each in zip(spatial, motion, strict=True)
        ]
        return float(torch.cat(scores).mean())

    def _moved(self, previous: Tensor | None, current: Tensor) -> Tensor:
        """Return the mean absolute difference of two blurred frames, [1, 1]."""
        if previous is None or torch.equal(previous, current):
            return current.new_zeros(1, 1)
        moved: Tensor = self._vmaf.compute_motion(torch.cat([previous, current]))[1:]
        return moved


class LibvmafEngine:
    """VMAF by the libvmaf that ffmpeg brings, as a program of its own.

    Test and reference go as one picture, one above the other, through a pipe: nothing is written to
    disk. Codes have 16 bits, 256 for each of 0..255.
    """

    def __init__(self) -> None:
        try:
            self.ffmpeg = str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
        except (ImportError, RuntimeError) as error:
            what = "observer 'vmaf@engine=libvmaf'"
            raise MissingExtraError(what, "libvmaf", cause_of(error)) from None
        filters = subprocess.run(
            [self.ffmpeg, "-hide_banner", "-filters"], capture_output=True, stdin=subprocess.DEVNULL
        )
        if b" libvmaf " not in filters.stdout:
            raise ObserverError(
                f"'{self.ffmpeg}' was built without libvmaf; unset IMAGEIO_FFMPEG_EXE for the one "
                "that pip install 'fechner[libvmaf]' brings, or take vmaf@engine=torch."
            )

    def __call__(self, pairs: Pairs) -> float:
        """Return the mean of the scores of all frames."""
        process: subprocess.Popen[bytes] | None = None
        chroma = b""
        try:
            for test, reference in pairs:
                both = torch.cat([test, reference]).mul(256).round().clamp(0, 2**16 - 1)
                codes = both.cpu().numpy().astype("<u2")
                if process is None:
                    process = self._start(*test.shape)
                    chroma = bytes([0, 128]) * (2 * codes.size)  # grey
                assert process.stdin is not None
                process.stdin.write(codes.tobytes() + chroma)
        except BrokenPipeError:
            pass  # what it says is below
        finally:
            said = b"" if process is None else process.communicate()[1]
        scores = re.findall(rb"VMAF score: (\S+)", said)
        if not scores:
            last = (said.strip() or b"nothing").splitlines()[-1].decode(errors="replace")
            raise ObserverError(f"ffmpeg gave no VMAF score; it said: {last}")
        return float(scores[-1])

    def _start(self, height: int, width: int) -> subprocess.Popen[bytes]:
        halves = (
            f"split[a][b];[a]crop={width}:{height}:0:0[test];"
            f"[b]crop={width}:{height}:0:{height}[reference];[test][reference]"
        )
        return subprocess.Popen(
            [
                *(self.ffmpeg, "-hide_banner", "-nostats"),
                *("-f", "rawvideo", "-pix_fmt", "yuv444p16le", "-s", f"{width}x{2 * height}"),
                *("-i", "-", "-filter_complex_threads", "1"),
                *("-filter_complex", f"{halves}libvmaf={_MODEL}:n_threads=1"),
                *("-f", "null", "-"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )


def _blur_faster(vif: Any) -> None:
    """Let the library's code blur by shifted sums.

    Its own convolutions, in float64, take three quarters of all time. What they are looked up in is
    given to this one object only.
    """
    function = type(vif).vif_num_den
    names = {**function.__globals__, "fast_gaussian_blur": _blur}
    vif.vif_num_den = MethodType(FunctionType(function.__code__, names), vif)


def _blur(pictures: Tensor, weight: Tensor, stride: int = 1) -> Tensor:
    """Convolve with a symmetric kernel in both directions, where it fits; keep every stride-th."""
    weights = weight.tolist()
    half = len(weights) // 2
    for dim in (-1, -2):
        # [..., kernel] without a copy
        shifted = pictures.unfold(dim, len(weights), stride)
        blurred = shifted[..., half] * weights[half]
        for number in range(half):
            blurred.add_(shifted[..., number] + shifted[..., -1 - number], alpha=weights[number])
        pictures = blurred
    return pictures
