"""Stimuli on paper are the stimuli themselves, pixel for pixel."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from printed import check_legible, size_mm, words

from fechner.errors import FechnerError
from fechner.experiments import Experiment, NearThreshold
from fechner.report.figures import contact_sheet
from fechner.report.figures.pictures import draw_stimuli
from fechner.report.figures.style import HEIGHT_MM, paper_style, save
from fechner.report.tiles import tile_rows, visible
from fechner.stimuli import paint
from fechner.suites import suite

EXPERIMENTS = {test.id: test.experiment for test in suite("encoders").build()}


def drawn(*tests: str, columns: int = 2) -> Figure:
    with paper_style():
        figure = draw_stimuli([EXPERIMENTS[test] for test in tests], columns)
    check_legible(figure)
    return figure


def rows_of(experiment: Experiment) -> list[np.ndarray]:
    scene = experiment.scene
    return [
        visible(paint([s.stimulus for s in row], scene.field, scene.display))
        for row in experiment.samples()
    ]


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("tests", [("frequency-rg",), ("area", "matching-frequency")])
def test_a_png_holds_every_pixel(tests: tuple[str, ...], columns: int, tmp_path: Path) -> None:
    figure = drawn(*tests, columns=columns)
    save(figure, tmp_path / "stimuli.png")
    with Image.open(tmp_path / "stimuli.png") as picture:
        sheet = np.asarray(picture.convert("RGB"))
    for axes, test in zip(figure.axes, tests, strict=True):
        box = axes.get_window_extent()
        left, top = round(box.x0), sheet.shape[0] - round(box.y1)
        for k, row in enumerate(rows_of(EXPERIMENTS[test])):
            height, width = row.shape[1:3]
            for n, picture in enumerate(row):
                y, x = top + k * (height + 4), left + n * (width + 4)
                np.testing.assert_array_equal(sheet[y : y + height, x : x + width], picture)


def test_axes_are_named_in_words() -> None:
    found = words(drawn("luminance"))
    for text in ("luminance", "luminance (cd/m²)", "contrast (Michelson)", "0.1", "200"):
        assert text in found


def test_all_tests_fit_on_a_page_of_two_columns() -> None:
    figure = drawn(*EXPERIMENTS)
    width, height = size_mm(figure)
    assert width == pytest.approx(178, abs=0.01)
    assert height <= HEIGHT_MM
    assert [len(axes.images) for axes in figure.axes] == [1] * len(EXPERIMENTS)


def test_all_tests_do_not_fit_into_one_column() -> None:
    with pytest.raises(FechnerError, match="name one test, or take two columns"):
        drawn(*EXPERIMENTS, columns=1)


# Contact sheets

METRICS = {test.id: test.experiment for test in suite("metrics").build()}


def test_tiles_stand_in_rows_and_columns() -> None:
    wide = METRICS["area"]
    assert isinstance(wide, NearThreshold)
    field = replace(wide.scene.field, width_px=600, height_px=300, ppd=30.0)
    wide = replace(wide, scene=replace(wide.scene, field=field))
    flicker = METRICS["flicker"]
    assert isinstance(flicker, NearThreshold)
    field = replace(flicker.scene.field, width_px=64, height_px=48, ppd=12.0)
    flicker = replace(flicker, scene=replace(flicker.scene, field=field))
    sheet = contact_sheet([wide, flicker])
    pixels = np.asarray(sheet)
    blocks = [tile_rows(experiment) for experiment in (wide, flicker)]
    assert blocks[0][0].shape[1:3] == (150, 300)
    assert pixels.shape[1] == 6 * (300 + 4) + 2 * 16 + 64
    top = 16
    for rows in blocks:
        top += 46
        for tiles in rows:
            height, width = tiles.shape[1:3]
            for number, tile in enumerate(tiles):
                left = 16 + 64 + number * (width + 4)
                found = pixels[top : top + height, left : left + width]
                np.testing.assert_array_equal(found, tile)
            top += height + 4
        top += 34
    assert pixels.shape[0] == top + 16
