"""What answers tell beside a curve: d', and effects of wording."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

from fechner.scores.thresholds import (
    consistency,
    consistency_of_draws,
    d_prime_scores,
    entropy,
    wording_scores,
)

CONTRASTS = np.array([0.0, 0.05, 0.09, 0.1, 0.12, 0.4])
NEAR = slice(2, 5)  # within half an octave of 0.1


def found(
    d_prime: float,
    criterion: float = 0.0,
    prompts: int = 1,
    n: int = 40,
    points: int = 4,
    seed: int = 0,
    blanks: int = 200,
) -> SimpleNamespace:
    """Answers of an observer with equal variances, that sees something around 0.1 only."""
    generator = np.random.default_rng(seed)
    hit, alarm = ndtr(d_prime / 2 - criterion), ndtr(-d_prime / 2 - criterion)
    rate = np.full(len(CONTRASTS), alarm)
    rate[NEAR] = hit
    shape = (points, prompts, len(CONTRASTS))
    return SimpleNamespace(
        abscissae=np.geomspace(0.5, 4, points),
        contrasts=np.broadcast_to(CONTRASTS, (points, len(CONTRASTS))),
        n=np.full(shape, float(n)),
        k=generator.binomial(n, rate, shape).astype(float),
        false_alarms=np.stack(
            [generator.binomial(blanks, alarm, prompts), np.full(prompts, blanks)]
        ).astype(float),
        shown=np.arange(points) < points - 1,
    )


@pytest.mark.parametrize("criterion", [-0.8, 0.0, 0.8])
def test_d_prime_is_recovered_whatever_the_bias(criterion: float) -> None:
    main, *others = d_prime_scores(found(1.5, criterion, n=400, blanks=2000), None)
    assert main.name == "d-prime"
    assert main.value == pytest.approx(1.5, abs=0.1)
    assert main.n == 3 * 3 * 400
    assert f"criterion {criterion:.1f}"[:-2] in main.note
    assert [score.name for score in others] == ["d-prime-0.5-cpd", "d-prime-1-cpd", "d-prime-2-cpd"]
    for score in others:
        assert score.value == pytest.approx(1.5, abs=0.2)


def test_intervals_hold_the_truth() -> None:
    held = []
    for seed in range(400):
        (own, *_) = d_prime_scores(found(1.2, 0.3, seed=seed), None)
        held.append(own.low <= 1.2 <= own.high)
    assert 0.92 <= np.mean(held) <= 0.98


def test_prompts_that_differ_make_it_less_certain() -> None:
    several = found(1.5, prompts=3, n=200)
    alike = next(d_prime_scores(several, None))
    # To one of them nothing is something, however often it is asked.
    several.false_alarms[0, 0] = several.false_alarms[1, 0]
    differ = next(d_prime_scores(several, None))
    assert alike.resampled == differ.resampled == "prompts"
    assert differ.high - differ.low > 3 * (alike.high - alike.low)


def test_who_never_errs_is_as_good_as_can_be_told() -> None:
    sure = found(1.5)
    sure.k[..., NEAR] = sure.n[..., NEAR]
    sure.false_alarms[0] = 0
    (main, *_) = d_prime_scores(sure, None)
    assert np.isfinite(main.value)
    assert main.value == main.best
    (chosen, *_) = d_prime_scores(sure, 0.5)
    assert chosen.value == chosen.best > 0
    assert "right in 360 of 360" in chosen.note


def test_choices_between_two_have_no_false_alarms() -> None:
    two = found(0.0, n=400)
    two.k[..., NEAR] = np.random.default_rng(1).binomial(400, ndtr(1.3 / 2**0.5), (4, 1, 3))
    two.false_alarms[:] = 0
    (main, *_) = d_prime_scores(two, 0.5)
    assert main.value == pytest.approx(1.3, abs=0.1)


def test_what_was_not_asked_is_said() -> None:
    other = found(1.5)
    other.n[..., NEAR] = other.k[..., NEAR] = 0
    (only,) = d_prime_scores(other, None)
    assert np.isnan(only.value)
    assert "nothing was asked at contrasts of 0.1" in only.note
    other = found(1.5)
    other.false_alarms[:] = 0
    assert "nothing was asked without a pattern" in next(d_prime_scores(other, None)).note


def counted(yes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many prompts (first axis) were answered yes, and how many were answered."""
    return np.nansum(yes, axis=0), np.isfinite(yes).sum(axis=0).astype(float)


