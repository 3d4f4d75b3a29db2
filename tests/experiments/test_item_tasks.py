"""Decisions in match-to-sample on cases made by hand."""

import numpy as np
import pytest

from fechner.errors import UnknownNameError
from fechner.experiments.item_tasks import DECISIONS, decide

#: Correlations with the same picture and with another, and what each decision makes of them.
CASES = {
    "both positive, the right one more": (0.9, 0.2, [1, 1, 1]),
    "both positive, the wrong one more": (0.2, 0.9, [0, 0, 0]),
    "both negative, the right one more": (-0.2, -0.4, [1, 0, 0]),
    "both negative, the wrong one more": (-0.4, -0.2, [0, 1, 1]),
    "of different sign, the right one more": (0.1, -0.4, [1, 1, 1]),
    "of different sign, the wrong one more": (-0.4, 0.1, [0, 0, 0]),
    "a tie above 0": (0.5, 0.5, [0, 0, 0]),
    "a tie below 0": (-0.5, -0.5, [0, 1, 1]),
    "a tie at 0": (0.0, 0.0, [0, 0, 1]),
    "nothing like it, the other unlike": (0.0, -0.5, [1, 0, 1]),
    "no features": (np.nan, 0.5, [0, 0, 0]),
    "none of the other": (0.5, np.nan, [0, 0, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_case_by_hand(case: str) -> None:
    same, other, expected = CASES[case]
    found = [decide(name, np.array([1 - same]), np.array([1 - other])) for name in DECISIONS]
    assert [int(each.right.item()) for each in found] == expected
    assert [bool(each.undefined.item()) for each in found] == [np.isnan(same + other)] * 3
    assert [bool(np.isnan(each.score.item())) for each in found] == [np.isnan(same + other)] * 3


def test_scores_as_printed() -> None:
    same, other = np.array([0.9, 0.2, -0.2]), np.array([0.2, 0.9, -0.4])
    assert decide("2afc-paper", 1 - same, 1 - other).score == pytest.approx([0.9, -0.9, -0.2])
    assert decide("2afc", 1 - same, 1 - other).score == pytest.approx([0.7, -0.7, 0.2])


def test_an_unknown_decision() -> None:
    with pytest.raises(UnknownNameError, match="did you mean '2afc'"):
        decide("2acf", np.zeros(1), np.zeros(1))
