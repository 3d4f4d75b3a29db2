"""Which pictures of a class are shown: those that an observer knows best, or some drawn by seed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fechner.stimuli.picture_sets import PictureSet

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray


class Item(NamedTuple):
    """A picture of a set: the place of its class, and its own place within the class."""

    label: int
    place: int


def preferred(
    pictures: PictureSet, label: int, most: int, seed: int, views: xr.Dataset | None
) -> list[Item]:
    """Return the pictures of a class that an observer knows best, from the best on.

    Those that are equally good are put in an order that follows from the seed, and so are all where
    the observer names nothing.

    Parameters
    ----------
    views
        Its answers to `PreferredViews`, None if it cannot be asked.
    """
    order = np.random.default_rng((seed, zlib.crc32(pictures.classes[label].encode())))
    if views is None:
        return [Item(label, int(i)) for i in order.permutation(pictures.counts[label])[:most]]
    index, score = scores_of_class(views, label)
    ranks = np.lexsort((order.random(len(index)), -score))
    return [Item(label, int(index[rank])) for rank in ranks[:most]]


def scores_of_class(views: xr.Dataset, label: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the pictures of a class that could be shown, and the decision score of each."""
    # Classes follow each other.
    first, last = np.searchsorted(views["class_of"].values, [label, label + 1])
    # What an observer hands on, by the first of its read-outs.
    score = views["score"].values[first:last, -1, 0].astype(float)
    shown = np.isfinite(score)
    return views["index"].values[first:last][shown], score[shown]


def drawn_classes(classes: int, but: int, most: int, seed: Sequence[int]) -> list[int]:
    """Return some classes other than one, drawn by seed.

    Examples
    --------
    >>> sorted(drawn_classes(4, but=1, most=9, seed=[0]))
    [0, 2, 3]
    """
    order = np.random.default_rng(list(seed)).permutation(classes)
    return [int(label) for label in order if label != but][:most]
