"""3D objects: meshes, views of them by two engines, sets of views, and changes of view.

A view is a picture like any other. Many views are searched with a rasteriser, which is quick; those
that are measured are rendered with Mitsuba, under the same camera and lights.
"""

from fechner.stimuli.objects.manipulations import OBJECT_MANIPULATIONS, OfViews
from fechner.stimuli.objects.sets import ObjectSet, open_objects
from fechner.stimuli.objects.studio import Studio
from fechner.stimuli.objects.views import View, random_view, view_of

__all__ = [
    "OBJECT_MANIPULATIONS",
    "ObjectSet",
    "OfViews",
    "Studio",
    "View",
    "open_objects",
    "random_view",
    "view_of",
]
