"""Picture sets: pictures in classes, from a folder, a list, or Python, of any size."""

from fechner.stimuli.picture_sets.base import Missing, PictureSet

__all__ = ["Missing", "PictureSet"]
