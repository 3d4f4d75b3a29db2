"""Decoding: files of every kind become RGB in bounded memory, or a sentence."""

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from photographs import noise_picture, path_of
from PIL import Image

from fechner.errors import PictureError
from fechner.stimuli import Field
from fechner.stimuli.decoding import MOST_PIXELS, decoded
from fechner.stimuli.picture_sets import open_pictures
from fechner.stimuli.pictures import Photograph, PictureFile, photograph

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


def listed(path: Path) -> PictureFile:
    return PictureFile(str(path), path.stat().st_size, path.name)


def jpeg(image: Image.Image, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def test_small_files_are_shown_as_photographs_are(tmp_path: Path) -> None:
    for name in ("skimage/data/chelsea.png", "sklearn/datasets/images/china.jpg"):
        path = path_of(name)
        field = Field(224, 224, 16.0)
        expected = photograph(path, "x").draw(field, 8, "cpu")
        torch.testing.assert_close(listed(path).draw(field, 8, "cpu"), expected, atol=0, rtol=0)


ODD = {
    "grey.png": (Image.new("L", (40, 40), 102), (0.4, 0.4, 0.4)),
    "cmyk.jpg": (Image.new("CMYK", (40, 40), (0, 255, 255, 0)), (1, 0, 0)),
    "alpha.png": (Image.new("RGBA", (40, 40), (0, 0, 0, 51)), (0.8, 0.8, 0.8)),
    "palette.gif": (Image.new("P", (40, 40), 0), (0, 0, 0)),
    "sixteen.png": (Image.new("I;16", (40, 40), 13107), (0.2, 0.2, 0.2)),
    "small.png": (Image.new("RGB", (8, 8), (0, 255, 0)), (0, 1, 0)),
    "thin.png": (Image.new("RGB", (20_000, 8), (255, 0, 0)), (1, 0, 0)),
    "UPPER.TIFF": (Image.new("RGB", (40, 40), (0, 0, 255)), (0, 0, 1)),
}


def test_odd_files_of_a_folder_become_rgb(tmp_path: Path) -> None:
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for name, (image, _) in ODD.items():
            image.save(tmp_path / label / name, quality=95)
    found = open_pictures(tmp_path)
    assert found.counts == (len(ODD), len(ODD))
    for index in range(len(ODD)):
        pixels = found.picture(0, index).draw(FIELD, 8, "cpu")
        _, expected = ODD[found.name(0, index).removeprefix("a/")]
        want = torch.tensor(expected, dtype=torch.float64)[:, None, None].expand(3, 32, 32)
        torch.testing.assert_close(pixels, want, atol=0.01, rtol=0)


@pytest.mark.parametrize("turned", [1, 6])
def test_a_large_jpeg_is_decoded_at_a_part_of_its_size(turned: int) -> None:
    chelsea = Image.open(path_of("skimage/data/chelsea.png"))
    exif = Image.Exif()
    exif[0x0112] = turned
    content = jpeg(chelsea.resize((1804, 1200)), quality=90, exif=exif)
    whole = decoded(content, "x", (224, 160))
    part = decoded(content, "x", (224, 160), sparing=True)
    assert part.shape == whole.shape
    difference = np.abs(part - whole)
    assert 0 < difference.mean() < 0.004
    assert difference.max() < 0.1


def test_a_jpeg_of_little_more_than_the_field_is_decoded_whole() -> None:
    content = jpeg(noise_picture(3, 200), quality=90)
    np.testing.assert_array_equal(
        decoded(content, "x", (64, 64), sparing=True), decoded(content, "x", (64, 64))
    )


def test_twenty_thousand_pixels(tmp_path: Path) -> None:
    """A JPEG of 20,000 x 20,000 is shown in little memory; what cannot be is one line."""
    side = 20_000
    (tmp_path / "large.jpg").write_bytes(jpeg(Image.new("L", (side, side), 102), quality=30))
    one = listed(tmp_path / "large.jpg")
    pixels = one.draw(FIELD, None, "cpu")
    torch.testing.assert_close(pixels, torch.full_like(pixels, 0.4), atol=0.01, rtol=0)
    Image.new("1", (side, side)).save(tmp_path / "large.png")
    tracemalloc.start()
    with pytest.raises(PictureError, match=r"large.png has .*pixels.* make it smaller"):
        listed(tmp_path / "large.png").draw(FIELD, None, "cpu")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**24


def test_a_large_progressive_jpeg_is_one_line() -> None:
    # Its decoder holds all of it, whatever part is asked for.
    content = jpeg(Image.new("L", (8_200, 8_200)), progressive=True)
    with pytest.raises(PictureError, match="x has 8200 x 8200 pixels, more than"):
        decoded(content, "x", (32, 32), sparing=True)
    small = jpeg(Image.new("L", (2_000, 2_000), 102), progressive=True)
    assert decoded(small, "x", (32, 32), sparing=True).mean() == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (jpeg(noise_picture(1, 64))[:900], "x.jpg is cut off"),
        (b"\xff\xd8\xff" + bytes(100), "x.jpg is (damaged|no picture)"),
        (b"\xff\xd8\xff", "x.jpg is (damaged|no picture)"),
        (b"GIF89a" + bytes(3), "x.jpg is (damaged|no picture)"),
    ],
)
def test_broken_files_are_one_sentence(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "x.jpg"
    path.write_bytes(content)
    with pytest.raises(PictureError, match=why) as error:
        listed(path).draw(FIELD, 8, "cpu")
    assert error.value.problem == "unreadable"
    assert "\n" not in str(error.value)


def test_files_of_one_name_and_size_in_two_places_are_two_pictures(tmp_path: Path) -> None:
    for number, place in enumerate(("here", "there")):
        for label in "ab":
            (tmp_path / place / label).mkdir(parents=True)
            noise_picture(number, 8).save(tmp_path / place / label / "x.ppm")
    here, there = (open_pictures(tmp_path / place) for place in ("here", "there"))
    assert here == there  # as far as their lists say
    assert here.picture(0, 0) != there.picture(0, 0)
    assert not torch.equal(
        here.picture(0, 0).draw(FIELD, 8, "cpu"),
        there.picture(0, 0).draw(FIELD, 8, "cpu"),
    )
