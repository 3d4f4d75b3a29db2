"""Files for programs that read pictures and videos: PNG, Y4M and OpenEXR.

PNG and Y4M round to a number of bits, which `step_contrast` puts into contrast; OpenEXR holds
32-bit floating point. Videos are written frame after frame.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor
from fechner.errors import FechnerError
from fechner.observers.metrics.metric import BT709_WEIGHTS
from fechner.stimuli import Clips, Light

#: How Y4M names the sampling 4:4:4 at so many bits.
_Y4M_444 = {8: "C444", 10: "C444p10", 12: "C444p12", 14: "C444p14", 16: "C444p16"}

#: How many bits files of whole numbers can have.
_BITS = {"png": (8, 16), "y4m": tuple(_Y4M_444)}

#: The sRGB curve above its toe is L ~ (V + .055)^2.4 (IEC 61966-2-1).
_SRGB_EXPONENT, _SRGB_OFFSET = 2.4, 0.055

Kind = Literal["png", "y4m", "exr"]


def check_kind(kind: Kind, bits: int, light: Light) -> None:
    """Say which settings of files do not go together."""
    if kind == "exr":
        return
    if light == "cdm2":
        raise FechnerError(
            f"{kind} files hold display-encoded values only; for light in cd/m2 set files=exr."
        )
    if bits not in _BITS[kind]:
        known = ", ".join(map(str, _BITS[kind]))
        raise FechnerError(f"{kind} files have one of {known} bits, not {bits}.")


def describe_kind(kind: Kind, bits: int) -> str:
    """Return what a program is fed with, with the contrast of one step."""
    if kind == "exr":
        return "OpenEXR files of 32-bit floating point"
    step = step_contrast(bits, limited=kind == "y4m")
    return f"{bits}-bit {kind.upper()} files (one step at mid grey is a contrast of {step:.1e})"


def write_file(stem: Path, kind: Kind, bits: int, shown: Tensor | Clips) -> Path:
    """Write a picture, [3, h, w], or the one video of clips, and return the file or folder.

    Videos as PNG or OpenEXR are folders of numbered frames, pictures as Y4M videos of one frame.
    """
    path = stem.with_suffix(f".{kind}")
    if isinstance(shown, Clips):
        frames = (frame.pixels[0] for frame in shown)
        if kind == "y4m":
            write_video(path, frames, shown.field.fps, bits)
            return path
        stem.mkdir(exist_ok=True)
        for number, frame in enumerate(frames):
            write_file(stem / f"{number:05d}", kind, bits, frame)
        return stem
    if kind == "y4m":
        write_video(path, [shown], 1.0, bits)
    elif kind == "png":
        write_png(path, shown, bits)
    else:
        write_exr(path, shown)
    return path


def write_png(path: Path | str, rgb: Tensor, bits: int = 16) -> None:
    """Write a picture, [3, h, w] in 0..1, as a colour PNG of 8 or 16 bits.

    Rows are not filtered and hardly compressed: the file is read once and thrown away.
    """
    codes = _rounded(_array(rgb).transpose(1, 2, 0) * (2**bits - 1), bits)
    height, width, _ = codes.shape
    filtered = np.zeros((height, 1 + width * 3 * bits // 8), np.uint8)  # each row begins with 0
    big_endian = np.ascontiguousarray(codes.astype(f">u{bits // 8}"))
    filtered[:, 1:] = big_endian.view(np.uint8).reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    with Path(path).open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(filtered.tobytes(), level=1)),
            (b"IEND", b""),
        ):
            checksum = zlib.crc32(data, zlib.crc32(kind))
            file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum))


def write_video(path: Path | str, frames: Iterable[Tensor], fps: float, bits: int = 16) -> None:
    """Write frames, each [3, h, w] in 0..1, as they come: Y4M of Y'CbCr, BT.709, 4:4:4."""
    rate = Fraction(fps).limit_denominator(1001)
    with Path(path).open("wb") as file:
        for number, frame in enumerate(frames):
            planes = ycbcr(frame, bits)
            if number == 0:
                _, height, width = planes.shape
                file.write(
                    f"YUV4MPEG2 W{width} H{height} F{rate.numerator}:{rate.denominator} Ip A1:1 "
                    f"{_Y4M_444[bits]} XCOLORRANGE=LIMITED\n".encode()
                )
            file.write(b"FRAME\n" + planes.astype("u1" if bits == 8 else "<u2").tobytes())


