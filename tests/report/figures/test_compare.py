"""Figures of comparisons: what is on them, and that they can be drawn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from printed import legends

from fechner import Run
from fechner.errors import FechnerError
from fechner.report.comparing.comparison import compare
from fechner.report.comparing.trends import Trends, find_trends
from fechner.report.figures.compare import (
    difference_figure,
    difference_panel,
    families_of,
    trend_figure,
    trend_panel,
)
from fechner.report.figures.style import save
from fechner.scores.comparisons import regress
from fechner.scores.panels import Line, Points
from fechner.suites import preset

FAMILIES = ("DINO", "DINOv2", "OpenCLIP", "SAM", "SAM-2", "MAE", "SD-VAE")


@pytest.fixture(scope="module")
def trends(tmp_path_factory: pytest.TempPathFactory) -> Trends:
    path = tmp_path_factory.mktemp("outside") / "figures.csv"
    lines = ["observer,top1,same"]
    lines += [
        f"{row.observer},{60 + 30 * row.scores['area'] + 5 * row.scores['frequency-rg']:.1f},5"
        for row in preset("cai2025")
        if row.family in FAMILIES
    ]
    path.write_text("\n".join(lines) + "\n")
    return find_trends(["@cai2025"], path, ["top1", "same"], tests=["frequency-rg", "area"])[0]


# Trends


def test_a_panel_has_all_points_by_family_and_the_line(trends: Trends) -> None:
    trend = trends.trends[1]
    assert trend.test == "area"
    panel = trend_panel(trend, families_of(trends), "line")
    (line,) = (mark for mark in panel.marks if isinstance(mark, Line))
    points = [mark for mark in panel.marks if isinstance(mark, Points)]
    assert tuple(mark.label for mark in points) == FAMILIES
    assert sum(len(mark.x) for mark in points) == trend.regression.n == 43
    assert len({mark.group for mark in points} | {line.group}) == len(FAMILIES) + 1
    dino = [row.scores["area"] for row in preset("cai2025") if row.family == "DINO"]
    assert points[0].y.tolist() == dino
    assert (line.x[0], line.x[-1]) == (trend.regression.x.min(), trend.regression.x.max())
    at_mean = np.interp(trend.regression.x.mean(), line.x, line.y)
    assert at_mean == pytest.approx(trend.regression.y.mean())
    # The band ends at the lowest score there is.
    assert (line.low <= line.y).all()
    assert (line.low < line.y)[len(line.y) // 2]
    assert (line.y < line.high).all()
    assert (panel.x.label, panel.y.label) == ("top1", "alignment ↑")


def test_without_a_slope_there_are_points_only(trends: Trends) -> None:
    panel = trend_panel(trends.trends[2], families_of(trends), "line")
    assert trends.trends[2].figure == "same"
    assert all(isinstance(mark, Points) for mark in panel.marks)


def test_a_figure_has_r_in_every_panel(trends: Trends, tmp_path: Path) -> None:
    figure = trend_figure(trends, dpi=80)
    assert len(figure.axes) == 4
    found = [axes.get_title("left").replace("\n", " ") for axes in figure.axes]
    line = trends.trends[1].regression
    assert f": r {line.r:.2f} [{line.low:.2f}, {line.high:.2f}] *" in found[1]
    assert found[2].endswith("frequency-rg")  # where there is none, nothing is written
    (legend,) = legends(figure)
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["regression line with its 95 % band; * p (Holm) < 0.05", *FAMILIES]
    for name in ("it.png", "it.pdf", "it.svg"):
        save(figure, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_every_figure_begins_a_new_row(trends: Trends) -> None:
    places = [axes.get_position() for axes in trend_figure(trends, dpi=80).axes]
    assert places[0].y0 == places[1].y0 > places[2].y0 == places[3].y0
    assert [place.x0 for place in places[:2]] == [place.x0 for place in places[2:]]


def test_where_a_page_has_no_room_for_holes_there_are_none(trends: Trends) -> None:
    many = tuple(
        replace(trend, figure=f"figure {k}")
        for k in range(15)
        for trend in (trends.trends[0], trends.trends[1])
    )
    assert len(trend_figure(replace(trends, trends=many), dpi=40).axes) == 30


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_bands_end_at_the_best_score(trends: Trends, higher_is_better: bool) -> None:
    best, chance = (1.0, 0.0) if higher_is_better else (0.0, 1.0)
    y = [0.9, 0.2, 0.9, 0.1, 0.95, 0.9]
    trend = replace(
        trends.trends[1],
        score=replace(
            trends.trends[1].score, higher_is_better=higher_is_better, best=best, chance=chance
        ),
        observers=trends.trends[1].observers[:6],
        regression=regress([1, 2, 3, 4, 5, 6], y if higher_is_better else [1 - v for v in y]),
    )
    (line,) = (
        mark
        for mark in trend_panel(trend, families_of(trends), "line").marks
        if isinstance(mark, Line)
    )
    _, low, high = trend.regression.line(line.x)
    assert low.min() < 0
    assert high.max() > 1
    assert line.low is not None
    assert line.high is not None
    assert (line.low.min(), line.high.max()) == (0, 1)
    inside = (low > 0) & (high < 1)
    assert (line.low[inside] == low[inside]).all()
    assert (line.high[inside] == high[inside]).all()


def test_who_has_no_family_here_is_coloured_by_name(tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    path.write_text(
        "observer,top1\npixels,1\ntimm/vit_small_patch16_224.dino,70\ntimm/vit_small_patch8_224.dino,72\n"
    )
    found, _ = find_trends(["@cai2025"], path, tests=["area"])
    assert list(families_of(found).values()) == ["pixels", "DINO", "DINO"]
    (legend,) = legends(trend_figure(found, dpi=80))
    # Three points have no band, and nothing is significant.
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["regression line", "pixels", "DINO"]


# Differences


def test_errors_are_turned_round(shown_run: Run) -> None:
    found = compare(shown_run, baseline="pixels")
    pair = found.pairs[0]
    panel = difference_panel(pair)
    assert panel.y.ticks == ("matching-frequency ↓", "masking-coherent ↑")
    assert panel.x.label == (
        "first minus second (↑), or second minus first (↓): "
        "right of 0 the first is closer to people"
    )
    points = [mark for mark in panel.marks if isinstance(mark, Points)]
    masking, matching = (finding.difference for finding in pair.findings)
    at = {float(mark.y[0]): float(mark.x[0]) for mark in points}
    assert at == {1.0: masking.value, 0.0: -matching.value}
    (nothing, *lines) = (mark for mark in panel.marks if isinstance(mark, Line))
    assert (nothing.x == 0).all()
    ends = {float(line.y[0]): sorted((line.x[0], line.x[-1])) for line in lines}
    assert ends[1.0] == pytest.approx([masking.low, masking.high])
    assert ends[0.0] == pytest.approx([-matching.high, -matching.low])
    favoured = {1: "first is closer", -1: "second is closer", 0: "not told apart"}
    for mark, finding in zip(points, reversed(pair.findings), strict=True):
        assert mark.label.startswith(favoured[finding.significant])


def test_a_figure_has_a_panel_for_each_pair(shown_run: Run, tmp_path: Path) -> None:
    found = compare(shown_run)
    figure = difference_figure(found, dpi=80)
    assert len(figure.axes) == 3
    labels = figure.axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == ["matching-frequency ↓", "masking-coherent ↑"]
    assert all(label.get_window_extent().x0 >= 0 for label in labels)
    assert not any(label.get_text() for label in figure.axes[1].get_yticklabels())
    save(figure, tmp_path / "it.png")
    assert (tmp_path / "it.png").stat().st_size > 1000


def test_observers_without_scores_leave_their_place_empty(odd_run: Run) -> None:
    found = compare(odd_run, observers=["constant", "afraid"], tests=["area"])
    panel = difference_panel(found.pairs[0])
    assert len(panel.marks) == 1
    assert len(difference_figure(found, dpi=80).axes) == 1


def test_printed_scores_have_no_differences_to_draw() -> None:
    found = compare("@cai2025", baseline="pixels", observers=["cvvdp"])
    with pytest.raises(FechnerError, match="nothing to draw"):
        difference_figure(found)
