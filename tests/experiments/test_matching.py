"""Matching by response and by direct comparison."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fechner.experiments import FrequencyMatching, Presenter
from fechner.observers import observe
from fechner.scores.matching import matches
from fechner.stimuli import Frames
from fechner.suites import Options, suite


@pytest.fixture(scope="module")
def experiment() -> FrequencyMatching:
    (found,) = (
        test.experiment
        for test in suite("encoders").tests(Options())
        if isinstance(test.experiment, FrequencyMatching)
    )
    return found


class ContrastMeter:
    """Sees the contrast of a grating, at every frequency the same: perfect constancy."""

    name, fingerprint = "meter", "meter/1"
    wants = observe(lambda x: x).wants
    layers, readouts = ("contrast",), ("difference",)

    def contrast(self, frames: Frames) -> torch.Tensor:
        luminance = frames.luminance().double()
        return luminance.amax(dim=(1, 2)) - luminance.amin(dim=(1, 2))

    def remember(self, reference: Frames) -> torch.Tensor:
        return self.contrast(reference)

    def difference(self, test: Frames, memory: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
        return (self.contrast(test) - memory[which]).abs()[:, None, None]


@pytest.mark.parametrize("by", ["response", "direct"])
def test_constancy_matches_the_reference_contrast(experiment: FrequencyMatching, by: str) -> None:
    experiment = replace(experiment, by=by)
    (piece,) = experiment.pieces()
    shown: list[int] = []
    presenter = Presenter(ContrastMeter(), batch_size=32, on_images=shown.append)
    data = experiment.measure(piece, presenter).sel(layer="contrast", readout="difference")
    found, candidates = matches(data)
    assert sum(shown) >= piece.images
    # Gratings of 15 cpd and more rarely have a pixel on their peak: leave those out.
    error = np.log10(found[:, :6] / data["reference"].values[:, None])
    step = np.log10(experiment.contrasts[1] / experiment.contrasts[0])
    assert np.abs(error).max() < (0.02 if by == "response" else step / 2 + 0.02)
    assert (candidates[:, :6] == 1).all()
