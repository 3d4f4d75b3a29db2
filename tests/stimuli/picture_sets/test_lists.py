"""Lists of pictures: CSV files of every manner."""

from pathlib import Path

import pytest
from photographs import noise_picture

from fechner.errors import FechnerError, PictureError
from fechner.stimuli import Field
from fechner.stimuli.picture_sets import known_pictures, open_pictures
from fechner.stimuli.pictures import PictureFile

FIELD = Field(16, 16, 16.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my pictures").mkdir()
    for number in range(4):
        noise_picture(number, 8).save(tmp_path / "my pictures" / f"ü, {number}.png")
    return tmp_path


def written(folder: Path, text: str, name: str = "list.csv") -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


ROWS = [
    'path,class,author\n"my pictures/ü, 2.png",pear,me\n',
    '"my pictures/ü, 0.png",fig,"me, myself\nand ""I"""\n',
    '# a remark\n\n"./my pictures//ü, 1.png", fig ,\n',
    '"my pictures/ü, 3.png",pear\n',
]


@pytest.mark.parametrize(
    "text",
    [
        "".join(ROWS),
        "".join(ROWS).replace("\n", "\r\n"),
        "".join(ROWS).replace("\n", "\r"),
        "\ufeff" + "".join(ROWS),
        "".join(ROWS).rstrip(),
    ],
)
def test_a_list_of_any_program(folder: Path, text: str) -> None:
    found = open_pictures(written(folder, text, "val.csv"))
    assert found.classes == ("fig", "pear")
    assert found.counts == (2, 2)
    assert found.split == "val"
    names = [found.name(label, index) for label in range(2) for index in range(2)]
    assert names == [f"my pictures/ü, {number}.png" for number in range(4)]
    assert found.notes == ()
    for label in range(2):
        for index in range(2):
            one = found.picture(label, index)
            assert isinstance(one, PictureFile)
            assert Path(one.path) == folder / names[2 * label + index]
            one.draw(FIELD, 8, "cpu")


def test_the_order_of_rows_does_not_matter(folder: Path) -> None:
    one = open_pictures(written(folder, "".join(ROWS)))
    other = open_pictures(written(folder, "".join([ROWS[0], *ROWS[:0:-1]]), "other.csv"))
    assert one == other


def test_what_is_odd_is_said(folder: Path) -> None:
    text = "".join(ROWS) + (
        '"my pictures/ü, 3.png",pear\n"my pictures/ü, 3.png",fig\ngone.png,fig\nmy pictures,fig\n'
    )
    found = open_pictures(written(folder, text))
    assert found.counts == (5, 2)
    assert found.notes == (
        "my pictures/ü, 3.png is listed more than once and shown once.",
        "gone.png, my pictures are no files.",
        "a picture is listed in more than one class.",
    )
    for index, why in ((0, "gone.png cannot be read: No such file"), (1, "pictures is no file")):
        with pytest.raises(PictureError, match=why):
            found.picture(0, index).draw(FIELD, 8, "cpu")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file,class\na,b\n", "needs the columns path and class"),
        ("path,class\na,\n", "picture 1 of .* has no path or no class"),
        ("path,class\na,b\n", "has pictures of 1 class, and two are needed"),
        ("path,class\n", "has pictures of no class, and two are needed"),
        ("", "needs the columns path and class"),
        ("path;class\na;b\n", "needs the columns path and class"),
    ],
)
def test_lists_that_are_none(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(FechnerError, match=why):
        open_pictures(written(tmp_path, text))


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_bytes(b"path,class\n\xff\xfe\x00,x\n")
    with pytest.raises(FechnerError, match="cannot be read: it is not text"):
        open_pictures(tmp_path / "list.csv")


def test_a_list_is_kept_without_its_place_and_found_again(folder: Path) -> None:
    path = written(folder, "".join(ROWS))
    found = open_pictures(path)
    plain = found.plain()
    assert str(folder) not in str(plain)
    one = found.picture(0, 1)
    again = known_pictures(plain, str(path.rename(folder / "renamed.csv")))
    assert again == found
    assert again.picture(0, 1) == one
    gone = known_pictures(plain, str(path))
    with pytest.raises(PictureError, match=r"list.csv cannot be read: No such file"):
        gone.picture(1, 1).draw(FIELD, 8, "cpu")


def test_a_list_that_has_changed_says_so(folder: Path) -> None:
    path = written(folder, "".join(ROWS))
    plain = open_pictures(path).plain()
    written(folder, "".join(ROWS[:3]))
    again = known_pictures(plain, str(path))
    with pytest.raises(PictureError, match="pear had 2 pictures when it was listed and has 1 now"):
        again.picture(1, 0).draw(FIELD, 8, "cpu")
    again.picture(0, 0).draw(FIELD, 8, "cpu")


def test_a_file_that_has_changed_says_so(folder: Path) -> None:
    found = open_pictures(written(folder, "".join(ROWS)))
    with (folder / "my pictures" / "ü, 0.png").open("ab") as file:
        file.write(b"x")
    with pytest.raises(PictureError, match=r"0.png has changed since it was listed"):
        found.picture(0, 0).draw(FIELD, 8, "cpu")
