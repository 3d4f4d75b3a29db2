"""Mean energy of photographs in the last stage of bio-multilayer; no photograph is downloaded.

Seven colour photographs that come with scikit-image and scikit-learn are sent to display
``decalogue`` as they are, at 64 pixels per degree, and cut into squares of 2 degrees:

    python benchmarks/natural_means.py

prints ``natural_energy`` of `fechner.observers.models.bio_multilayer.WaveletStage`.
"""

from pathlib import Path

import numpy as np
import torch

from fechner.observers.models.bio_multilayer import Bands, BioParameters
from fechner.observers.models.stages import BioMultiLayer
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


def natural_energy(parameters: BioParameters, xyz: torch.Tensor, ppd: float) -> Bands:
    """Return the mean energy of each scale, high to low, for A, T, D.

    Parameters
    ----------
    xyz
        Photographs as light in cd/m2, [n, 3, h, w].
    """
    cascade = BioMultiLayer(parameters, ppd, (xyz.shape[-2], xyz.shape[-1])).double()
    exponent = parameters.wavelets.exponent
    total = torch.zeros(())
    with torch.no_grad():
        for picture in xyz:
            scales = cascade.wavelets.linear(cascade.retina(picture[None].double())[-1].out)
            means = [y.abs().pow(exponent).mean(dim=(0, 2, 3, 4)) for y in scales]
            total = total + torch.stack(means, dim=1) / len(xyz)
    return tuple(tuple(float(f"{value:.4g}") for value in row) for row in total.tolist())


def main() -> None:
    found = squares()
    print(f"{len(found)} squares of {SIDE_PX} px")
    for channel, values in zip("ATD", natural_energy(BioParameters(), found, PPD), strict=True):
        print(f"{channel}: {values}")


if __name__ == "__main__":
    main()
