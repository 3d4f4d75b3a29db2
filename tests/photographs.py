"""Photographs for tests: those that come with scikit-image and scikit-learn, and albums of them."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

#: By the ImageNet synset of what they show.
PHOTOGRAPHS = {
    "n02123045": "skimage/data/chelsea.png",
    "n03785016": "skimage/data/motorcycle_left.png",
    "n03877845": "sklearn/datasets/images/china.jpg",
    "n04485082": "skimage/data/camera.png",
    "n07920052": "skimage/data/coffee.png",
    "n11939491": "sklearn/datasets/images/flower.jpg",
}


def path_of(name: str) -> Path:
    """Where a photograph is; its package is found, not imported, for that takes seconds."""
    package, _, rest = name.partition("/")
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / rest


def write_album(folder: Path, side: int = 256, crops: int = 1) -> Path:
    """Write a class/file folder of small photographs, a few crops of each; return it."""
    for label, name in PHOTOGRAPHS.items():
        (folder / label).mkdir(parents=True)
        picture = Image.open(path_of(name)).convert("RGB")
        for number in range(crops):
            edge = int(0.04 * number * min(picture.size))
            part = picture.crop((edge, edge, *picture.size))
            scale = side / min(part.size)
            size = (round(part.width * scale), round(part.height * scale))
            part.resize(size, Image.Resampling.BICUBIC).save(folder / label / f"{number}.png")
    return folder


def noise_picture(seed: int, side: int = 64) -> Image.Image:
    """A picture of coloured noise around middle grey."""
    values = np.random.default_rng(seed).normal(127, 30, (side, side, 3))
    return Image.fromarray(values.clip(0, 255).astype(np.uint8))
