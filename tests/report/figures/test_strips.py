"""Stimuli below printed axes, and galleries."""

from itertools import pairwise

import pytest
from levels import LEVELS, Grey, curve
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox
from printed import check_legible, lines_on, size_mm, words

from fechner.errors import FechnerError
from fechner.experiments import Sample, Scene
from fechner.report.figures.grid import Cell, draw_grid
from fechner.report.figures.pictures import draw_galleries
from fechner.report.figures.style import HEIGHT_MM, paper_style
from fechner.scores.panels import Axis, Gallery, Item, Panel
from fechner.suites import suite

SCENE = suite("encoders").build()[0].experiment.scene
SHOWN = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Shown:
    """An experiment as far as strips need one: two rows of pictures from the original on."""

    scene: Scene = SCENE

    def samples(self) -> list[list[Sample]]:
        # The higher the level, the darker; the second row is lighter by a hundredth.
        return [
            [
                Sample(Grey(0.9 - 0.05 * level + k / 100), f"{level:g}", name, level)
                for level in SHOWN
            ]
            for k, name in enumerate(("increased", "decreased"))
        ]


def drawn(*panels: Panel, columns: int = 2) -> tuple[Figure, list[list[float]]]:
    """Return a figure, and for every strip the darkness of its stimuli from left to right."""
    cells = [Cell(f"observer {k}", each) for k, each in enumerate(panels)]
    with paper_style():
        figure = draw_grid(cells, columns, 100, Shown())
    check_legible(figure)
    rows: dict[float, list[tuple[float, float]]] = {}
    for picture in pictures(figure):
        box = picture.get_window_extent()
        tone = float(picture.offsetbox.get_data().mean())
        rows.setdefault(round(box.y0), []).append((box.x0, tone))
    return figure, [[tone for _, tone in sorted(row)] for _, row in sorted(rows.items())[::-1]]


def pictures(figure: Figure) -> list[AnnotationBbox]:
    return figure.findobj(AnnotationBbox)


def test_rows_stand_under_their_levels_with_the_original_at_the_right() -> None:
    figure, strips = drawn(curve(rows=(0, 1)), columns=1)
    assert len(strips) == 2
    for tones in strips:
        assert len(tones) >= 4
        assert tones == sorted(tones)  # the lightest is the original
    assert strips[0][-1] == pytest.approx(0.9 * 255, abs=1)
    assert {"increased", "decreased"} <= set(words(figure))
    boxes = [each.get_window_extent() for each in pictures(figure)]
    (axes,) = figure.axes
    last = max((box.x0 + box.x1) / 2 for box in boxes)
    assert last == pytest.approx(axes.transData.transform((LEVELS[0], 0))[0], abs=1)
    assert max(box.y1 for box in boxes) < axes.get_window_extent().y0


def test_stimuli_do_not_lie_over_each_other() -> None:
    figure, _ = drawn(curve(rows=(1,)), curve(rows=(1,)), curve(rows=(1,)))
    boxes = sorted(each.get_window_extent().extents.tolist() for each in pictures(figure))
    assert all(b[0] >= a[2] for a, b in pairwise(boxes))
    assert "decreased" not in words(figure)  # one row needs no name


def test_patterns_are_not_resampled_for_print() -> None:
    _, strips = drawn(curve(), curve(rows=(0,), stimuli=False))
    assert strips == []


def test_strips_stand_once_below_the_panels_of_a_column() -> None:
    figure, strips = drawn(*[curve(rows=(0, 1))] * 9)
    assert len(strips) == 2
    assert words(figure).count("increased") == 1
    assert size_mm(figure)[1] <= HEIGHT_MM + 1e-6


# Galleries


def gallery(n: int, text: str = "lost at 0.4 px") -> Panel:
    items = tuple(Item(Grey(k / n), f"class {k}", text) for k in range(n))
    return Panel("lost", "What is lost first", Axis(""), Axis(""), (Gallery(items),))


@pytest.mark.parametrize(("columns", "n"), [(1, 1), (1, 5), (2, 7), (2, 18)])
def test_pictures_have_captions(columns: int, n: int) -> None:
    with paper_style():
        figure = draw_galleries([("network", gallery(n))], SCENE, columns, 80)
    check_legible(figure)
    assert sum(len(axes.images) for axes in figure.axes) == n
    found = lines_on(figure)
    assert {f"class {k}" for k in range(n)} <= set(found)
    assert found.count("lost at 0.4 px") == n
    assert "network: What is lost first" in found


def test_what_is_gone_says_so_and_long_words_are_cut() -> None:
    items = (
        Item(Grey(-1.0), "gone"),
        Item(Grey(0.5), "n0123456789 a long name " * 3, "word " * 60),
    )
    shown = Panel("lost", "", Axis(""), Axis(""), (Gallery(items),))
    with paper_style():
        figure = draw_galleries([("a", shown), ("b", gallery(3))], SCENE, 1, 80)
    check_legible(figure)
    assert "cannot be drawn" in " ".join(" ".join(words(figure)).split())
    assert [len(axes.images) for axes in figure.axes] == [0, 1, 1, 1, 1]


def test_too_many_galleries_are_refused_with_a_number_that_works() -> None:
    blocks = [(f"observer {k}", gallery(12, "word " * 30)) for k in range(30)]
    with pytest.raises(FechnerError, match="choose at most") as error:
        draw_galleries(blocks, SCENE, 2, 80)
    most = int(str(error.value).split("at most ")[1].rstrip("."))
    with paper_style():
        figure = draw_galleries(blocks[:most], SCENE, 2, 80)
    assert size_mm(figure)[1] <= HEIGHT_MM + 1e-6
