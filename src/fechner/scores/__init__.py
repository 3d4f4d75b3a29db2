"""How human: alignment, matching error, intervals."""

from fechner.scores.alignment import Alignment
from fechner.scores.matching import matching_error
from fechner.scores.score import Score, Scorer

__all__ = ["Alignment", "Score", "Scorer", "matching_error"]
