"""Changes of view: levels are distances from the view itself."""

import meshes
import pytest
import torch

from fechner.errors import FechnerError
from fechner.references import references
from fechner.stimuli import display, paint
from fechner.stimuli.field import Field
from fechner.stimuli.manipulations import MANIPULATIONS
from fechner.stimuli.objects import OBJECT_MANIPULATIONS, View, random_view, view_of
from fechner.stimuli.pictures import Manipulated, picture_drawn

FIELD = Field.of(pixels=32, ppd=16)


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    path = meshes.write_obj(tmp_path_factory.mktemp("meshes") / "box.obj")
    return random_view(view_of(path), 0, 0)


def shown(manipulation, views, levels, dtype=torch.float64):
    recipes = [
        Manipulated(view, manipulation, level) for view, level in zip(views, levels, strict=True)
    ]
    return paint(recipes, FIELD, display("srgb-8bit"), dtype=dtype).pixels


def test_there_are_the_eight_of_the_paper():
    assert sorted(OBJECT_MANIPULATIONS) == sorted(
        f"{what}-{direction}"
        for what in ("rotation3d-x", "rotation3d-y", "rotation3d-z", "scale3d")
        for direction in ("up", "down")
    )
    assert not set(OBJECT_MANIPULATIONS) & set(MANIPULATIONS)


@pytest.mark.parametrize("name", list(OBJECT_MANIPULATIONS))
def test_each_describes_itself(name):
    each = OBJECT_MANIPULATIONS[name]
    assert each.name == name
    assert OBJECT_MANIPULATIONS[each.opposite].opposite == name
    assert each.applies_to == "objects"
    assert not each.random
    assert each.reference in references()
    assert 0 < each.range[0] < each.range[1]
    assert each.title
    assert each.words
    assert "(" in each.axis


@pytest.mark.parametrize("name", list(OBJECT_MANIPULATIONS))
def test_level_0_is_the_view_itself_to_the_bit(view, name):
    each = OBJECT_MANIPULATIONS[name]
    assert each.changed(view, 0.0) == view
    own = picture_drawn(view, FIELD, 8)
    assert torch.equal(shown(each, [view], [0.0])[0], own)
    assert torch.equal(Manipulated(view, each, 0.0).draw(FIELD, 8, "cpu"), own)


@pytest.mark.parametrize("name", list(OBJECT_MANIPULATIONS))
def test_a_row_depends_on_itself_alone(view, name):
    each = OBJECT_MANIPULATIONS[name]
    level = each.range[1] / 3
    alone = shown(each, [view], [level], torch.float32)
    other = view.seen(y_deg=10.0)
    together = shown(each, [other, view, other], [0.0, level, level], torch.float32)
    assert together.dtype == torch.float32
    assert torch.equal(together[1], alone[0])
    assert not torch.equal(together[1], together[2])


def test_levels_are_degrees_and_octaves():
    view = View("box.obj", "", x_deg=170.0, scale=0.5)
    assert OBJECT_MANIPULATIONS["rotation3d-x-up"].changed(view, 20.0).x_deg == -170.0
    assert OBJECT_MANIPULATIONS["rotation3d-x-down"].changed(view, 20.0).x_deg == 150.0
    assert OBJECT_MANIPULATIONS["rotation3d-z-down"].changed(view, 20.0).z_deg == -20.0
    assert OBJECT_MANIPULATIONS["scale3d-up"].changed(view, 2.0).scale == 2.0
    assert OBJECT_MANIPULATIONS["scale3d-down"].changed(view, 2.0).scale == 0.125


def test_half_a_turn_is_the_same_in_both_directions():
    view = View("box.obj", "", y_deg=30.0)
    up, down = (OBJECT_MANIPULATIONS[f"rotation3d-y-{way}"] for way in ("up", "down"))
    assert up.changed(view, 180.0).y_deg == pytest.approx(down.changed(view, 180.0).y_deg)


def test_what_cannot_be_is_refused(view):
    each = OBJECT_MANIPULATIONS["scale3d-up"]
    with pytest.raises(FechnerError, match="a level of scale3d-up is 0 or more, not -1"):
        each.changed(view, -1.0)
    photograph = Manipulated(view, each, 1.0)
    with pytest.raises(FechnerError, match="needs views of 3D objects"):
        shown(each, [photograph], [1.0])
