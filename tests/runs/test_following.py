"""Tests that follow from the answers to others: chosen, ordered, measured and kept as one would."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import following
import pytest
import torch
import xarray as xr
from following import EACH, PIECES, SPEC, SUITE, Gabors

from fechner import FechnerError, Run, evaluate, observe, suites
from fechner.errors import UnknownNameError
from fechner.runs import plan as planning
from fechner.runs.manifest import ObserverRecord
from fechner.runs.plan import Schedule, jobs, piece_keys
from fechner.suites import Options, suite

TESTS = {test.id: test for test in suite(SPEC).build()}


def quick(*observers: Any, out: Path | None = None, **options: Any) -> Run:
    options = {"suite": SPEC, "progress": False, "threads": 1, **options}
    return evaluate(*observers, out=out, **options)


# Which tests, in which order


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (None, ["third", "second", "first", "alone"]),
        ("alone", ["alone"]),
        ("second", ["second", "first"]),
        (["th*"], ["third", "second", "first"]),
        (["odd", "alone"], ["alone", "odd"]),
        ("o*", ["odd"]),
        ("?*", ["third", "second", "first", "alone", "odd"]),
    ],
)
def test_tests_are_chosen_with_those_that_they_come_after(names, chosen: list[str]) -> None:
    assert [test.id for test in SUITE.find_tests(Options(), names)] == chosen


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ("thrd", r"no test named 'thrd'; did you mean 'third'\? following has third, second, "),
        ("x-*", r"no test named 'x-\*'; following has third, second, first, alone, odd\."),
        ("more*", r"test 'more\*' of following needs --images FOLDER\."),
        ("more-of-it", r"test 'more-of-it' of following needs --images FOLDER\."),
    ],
)
def test_what_matches_nothing_is_an_error(names: str, sentence: str) -> None:
    with pytest.raises(FechnerError, match=sentence):
        SUITE.find_tests(Options(), names)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"prompts": ["?"]}, r"does not take --prompts; it is an option of verbal\."),
        ({"adaptive": False}, r"does not take --adaptive; it is an option of verbal and "),
        ({"dither": True, "trials": 3}, r"does not take --dither; it is an option of verbal\."),
    ],
)
def test_options_that_a_suite_does_not_take_are_named(options, sentence: str) -> None:
    with pytest.raises(FechnerError, match=sentence):
        evaluate("pixels", progress=False, **options)


@pytest.mark.parametrize("scores_only", [False, True])
def test_jobs_come_after_all_jobs_of_what_they_follow(scores_only: bool) -> None:
    plan = jobs("someone", list(TESTS.values()), scores_only)
    places: dict[str, list[int]] = {}
    for place, job in enumerate(plan):
        places.setdefault(job.test.id, []).append(place)
    for test in TESTS.values():
        for name in test.after:
            assert max(places[name]) < min(places[test.id])
    # What others follow from is measured whole; of the rest, figures come last or not at all.
    counts = {name: len(found) for name, found in places.items()}
    rest = PIECES - scores_only
    assert counts == {"first": PIECES, "second": PIECES, "third": rest, "alone": rest, "odd": rest}
    late = [job.test.id for job in plan if not job.piece.for_scores]
    assert late == ["first", "second", *([] if scores_only else ["third", "alone", "odd"])]


def test_without_such_tests_the_order_is_that_of_the_suite() -> None:
    tests = suite("encoders").build()
    plan = jobs("someone", tests, scores_only=False)
    parts = [[job for job in plan if job.piece.for_scores == part] for part in (True, False)]
    assert plan == parts[0] + parts[1]
    order = list(dict.fromkeys(job.test.id for job in parts[0]))
    assert order == [test.id for test in tests]


def test_tests_that_come_after_each_other_are_refused() -> None:
    a, b = (suites.Test(Gabors(n), None, None, after=(m,)) for n, m in (("a", "b"), ("b", "a")))
    with pytest.raises(ValueError, match="a > b > a"):
        jobs("someone", [a, b], scores_only=False)


def test_a_piece_waits_for_the_tests_before_and_no_other() -> None:
    plan = jobs("someone", list(TESTS.values()), scores_only=True)
    schedule = Schedule(plan)
    begun = []
    while (number := schedule.next()) is not None:
        begun.append(number)
    assert {plan[i].test.id for i in begun} == {"first", "alone", "odd"}
    own = [i for i in begun if plan[i].test.id == "first"]
    for number in own[:-1]:
        schedule.finish(number, complete=True)
        assert schedule.next() is None
    schedule.retry(own[-1])
    assert schedule.next() == own[-1]
    schedule.finish(own[-1], complete=True)
    number = schedule.next()
    assert number is not None
    assert plan[number].test.id == "second"
    assert len(schedule.drop("second")) == PIECES - 1
    assert schedule.next() is None  # one is still under way
    schedule.finish(number, complete=False)
    assert schedule.incomplete == {"second"}
    assert plan[schedule.next()].test.id == "third"


# Answers


def test_answers_are_handed_on_whole_and_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    real = planning.read_dataset
    monkeypatch.setattr(planning, "read_dataset", lambda p, h: (read.append(p), real(p, h))[1])
    run = quick("pixels", out=tmp_path / "run", scores_only=True)
    assert len(read) == len(set(read)) == 2 * PIECES  # first and second
    first, second = (run.data("pixels", name) for name in ("first", "second"))
    third = run.data("pixels", "third")
    n = (PIECES - 1) * EACH
    assert first.attrs["seen"] == 0
    assert second.attrs["seen"] == n
    assert list(third.attrs["seen"]) == [n, n]
    gain = 1 + float(first["response"].mean())
    assert second["contrast"][0] == pytest.approx(0.01 * gain)
    gain *= 1 + float(second["response"].mean())
    assert third["contrast"][0] == pytest.approx(0.01 * gain)
    assert "surface" in first  # since others follow from it
    assert "surface" not in third


def test_resumed_with_figures_nothing_is_measured_again(tmp_path: Path) -> None:
    quick("pixels", out=tmp_path / "run", scores_only=True)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nc")}
    run = quick("pixels", out=tmp_path / "run")
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nc")}
    assert {path: after[path] for path in before} == before
    assert len(after) == len(before) + 2  # surfaces of third and alone
    whole = quick("pixels", out=tmp_path / "whole")
    xr.testing.assert_identical(run.data("pixels", "third"), whole.data("pixels", "third"))


def squares(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return (test - reference).square().mean(dim=(1, 2, 3))


def test_where_it_cannot_be_asked_there_are_no_answers(tmp_path: Path) -> None:
    def asking_words(options: Options) -> list[suites.Test]:
        changed = []
        for test in following.tests(options):
            asks = "recognises" if test.id == "first" else "compares"
            changed.append(replace(test, experiment=replace(test.experiment, asks=asks)))
        return changed

    own = replace(SUITE, tests=asking_words)
    run = quick("pixels", out=tmp_path / "run", tests="second", suite=own)
    assert run.assess()[1] == []
    assert run.data("pixels", "first") is None
    assert run.data("pixels", "second").attrs["seen"] == 0
    # That it cannot be asked is remembered where nobody asks for it.
    run = quick("pixels", out=tmp_path / "run", tests="alone", suite=own)
    assert run.manifest.observers["pixels"].lacks == ["video", "recognises"]
    assert run.data("pixels", "second") is not None


def test_after_a_test_that_failed_the_next_is_not_measured(tmp_path: Path) -> None:
    # Before a run it is shown Gabors of other contrasts.
    faults = {"contrast": 7}

    def fragile(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        if len(test) == EACH and test.shape[-1] == 32:
            faults["contrast"] -= 1
            if faults["contrast"] == 0:
                raise ValueError("boom")
        return squares(test, reference)

    def start() -> Run:
        return quick(observe(fragile, name="fragile", version="1"), out=tmp_path / "run")

    run = start()
    _, problems = run.assess()
    assert [problem.partition(": ")[0] for problem in problems] == [
        "fragile third",
        "fragile second",
    ]
    assert "raised ValueError: boom" in problems[1]
    assert problems[0] == "fragile third: it comes after second, which is not complete"
    assert run.data("fragile", "alone") is not None
    assert {entry.test for entry in run.entries()} == {"first", "second", "alone"}
    run = start()
    assert run.assess()[1] == []
    whole = quick(observe(squares, name="fragile", version="1"), out=tmp_path / "whole")
    xr.testing.assert_identical(run.data("fragile", "third"), whole.data("fragile", "third"))


def test_it_is_said_that_a_test_is_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        if test.shape[-1] == 32:
            raise ValueError("boom")
        return squares(test, reference)

    quick(observe(broken, name="broken"), out=tmp_path / "run", tests="third", progress=True)
    lines = capsys.readouterr().err.splitlines()
    said = "broken {} is not measured: it comes after {}, which is not complete."
    assert said.format("second", "first") in lines
    assert said.format("third", "second") in lines


def test_a_damaged_earlier_result_is_measured_anew_and_the_later_kept(tmp_path: Path) -> None:
    run = quick("pixels", out=tmp_path / "run", tests="second")
    file = next(iter((tmp_path / "run").rglob("first/piece-0.nc")))
    content = file.read_bytes()
    file.write_bytes(b"nothing")
    later = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("second/*.nc")}
    run = quick("pixels", out=tmp_path / "run", tests="second")
    assert file.read_bytes() == content
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("second/*.nc")} == later
    assert run.assess()[1] == []


def test_keys_depend_on_what_a_test_comes_after() -> None:
    known = ObserverRecord(1, {"compares": "x 1"}, "output")
    changed = {**TESTS, "first": replace(TESTS["first"], experiment=Gabors("first", version=2))}
    for name, same in (("first", False), ("second", False), ("third", False), ("alone", True)):
        before, now = (piece_keys(each[name], each, known) for each in (TESTS, changed))
        assert list(before) == list(now) == [f"piece-{i}" for i in range(PIECES)]
        assert (before == now) is same
    cannot = replace(known, lacks=["compares"])
    before, now = (piece_keys(TESTS["second"], TESTS, each) for each in (known, cannot))
    assert before != now


def test_a_session_reads_an_earlier_test_of_the_same_observer_only(tmp_path: Path) -> None:
    run = quick("pixels", "standard-observer", out=tmp_path / "run", tests="second")
    one, two = (run.data(name, "second")["contrast"].values for name in run.observers)
    assert (one != two).all()


def test_unknown_names_stay_errors() -> None:
    with pytest.raises(UnknownNameError):
        suite("followin")
