"""Picture sets: parts of them, albums of chosen files, and none at all."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from photographs import noise_picture

from fechner.errors import FechnerError, PictureError
from fechner.runs.manifest import parameters
from fechner.stimuli import Album, Field, open_album, virtual_pictures
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
    with pytest.raises(FechnerError, match="does not know pictures of the kind 'Holograms'"):
        known_pictures({**NO_PICTURES.plain(), "set": "Holograms"}, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, label in enumerate(("pear", "apple", "fig")):
        (tmp_path / "fruit" / label).mkdir(parents=True)
        for i in range(6):
            noise_picture(10 * number + i, 8).save(tmp_path / "fruit" / label / f"{i}.PNG")
    return tmp_path / "fruit"


def test_a_folder_with_a_folder_for_each_class(folder: Path) -> None:
    album = open_album(folder)
    assert album.classes == ("apple", "fig", "pear")
    assert len(album) == 18
    assert [each.name for each in album.photographs[:2]] == ["apple/0.PNG", "apple/1.PNG"]
    assert album.labels == (0,) * 6 + (1,) * 6 + (2,) * 6
    assert album.notes == ()
    assert all(each.path.is_file() for each in album.photographs)
    assert len({each.sha256 for each in album.photographs}) == 18
    assert hash(album) == hash(open_album(folder))


def test_the_choice_follows_from_names_and_seed(folder: Path, tmp_path: Path) -> None:
    some = open_album(folder, per_class=2)
    assert Counter(each.label for each in some.photographs) == {"apple": 2, "fig": 2, "pear": 2}
    assert open_album(folder, per_class=2) == some
    assert open_album(folder, per_class=2, seed=1) != some
    # A class more changes nothing in the others, and neither does another place.
    (folder / "kiwi").mkdir()
    noise_picture(99, 8).save(folder / "kiwi" / "0.png")
    moved = folder.rename(tmp_path / "moved")
    more = open_album(moved, per_class=2)
    assert set(some.photographs) < set(more.photographs)


def test_no_more_than_asked_for_and_evenly_over_classes(folder: Path) -> None:
    some = open_album(folder, most=7)
    assert len(some) == 7
    assert set(Counter(some.labels).values()) == {2, 3}
    assert open_album(folder, most=2).classes == ("apple", "fig", "pear")
    assert len(open_album(folder, per_class=1, most=10)) == 3


def test_what_is_no_picture_is_said(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / ".hidden").mkdir()
    (folder / "readme.txt").write_text("hello")
    (folder / "fig" / "notes.txt").write_text("hello")
    (folder / "fig" / ".DS_Store").write_text("hello")
    album = open_album(folder)
    assert album.classes == ("apple", "fig", "pear")
    assert album.notes == (
        "left out as classes: empty (no pictures).",
        "left out as pictures: fig/notes.txt, readme.txt.",
    )


def test_a_list(folder: Path) -> None:
    path = folder.parent / "list.csv"
    path.write_text(
        "# some of them\npath,class\nfruit/fig/0.PNG,fig\nfruit/pear/3.PNG,pear\n"
        "fruit/fig/0.PNG,fig\nfruit/gone.png,pear\n"
    )
    album = open_album(path)
    assert album.classes == ("fig", "pear")
    assert [each.name for each in album.photographs] == [
        "fruit/fig/0.PNG",
        "fruit/gone.png",
        "fruit/pear/3.PNG",
    ]
    assert album.photographs[0].path.is_file()
    assert album.photographs[1].sha256 == ""
    assert album.notes == (
        "listed more than once and shown once: fruit/fig/0.PNG.",
        "no files: fruit/gone.png.",
    )
    assert len(open_album(path, per_class=1)) == 2


def test_an_album_has_files(folder: Path) -> None:
    assert open_album(open_pictures(folder)) == open_album(folder)
    with pytest.raises(FechnerError, match="is none: give a folder or a list"):
        open_album([(np.zeros((8, 8)), "a"), (np.ones((8, 8)), "b")])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file,class\na,b\n", "needs the columns path and class"),
        ("path,class\na,\n", "picture 1 of .* has no path or no class"),
        ("path,class\na,b\n", "two classes are needed, and .* has 1"),
        ("", "needs the columns path and class"),
    ],
)
def test_lists_that_are_none(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "list.csv"
    path.write_text(text)
    with pytest.raises(FechnerError, match=why):
        open_album(path)


def test_folders_that_are_none(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match=r"there is no .*nowhere; give a folder"):
        open_album(tmp_path / "nowhere")
    with pytest.raises(FechnerError, match=r"two classes are needed, and .* has 0"):
        open_album(folder / "fig")
    folder.rename(tmp_path / "val")
    with pytest.raises(FechnerError, match=r"did you mean .*val\?"):
        open_album(tmp_path)
    binary = tmp_path / "list.csv"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FechnerError, match="cannot be read: it is not text"):
        open_album(binary)


def test_an_album_is_kept_without_its_place_and_found_again(folder: Path) -> None:
    album = open_album(folder, per_class=1)
    plain = parameters(album)
    assert str(folder) not in str(plain)
    again = Album.known(plain, str(folder))
    assert again == album
    assert again.photographs[0].path == album.photographs[0].path
