"""Meshes for tests: a box with a colour for each side, in three formats, and odd ones."""

import struct
from pathlib import Path

import numpy as np

#: Display-encoded colours of the sides of the box, by the direction that they face.
COLOURS = {
    "+x": (1.0, 0.0, 0.0),
    "-x": (0.0, 1.0, 1.0),
    "+y": (0.0, 1.0, 0.0),
    "-y": (1.0, 0.0, 1.0),
    "+z": (0.0, 0.0, 1.0),
    "-z": (1.0, 1.0, 0.0),
}


def box(size: tuple[float, float, float] = (2.0, 1.0, 1.0)) -> dict[str, np.ndarray]:
    """Return four corners of each side, against the clock seen from outside."""
    sides = {}
    for name in COLOURS:
        axis = "xyz".index(name[1])
        sign = 1.0 if name[0] == "+" else -1.0
        one, two = (axis + 1) % 3, (axis + 2) % 3
        corners = np.zeros((4, 3))
        corners[:, axis] = sign
        around = [(-1, -1), (1, -1), (1, 1), (-1, 1)][:: int(sign)]
        for corner, (a, b) in zip(corners, around, strict=True):
            corner[one], corner[two] = a, b
        sides[name] = corners * np.array(size) / 2
    return sides


def write_obj(path: Path, size: tuple[float, float, float] = (2.0, 1.0, 1.0)) -> Path:
    """Write the box as OBJ with materials beside it."""
    lines, materials = [f"mtllib {path.stem}.mtl"], []
    for number, (name, corners) in enumerate(box(size).items()):
        lines += [f"v {x} {y} {z}" for x, y, z in corners]
        lines += [
            f"usemtl side{number}",
            "f " + " ".join(str(4 * number + i) for i in (1, 2, 3, 4)),
        ]
        red, green, blue = COLOURS[name]
        materials += [f"newmtl side{number}", f"Kd {red} {green} {blue}", "d 1.0"]
    path.write_text("\n".join(lines) + "\n")
    path.with_suffix(".mtl").write_text("\n".join(materials) + "\n")
    return path


def write_ply(path: Path) -> Path:
    """Write the box as PLY with colours of corners."""
    sides = box()
    rows = [
        " ".join(map(str, corner)) + " " + " ".join(str(int(255 * each)) for each in COLOURS[name])
        for name, corners in sides.items()
        for corner in corners
    ]
    faces = [f"4 {4 * i} {4 * i + 1} {4 * i + 2} {4 * i + 3}" for i in range(len(sides))]
    header = ["ply", "format ascii 1.0", f"element vertex {len(rows)}"]
    header += [f"property float {axis}" for axis in "xyz"]
    header += [f"property uchar {colour}" for colour in ("red", "green", "blue")]
    header += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header"]
    path.write_text("\n".join([*header, *rows, *faces]) + "\n")
    return path


def write_glb(path: Path) -> Path:
    """Write the box as GLB with a material for each side."""
    import trimesh
    from trimesh.visual import TextureVisuals
    from trimesh.visual.material import PBRMaterial

    scene = trimesh.Scene()
    for name, corners in box().items():
        colour = [round(255 * each) for each in COLOURS[name]]
        material = PBRMaterial(baseColorFactor=[*colour, 255])
        scene.add_geometry(
            trimesh.Trimesh(
                corners,
                [[0, 1, 2], [0, 2, 3]],
                visual=TextureVisuals(uv=np.zeros((4, 2)), material=material),
                process=False,
            ),
            geom_name=name,
        )
    path.write_bytes(scene.export(file_type="glb"))
    return path


def write_textured(path: Path, times: int = 1) -> Path:
    """Write a square that faces the camera, with a texture: red, green above blue, white.

    It is repeated so many times each way.
    """
    from PIL import Image

    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], dtype=np.uint8)
    pixels = pixels.repeat(32, axis=0).repeat(32, axis=1)
    Image.fromarray(pixels).save(path.with_suffix(".png"))
    path.with_suffix(".mtl").write_text(f"newmtl print\nKd .2 .2 .2\nmap_Kd {path.stem}.png\n")
    corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
    path.write_text(
        f"mtllib {path.stem}.mtl\nusemtl print\n"
        + "".join(f"v {2 * u - 1} {2 * v - 1} 0\nvt {times * u} {times * v}\n" for u, v in corners)
        + "f 1/1 2/2 3/3 4/4\n"
    )
    return path


def write_many_triangles(path: Path, triangles: int) -> Path:
    """Write a binary PLY that repeats one triangle."""
    header = (
        "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\n"
        f"property float y\nproperty float z\nelement face {triangles}\n"
        "property list uchar int vertex_indices\nend_header\n"
    )
    corners = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], dtype="<f4").tobytes()
    path.write_bytes(header.encode() + corners + struct.pack("<B3i", 3, 0, 1, 2) * triangles)
    return path
