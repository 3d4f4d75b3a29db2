"""Contrast sensitivity from answers of simulated observers."""

import numpy as np
import pytest
import xarray as xr

from fechner.human import standard_spatial_observer
from fechner.scores import ContrastSensitivity, SensitivityPanels, distance
from fechner.scores.sensitivity import correlation, curve_peak
from fechner.scores.statistics import wilson
from fechner.suites import suite

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
    assert 10**-found.curve.log10 == pytest.approx(HUMAN, rel=0.1)
    low, high = found.band
    inside = (low <= 1 / HUMAN) & (high >= 1 / HUMAN)
    assert inside.mean() > 0.7


def test_a_scaled_observer_has_the_shape_but_not_the_size() -> None:
    found = scores(answers(HUMAN * 5))
    assert found["csf-correlation"].value > 0.98
    assert found["csf-rmse-log10"].value == pytest.approx(np.log10(5), abs=0.03)


def test_the_published_fit() -> None:
    """Without guesses and lapses both agree; with a bias, a fit that knows none is misled."""
    found = scores(answers(HUMAN * 3, guess=0.0, lapse=0.0), published=True)
    assert found["csf-correlation"].value > 0.98
    assert found["csf-rmse-log10"].value == pytest.approx(np.log10(3), abs=0.05)
    # A fit without a posterior and a single prompt leave nothing to resample.
    alone = scores(answers(HUMAN * 3, guess=0.0, lapse=0.0, prompts=1, grey=0.02), published=True)
    assert np.isnan([alone["csf-correlation"].low, alone["csf-correlation"].high]).all()
    assert alone["csf-correlation"].n == 9
    misled = scores(answers(HUMAN * 3, guess=0.4, lapse=0.0), published=True)
    assert abs(misled["csf-rmse-log10"].value - np.log10(3)) > 0.1


def test_a_yes_biased_observer_is_corrected() -> None:
    found = scores(answers(HUMAN * 3, guess=0.4))
    assert found["csf-rmse-log10"].value == pytest.approx(np.log10(3), abs=0.05)
    assert found["false-alarms"].value == pytest.approx(0.4, abs=0.06)


def test_thresholds_below_a_grey_level_count_at_their_bound() -> None:
    """People who see what a file cannot hold are people as far as the file goes."""
    data = answers(HUMAN, grey=0.0125).isel(layer=0, readout=0)
    scorer = ContrastSensitivity()
    found = scorer.measured(data)
    assert (found.known == (HUMAN > 0.0125)).mean() > 0.8
    assert found.usable.all()
    bound = HUMAN < 0.01
    assert (found.censored[bound] == "below").all()
    assert 10 ** -found.curve.log10[bound] == pytest.approx(0.0125)
    assert found.of_people(found.human)[bound] == pytest.approx(1 / 0.0125)
    assert "below one grey level (contrast 0.013)" in found.note or "0.012" in found.note
    main = scores(answers(HUMAN, grey=0.0125))["csf-correlation"]
    assert main.value > 0.98
    assert main.n == main.of == 9
    assert "frequencies at a bound" in main.note


def test_bands_at_a_bound_are_not_left_out() -> None:
    """An observer that sees best what people see worst is not human in the bands that remain."""
    thresholds = np.where(FREQUENCIES > 7, 1e-5, HUMAN * 3)
    data = answers(thresholds, grey=0.0125)
    main = scores(data)["csf-correlation"]
    assert scores(data.isel(point=slice(6)))["csf-correlation"].value > 0.95
    assert main.value < 0.2
    assert main.n == 9
    assert "3 of 9 frequencies at a bound" in main.note


