"""Contrast sensitivity from answers of simulated observers."""

import numpy as np
import pytest
import xarray as xr

from fechner.human import standard_spatial_observer
from fechner.scores import ContrastSensitivity, SensitivityPanels
from fechner.scores.rates import wilson
from fechner.scores.sensitivity import correlation, curve_shape
from fechner.suites import Options, suite

FREQUENCIES = np.geomspace(0.5, 20, 9)
HUMAN = 1 / standard_spatial_observer(FREQUENCIES)


def answers(
    thresholds: np.ndarray,
    *,
    prompts: int = 4,
    draws: int = 10,
    guess: float = 0.05,
    lapse: float = 0.02,
    slope: float = 3.0,
    grey: float = 0.0,
    contrasts: np.ndarray | None = None,
    invalid: float = 0.0,
    seed: int = 0,
) -> xr.Dataset:
    generator = np.random.default_rng(seed)
    if contrasts is None:
        contrasts = np.concatenate([[0.0], np.geomspace(0.001, 0.8, 30)])
    level = np.repeat(np.arange(len(contrasts)), draws)
    shape = (len(thresholds), prompts, len(level), 1, 1)
    ratio = contrasts[level] / thresholds[:, None]
    chance = guess + (1 - lapse - guess) * (1 - 0.5 ** (ratio**slope))
    yes = (generator.random(shape) < chance[:, None, :, None, None]).astype(float)
    yes[generator.random(shape) < invalid] = np.nan
    dims = ("point", "prompt", "trial", "layer", "readout")
    x = FREQUENCIES[: len(thresholds)]
    return xr.Dataset(
        {
            "yes": (dims, yes),
            "level": (dims, np.broadcast_to(level[:, None, None], shape).astype(np.int16)),
            "contrast": (dims, np.broadcast_to(contrasts[level][:, None, None], shape)),
        },
        coords={
            "abscissa": ("point", x, {"name": "frequency_cpd"}),
            "human_threshold": ("point", 1 / standard_spatial_observer(x)),
            "castle_threshold": ("point", 1.2 / standard_spatial_observer(x)),
            "dropped": ("point", np.zeros(len(x), np.uint8), {"meanings": "kept aliased"}),
            "prompt": ("prompt", [f"prompt {i}" for i in range(prompts)]),
            "layer": ("layer", ["reply"]),
            "readout": ("readout", ["choice"]),
        },
        attrs={"grey_level": grey, "reads": "questions"},
    )


def scores(data: xr.Dataset, **options) -> dict:
    return {score.name: score for score in ContrastSensitivity(**options)(data)}


def test_a_human_observer_is_human() -> None:
    found = scores(answers(HUMAN, prompts=8))
    assert found["csf-correlation"].value > 0.99
    assert found["csf-rmse-log10"].value < 0.03
    assert found["castle-rmse-log10"].value == pytest.approx(np.log10(1.2), abs=0.03)
    assert found["false-alarms"].value == pytest.approx(0.05, abs=0.03)
    assert found["invalid-replies"].value == 0
    for score in found.values():
        assert not score.low > score.value
        assert not score.high < score.value


def test_thresholds_are_those_of_the_observer() -> None:
    scorer = ContrastSensitivity()
    found = scorer.measured(answers(HUMAN, prompts=8).isel(layer=0, readout=0))
    error = found.log10.mean(axis=1) - np.log10(HUMAN)
    assert np.abs(error).max() < 0.04
    assert 1 / scorer.curve(found) == pytest.approx(HUMAN, rel=0.1)
    low, high = scorer.band(found)
    inside = (low <= 1 / HUMAN) & (high >= 1 / HUMAN)
    assert inside.mean() > 0.7


def test_a_scaled_observer_has_the_shape_but_not_the_size() -> None:
    found = scores(answers(HUMAN * 5))
    assert found["csf-correlation"].value > 0.98
    assert found["csf-rmse-log10"].value == pytest.approx(np.log10(5), abs=0.03)


