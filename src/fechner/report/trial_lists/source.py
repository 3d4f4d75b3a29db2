"""What people may be shown: the pictures that an observer was shown, at one level of each test."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import FechnerError, UnknownNameError
from fechner.psychometrics.likelihood import fit_falling
from fechner.report.trial_lists.plan import Condition
from fechner.runs import Run
from fechner.runs.people import asked_of_people, class_places
from fechner.suites import Test

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.experiments.item_response import ItemResponse
    from fechner.stimuli import Field


@dataclass(frozen=True)
class Asked:
    """A test that people are asked, with the experiment that shows it.

    Parameters
    ----------
    field
        The field that was drawn for the observer.
    threshold
        The observer's, in words: a level, or why there is none.
    """

    condition: Condition
    experiment: ItemResponse
    field: Field
    threshold: str


def _chosen(run: Run, tests: Sequence[str] | None) -> list[Test]:
    """Return the tests of a run whose trials people can be asked, those that are named or all."""
    known = asked_of_people(run)
    for name in tests or ():
        if name not in known:
            listed = f"people can be asked {', '.join(known)} in {run.folder}"
            raise UnknownNameError("test", name, known, listed)
    return [test for test in run.tests if test.id in (tests or known)]


def read_conditions(
    run: Run,
    observer: str,
    tests: Sequence[str] | None = None,
    levels: Mapping[str, float] | float | None = None,
) -> list[Asked]:
    """Return what people are shown of every test: an observer's pictures, at one level.

    Parameters
    ----------
    levels
        Of all tests, or of each that is named; others have the level that the observer was shown
        and that is nearest to its threshold.
    """
    chosen = _chosen(run, tests)
    if observer not in run.observers:
        listed = f"{run.folder} has {', '.join(run.observers)}"
        raise UnknownNameError("observer", observer, run.observers, listed)
    if isinstance(levels, Mapping):
        for name in levels:
            if name not in [test.id for test in chosen]:
                known = [test.id for test in chosen]
                raise UnknownNameError("test", name, known, f"there are {', '.join(known)}")
    found = []
    for test in chosen:
        data = run.data(observer, test.id) if run.asked(observer, test) else None
        if data is None:
            why = run.why_incomplete(observer, test.id, "it is not finished")
            raise FechnerError(
                f"{observer} has no answers to {test.id}: {why.rstrip('.')}; choose others with "
                "--tests."
            )
        own = levels.get(test.id) if isinstance(levels, Mapping) else levels
        found.append(_asked(run, observer, test.experiment, data, own))
    return found


def _asked(
    run: Run, observer: str, experiment: Any, data: xr.Dataset, level: float | None
) -> Asked:
    shown = data.isel(trial=np.flatnonzero(data["problem"].to_numpy() == 0))
    pairs = sorted(
        {
            (int(label), int(index))
            for label, index in zip(shown["class_of"].values, shown["index"].values, strict=True)
        }
    )
    views = defaultdict(list)
    for label, index in pairs:
        views[label].append(index)
    natural = run.manifest.observers[observer].output
    tested, threshold = threshold_level(shown, natural)
    if level is None:
        level = tested
    elif not 0 <= level < math.inf:
        raise FechnerError(f"a level is 0 or above, not {level:g}.")
    condition = Condition(
        experiment.id,
        data.attrs["task"],
        level,
        {label: tuple(indices) for label, indices in views.items()},
        _words(experiment, sorted(views)),
    )
    return Asked(condition, experiment, _field(experiment.scene.field, data.attrs), threshold)


def _words(experiment: ItemResponse, labels: Sequence[int]) -> dict[int, str]:
    """Return what people choose for each class: its name, or that of its category."""
    categories = getattr(experiment.task, "categories", None)
    if categories is None:
        names, _ = class_places(experiment.pictures.classes)
        return {label: names[label] for label in labels}
    classes = experiment.pictures.classes
    return {label: str(categories.category_of(classes[label])) for label in labels}


def _field(field: Field, attributes: Mapping[str, Any]) -> Field:
    """Return the field that was drawn, which answers tell."""
    if "drawn_height_px" not in attributes:
        return field
    return field.resized((int(attributes["drawn_height_px"]), int(attributes["drawn_width_px"])))


def threshold_level(data: xr.Dataset, natural: str | None = None) -> tuple[float, str]:
    """Return the tested level nearest to an observer's threshold, and the threshold in words.

    Where the curve never falls half-way it is the strongest, where it has fallen at once the
    weakest.

    Parameters
    ----------
    data
        Answers to trials that were shown.
    natural
        The layer that is read out; the last if it is not there.
    """
    layers = [str(layer) for layer in data["layer"].values]
    layer = layers.index(natural) if natural in layers else len(layers) - 1
    right = data["right"].to_numpy()[:, layer, 0]
    level = data["level"].to_numpy()[~np.isnan(right)]
    levels, place = np.unique(level, return_inverse=True)
    tested: NDArray[np.float64] = levels[levels > 0]
    if not len(tested):
        raise FechnerError("the observer was shown nothing but originals; give a --level.")
    answers = right[~np.isnan(right)]
    n, correct = np.bincount(place), np.bincount(place, weights=answers)
    curve = fit_falling(levels, n, correct, chance=float(data.attrs["chance"]))
    censored = str(curve.censored)
    if censored in ("above", "below"):
        bound = float(curve.bound)
        return _nearest(tested, bound), f"{censored} {bound:.3g}"
    if censored:
        middle = float(tested[len(tested) // 2])
        return middle, "none, since its answers are near chance throughout"
    threshold = float(curve.threshold)
    return _nearest(tested, threshold), f"{threshold:.3g}"


def _nearest(tested: NDArray[np.float64], level: float) -> float:
    """Return the tested level nearest to one, to the bit: random pictures follow from it."""
    return float(tested[np.argmin(np.abs(np.log(tested / level)))])
