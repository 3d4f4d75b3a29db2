"""Folders and lists of pictures: what is listed, what is left out, and what is held in memory."""

import gc
import os
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from photographs import noise_picture

from fechner.errors import FechnerError, PictureError
from fechner.runs.manifest import parameters
from fechner.stimuli import Field
from fechner.stimuli.picture_sets import PictureSet, known_pictures, open_pictures
from fechner.stimuli.pictures import Missing, PictureFile

FIELD = Field(16, 16, 16.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, label in enumerate(("pear", "apple", "fig")):
        (tmp_path / "train" / label).mkdir(parents=True)
        for i in range(3 + number):
            noise_picture(10 * number + i, 8).save(tmp_path / "train" / label / f"{i}.PNG")
    return tmp_path / "train"


def test_a_folder_with_a_folder_for_each_class(folder: Path) -> None:
    found = open_pictures(folder)
    assert found.classes == ("apple", "fig", "pear")
    assert found.counts == (4, 5, 3)
    assert len(found) == 12
    assert found.split == "train"
    assert found.kind == "photographs"
    assert found.place == str(folder)
    assert found.notes == ()
    assert [found.name(1, i) for i in range(5)] == [f"fig/{i}.PNG" for i in range(5)]
    one = found.picture(1, 2)
    assert one == found.shown(1, 2)
    assert str(one) == "fig/2.PNG"
    pixels = one.draw(FIELD, 8, "cpu")
    assert pixels.shape == (3, 16, 16)
    assert pixels.dtype == torch.float64
    assert len({found.picture(label, i) for label in range(3) for i in range(3)}) == 9


def test_nothing_is_decoded_or_read_before_it_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*args: object, **options: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(Path, "read_bytes", opened)
    found = open_pictures(folder)
    one = found.picture(0, 0)
    with pytest.raises(AssertionError, match="a file was opened"):
        one.draw(FIELD, 8, "cpu")


def test_only_the_digest_is_compared_and_kept_in_keys(folder: Path, tmp_path: Path) -> None:
    found = open_pictures(folder)
    moved = open_pictures(folder.rename(tmp_path / "moved"))
    assert moved == found
    assert hash(moved) == hash(found)
    assert moved.place != found.place
    assert moved.split == ""
    assert parameters(found) == {"kind": "FolderPictures", "digest": found.digest}
    # Pictures know where they are: the same name elsewhere may be another picture.
    assert moved.picture(0, 0) != Missing("")
    assert isinstance(moved.picture(0, 0), PictureFile)


@pytest.mark.parametrize("change", ["name", "size", "class", "fewer"])
def test_the_digest_follows_from_classes_names_and_sizes(folder: Path, change: str) -> None:
    before = open_pictures(folder)
    if change == "name":
        (folder / "fig" / "0.PNG").rename(folder / "fig" / "00.PNG")
    elif change == "size":
        with (folder / "fig" / "0.PNG").open("ab") as file:
            file.write(b"x")
    elif change == "class":
        (folder / "fig").rename(folder / "figs")
    else:
        (folder / "fig" / "0.PNG").unlink()
    assert open_pictures(folder) != before


def test_what_is_left_out_is_said_in_a_line_for_each_reason(folder: Path) -> None:
    for name in ("empty", "void", ".hidden", "fig/inner"):
        (folder / name).mkdir()
    (folder / "void" / "readme.txt").write_text("hello")
    (folder / "fig" / "notes.txt").write_text("hello")
    (folder / "fig" / ".DS_Store").write_text("hello")
    (folder / "pear" / "features.npy").write_text("hello")
    (folder / "fig" / "loop").symlink_to("loop")  # to itself
    (folder / "fig" / "up").symlink_to(folder)  # a circle
    (folder / "fig" / "gone.png").symlink_to("nowhere.png")
    (folder / "circle").symlink_to("circle")
    os.mkfifo(folder / "pear" / "pipe.png")
    (folder / "beside.jpg").write_bytes(b"")
    (folder / "readme.txt").write_text("hello")
    found = open_pictures(folder)
    assert found.classes == ("apple", "fig", "pear")
    assert found.counts == (4, 5, 3)
    assert found.notes == (
        "left out as classes: empty (no pictures), void (no pictures).",
        "left out as pictures: fig/inner, fig/up, fig/gone.png, fig/loop, fig/notes.txt and 5 "
        "more.",
    )


def test_many_that_are_left_out_are_one_line(folder: Path) -> None:
    for number in range(300):
        (folder / f"empty{number:03d}").mkdir()
    (note,) = open_pictures(folder).notes
    assert note.startswith("left out as classes: empty000 (no pictures), empty001 (no pictures)")
    assert note.endswith("empty004 (no pictures) and 295 more.")


def test_folders_that_may_not_be_looked_into(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever runs tests may be allowed everything.
    scandir = os.scandir
    closed = folder / "fig"

    def refusing(path: Path | str) -> Iterator[os.DirEntry[str]]:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = open_pictures(folder)
    assert found.classes == ("apple", "pear")
    assert found.notes == ("left out as classes: fig (Permission denied).",)
    closed = folder
    with pytest.raises(FechnerError, match="train cannot be looked into: Permission denied"):
        open_pictures(folder)


def test_links_are_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    for label in ("fig", "pear"):
        (tmp_path / "linked" / label).symlink_to(folder / label)
    found = open_pictures(tmp_path / "linked")
    assert found.counts == (5, 3)
    assert found.picture(0, 0).draw(FIELD, 8, "cpu").shape == (3, 16, 16)


def test_names_of_every_kind(tmp_path: Path) -> None:
    for label in ("crème brûlée", "日本", " spaces  inside", "50% off", "a,b", "it's"):
        (tmp_path / label).mkdir()
        noise_picture(1, 8).save(tmp_path / label / "Bild № 1 – ünïcode.jpeg")
    found = open_pictures(tmp_path)
    assert found.counts == (1,) * 6
    for label in range(6):
        found.picture(label, 0).draw(FIELD, 8, "cpu")
    assert known_pictures(found.plain(), found.place) == found


def test_names_in_another_encoding(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    (folder / name).mkdir()
    noise_picture(1, 8).save(folder / name / "x.png")
    noise_picture(1, 8).save(folder / "fig" / f"{name}.png")
    found = open_pictures(folder)
    # Neither JSON nor the files of results hold it as a class; a picture may be called anything.
    assert found.classes == ("apple", "fig", "pear")
    assert found.notes == (r"left out as classes: caf\xe9 (not named in UTF-8).",)
    assert found.name(1, 5) == r"fig/caf\xe9.png"
    found.picture(1, 5).draw(FIELD, 8, "cpu")


def test_folders_that_are_none(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match=r"there is no .*nowhere; give a folder with one"):
        open_pictures(tmp_path / "nowhere")
    with pytest.raises(FechnerError, match=r"two classes are needed, and .* has 0"):
        open_pictures(folder / "fig")
    with pytest.raises(FechnerError, match=r"did you mean .*train\?"):
        open_pictures(tmp_path)
    with pytest.raises(FechnerError, match=r"0.PNG is a single picture; give a folder"):
        open_pictures(folder / "fig" / "0.PNG")
    (tmp_path / "one" / "fig").mkdir(parents=True)
    noise_picture(0, 8).save(tmp_path / "one" / "fig" / "0.png")
    with pytest.raises(FechnerError, match=r"two classes are needed, and .* has 1"):
        open_pictures(str(tmp_path / "one"))


@pytest.mark.parametrize("content", ["zero", "cut off", "no picture", "changed", "gone", "pipe"])
def test_pictures_that_cannot_be_shown_are_one_sentence(folder: Path, content: str) -> None:
    path = folder / "fig" / "0.PNG"
    whole = path.read_bytes()
    path.write_bytes(
        {"zero": b"", "cut off": whole[:100], "no picture": b"hello"}.get(content, whole)
    )
    one = open_pictures(folder).picture(1, 0)
    if content == "changed":
        path.write_bytes(whole + b"x")
    elif content in ("gone", "pipe"):
        path.unlink()
    if content == "pipe":
        os.mkfifo(path)
    with pytest.raises(PictureError) as error:
        one.draw(FIELD, 8, "cpu")
    expected = {
        "zero": "fig/0.PNG is no picture in a format that is known.",
        "cut off": "fig/0.PNG is cut off (OSError).",
        "no picture": "fig/0.PNG is no picture in a format that is known.",
        "changed": "fig/0.PNG is no file, or has changed since it was listed.",
        "gone": "fig/0.PNG is no file, or has changed since it was listed.",
        "pipe": "fig/0.PNG is no file, or has changed since it was listed.",
    }
    assert str(error.value) == expected[content]
    assert error.value.problem == "unreadable"


def test_a_set_is_kept_without_its_place_and_found_again(folder: Path, tmp_path: Path) -> None:
    found = open_pictures(folder)
    plain = found.plain()
    assert str(folder) not in str(plain)
    moved = folder.rename(tmp_path / "elsewhere")
    again = known_pictures(plain, str(moved))
    assert again == found
    assert parameters(again) == parameters(found)
    assert (again.classes, again.counts, again.split) == (found.classes, found.counts, "train")
    torch.testing.assert_close(
        again.picture(2, 1).draw(FIELD, 8, "cpu"),
        open_pictures(moved).picture(2, 1).draw(FIELD, 8, "cpu"),
    )
    # So does one that was sent to another process.
    sent = pickle.loads(pickle.dumps(again))
    assert sent == found
    assert sent.picture(0, 0) == again.picture(0, 0)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("gone", r"the pictures in .*gone.fig cannot be read: No such file or directory\."),
        ("", r"nobody knows where the pictures of fig are\."),
    ],
)
def test_pictures_of_a_folder_that_is_gone(
    folder: Path, tmp_path: Path, place: str, why: str
) -> None:
    plain = open_pictures(folder).plain()
    again = known_pictures(plain, str(tmp_path / place) if place else "")
    one = again.picture(1, 0)
    with pytest.raises(PictureError, match=why):
        one.draw(FIELD, 8, "cpu")
    assert again.name(1, 0) == "fig, picture 0"


def test_a_class_that_has_changed_says_so_and_others_do_not(folder: Path) -> None:
    plain = open_pictures(folder).plain()
    noise_picture(99, 9).save(folder / "fig" / "new.png")
    again = known_pictures(plain, str(folder))
    with pytest.raises(PictureError, match=r"files of fig have changed .* \(5 then, 6 now\)"):
        again.picture(1, 0).draw(FIELD, 8, "cpu")
    again.picture(0, 0).draw(FIELD, 8, "cpu")
    (folder / "fig" / "new.png").replace(folder / "fig" / "0.PNG")
    with pytest.raises(PictureError, match=r"files of fig have changed .* \(5 then, 5 now\)"):
        again.picture(1, 0).draw(FIELD, 8, "cpu")


@pytest.mark.parametrize(("label", "index"), [(3, 0), (0, 4), (-1, 0), (0, -1)])
def test_there_are_no_others(folder: Path, label: int, index: int) -> None:
    with pytest.raises(IndexError, match="there is no picture"):
        open_pictures(folder).picture(label, index)


LIST_FIELD = Field(16, 16, 16.0)


@pytest.fixture
def list_folder(tmp_path: Path) -> Path:
    (tmp_path / "my pictures").mkdir()
    for number in range(4):
        noise_picture(number, 8).save(tmp_path / "my pictures" / f"ü, {number}.png")
    return tmp_path


def written(list_folder: Path, text: str, name: str = "list.csv") -> Path:
    (list_folder / name).write_bytes(text.encode())
    return list_folder / name


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
def test_a_list_of_any_program(list_folder: Path, text: str) -> None:
    found = open_pictures(written(list_folder, text, "val.csv"))
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
            assert Path(one.path) == list_folder / names[2 * label + index]
            one.draw(LIST_FIELD, 8, "cpu")


def test_the_order_of_rows_does_not_matter(list_folder: Path) -> None:
    one = open_pictures(written(list_folder, "".join(ROWS)))
    other = open_pictures(written(list_folder, "".join([ROWS[0], *ROWS[:0:-1]]), "other.csv"))
    assert one == other


def test_what_is_odd_is_said(list_folder: Path) -> None:
    text = "".join(ROWS) + (
        '"my pictures/ü, 3.png",pear\n"my pictures/ü, 3.png",fig\ngone.png,fig\nmy pictures,fig\n'
    )
    found = open_pictures(written(list_folder, text))
    assert found.counts == (5, 2)
    assert found.notes == (
        "listed more than once and shown once: my pictures/ü, 3.png.",
        "no files: gone.png, my pictures.",
        "listed in more than one class: my pictures/ü, 3.png.",
    )
    for index, why in ((0, "gone.png is no file"), (1, "pictures is no file")):
        with pytest.raises(PictureError, match=why):
            found.picture(0, index).draw(LIST_FIELD, 8, "cpu")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file,class\na,b\n", "needs the columns path and class"),
        ("path,class\na,\n", "picture 1 of .* has no path or no class"),
        ("path,class\na,b\n", "two classes are needed, and .* has 1"),
        ("path,class\n", "two classes are needed, and .* has 0"),
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


def test_a_list_is_kept_without_its_place_and_found_again(list_folder: Path) -> None:
    path = written(list_folder, "".join(ROWS))
    found = open_pictures(path)
    plain = found.plain()
    assert str(list_folder) not in str(plain)
    one = found.picture(0, 1)
    again = known_pictures(plain, str(path.rename(list_folder / "renamed.csv")))
    assert again == found
    assert again.picture(0, 1) == one
    gone = known_pictures(plain, str(path))
    with pytest.raises(PictureError, match=r"list.csv cannot be read: No such file"):
        gone.picture(1, 1).draw(LIST_FIELD, 8, "cpu")


def test_a_list_that_has_changed_says_so(list_folder: Path) -> None:
    path = written(list_folder, "".join(ROWS))
    plain = open_pictures(path).plain()
    written(list_folder, "".join(ROWS[:3]))
    again = known_pictures(plain, str(path))
    with pytest.raises(PictureError, match=r"files of pear have changed .* \(2 then, 1 now\)"):
        again.picture(1, 0).draw(LIST_FIELD, 8, "cpu")
    again.picture(0, 0).draw(LIST_FIELD, 8, "cpu")


def test_a_file_that_has_changed_says_so(list_folder: Path) -> None:
    found = open_pictures(written(list_folder, "".join(ROWS)))
    with (list_folder / "my pictures" / "ü, 0.png").open("ab") as file:
        file.write(b"x")
    with pytest.raises(PictureError, match="files of fig have changed since they were listed"):
        found.picture(0, 0).draw(LIST_FIELD, 8, "cpu")


CLASSES = 4


@pytest.fixture
def trees(tmp_path: Path) -> dict[int, Path]:
    """Folders with few and with many files of a byte, and lists of them."""
    for count in (50, 1000):
        rows = ["path,class"]
        for label in range(CLASSES):
            folder = tmp_path / str(count) / f"n{label:08d}"
            folder.mkdir(parents=True)
            for number in range(count):
                path = folder / f"n{label:08d}_{number:05d}.JPEG"
                path.write_bytes(b"x")
                rows.append(f"{path.relative_to(tmp_path).as_posix()},{folder.name}")
        (tmp_path / f"{count}.csv").write_text("\n".join(rows))
    return {count: tmp_path / str(count) for count in (50, 1000)}


def held(open_set: Callable[[], PictureSet]) -> int:
    """Return the bytes that a set holds once it is open.

    Tables of the interpreter, which grow with the names that it has ever seen, are not counted.
    """
    tracemalloc.start()
    found = open_set()
    gc.collect()
    ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/fechner/*")])
    tracemalloc.stop()
    assert len(found.classes) == CLASSES
    return sum(each.size for each in ours.statistics("filename"))


def test_a_folder_holds_counts_only(trees: dict[int, Path]) -> None:
    open_pictures(trees[50])  # whatever is imported on the way
    few, many = (held(lambda tree=tree: open_pictures(tree)) for tree in trees.values())
    assert abs(many - few) < 2_000


def test_a_list_holds_sixteen_bytes_of_a_picture(trees: dict[int, Path]) -> None:
    open_pictures(trees[50].with_suffix(".csv"))
    sizes = []
    for tree in trees.values():
        copy = tree.with_name(f"copy{tree.name}.csv")
        copy.write_text(tree.with_suffix(".csv").read_text())
        sizes.append(held(lambda copy=copy: open_pictures(copy)))
    assert (sizes[1] - sizes[0]) / (CLASSES * 950) < 20
