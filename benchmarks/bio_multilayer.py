"""Calibrate what is not public of bio-multilayer, on responses of the authors' model that are.

    python benchmarks/bio_multilayer.py            # distance of the model as it is
    python benchmarks/bio_multilayer.py --fit      # gains, natural energy and kappa, in minutes

The responses, in ``src/fechner/observers/data/vila_tomas2026_masking.csv``, are to noise of 3 and
12 cpd in A, T and D on masks of five contrasts. Noise is shown here as the paper and its code say:
2 degrees at 64 pixels per degree, on 40 cd/m2, in a ring of half-width f/8 and a band of 30
degrees; chromatic noise is equiluminant.

The data hardly tell gains apart (with a third of the pull, 0.065 log10 units at 1, 0.075 at 3). The
achromatic one is the smallest of a grid at which no mask raises a response at stage 3; the
chromatic one fits best. Kappa of each band and channel minimises the squared log10 ratio of the
model's responses to those published, with a pull to the size that responses to photographs have
before they are divided, since frequencies other than 3 and 12 cpd are not in the data. Responses
are sums of absolute differences: with these, one kappa for a whole channel brings T and D within
0.08 log10 units of the data; with Euclidean distances, within 0.2. No score of suite decalogue
takes part.
"""

import argparse
from csv import DictReader
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize

from fechner.observers.models.bio_multilayer import BioParameters
from fechner.observers.models.stages import BioMultiLayer
from fechner.stimuli import ATD, Field
from fechner.stimuli.oriented_noise import OrientedNoise

FIELD = Field.of(pixels=128, ppd=64)
LUMINANCE_CDM2 = 40.0
CHANNELS = {"A": "ach", "T": "rg", "D": "yb"}
MASKS = (0.0, 0.075, 0.15, 0.225, 0.3)
TESTED_CPD = (3.0, 12.0)
#: Of tests in suite decalogue.
SUITE_CONTRASTS = tuple(np.linspace(0.03, 0.3, 10).tolist())
HALF_WIDTH = 3 / 24
DRAWS = 2
#: Weight of the squared deviation of log kappa, over the size of responses, from its mean.
PULL = 3e-3
GAINS = (1.0, 1.5, 2.0, 3.0)
CHROMATIC_GAINS = (0.05, 0.2)

Key = tuple[str, float, float]


@cache
def published() -> dict[Key, tuple[tuple[float, ...], np.ndarray]]:
    """Return contrasts and responses, without contrast 0, by channel, frequency and mask."""
    text = files("fechner.observers").joinpath("data/vila_tomas2026_masking.csv").read_text()
    found: dict[Key, list[tuple[float, float]]] = {}
    for row in DictReader(line for line in text.splitlines() if line[0] != "#"):
        key = (row["channel"], float(row["test_cpd"]), float(row["mask"]))
        if float(row["contrast"]):
            found.setdefault(key, []).append((float(row["contrast"]), float(row["response"])))
    return {
        key: (tuple(contrast for contrast, _ in rows), np.array([seen for _, seen in rows]))
        for key, rows in found.items()
    }


def noise(cpd: float, *seed: int) -> torch.Tensor:
    return OrientedNoise(cpd, half_width=HALF_WIDTH, seed=(0, *seed)).draw(FIELD).double()


def light(
    channel: str, cpd: float, mask: float, contrasts: tuple[float, ...], draw: int
) -> torch.Tensor:
    """Return the mask alone and with each test on it, in XYZ, [1 + contrasts, 3, h, w].

    It is not put on a display: chromatic tests on chromatic masks leave every gamut.
    """
    way = CHANNELS[channel]
    background = torch.tensor(ATD.background_xyz(LUMINANCE_CDM2), dtype=torch.float64)
    along = torch.tensor(ATD.modulation_xyz(way, LUMINANCE_CDM2), dtype=torch.float64)
    test, masking = noise(cpd, draw, 0), mask * noise(cpd, draw, 1)
    pattern = masking + torch.tensor((0.0, *contrasts), dtype=torch.float64)[:, None, None] * test
    return background[:, None, None] + along[:, None, None] * pattern[:, None]


