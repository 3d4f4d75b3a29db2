"""Numbers of the BioMultiLayer-style cascade, stage by stage, with units and origin.

Exponents, constants b, widths and weights are those of Martinez et al. (2018) and of the settings
published with it. Two things were never published, and were calibrated on responses of the authors'
model that were (``vila_tomas2026``, `benchmarks/bio_multilayer.py`): the gain of the contrast
sensitivity functions and the level kappa of each band of the last stage.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Triple = tuple[float, float, float]

#: Six numbers, high to low, for each of A, T, D.
Bands = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class OpponentStage:
    """From light to opponent colours A, T, D (Jameson & Hurvich 1957), which adapt to the field.

    Parameters
    ----------
    scale
        In cd/m2: colours are divided by it, and a colour as large as this has it as its response,
        whatever surrounds it.
    exponent, b
        Of the energy, and the constant beside the pool.
    pool
        Weight of the mean energy over the field, beside a place's own energy with weight 1.
    """

    scale: Triple = (255.0, 23.0, 35.0)
    exponent: float = 1.25
    b: Triple = (0.01, 0.01, 0.01)
    pool: Triple = (5.0, 2.0, 2.0)


@dataclass(frozen=True)
class ContrastStage:
    """Difference from the surround, over the surround with its sign (Malo & Simoncelli 2015).

    Parameters
    ----------
    sigma_deg
        Of the Gaussian surround.
    b
        Constant beside the surround.
    """

    sigma_deg: float = 0.066
    b: Triple = (30.0, 230.0, 350.0)


@dataclass(frozen=True)
class SensitivityStage:
    """Contrast sensitivity (`fechner.human.spatial_observer`), and masking by what is near.

    Parameters
    ----------
    gain
        Of the achromatic filter at its peak, and of chromatic ones where they are as sensitive.
        Calibrated.
    regulariser
        Added to the gain at every frequency.
    exponent, b, sigma_deg
        Of the energy, of the constant, and of the Gaussian pool.
    """

    gain: Triple = (2.0, 0.05, 0.05)
    regulariser: float = 0.5e-4
    exponent: float = 1.5
    b: Triple = (0.005, 0.00075, 0.00075)
    sigma_deg: float = 0.02


@dataclass(frozen=True)
class WaveletStage:
    """A steerable pyramid, whose responses are divided by those near in place, scale and angle.

    Values per frequency stand for bands centred at `frequencies_cpd`; the first is the high-pass
    residual and the last the low-pass one. Fields of another resolution have bands in between,
    whose values are interpolated.

    Parameters
    ----------
    orientations
        How many, evenly spaced from vertical bars on.
    exponent
        Of the energy.
    b
        Constant beside the pool.
    from_weights, to_weights
        Weight of a band in the pools of others, and of its own pool.
    sigma_deg, sigma_octaves, sigma_orientation_deg
        Gaussian neighbourhood in place, scale and orientation.
    natural_energy
        Mean energy of bands for photographs, for A, T, D (`benchmarks/natural_means.py`).
    kappa
        Response to that energy all around. Calibrated.
    """

    orientations: int = 4
    exponent: float = 0.6
    frequencies_cpd: tuple[float, ...] = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0)
    b: tuple[float, ...] = (0.005, 0.005, 0.005, 0.05, 0.5, 0.16)
    from_weights: tuple[float, ...] = (50.0, 50.0, 50.0, 0.1, 0.05, 0.001)
    to_weights: tuple[float, ...] = (50.0, 50.0, 50.0, 0.1, 0.05, 0.01)
    sigma_deg: float = 0.02
    sigma_octaves: float = 1.1
    sigma_orientation_deg: float = 30.0
    natural_energy: Bands = (
        (0.09641, 0.1409, 0.5517, 1.684, 3.122, 6.345),
        (0.002964, 0.004586, 0.01972, 0.05582, 0.1101, 0.2657),
        (0.0009685, 0.001658, 0.009604, 0.03341, 0.07465, 0.1918),
    )
    kappa: Bands = (
        (2.435e-07, 1.27e-06, 1.46e-06, 4.252e-06, 9.626e-05, 0.0003295),
        (3.261e-08, 7.24e-08, 7.504e-07, 4.023e-06, 1.428e-05, 6.693e-05),
        (1.592e-08, 3.609e-08, 5.747e-07, 5.973e-06, 2.588e-05, 0.0001105),
    )


@dataclass(frozen=True)
class BioParameters:
    """All four stages.

    Parameters
    ----------
    floor
        Powers are rounded off below this part of the response whose energy is b (in the last
        stage, the mean energy of photographs), so that they have a slope at 0.
    """

    opponent: OpponentStage = OpponentStage()
    contrast: ContrastStage = ContrastStage()
    sensitivity: SensitivityStage = SensitivityStage()
    wavelets: WaveletStage = field(default_factory=WaveletStage)
    floor: float = 1e-3
