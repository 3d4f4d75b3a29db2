"""What is asked: stimuli in pieces, a question, the raw answers."""

from fechner.experiments.base import Experiment, Piece, Sample, Scene
from fechner.experiments.colour_matching import ColourMatching
from fechner.experiments.detection import Detection
from fechner.experiments.flicker import FlickerDetection
from fechner.experiments.masking import Masking
from fechner.experiments.matching import FrequencyMatching
from fechner.experiments.near_threshold import NearThreshold
from fechner.experiments.presentation import Presenter
from fechner.experiments.tasks import Task

__all__ = [
    "ColourMatching",
    "Detection",
    "Experiment",
    "FlickerDetection",
    "FrequencyMatching",
    "Masking",
    "NearThreshold",
    "Piece",
    "Presenter",
    "Sample",
    "Scene",
    "Task",
]
