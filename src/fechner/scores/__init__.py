"""How human: alignment, matching error, intervals."""

from fechner.scores.alignment import Alignment
from fechner.scores.matching import MatchingError
from fechner.scores.score import Score, Scorer

__all__ = ["Alignment", "MatchingError", "Score", "Scorer"]
