"""Naming pictures that are given in conditions, as those of Geirhos et al. (2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import PictureError
from fechner.experiments.base import Piece, Sample
from fechner.experiments.preferred_views import (
    PreferredViews,
    choice_in_words,
    nothing,
    origin_in_words,
    scored,
)
from fechner.experiments.presenter import Presenter
from fechner.stimuli.picture_sets.conditions import ConditionPictures, known_experiment

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr


@dataclass(frozen=True)
class GivenConditions(PreferredViews):
    """Show every picture of an experiment once, and ask what it is.

    Parameters
    ----------
    pictures
        Those of an experiment, each in a condition.
    """

    pictures: ConditionPictures

    @property
    def axes(self) -> tuple[str, str]:  # type: ignore[override]
        """What varies between conditions, and categories."""
        return known_experiment(self.pictures.experiment).axis, "category"

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        conditions = len(self.pictures.conditions)
        several = f" in {conditions} conditions" if conditions > 1 else ""
        return (
            f"{len(self.pictures):,} pictures of {len(self.pictures.classes):,} categories"
            f"{several} are shown once each, as they are given (after Geirhos et al. 2021). "
            f"{choice_in_words(self.among, self.categories)} "
            f"{origin_in_words(self.pictures)}{self.scene.method}"
        )

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Show the pictures of a piece."""
        items = list(self._items(piece))
        shown = [self.pictures.described(*item) for item in items]
        pictures = [self.pictures.picture(*item) for item in items]
        data = scored(self, piece, presenter, items, pictures)
        places = {name: i for i, name in enumerate(self.pictures.conditions)}
        conditions = np.array([places[each.condition] for each in shown], np.int16)
        names = {"names": "|".join(self.pictures.conditions)} if piece.start == 0 else {}
        return data.assign_coords(
            condition=("picture", conditions, names),
            image=("picture", np.array([each.image for each in shown], object)),
        ).assign_attrs(test=self.id, experiment=self.pictures.experiment)

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return a picture in each condition, of the first category that has it."""
        first: dict[str, tuple[int, int]] = {}
        try:
            for label, count in enumerate(self.pictures.counts):
                for index in range(count):
                    named = self.pictures.described(label, index)
                    first.setdefault(named.condition, (label, index))
        except PictureError:  # the files are gone
            return [[Sample(nothing(self.scene), x="", y="", at=0.0)]]
        return [
            [
                Sample(self.pictures.picture(*first[name]), x=name, y="", at=float(place))
                for place, name in enumerate(self.pictures.conditions)
            ]
        ]