def test_the_published_fit() -> None:
    """Without guesses and lapses both agree; with a bias, a fit that knows none is misled."""
    published = {"by_likelihood": True, "arithmetic": True}
    found = scores(answers(HUMAN * 3, guess=0.0, lapse=0.0), **published)
    assert found["csf-correlation"].value > 0.98
    assert found["csf-rmse-log10"].value == pytest.approx(np.log10(3), abs=0.05)
    # A fit without a posterior and a single prompt leave nothing to resample.
    alone = scores(answers(HUMAN * 3, guess=0.0, lapse=0.0, prompts=1, grey=0.02), **published)
    assert np.isnan([alone["csf-correlation"].low, alone["csf-correlation"].high]).all()
    assert alone["csf-correlation"].n == 9
    misled = scores(answers(HUMAN * 3, guess=0.4, lapse=0.0), **published)
    assert abs(misled["csf-rmse-log10"].value - np.log10(3)) > 0.1


def test_a_yes_biased_observer_is_corrected() -> None:
    found = scores(answers(HUMAN * 3, guess=0.4))
    assert found["csf-rmse-log10"].value == pytest.approx(np.log10(3), abs=0.05)
    assert found["false-alarms"].value == pytest.approx(0.4, abs=0.06)


def test_thresholds_below_a_grey_level_are_not_fitted() -> None:
    data = answers(HUMAN, grey=0.0125).isel(layer=0, readout=0)
    scorer = ContrastSensitivity()
    found = scorer.measured(data)
    assert (found.usable == (HUMAN > 0.0125)).mean() > 0.8
    assert (found.censored[HUMAN < 0.01] == "below").all()
    assert "below one grey level (contrast 0.013)" in found.note or "0.012" in found.note


def test_an_observer_that_sees_nothing() -> None:
    found = scores(answers(np.full(9, 1e6), guess=0.0))
    main = found["csf-correlation"]
    assert np.isnan(main.value)
    assert "answered the same" in main.note
    assert "above all tested contrasts" in main.note


def test_a_rate_of_nothing_is_not_certain() -> None:
    rate = scores(answers(HUMAN * 3, guess=0.0))["false-alarms"]
    assert rate.value == rate.low == 0
    assert 0 < rate.high < 0.05


def test_invalid_replies_are_counted_and_left_out() -> None:
    found = scores(answers(HUMAN * 3, invalid=0.2))
    assert found["invalid-replies"].value == pytest.approx(0.2, abs=0.02)
    assert found["csf-correlation"].value > 0.95


def test_one_prompt_has_intervals_over_trials() -> None:
    main = scores(answers(HUMAN * 2, prompts=1))["csf-correlation"]
    assert main.resampled == "trials"
    assert main.low < main.value < main.high
    assert scores(answers(HUMAN * 2))["csf-correlation"].resampled == "prompts"


def test_intervals_hold_the_truth() -> None:
    """The correlation of the true curve lies in the interval about as often as it says."""
    generator = np.random.default_rng(5)
    truth = HUMAN * 2 ** generator.normal(0, 0.7, 9)
    expected = correlation(1 / truth, 1 / HUMAN)
    inside = 0
    for seed in range(20):
        data = answers(truth, prompts=6, draws=5, seed=seed)
        main = scores(data)["csf-correlation"]
        inside += main.low <= expected <= main.high
    assert inside >= 16


def test_comparing_two_observers() -> None:
    scorer = ContrastSensitivity()
    first, second = (
        answers(thresholds).isel(layer=0, readout=0) for thresholds in (HUMAN, HUMAN[::-1].copy())
    )
    a, b = scorer.shared(first, second)
    assert a.sizes["point"] == b.sizes["point"] == 9
    human, odd = scorer.resample(a), scorer.resample(b)
    assert human.clusters.tolist() == odd.clusters.tolist()
    assert human.score.value > odd.score.value
    assert scorer.printed(0.86, None).value == 0.86


