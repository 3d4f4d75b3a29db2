"""Panels of pictures as they are: how surely the best of each class is recognised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.panels import Axis, Gallery, Item, Line, Panel
from fechner.scores.view_scores import Views

if TYPE_CHECKING:
    import xarray as xr

#: Pictures of the gallery.
_SHOWN = 12


@dataclass(frozen=True)
class ViewPanels:
    """Draws decision scores of classes, and some of the preferred views."""

    def __call__(self, experiment: Any, data: xr.Dataset, *others: Any) -> list[Panel]:
        """Return the scores of the best pictures in order, and the pictures."""
        views = Views(data)
        if not len(views.classes):
            return []
        best = views.score[views.best]
        order = np.argsort(best)
        curve = Line(
            np.arange(len(order), dtype=float),
            best[order],
            "observer",
            names=tuple(views.names[place] for place in order),
        )
        some = np.unique(np.linspace(0, len(order) - 1, _SHOWN).round().astype(int))
        items = tuple(
            Item(
                experiment.pictures.shown(
                    int(views.classes[place]), int(views.index[views.best[place]])
                ),
                views.names[place],
                f"decision score {best[place]:.3g}",
            )
            for place in order[some]
        )
        return [
            Panel(
                "decision scores",
                "Decision score of the best picture of each class, from the least sure on",
                Axis("classes in order"),
                Axis("decision score", low=-1.0, high=1.0),
                (curve,),
                stimuli=False,
            ),
            Panel(
                "preferred views",
                "Pictures that are known best, from the class that is known least on",
                Axis(""),
                Axis(""),
                (Gallery(items),),
                stimuli=False,
            ),
        ]
