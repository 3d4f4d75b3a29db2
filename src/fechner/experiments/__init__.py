"""What is asked: stimuli in pieces, a question, the raw answers."""

from fechner.experiments.base import Experiment, Piece, Sample, Scene
from fechner.experiments.matching import FrequencyMatching
from fechner.experiments.near_threshold import NearThreshold
from fechner.experiments.presentation import Presenter
from fechner.experiments.tasks import Detection, Masking, Task

__all__ = [
    "Detection",
    "Experiment",
    "FrequencyMatching",
    "Masking",
    "NearThreshold",
    "Piece",
    "Presenter",
    "Sample",
    "Scene",
    "Task",
]