def test_size_stands_beside_shape() -> None:
    """An observer 12 times less sensitive than people has their shape, and is not human."""
    found = scores(answers(HUMAN * 12))
    main, size = found["csf-correlation"], found["csf-gain-log10"]
    assert main.value > 0.98
    assert size.value == pytest.approx(np.log10(12), abs=0.03)
    assert "x less sensitive than people" in size.note
    assert main.beside == size
    assert distance(main) == pytest.approx((1 - main.value + size.value / size.chance) / 2)
    assert distance(main) > 0.25
    human = scores(answers(HUMAN))["csf-correlation"]
    assert distance(human) < 0.02


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
    assert main.low < main.value <= main.high
    assert scores(answers(HUMAN * 2))["csf-correlation"].resampled == "prompts"


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [1, 2, 5, 25])
def test_intervals_hold_the_truth(prompts: int) -> None:
    """Scores of the true curve lie in intervals as often as they say, or a little more often.

    Prompts differ in threshold, by a factor and at single frequencies.
    """
    generator = np.random.default_rng(5)
    truth = HUMAN * 2 ** generator.normal(0, 0.7, 9)
    names = ("csf-correlation", "csf-correlation-log", "csf-gain-log10", "csf-rmse-log10")
    held = dict.fromkeys(names, 0)
    experiments = 100
    for seed in range(experiments):
        generator = np.random.default_rng([prompts, seed])
        apart = generator.normal(0, 0.1, prompts) + generator.normal(0, 0.05, (9, prompts))
        own = truth[:, None] * 10 ** (apart if prompts > 1 else 0 * apart)
        parts = [answers(own[:, p], prompts=1, draws=4, seed=seed * 25 + p) for p in range(prompts)]
        found = scores(xr.concat(parts, "prompt", data_vars="minimal", coords="minimal"))
        for name, expected in zip(
            names,
            (
                correlation(1 / truth, 1 / HUMAN),
                correlation(-np.log10(truth), -np.log10(HUMAN)),
                abs(np.log10(truth / HUMAN).mean()),
                np.sqrt((np.log10(truth / HUMAN) ** 2).mean()),
            ),
            strict=True,
        ):
            held[name] += found[name].low <= expected <= found[name].high
    assert all(share >= 0.9 * experiments for share in held.values()), held


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
    (test,) = (each for each in suite("verbal").build() if each.id == "detection")
    scorer = ContrastSensitivity()
    panels = SensitivityPanels(scorer)(test.experiment, answers(HUMAN).isel(layer=0, readout=0))
    by_kind = {panel.kind: panel for panel in panels}
    kinds = ["csf", "share of yes", "psychometric functions", "d-prime", "wording"]
    assert list(by_kind) == kinds
    functions = [panel for panel in panels if panel.kind == "psychometric functions"]
    assert [panel.name for panel in functions] == [f"{x:.3g} cycles/degree" for x in FREQUENCIES]
    half, points, fitted = functions[3].marks
    assert half.y.tolist() == [0.5, 0.5]
    assert points.names[-1] == "39 of 40"
    assert (points.low <= points.y).all()
    # The function goes through its points, guesses included.
    drawn = np.interp(np.log(points.x), np.log(fitted.x), fitted.y)
    assert np.abs(drawn - points.y).mean() < 0.05
    assert fitted.y[0] == pytest.approx(points.y[points.x < 0.003].mean(), abs=0.02)
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
    own, published = ContrastSensitivity(), ContrastSensitivity(published=True)
    curves = [each.pooled(each.measured(data), 3, x).probability for each in (own, published)]
    assert np.abs(curves[0] - curves[1]).max() < 0.1
    yes, no = (data.assign(yes=data["yes"] * 0 + said) for said in (1, 0))
    for answered, expected in ((yes, 1.0), (no, 0.0)):
        drawn = published.pooled(published.measured(answered), 0, x)
        assert drawn.probability.tolist() == [expected] * 30


def test_bounds_alone_make_no_curve() -> None:
    """Contrasts that a display clips differ by frequency, and so would bounds."""
    data = answers(np.full(9, 100.0), guess=0.1)
    clipped = np.linspace(1, 0.5, 9)[:, None, None, None, None]
    found = scores(data.assign(contrast=data["contrast"] * clipped))
    for name in ("csf-correlation", "csf-rmse", "castle-correlation"):
        assert np.isnan(found[name].value)
        assert "too few points" in found[name].note
    assert "peak" not in found["csf-correlation"].note


@pytest.mark.parametrize("said", [0.0, 1.0])
def test_whoever_always_says_the_same_is_told(said: float) -> None:
    data = answers(HUMAN)
    found = scores(data.assign(yes=data["yes"] * 0 + said))
    assert "answered the same to every stimulus" in found["csf-correlation"].note


def test_without_valid_replies_there_are_no_functions() -> None:
    (test,) = (each for each in suite("verbal").build() if each.id == "detection")
    data = answers(HUMAN)
    silent = data.assign(yes=data["yes"] * np.nan).isel(layer=0, readout=0)
    panels = SensitivityPanels(ContrastSensitivity())(test.experiment, silent)
    assert [panel.kind for panel in panels] == ["csf"]


def test_shapes_and_small_numbers() -> None:
    x = np.geomspace(0.5, 32, 30)
    assert curve_peak(x, standard_spatial_observer(x)) == pytest.approx(3.054, rel=0.03)
    assert wilson(0, 10)[0] == pytest.approx(0, abs=1e-12)
    assert correlation(np.ones(4), np.arange(4.0)) != correlation(np.ones(4), np.arange(4.0))
