"""The standard observer against the ModelFest thresholds, and what it must not depend on."""

from collections.abc import Iterable

import numpy as np
import pytest
import torch

from fechner.human import DATASETS, MODELFEST_FIELD, load, modelfest_patterns
from fechner.observers import abilities, resolve
from fechner.observers.baselines import StandardObserver
from fechner.stimuli import (
    OPPONENT,
    Display,
    Field,
    Frames,
    Gabor,
    Gaussian,
    Layer,
    Pattern,
    Stimulus,
    paint,
)
from fechner.stimuli.colour import SRGB_TO_XYZ, Triple, transform

PATTERNS = modelfest_patterns()
DISPLAY = Display("laboratory", peak_cdm2=400, eotf="linear")
LUMINANCE_CDM2 = DATASETS["modelfest"].luminance_cdm2
GREY = OPPONENT.background_xyz(LUMINANCE_CDM2)
GABOR = Gabor(4.0, sigma_deg=0.5, phase_deg=90)
ONE = torch.zeros(1, dtype=torch.long)

#: Predicted minus measured threshold, dB; positive where people see more than the model does.
#: The means measured have a standard error of 0.9 dB.
ERRORS_DB = {
    1: 0.89, 2: 0.11, 3: 0.86, 4: 1.63, 5: 0.61, 6: 0.34, 7: 0.04, 8: -0.66, 9: 0.18, 10: 0.30,
    11: -0.62, 12: -0.25, 13: 0.04, 14: 0.59, 15: 1.10, 16: 0.89, 17: 0.37, 18: 0.52, 19: 0.39,
    20: 0.05, 21: -0.42, 22: 0.53, 23: 0.54, 24: 1.00, 25: 0.41, 26: -0.12, 27: -0.11, 28: 0.02,
    29: 0.31, 30: 0.57, 31: 1.95, 32: -0.62, 33: 0.14, 34: -0.41, 36: -0.25, 37: 0.53, 38: -1.39,
    39: 0.11, 40: -0.47, 41: -0.78, 42: -0.60,
}  # fmt: skip

#: Which stimuli, their rms error in dB at most, and the worst of them.
GROUPS = {
    "gabors": (range(1, 22), 0.66, 4),
    "gaussians": (range(26, 30), 0.2, 29),
    "edge, line, dipole": (range(30, 33), 1.25, 31),
    "those together, and the disc": ((*range(1, 22), *range(26, 33), 40), 0.7, 31),
    "sums of two gabors": (range(22, 26), 0.7, 24),
    "strings": ((33, 34), 0.35, 34),
    "other orientations": ((36, 37), 0.45, 37),
    "plaids": ((38, 39), 1.0, 38),
    "rings and checks": ((41, 42), 0.75, 41),
    "all": (tuple(PATTERNS), 0.68, 31),
}


@pytest.fixture(scope="module")
def observer() -> StandardObserver:
    found = resolve("standard-observer")
    assert isinstance(found, StandardObserver)
    return found


def show(
    pattern: Pattern | None,
    contrast: float | Iterable[float] = 0.01,
    *,
    field: Field = MODELFEST_FIELD,
    background: Triple = GREY,
    modulation: Triple | None = None,
) -> Frames:
    """Paint one pattern at some contrasts, or the background alone."""
    contrasts = [contrast] if isinstance(contrast, float) else list(contrast)
    layers = [(Layer(pattern, modulation or background, c),) if pattern else () for c in contrasts]
    stimuli = [Stimulus(background, layer) for layer in layers]
    return paint(stimuli, field, DISPLAY, light="cdm2", dtype=torch.float32, strict=True)


def sensitivity(
    observer: StandardObserver,
    pattern: Pattern,
    *,
    contrast: float = 0.01,
    field: Field = MODELFEST_FIELD,
    modulation: Triple | None = None,
) -> float:
    """Return 1 / threshold: the observer is linear, so one small contrast tells."""
    memory = observer.remember(show(None, field=field))
    frames = show(pattern, contrast, field=field, modulation=modulation)
    return float(observer.difference(frames, memory, ONE)) / contrast


