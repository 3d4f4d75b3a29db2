"""What is asked: stimuli in pieces, a question, the raw answers."""

from fechner.experiments.asking import Asking
from fechner.experiments.bands import BandRobustness
from fechner.experiments.base import Experiment, Piece, Sample, Scene
from fechner.experiments.colour_matching import ColourMatching
from fechner.experiments.comparing import differences, differences_from_several
from fechner.experiments.curves import Curve, Curves, CurveTask
from fechner.experiments.detection import Detection, Masking
from fechner.experiments.interview import ask
from fechner.experiments.item_response import ItemResponse
from fechner.experiments.item_tasks import Matching, Naming
from fechner.experiments.matching import FrequencyMatching, MatchBy
from fechner.experiments.near_threshold import NearThreshold
from fechner.experiments.noise_curves import Condition, NoiseCurves
from fechner.experiments.patches import Brightness, Colour, SpectralSensitivity
from fechner.experiments.placement import AdaptiveLevels, EveryLevel
from fechner.experiments.preferred_views import GivenConditions, PreferredViews, SecondLook
from fechner.experiments.presenter import Presenter, TrialLog
from fechner.experiments.recognition import classify, recognise

__all__ = [
    "AdaptiveLevels",
    "Asking",
    "BandRobustness",
    "Brightness",
    "Colour",
    "ColourMatching",
    "Condition",
    "Curve",
    "CurveTask",
    "Curves",
    "Detection",
    "EveryLevel",
    "Experiment",
    "FrequencyMatching",
    "GivenConditions",
    "ItemResponse",
    "Masking",
    "MatchBy",
    "Matching",
    "Naming",
    "NearThreshold",
    "NoiseCurves",
    "Piece",
    "PreferredViews",
    "Presenter",
    "Sample",
    "Scene",
    "SecondLook",
    "SpectralSensitivity",
    "TrialLog",
    "ask",
    "classify",
    "differences",
    "differences_from_several",
    "recognise",
]
