"""Suite recognition with 3D objects, from meshes to a page."""

from pathlib import Path

import meshes
import numpy as np
import pytest
import torch

from fechner import Run, evaluate, observe


class Reds(torch.nn.Module):
    """Names what is redder than it is green."""

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return pictures.mean(dim=(2, 3))[:, :2]


def write_box(path: Path, colour: str) -> None:
    meshes.write_obj(path)
    sides = "".join(f"newmtl side{number}\nKd {colour}\n" for number in range(6))
    path.with_suffix(".mtl").write_text(sides)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("objects")
    for label, colour in (("red", "0.9 0.1 0.1"), ("green", "0.1 0.9 0.1")):
        (folder / label).mkdir()
        write_box(folder / label / "box.obj", colour)
    (folder / "green" / "faceless.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    (folder / "red" / "plain.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    return evaluate(
        observe(Reds(), classes=["red", "green"], version="1"),
        suite="recognition",
        objects=folder,
        views=6,
        tests=["mafc-rotation3d-y-up", "2afc-scale3d-down"],
        levels=2,
        progress=False,
    )


def test_views_are_sought_quickly_and_shown_with_care(measured: Run) -> None:
    assert [test.id for test in measured.tests] == [
        "views",
        "views-rendered",
        "mafc-rotation3d-y-up",
        "2afc-scale3d-down",
    ]
    pictures = measured.options.pictures
    assert pictures.counts == (6, 6)
    assert pictures.picture(0, 0).samples < pictures.shown(0, 0).samples
    curve, rendered = (
        measured.data("Reds", test) for test in ("mafc-rotation3d-y-up", "views-rendered")
    )
    assert curve is not None
    assert rendered is not None
    for label in (0, 1):
        own = rendered.isel(picture=np.flatnonzero(rendered["class_of"].values == label))
        best = int(own["index"].values[own["score"].values.argmax()])
        assert set(curve["index"].values[curve["class_of"].values == label]) == {best}


def test_a_coloured_box_keeps_its_colour_however_it_is_turned(measured: Run) -> None:
    curve = measured.data("Reds", "mafc-rotation3d-y-up")
    assert curve is not None
    assert curve["level"].values.tolist() == [0, 0.5, 180] * 2
    assert curve["right"].values.all()
    # Of its own classes, red and green; those that are shown are green and red.
    assert curve["chosen"].values.ravel().tolist() == [1, 1, 1, 0, 0, 0]


def test_odd_meshes_are_named_and_counted_and_the_run_goes_on(measured: Run) -> None:
    views = measured.data("Reds", "views")
    assert views is not None
    assert int((views["problem"].values > 0).sum()) == 3  # every second view of green
    assert "green/faceless.obj" in views.attrs["unreadable"]
    notes = measured.options.notes
    assert any("red/plain.obj has no materials" in note for note in notes)


def test_a_page_of_it(measured: Run, tmp_path: Path) -> None:
    page = measured.report(tmp_path / "page.html").read_text("utf-8")
    for words in ("Rotation in depth about y", "rotation (deg)", "And which, rendered with care?"):
        assert words in page
