"""``fechner objects`` on packages made here; nothing is downloaded."""

import csv
import subprocess
import zipfile

import meshes
import pytest
from typer.testing import CliRunner

from fechner.cli.app import app
from fechner.errors import FechnerError
from fechner.observers.classes import imagenet
from fechner.stimuli.objects import open_objects, sets
from fechner.stimuli.objects.sets import Source, fetch_objects, sources

CHAIR = Source("sweethome3d-furniture", "A.sh3f", "a/chair/chair.obj", "n1", "Ann", "CC0 1.0")
BALL = Source("pybullet", "", "pybullet_data/ball.obj", "n2", "Ben", "zlib")


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Two packages as they would be installed."""
    place = tmp_path / "packages"
    (place / "pybullet_data").mkdir(parents=True)
    meshes.write_textured(place / "pybullet_data" / "ball.obj")
    made = meshes.write_obj(tmp_path / "chair.obj")
    with zipfile.ZipFile(place / "A.sh3f", "w") as archive:
        archive.write(made, "a/chair/chair.obj")
        archive.write(made.with_suffix(".mtl"), "a/chair/chair.mtl")
        archive.writestr("a/chair/LICENSE.txt", "CC0")
        archive.writestr("a/chair/run.sh", "not copied")
        archive.writestr("a/other/other.obj", "not copied")
    monkeypatch.setattr(sets, "_package", lambda package, temporary: place)
    return place


def test_objects_are_copied_with_their_authors(packages, tmp_path):
    folder = tmp_path / "objects"
    folder.mkdir()
    assert fetch_objects(folder, [CHAIR, BALL]).notes == ()
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*")) == [
        "n1/chair/LICENSE.txt",
        "n1/chair/chair.mtl",
        "n1/chair/chair.obj",
        "n2/ball/ball.mtl",
        "n2/ball/ball.obj",
        "n2/ball/ball.png",
        "objects.csv",
    ]
    rows = list(csv.DictReader((folder / "objects.csv").read_text("utf-8").splitlines()))
    assert [(row["class"], row["author"], row["licence"]) for row in rows] == [
        ("n1", "Ann", "CC0 1.0"),
        ("n2", "Ben", "zlib"),
    ]
    found = open_objects(folder)
    assert found.classes == ("n1", "n2")
    assert found.notes == ()


def test_the_command_says_what_it_did(packages, tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "sources", lambda: (CHAIR, BALL))
    done = CliRunner().invoke(app, ["objects", str(tmp_path / "new" / "objects")])
    assert done.exit_code == 0
    assert "2 objects of 2 classes are in" in done.output


def test_what_one_package_lacks_does_not_stop_the_other(packages, tmp_path):
    (packages / "A.sh3f").unlink()
    found = fetch_objects(tmp_path, [CHAIR, BALL])
    assert found.objects == (BALL,)
    assert found.notes == ("A.sh3f of sweethome3d-furniture cannot be read (FileNotFoundError).",)
    with pytest.raises(FechnerError, match=r"A.sh3f .* cannot be read"):
        fetch_objects(tmp_path, [CHAIR])


def test_a_machine_without_apt_is_told_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(sets.shutil, "which", lambda name: None)
    monkeypatch.setattr(sets, "_DEBIAN_PLACE", "nowhere")
    with pytest.raises(FechnerError, match=r"no apt .*apt-get install sweethome3d-furniture"):
        sets._package(sets.DEBIAN_PACKAGE, tmp_path)


def test_a_download_that_fails_is_one_sentence(tmp_path, monkeypatch):
    def fail(command, **options):
        return subprocess.CompletedProcess(command, 1, "", "noise\nERROR: no network\n")

    monkeypatch.setattr(sets, "find_spec", lambda name: None)
    monkeypatch.setattr(sets.subprocess, "run", fail)
    with pytest.raises(
        FechnerError, match=r"\(ERROR: no network\); pip install pybullet"
    ) as caught:
        sets._package("pybullet", tmp_path)
    assert "\n" not in str(caught.value)


def test_the_table_has_classes_authors_and_free_licences():
    table = sources()
    assert len(table) >= 40
    assert len({source.target for source in table}) == len(table)
    synsets = {synset for synset, _ in imagenet()}
    for source in table:
        assert source.label in synsets
        assert source.author
        assert source.licence.startswith(("CC0", "CC BY 3.0", "zlib"))
        assert "duck" not in source.path
