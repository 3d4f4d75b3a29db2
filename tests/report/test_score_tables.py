"""Tables keep every number and never break on odd names."""

import csv
import io
import json
import math

import pytest

from fechner.report.score_tables import COLUMNS, SCORE_FORMATS, compare_seeds, format_scores
from fechner.runs import Result
from fechner.scores import Score

#: What belongs to a result, and not to its score.
OF_RESULT = ("mode", "main", "last", "place", "published")


def result(observer: str, test: str, value: float, **changes: object) -> Result:
    of_result = {key: changes.pop(key) for key in OF_RESULT if key in changes}
    score = Score(
        "alignment",
        value,
        value - 0.1,
        value + 0.1,
        higher_is_better=True,
        best=1.0,
        chance=0.0,
        resampled="abscissae",
        n=200,
        **changes,
    )
    return Result(observer, "encoders", test, **{"mode": "default", **of_result}, score=score)


ODD = 'a|b & "c", <script>_{%}'


@pytest.mark.parametrize("format", SCORE_FORMATS)
def test_every_format_takes_odd_names_missing_cells_and_nan(format: str) -> None:
    results = [
        result("pixels", "area", 0.5),
        result("pixels", "area", 0.5, rule=ODD),
        result(ODD, "luminance", math.nan, note="not computable: constant"),
    ]
    text = format_scores(results, format)
    assert "pixels" in text
    assert text.endswith("\n")
    assert format_scores([], format).endswith("\n")


def test_checks_are_a_table_of_words_with_the_rules_once() -> None:
    text = format_scores(
        [
            result("a", "area", 0.9),
            result("a", "area", 1.0, rule="the end is high"),
            result("b", "area", 0.5, rule="the end is high"),
            result("b", "luminance", 0.0, rule="the end is high"),
            result("b", "luminance", 1.0, rule="of another layer", last=False),
        ],
        "checks",
    )
    lines = text.splitlines()
    assert lines[0].split() == ["test", "claim", "a", "b"]
    assert lines[2].split() == ["area", "alignment", "yes", "200/200", "partly", "100/200"]
    assert lines[3].split() == ["luminance", "alignment", "no", "0/200"]
    assert lines[4:] == ["", "alignment: the end is high (area, luminance)"]
    assert "nothing is asked" in format_scores([result("a", "area", 0.9)], "checks")


def test_csv_reads_back() -> None:
    results = [result(ODD, "area", 0.123456789), result("b", "area", math.nan)]
    rows = list(csv.DictReader(io.StringIO(format_scores(results, "csv"))))
    assert rows[0]["observer"] == ODD
    assert float(rows[0]["value"]) == pytest.approx(0.123457, abs=1e-9)
    assert rows[1]["value"] == ""


def test_json_is_strict_and_whole() -> None:
    rows = json.loads(format_scores([result("a", "area", math.nan, note="why")], "json"))
    assert rows[0]["value"] is None
    assert rows[0]["note"] == "why"
    assert rows[0]["score"] == "alignment"


def test_json_has_what_stands_beside_a_score() -> None:
    beside = result("a", "area", 0.25).score
    (row,) = json.loads(format_scores([result("a", "area", 0.5, beside=beside)], "json"))
    assert (row["value"], row["beside"]["value"]) == (0.5, 0.25)


def test_text_aligns_and_names_what_was_left_out_once() -> None:
    note = "10 of 200 points aliased"
    results = [result("pixels", "frequency-ach", 0.5, note=note),
               result("cvvdp", "frequency-ach", 0.65, note=note)]  # fmt: skip
    lines = format_scores(results, "table").splitlines()
    assert lines[2].split("  ")[0] == "frequency-ach"
    assert lines[0].index("cvvdp") == lines[2].index("0.650")
    assert lines[-1] == f"frequency-ach: {note} (pixels, cvvdp)"
    assert sum(note in line for line in lines) == 1


def test_markdown_escapes_bars_and_latex_its_own() -> None:
    assert r"a\|b" in format_scores([result(ODD, "area", 0.5)], "md")
    latex = format_scores([result(ODD, "area", 0.5)], "latex")
    assert r"a\textbar{}b \& " in latex
    assert r"\_\{\%\}" in latex


