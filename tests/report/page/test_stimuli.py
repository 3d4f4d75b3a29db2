"""Stimuli as a page holds them: each picture once, and clips as cycles of them."""

import base64
import io
from collections.abc import Iterator

import numpy as np
import pytest
from clips import small_metrics
from PIL import Image

from fechner.experiments import Experiment
from fechner.report.page.stimuli import Shown, Sprite, sprite
from fechner.report.tiles import cycle_of, painted, tile_rows, view_of
from fechner.suites import Mode, suite


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with small_metrics():
        yield


def experiment(test: str, mode: Mode = "default") -> Experiment:
    found = {
        each.id: each.experiment for each in suite("metrics").build(published=mode == "published")
    }
    return found[test]


def tiles(made: Sprite) -> list[np.ndarray]:
    """Return the pictures of a sprite as a browser sees them."""
    kind, _, content = made.uri.partition(",")
    assert kind == "data:image/webp;base64"
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))).convert("RGB"))
    assert picture.shape == (made.down * made.height_px, made.across * made.width_px, 3)
    return [
        picture[top : top + made.height_px, left : left + made.width_px]
        for top in range(0, picture.shape[0], made.height_px)
        for left in range(0, picture.shape[1], made.width_px)
    ]


@pytest.mark.parametrize("test", ["area", "flicker", "matching-colour"])
def test_every_sample_is_there_pixel_for_pixel(test: str) -> None:
    asked = experiment(test)
    made = sprite(asked)
    pictures = tiles(made)
    for row, expected in zip(made.samples, tile_rows(asked), strict=True):
        for shown, picture in zip(row, expected, strict=True):
            # A moment of flicker is the nearest of a few in its cycle.
            near = 5 if made.plays else 0
            np.testing.assert_allclose(pictures[shown.still].astype(int), picture, atol=near)
    assert made.plays == (test == "flicker")
    assert len(made.icons) == len(made.rows)
    assert len(made.at) == len(made.rows)
    for icons, at in zip(made.icons, made.at, strict=True):
        assert len(icons) == len(made.columns) == len(at)


def test_a_cycle_is_the_stills_of_its_phases_each_painted_once() -> None:
    asked = experiment("flicker")
    made = sprite(asked)
    pictures = tiles(made)
    samples = asked.samples()
    cycle = cycle_of(samples[0][1].stimulus, asked.scene.field)
    shown = made.samples[0][1]
    assert (shown.hz, shown.slower, made.fps) == (8.0, 1, 240.0)
    np.testing.assert_array_equal(
        [pictures[number] for number in shown.cycle],
        painted(list(cycle.stills), asked, view_of(asked)),
    )
    # Three contrasts have six stills each and share the uniform field; rates share them all.
    every = {number for row in made.samples for each in row for number in each.cycle}
    assert every == set(range(6 * 3 + 1))
    assert len({tuple(each.cycle) for each in made.samples[0]}) == 1


def test_places_are_those_of_the_tiles() -> None:
    made = sprite(experiment("flicker"))
    assert (made.across, made.down) == (5, 4)
    assert (made.place(0), made.place(7), made.place(19)) == ("0% 0%", "50% 33.333%", "100% 100%")


def test_what_a_screen_cannot_show_is_slowed() -> None:
    made = sprite(experiment("flicker"))
    assert made.slowed == [(50.0, 12.5)]
    assert made.fastest_hz == 12.5
    assert [Shown(0, [0], hz).slower for hz in (30.0, 30.1, 60.0)] == [1, 3, 4]
    published = sprite(experiment("flicker", "published"))
    first = published.samples[0][0]
    assert (first.cycle, first.hz) == ([0], 0.0)  # 0 Hz never begins
    assert published.slowed == [(60.0, 15.0)]
    assert published.fps == pytest.approx(120 * 23 / 24)  # both ends are included
