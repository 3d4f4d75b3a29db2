"""Sets of any size: what is held in memory does not grow with the number of pictures."""

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from fechner.stimuli.picture_sets import PictureSet, open_pictures

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
