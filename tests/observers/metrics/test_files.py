"""Files are read back exactly by other people's decoders."""

import subprocess
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import OpenEXR
import pytest
import torch
from PIL import Image

from fechner.errors import FechnerError
from fechner.observers.metrics.files import (
    check_kind,
    step_contrast,
    write_exr,
    write_png,
    write_video,
    ycbcr,
)
from fechner.stimuli import display

#: Odd sides, since rows of files are padded in some formats.
PICTURE = torch.rand(3, 21, 35, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def decoded(path: Path, pixel_format: str, dtype: str) -> np.ndarray:
    """Return all values of a file, as ffmpeg reads it."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path)]
    command += ["-f", "rawvideo", "-pix_fmt", pixel_format, "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    return np.frombuffer(done.stdout, dtype)


def test_png_of_16_bits(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", PICTURE)
    got = decoded(tmp_path / "a.png", "rgb48le", "<u2").reshape(21, 35, 3)
    assert np.array_equal(got, np.rint(PICTURE.permute(1, 2, 0).numpy() * 65535))


def test_png_of_8_bits(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", PICTURE, bits=8)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.mode == "RGB"
        got = np.asarray(picture)
    assert np.array_equal(got, np.rint(PICTURE.permute(1, 2, 0).numpy() * 255))


def test_values_outside_the_range_are_cut(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", torch.tensor([-0.5, 0.5, 1.5]).reshape(3, 1, 1))
    assert decoded(tmp_path / "a.png", "rgb48le", "<u2").tolist() == [0, 32768, 65535]


@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_exr(tmp_path: Path, scale: float) -> None:
    write_exr(tmp_path / "a.exr", PICTURE * scale)
    with OpenEXR.File(str(tmp_path / "a.exr")) as file:
        got = file.channels()["RGB"].pixels
    assert got.dtype == np.float32
    assert np.array_equal(got, (PICTURE * scale).permute(1, 2, 0).float().numpy())


@pytest.mark.parametrize(
    ("bits", "pixel_format", "dtype"),
    [(8, "yuv444p", "u1"), (10, "yuv444p10le", "<u2"), (16, "yuv444p16le", "<u2")],
)
def test_y4m(tmp_path: Path, bits: int, pixel_format: str, dtype: str) -> None:
    frames = [PICTURE, 1 - PICTURE, PICTURE.flip(0)]
    write_video(tmp_path / "a.y4m", iter(frames), 60000 / 1001, bits)
    got = decoded(tmp_path / "a.y4m", pixel_format, dtype).reshape(3, 3, 21, 35)
    assert np.array_equal(got, np.stack([ycbcr(frame, bits) for frame in frames]))
    head = (tmp_path / "a.y4m").read_bytes().split(b"\n")[0]
    assert head.startswith(b"YUV4MPEG2 W35 H21 F60000:1001 ")
    assert head.endswith(b"XCOLORRANGE=LIMITED")


def test_luma_and_chroma_of_the_recommendation() -> None:
    """The 100 % colour bars of BT.709, 8 bits: white, yellow, cyan, green, magenta, red, blue."""
    colours = [(1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1)]
    bars = torch.tensor(colours, dtype=torch.float64).T[:, None]
    luma, blueness, redness = ycbcr(bars, 8)[:, 0].tolist()
    assert luma == [235, 219, 188, 173, 78, 63, 32]
    assert blueness == [128, 16, 154, 42, 214, 102, 240]
    assert redness == [128, 138, 16, 26, 230, 240, 118]


@pytest.mark.parametrize("bits", [8, 16])
def test_one_step_is_the_contrast_it_is_said_to_be(bits: int) -> None:
    desk = display("metrics")
    codes = 0.5 + torch.tensor([-0.5, 0.5], dtype=torch.float64) / (2**bits - 1)
    low, high = desk.decode(codes).tolist()
    middle = float(desk.decode(torch.tensor(0.5, dtype=torch.float64)))
    assert step_contrast(bits) == pytest.approx((high - low) / middle, rel=1e-4)
    assert step_contrast(bits, limited=True) == pytest.approx(
        step_contrast(bits) * (2**bits - 1) / (219 * 2 ** (bits - 8))
    )


@pytest.mark.parametrize(("kind", "bits"), [("png", 10), ("y4m", 9)])
def test_bits_that_a_format_does_not_have(kind: str, bits: int) -> None:
    with pytest.raises(FechnerError, match=f"{kind} files .* not {bits}"):
        check_kind(kind, bits, "display")
