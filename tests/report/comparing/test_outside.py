"""Figures from outside: what a file may hold, what it may not, and whom it names."""

import math
import shutil
from pathlib import Path

import pytest

from fechner import Run
from fechner.errors import FechnerError
from fechner.report.comparing.outside import Outside, match, read_outside
from fechner.report.comparing.standings import entrants


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "figures.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_numbers_by_observer(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "# accuracies\ntop1, observer ,params\n"
        '76.5,pixels,\n\n 80 ,"a, b@x=1",1e6\n-3.5,c,0\nnan,d\n',
    )
    found = read_outside(path, ["params", "top1"])
    assert found.file == "figures.csv"
    assert found.names == ("pixels", "a, b@x=1", "c", "d")
    assert list(found.columns) == ["params", "top1"]
    assert found.columns["top1"][:3] == (76.5, 80.0, -3.5)
    assert found.columns["params"][1:3] == (1e6, 0.0)
    assert all(map(math.isnan, (found.columns["top1"][3], *found.columns["params"][::3])))


def test_the_only_column_needs_no_name(tmp_path: Path) -> None:
    # With the mark that spreadsheets write, and their ends of lines.
    path = written(tmp_path, b"\xef\xbb\xbfobserver,top1\r\npixels,1\r\n")
    assert read_outside(path).columns == {"top1": (1.0,)}


@pytest.mark.parametrize(
    ("content", "columns", "sentence"),
    [
        ("", None, "needs a column 'observer' and others with numbers, separated by commas"),
        ("name,top1\na,1\n", None, "its first line has name, top1"),
        ("observer;top1\na;1\n", None, "separated by commas; its first line has observer;top1"),
        ("observer\na\n", None, "has no column beside 'observer'"),
        ("observer,a,b\nx,1,2\n", None, "has a, b: choose by --column"),
        ("observer,top1\na,1\n", ["top2"], "no column named 'top2'; did you mean 'top1'?"),
        ("observer,top1\na,1\n", ["observer"], "no column named 'observer'"),
        ("observer,top1,top1\na,1,2\n", ["top1"], "has two columns named 'top1'"),
        ("observer,top1\na,1\nb,much\n", None, "line 3: 'much' in column 'top1' is not a number"),
        ("observer,top1\na,inf\n", None, "'inf' in column 'top1' is not a number"),
        ('observer,top1\na,"76,5"\n', None, "'76,5' in column 'top1' is not a number"),
        ("observer,top1\na,76,5\n", None, "line 2: 3 cells under 2 columns"),
        ("observer,top1\na,1\nb,2\na,3\n", None, "line 4: 'a' is there twice"),
        (b"observer,top1\n\xff\xfe,1\n", None, "is no CSV in UTF-8"),
        ('observer,top1\n"a,1\n', None, "is no CSV in UTF-8"),
    ],
)
def test_mistakes_are_sentences(
    tmp_path: Path, content: str | bytes, columns: list[str] | None, sentence: str
) -> None:
    with pytest.raises(FechnerError) as raised:
        read_outside(written(tmp_path, content), columns)
    assert sentence in str(raised.value)
    assert "figures.csv" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match=r"there is no file '.*nothing\.csv'"):
        read_outside(tmp_path / "nothing.csv")
    with pytest.raises(FechnerError, match="cannot be read"):
        read_outside(tmp_path)


def outside(*names: str) -> Outside:
    return Outside("figures.csv", names, {"top1": tuple(map(float, range(len(names))))})


def test_names_of_ours_and_of_the_paper() -> None:
    every = entrants(["@cai2025"])
    found, lines = match(
        outside(
            "pixels", "ViT-S/16", "DINO ViT-S/8", "torch_hub/facebookresearch/dinov2/dinov2_vits14"
        ),
        every,
    )
    assert [(each.observer, row) for each, row in found] == [
        ("pixels", 0),
        ("timm/vit_small_patch16_224.dino", 1),
        ("timm/vit_small_patch8_224.dino", 2),
        ("torch_hub/facebookresearch/dinov2/dinov2_vits14", 3),
    ]
    (line,) = lines
    assert line.startswith("Here but not in figures.csv: ")
    assert line.count(",") == 45 - 4 - 1


def test_names_that_nobody_or_several_have() -> None:
    every = entrants(["@cai2025"])
    found, lines = match(outside("pixels", "nobody", "ViT-B/32", "-", "no one"), every)
    assert len(found) == 1
    assert lines[0] == "In figures.csv but not here: nobody, -, no one."
    assert lines[1].startswith("Names that could be several, left out: ViT-B/32 (open_clip/")


def test_two_runs_of_one_observer_have_the_same_figure(shown_run: Run, tmp_path: Path) -> None:
    shutil.copytree(shown_run.folder, tmp_path / "again")
    every = entrants([shown_run, tmp_path / "again", "@cai2025"])
    found, _ = match(outside("ViT-S/16", "pixels (again)", "network"), every)
    assert [(each.label.split("(")[-1], row) for each, row in found] == [
        ("shown)", 0), ("again)", 0), ("@cai2025)", 0), ("again)", 1), ("shown)", 2), ("again)", 2),
    ]  # fmt: skip


def test_one_observer_under_two_names_is_a_mistake() -> None:
    with pytest.raises(FechnerError, match=r"'ViT-S/16' and 'DINO ViT-S/16' in figures\.csv are"):
        match(outside("ViT-S/16", "DINO ViT-S/16"), entrants(["@cai2025"]))


def test_nobody_is_named() -> None:
    with pytest.raises(FechnerError, match="it has a, b, and there are pixels, "):
        match(outside("a", "b"), entrants(["@cai2025"]))
