"""Experiments in the layout of model-vs-human, made up: a category is a colour.

Pictures of ``contrast`` are of one colour, closer to grey at lower contrast; those of
``cue-conflict`` have one in the middle (the shape) and another around it (the texture).
"""

import colorsys
import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

CATEGORIES = (
    "airplane", "bear", "bicycle", "bird", "boat", "bottle", "car", "cat", "chair", "clock", "dog",
    "elephant", "keyboard", "knife", "oven", "truck",
)  # fmt: skip
CONDITIONS = {"c100": 1.0, "c50": 0.4, "c05": 0.05}
COLOURS = np.array([colorsys.hsv_to_rgb(i / 16, 0.9, 0.9) for i in range(16)])
COLUMNS = (
    "subj", "session", "trial", "rt", "object_response", "category", "condition", "imagename",
)  # fmt: skip


class NearestColour(nn.Module):
    """Chooses the category whose colour the middle of a picture, or all of it, is closest to."""

    def __init__(self, around: float) -> None:
        super().__init__()
        self.around = around
        self.register_buffer("colours", torch.tensor(COLOURS, dtype=torch.float32))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        side = pixels.shape[-1]
        middle = pixels[..., 3 * side // 8 : -3 * side // 8, 3 * side // 8 : -3 * side // 8]
        edge = pixels[..., : side // 8, :]
        mean = middle.mean((-2, -1)) * (1 - self.around) + edge.mean((-2, -1)) * self.around
        return -20 * (mean[:, None] - self.colours).square().sum(2)


def write_experiments(folder: Path, each: int = 3, side: int = 32, seed: int = 0) -> Path:
    """Write ``datasets/contrast`` and ``datasets/cue-conflict``; return ``datasets``."""
    generator = np.random.default_rng(seed)
    session = folder / "datasets" / "contrast" / "dnn" / "session-1"
    session.mkdir(parents=True)
    number = 0
    for condition, contrast in CONDITIONS.items():
        for label, name in enumerate(CATEGORIES):
            for _ in range(each):
                number += 1
                values = 0.5 + contrast * (COLOURS[label] - 0.5) + np.zeros((side, side, 1))
                values = (
                    values + generator.normal(0, 0.05, 3) + generator.normal(0, 0.1, values.shape)
                )
                image = f"{number:04d}_cop_dnn_{condition}_{name}_10_n00000{label:03d}_{number}.png"
                _save(values, session / image)
    for label, name in enumerate(CATEGORIES):
        place = folder / "datasets" / "cue-conflict" / name
        place.mkdir(parents=True)
        for k in range(each):
            texture = (label + 5 * k) % 16  # the first has no conflict
            values = COLOURS[texture] + np.zeros((side, side, 1))
            values[side // 4 : -side // 4, side // 4 : -side // 4] = COLOURS[label]
            values = values + generator.normal(0, 0.1, values.shape)
            _save(values, place / f"{name}{k + 1}-{CATEGORIES[texture]}{k + 1}.png")
    return folder / "datasets"


def _save(values: np.ndarray, path: Path) -> None:
    Image.fromarray((values.clip(0, 1) * 255).astype(np.uint8)).save(path)


def write_people(folder: Path, datasets: Path, people: int = 3, seed: int = 1) -> Path:
    """Write answers of people to these pictures; return ``raw-data``."""
    generator = np.random.default_rng(seed)
    contrast = sorted((datasets / "contrast" / "dnn" / "session-1").glob("*.png"))
    conflict = sorted((datasets / "cue-conflict").glob("*/*.png"))
    for person in range(1, people + 1):
        who = f"subject-{person:02d}"
        rows = []
        for path in contrast:
            _, _, _, condition, category, *_ = path.stem.split("_")
            rate = {"c100": 0.95, "c50": 0.8, "c05": 0.3}[condition]
            answer = category if generator.random() < rate else str(generator.choice(CATEGORIES))
            rows.append(
                (answer, category, condition, path.name.replace("_dnn_", f"_s{person:02d}_"))
            )
        _write(folder / "raw-data" / "contrast" / f"contrast_{who}_session_1.csv", who, rows)
        rows = []
        for number, path in enumerate(conflict, 1):
            category = path.parent.name
            texture = "".join(c for c in path.stem.split("-")[1] if c.isalpha())
            answer = str(generator.choice([category, texture, "na"], p=[0.85, 0.1, 0.05]))
            name = f"{number:04d}_s5n_s{person:02d}_0_{category}_00_{path.name}"
            rows.append((answer, category, "0", name))
        _write(
            folder / "raw-data" / "cue-conflict" / f"cue-conflict_{who}_session_1.csv", who, rows
        )
    return folder / "raw-data"


def _write(path: Path, who: str, rows: Sequence[tuple[str, str, str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for trial, (answer, category, condition, image) in enumerate(rows, 1):
            writer.writerow([who, 1, trial, 0.9, answer, category, condition, image])
