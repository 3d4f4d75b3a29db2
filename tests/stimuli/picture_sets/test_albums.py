"""Albums: which pictures are chosen, whatever the order of files."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from photographs import noise_picture

from fechner.errors import FechnerError
from fechner.runs.manifest import parameters
from fechner.stimuli import Album, open_album, open_pictures


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
        "empty has no pictures and is no class.",
        "a file in fig is not named as pictures are.",
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
        "fruit/fig/0.PNG is listed more than once and shown once.",
        "fruit/gone.png is no file.",
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
        ("path,class\na,b\n", "has pictures of 1 class, and two are needed"),
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
    with pytest.raises(FechnerError, match="has no folders of pictures, and two are needed"):
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