@pytest.fixture(scope="module")
def errors_db(observer: StandardObserver) -> dict[int, float]:
    measured = dict(
        zip(*(load("modelfest")[name] for name in ("stimulus", "mean_db")), strict=True)
    )
    return {
        number: -20 * np.log10(sensitivity(observer, pattern)) - measured[number]
        for number, pattern in PATTERNS.items()
    }


def test_it_compares_light(observer: StandardObserver) -> None:
    assert abilities(observer) == ("compares",)
    assert observer.wants.light == "cdm2"
    assert observer.wants.dtype == "float32"


@pytest.mark.parametrize("number", PATTERNS)
def test_modelfest_thresholds(errors_db: dict[int, float], number: int) -> None:
    assert errors_db[number] == pytest.approx(ERRORS_DB[number], abs=0.02)


@pytest.mark.parametrize(("stimuli", "rms_db", "worst"), list(GROUPS.values()), ids=list(GROUPS))
def test_modelfest_groups(
    errors_db: dict[int, float], stimuli: Iterable[int], rms_db: float, worst: int
) -> None:
    errors = {number: errors_db[number] for number in stimuli}
    assert np.sqrt(np.mean(np.square(list(errors.values())))) < rms_db
    assert max(errors, key=lambda number: abs(errors[number])) == worst


def test_one_is_threshold(observer: StandardObserver) -> None:
    threshold = 1 / sensitivity(observer, GABOR)
    answer = observer.difference(show(GABOR, threshold), observer.remember(show(None)), ONE)
    assert answer.shape == (1, len(observer.layers), len(observer.readouts))
    assert float(answer) == pytest.approx(1, rel=1e-4)
    assert threshold == pytest.approx(1 / 106, rel=0.01)


def test_equal_pictures_do_not_differ(observer: StandardObserver) -> None:
    frames = show(GABOR, [0.0, 0.3])
    answers = observer.difference(frames, observer.remember(frames), torch.arange(2))
    assert answers.flatten().tolist() == [0, 0]


def test_it_is_linear_in_contrast(observer: StandardObserver) -> None:
    contrasts = np.array([-0.9, -0.01, 0.001, 0.01, 0.1, 0.9])
    memory = observer.remember(show(None))
    answers = observer.difference(show(GABOR, contrasts), memory, torch.zeros(6, dtype=torch.long))
    np.testing.assert_allclose(answers.flatten().numpy() / abs(contrasts), 105.98, rtol=2e-4)


def test_contrast_is_relative_to_the_reference(observer: StandardObserver) -> None:
    """Each test is compared with its own reference, whatever the luminance."""
    greys = [OPPONENT.background_xyz(luminance) for luminance in (10.0, 100.0)]
    memory = observer.remember(join([show(None, background=grey) for grey in greys]))
    tests = join([show(GABOR, 0.02, background=greys[which]) for which in (1, 0, 0)])
    answers = observer.difference(tests, memory, torch.tensor([1, 0, 0])).flatten()
    np.testing.assert_allclose(answers, 0.02 * 105.98, rtol=2e-4)


def test_batches_do_not_matter(observer: StandardObserver) -> None:
    contrasts = np.geomspace(0.002, 0.5, 7)
    memory = observer.remember(show(None))
    together = observer.difference(show(GABOR, contrasts), memory, torch.zeros(7, dtype=torch.long))
    alone = [observer.difference(show(GABOR, float(c)), memory, ONE) for c in contrasts]
    np.testing.assert_allclose(together, torch.cat(alone), rtol=1e-6)