@pytest.mark.parametrize("format", ["table", "md", "latex"])
def test_notes_stand_below_the_table_escaped(format: str) -> None:
    note = "10 % of 200_points left out"
    *table, last = format_scores([result(ODD, "area", 0.5, note=note)], format).splitlines()
    escaped = r"10 \% of 200\_points left out" if format == "latex" else note
    assert f"area: {escaped} (a" in last
    assert not any("left out" in line for line in table)


def test_csv_has_notes_last() -> None:
    note = 'criterion "1",\n2'
    (row,) = csv.DictReader(
        io.StringIO(format_scores([result("a", "area", 0.5, note=note)], "csv"))
    )
    assert list(row)[-1] == "note"
    assert row["note"] == note


# Layers and read-outs


def looked_into() -> list[Result]:
    """Return two observers, one of which is read out at two layers, by two read-outs."""
    places = [("blocks.0", "angle"), ("blocks.0", "l2"), ("output", "angle"), ("output", "l2")]
    return [
        result("pixels", "area", 0.9, layer="pixels", readout="angle"),
        *(
            result(
                "net", test, value + 0.01 * row, layer=layer, readout=readout,
                last=layer == "output", place=readout,
            )
            for test, value in (("area", 0.1), ("luminance", 0.2))
            for row, (layer, readout) in enumerate(places)
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("format", ["table", "md", "latex"])
def test_several_readouts_have_a_row_each_at_the_natural_layer_only(format: str) -> None:
    text = format_scores(looked_into(), format)
    # pixels were read out in one way, so that needs no name.
    rows = [line for line in text.splitlines() if "alignment" in line]
    assert len(rows) == 5
    assert sum("angle" in row for row in rows) == 2
    assert sum("l2" in row for row in rows) == 2
    found = {number for row in rows for number in ("0.100", "0.110", "0.120", "0.130") if
             number in row}  # fmt: skip
    assert found == {"0.120", "0.130"}
    assert "blocks.0" not in text


def test_rows_of_readouts_hold_their_own_numbers() -> None:
    lines = format_scores(looked_into(), "table").splitlines()
    rows = {tuple(line.split()[:4]): line for line in lines[2:]}
    assert "0.130 [0.030, 0.230]" in rows["area", "alignment", "↑", "l2"]
    assert "0.220 [0.120, 0.320]" in rows["luminance", "alignment", "↑", "angle"]


@pytest.mark.parametrize("format", ["table", "md", "latex"])
def test_one_readout_of_several_layers_is_not_named(format: str) -> None:
    text = format_scores(
        [
            result("net", "area", 0.5, layer="output", readout="angle"),
            result("net", "area", 0.7, layer="a", readout="angle", last=False, note="of a"),
        ],
        format,
    )
    assert "0.500" in text
    for other in ("0.700", "angle", "output", "of a"):
        assert other not in text


def test_only_main_scores_are_in_the_table() -> None:
    results = [
        result("net", "area", 0.5, readout="angle"),
        result("net", "area", 0.7, readout="angle", main=False),
    ]
    for format in ("table", "layers", "md", "latex"):
        assert "0.500" in format_scores(results, format)
        assert "0.700" not in format_scores(results, format)
    for format in ("csv", "json"):
        assert "0.7" in format_scores(results, format)


def test_layers_have_a_table_per_observer_and_a_row_per_layer_and_readout() -> None:
    first, second = format_scores(looked_into(), "layers").split("\n\n")
    assert first.splitlines()[0] == "pixels"
    assert first.splitlines()[1].split() == ["layer", "read-out", "area"]
    assert first.splitlines()[3].split() == ["pixels", "angle", "0.900"]
    name, header, rule, *rows = second.splitlines()
    assert name == "net"
    assert header.split() == ["layer", "read-out", "area", "luminance"]
    assert set(rule) == {"-", " "}
    assert [row.split() for row in rows] == [
        ["blocks.0", "angle", "0.100", "0.200"],
        ["blocks.0", "l2", "0.110", "0.210"],
        ["output", "angle", "0.120", "0.220"],
        ["output", "l2", "0.130", "0.230"],
    ]
    assert header.index("luminance") == rows[0].index("0.200")


def test_layers_of_a_test_that_is_missing_stay_empty() -> None:
    results = [
        result("net", "area", 0.1, layer="a", readout="angle"),
        result("net", "luminance", math.nan, layer="b", readout="angle"),
    ]
    *_, a, b = format_scores(results, "layers").splitlines()
    assert a.split() == ["a", "angle", "0.100"]
    assert b.split() == ["b", "angle", "n/a"]
    assert b.index("n/a") > a.index("0.100")


def test_csv_and_json_have_every_layer_and_readout() -> None:
    results = looked_into()
    rows = list(csv.DictReader(io.StringIO(format_scores(results, "csv"))))
    assert tuple(rows[0]) == COLUMNS
    assert COLUMNS[-5:] == ("mode", "layer", "readout", "published", "note")
    places = [(row["observer"], row["test"], row["layer"], row["readout"]) for row in rows]
    assert len(set(places)) == len(places) == 9
    assert ("net", "luminance", "blocks.0", "l2") in places
    read = json.loads(format_scores(results, "json"))
    assert [(r["observer"], r["test"], r["layer"], r["readout"]) for r in read] == places


# Published numbers


def test_published_numbers_stand_beside_those_of_the_same_protocol() -> None:
    printed = {"readout": "angle", "published": 0.5057}
    same = [result("pixels", "area", 0.5, mode="published", **printed)]
    other = [result("pixels", "area", 0.5, mode="default", **printed)]
    unknown = [result("mine", "area", 0.5, mode="published", readout="angle")]
    for format in ("table", "md", "latex"):
        assert "0.500 [0.400, 0.600] paper 0.506" in format_scores(same, format)
        assert "paper" not in format_scores(other, format)
        assert "paper" not in format_scores(unknown, format)
    for results in (same, other):
        (row,) = csv.DictReader(io.StringIO(format_scores(results, "csv")))
        assert row["published"] == "0.5057"
        assert json.loads(format_scores(results, "json"))[0]["published"] == 0.5057
    (row,) = csv.DictReader(io.StringIO(format_scores(unknown, "csv")))
    assert row["published"] == ""
    assert json.loads(format_scores(unknown, "json"))[0]["published"] is None


# Runs that differ in their seed


def spread(*runs: list[Result]) -> list[list[str]]:
    """Return the cells of the table of spreads."""
    header, _, *rows = compare_seeds(runs).splitlines()
    columns = ["observer", "test", "read-out", "seeds", "mean", "sd", "range", "interval", "inside"]
    starts = [header.index(column) for column in columns]
    assert header.split() == columns
    return [
        [
            row[start:end].strip()
            for start, end in zip(starts, [*starts[1:], None], strict=True)
        ]
        for row in rows
    ]  # fmt: skip


def test_spread_over_seeds() -> None:
    runs = [[result("pixels", "area", value, readout="angle")] for value in (0.5, 0.55, 0.45)]
    assert spread(*runs) == [
        ["pixels", "area", "angle", "3", "0.500", "0.0408", "0.450 to 0.550", "[0.400, 0.600]",
         "yes"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "inside"), [(0.599, "yes"), (0.601, "no"), (0.401, "yes"), (0.399, "no")]
)
def test_inside_is_the_interval_of_the_first_seed(value: float, inside: str) -> None:
    runs = [[result("pixels", "area", each, readout="angle")] for each in (0.5, value)]
    assert spread(*runs)[0][-1] == inside


def test_spread_keeps_observers_tests_and_readouts_apart() -> None:
    runs = [looked_into(), looked_into()]
    rows = spread(*runs)
    assert [row[:4] for row in rows] == [
        ["pixels", "area", "angle", "2"],
        ["net", "area", "angle", "2"],
        ["net", "area", "l2", "2"],
        ["net", "luminance", "angle", "2"],
        ["net", "luminance", "l2", "2"],
    ]
    # At the natural layer, without any spread.
    assert rows[1][4:7] == ["0.120", "0.0000", "0.120 to 0.120"]


def test_spread_of_what_cannot_be_computed() -> None:
    runs = [[result("blind", "area", value, readout="angle")] for value in (0.5, math.nan)]
    (row,) = spread(*runs)
    assert row[4] == "n/a"
    assert row[-1] == "no"
    assert row[6] == "n/a to n/a"
    assert "nan" not in row


def test_spread_of_an_observer_that_one_run_left_out() -> None:
    (row,) = spread([result("net", "area", 0.5, readout="angle")], [])
    assert row[3:6] == ["1", "0.500", "0.0000"]
    assert compare_seeds([]).endswith("\n")
