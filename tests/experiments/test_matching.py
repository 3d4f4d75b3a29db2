"""Matching by response and by direct comparison."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fechner.experiments import FrequencyMatching, Presenter
from fechner.observers import observe
from fechner.scores import MatchingError, matching_panels
from fechner.scores.matching import matches
from fechner.stimuli import Display, Field, Frames, OctaveNoise
from fechner.suites import suite


@pytest.fixture(scope="module")
def experiment() -> FrequencyMatching:
    (found,) = (
        test.experiment
        for test in suite("encoders").build()
        if isinstance(test.experiment, FrequencyMatching) and test.by_default
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
    (piece,) = (each for each in experiment.pieces() if each.for_scores)
    shown: list[int] = []
    presenter = Presenter(ContrastMeter(), batch_size=32, on_images=shown.append)
    data = experiment.measure(piece, presenter).sel(layer="contrast", readout="difference")
    found, candidates = matches(data)
    assert sum(shown) >= piece.images
    # Gratings of 15 cpd and more rarely have a pixel on their peak: leave those out.
    error = np.log10(found[:, :6] / data["reference"].values[:, None])
    step = np.log10(experiment.contrasts[1] / experiment.contrasts[0])
    # Between the contrasts of the grid, too, which are a tenth of a decade apart.
    assert np.abs(error).max() < (0.02 if by == "response" else step / 4 + 0.01)
    assert (candidates[:, :6] == 1).all()


def test_the_way_to_match_is_an_option_of_both_suites() -> None:
    for name in ("encoders", "metrics"):
        for by in ("response", "direct"):
            tests = suite(name).build(match=by)
            (found,) = (t.experiment for t in tests if t.id == "matching-frequency")
            assert found.by == by
            assert ("differs least" in found.method) == (by == "direct")


# Curves of figures


@pytest.fixture(scope="module")
def coarse(experiment: FrequencyMatching) -> FrequencyMatching:
    """A field of few pixels that holds 15 cycles per degree, and a whole cycle of the lowest."""
    return replace(experiment, scene=replace(experiment.scene, field=Field(128, 128, 30.0)))


def test_curves_are_no_part_of_what_is_scored(coarse: FrequencyMatching) -> None:
    match, *curves = coarse.pieces()
    assert match.for_scores
    assert not any(piece.for_scores for piece in curves)
    assert sum(piece.stop - piece.start for piece in curves) == 25
    assert sum(piece.images for piece in curves) == 25 * 33
    assert len({piece.name for piece in (match, *curves)}) == 6


@pytest.mark.parametrize("by", ["response", "direct"])
def test_curves_lie_between_the_scored_matches(coarse: FrequencyMatching, by: str) -> None:
    coarse = replace(coarse, by=by)
    match, *curves = coarse.pieces()
    presenter = Presenter(ContrastMeter(), batch_size=32)
    low, high = curves[1], curves[-1]
    scored = coarse.measure(match, presenter)
    for piece in (low, high):
        together = scored.merge(coarse.measure(piece, presenter), combine_attrs="override")
        (panel,) = matching_panels(coarse, together.isel(layer=0, readout=0))
        observed = [line for line in panel.marks if not line.human]
        assert len(observed) == 8
        for line, contrast in zip(observed, scored["reference"].values, strict=True):
            assert (np.diff(line.x) > 0).all()
            assert line.x[line.marked].tolist() == scored["frequency"].values.tolist()
            between = line.x[~line.marked]
            assert len(between) == 5
            shown = between <= 15
            assert shown.all() if piece is low else not shown.all()
            # What pixels cannot hold is a gap.
            assert np.isnan(line.y[~line.marked][~shown]).all()
            if piece is low:
                error = np.log10(line.y[~line.marked] / contrast)
                assert np.abs(error).max() < 0.035


def test_frequencies_that_pixels_cannot_hold_are_not_shown(coarse: FrequencyMatching) -> None:
    last = coarse.pieces()[-1]
    shown: list[int] = []
    presenter = Presenter(ContrastMeter(), batch_size=32, on_images=shown.append)
    data = coarse.measure(last, presenter)
    held = int((data["curve_frequency"] <= 15).sum())
    assert 0 < held < 5
    assert sum(shown) == held * 33 + 1  # and the uniform field


class RmsMeter(ContrastMeter):
    """Sees the RMS contrast of anything."""

    def contrast(self, frames: Frames) -> torch.Tensor:
        luminance = frames.luminance().double()
        return luminance.flatten(1).std(dim=1, correction=0)


def measured(experiment: FrequencyMatching):
    piece = experiment.pieces()[0]
    return experiment.measure(piece, Presenter(RmsMeter(), batch_size=32))


def test_noise_is_matched_by_its_rms_contrast(experiment: FrequencyMatching) -> None:
    noise = replace(experiment, pattern=OctaveNoise(5.0))
    _, references, matched = experiment.human_matches()
    _, rms, matched_rms = noise.human_matches()
    np.testing.assert_allclose(rms, references / np.sqrt(2))
    np.testing.assert_allclose(matched_rms, matched / np.sqrt(2))
    assert all(
        isinstance(layer.pattern, OctaveNoise)
        for row in noise.samples()
        for sample in row
        for layer in sample.stimulus.layers
    )
    data = measured(noise).isel(layer=0, readout=0)
    found, _ = matches(data)
    # The band around 25 cpd aliases; noise of 0.45 and more loses over 1 % of its pixels.
    assert np.isnan(found[:, -1]).all()
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1:, :-1], np.tile(rms[1:, None], 8), rtol=0.02)


def test_what_the_display_cannot_show_is_left_out_and_named(experiment: FrequencyMatching) -> None:
    """At 10 cd/m2 under 4 cd/m2 of reflection, contrasts up to 0.6 can be shown."""
    room = Display("room", 100.0, ambient_lux=400 * np.pi, reflectivity=0.01)
    shown = replace(experiment, scene=replace(experiment.scene, display=room))
    data = measured(shown)
    kept = np.array(shown.contrasts) <= 0.6
    assert (data["dropped"].values == 0).all(axis=0).tolist() == kept.tolist()
    assert np.isnan(data["response"].values[:, ~kept]).all()
    assert data["dropped_reference"].values.tolist() == [2, 0, 0, 0, 0, 0, 0, 0]
    score, *_ = MatchingError(0.5)(data)
    assert score.n == 63
    assert "1 of 8 references left out: out-of-gamut" in score.note
    assert score.low < score.value < score.high


def test_nothing_can_be_matched_on_a_display_that_is_too_dim(experiment: FrequencyMatching) -> None:
    dim = replace(experiment.scene, display=Display("dim", 8.0))
    for score in MatchingError(0.5)(measured(replace(experiment, scene=dim))):
        assert np.isnan([score.value, score.low, score.high]).all()
        assert "not computable" in score.note
