"""Parts of sets: so many of each class, some of the classes, and none at all."""

from pathlib import Path

import numpy as np
import pytest
from photographs import noise_picture

from fechner.errors import FechnerError, PictureError
from fechner.runs.manifest import parameters
from fechner.stimuli import Field, virtual_pictures
from fechner.stimuli.picture_sets import (
    NO_PICTURES,
    classes_of,
    known_pictures,
    open_pictures,
    some_of,
)

FIELD = Field(16, 16, 16.0)


def test_some_of_the_classes() -> None:
    whole = virtual_pictures(
        lambda label, number: noise_picture(9 * label + number, 8), "abcde", 3, "noise"
    )
    chosen = [whole.classes[place] for place in (3, 1)]
    part = classes_of(whole, chosen)
    assert part.classes == (whole.classes[1], whole.classes[3])
    assert len(part) == 6
    assert part.picture(1, 2) == whole.picture(3, 2)
    assert part.name(0, 0) == whole.name(1, 0)
    with pytest.raises(IndexError):
        part.picture(2, 0)
    assert part != whole
    assert known_pictures(part.plain(), part.place) == part
    both = some_of(part, 2)
    assert both.name(1, 0) in {whole.name(3, i) for i in range(3)}
    assert known_pictures(both.plain(), "") == both
    assert classes_of(whole, whole.classes) is whole


def test_so_many_of_each_class(tmp_path: Path) -> None:
    for label, count in (("a", 9), ("b", 2), ("c", 30)):
        (tmp_path / label).mkdir()
        for i in range(count):
            noise_picture(i, 8).save(tmp_path / label / f"{i:02d}.png")
    whole = open_pictures(tmp_path)
    some = open_pictures(tmp_path, per_class=4)
    assert some.counts == (4, 2, 4)
    assert some != whole
    names = [some.name(2, i) for i in range(4)]
    assert names == sorted(set(names))
    assert set(names) <= {whole.name(2, i) for i in range(30)}
    assert some.kind == whole.kind
    # By the seed and the class alone; more of them are a superset.
    other = open_pictures(tmp_path, per_class=4, seed=1)
    assert other != some
    assert [other.name(2, i) for i in range(4)] != names
    more = open_pictures(tmp_path, per_class=8)
    assert set(names) < {more.name(2, i) for i in range(8)}
    (tmp_path / "aa").mkdir()
    noise_picture(1, 8).save(tmp_path / "aa" / "0.png")
    with_another = open_pictures(tmp_path, per_class=4)
    assert [with_another.name(3, i) for i in range(4)] == names
    # All of them are the set itself.
    assert open_pictures(whole, per_class=30) is whole
    again = known_pictures(some.plain(), some.place)
    assert again == some
    assert parameters(again) == parameters(some)
    assert again.shown(2, 3) == some.picture(2, 3)
    with pytest.raises(IndexError):
        some.picture(1, 2)
    with pytest.raises(FechnerError, match="at least one picture of each class, not 0"):
        some_of(whole, 0)


def test_a_part_of_a_virtual_set_keeps_its_kind() -> None:
    whole = virtual_pictures(lambda label, index: np.zeros((2, 2)), "ab", 10**6, "zeros")
    assert some_of(whole, 5).kind == "pictures"
    assert some_of(whole, 5).plain()["kind"] == "pictures"


def test_no_pictures() -> None:
    assert len(NO_PICTURES) == 0
    assert NO_PICTURES.classes == ()
    assert known_pictures(NO_PICTURES.plain(), "") == NO_PICTURES
    with pytest.raises(PictureError, match="there are no pictures yet: give --images FOLDER"):
        NO_PICTURES.picture(0, 0).draw(FIELD, 8, "cpu")


def test_sets_of_a_later_version() -> None:
    with pytest.raises(FechnerError, match="of the kind 'Holograms' are not known to this version"):
        known_pictures({**NO_PICTURES.plain(), "set": "Holograms"}, "")
