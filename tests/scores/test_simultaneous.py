"""Differences of two curves: the band holds the whole of them, and finds what there is."""

import numpy as np
import pytest
from known_observers import LEVELS, steps, trials
from scipy import special

from fechner.errors import FechnerError
from fechner.scores.simultaneous import difference_band


def test_an_observer_does_not_differ_from_itself() -> None:
    right = steps(np.random.default_rng(0), 40, chance=0.1)
    asked = np.ones_like(right)
    band = difference_band(asked, right, asked, right)
    assert (band.difference == 0).all()
    assert not band.differs.any()
    # Agreement of 40 classes is not certainty.
    assert (band.high > 0.02).all()
    assert (band.low < -0.02).all()
    assert band.classes == 40


def test_the_other_way_round() -> None:
    generator = np.random.default_rng(1)
    first, second = (steps(generator, 30, chance=0.1) for _ in range(2))
    asked = np.ones_like(first)
    there, back = (
        difference_band(asked, a, asked, b) for a, b in ((first, second), (second, first))
    )
    np.testing.assert_allclose(there.difference, -back.difference)
    np.testing.assert_allclose(there.low, -back.high)
    assert there.critical == pytest.approx(back.critical)


@pytest.mark.parametrize("observer", [trials, steps])
def test_the_band_holds_all_levels_together(observer) -> None:
    # Two observers with the same curve: the difference is 0 at all levels.
    generator = np.random.default_rng(2)
    bands = []
    for _ in range(200):
        first, second = (observer(generator, 60, chance=1 / 16) for _ in range(2))
        asked = np.ones_like(first)
        bands.append(difference_band(asked, first, asked, second, resamples=300))
    wrong = np.mean([band.differs.any() for band in bands])
    room = 3 * np.sqrt(0.05 * 0.95 / len(bands))
    assert 0.0 <= wrong <= 0.07 + room
    # One level at a time would need 1.96 standard errors; 41 together need more.
    assert 2.3 < np.median([band.critical for band in bands]) < 3.8


def test_levels_at_which_observers_differ_are_found() -> None:
    generator = np.random.default_rng(3)
    with np.errstate(divide="ignore"):
        x = np.log10(LEVELS)
    answers = [
        (generator.random((200, 41)) < special.expit(-6 * (x - np.log10(level)))).astype(float)
        for level in (6.0, 2.0)
    ]
    asked = np.ones((200, 41))
    band = difference_band(asked, answers[0], asked, answers[1])
    found = LEVELS[band.differs]
    assert ((found > 2.5) & (found < 5)).any()
    assert (band.difference[band.differs] > 0).all()
    # Neither where both are right nor where both are wrong.
    assert not band.differs[[0, 1, 2, -3, -2, -1]].any()


def test_pairs_share_what_classes_have_in_common() -> None:
    # Errors on the same classes: the difference is known better than by two separate groups.
    generator = np.random.default_rng(4)
    first = steps(generator, 100, chance=0.001)
    second = first.copy()
    second[:4, 20:25] = 0
    asked = np.ones_like(first)
    paired = difference_band(asked, first, asked, second)
    apart = difference_band(asked, first, asked, second[generator.permutation(100)])
    middle = slice(18, 26)
    assert (paired.high - paired.low)[middle].mean() < 0.5 * (apart.high - apart.low)[middle].mean()


def test_classes_that_only_one_was_asked_about() -> None:
    asked = np.ones((10, 2))
    less = asked.copy()
    less[0] = 0
    less[:, 1] = 0
    band = difference_band(asked, asked, less, 0 * less)
    assert band.classes == 9
    assert band.difference[0] == 1.0
    assert np.isnan([band.difference[1], band.low[1], band.high[1]]).all()
    assert band.differs.tolist() == [True, False]


def test_one_class_has_no_band() -> None:
    band = difference_band([[1, 1]], [[1, 1]], [[1, 1]], [[0, 1]])
    assert np.isnan(band.low).all()
    assert not band.differs.any()


def test_curves_of_other_levels() -> None:
    with pytest.raises(FechnerError, match="same classes and levels"):
        difference_band(np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 4)), np.ones((3, 4)))