def test_entropy_by_hand() -> None:
    yes = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    p = 0.25
    expected = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    assert entropy(*counted(yes)) == pytest.approx([0.0, expected, 0.0])


def test_consistency_by_hand_and_by_counting_pairs() -> None:
    yes = np.random.default_rng(0).integers(0, 2, (7, 20)).astype(float)
    pairs = [(i, j) for i in range(7) for j in range(i)]
    agree = np.mean([[yes[i, k] == yes[j, k] for i, j in pairs] for k in range(20)], axis=1)
    assert consistency(*counted(yes)) == pytest.approx(agree)


def test_invalid_replies_are_left_out() -> None:
    yes = np.array([[1.0], [np.nan], [1.0]])
    assert consistency(*counted(yes)).tolist() == [1.0]
    assert entropy(*counted(yes)).tolist() == [0.0]


def test_draws_that_are_answered_alike() -> None:
    same = np.ones((5, 3, 4))
    assert consistency_of_draws(*counted(same)).tolist() == [1.0, 1.0, 1.0]
    opposite = np.stack([np.zeros((5,)), np.ones((5,))], axis=-1)
    assert float(consistency_of_draws(*counted(opposite))) == 0.0


def scores(yes: np.ndarray) -> dict[str, float]:
    contrast = np.geomspace(0.01, 1, yes.shape[2])[None].repeat(len(yes), axis=0)
    curve = SimpleNamespace(log10=np.full(len(yes), 1.0))
    found = wording_scores(SimpleNamespace(same_pictures=yes, contrasts=contrast, curve=curve))
    return {score.name: score for score in found}


def test_robust_and_random_observers() -> None:
    steps = (np.arange(9) > 4).astype(float)
    robust = scores(np.broadcast_to(steps[None, None, :, None], (4, 10, 9, 5)).copy())
    assert robust["prompt-entropy"].value == 0
    assert robust["prompt-consistency"].value == 1
    assert robust["draw-consistency"].value == 1
    random = scores(np.random.default_rng(1).integers(0, 2, (4, 10, 9, 5)).astype(float))
    assert random["prompt-consistency"].value == pytest.approx(0.5, abs=0.03)
    assert random["prompt-entropy"].value > 0.85
    for score in random.values():
        assert not score.low > score.value
        assert not score.high < score.value


def test_near_threshold_it_is_worse() -> None:
    generator = np.random.default_rng(2)
    contrast = np.geomspace(0.01, 1, 9)
    chance = 1 / (1 + (0.1 / contrast) ** 4)
    yes = (generator.random((4, 25, 9, 10)) < chance[None, None, :, None]).astype(float)
    found = scores(yes)
    assert found["prompt-consistency-near"].value < found["prompt-consistency"].value
    assert found["prompt-entropy-near"].value > found["prompt-entropy"].value


def test_one_prompt_has_no_wording() -> None:
    assert scores(np.ones((4, 1, 9, 5))) == {}


def test_a_resample_of_one_prompt_does_not_make_everything_possible() -> None:
    """Three prompts are drawn as one and the same now and then, which agrees with itself."""
    yes = np.tile((np.arange(9) > 4).astype(float)[None, None, :, None], (4, 3, 1, 5))
    yes[:, 0, 5] = 0.0
    found = scores(yes)["prompt-entropy"]
    assert found.low < found.value < found.high < 0.5
