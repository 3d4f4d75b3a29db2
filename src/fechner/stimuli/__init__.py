"""What is shown: patterns in visual degrees, painted in cd/m2, put on a display."""

from fechner.stimuli.albums import Album, open_album
from fechner.stimuli.bands import Band, BandNoise, Suppressed
from fechner.stimuli.colour import (
    OPPONENT,
    OPPONENT_CAI2025,
    OPPONENT_HAMMOU2025,
    OpponentSpace,
)
from fechner.stimuli.contrast import convert_contrast, measure_contrast
from fechner.stimuli.display import Display, display, displays, gamut_limit
from fechner.stimuli.field import Field
from fechner.stimuli.noise import Noise, octave_noise
from fechner.stimuli.painting import Frames, Light, paint
from fechner.stimuli.parts import Part, part_that_differs
from fechner.stimuli.patterns import Gabor, Gaussian, Grating, Pattern, Product, Sum
from fechner.stimuli.photographs import Photograph
from fechner.stimuli.pictures import Perturbation, Perturbed, Picture
from fechner.stimuli.shapes import Bar, Bessel, Checkerboard, Disk, Edge
from fechner.stimuli.stimulus import Flicker, Layer, Stimulus
from fechner.stimuli.video import Clips

__all__ = [
    "OPPONENT",
    "OPPONENT_CAI2025",
    "OPPONENT_HAMMOU2025",
    "Album",
    "Band",
    "BandNoise",
    "Bar",
    "Bessel",
    "Checkerboard",
    "Clips",
    "Disk",
    "Display",
    "Edge",
    "Field",
    "Flicker",
    "Frames",
    "Gabor",
    "Gaussian",
    "Grating",
    "Layer",
    "Light",
    "Noise",
    "OpponentSpace",
    "Part",
    "Pattern",
    "Perturbation",
    "Perturbed",
    "Photograph",
    "Picture",
    "Product",
    "Stimulus",
    "Sum",
    "Suppressed",
    "convert_contrast",
    "display",
    "displays",
    "gamut_limit",
    "measure_contrast",
    "octave_noise",
    "open_album",
    "paint",
    "part_that_differs",
]
