"""What an observer chooses from when it is asked which class a picture shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fechner.errors import ObserverError
from fechner.observers.classes import matching_classes

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.observers.categories import Categories

#: All classes that a classifier knows, or those that are shown.
Among = Literal["own", "shown"]

#: Scores whose rows add up to 1 within this are probabilities already.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Choices:
    """Choices, and which of them is right for each class that is shown.

    Parameters
    ----------
    names
        What there is to choose from.
    expected
        The place among them of each class that is shown.
    groups
        Places of a classifier's own classes that make up each choice; None where its own classes
        are the choices, or where it is asked in words.
    """

    names: tuple[str, ...]
    expected: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def chance(self) -> float:
        """Share that guessing gets right."""
        return 1 / len(self.names)

    def probabilities(self, scores: Tensor) -> Tensor:
        """Return how probable each choice is, [.., choices], by scores of a classifier's classes.

        A category is as probable as its classes are on average, as in Geirhos et al. (2018).

        Examples
        --------
        >>> import torch
        >>> two = Choices(("cat", "dog"), (0, 1), groups=((0, 2), (1,)))
        >>> [round(p, 3) for p in two.probabilities(torch.tensor([0.0, 1.0, 1.0])).tolist()]
        [0.406, 0.594]
        """
        import torch

        scores = scores.double()
        if self.groups is not None and all(len(group) == 1 for group in self.groups):
            # Nothing else can be chosen, so nothing else takes a share.
            return _shares(scores[..., [group[0] for group in self.groups]])
        shares = _shares(scores)
        if self.groups is None:
            return shares
        means = torch.stack([shares[..., list(group)].mean(dim=-1) for group in self.groups], -1)
        return means / means.sum(dim=-1, keepdim=True)


def _shares(scores: Tensor) -> Tensor:
    """Return the softmax of scores; those that are probabilities are left as they are."""
    total = scores.sum(dim=-1)
    if bool((scores >= 0).all()) and bool(((total - 1).abs() < _ROUNDING).all()):
        return scores
    return scores.softmax(dim=-1)


def choices_for(
    own: Sequence[str] | None,
    shown: Sequence[str],
    among: Among = "own",
    categories: Categories | None = None,
) -> Choices:
    """Return what an observer chooses from.

    Parameters
    ----------
    own
        Names of all classes that a classifier knows; None for an observer that reads words and
        chooses among what is shown.
    shown
        Names of the classes that are shown.
    categories
        Groups of classes to choose among instead.

    Examples
    --------
    >>> choices_for(["n02123045", "n01440764", "n03888257"], ["parachute", "tench"]).expected
    (2, 1)
    """
    if categories is not None:
        return _of_categories(own, shown, categories)
    if own is None:
        return Choices(tuple(shown), tuple(range(len(shown))))
    places = matching_classes(own, shown)
    if among == "own":
        return Choices(tuple(own), places)
    return Choices(tuple(shown), tuple(range(len(shown))), tuple((place,) for place in places))


def _of_categories(
    own: Sequence[str] | None, shown: Sequence[str], categories: Categories
) -> Choices:
    wanted = categories.categories_of(shown)
    if "" in wanted:
        lost = [label for label, name in zip(shown, wanted, strict=True) if not name]
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        raise ObserverError(
            f"{', '.join(map(repr, lost[:5]))}{more} belong to no category of "
            f"'{categories.name}'; leave them out of the pictures."
        )
    names = tuple(dict.fromkeys(wanted)) if own is None else categories.names
    groups = None
    if own is not None:
        groups = tuple(tuple(places) for places in categories.indices(own).values())
    return Choices(names, tuple(names.index(name) for name in wanted), groups)
