"""Who is compared, and where: labels, names, layers and read-outs."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import fechner
from fechner import Run
from fechner.errors import FechnerError, listed
from fechner.report.comparing.scoring import correction_note, score_observers
from fechner.report.contenders import Printed, choose, choose_tests, entrants
from fechner.scores import distance
from fechner.suites import preset
from fechner.suites.published import baselines

TESTS = ["masking-coherent", "matching-frequency"]


def labels(found: list) -> list[str]:
    return [each.label for each in found]


def test_observers_of_runs_and_tables_have_labels_of_their_own(shown_run: Run) -> None:
    found = entrants([shown_run, "@cai2025", str(shown_run.folder), Path("@cai2025")])
    assert len(found) == 3 + 45
    assert len(set(labels(found))) == len(found)
    assert labels(found)[:3] == [
        "pixels (shown)",
        "network",
        "timm/vit_small_patch16_224.dino (shown)",
    ]
    assert "pixels (@cai2025)" in labels(found)
    assert "cvvdp" in labels(found)
    assert labels(entrants([shown_run])) == ["pixels", "network", "timm/vit_small_patch16_224.dino"]


def test_two_runs_of_one_observer(shown_run: Run, tmp_path: Path) -> None:
    shutil.copytree(shown_run.folder, tmp_path / "again")
    found = entrants([shown_run, tmp_path / "again"])
    assert labels(found)[:2] == ["pixels (shown)", "network (shown)"]
    assert labels(choose(found, ["pixels"])) == ["pixels (shown)", "pixels (again)"]
    assert labels(choose(found, ["pixels (again)", "network", "pixels"])) == [
        "pixels (again)",
        "network (shown)",
        "network (again)",
        "pixels (shown)",
    ]


def test_names_that_are_not_there(shown_run: Run) -> None:
    found = entrants([shown_run])
    with pytest.raises(FechnerError, match="no observer named 'pixls'; did you mean 'pixels'"):
        choose(found, ["pixls"])
    with pytest.raises(FechnerError, match="did you mean 'masking-coherent'"):
        choose_tests(found, ["masking-coherant"])
    with pytest.raises(FechnerError, match="nowhere does not exist"):
        entrants(["nowhere"])
    with pytest.raises(FechnerError, match="did you mean '@cai2025'"):
        entrants(["@cai2024"])


def test_tests_are_those_that_anyone_took(shown_run: Run) -> None:
    assert choose_tests(entrants([shown_run]), None) == TESTS
    assert len(choose_tests(entrants([shown_run, "@cai2025"]), None)) == 9
    assert choose_tests(entrants([shown_run]), ["matching-frequency"]) == ["matching-frequency"]


def test_scores_are_those_of_the_tables(shown_run: Run) -> None:
    found, problems = score_observers(entrants([shown_run]), TESTS)
    assert problems == []
    # Two read-outs were measured: the suite's is taken, and named.
    assert labels(found) == [
        "pixels by angle",
        "network by angle",
        "timm/vit_small_patch16_224.dino by angle",
    ]
    tables = {
        (result.observer, result.test): result.score
        for result in shown_run.scores()
        if result.main and result.last and result.score.readout == "angle"
    }
    for each, observer in zip(found, shown_run.observers, strict=True):
        assert {(observer, test): score for test, score in each.scores.items()} == {
            key: score for key, score in tables.items() if key[0] == observer
        }
        assert each.asked == "encoders"
    assert [each.family for each in found] == ["No Encoder", "", "DINO"]


def test_a_layer_and_a_readout_by_name(shown_run: Run) -> None:
    chosen = choose(entrants([shown_run]), ["pixels", "network"])
    found, _ = score_observers(chosen, TESTS, layer="0", readout="l2")
    # What cannot be looked into gives its only layer.
    assert labels(found) == ["pixels by l2", "network at 0 by l2"]
    (score,) = (
        result.score
        for result in shown_run.scores()
        if (result.observer, result.test, result.main) == ("network", "masking-coherent", True)
        and (result.score.layer, result.score.readout) == ("0", "l2")
    )
    assert found[1].scores["masking-coherent"] == score
    with pytest.raises(FechnerError, match="no layer named '9'"):
        score_observers(chosen, TESTS, layer="9")
    with pytest.raises(FechnerError, match="no read-out named 'angel'; did you mean 'angle'"):
        score_observers(chosen, TESTS, readout="angel")
    with pytest.raises(FechnerError, match="printed scores have one place"):
        score_observers(entrants(["@cai2025"]), TESTS, layer="0")


def test_a_last_layer_that_is_not_the_output_is_named(tmp_path: Path, shown_run: Run) -> None:
    run = fechner.evaluate(
        fechner.observe(_network(), name="network"),
        tests=["masking-coherent"],
        layers="0",
        scores_only=True,
        out=tmp_path / "early",
        progress=False,
    )
    found, _ = score_observers(entrants([run]), ["masking-coherent"])
    assert labels(found) == ["network at 0"]


def _network() -> object:
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 7, stride=4), torch.nn.ReLU())


def test_what_is_not_finished_is_said_in_a_line(odd_run: Run) -> None:
    (each,) = choose(entrants([odd_run]), ["afraid"])
    (found,), problems = score_observers([each], ["area", "matching-frequency"])
    assert list(found.scores) == ["area"]
    (line,) = problems
    assert line.startswith("afraid matching-frequency: ")
    assert "too dark" in line


def test_a_damaged_file_is_a_line_too(shown_run: Run, tmp_path: Path) -> None:
    shutil.copytree(shown_run.folder, tmp_path / "damaged")
    next((tmp_path / "damaged" / "results" / "pixels").rglob("score-00.nc")).write_bytes(b"x")
    found, problems = score_observers(choose(entrants([tmp_path / "damaged"]), ["pixels"]), TESTS)
    assert list(found[0].scores) == ["matching-frequency"]
    assert "is damaged" in problems[0]


def test_printed_scores() -> None:
    every = entrants(["@cai2025"])
    assert all(isinstance(each, Printed) for each in every)
    (each,) = choose(every, ["timm/vit_small_patch16_224.dino"])
    (found,), problems = score_observers([each], ["area", "matching-frequency"])
    row = next(row for row in preset("cai2025") if row.observer == each.observer)
    assert {test: score.value for test, score in found.scores.items()} == {
        test: row.scores[test] for test in ("area", "matching-frequency")
    }
    assert found.asked == "encoders, as printed by Cai et al. 2025"
    assert (found.family, found.answers, problems) == ("DINO", {}, [])
    chance = baselines()["encoders", "published", "area", "alignment"].median
    assert distance(found.scores["area"]) == pytest.approx((1 - 0.9686) / (1 - chance))
    assert 0 < distance(found.scores["matching-frequency"]) < 2
    assert all(np.isnan(score.low) for score in found.scores.values())


def test_long_lists_are_cut() -> None:
    assert listed([str(n) for n in range(15)]).endswith("10, 11 and 3 more")
    assert listed(["a", "b"]) == "a, b"


def test_what_is_said_of_corrections() -> None:
    assert correction_note("bh", 9, "trends").startswith(
        "p (Benjamini-Hochberg) is corrected for the 9 trends tested; "
    )
    assert correction_note("none", 9, "trends").startswith("p is not corrected for the 9 trends")
