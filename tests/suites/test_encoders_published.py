"""Published mode of the encoders suite: to the pixel, and with observers that are not linear.

`pixels` hardly notices how a stimulus is coloured or which sign it has, so the protocol is also
guarded by observers that do.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch.nn import functional

from fechner import evaluate, observe
from fechner.experiments import FrequencyMatching, NearThreshold
from fechner.stimuli import Stimulus, paint
from fechner.suites import suite

#: Rows and columns at which pictures are sampled.
PLACES = [(0, 0), (37, 141), (112, 112), (111, 100), (200, 60)]

#: Display-encoded R, G, B (one number where they are equal) of pictures that the public code of Cai
#: et al. (2025) makes, by test, abscissa (or contrast of the mask) and contrast.
TESTS = {
    ("frequency-noise", 2.0, 0.02): [0.53563, 0.542069, 0.535935, 0.543942, 0.548198],
    ("masking-coherent", 0.05, 0.03): [0.320868, 0.311891, 0.31331, 0.306293, 0.320869],
    ("masking-incoherent", 0.05, 0.04): [0.343497, 0.35075, 0.331125, 0.351766, 0.338506],
    ("matching-frequency", 5.0, 0.1): [0.163442, 0.173643, 0.174283, 0.174028, 0.162826],
    ("frequency-ach", 4.0, 0.02): [
        (0.537098, 0.53708, 0.537021),
        (0.536842, 0.536814, 0.536761),
        (0.53808, 0.538099, 0.538018),
        (0.541555, 0.541702, 0.541545),
        (0.536794, 0.536765, 0.536712),
    ],
    ("frequency-rg", 2.0, 0.02): [
        (0.538096, 0.536798, 0.537066),
        (0.53613, 0.53743, 0.537035),
        (0.540454, 0.536034, 0.537103),
        (0.515953, 0.543702, 0.536729),
        (0.544293, 0.534779, 0.537163),
    ],
    ("frequency-yv", 1.0, 0.1): [
        (0.537229, 0.537003, 0.537658),
        (0.537197, 0.537037, 0.537468),
        (0.537363, 0.536863, 0.538449),
        (0.532991, 0.541394, 0.511824),
        (0.537912, 0.536287, 0.541697),
    ],
}
GREY = (0.537127, 0.53711, 0.53705)
REFERENCES = {
    "frequency-noise": [0.537099] * 5,
    "masking-coherent": [0.320868, 0.311914, 0.313308, 0.308823, 0.320856],
    "masking-incoherent": [0.343469, 0.349995, 0.331127, 0.345713, 0.338326],
    "matching-frequency": [0.171844] * 5,
    "frequency-ach": [GREY] * 5,
    "frequency-rg": [GREY] * 5,
    "frequency-yv": [GREY] * 5,
}


def shown(test: str, x: float, contrast: float) -> tuple[np.ndarray, np.ndarray]:
    """Return what is shown as a test and as its reference at the sampled places, [place, RGB]."""
    tests = {each.id: each.experiment for each in suite("encoders").build(published=True)}
    experiment = tests[test]
    if isinstance(experiment, FrequencyMatching):
        pair = experiment._stimulus(x, contrast), Stimulus(experiment._background)
    else:
        assert isinstance(experiment, NearThreshold)
        reference, target = experiment._at(0, x)
        target = replace(target, contrast=contrast)
        pair = replace(reference, layers=(*reference.layers, target)), reference
    scene = experiment.scene
    pixels = paint(pair, scene.field, scene.display, dtype=torch.float64).pixels
    rows, columns = np.array(PLACES).T
    found = pixels[:, :, rows, columns].transpose(1, 2).numpy()
    return found[0], found[1]


@pytest.mark.parametrize("where", TESTS, ids=lambda where: where[0])
def test_pictures_of_the_authors_are_given_again_to_the_pixel(
    where: tuple[str, float, float],
) -> None:
    for found, printed in zip(shown(*where), (TESTS[where], REFERENCES[where[0]]), strict=True):
        expected = np.array([np.broadcast_to(value, 3) for value in printed])
        np.testing.assert_allclose(found, expected, atol=5e-6)


@cache
def kernels(side: int) -> torch.Tensor:
    """Return seeded filters of three channels, [12, 3, side, side]."""
    drawn = np.random.RandomState(8).standard_normal((12, 3, side, side)) / side
    return torch.from_numpy(drawn).float()


def conv_net(pictures: torch.Tensor) -> torch.Tensor:
    """Two layers of seeded filters with a rectifier between."""
    first = functional.conv2d(pictures, kernels(9), stride=6).relu()
    return functional.conv2d(first[:, :3], kernels(5), stride=3).relu()


def sine_net(pictures: torch.Tensor) -> torch.Tensor:
    """Return features that are no monotone function of contrast."""
    return (200 * functional.conv2d(pictures, kernels(9), stride=6)).sin()


def blur_and_difference(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Return the mean absolute difference of blurred pictures, a metric."""
    blurred = functional.avg_pool2d(test - reference, 7, 3)
    return blurred.abs().mean(dim=(1, 2, 3))


#: What these observers get from pictures that are the authors' to the pixel. Along the achromatic
#: DKL axis, the sine net has .471, .668 and .349 in masking and matching.
SCORES = {
    "conv_net": {
        "frequency-ach": 0.4906,
        "frequency-noise": 0.4665,
        "frequency-rg": 0.4619,
        "frequency-yv": 0.5622,
        "luminance": 0.4252,
        "area": 0.8224,
        "masking-coherent": 0.5064,
        "masking-incoherent": 0.6835,
        "matching-frequency": 0.3262,
    },
    "sine_net": {
        "frequency-ach": 0.4333,
        "frequency-noise": 0.4284,
        "frequency-rg": 0.5388,
        "frequency-yv": 0.5892,
        "luminance": 0.5571,
        "area": 0.9277,
        "masking-coherent": 0.4802,
        "masking-incoherent": 0.6591,
        "matching-frequency": 0.3342,
    },
    "blur_and_difference": {
        "frequency-ach": 0.3867,
        "frequency-noise": 0.5820,
        "frequency-rg": 0.6801,
        "frequency-yv": 0.8343,
        "luminance": 0.5342,
        "area": 0.6194,
        "masking-coherent": 0.5064,
        "masking-incoherent": 0.6782,
        "matching-frequency": 0.3663,
    },
}


@pytest.mark.parametrize("function", [conv_net, sine_net, blur_and_difference])
def test_observers_that_are_not_linear_keep_their_published_scores(function) -> None:
    run = evaluate(
        observe(function, name=function.__name__), published=True, scores_only=True, progress=False
    )
    found = {result.test: result.score.value for result in run.scores() if result.main}
    assert found == pytest.approx(SCORES[function.__name__], abs=1e-3)
