"""3D objects: meshes, views of them by Mitsuba 3, sets of views, and changes of view.

A view is a picture like any other. The one that an observer knows best is sought among many views
of few paths per pixel; those that are measured have more.
"""

from fechner.stimuli.objects.sets import ObjectSet, open_objects
from fechner.stimuli.objects.views import (
    OBJECT_MANIPULATIONS,
    OfViews,
    Studio,
    View,
    random_view,
    view_of,
)

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
