"""Mean energy of photographs in the last stage of bio-multilayer; no photograph is downloaded.

Seven colour photographs that come with scikit-image and scikit-learn are sent to display
``decalogue`` as they are, at 64 pixels per degree, and cut into squares of 2 degrees:

    python benchmarks/natural_means.py

prints ``natural_energy`` of `fechner.observers.models.bio_parameters.WaveletStage`.
"""

from pathlib import Path

import numpy as np
import torch

from fechner.observers.models.bio_parameters import BioParameters
from fechner.observers.models.natural import natural_energy
from fechner.stimuli import display

SIDE_PX = 128
PPD = 64.0


def photographs() -> list[np.ndarray]:
    import skimage
    from PIL import Image
    from sklearn.datasets import load_sample_images

    folder = Path(skimage.__file__).parent / "data"
    names = ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")
    files = [np.asarray(Image.open(folder / name).convert("RGB")) for name in names]
    return [*files, *load_sample_images().images]


def squares() -> torch.Tensor:
    """Return light in XYZ, cd/m2, [n, 3, 128, 128]."""
    shown = display("decalogue")
    matrix = torch.tensor(shown.rgb_to_xyz, dtype=torch.float64)
    found = []
    for picture in photographs():
        encoded = torch.tensor(picture / 255.0).permute(2, 0, 1)
        light = torch.einsum("ij,jhw->ihw", matrix, shown.decode(encoded))
        rows = light.unfold(1, SIDE_PX, SIDE_PX).unfold(2, SIDE_PX, SIDE_PX)
        found.append(rows.flatten(1, 2).transpose(0, 1))
    return torch.cat(found)


def main() -> None:
    found = squares()
    print(f"{len(found)} squares of {SIDE_PX} px")
    for channel, values in zip("ATD", natural_energy(BioParameters(), found, PPD), strict=True):
        print(f"{channel}: {values}")


if __name__ == "__main__":
    main()
