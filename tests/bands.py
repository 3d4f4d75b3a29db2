"""An observer that sees one band of frequencies only, and an album that it can recognise."""

import zlib
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from fechner.observers import Wants
from fechner.stimuli import Album, Band, Field, Frames, open_album

CLASSES = ("flat", "steep", "tilted", "upright")
FIELD = Field(64, 64, 32.0)
#: A little less than an octave, so that its neighbours do not touch it.
BAND = Band.octaves(4.0, 0.9)
BANDS_CPD = (1.0, 2.0, 4.0, 8.0)


def _orientations(field: Field, band: Band) -> torch.Tensor:
    """Four quarters of a band, by the orientation of its frequencies, [4, h, w // 2 + 1]."""
    fx = torch.fft.rfftfreq(field.width_px, 1 / field.ppd, dtype=torch.float64)
    fy = torch.fft.fftfreq(field.height_px, 1 / field.ppd, dtype=torch.float64)
    angle = torch.rad2deg(torch.atan2(fy[:, None], fx[None])) % 180
    quarter = torch.floor(((angle + 22.5) % 180) / 45)
    return torch.stack([band.mask(field) & (quarter == k) for k in range(4)])


def write_gratings(folder: Path, per_class: int = 8) -> Album:
    """Pictures with as much in every band, and a little more along one orientation in one band."""
    generator = np.random.default_rng(5)
    own = _orientations(FIELD, BAND)
    for label, quarter in zip(CLASSES, own, strict=True):
        (folder / label).mkdir(parents=True)
        for number in range(per_class):
            picture = torch.zeros(64, 64, dtype=torch.float64)
            for centre in BANDS_CPD:
                mask = Band.octaves(centre, 0.98).mask(FIELD).double()
                if centre == 4.0:
                    mask = mask + 0.13 * quarter * mask
                # Random phases, but the same amplitude for all.
                white = torch.fft.rfft2(torch.as_tensor(generator.standard_normal((64, 64))))
                part = torch.fft.irfft2(white / white.abs() * mask, s=(64, 64))
                picture += 0.07 * part / part.std()
            values = (255 * (0.5 + picture)).round().clamp(0, 255).numpy().astype(np.uint8)
            Image.fromarray(np.repeat(values[..., None], 3, axis=2)).save(
                folder / label / f"{number}.png"
            )
    return open_album(folder)


class SeesOneBand:
    """Chooses the orientation that has most contrast in its band, with noise of its own."""

    name = "one band"
    wants = Wants(size_px=(64, 64), dtype="float64")
    fingerprint = "one band/1"
    classes = CLASSES

    def class_scores(self, frames: Frames) -> torch.Tensor:
        grey = frames.pixels.double().mean(dim=1)
        spectrum = torch.fft.rfft2(grey) * _orientations(FIELD, BAND)[:, None]
        contrast = torch.fft.irfft2(spectrum, s=(64, 64)).std(dim=(2, 3)).T
        seeds = [zlib.crc32((255 * row).round().numpy().tobytes()) for row in grey]
        noise = np.stack([np.random.default_rng(seed).standard_normal(4) for seed in seeds])
        return contrast + 0.001 * torch.as_tensor(noise)
