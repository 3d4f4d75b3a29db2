"""What is asked: stimuli in pieces, a question, the raw answers."""

from typing import Any

from fechner.experiments.asking import Asking
from fechner.experiments.bands import BandRobustness
from fechner.experiments.base import Experiment, Piece, Sample, Scene
from fechner.experiments.colour_matching import ColourMatching
from fechner.experiments.curves import Curve, Curves, CurveTask
from fechner.experiments.detection import Detection, Masking
from fechner.experiments.given import GivenConditions
from fechner.experiments.interview import Interviewer
from fechner.experiments.item_response import ItemResponse
from fechner.experiments.item_tasks import Matching, Naming
from fechner.experiments.levels import AdaptiveLevels, EveryLevel
from fechner.experiments.matching import FrequencyMatching, MatchBy
from fechner.experiments.near_threshold import NearThreshold
from fechner.experiments.noise_curves import Condition, NoiseCurves
from fechner.experiments.patches import Brightness, Colour, SpectralSensitivity
from fechner.experiments.placement import AdaptiveStimuli, ConstantStimuli, Placement
from fechner.experiments.preferred_views import PreferredViews, SecondLook
from fechner.experiments.presentation import Presenter
from fechner.experiments.recognition import Recogniser
from fechner.experiments.trials import TrialLog
from fechner.observers.abilities import Ability

#: Who shows the stimuli of an experiment, by the ability that it asks.
SHOWN_BY: dict[Ability, Any] = {
    "compares": Presenter,
    "answers": Interviewer,
    "recognises": Recogniser,
}

__all__ = [
    "SHOWN_BY",
    "AdaptiveLevels",
    "AdaptiveStimuli",
    "Asking",
    "BandRobustness",
    "Brightness",
    "Colour",
    "ColourMatching",
    "Condition",
    "ConstantStimuli",
    "Curve",
    "CurveTask",
    "Curves",
    "Detection",
    "EveryLevel",
    "Experiment",
    "FrequencyMatching",
    "GivenConditions",
    "Interviewer",
    "ItemResponse",
    "Masking",
    "MatchBy",
    "Matching",
    "Naming",
    "NearThreshold",
    "NoiseCurves",
    "Piece",
    "Placement",
    "PreferredViews",
    "Presenter",
    "Recogniser",
    "Sample",
    "Scene",
    "SecondLook",
    "SpectralSensitivity",
    "TrialLog",
]
