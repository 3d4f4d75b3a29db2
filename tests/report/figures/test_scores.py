"""The chart of all scores: dots, intervals, families and what could not be scored."""

import math

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from printed import check_legible, legends, size_mm, words, writing

from fechner.errors import FechnerError
from fechner.report.figures.scores import Row, draw_scores
from fechner.report.figures.style import HEIGHT_MM, PALETTE, paper_style
from fechner.scores import Score
from fechner.suites import preset

TESTS = ["frequency-ach", "masking-incoherent", "matching-frequency"]


def score(value: float, name: str = "alignment", **changes: object) -> Score:
    error = name != "alignment"
    given = {
        "low": value - 0.1,
        "high": value + 0.1,
        "higher_is_better": not error,
        "best": 0.0 if error else 1.0,
        "chance": 1.1 if error else 0.0,
        "resampled": "frequencies" if error else "abscissae",
        "n": 9,
    }
    return Score(name, value, **{**given, **changes})


def row(name: str, value: float = 0.5, family: str = "", place: str = "") -> Row:
    kinds = ("alignment", "alignment", "matching-error")
    scores = {test: score(value, kind) for test, kind in zip(TESTS, kinds, strict=True)}
    return Row(name, place, family, scores)


def drawn(rows: list[Row], tests: list[str] = TESTS, columns: int = 2):
    with paper_style():
        figure = draw_scores(rows, tests, columns, 100)
    check_legible(figure)
    return figure


def dots(axes: Axes) -> list[tuple[float, float]]:
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in axes.lines
        if len(line.get_xdata()) == 1
    ]


