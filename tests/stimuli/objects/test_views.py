"""Views: known boxes measured back from pictures."""

import subprocess
import sys

import meshes
import numpy as np
import pytest
import torch
from PIL import Image

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.objects import Studio, View, random_view, view_of
from fechner.stimuli.objects.meshes import linear
from fechner.stimuli.objects.views import SAMPLES, SCALES, SEARCH_SAMPLES, rotation

FIELD = Field.of(pixels=64, ppd=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshes")
    meshes.write_obj(folder / "box.obj")
    meshes.write_ply(folder / "box.ply")
    meshes.write_glb(folder / "box.glb")
    meshes.write_textured(folder / "print.obj")
    return folder


def drawn(view):
    return view.draw(FIELD, None, "cpu")


def covered(pixels):
    """Return which pixels are not background."""
    return (pixels - Studio().background).abs().amax(0) > 0.02


def extent(pixels):
    """Return width and height of what is seen, in pixels; those at its edge count from half on."""
    away = (pixels - Studio().background).abs().amax(0)
    mask = away > away.max() / 2
    return int(mask.any(0).sum()), int(mask.any(1).sum())


def test_a_box_is_as_wide_as_perspective_has_it(folder):
    width, height = extent(drawn(view_of(folder / "box.obj")))
    studio = Studio()
    near = studio.distance - 1 / np.sqrt(6)
    per_px = 2 * studio.half_width / 64
    assert width == pytest.approx(2 * 2 / np.sqrt(6) / near / per_px, abs=1.6)
    assert height == pytest.approx(2 * 1 / np.sqrt(6) / near / per_px, abs=1.6)


def test_turned_by_90_degrees_about_z_the_box_stands(folder):
    view = view_of(folder / "box.obj")
    lying, standing = extent(drawn(view)), extent(drawn(view.seen(z_deg=90.0)))
    assert standing == pytest.approx(lying[::-1], abs=1)


#: What faces the camera, by how the box is turned: the third column is where x, y and z go.
FACING = [
    ({}, "+z"),
    ({"x_deg": 90.0}, "+y"),
    ({"x_deg": -90.0}, "-y"),
    ({"y_deg": 90.0}, "-x"),
    ({"y_deg": -90.0}, "+x"),
    ({"y_deg": 180.0}, "-z"),
]


@pytest.mark.parametrize(("turn", "side"), FACING)
def test_the_side_that_is_turned_to_the_camera_is_seen(folder, turn, side):
    pixels = drawn(view_of(folder / "box.obj").seen(**turn))
    middle = pixels[:, 28:36, 28:36].mean((1, 2)).numpy()
    assert ((middle > 0.3) == (np.array(meshes.COLOURS[side]) > 0)).all()


def test_a_surface_has_the_light_that_the_studio_gives(folder):
    """A side alone sees all of the sky; its lamp shines as the cosine."""
    studio = Studio()
    pixels = drawn(view_of(folder / "print.obj").seen(scale=0.8))
    expected = (1 - studio.lamp) + studio.lamp * studio.to_lamp[2]
    white = linear(pixels[:, 40, 40].numpy())
    np.testing.assert_allclose(white, expected, rtol=0.03)
    assert float(pixels[0, 0, 0]) == pytest.approx(studio.background, abs=1e-3)


def test_textures_are_the_right_way_up(folder):
    pixels = drawn(view_of(folder / "print.obj"))
    found = {
        (row, column): (pixels[:, 32 + 8 * row, 32 + 8 * column] > 0.3).int().tolist()
        for row in (-1, 1)
        for column in (-1, 1)
    }
    assert found == {
        (-1, -1): [1, 0, 0],
        (-1, 1): [0, 1, 0],
        (1, -1): [0, 0, 1],
        (1, 1): [1, 1, 1],
    }


def test_textures_too_fine_to_be_seen_are_their_mean(tmp_path):
    path = meshes.write_textured(tmp_path / "print.obj", times=100_000)
    plain = meshes.write_textured(tmp_path / "plain.obj")
    Image.new("RGB", (64, 64), (188, 188, 188)).save(plain.with_suffix(".png"))  # half of white
    for y_deg in (0.0, 80.0):
        found, expected = (
            drawn(view_of(each).seen(y_deg=y_deg)).mean((1, 2)) for each in (path, plain)
        )
        torch.testing.assert_close(found, expected, atol=0.01, rtol=0)


def test_formats_give_the_same_picture(folder):
    turn = {"x_deg": 30.0, "y_deg": 40.0, "z_deg": 10.0}
    first, *others = (
        drawn(view_of(folder / f"box.{kind}").seen(**turn)) for kind in ("obj", "ply", "glb")
    )
    for other in others:
        assert float((first - other).abs().mean()) < 0.004


@pytest.mark.parametrize("name", ["box.obj", "print.obj"])
def test_views_of_few_paths_are_the_same_but_for_noise(folder, name):
    for number in range(3):
        view = random_view(view_of(folder / name), 0, number)
        assert view.samples == SAMPLES
        few = drawn(view.seen(samples=SEARCH_SAMPLES))
        assert not torch.equal(few, drawn(view))
        assert float((few - drawn(view)).abs().mean()) < 0.012


def test_the_lamp_throws_shadows(tmp_path):
    """A small square before a large one, on the lamp's side: its shadow falls beside it."""
    path = tmp_path / "shadow.obj"
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    path.write_text(
        "".join(f"v {x} {y} -0.3\n" for x, y in corners)
        + "".join(f"v {0.2 * x} {0.2 * y} 0.3\n" for x, y in corners)
        + "f 1 2 3 4\nf 5 6 7 8\n"
    )
    studio, pixels = Studio(), drawn(view_of(path)).mean(0)
    # The lamp is at the upper left, and so the shadow is at the lower right; there, what the sky
    # gives is left.
    shadow, lit = linear(pixels[46, 40].numpy()), linear(pixels[18, 24].numpy())
    sky = (1 - studio.lamp) / (1 - studio.lamp + studio.lamp * studio.to_lamp[2])
    assert shadow / lit == pytest.approx(sky, abs=0.06)


def test_glass_lets_what_is_behind_be_seen(tmp_path):
    path = meshes.write_textured(tmp_path / "pane.obj")
    path.with_suffix(".mtl").write_text("newmtl print\nKd 1 1 1\nd 0.5\n")
    opaque = meshes.write_textured(tmp_path / "wall.obj")
    opaque.with_suffix(".mtl").write_text("newmtl print\nKd 1 1 1\n")
    behind = linear(np.array(Studio().background))
    pane, wall = (linear(drawn(view_of(each))[:, 32, 32].numpy()) for each in (path, opaque))
    np.testing.assert_allclose(pane, (wall + behind) / 2, rtol=0.25)


def test_glass_lets_light_through(tmp_path):
    squares = [[(-1, -1, z), (1, -1, z), (1, 1, z), (-1, 1, z)] for z in (0.0, 0.3)]
    corners = "".join(f"v {x} {y} {z}\n" for square in squares for x, y, z in square)
    (tmp_path / "two.mtl").write_text("newmtl wall\nKd .5 .5 .5\nnewmtl pane\nKd .5 .5 .5\nd .2\n")
    faces = "usemtl wall\nf 1 2 3 4\nusemtl {}\nf 5 6 7 8\n"
    lights = []
    for name in ("wall", "pane"):
        path = tmp_path / f"{name}.obj"
        path.write_text(f"mtllib two.mtl\n{corners}{faces.format(name)}")
        lights.append(linear(drawn(view_of(path))[0, 28:36, 28:36].numpy()).mean())
    nearest, through = lights
    # What comes from the wall was dimmed twice at most, and a fifth comes from the pane.
    assert 0.8**2 + 0.2 - 0.06 < through / nearest < 1.02


def test_scale_is_that_of_the_picture(folder):
    view = view_of(folder / "box.obj")
    width, _ = extent(drawn(view))
    half, _ = extent(drawn(view.seen(scale=0.5)))
    assert half == pytest.approx(width / 2, abs=1)
    # Nothing comes behind the camera, however large it is; nothing breaks, however small.
    assert bool(covered(drawn(view.seen(scale=64.0))).all())
    assert int(covered(drawn(view.seen(scale=1 / 512))).sum()) <= 4


def test_fields_need_not_be_square(folder):
    view = view_of(folder / "box.obj").seen(y_deg=20.0)
    square = view.draw(FIELD, None, "cpu")
    wide = view.draw(Field.of(pixels=(64, 100), ppd=16), None, "cpu")
    assert wide.shape == (3, 64, 100)
    assert extent(wide) == pytest.approx(extent(square), abs=1)


def test_values_are_rounded_as_asked(folder):
    pixels = random_view(view_of(folder / "box.obj"), 0, 0).draw(FIELD, 8, "cpu")
    assert pixels.dtype == torch.float64
    assert torch.equal(pixels, (pixels * 255).round() / 255)


def test_rotations_follow_each_other():
    turned = rotation(90, 90, 0)
    # y goes to z by the first, and from there to x by the second.
    np.testing.assert_allclose(turned @ [0, 1, 0], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(rotation(10, 20, 30)), 1)


def test_random_views_are_uniform_and_follow_from_seed_object_and_number():
    base = View("a/mug.obj", "")
    views = [random_view(base, 0, number) for number in range(2000)]
    for values, (low, high) in (
        ([each.x_deg for each in views], (-180, 180)),
        ([each.y_deg for each in views], (-180, 180)),
        ([each.z_deg for each in views], (-180, 180)),
        ([each.scale for each in views], SCALES),
    ):
        counts, _ = np.histogram(values, 10, (low, high))
        assert counts.sum() == 2000
        # Ten bins of 200: chi squared of nine degrees of freedom is below 27.9 in 999 of 1000.
        assert ((counts - 200) ** 2 / 200).sum() < 27.9
    assert random_view(base, 0, 3) == views[3]
    assert random_view(base, 1, 3) != views[3]
    assert random_view(View("a/cup.obj", ""), 0, 3).x_deg != views[3].x_deg
    assert random_view(View("b/mug.obj", ""), 0, 3).x_deg == views[3].x_deg


def test_a_folder_is_no_part_of_a_view(folder):
    view = view_of(folder / "box.obj")
    moved = View(view.name, view.sha256, folder="elsewhere")
    assert moved == view
    assert hash(moved) == hash(view)
    assert moved.seen(x_deg=1.0).folder == "elsewhere"


def test_a_mesh_that_has_changed_is_not_shown(tmp_path):
    path = meshes.write_obj(tmp_path / "box.obj")
    view = view_of(path)
    meshes.write_obj(path, (1.0, 1.0, 1.0))
    with pytest.raises(PictureError, match="has changed since it was listed"):
        drawn(view)


def test_views_that_cannot_be_are_refused():
    with pytest.raises(FechnerError, match="above 0, not 0"):
        View("box.obj", "", scale=0.0)
    with pytest.raises(FechnerError, match="one path per pixel, not 0"):
        View("box.obj", "", samples=0)


_SCRIPT = """
import hashlib, sys
from fechner.stimuli.field import Field
from fechner.stimuli.objects import random_view, view_of
view = random_view(view_of(sys.argv[1]), 0, 5)
values = view.draw(Field.of(pixels=64, ppd=16), None, "cpu").numpy()
print(hashlib.sha256(values.tobytes()).hexdigest())
"""


def test_another_process_draws_the_same_to_the_bit(folder):
    import hashlib

    values = drawn(random_view(view_of(folder / "box.obj"), 0, 5)).numpy()
    own = hashlib.sha256(values.tobytes()).hexdigest()
    other = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(folder / "box.obj")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == own


def test_threads_share_what_is_kept(folder):
    from concurrent.futures import ThreadPoolExecutor

    views = [random_view(view_of(folder / "box.obj"), 0, number) for number in range(4)]
    alone = [drawn(view) for view in views]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(drawn, views))
    assert all(torch.equal(one, two) for one, two in zip(alone, together, strict=True))
