"""What the parametric models are made of: numbers, with their units and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from fechner.stimuli.colour import Matrix

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class ParametricParameters:
    """The parametric PerceptNet before any training (Vila-Tomás et al. 2025).

    Frequencies and widths hold for pictures of 128 pixels per degree; a layer behind one pooling
    has half of them, behind two a quarter.

    Parameters
    ----------
    retina_beta, retina_gamma
        Of x / sqrt(beta + gamma x^2) on each encoded colour.
    colours
        From encoded colours (rows) to the opponent channels A, T, D (columns).
    opponent_beta, opponent_gamma
        Of the same, on each opponent channel; the paper leaves them to training, so both are 1.
    blob_px, blob_ppd, blob_sigma_deg, blob_ratio
        Centre and surround of A, T, D: side of the kernel, its grid, width of the centre, and how
        many times wider the surround is.
    near_px, near_sigma_deg, near_beta
        Gaussian neighbourhood of the normalisation that follows.
    bars_px, ppd
        Side of the Gabors, and the grid of all that stands behind both poolings.
    frequencies_cpd
        Of the Gabors on A, T, D.
    orientations
        How many, evenly spaced; each in cosine and sine phase.
    envelope_exponent, elongation
        One over the envelope's standard deviation is the frequency to this power across the bars,
        and this part of it along them.
    far_px, far_sigma_deg, far_sigma_orientation_deg, far_sigma_frequency, far_beta
        Neighbourhood of the last normalisation in space, orientation and frequency (a standard
        deviation over the frequency of the channel that is divided), within the same opponent
        channel and phase.
    """

    retina_beta: float = 0.1
    retina_gamma: float = 0.5
    colours: Matrix = (
        (39.0454 / 163.5217, 30.1207 / 163.5217, 14.27948 / 163.5217),
        (115.8404 / 163.5217, -63.3502 / 163.5217, 41.26816 / 163.5217),
        (16.3118 / 163.5217, 30.2934 / 163.5217, -61.51888 / 163.5217),
    )
    opponent_beta: float = 1.0
    opponent_gamma: float = 1.0
    blob_px: int = 21
    blob_ppd: float = 21.0
    blob_sigma_deg: Triple = (0.149568619222635, 0.172044863, 0.172044863)  # exp(-1.9), exp(-1.76)
    blob_ratio: Triple = (1.1, 5.0, 5.0)
    near_px: int = 11
    near_sigma_deg: float = 0.04
    near_beta: float = 0.1
    bars_px: int = 31
    ppd: float = 32.0
    frequencies_cpd: tuple[tuple[float, ...], ...] = ((2.0, 4.0, 8.0, 16.0), (3.0, 6.0), (3.0, 6.0))
    orientations: int = 8
    envelope_exponent: float = 0.9
    elongation: float = 0.8
    far_px: int = 21
    far_sigma_deg: float = 0.2
    far_sigma_orientation_deg: float = 20.0
    far_sigma_frequency: float = 0.4
    far_beta: float = 1.0
