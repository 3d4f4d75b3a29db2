"""Numbers of the BioMultiLayer-style cascade, stage by stage, with units and origin.

Exponents, constants b, widths and weights are those of Martinez et al. (2018) and of the settings
published with it. What these leave open is marked "ours": it was chosen so that the cascade
behaves as Vila-Tomás et al. (2026) describe theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class OpponentStage:
    """From light to opponent colours A, T, D (Jameson & Hurvich 1957), which adapt to the field.

    Parameters
    ----------
    unit_cdm2
        Light is divided by this first; ours. Measured in candelas alone, b would vanish beside any
        colour.
    exponent, b
        Of the energy, and the constant beside the pool.
    pool
        Weight of the mean energy over the field, beside a place's own energy with weight 1 (where
        it is pooled is ours).
    level
        Response to the mean energy of photographs.
    """

    unit_cdm2: float = 100.0
    exponent: float = 1.25
    b: Triple = (0.01, 0.01, 0.01)
    pool: Triple = (5.0, 2.0, 2.0)
    level: Triple = (255.0, 23.0, 35.0)


@dataclass(frozen=True)
class ContrastStage:
    """Difference from the surround, over the surround (Malo & Simoncelli 2015).

    Parameters
    ----------
    sigma_deg
        Of the Gaussian surround.
    surround
        How much of it is taken away; ours. With all of it, nothing would be left of a uniform
        field, and chromatic sensitivity would fall at low frequencies.
    b
        Constant beside the surround.
    """

    sigma_deg: float = 0.066
    surround: Triple = (0.95, 0.85, 0.85)
    b: Triple = (30.0, 230.0, 350.0)


@dataclass(frozen=True)
class SensitivityStage:
    """Contrast sensitivity (`fechner.human.spatial_observer`), and masking by what is near.

    Parameters
    ----------
    gain
        Of the achromatic filter at its peak, and of the others in proportion; ours.
    exponent, b, sigma_deg
        Of the energy, of the constant, and of the Gaussian pool.
    drive
        Response to the mean energy of photographs, over the mean absolute value of what goes in;
        ours: it sets how far the next stage is driven into saturation.
    """

    gain: float = 0.12
    exponent: float = 1.5
    b: Triple = (0.005, 0.00075, 0.00075)
    sigma_deg: float = 0.02
    drive: float = 0.014


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


@dataclass(frozen=True)
class NaturalMeans:
    """Means over photographs at 64 pixels per degree, which set the gains of the stages.

    `python benchmarks/natural_means.py` computes them from seven colour photographs in the packages
    scikit-image and scikit-learn, put on display ``decalogue``.

    Parameters
    ----------
    opponent_energy, sensitivity_energy, wavelet_energy
        Energy that goes into the normalisation of a stage, for A, T, D.
    sensitivity_amplitude, wavelet_amplitude
        Absolute value of the same responses.
    """

    opponent_energy: Triple = (0.3391, 0.01449, 0.02738)
    sensitivity_energy: Triple = (0.002383, 4.416e-05, 2.632e-05)
    sensitivity_amplitude: Triple = (0.01379, 0.001072, 0.0007903)
    wavelet_energy: tuple[tuple[float, ...], ...] = (
        (0.0005132, 0.00076, 0.005204, 0.02468, 0.06913, 0.2183),
        (0.0001018, 0.0001672, 0.001077, 0.004799, 0.01629, 0.143),
        (3.536e-05, 7.396e-05, 0.0006463, 0.003597, 0.01391, 0.1316),
    )
    wavelet_amplitude: tuple[tuple[float, ...], ...] = (
        (5.057e-06, 9.511e-06, 0.0002189, 0.002826, 0.01504, 0.09271),
        (3.351e-07, 7.335e-07, 1.586e-05, 0.000187, 0.001364, 0.04486),
        (6.322e-08, 1.893e-07, 6.646e-06, 0.0001132, 0.001025, 0.03821),
    )


@dataclass(frozen=True)
class BioParameters:
    """All four stages, and the means that set their gains.

    Parameters
    ----------
    floor
        Part of the mean response below which a power is rounded off, so that it has a slope at 0.
    """

    opponent: OpponentStage = OpponentStage()
    contrast: ContrastStage = ContrastStage()
    sensitivity: SensitivityStage = SensitivityStage()
    wavelets: WaveletStage = WaveletStage()
    means: NaturalMeans = field(default_factory=NaturalMeans)
    floor: float = 1e-3
