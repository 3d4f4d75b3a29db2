"""What a user may ask of a suite, as it is given: paths, names and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from fechner.errors import FechnerError, nearest
from fechner.experiments import MatchBy
from fechner.observers.categories import Categories, categories
from fechner.observers.classes import readable_names
from fechner.observers.dropout import Dropout
from fechner.stimuli import Display, open_album, open_display
from fechner.stimuli.picture_sets import PictureSet, classes_of, open_pictures
from fechner.stimuli.picture_sets.files import Named
from fechner.suites import Asked, Mode, Options, Stimuli, read_prompts, suite
from fechner.suites.prompts import parse_prompts
from fechner.suites.suite import Show

if TYPE_CHECKING:
    from fechner.observers.choices import Among

#: Of photographs in suites that ask in words, so many are shown: a question about each takes a
#: second or a cent.
_PER_CLASS, _MOST_PICTURES = 10, 200


class QuestionOptions(TypedDict, total=False):
    """Options about questions; `fechner.evaluate` says what each is."""

    adaptive: bool | None
    trials: int | None
    width: float | None
    prompts: Path | str | Sequence[str] | None
    dither: bool
    images: Any
    stimuli: Stimuli
    objects: Path | str | None
    views: int | None
    levels: int | None
    per_class: int
    among: Among
    categories: Categories | Path | str | None
    dropout: Dropout | str | Sequence[str] | None
    show: Show
    match: MatchBy
    display: Display | Path | str | None


def choose_options(
    suite_name: str = "encoders",
    *,
    published: bool = False,
    seed: int = 0,
    ppd: float | None = None,
    resize: bool | None = None,
    spool: Path | None = None,
    **asking: Unpack[QuestionOptions],
) -> Options:
    """Return the options of a suite as a user gives them.

    Parameters
    ----------
    spool
        Folder for pictures that come from an iterator; None is a temporary one.
    """
    unknown = set(asking) - set(QuestionOptions.__annotations__)
    if unknown:
        name = min(unknown)
        near = nearest(name, (*QuestionOptions.__annotations__, "readouts"))
        meant = f"; did you mean '{near}'?" if near else "."
        raise TypeError(f"there is no option '{name}'{meant}")
    given: dict[str, Any] = dict(asking)
    images, objects, views = (given.pop(name, None) for name in ("images", "objects", "views"))
    shows = "pictures" in suite(suite_name).takes
    if objects is not None or (images is not None and shows):
        given["pictures"] = _pictures(images, objects, views, seed, spool)
    elif images is not None:
        given["album"] = open_album(images, per_class=_PER_CLASS, most=_MOST_PICTURES, seed=seed)
    if views is not None and objects is None:
        raise FechnerError("--views are those of 3D objects: give --objects FOLDER.")
    given["prompts"] = _prompts(given.get("prompts"))
    given["categories"] = _categories(given.get("categories"), given.get("pictures"))
    if given["categories"] is not None and "pictures" in given:
        given["pictures"] = _in_categories(given["pictures"], given["categories"])
    given["dropout"] = _dropout(given.get("dropout"))
    if given.get("display") is not None:
        given["display"] = open_display(given["display"])
    mode: Mode = "published" if published else "default"
    return Options(mode, seed, ppd, resize, Asked(**given))


def _pictures(
    images: Any, objects: Path | str | None, views: int | None, seed: int, spool: Path | None
) -> PictureSet:
    if objects is None:
        return open_pictures(images, spool=spool)
    if images is not None:
        raise FechnerError("give --images or --objects, not both: each has a run of its own.")
    from fechner.stimuli.objects import open_objects

    number = {} if views is None else {"views": views}
    return open_objects(objects, seed=seed, **number)


def _prompts(prompts: Path | str | Sequence[str] | None) -> Any:
    if isinstance(prompts, str | Path):
        return read_prompts(prompts)
    return None if prompts is None else tuple(parse_prompts(prompts, "the prompts"))


def _categories(found: Any, pictures: PictureSet | None) -> Categories | None:
    if found is None and pictures is not None and pictures.experiments:
        # Pictures that come in conditions are of categories, not of classes.
        basic = categories("16-class")
        return basic if set(pictures.classes) <= set(basic.names) else None
    if found is None or isinstance(found, Categories):
        return found
    return categories(found)


def _in_categories(pictures: PictureSet, chosen: Categories) -> PictureSet:
    """Leave out classes that belong to no category, and note which."""
    names = chosen.categories_of(pictures.classes)
    kept = [label for label, name in zip(pictures.classes, names, strict=True) if name]
    if len(kept) == len(names):
        return pictures
    lost = Named()
    for label, name in zip(readable_names(pictures.classes), names, strict=True):
        if not name:
            lost.add(label)
    if len(set(names) - {""}) < 2:
        raise FechnerError(
            f"pictures of two categories of '{chosen.name}' are needed to choose between; of no "
            f"category: {lost.names}."
        )
    none = f"to no category of '{chosen.name}' and"
    note = lost.say(f"belongs {none} is left out", f"belong {none} are left out")
    return replace(classes_of(pictures, kept), notes=(*pictures.notes, note))


def _dropout(found: Any) -> Dropout | None:
    if found is None or isinstance(found, Dropout):
        return found
    return Dropout((found,) if isinstance(found, str) else tuple(found))
