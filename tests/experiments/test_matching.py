"""Matching by response and by direct comparison."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fechner.experiments import ColourMatching, FrequencyMatching, Presenter, Scene
from fechner.observers import Wants, observe
from fechner.scores import MatchingError, matching_panels
from fechner.scores.matching import matches
from fechner.stimuli import OPPONENT, Display, Field, Frames, OctaveNoise, display, gamut_limit
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


SCENE = Scene(Field(32, 32, 16.0), display("metrics"), OPPONENT)
EXPERIMENT = ColourMatching("c", "C", "switkes_crognale1999", SCENE, (0.01, 0.05, 0.2))


def distance(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return (test - reference).abs().mean(dim=(1, 2, 3))


def measure(experiment: ColourMatching, light: str = "cdm2"):
    observer = observe(distance, name="distance", wants=Wants(light=light, dtype="float64"))
    (piece,) = experiment.pieces()
    return experiment.measure(piece, Presenter(observer, batch_size=4))


def test_amplitudes_are_in_the_ratio_that_people_set() -> None:
    data = measure(EXPERIMENT)
    assert data["direction"].values.tolist() == ["ach", "rg", "yv"]
    np.testing.assert_allclose(
        data["amplitude"].values / data["contrast"].values[:, None],
        np.tile([1, 0.610649, 4.203636], (3, 1)),
        rtol=1e-6,
    )
    assert EXPERIMENT.needs == ("colour",)
    assert data["response"].shape == (3, 3, 1, 1)


def test_gratings_are_square_and_horizontal() -> None:
    layer = EXPERIMENT._grating("rg", 0.1).layers[0]
    drawn = layer.pattern.draw(SCENE.field).expand(32, 32)
    assert set(drawn.unique().tolist()) == {-1.0, 1.0}
    assert (drawn == drawn[:, :1]).all()
    # 16 pixels per degree: one cycle in 16 rows.
    assert (drawn[:8] == -drawn[8:16]).all()


def test_responses_to_light_are_proportional_to_contrast() -> None:
    # A square wave of light asked for in cd/m2: the mean absolute difference is its amplitude.
    responses = measure(EXPERIMENT)["response"].values[..., 0, 0]
    np.testing.assert_allclose(responses / responses[:1], np.tile([[1], [5], [20]], 3), rtol=1e-9)


def test_contrasts_that_one_direction_cannot_show_are_left_out_and_named() -> None:
    beyond = replace(EXPERIMENT, contrasts=(0.05, 0.3))
    data = measure(beyond)
    assert data["dropped"].values.tolist() == [0, 2]
    assert data["dropped"].attrs["meanings"].split()[2] == "out-of-gamut"
    assert np.isfinite(data["response"].values[0]).all()
    assert np.isnan(data["response"].values[1]).all()
    shown = measure(replace(beyond, drop=False))
    assert np.isfinite(shown["response"].values).all()
    assert shown["dropped"].values.tolist() == [0, 0]


def test_samples_have_a_column_for_each_direction() -> None:
    rows = replace(EXPERIMENT, contrasts=tuple(np.geomspace(0.01, 0.2, 10))).samples()
    assert [[sample.x for sample in row] for row in rows] == [
        ["achromatic", "red-green", "yellow-violet"]
    ] * len(rows)
    assert [sample.at for sample in rows[0]] == [0.0, 1.0, 2.0]
    strengths = [row[0].stimulus.layers[0].contrast for row in rows]
    assert strengths == sorted(strengths, reverse=True)


@pytest.mark.parametrize("words", ["achromatic 1", "red-green 0.6106", "Horizontal square-wave"])
def test_the_method_says_what_is_shown(words: str) -> None:
    assert words in EXPERIMENT.method


def test_matches_are_sought_up_to_the_end_of_the_gamut() -> None:
    data = measure(replace(EXPERIMENT, levels=9))
    sought = data["sought_amplitude"].values
    assert data["chromatic"].values.tolist() == ["rg", "yv"]
    assert sought[:, 0] == pytest.approx([0.000610649, 0.004203636], rel=1e-6)
    modulations = [OPPONENT.modulation_xyz(d, 21.4) for d in ("rg", "yv")]
    limits = [gamut_limit(SCENE.display, OPPONENT.background_xyz(21.4), m) for m in modulations]
    assert sought[:, -1] == pytest.approx(limits, rel=1e-9)
    # Light is proportional to contrast, so the response to light is too, up to the very end.
    responses = data["sought_response"].values[..., 0, 0]
    np.testing.assert_allclose(responses / responses[:, :1], sought / sought[:, :1], rtol=1e-6)
    assert sum(piece.images for piece in EXPERIMENT.pieces()) == 3 * 3 + 2 * 33


def test_no_match_is_sought_in_the_published_protocol() -> None:
    data = measure(replace(EXPERIMENT, levels=0))
    assert "sought_response" not in data
    assert data["response"].shape == (3, 3, 1, 1)
