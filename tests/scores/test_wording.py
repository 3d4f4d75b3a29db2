"""How much answers depend on the wording."""

import numpy as np
import pytest

from fechner.scores.wording import Asked, consistency, consistency_of_draws, entropy, wording_scores


def test_entropy_by_hand() -> None:
    yes = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    p = 0.25
    expected = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    assert entropy(yes) == pytest.approx([0.0, expected, 0.0])


def test_consistency_by_hand_and_by_counting_pairs() -> None:
    yes = np.random.default_rng(0).integers(0, 2, (7, 20)).astype(float)
    pairs = [(i, j) for i in range(7) for j in range(i)]
    counted = np.mean([[yes[i, k] == yes[j, k] for i, j in pairs] for k in range(20)], axis=1)
    assert consistency(yes) == pytest.approx(counted)


def test_invalid_replies_are_left_out() -> None:
    yes = np.array([[1.0], [np.nan], [1.0]])
    assert consistency(yes).tolist() == [1.0]
    assert entropy(yes).tolist() == [0.0]


def test_draws_that_are_answered_alike() -> None:
    same = np.ones((5, 3, 4))
    assert consistency_of_draws(same).tolist() == [1.0, 1.0, 1.0]
    opposite = np.stack([np.zeros((5,)), np.ones((5,))], axis=-1)
    assert float(consistency_of_draws(opposite)) == 0.0


def scores(yes: np.ndarray) -> dict[str, float]:
    contrast = np.geomspace(0.01, 1, yes.shape[2])[None].repeat(len(yes), axis=0)
    asked = Asked(yes, contrast, np.full(len(yes), 0.1))
    return {score.name: score for score in wording_scores(asked, "reply", "choice")}


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
