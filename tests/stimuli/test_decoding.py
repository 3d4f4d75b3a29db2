"""Photographs: files of every kind become RGB, or a sentence."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from photographs import noise_picture, path_of
from PIL import Image

from fechner.errors import PictureError
from fechner.stimuli import Field
from fechner.stimuli.decoding import MOST_PIXELS, decoded
from fechner.stimuli.pictures import Photograph, photograph

FIELD = Field(32, 32, 16.0)


def saved(picture: Image.Image, kind: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def uniform(mode: str, colour) -> Image.Image:
    return Image.new(mode, (40, 40), colour)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (saved(uniform("RGB", (255, 0, 51))), (1, 0, 0.2)),
        (saved(uniform("L", 102)), (0.4, 0.4, 0.4)),
        (saved(uniform("1", 1)), (1, 1, 1)),
        (saved(uniform("CMYK", (0, 255, 255, 0)), "TIFF"), (1, 0, 0)),
        (saved(uniform("RGBA", (0, 0, 255, 255))), (0, 0, 1)),
        (saved(uniform("RGBA", (0, 0, 0, 51))), (0.8, 0.8, 0.8)),  # white behind it
        (saved(uniform("LA", (0, 0))), (1, 1, 1)),
        (saved(uniform("RGB", (9, 9, 9)).quantize(2), transparency=0), (1, 1, 1)),
        (saved(uniform("I;16", 13107)), (0.2, 0.2, 0.2)),
        (saved(uniform("P", 0), "GIF"), (0, 0, 0)),
        (saved(uniform("RGB", (255, 255, 0)), "WEBP", lossless=True), (1, 1, 0)),
        (saved(Image.new("RGB", (8, 8), (0, 255, 0))), (0, 1, 0)),
    ],
)
def test_everything_becomes_rgb(content: bytes, expected: tuple[float, ...]) -> None:
    values = decoded(content, "x", (20, 30))
    assert values.shape == (20, 30, 3)
    np.testing.assert_allclose(values, np.broadcast_to(expected, values.shape), atol=0.003)


def test_sixteen_bits_are_kept() -> None:
    ramp = np.linspace(0, 65535, 64 * 64).reshape(64, 64).astype(np.uint16)
    values = decoded(saved(Image.fromarray(ramp)), "x", (64, 64))
    np.testing.assert_allclose(values[..., 0], ramp / 65535, atol=1e-6)


def test_exif_turns_it() -> None:
    half = Image.new("RGB", (40, 40), "black")
    half.paste("white", (0, 0, 40, 20))  # its upper half
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    values = decoded(saved(half, exif=exif), "x", (40, 40))
    assert values[:, 30:].mean() > 0.9
    assert values[:, :10].mean() < 0.1


def test_the_middle_is_scaled_to_the_field() -> None:
    # As scaling the shorter side and cutting out the middle.
    picture = Image.open(path_of("skimage/data/chelsea.png"))
    values = decoded(saved(picture), "x", (100, 100))
    width = round(picture.width * 100 / picture.height)
    whole = np.asarray(picture.resize((width, 100), Image.Resampling.BICUBIC), float) / 255
    left = (width - 100) // 2
    assert np.abs(values - whole[:, left : left + 100]).mean() < 0.01
    # One that has its size already is left as it is.
    same = noise_picture(0)
    np.testing.assert_array_equal(decoded(saved(same), "x", (64, 64)), np.asarray(same) / 255.0)


def test_a_thin_picture_is_not_scaled_whole() -> None:
    values = decoded(saved(Image.new("RGB", (20_000, 8), "red")), "x", (256, 256))
    np.testing.assert_allclose(values[..., 0], 1)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no picture in a format that is known"),
        (b"no picture at all", "no picture in a format that is known"),
        (saved(noise_picture(1))[:4000], "cut off"),
        (saved(noise_picture(1), "JPEG")[:900], "cut off"),
        (
            saved(Image.new("RGB", (1, 1))),
            "has 1 x 1 pixels, and less than 8 each way",
        ),
        (saved(Image.new("F", (8, 8), 0.5), "TIFF"), "floating point; save it with 8 or 16 bits"),
        (saved(Image.new("1", (20_000, 20_000))), "has .* pixels.* make it smaller"),
        (saved(Image.new("1", (9_000, 9_000))), "has 9000 x 9000 pixels, .* make it smaller"),
    ],
)
def test_what_cannot_be_decoded_is_one_sentence(content: bytes, why: str) -> None:
    with pytest.raises(PictureError, match=why) as error:
        decoded(content, "a/b.jpg", (32, 32))
    assert error.value.problem == "unreadable"
    assert str(error.value).startswith("a/b.jpg ")
    assert str(error.value).count(".") <= 2  # that of the name, and the end
    assert "0x" not in str(error.value)


def test_the_largest_is_within_a_sensible_amount_of_memory() -> None:
    assert 4000 * 6000 < MOST_PIXELS < 2**31 / 3


def test_a_photograph_is_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "one.png"
    noise_picture(1).save(path)
    one = photograph(path, "noise")
    moved = Photograph("one.png", "noise", one.sha256, "elsewhere")
    assert one == moved
    assert hash(one) == hash(moved)
    assert one != Photograph("one.png", "other", one.sha256)
    pixels = one.draw(FIELD, 8, "cpu")
    assert pixels.shape == (3, 32, 32)
    assert pixels.dtype == torch.float64
    torch.testing.assert_close(pixels * 255, (pixels * 255).round())
    assert one.at(1.0) is one


def test_files_that_changed_or_went(tmp_path: Path) -> None:
    path = tmp_path / "one.png"
    noise_picture(1).save(path)
    one = photograph(path, "noise")
    noise_picture(2).save(path)
    with pytest.raises(PictureError, match=r"one.png has changed since it was listed"):
        one.draw(FIELD, 8, "cpu")
    path.unlink()
    with pytest.raises(PictureError, match=r"one.png cannot be read: No such file"):
        one.draw(FIELD, 8, "cpu")
    assert photograph(path, "noise").sha256 == ""
