"""Matching by response or by direct comparison: an option that a run keeps."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from oddities import network

from fechner import Run, Wants, evaluate, observe
from fechner.errors import FechnerError, RunFolderError
from fechner.report.contenders import groups


def look(out: Path | None, **options: object) -> Run:
    """Run a small network that is shown few pixels."""
    observer = observe(network(0), wants=Wants(size_px=(48, 48)), name="small", version="1")
    given = {"tests": "matching-frequency", "scores_only": True, "layers": "output", **options}
    return evaluate(observer, out=out, progress=False, **given)


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return look(tmp_path_factory.mktemp("match") / "direct", match="direct")


def test_a_run_keeps_how_it_matched(direct: Run) -> None:
    stored = json.loads((direct.folder / "manifest.json").read_text())["options"]
    assert stored["match"] == "direct"
    again = Run(direct.folder)
    assert again.tests[0].experiment.by == "direct"
    assert again.data("small", "matching-frequency")["difference"].shape[:3] == (8, 9, 33)
    assert [group.title for group in groups([again])] == [
        "encoders, gratings matched by direct comparison"
    ]
    results = again.scores()
    assert {result.score.note.split(";")[0] for result in results} == {
        "matched by direct comparison"
    }
    # At its own frequency a grating differs least from itself; the grid is a tenth of a decade.
    assert np.isfinite(results[0].score.value)


def test_a_printed_score_stands_beside_answers_to_the_same_question_only(tmp_path: Path) -> None:
    own = evaluate("pixels", tests="area", published=True, scores_only=True, progress=False)
    assert own.scores()[0].published == pytest.approx(0.898, abs=5e-4)
    for options in ({"ppd": 40}, {"ppd": 60, "match": "direct"}):
        other = evaluate(
            "pixels", tests="area", published=True, scores_only=True, progress=False, **options
        )
        assert np.isnan(other.scores()[0].published) == (options["ppd"] == 40)


def test_matches_of_one_kind_are_not_mixed_with_the_other(direct: Run) -> None:
    with pytest.raises(RunFolderError, match="--match direct, not --match response"):
        look(direct.folder)


@pytest.mark.parametrize("suite", ["encoders", "metrics"])
def test_a_wrong_value_is_one_sentence(suite: str) -> None:
    with pytest.raises(FechnerError, match=r"--match must be response or direct, .*mean direct"):
        look(None, match="directly", suite=suite)


def test_suites_without_matching_do_not_take_it() -> None:
    with pytest.raises(FechnerError, match="suite 'decalogue' does not take --match"):
        look(None, match="direct", suite="decalogue", tests=None)


def test_curves_for_figures_change_no_score(tmp_path: Path) -> None:
    scores = [look(tmp_path / "one").scores(), look(tmp_path / "one", scores_only=False).scores()]
    once, twice = ([str(asdict(result.score)) for result in own] for own in scores)
    assert once == twice
    run = Run(tmp_path / "one")
    assert run.data("small", "matching-frequency", for_scores=False).sizes["curve_frequency"] == 25
    pieces = {entry.piece: entry.images for entry in run.entries()}
    assert sum(n for name, n in pieces.items() if name.startswith("curves")) < 25 * 33 + 25
