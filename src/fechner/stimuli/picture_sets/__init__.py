"""Picture sets: pictures in classes, from a folder, a list, or Python, of any size."""

from fechner.stimuli.picture_sets.base import Missing, PictureSet
from fechner.stimuli.picture_sets.files import PictureFile
from fechner.stimuli.picture_sets.opening import NO_PICTURES, known_pictures, open_pictures
from fechner.stimuli.picture_sets.parts import classes_of, some_of
from fechner.stimuli.picture_sets.virtual import virtual_pictures

__all__ = [
    "NO_PICTURES",
    "Missing",
    "PictureFile",
    "PictureSet",
    "classes_of",
    "known_pictures",
    "open_pictures",
    "some_of",
    "virtual_pictures",
]