@pytest.mark.parametrize("number", sorted(set(PATTERNS) - {10}))
def test_resolution_does_not_matter(observer: StandardObserver, number: int) -> None:
    """Half the pixels per degree; not for 10, whose 30 cpd are all that 60 ppd could hold."""
    fine = sensitivity(observer, PATTERNS[number])
    coarse = sensitivity(observer, PATTERNS[number], field=Field.of(pixels=128, ppd=60))
    assert coarse == pytest.approx(fine, rel=0.01)


@pytest.mark.parametrize("number", [1, 4, 26, 30, 40, 42])
def test_size_does_not_matter(observer: StandardObserver, number: int) -> None:
    """The picture may show more of the grey around it, and need not be square."""
    small = sensitivity(observer, PATTERNS[number])
    large = sensitivity(observer, PATTERNS[number], field=Field.of(pixels=(300, 384), ppd=120))
    assert large == pytest.approx(small, rel=2e-3)


@pytest.mark.parametrize("frequency_cpd", [6.0, 10.0, 12.0, 15.0, 20.0, 24.0])
def test_phase_does_not_matter(observer: StandardObserver, frequency_cpd: float) -> None:
    """Down to 2.5 pixels per cycle; at 15 cpd, pixels alone would give 6 %."""
    field = Field.of(pixels=128, ppd=60)
    seen = [
        sensitivity(observer, Gabor(frequency_cpd, 0.3, phase_deg=phase), field=field)
        for phase in range(0, 180, 15)
    ]
    assert max(seen) / min(seen) < 1.012


def test_orientation(observer: StandardObserver) -> None:
    upright, level, oblique, mirrored = (
        sensitivity(observer, Gabor(8.0, 0.3, orientation_deg=angle)) for angle in (0, 90, 45, 135)
    )
    assert level == pytest.approx(upright, rel=1e-4)
    assert mirrored == pytest.approx(oblique, rel=1e-4)
    # exp(-(8 - 3.481) / 13.57): the oblique effect of the model at 8 cpd.
    assert oblique / upright == pytest.approx(np.exp(-4.519 / 13.57), rel=0.02)


def test_sensitivity_falls_away_from_the_fovea(observer: StandardObserver) -> None:
    field = Field.of(degrees=4, ppd=60)
    places = [(0.0, 0.0), (0.6, 0.0), (0.0, -0.6), (0.0, 1.2)]
    seen = [sensitivity(observer, Gaussian(0.05, x_deg=x, y_deg=y), field=field) for x, y in places]
    # The aperture has an sd of 0.6273 deg.
    assert seen[1] / seen[0] == pytest.approx(np.exp(-0.5 * (0.6 / 0.6273) ** 2), rel=0.02)
    assert seen[2] == pytest.approx(seen[1], rel=1e-4)
    assert seen[3] / seen[0] == pytest.approx(np.exp(-0.5 * (1.2 / 0.6273) ** 2), rel=0.1)


def test_it_sees_no_colour(observer: StandardObserver) -> None:
    red, green, _ = SRGB_TO_XYZ[1]
    red_green = LUMINANCE_CDM2 * transform(SRGB_TO_XYZ, (1.0, -red / green, 0.0))
    assert red_green[1] == pytest.approx(0, abs=1e-12)
    modulation = tuple(float(value) for value in red_green)
    grey = sensitivity(observer, GABOR, contrast=0.5)
    assert sensitivity(observer, GABOR, contrast=0.5, modulation=modulation) < 1e-3 * grey
    # The red-green axis of the cones is isoluminant for L + M, not quite for CIE 1931.
    cones = OPPONENT.modulation_xyz("rg", LUMINANCE_CDM2)
    share = abs(cones[1]) / LUMINANCE_CDM2
    assert share < 0.12
    seen = sensitivity(observer, GABOR, contrast=0.1, modulation=cones)
    assert seen == pytest.approx(share * grey, rel=1e-3)


def join(parts: list[Frames]) -> Frames:
    pixels = torch.cat([part.pixels for part in parts])
    return Frames(pixels, parts[0].field, parts[0].display, parts[0].light)
