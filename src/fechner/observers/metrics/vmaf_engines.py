"""The engines of VMAF: vmaf-torch, and the libvmaf of ffmpeg."""

from __future__ import annotations

import importlib
import re
import subprocess
from collections.abc import Iterable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

from fechner.errors import MissingExtraError, ObserverError
from fechner.observers.metrics.packages import quietly
from fechner.observers.weights import cause_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

#: Scores may leave 0..100.
_MODEL = r"model='version=vmaf_v0.6.1\:disable_clip=true'"

#: Luma of test and reference in 0..255, [h, w] each, frame after frame.
Pairs: TypeAlias = "Iterable[tuple[Tensor, Tensor]]"


class TorchEngine:
    """VMAF by vmaf-torch, in float64 throughout."""

    def __init__(self, device: str) -> None:
        import torch

        vmaf_torch = _import_vmaf_torch()
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
        import torch

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
        import torch

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
        self.ffmpeg = _find_ffmpeg()
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
                codes = _codes_of_16_bits(test, reference)
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


def _codes_of_16_bits(test: Tensor, reference: Tensor) -> NDArray[np.uint16]:
    import torch

    both = torch.cat([test, reference]).mul(256).round().clamp(0, 2**16 - 1)
    codes: NDArray[np.uint16] = both.cpu().numpy().astype("<u2")
    return codes


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


def _import_vmaf_torch() -> Any:
    try:
        with quietly():
            return importlib.import_module("vmaf_torch")
    except ImportError as error:
        raise MissingExtraError("observer 'vmaf'", "vmaf", str(error)) from None


def _find_ffmpeg() -> str:
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        what = "observer 'vmaf@engine=libvmaf'"
        raise MissingExtraError(what, "libvmaf", cause_of(error)) from None
