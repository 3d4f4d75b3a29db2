"""Pictures travel as PNG files: every level arrives, and each is written once."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from observers.chat.server import FakeServer, picture
from PIL import Image

from fechner.errors import ObserverError
from fechner.observers import Prompt, Question, resolve
from fechner.observers.chat import endpoint
from fechner.observers.chat.endpoint import data_url, png
from fechner.stimuli import Field, Frames, display


def levels(values: torch.Tensor) -> Frames:
    size = values.shape[-2:]
    return Frames(values, Field(size[1], size[0], 64.0), display("encoders"), "display")


def test_every_level_arrives_unchanged() -> None:
    ramp = torch.arange(256, dtype=torch.float32).reshape(1, 1, 16, 16).expand(1, 3, 16, 16) / 255
    shifted = ramp.roll(7, dims=3)
    frames = levels(torch.cat([ramp, shifted]))
    for row in range(2):
        read = np.asarray(Image.open(io.BytesIO(png(frames, row))))
        expected = (frames.pixels[row] * 255).round().byte().permute(1, 2, 0).numpy()
        assert read.dtype == np.uint8
        assert np.array_equal(read, expected)


def test_colours_rows_and_columns_keep_their_places() -> None:
    pixels = torch.zeros(1, 3, 2, 3, dtype=torch.float64)
    pixels[0, 0, 0, 2] = 1.0
    pixels[0, 2, 1, 0] = 0.5
    read = np.asarray(Image.open(io.BytesIO(png(levels(pixels), 0))))
    assert read.shape == (2, 3, 3)
    assert read[0, 2].tolist() == [255, 0, 0]
    assert read[1, 0].tolist() == [0, 0, 128]
    assert read.sum() == 255 + 128


def test_values_outside_are_cut() -> None:
    pixels = torch.tensor([-0.1, 1.1]).reshape(1, 1, 1, 2).expand(1, 3, 1, 2)
    read = np.asarray(Image.open(io.BytesIO(png(levels(pixels), 0))))
    assert read[0, :, 0].tolist() == [0, 255]


def test_the_same_pixels_give_the_same_bytes_and_nothing_else(frames: Frames) -> None:
    assert png(frames, 1) == png(replace(frames, pixels=frames.pixels.double()), 1)
    assert png(frames, 1) != png(frames, 2)
    chunks, rest = [], png(frames, 1)[8:]
    while rest:
        length = int.from_bytes(rest[:4], "big")
        chunks.append(rest[4:8])
        rest = rest[12 + length :]
    assert set(chunks) == {b"IHDR", b"IDAT", b"IEND"}


def test_only_pictures_as_a_display_takes_them(frames: Frames) -> None:
    with pytest.raises(ObserverError, match=r"Wants\(light='display', bits=8\)"):
        png(replace(frames, light="cdm2"), 0)
    with pytest.raises(ObserverError, match="still pictures"):
        png(replace(frames, pixels=frames.pixels[:, :, None]), 0)


def test_each_picture_is_written_once(frames: Frames, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def count(shown: Frames, row: int) -> bytes:
        written.append(row)
        return png(shown, row)

    monkeypatch.setattr(endpoint, "png", count)
    questions = [Question((row,), Prompt("Is there?")) for row in (2, 0, 2, 2, 0)]
    with FakeServer() as server:
        list(resolve(f"{server.address}#m").choose(frames, questions))
    assert written == [2, 0]
    shown = (frames.pixels[2] * 255).round().byte().permute(1, 2, 0).numpy()
    assert np.array_equal(picture(data_url(frames, 2)), shown)
