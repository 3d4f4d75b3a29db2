"""Meshes: what files say of triangles, and what odd files lead to."""

import meshes
import numpy as np
import pytest

from fechner.errors import PictureError
from fechner.stimuli.objects import meshes as reading
from fechner.stimuli.objects.meshes import (
    companions,
    corner_normals,
    hash_mesh,
    lacking,
    linear,
    read_mesh,
)

WRITERS = {".obj": meshes.write_obj, ".ply": meshes.write_ply, ".glb": meshes.write_glb}


@pytest.mark.parametrize("suffix", list(WRITERS))
def test_a_box_is_read_from_every_format(tmp_path, suffix):
    path = WRITERS[suffix](tmp_path / f"box{suffix}")
    mesh = read_mesh(path)
    assert sum(len(part.positions) for part in mesh) == 12
    assert lacking(path, path.name) == ()
    positions = np.concatenate([part.positions.reshape(-1, 3) for part in mesh])
    # Half the diagonal of 2 x 1 x 1 becomes 1.
    np.testing.assert_allclose(positions.max(0), np.array([2, 1, 1]) / np.sqrt(6), rtol=1e-6)
    np.testing.assert_allclose(positions.min(0), -np.array([2, 1, 1]) / np.sqrt(6), rtol=1e-6)


@pytest.mark.parametrize("suffix", list(WRITERS))
def test_sides_keep_their_colours_and_face_outwards(tmp_path, suffix):
    mesh = read_mesh(WRITERS[suffix](tmp_path / f"box{suffix}"))
    for part in mesh:
        for number, normals in enumerate(part.normals):
            axis = int(np.abs(normals[0]).argmax())
            name = f"{'+' if normals[0][axis] > 0 else '-'}{'xyz'[axis]}"
            colours = part.colour if part.colours is None else part.colours[number, 0]
            np.testing.assert_allclose(colours, meshes.COLOURS[name], atol=1e-6)
            # The edges of a box are sharp, so that normals are those of the sides.
            np.testing.assert_allclose(np.abs(normals).max(1), 1, atol=1e-6)
            assert (part.positions[number] @ normals[0] > 0).all()


def test_smooth_surfaces_have_smooth_normals():
    around = np.linspace(0, 2 * np.pi, 37)
    ring = np.stack([np.cos(around), np.sin(around), np.zeros(37)], 1)
    top = ring + [0, 0, 1]
    triangles = np.concatenate(
        [
            np.stack([ring[:-1], ring[1:], top[:-1]], 1),
            np.stack([ring[1:], top[1:], top[:-1]], 1),
        ]
    )
    normals = corner_normals(triangles)
    outwards = triangles * [1, 1, 0]
    cosines = (normals * outwards).sum(-1)
    assert cosines.min() > np.cos(np.radians(4))


def test_normals_that_are_given_are_kept_unless_they_are_none():
    triangle = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    given = np.array([[[0.0, 3, 4], [0, 0, 0], [np.nan, 0, 0]]])
    found = corner_normals(triangle, given)
    np.testing.assert_allclose(found[0], [[0, 0.6, 0.8], [0, 0, 1], [0, 0, 1]])


def test_textures_are_read_and_the_colour_beside_them_is_not_used(tmp_path):
    (part,) = read_mesh(meshes.write_textured(tmp_path / "print.obj"))
    assert part.texture is not None
    assert part.texture.shape == (64, 64, 4)
    assert part.texture[0, 0].tolist() == [255, 0, 0, 255]
    assert part.colour == (1.0, 1.0, 1.0)
    assert part.is_opaque


def test_opacity_is_read_in_both_spellings(tmp_path):
    for word, value in (("d", "0.25"), ("Tr", "0.75")):
        path = meshes.write_obj(tmp_path / f"{word}.obj")
        text = path.with_suffix(".mtl").read_text().replace("d 1.0", f"{word} {value}")
        path.with_suffix(".mtl").write_text(text)
        parts = read_mesh(path)
        assert {round(part.opacity, 6) for part in parts} == {0.25}
        assert not any(part.is_opaque for part in parts)


ODD = {
    "empty.obj": (b"", "empty file"),
    "points.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", "has no faces"),
    "points.ply": (
        b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
        b"property float z\nend_header\n0 0 0\n",
        "has no faces",
    ),
    "broken.ply": (b"ply\nformat ascii 1.0\nelement vert", "damaged"),
    "broken.glb": (b"glTF\x02\x00\x00\x00nonsense", "damaged"),
    "text.obj": (b"this is no mesh at all\n", "no faces|damaged"),
    "place.obj": (b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not numbers|damaged"),
    "dot.obj": (b"v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n", "single point"),
    "mesh.stl": (b"solid x\nendsolid x\n", "OBJ, PLY or GLB"),
}


@pytest.mark.parametrize("name", list(ODD))
def test_odd_files_are_one_sentence(tmp_path, name):
    content, words = ODD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PictureError, match=words) as caught:
        read_mesh(tmp_path / name)
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)
    assert caught.value.problem == "unreadable"


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(PictureError, match="cannot be read: No such file"):
        read_mesh(tmp_path / "none.obj")


def test_huge_meshes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_TRIANGLES", 999)
    with pytest.raises(PictureError, match="1,000 triangles, more than the 999"):
        read_mesh(meshes.write_many_triangles(tmp_path / "many.ply", 1000))
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 10)
    with pytest.raises(PictureError, match="MB, more than"):
        read_mesh(tmp_path / "many.ply")


def test_a_mesh_without_materials_is_grey_and_says_so(tmp_path):
    path = meshes.write_obj(tmp_path / "box.obj")
    path.with_suffix(".mtl").unlink()
    mesh = read_mesh(path)
    assert {part.colour for part in mesh} == {(0.5, 0.5, 0.5)}
    assert lacking(path, "box.obj") == (
        "box.obj names box.mtl, which is not there.",
        "box.obj has no materials and is shown in grey.",
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.obj", b"v 0 0 0\n"), ("b.obj", b""), ("c.glb", b"no mesh"), ("d.ply", b"")],
)
def test_what_is_no_mesh_does_not_lack_materials(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert lacking(tmp_path / name, name) == ()


def test_a_texture_that_is_missing_is_said(tmp_path):
    path = meshes.write_textured(tmp_path / "print.obj")
    path.with_suffix(".png").unlink()
    assert lacking(path, "print.obj") == ("print.obj names print.png, which is not there.",)
    (part,) = read_mesh(path)
    assert part.texture is None
    assert part.colour == pytest.approx(tuple(linear(np.full(3, 0.2))))


def test_the_hash_covers_what_a_mesh_names(tmp_path):
    path = meshes.write_textured(tmp_path / "print.obj")
    assert [each.name for each in companions(path)] == ["print.mtl", "print.png"]
    before = hash_mesh(path)
    path.with_suffix(".png").write_bytes(b"other")
    assert hash_mesh(path) != before
    assert hash_mesh(tmp_path / "none.obj") == ""


def test_names_do_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "secret.mtl").write_text("newmtl a\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "box.obj").write_text("mtllib ../secret.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert companions(inside / "box.obj") == []