def ycbcr(rgb: Tensor, bits: int = 16) -> NDArray[np.uint16]:
    """Return codes of luma and colour difference, [3, h, w], for encoded RGB, [3, h, w] in 0..1.

    ITU-R BT.709-6 (itu2015_bt709), items 3.2 to 3.4: Y' = .2126 R' + .7152 G' + .0722 B',
    Cb = (B' - Y')/1.8556, Cr = (R' - Y')/1.5748, as (16 + 219 Y', 128 + 224 C) 2^(bits - 8).

    Examples
    --------
    >>> import torch
    >>> ycbcr(torch.ones(3, 1, 1, dtype=torch.float64), 8).ravel().tolist()
    [235, 128, 128]
    """
    red, green, blue = _array(rgb)
    weights = BT709_WEIGHTS
    luma = weights[0] * red + weights[1] * green + weights[2] * blue
    blueness = (blue - luma) / (2 * (1 - weights[2]))
    redness = (red - luma) / (2 * (1 - weights[0]))
    planes = [16 + 219 * luma, 128 + 224 * blueness, 128 + 224 * redness]
    return _rounded(np.stack(planes) * 2 ** (bits - 8), bits)


def write_exr(path: Path | str, rgb: Tensor) -> None:
    """Write a picture, [3, h, w], as an uncompressed OpenEXR file of 32-bit floating point.

    Values are written as they are, whether cd/m2 or encoded.
    """
    pixels = _array(rgb).astype("<f4")
    _, height, width = pixels.shape
    window = struct.pack("<iiii", 0, 0, width - 1, height - 1)
    # Each channel: float (2), not perceptually linear, sampled at every pixel; in order of names.
    channel = struct.pack("<iB3xii", 2, 0, 1, 1)
    channels = b"".join(name + b"\0" + channel for name in (b"B", b"G", b"R")) + b"\0"
    header = b"".join(
        name + b"\0" + kind + b"\0" + struct.pack("<i", len(value)) + value
        for name, kind, value in (
            (b"channels", b"chlist", channels),
            (b"compression", b"compression", b"\0"),
            (b"dataWindow", b"box2i", window),
            (b"displayWindow", b"box2i", window),
            (b"lineOrder", b"lineOrder", b"\0"),
            (b"pixelAspectRatio", b"float", struct.pack("<f", 1)),
            (b"screenWindowCenter", b"v2f", struct.pack("<ff", 0, 0)),
            (b"screenWindowWidth", b"float", struct.pack("<f", 1)),
        )
    )
    start = struct.pack("<II", 20000630, 2) + header + b"\0"  # magic number, version of the format
    size = 3 * 4 * width
    lines = np.zeros(height, [("y", "<i4"), ("size", "<i4"), ("pixels", "<f4", (3, width))])
    lines["y"] = np.arange(height)
    lines["size"] = size
    lines["pixels"] = pixels[::-1].transpose(1, 0, 2)
    first = len(start) + 8 * height
    offsets = first + np.arange(height, dtype="<u8") * (8 + size)
    Path(path).write_bytes(start + offsets.astype("<u8").tobytes() + lines.tobytes())


def step_contrast(bits: int, *, limited: bool = False) -> float:
    """Return the contrast of one step of the codes, dL/L, at an sRGB-encoded mid grey.

    Limited levels leave room below black and above white, as video does (ITU-R BT.709).

    Examples
    --------
    >>> [f"{step_contrast(bits):.1e}" for bits in (8, 10, 16)]
    ['1.7e-02', '4.2e-03', '6.6e-05']
    """
    steps: int = 219 << (bits - 8) if limited else 2**bits - 1
    return _SRGB_EXPONENT / (0.5 + _SRGB_OFFSET) / steps


def _array(rgb: Tensor) -> NDArray[np.float64]:
    array: NDArray[np.float64] = rgb.detach().double().cpu().numpy()
    return array


def _rounded(codes: NDArray[np.float64], bits: int) -> NDArray[np.uint16]:
    rounded: NDArray[np.uint16] = np.rint(codes, out=codes).clip(0, 2**bits - 1).astype(np.uint16)
    return rounded
