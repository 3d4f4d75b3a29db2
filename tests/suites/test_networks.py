"""A real network in the suite: its numbers, and what they must not depend on."""

import numpy as np
import pytest

from fechner import evaluate
from fechner.runs import Run

#: efficientnet_lite0, default mode, natural read-out.
GOLDEN = {
    "frequency-ach": 0.4134,
    "frequency-noise": 0.3270,
    "frequency-rg": 0.5511,
    "frequency-yv": 0.6752,
    "luminance": 0.5082,
    "area": 0.8523,
    "masking-coherent": 0.5866,
    "masking-incoherent": 0.8760,
    "matching-frequency": 0.4305,
}


def measured(**options: object) -> Run:
    return evaluate("efficientnet_lite0", scores_only=True, progress=False, **options)


def natural(run: Run) -> dict[str, float]:
    return {r.test: r.score.value for r in run.scores() if r.main and r.last}


def test_scores_do_not_depend_on_the_batch_or_on_other_layers() -> None:
    test = "masking-coherent"
    runs = [
        measured(tests=test, batch_size=8, layers="output"),
        measured(tests=test, batch_size=3, layers="output"),
        measured(tests=test, batch_size=8),  # all stages
    ]
    scores = [natural(run)[test] for run in runs]
    assert scores[0] == pytest.approx(GOLDEN[test], abs=1e-3)
    assert np.ptp(scores) <= 1e-3
    alone, _, among = (run.data("efficientnet_lite0", test)["response"] for run in runs)
    assert among.sizes["layer"] == 8
    np.testing.assert_array_equal(among.sel(layer="output"), alone.sel(layer="output"))


@pytest.mark.slow
def test_all_scores_at_several_batch_sizes() -> None:
    found = [natural(measured(batch_size=size, layers="output")) for size in (1, 8, 32)]
    for test, value in GOLDEN.items():
        scores = [scores[test] for scores in found]
        assert scores == pytest.approx([value] * 3, abs=1e-3), test


@pytest.mark.slow
@pytest.mark.parametrize("test", ["frequency-noise", "masking-incoherent"])
def test_scores_over_seeds_lie_inside_the_interval(test: str) -> None:
    runs = [measured(tests=test, seed=seed, layers="output") for seed in range(10)]
    scores = [natural(run)[test] for run in runs]
    assert len(set(scores)) == 10
    first = next(r.score for r in runs[0].scores() if r.main)
    assert first.low <= min(scores)
    assert max(scores) <= first.high
