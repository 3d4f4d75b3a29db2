"""Trials of people, kept beside the answers of observers in a run folder.

They are checked against the run when they come in: tests that it has, classes and pictures that it
shows. What is kept is a copy in one spelling, so that a run folder can be handed on with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, cast

from fechner.errors import FechnerError, RunFolderError, UnknownNameError
from fechner.experiments.base import for_people
from fechner.observers.classes import readable_names
from fechner.runs.store import PEOPLE, write_atomically

if TYPE_CHECKING:
    from fechner.experiments import GivenConditions, ItemResponse
    from fechner.human.trials import HumanTrial, HumanTrials
    from fechner.runs.run import Run
    from fechner.stimuli.picture_sets import PictureSet

#: So many classes are named where one is not known.
_NAMED = 5


def given_to_people(run: Run) -> dict[str, GivenConditions]:
    """Return the experiments of a run whose pictures come in conditions, by the test's id."""
    found: Any = {t.id: t.experiment for t in run.tests if for_people(t.experiment) == "conditions"}
    return cast("dict[str, GivenConditions]", found)


def asked_of_people(run: Run) -> dict[str, ItemResponse]:
    """Return the experiments of a run whose trials people can be asked, by the test's id."""
    found: Any = {t.id: t.experiment for t in run.tests if for_people(t.experiment) == "trials"}
    if not found:
        raise FechnerError(
            f"{run.folder} has no test whose trials people are asked; curves of suite "
            "'recognition' are, and `fechner conditions` compares pictures in conditions."
        )
    return cast("dict[str, ItemResponse]", found)


def keep_people(
    run: Run, trials: HumanTrials, say: Callable[[str], None] = lambda line: None
) -> HumanTrials:
    """Keep trials of people in a run folder, in the place of others, and return them as kept.

    Classes get the names that people read, pictures their numbers. A test, class or picture that
    the run does not have is an error that names the nearest. Of pictures in conditions, which come
    with the answers of people to all experiments, those that the run does not show are left out.

    Parameters
    ----------
    say
        Called with what was left out, a sentence.
    """
    shown = {
        name: (set(each.pictures.classes), set(each.pictures.conditions))
        for name, each in given_to_people(run).items()
    }

    def is_shown(row: HumanTrial) -> bool:
        classes, conditions = shown.get(row.test, (set(), set()))
        return not row.condition or (row.label in classes and row.condition in conditions)

    kept = trials.where(is_shown)
    lost = Counter(trials.column("test")) - Counter(kept.column("test"))
    if whole := sorted(lost.keys() - shown.keys()):
        say(f"{run.folder} does not show the pictures of {', '.join(whole)}: left out.")
    if n := sum(count for name, count in lost.items() if name in shown):
        say(f"{n} trials with categories or conditions that {run.folder} does not show: left out.")
    if len(trials) and not len(kept):
        raise FechnerError(
            f"people saw no picture that {run.folder} shows; run it with --images on the same "
            "experiments first."
        )
    kept = checked_people(run, kept)
    write_atomically(run.folder / PEOPLE, kept.to_csv().encode())
    return kept


def remove_people(folder: Path | str) -> bool:
    """Remove the trials of people from a run folder; return whether there were any."""
    try:
        (Path(folder) / PEOPLE).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise RunFolderError(
            f"{Path(folder) / PEOPLE} cannot be removed: {error.strerror}."
        ) from None
    return True


def checked_people(run: Run, trials: HumanTrials) -> HumanTrials:
    """Return trials with classes and pictures as a run has them, or say what it does not have."""
    given = given_to_people(run)  # whose pictures have names of their own
    asked = not given or any(row.test not in given for row in trials.rows)
    known = asked_of_people(run) if asked else {}
    checked = []
    for number, row in enumerate(trials.rows, start=1):
        try:
            checked.append(row if row.test in given else _checked(run, known, row))
        except UnknownNameError as error:
            raise FechnerError(f"trial {number} of {len(trials)}: {error}") from None
    return type(trials).of(checked)


def _checked(run: Run, known: Mapping[str, ItemResponse], row: HumanTrial) -> HumanTrial:
    if row.test not in known:
        listed = f"people can be asked {', '.join(known)} in {run.folder}"
        raise UnknownNameError("test", row.test, known, listed)
    shown = known[row.test].pictures
    names, places = class_places(shown.classes)
    if row.label not in places:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        listed = f"{row.test} shows {', '.join(names[:_NAMED])}{more}"
        raise UnknownNameError("class", row.label, places, listed)
    label = places[row.label]
    picture = row.picture
    if picture and not (picture.isdecimal() and int(picture) < shown.counts[label]):
        by_name = _picture_places(shown, label)
        if picture not in by_name:
            last = shown.counts[label] - 1
            listed = f"pictures of '{names[label]}' have their names, or numbers from 0 to {last}"
            raise UnknownNameError("picture", picture, by_name, listed)
        picture = str(by_name[picture])
    return replace(row, label=names[label], picture=picture)


@lru_cache(maxsize=1024)
def _picture_places(shown: PictureSet, label: int) -> dict[str, int]:
    """Return the place of each picture of a class by its name, with or without its folder."""
    names = [shown.name(label, i) for i in range(shown.counts[label])]
    bare = [PurePath(name).name for name in names]
    often = Counter(bare)
    alone = {name: place for place, name in enumerate(bare) if often[name] == 1}
    return alone | {name: place for place, name in enumerate(names)}


@lru_cache(maxsize=8)
def class_places(classes: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the names of classes that people read, and the place of each spelling of them."""
    names = readable_names(classes)
    places = {name: place for place, name in enumerate(names)}
    return names, places | {name: place for place, name in enumerate(classes)}
