"""Comparisons of runs, and what is said of them."""

import csv
import io
import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fechner
from fechner import Run
from fechner.errors import FechnerError
from fechner.report.comparing.comparison import (
    COLUMNS,
    MOST,
    Comparison,
    Finding,
    Pair,
    compare,
    summarise_comparison,
)
from fechner.report.comparing.scoring import ScoredObserver
from fechner.report.tables import FORMATS, Table
from fechner.scores import Score, distance
from fechner.scores.comparisons import (
    Alike,
    Difference,
    alike,
    corrected,
    difference,
    mean_difference,
    mean_distance,
)
from fechner.suites import suite

TESTS = ["masking-coherent", "matching-frequency"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The same observer asked otherwise."""
    folder: Path = tmp_path_factory.mktemp("runs")
    made = {}
    for name, options in {
        "fine": {},
        "coarse": {"ppd": 20.0},
        "paper": {"published": True},
        "area": {"tests": ["area"]},
    }.items():
        made[name] = fechner.evaluate(
            "pixels",
            scores_only=True,
            out=folder / name,
            progress=False,
            **{"tests": ["frequency-noise", "matching-frequency"], **options},
        )
    return made


# Numbers


def test_all_pairs_of_a_run(shown_run: Run) -> None:
    found = compare(shown_run)
    problems = list(found.problems)
    assert problems == []
    names = [f"{name} by angle" for name in shown_run.observers]
    pairs = list(itertools.combinations(names, 2))
    assert [(pair.first.label, pair.second.label) for pair in found.pairs] == pairs
    assert all([each.test for each in pair.findings] == TESTS for pair in found.pairs)
    assert found.tested == 6
    assert found.notes == ()


def test_differences_are_those_of_the_raw_answers(shown_run: Run) -> None:
    found = compare(shown_run, observers=["network", "pixels"], tests=["masking-coherent"])
    ((finding,),) = (pair.findings for pair in found.pairs)
    (test,) = (t for t in suite("encoders").build() if t.id == "masking-coherent")
    parts = []
    for name in ("network", "pixels"):
        data = shown_run.data(name, "masking-coherent")
        assert data is not None
        parts.append(data.sel(layer=data["layer"].values[-1], readout="angle"))
    shared = test.scorer.shared(*parts)
    assert finding.difference == difference(*map(test.resample, shared))
    assert finding.corrected == finding.difference.p  # alone, there is nothing to correct for


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_p_values_are_corrected_over_tests_and_pairs(shown_run: Run, correction: str) -> None:
    found = compare(shown_run, correction=correction)
    every = [finding for pair in found.pairs for finding in pair.findings]
    expected = corrected([finding.difference.p for finding in every], correction)
    assert [finding.corrected for finding in every] == expected.tolist()
    over_tests = corrected([pair.alike.p for pair in found.pairs], correction)
    assert [pair.alike_corrected for pair in found.pairs] == over_tests.tolist()


def test_others_are_compared_with_a_baseline(shown_run: Run) -> None:
    found = compare(shown_run, baseline="pixels")
    assert [pair.second.label for pair in found.pairs] == ["pixels by angle"] * 2
    one = compare(shown_run, baseline="pixels", observers=["network"])
    assert [(p.first.label, p.second.label) for p in one.pairs] == [
        ("network by angle", "pixels by angle")
    ]
    turned = compare(shown_run, baseline="network", observers=["pixels"])
    a, b = one.pairs[0].findings[0], turned.pairs[0].findings[0]
    assert a.difference.value == -b.difference.value
    assert a.difference.p == pytest.approx(b.difference.p)


def test_distances_over_tests(shown_run: Run) -> None:
    found = compare(shown_run)
    for each, mean in found.distances:
        expected = mean_distance(list(each.scores.values()))
        assert mean == pytest.approx(expected, nan_ok=True)  # few tests have no interval
    pair = found.pairs[0]
    far = [[distance(s) for s in each.scores.values()] for each in (pair.first, pair.second)]
    assert pair.alike == alike(*far)


def test_runs_that_were_asked_otherwise(runs: dict[str, Run]) -> None:
    found = compare(runs["fine"], runs["coarse"], runs["paper"])
    assert [(p.first.label, p.second.label) for p in found.pairs][:2] == [
        ("pixels (fine)", "pixels (coarse)"),
        ("pixels (fine)", "pixels (paper)"),
    ]
    (note,) = found.warnings
    assert note.startswith("Not all were asked the same questions. pixels (fine): encoders; ")
    assert "pixels (coarse): encoders, 20 pixels/degree" in note
    for format in ("table", "md", "latex"):
        text = summarise_comparison(found).write(format)
        before, asked_otherwise, _ = text.partition("Not all were asked the same")
        assert asked_otherwise
        assert "pixels" not in before  # not a finding yet
    assert json.loads(summarise_comparison(found).write("json"))["notes"][0] == note
    noise, matching = found.pairs[0].findings
    data = [run.data("pixels", "frequency-noise") for run in (runs["fine"], runs["coarse"])]
    both = (data[0]["dropped"].values == 0) & (data[1]["dropped"].values == 0)
    asked = int((data[0]["dropped"].values == 0).sum())
    assert noise.difference.first.n == both.sum() < asked
    clusters = both.any(axis=1).sum()
    assert noise.note == (
        f"on {clusters} abscissae with {both.sum()} of {asked} points that both have"
    )
    assert noise.difference.clusters == clusters
    # At 20 pixels per degree, three of nine frequencies are above the Nyquist limit.
    assert matching.note == "on 5 frequencies with 40 of 72 points that both have"


def test_an_observer_without_scores_says_why(odd_run: Run) -> None:
    found = compare(odd_run, observers=["constant", "afraid"], tests=["area"])
    ((finding,),) = (pair.findings for pair in found.pairs)
    assert math.isnan(finding.corrected)
    assert finding.significant == 0
    assert "answered the same to every stimulus" in finding.note
    assert found.tested == 0
    for format in FORMATS:
        assert "nan" not in summarise_comparison(found).write(format).lower()


def test_who_was_left_out_of_a_run_is_named(odd_run: Run) -> None:
    problems = list(compare(odd_run, baseline="constant", tests=["area"]).problems)
    assert problems[0].startswith("broken was left out: ")
    problems = list(compare(odd_run, observers=["constant", "afraid"], tests=["area"]).problems)
    assert problems == []


def test_printed_scores_have_distances_only(runs: dict[str, Run]) -> None:
    found = compare(runs["paper"], "@cai2025", baseline="cvvdp", observers=["pixels"])
    assert [pair.findings for pair in found.pairs] == [(), ()]
    assert found.notes[-1].startswith("Printed scores have no answers behind them")
    # On the tests that both have.
    assert [pair.alike.n for pair in found.pairs] == [(2, 2), (9, 9)]
    text = summarise_comparison(found).write()
    assert "- pixels (@cai2025) against cvvdp: distances over 9 tests " in text
    assert "0.642" in text  # cvvdp's mean distance


# What cannot be compared


def test_mistakes_are_sentences(runs: dict[str, Run], shown_run: Run) -> None:
    cases = [
        ({"sources": [runs["fine"]]}, "only 'pixels' is there; comparing takes two observers"),
        (
            {"sources": [runs["fine"], runs["area"]]},
            "these observers have no test in common",
        ),
        (
            {"sources": [runs["fine"], runs["coarse"]], "baseline": "pixels"},
            "several observers are named 'pixels': say 'pixels (fine)' or 'pixels (coarse)'",
        ),
        (
            {"sources": ["@cai2025"]},
            "45 observers make 990 pairs; name one to compare the others with by --baseline, or "
            f"up to {MOST} by --observers.",
        ),
        ({"sources": [shown_run], "baseline": "nobody"}, "no observer named 'nobody'"),
        ({"sources": [shown_run], "tests": ["area"]}, "no test named 'area'"),
    ]
    for case, sentence in cases:
        with pytest.raises(FechnerError) as raised:
            compare(*case.pop("sources"), **case)
        assert sentence in str(raised.value)
        assert str(raised.value).endswith(".")
        assert "\n" not in str(raised.value)


# What is said


def made_up(
    name: str, p: float, first: float, second: float, higher_is_better: bool = True, note: str = ""
) -> Finding:
    def score(value: float) -> Score:
        best = 1.0 if higher_is_better else 0.0
        return Score(name, value, value, value, higher_is_better, best, 1 - best, "x", 80)

    apart = first - second
    found = Difference(score(first), score(second), apart, apart - 0.1, apart + 0.1, p, 8)
    return Finding(name, found, p, note)


def standing(label: str, **scores: float) -> ScoredObserver:
    found = {
        name: Score(name, value, 0, 1, True, 1.0, 0.0, "x", 80) for name, value in scores.items()
    }
    return ScoredObserver(label, "", "encoders", "human", "encoders", found)


def comparison(first: str, second: str, *findings: Finding) -> Comparison:
    a, b = standing(first, x=0.1, y=0.2), standing(second, x=0.3, y=math.nan)
    mean = mean_difference(*(list(each.scores.values()) for each in (a, b)))
    pair = Pair(a, b, findings, Alike(0.5, 0.03, (2, 2)), 0.06, mean)
    distances = tuple((each, mean_distance(list(each.scores.values()))) for each in (a, b))
    return Comparison((pair,), distances, "holm", ())


def test_who_is_closer_is_said_in_words_and_by_test() -> None:
    found = comparison(
        "ours",
        "theirs",
        made_up("up", 0.001, 0.9, 0.5),
        made_up("down", 0.001, 0.9, 0.5, higher_is_better=False),
        made_up("open", 0.4, 0.9, 0.5),
    )
    (verdict,) = summarise_comparison(found).findings
    assert verdict == (
        "ours against theirs: ours is closer to people in up; theirs is closer to people in down; "
        "not told apart in 1 of 3 tests."
    )
    header, *rows = (
        summarise_comparison(found).tables[0].header,
        *summarise_comparison(found).tables[0].rows,
    )
    assert header == [
        "test", "score", "first", "second", "difference", "p", "p (Holm)", "closer to people",
    ]  # fmt: skip
    assert [row[-1] for row in rows] == ["first", "second", "·"]
    assert rows[0][1:6] == ["up ↑", "0.900", "0.500", "+0.400 [+0.300, +0.500]", "0.001"]
    assert rows[1][1] == "down ↓"


@pytest.mark.parametrize(
    ("n", "p", "words"),
    [
        (1, 0.5, "not told apart in 1 of 1 tests."),
        (3, 0.5, "not told apart in 3 of 3 tests."),
        (2, 0.01, "a is closer to people in t0, t1."),
    ],
)
def test_verdicts(n: int, p: float, words: str) -> None:
    found = comparison("a", "b", *(made_up(f"t{k}", p, 0.9, 0.5) for k in range(n)))
    assert summarise_comparison(found).findings == [f"a against b: {words}"]


def test_names_stand_in_the_heading() -> None:
    found = comparison("a", "b", made_up("up", 0.001, 0.2, 0.5))
    assert summarise_comparison(found).tables[0].heading == "a (first) against b (second)"


def test_without_a_correction_nothing_is_said_of_one() -> None:
    both = (made_up("up", 0.001, 0.9, 0.5), made_up("down", 0.5, 0.9, 0.5))
    text = summarise_comparison(replace(comparison("a", "b", *both), correction="none")).write()
    assert "Holm" not in text
    assert "p is not corrected for the 2 differences tested" in text


def test_notes_have_a_column_where_there_are_any() -> None:
    plain, noted = made_up("a", 0.5, 0.1, 0.2), made_up("b", 0.5, 0.1, 0.2, note="on 3 abscissae")
    assert "note" not in summarise_comparison(comparison("x", "y", plain)).tables[0].header
    table = summarise_comparison(comparison("x", "y", plain, noted)).tables[0]
    assert [row[-1] for row in table.rows] == ["", "on 3 abscissae"]


def test_one_test_has_nothing_over_tests() -> None:
    a = standing("a", x=0.5)
    findings, mean = (made_up("x", 0.5, 0.5, 0.5),), mean_difference([], [])
    pair = Pair(a, a, findings, Alike(0.0, 1.0, (1, 1)), 1.0, mean)
    found = Comparison((pair,), ((a, mean_distance(list(a.scores.values()))),), "holm", ())
    assert len(summarise_comparison(found).tables) == 1


def of_means(found: Comparison) -> Table:
    tables = summarise_comparison(found).tables
    return next(each for each in tables if each.heading.startswith("Mean distance"))


def test_the_closest_observer_comes_first() -> None:
    found = comparison("far", "near", made_up("x", 0.5, 0.1, 0.3))
    table = next(
        s for s in summarise_comparison(found).tables if s.heading.startswith("Mean distance")
    )
    assert [row[0] for row in table.rows] == ["near", "far"]


def test_means_without_an_interval_have_no_bracket() -> None:
    found = comparison("far", "near", made_up("x", 0.5, 0.1, 0.3))
    (far, mean), (near, other) = found.distances
    bare = mean._replace(low=math.nan, high=math.nan)
    wide = other._replace(low=0.1, high=0.9)
    rows = of_means(replace(found, distances=((far, bare), (near, wide)))).rows
    assert {row[0]: row[1] for row in rows} == {
        "far": f"{mean.value:.3f}",
        "near": f"{other.value:.3f} [0.100, 0.900]",
    }


# Formats


ODD = 'a|b & "c", <script>_{%}\n\x07'


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_takes_odd_names(format: str) -> None:
    text = summarise_comparison(
        comparison(ODD, "b", made_up("up", math.nan, 0.9, 0.5, note=ODD))
    ).write(format)
    assert text.endswith("\n")
    assert "script" in text
    if format == "md":
        assert "\\|b" in text
    if format == "latex":
        assert r"\&" in text
        assert r"\_\{\%\}" in text
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 3


def test_csv_has_everything_in_columns(shown_run: Run) -> None:
    found = compare(shown_run)
    rows = list(csv.DictReader(io.StringIO(summarise_comparison(found).write("csv"))))
    assert tuple(rows[0]) == COLUMNS
    kinds = [row["what"] for row in rows]
    assert (kinds.count("difference"), kinds.count("mean-distance")) == (6, 3)
    assert kinds.count("kolmogorov-smirnov") == 3
    finding = found.pairs[0].findings[1]
    row = rows[1]
    assert (row["test"], row["score"], row["higher_is_better"]) == (
        "matching-frequency", "matching-error", "false",
    )  # fmt: skip
    assert float(row["value"]) == pytest.approx(finding.difference.value, rel=1e-5)
    assert float(row["corrected_p"]) == pytest.approx(finding.corrected, rel=1e-5)
    assert row["n"] == "9"
    assert all(row["closer"] in ("", row["first"], row["second"]) for row in rows)


def test_json_is_strict_and_has_both_scores() -> None:
    found = comparison("a", "b", made_up("up", math.nan, 0.9, 0.5), made_up("x", 0.01, 0.1, 0.5))
    text = summarise_comparison(found).write("json")
    read = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert read["differences"][0]["p"] is None
    assert read["differences"][1]["closer"] == "b"
    assert read["differences"][1]["second_score"]["value"] == 0.5
    assert (read["correction"], read["tested"]) == ("holm", 1)
    assert len(read["mean_distances"]) == 2
    assert read["over_tests"][0]["value"] == 0.5
    assert len(read["mean_differences"]) == 1
    assert len(summarise_comparison(found).rows) == 6


def test_numbers_agree_between_formats(shown_run: Run) -> None:
    found = compare(shown_run, baseline="pixels")
    value = f"{abs(found.pairs[0].findings[0].difference.value):.3f}"
    for format in ("table", "md", "latex"):
        assert value in summarise_comparison(found).write(format)
    assert np.isfinite(found.pairs[0].findings[0].difference.p)
