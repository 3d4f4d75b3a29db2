"""d' of simulated observers whose d' and criterion are known."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

from fechner.scores.detectability import d_prime_of, d_prime_scores, hits_at

CONTRASTS = np.array([0.0, 0.05, 0.09, 0.1, 0.12, 0.4])
NEAR = slice(2, 5)  # within half an octave of 0.1
PLACE = {"layer": "reply", "readout": "choice"}


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
    main, *others = d_prime_scores(found(1.5, criterion, n=400, blanks=2000), None, PLACE)
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
        (own, *_) = d_prime_scores(found(1.2, 0.3, seed=seed), None, PLACE)
        held.append(own.low <= 1.2 <= own.high)
    assert 0.92 <= np.mean(held) <= 0.98


def test_prompts_that_differ_make_it_less_certain() -> None:
    several = found(1.5, prompts=3, n=200)
    alike = d_prime_of(several, *(each.sum(axis=0) for each in hits_at(several, 0.1)), None)
    # To one of them nothing is something, however often it is asked.
    several.false_alarms[0, 0] = several.false_alarms[1, 0]
    differ = d_prime_of(several, *(each.sum(axis=0) for each in hits_at(several, 0.1)), None)
    assert alike.over == differ.over == "prompts"
    assert differ.high - differ.low > 3 * (alike.high - alike.low)


def test_who_never_errs_is_as_good_as_can_be_told() -> None:
    sure = found(1.5)
    sure.k[..., NEAR] = sure.n[..., NEAR]
    sure.false_alarms[0] = 0
    (main, *_) = d_prime_scores(sure, None, PLACE)
    assert np.isfinite(main.value)
    assert main.value == main.best
    (chosen, *_) = d_prime_scores(sure, 0.5, PLACE)
    assert chosen.value == chosen.best > 0
    assert "right in 360 of 360" in chosen.note


def test_choices_between_two_have_no_false_alarms() -> None:
    two = found(0.0, n=400)
    two.k[..., NEAR] = np.random.default_rng(1).binomial(400, ndtr(1.3 / 2**0.5), (4, 1, 3))
    two.false_alarms[:] = 0
    (main, *_) = d_prime_scores(two, 0.5, PLACE)
    assert main.value == pytest.approx(1.3, abs=0.1)


def test_what_was_not_asked_is_said() -> None:
    other = found(1.5)
    other.n[..., NEAR] = other.k[..., NEAR] = 0
    (only,) = d_prime_scores(other, None, PLACE)
    assert np.isnan(only.value)
    assert "nothing was asked at contrasts of 0.1" in only.note
    other = found(1.5)
    other.false_alarms[:] = 0
    assert "nothing was asked without a pattern" in next(d_prime_scores(other, None, PLACE)).note