def test_panels() -> None:
    (test,) = (each for each in suite("verbal").tests(Options()) if each.id == "detection")
    scorer = ContrastSensitivity()
    panels = SensitivityPanels(scorer)(test.experiment, answers(HUMAN).isel(layer=0, readout=0))
    by_kind = {panel.kind: panel for panel in panels}
    kinds = ["csf", "share of yes", "psychometric functions", "d-prime", "wording"]
    assert list(by_kind) == kinds
    functions = by_kind["psychometric functions"]
    assert functions.ordered
    labels = [mark.label for mark in functions.marks if mark.label]
    assert labels == [f"{x:.3g}" for x in FREQUENCIES]
    assert [mark.label for mark in by_kind["d-prime"].marks] == ["0.02", "0.1", "0.5"]
    everywhere, near = by_kind["wording"].marks
    own = scores(answers(HUMAN))
    names = ("prompt-entropy", "prompt-consistency", "draw-consistency")
    assert everywhere.y.tolist() == [own[name].value for name in names]
    assert near.low.tolist() == [own[f"{name}-near"].low for name in names[:2]]


def test_curves_are_drawn_however_they_were_fitted() -> None:
    """Published fits have no guesses and lapses, and whoever only says yes has no threshold."""
    data = answers(10 * HUMAN, guess=0.0, lapse=0.0).isel(layer=0, readout=0)
    x = np.geomspace(0.001, 0.8, 30)
    curves = []
    for by_likelihood in (False, True):
        scorer = ContrastSensitivity(by_likelihood=by_likelihood)
        curves.append(scorer.fitted(scorer.measured(data), 3, x))
    assert np.abs(curves[0] - curves[1]).max() < 0.1
    scorer = ContrastSensitivity(by_likelihood=True)
    yes, no = (data.assign(yes=data["yes"] * 0 + said) for said in (1, 0))
    assert scorer.fitted(scorer.measured(yes), 0, x).tolist() == [1.0] * 30
    assert scorer.fitted(scorer.measured(no), 0, x).tolist() == [0.0] * 30


def test_bounds_alone_make_no_curve() -> None:
    """Contrasts that a display clips differ by frequency, and so would bounds."""
    data = answers(np.full(9, 100.0), guess=0.1)
    clipped = np.linspace(1, 0.5, 9)[:, None, None, None, None]
    found = scores(data.assign(contrast=data["contrast"] * clipped))
    for name in ("csf-correlation", "csf-rmse", "castle-correlation"):
        assert np.isnan(found[name].value)
        assert "too few points" in found[name].note
    assert "peak" not in found["csf-correlation"].note


def test_the_peak_is_not_among_what_is_left() -> None:
    data = answers(np.where(FREQUENCIES > 3, 1e-5, 0.1))
    note = scores(data)["csf-correlation"].note
    assert "most sensitive at 3.2 to 20, which the score leaves out" in note


@pytest.mark.parametrize("said", [0.0, 1.0])
def test_whoever_always_says_the_same_is_told(said: float) -> None:
    data = answers(HUMAN)
    found = scores(data.assign(yes=data["yes"] * 0 + said))
    assert "answered the same to every stimulus" in found["csf-correlation"].note


def test_without_valid_replies_there_are_no_functions() -> None:
    (test,) = (each for each in suite("verbal").tests(Options()) if each.id == "detection")
    data = answers(HUMAN)
    silent = data.assign(yes=data["yes"] * np.nan).isel(layer=0, readout=0)
    panels = SensitivityPanels(ContrastSensitivity())(test.experiment, silent)
    assert [panel.kind for panel in panels] == ["csf"]


def test_shapes_and_small_numbers() -> None:
    x = np.geomspace(0.5, 32, 30)
    peak, low, high = curve_shape(x, standard_spatial_observer(x))
    assert peak == pytest.approx(3.054, rel=0.03)
    assert (low, high) == (pytest.approx(1.184, rel=0.03), pytest.approx(8.657, rel=0.03))
    assert wilson(0, 10)[0] == pytest.approx(0, abs=1e-12)
    assert correlation(np.ones(4), np.arange(4.0)) != correlation(np.ones(4), np.arange(4.0))
