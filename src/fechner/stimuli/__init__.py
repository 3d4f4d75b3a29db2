"""What is shown: patterns in visual degrees, painted in cd/m2, put on a display."""

from fechner.stimuli.albums import Album, open_album
from fechner.stimuli.bands import Band, BandNoise, Suppressed
from fechner.stimuli.colour import (
    ATD,
    ATD_VILA_TOMAS2026,
    OPPONENT,
    OPPONENT_CAI2025,
    OPPONENT_HAMMOU2025,
    OpponentSpace,
)
from fechner.stimuli.contrast import convert_contrast, measure_contrast, opponent_contrasts
from fechner.stimuli.display import Display, display, displays, gamut_limit, open_display
from fechner.stimuli.field import Field
from fechner.stimuli.gamut import contrast_limit, fits_gamut
from fechner.stimuli.manipulated import Manipulated
from fechner.stimuli.natural import NaturalBand
from fechner.stimuli.noise import Noise, OctaveNoise
from fechner.stimuli.oriented_noise import OrientedNoise, RoundWindow
from fechner.stimuli.painting import Frames, Light, paint
from fechner.stimuli.parts import Part, part_that_differs
from fechner.stimuli.patterns import Gabor, Gaussian, Grating, Pattern, Product, Sum
from fechner.stimuli.photographs import Photograph
from fechner.stimuli.picture_sets import PictureSet, open_pictures, virtual_pictures
from fechner.stimuli.pictures import Perturbation, Perturbed, Picture
from fechner.stimuli.ring_noise import RingNoise
from fechner.stimuli.shapes import Bar, Bessel, Checkerboard, Disk, Edge, Square
from fechner.stimuli.stimulus import Flicker, Layer, Stimulus
from fechner.stimuli.video import Clips

__all__ = [
    "ATD",
    "ATD_VILA_TOMAS2026",
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
    "Manipulated",
    "NaturalBand",
    "Noise",
    "OctaveNoise",
    "OpponentSpace",
    "OrientedNoise",
    "Part",
    "Pattern",
    "Perturbation",
    "Perturbed",
    "Photograph",
    "Picture",
    "PictureSet",
    "Product",
    "RingNoise",
    "RoundWindow",
    "Square",
    "Stimulus",
    "Sum",
    "Suppressed",
    "contrast_limit",
    "convert_contrast",
    "display",
    "displays",
    "fits_gamut",
    "gamut_limit",
    "measure_contrast",
    "open_album",
    "open_display",
    "open_pictures",
    "opponent_contrasts",
    "paint",
    "part_that_differs",
    "virtual_pictures",
]
