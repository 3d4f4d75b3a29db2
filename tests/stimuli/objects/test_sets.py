"""Sets of objects: what is listed, which views there are, and what a run keeps."""

import json
import pickle

import meshes
import pytest

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.objects import View, open_objects
from fechner.stimuli.objects.views import SAMPLES, SEARCH_SAMPLES
from fechner.stimuli.picture_sets import known_pictures

FIELD = Field.of(pixels=32, ppd=16)


@pytest.fixture
def folder(tmp_path):
    for label, names in {"crate": ["a", "b"], "brick": ["c"]}.items():
        (tmp_path / label).mkdir()
        for number, name in enumerate(names):
            meshes.write_obj(tmp_path / label / f"{name}.obj", (1.0 + number, 1.0, 1.0))
    (tmp_path / "dice" / "first").mkdir(parents=True)
    meshes.write_ply(tmp_path / "dice" / "first" / "die.ply")
    return tmp_path


def test_a_folder_is_listed_by_class(folder):
    (folder / "empty").mkdir()
    found = open_objects(folder, views=10)
    assert found.kind == "objects"
    assert found.classes == ("brick", "crate", "dice")
    assert found.counts == (10, 10, 10)
    assert [[name for name, _ in some] for some in found.objects] == [
        ["brick/c.obj"],
        ["crate/a.obj", "crate/b.obj"],
        ["dice/first/die.ply"],
    ]
    assert found.notes == ("empty has no meshes and is no class.",)


def test_objects_of_a_class_take_turns_and_views_are_their_own(folder):
    found = open_objects(folder, views=6)
    views = [found.picture(1, index) for index in range(6)]
    assert [view.name for view in views] == ["crate/a.obj", "crate/b.obj"] * 3
    assert len({(view.x_deg, view.scale) for view in views}) == 6
    assert all(view.samples == SEARCH_SAMPLES for view in views)
    with pytest.raises(IndexError):
        found.picture(1, 6)


def test_what_is_shown_is_the_same_view_of_more_paths(folder):
    found = open_objects(folder)
    searched, shown = found.picture(2, 7), found.shown(2, 7)
    assert shown == searched.seen(samples=SAMPLES)
    assert shown.folder == str(folder)
    assert found.name(2, 7).startswith("dice/first/die.ply at ")


def test_more_views_leave_the_first_as_they_are(folder):
    few, many = open_objects(folder, views=5), open_objects(folder, views=50)
    assert [few.picture(0, i) for i in range(5)] == [many.picture(0, i) for i in range(5)]
    assert few != many


def test_the_digest_follows_what_views_depend_on(folder):
    first = open_objects(folder)
    assert open_objects(folder) == first
    assert open_objects(folder, seed=1) != first
    path = folder / "brick" / "c.mtl"
    path.write_text(path.read_text().replace("1.0", "0.5"))
    assert open_objects(folder) != first


def test_a_list_says_more_than_a_folder(folder):
    (folder / "objects.csv").write_text(
        "path,class,author,licence\ncrate/a.obj,box,Ann,CC0\nbrick/c.obj,brick,Ben,CC BY\n"
    )
    for place in (folder, folder / "objects.csv"):
        found = open_objects(place)
        assert found.classes == ("box", "brick")
        assert isinstance(found.picture(0, 0), View)
        assert found.picture(0, 0).draw(FIELD, 8, "cpu").shape == (3, 32, 32)


def test_a_run_keeps_it(folder):
    found = open_objects(folder, views=4, seed=3)
    plain = json.loads(json.dumps(found.plain()))
    again = known_pictures(plain, found.place)
    assert again == found
    assert again.shown(1, 2) == found.shown(1, 2)
    assert pickle.loads(pickle.dumps(found)).picture(0, 3) == found.picture(0, 3)
    gone = known_pictures(plain, "")
    assert gone.name(0, 0) == found.name(0, 0)
    with pytest.raises(PictureError, match="cannot be read"):
        gone.shown(0, 0).draw(FIELD, 8, "cpu")


def test_notes_say_what_meshes_lack(folder):
    (folder / "brick" / "c.mtl").unlink()
    notes = open_objects(folder).notes
    assert "brick/c.obj has no materials and is shown in grey." in notes


def test_a_mesh_that_cannot_be_shown_is_one_sentence_for_each_view(folder):
    (folder / "brick" / "c.obj").write_text("v 0 0 0\n")
    found = open_objects(folder)
    for picture in (found.picture(0, 0), found.shown(0, 1)):
        with pytest.raises(PictureError, match=r"^brick/c.obj has no faces") as caught:
            picture.draw(FIELD, 8, "cpu")
        assert caught.value.problem == "unreadable"


def test_what_is_no_set_of_objects_is_refused(folder, tmp_path):
    with pytest.raises(FechnerError, match=r"there is no .*fechner objects FOLDER"):
        open_objects(tmp_path / "nowhere")
    (tmp_path / "one" / "crate").mkdir(parents=True)
    meshes.write_obj(tmp_path / "one" / "crate" / "a.obj")
    with pytest.raises(FechnerError, match=r"two classes are needed, and .* has 1"):
        open_objects(tmp_path / "one")
    with pytest.raises(FechnerError, match="at least one side, not 0"):
        open_objects(folder, views=0)
