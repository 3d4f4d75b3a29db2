"""How human: alignment, matching error, intervals, and panels that show what was scored."""

from fechner.scores.alignment import Alignment
from fechner.scores.band_panels import BandPanels
from fechner.scores.band_robustness import BandAccuracy
from fechner.scores.colour_matching import ColourMatchingError
from fechner.scores.colour_matching_panels import colour_matching_panels
from fechner.scores.condition_scores import ConditionPanels, ConditionScores
from fechner.scores.curve_agreement import CurveAgreement
from fechner.scores.curve_panels import CurvePanels
from fechner.scores.item_panels import ItemPanels
from fechner.scores.item_scores import ItemScores
from fechner.scores.matching import MatchingError
from fechner.scores.matching_panels import matching_panels
from fechner.scores.panels import MakesPanels, Panel
from fechner.scores.score import Score, Scorer, distance
from fechner.scores.sensitivity import ContrastSensitivity
from fechner.scores.sensitivity_panels import SensitivityPanels
from fechner.scores.threshold_panels import threshold_panels
from fechner.scores.thresholds import Thresholds
from fechner.scores.view_panels import ViewPanels
from fechner.scores.view_scores import ViewScores

__all__ = [
    "Alignment",
    "BandAccuracy",
    "BandPanels",
    "ColourMatchingError",
    "ConditionPanels",
    "ConditionScores",
    "ContrastSensitivity",
    "CurveAgreement",
    "CurvePanels",
    "ItemPanels",
    "ItemScores",
    "MakesPanels",
    "MatchingError",
    "Panel",
    "Score",
    "Scorer",
    "SensitivityPanels",
    "Thresholds",
    "ViewPanels",
    "ViewScores",
    "colour_matching_panels",
    "distance",
    "matching_panels",
    "threshold_panels",
]