def names(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


@pytest.mark.parametrize("columns", [1, 2])
def test_every_score_is_a_dot_with_its_interval(columns: int) -> None:
    figure = drawn([row("a", 0.3), row("b", 0.6)], columns=columns)
    assert len(figure.axes) == 3
    for axes in figure.axes:
        assert dots(axes) == [(0.3, 0.0), (0.6, 1.0)]
        low, high = axes.get_ylim()
        assert low > high  # the first is on top
        bars = [line.get_xdata() for line in axes.lines if line.get_color() == PALETTE[0]]
        assert [list(bar) for bar in bars if len(bar) == 2] == [
            pytest.approx([0.2, 0.4]),
            pytest.approx([0.5, 0.7]),
        ]
    assert names(figure.axes[0]) == ["a", "b"]


def test_people_are_dashed_and_chance_is_dotted_where_they_belong() -> None:
    figure = drawn([row("a")])
    for axes, best, chance in zip(figure.axes, (1, 1, 0), (0, 0, 1.1), strict=True):
        people, random = axes.lines[:2]
        assert people.get_xdata()[0] == best
        assert random.get_xdata()[0] == chance
        assert people.get_linestyle() == random.get_linestyle() == "--"
        assert people._dash_pattern != random._dash_pattern
        assert axes.get_xlim()[0] < min(best, chance)
        assert axes.get_xlim()[1] > max(best, chance)
    assert [text.get_text() for text in legends(figure)[0].get_texts()] == [
        "score, 95 % interval over abscissae or frequencies",
        "perfectly human",
        "chance",
    ]


def test_arrows_say_which_way_is_better_and_scores_of_a_name_share_an_axis() -> None:
    figure = drawn([row("a")])
    found = [text.replace("\xa0", " ") for text in words(figure)]
    for title in ("frequency-ach", "masking-incoherent", "matching-frequency"):
        assert title in found
    assert found.count("alignment ↑") == 1
    assert found.count("matching-error ↓") == 1
    first, second, third = (axes.get_xlim() for axes in figure.axes)
    assert first == second != third
    assert all(not name for axes in figure.axes[1:] for name in names(axes))


def test_families_stand_together_under_their_names() -> None:
    rows = [row("a1", family="A"), row("x"), row("b", family="B"), row("a2", family="A")]
    figure = drawn(rows)
    assert names(figure.axes[0]) == ["A", "a1", "a2", "B", "b", "others", "x"]
    styles = [text.get_fontstyle() for text in figure.axes[0].get_yticklabels()]
    assert styles == ["italic", "normal", "normal", "italic", "normal", "italic", "normal"]
    colours = [
        to_hex(line.get_color()) for line in figure.axes[0].lines if len(line.get_xdata()) == 1
    ]
    assert colours[0] == colours[1]
    assert len(set(colours)) == 3


def test_families_of_one_are_no_families() -> None:
    assert names(drawn([row("a", family="A"), row("x")]).axes[0]) == ["a", "x"]
    # Two read-outs of one observer are one observer.
    twice = [row("a", family="A", place="angle"), row("a", family="A", place="l2"), row("x")]
    assert names(drawn(twice).axes[0]) == ["a angle", "a l2", "x"]


def test_what_cannot_be_scored_and_what_was_not_measured_is_said() -> None:
    nothing = score(math.nan, low=math.nan, high=math.nan)
    open_ended = score(0.4, low=math.nan, high=math.nan)
    rows = [
        Row("blind", "", "", {TESTS[0]: nothing}),
        Row("seeing", "", "", {TESTS[0]: open_ended}),
        Row("absent", "", "", {}),
    ]
    figure = drawn(rows, TESTS[:2])
    first, second = figure.axes
    assert dots(first) == [(0.4, 1.0)]
    assert [text.get_text() for text in first.texts] == ["n/a", "–"]
    assert [text.get_text() for text in second.texts] == ["–", "–", "–"]


@pytest.mark.parametrize("columns", [1, 2])
def test_long_names_of_one_observer_keep_their_places(columns: int) -> None:
    long = "timm/a_very_long_name_of_a_network_patch{}_224.augreg_in21k_ft_in1k".format
    rows = [row(long(size), place=place) for size in (16, 8) for place in ("angle", "l2")]
    found = names(drawn(rows, columns=columns).axes[0])
    assert [name.split()[-1] for name in found] == ["angle", "l2"] * 2
    assert len(set(found)) == 4
    assert found[0].split()[0] == found[1].split()[0]
    assert "6_224" in found[0]
    assert "8_224" in found[2]


def test_a_whole_published_table_fits_on_a_page() -> None:
    rows = [
        Row(each.observer, "", each.family, {test: score(v) for test, v in each.scores.items()})
        for each in preset("cai2025")
    ]
    tests = list(rows[0].scores)
    figure = drawn(rows, tests)
    width, height = size_mm(figure)
    assert width == pytest.approx(178)
    assert height <= HEIGHT_MM
    assert len(figure.axes) == 9
    assert len(dots(figure.axes[0])) == 45
    with pytest.raises(FechnerError, match="choose fewer observers, one test, or two columns"):
        drawn(rows, tests, columns=1)


def test_printed_scores_are_bars_from_zero() -> None:
    rows = [row("a1", 0.3, family="A"), row("a2", 0.6, family="A"), row("B", 0.5, family="B")]
    with paper_style():
        figure = draw_scores(rows, TESTS, 2, 100, printed_by="Nobody 2000")
    check_legible(figure)
    for axes in figure.axes:
        bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
        assert bars == [(0.0, 0.3), (0.0, 0.6), (0.0, 0.5)]
        assert dots(axes) == []
    # A family of one that gives its name to its only member needs no heading.
    assert names(figure.axes[0]) == ["A", "a1", "a2", "B"]
    legend = [text.get_text() for text in legends(figure)[0].get_texts()]
    assert legend[0] == "score as printed by Nobody 2000"


def test_titles_stand_upright_where_tests_are_many() -> None:
    tests = [f"incomprehensible-{number}" for number in range(12)]
    kinds = ["alignment"] * 11 + ["an-error-of-another-kind"]
    scores = {test: score(0.5, kind) for test, kind in zip(tests, kinds, strict=True)}
    figure = drawn([Row(f"observer {k}", "", "", scores) for k in range(40)], tests)
    assert len(figure.axes) == 12
    upright = [text.get_text() for text in writing(figure) if text.get_rotation() == 90]
    assert upright[0].replace("\xa0", " ") == "incomprehensible-0"
    assert any("an-error-of-another-kind" in text.replace("\n", "") for text in words(figure))
    assert sum("alignment" in text.get_text() for text in writing(figure)) == 1