@cache
@torch.no_grad()
def contrasts_of(key: Key, contrasts: tuple[float, ...], draw: int) -> torch.Tensor:
    """Return what the second stage hands on, which does not depend on what is calibrated."""
    cascade = made(BioParameters())
    seen: torch.Tensor = cascade.contrast(cascade.opponent(light(*key, contrasts, draw)).out).out
    return seen


def made(p: BioParameters) -> BioMultiLayer:
    return BioMultiLayer(p, FIELD.ppd, (FIELD.height_px, FIELD.width_px)).double()


@torch.no_grad()
def differences(
    cascade: BioMultiLayer, key: Key, contrasts: tuple[float, ...], draws: int = DRAWS
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of absolute differences from the mask alone by band, [x, bands], and by stage.

    Stages 3 and 4 have such sums and Euclidean lengths, [x, stage, 2]; all are means over draws.
    """
    sums, responses = [], []
    for draw in range(draws):
        csf = cascade.csf(contrasts_of(key, contrasts, draw)).out
        _, scales = cascade.wavelets(csf)
        apart = [(maps[1:] - maps[:1]).flatten(1) for maps in scales]
        sums.append(torch.stack([band.abs().sum(dim=1) for band in apart], dim=1).numpy())
        stages = ((csf[1:] - csf[:1]).flatten(1), torch.cat(apart, dim=1))
        each = [torch.stack([d.norm(1, dim=1), d.norm(dim=1)], dim=1) for d in stages]
        responses.append(torch.stack(each, dim=1).numpy())
    return np.mean(sums, axis=0), np.mean(responses, axis=0)


def log_ratios(sums: np.ndarray, kappa: np.ndarray, responses: np.ndarray) -> np.ndarray:
    """Return log10 of a model's responses over those published."""
    return np.asarray(np.log10(sums @ kappa) - np.log10(responses))


def fit(sums: np.ndarray, responses: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, float]:
    """Return kappa of six bands of a channel, and the squared log10 ratio."""

    def loss(log_factor: np.ndarray) -> float:
        error = np.mean(log_ratios(sums, size * np.exp(log_factor), responses) ** 2)
        return float(error + PULL * np.mean((log_factor - log_factor.mean()) ** 2))

    level = -np.mean(log_ratios(sums, size, responses)) * np.log(10)
    rng = np.random.default_rng(1)
    starts = level + np.stack([np.zeros(6), *rng.normal(0, 1, (3, 6))])
    best = min((minimize(loss, start, method="L-BFGS-B") for start in starts), key=lambda o: o.fun)
    kappa = size * np.exp(best.x)
    return kappa, float(np.mean(log_ratios(sums, kappa, responses) ** 2))


class Tried(NamedTuple):
    """A gain, and what was found with it for each of some channels."""

    gain: float
    error: float
    energy: list[tuple[float, ...]]
    kappa: list[tuple[float, ...]]


def tried(channels: str, gain: float, xyz: torch.Tensor) -> Tried:
    from natural_means import natural_energy

    data, p = published(), BioParameters()
    p = replace(p, sensitivity=replace(p.sensitivity, gain=(gain,) * 3))
    energy = natural_energy(p, xyz, FIELD.ppd)
    wavelets = replace(p.wavelets, natural_energy=energy, kappa=((1.0,) * 6,) * 3)
    cascade = made(replace(p, wavelets=wavelets))
    errors, kappas, energies = [], [], []
    for channel in channels:
        keys = [key for key in data if key[0] == channel]
        sums = np.concatenate([differences(cascade, key, data[key][0])[0] for key in keys])
        energies.append(energy["ATD".index(channel)])
        size = np.array(energies[-1]) ** (1 / p.wavelets.exponent)
        kappa, error = fit(sums, np.concatenate([data[key][1] for key in keys]), size)
        errors.append(error)
        kappas.append(tuple(float(f"{k:.4g}") for k in kappa))
        print(f"{channel}, gain {gain:g}: {error**0.5:.4f} log10 rms", flush=True)
    return Tried(gain, float(np.mean(errors)), energies, kappas)


def masks(gain: float) -> bool:
    """Whether every achromatic mask lowers every response at stage 3."""
    p = BioParameters()
    p = replace(p, sensitivity=replace(p.sensitivity, gain=(gain,) * 3))
    ratios = [masked_over_unmasked(p, "A", cpd, SUITE_CONTRASTS)[..., 0, 0] for cpd in TESTED_CPD]
    print(f"A, gain {gain:g}: at most {np.max(ratios):.3f} of the response alone", flush=True)
    return bool(np.max(ratios) < 1)


def calibrated(xyz: torch.Tensor) -> BioParameters:
    """Find gains, natural energy and kappa."""
    first = tried("A", next(gain for gain in GAINS if masks(gain)), xyz)
    others = min((tried("TD", gain, xyz) for gain in CHROMATIC_GAINS), key=lambda each: each.error)
    p = BioParameters()
    return replace(
        p,
        sensitivity=replace(p.sensitivity, gain=(first.gain, others.gain, others.gain)),
        wavelets=replace(
            p.wavelets,
            natural_energy=tuple(first.energy + others.energy),
            kappa=tuple(first.kappa + others.kappa),
        ),
    )


def distance(p: BioParameters, draws: int = DRAWS, every: int = 1) -> dict[str, float]:
    """Return the distance to the data in log10 units by channel, at every nth contrast."""
    cascade, found = made(p), {}
    for channel in CHANNELS:
        errors = []
        for cpd, mask in product(TESTED_CPD, MASKS):
            contrasts, responses = published()[channel, cpd, mask]
            sums, _ = differences(cascade, (channel, cpd, mask), contrasts[::every], draws)
            errors.append(log_ratios(sums, np.ones(6), responses[::every]) ** 2)
        found[channel] = float(np.mean(errors) ** 0.5)
    return found


def masked_over_unmasked(
    p: BioParameters, channel: str, cpd: float, contrasts: tuple[float, ...], draws: int = 5
) -> np.ndarray:
    """Return ratios of responses, [mask, x, stage, read-out], for stages 3 and 4, l1 and l2."""
    cascade = made(p)
    alone, *others = (differences(cascade, (channel, cpd, m), contrasts, draws)[1] for m in MASKS)
    return np.stack(others) / alone


def report(p: BioParameters) -> None:
    found = distance(p)
    for channel, error in found.items():
        print(f"{channel}: {error:.4f} log10 rms")
    print(f"all: {np.mean(np.square(list(found.values()))) ** 0.5:.4f} log10 rms")
    print("Response on a mask over that alone, contrast 0.03 to 0.3 of the test:")
    for channel, cpd in product(CHANNELS, TESTED_CPD):
        ratios = masked_over_unmasked(p, channel, cpd, SUITE_CONTRASTS)
        for (m, mask), stage, readout in product(enumerate(MASKS[1:]), (0, 1), (0, 1)):
            shown = " ".join(f"{value:.2f}" for value in ratios[m, :, stage, readout])
            where = f"{('csf', 'wavelets')[stage]:8} {('l1', 'l2')[readout]}"
            print(f"{channel} {cpd:>2g} cpd, mask {mask:<5g} {where} {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", action="store_true", help="calibrate anew")
    p = BioParameters()
    if parser.parse_args().fit:
        from natural_means import squares

        p = calibrated(squares())
        print(f"gain: {p.sensitivity.gain}")
        print(f"natural_energy: {p.wavelets.natural_energy}")
        print(f"kappa: {p.wavelets.kappa}")
    report(p)


if __name__ == "__main__":
    main()
