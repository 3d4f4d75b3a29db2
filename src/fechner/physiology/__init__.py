"""What units do: receptive fields of any unit of any layer, and how redundant responses are."""

from fechner.physiology.colour import ColourWeights, colour_and_profile, colour_weights
from fechner.physiology.conditions import Conditions
from fechner.physiology.dog import DogFit, fit_dog
from fechner.physiology.gabor import GaborFit, bandwidth_octaves, fit_gabor
from fechner.physiology.information import mutual_information
from fechner.physiology.least_squares import Profile
from fechner.physiology.methods import by_deltas, by_jacobian, by_noise
from fechner.physiology.receptive_field import ReceptiveField, Window
from fechner.physiology.recording import Recording, record
from fechner.physiology.redundancy import (
    Estimate,
    LayerRedundancy,
    Redundancy,
    measure_redundancy,
)
from fechner.physiology.tuning import KINDS, RULES, Tuning, describe, kind_of
from fechner.physiology.units import Site, Unit

__all__ = [
    "KINDS",
    "RULES",
    "ColourWeights",
    "Conditions",
    "DogFit",
    "Estimate",
    "GaborFit",
    "LayerRedundancy",
    "Profile",
    "ReceptiveField",
    "Recording",
    "Redundancy",
    "Site",
    "Tuning",
    "Unit",
    "Window",
    "bandwidth_octaves",
    "by_deltas",
    "by_jacobian",
    "by_noise",
    "colour_and_profile",
    "colour_weights",
    "describe",
    "fit_dog",
    "fit_gabor",
    "kind_of",
    "measure_redundancy",
    "mutual_information",
    "record",
]
