"""Stimuli on paper are the stimuli themselves, pixel for pixel."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from printed import check_legible, size_mm, words

from fechner.errors import FechnerError
from fechner.experiments import Experiment
from fechner.report.paper.stimuli import draw_stimuli
from fechner.report.paper.style import HEIGHT_MM, paper_style, save
from fechner.report.tiles import visible
from fechner.stimuli import paint
from fechner.suites import suite

EXPERIMENTS = {test.id: test.experiment for test in suite("encoders").build()}


def drawn(*tests: str, columns: int = 2) -> Figure:
    with paper_style():
        figure = draw_stimuli([EXPERIMENTS[test] for test in tests], columns)
    check_legible(figure)
    return figure


def pictures(experiment: Experiment) -> list[np.ndarray]:
    scene = experiment.scene
    return [
        picture
        for row in experiment.samples()
        for picture in visible(paint([s.stimulus for s in row], scene.field, scene.display))
    ]


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("tests", [("frequency-rg",), ("area", "matching-frequency")])
def test_a_png_holds_every_pixel(tests: tuple[str, ...], columns: int, tmp_path: Path) -> None:
    figure = drawn(*tests, columns=columns)
    save(figure, tmp_path / "stimuli.png")
    with Image.open(tmp_path / "stimuli.png") as picture:
        sheet = np.asarray(picture.convert("RGB"))
    wanted = [picture for test in tests for picture in pictures(EXPERIMENTS[test])]
    images = [image for axes in figure.axes for image in axes.images]
    for image, picture in zip(images, wanted, strict=True):
        box = image.get_window_extent()
        left, top = round(box.x0), sheet.shape[0] - round(box.y1)
        height, width = picture.shape[:2]
        np.testing.assert_array_equal(sheet[top : top + height, left : left + width], picture)


def test_axes_are_named_in_words() -> None:
    found = words(drawn("luminance"))
    for text in ("luminance", "luminance (cd/m²)", "contrast (Michelson)", "0.1", "200"):
        assert text in found


def test_all_tests_fit_on_a_page_of_two_columns() -> None:
    figure = drawn(*EXPERIMENTS)
    width, height = size_mm(figure)
    assert width == pytest.approx(178, abs=0.01)
    assert height <= HEIGHT_MM
    rows = [row for each in EXPERIMENTS.values() for row in each.samples()]
    assert sum(len(axes.images) for axes in figure.axes) == sum(map(len, rows))


def test_all_tests_do_not_fit_into_one_column() -> None:
    with pytest.raises(FechnerError, match="name one test, or take two columns"):
        drawn(*EXPERIMENTS, columns=1)
