"""Alignment of observers whose answers are known, on data as the experiment returns it."""

import re
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from fechner.experiments.detection import REASONS
from fechner.scores import Alignment, Score
from fechner.scores.alignment import Spearman, weighted_ranks

RATIOS = np.geomspace(0.5, 2, 10)
FREQUENCIES = np.geomspace(0.5, 32, 20)
CONTRASTS = np.geomspace(0.001, 1, 20)
Response = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of abscissa and contrast


def human(frequency: np.ndarray) -> np.ndarray:
    """A contrast sensitivity of 200 at 4 cpd, falling on both sides."""
    return 0.005 * np.exp(0.25 * np.log2(frequency / 4) ** 2)


def measured(
    responses: np.ndarray,
    abscissae: np.ndarray = FREQUENCIES,
    thresholds: np.ndarray | None = None,
    over: str = "frequency_cpd",
    dropped: np.ndarray | None = None,
    readouts: list[str] | None = None,
) -> xr.Dataset:
    """Score pieces of `NearThreshold`; responses are [point, ratio] or [..., read-out]."""
    responses = responses[:, :, None, None] if responses.ndim == 2 else responses[:, :, None]
    thresholds = human(abscissae) if thresholds is None else thresholds
    contrasts = thresholds[:, None] * RATIOS
    flags = np.zeros(contrasts.shape, np.uint8) if dropped is None else dropped
    return xr.Dataset(
        {
            "response": (("point", "ratio", "layer", "readout"), responses),
            "contrast": (("point", "ratio"), contrasts, {"unit": "dkl"}),
            "dropped": (("point", "ratio"), flags, {"meanings": " ".join(REASONS)}),
        },
        coords={
            "abscissa": ("point", abscissae, {"name": over}),
            "human_threshold": ("point", thresholds, {"unit": "dkl"}),
            "ratio": ("ratio", RATIOS),
            "layer": ("layer", ["output"]),
            "readout": ("readout", readouts or ["angle"]),
        },
    )


def whole(response: Response, over: str = "frequency_cpd", **given: np.ndarray) -> xr.Dataset:
    """Score and surface pieces for an observer that is a function of abscissa and contrast."""
    contrasts = human(FREQUENCIES)[:, None] * RATIOS
    data = measured(response(FREQUENCIES[:, None], contrasts), over=over, **given)
    surface = response(FREQUENCIES[:, None], CONTRASTS[None, :])
    return data.assign(
        {"surface": (("x", "y", "layer", "readout"), surface[:, :, None, None])}
    ).assign_coords(
        {
            "surface_abscissa": ("x", FREQUENCIES, {"name": over}),
            "surface_contrast": ("y", CONTRASTS, {"unit": "dkl"}),
        }
    )


def only(data: xr.Dataset, error_db: float = 4.0) -> Score:
    (score,) = Alignment(error_db)(data)
    return score


def named(data: xr.Dataset, name: str) -> Score:
    (score,) = (score for score in Alignment(4.0)(data) if score.name == name)
    return score


# Known answers


@pytest.mark.parametrize(
    "monotone", [np.log, np.sqrt, lambda m: m**5, lambda m: 1e-9 * m / (1 + m)]
)
def test_a_response_to_the_multiple_alone_scores_one(monotone: Callable) -> None:
    score = only(measured(np.tile(monotone(RATIOS), (20, 1))))
    assert (score.value, score.low, score.high) == pytest.approx((1, 1, 1))
    assert score.n == 200
    assert (score.name, score.resampled, score.note) == ("alignment", "abscissae", "")
    assert (score.layer, score.readout) == ("output", "angle")
    assert (score.higher_is_better, score.best, score.chance) == (True, 1.0, 0.0)


def test_the_opposite_scores_minus_one() -> None:
    score = only(measured(np.tile(-RATIOS, (20, 1))))
    assert (score.value, score.low, score.high) == pytest.approx((-1, -1, -1))


def test_unrelated_answers_score_about_zero() -> None:
    generator = np.random.default_rng(0)
    readouts = [f"noise-{i}" for i in range(20)]
    responses = generator.standard_normal((20, 10, 20))
    scores = Alignment(4.0)(measured(responses, readouts=readouts))
    values = np.array([score.value for score in scores])
    # The standard error of a rank correlation of 200 points is 0.07.
    assert values.std() == pytest.approx(1 / np.sqrt(199), rel=0.4)
    assert np.abs(values).max() < 0.25
    assert sum(score.low <= 0 <= score.high for score in scores) >= 16


def test_the_value_is_that_of_scipy() -> None:
    generator = np.random.default_rng(1)
    responses = np.log(RATIOS) + generator.standard_normal((20, 1))
    score = only(measured(responses))
    assert score.value == pytest.approx(
        stats.spearmanr(np.tile(RATIOS, 20), responses.ravel()).statistic
    )
    assert score.low < score.value < score.high


def test_order_and_scale_of_answers_do_not_matter() -> None:
    generator = np.random.default_rng(2)
    responses = np.log(RATIOS) + generator.standard_normal((20, 1))
    base = only(measured(responses))
    assert only(measured(np.exp(3 * responses))) == base
    order = generator.permutation(20)
    moved = only(measured(responses[order], FREQUENCIES[order]))
    assert moved.value == pytest.approx(base.value)
    # The interval depends on the order by chance only.
    assert (moved.low, moved.high) == pytest.approx((base.low, base.high), abs=0.03)


def test_layers_and_read_outs_are_scored_one_by_one() -> None:
    responses = np.stack([np.tile(sign * RATIOS, (20, 1)) for sign in (1, -1)], axis=2)
    data = measured(responses, readouts=["angle", "l2"])
    answers = data["response"].values
    data = data.drop_vars("response").assign_coords(layer=["early", "late"])
    both = data.assign(
        response=(("point", "ratio", "layer", "readout"), np.concatenate([answers, -answers], 2))
    )
    found = {(score.layer, score.readout): score.value for score in Alignment(4.0)(both)}
    assert found == {
        ("early", "angle"): pytest.approx(1),
        ("early", "l2"): pytest.approx(-1),
        ("late", "angle"): pytest.approx(-1),
        ("late", "l2"): pytest.approx(1),
    }


# Intervals


def simulated(observers: int, points: int, gain_sd: float, seed: int) -> np.ndarray:
    """Observers with a gain of their own at every abscissa: [point, ratio, observer]."""
    generator = np.random.default_rng(seed)
    gains = generator.normal(0, gain_sd, (points, 1, observers))
    noise = generator.normal(0, 0.05, (points, len(RATIOS), observers))
    return np.log(RATIOS)[:, None] + gains + noise


def population_value(gain_sd: float) -> float:
    """The score over endlessly many abscissae (here 20 000)."""
    responses = simulated(1, 20000, gain_sd, seed=100)[:, :, 0]
    return float(stats.spearmanr(np.tile(RATIOS, 20000), responses.ravel()).statistic)


def coverage(points: int, gain_sd: float, observers: int = 200) -> tuple[float, list[Score]]:
    responses = simulated(observers, points, gain_sd, seed=points)
    data = measured(
        responses,
        np.geomspace(0.5, 32, points),
        over="luminance_cdm2",
        readouts=[str(i) for i in range(observers)],
    )
    scores = Alignment(4.0)(data)
    truth = population_value(gain_sd)
    return float(np.mean([score.low <= truth <= score.high for score in scores])), list(scores)


@pytest.mark.parametrize("points", [8, 20])  # as many as masking and detection tests have
@pytest.mark.parametrize("gain_sd", [0.2, 0.5, 1.0])
def test_intervals_cover_the_population_value(points: int, gain_sd: float) -> None:
    covered, scores = coverage(points, gain_sd)
    assert covered >= 0.9
    # Not by being endless: within three times the spread over observers.
    ends = np.arctanh([[score.low, score.value, score.high] for score in scores])
    width = np.median(ends[:, 2] - ends[:, 0])
    assert width < 3 * 2 * 1.96 * ends[:, 1].std()


def test_the_error_of_the_human_curve_has_an_interval_of_its_own() -> None:
    generator = np.random.default_rng(3)
    data = measured(np.log(RATIOS) + generator.normal(0, 0.5, (20, 1)))
    scores = [only(data, error_db) for error_db in (0.0, 0.5, 4.0)]
    widths = [score.human_high - score.human_low for score in scores]
    assert widths[0] == pytest.approx(0, abs=1e-12)
    assert 0 < widths[1] < widths[2]
    for score in scores:
        assert score.human_low - 1e-12 <= score.value <= score.human_high + 1e-12
        assert (score.value, score.low, score.high) == (
            scores[0].value,
            scores[0].low,
            scores[0].high,
        )


def test_human_error_moves_whole_curves_points() -> None:
    # An error of e dB per abscissa spreads the score as gains of e dB do: simulated by hand.
    generator = np.random.default_rng(4)
    base = np.log(RATIOS) + generator.normal(0, 0.8, (20, 1))
    x = np.log(RATIOS) + np.log(10) / 20 * 4.0 * generator.standard_normal((400, 20, 1))
    spread = np.std([stats.spearmanr(row.ravel(), base.ravel()).statistic for row in x])
    score = only(measured(base), 4.0)
    assert score.human_high - score.human_low == pytest.approx(2 * 1.96 * spread, rel=0.2)


# What cannot be scored


def test_constant_answers() -> None:
    score = only(measured(np.full((20, 10), 0.25)))
    assert np.isnan([score.value, score.low, score.high]).all()
    assert "not computable: the observer answered the same to every stimulus" in score.note
    (alone,) = Alignment(4.0)(whole(lambda f, c: 0 * f * c))  # nothing else can be said either
    assert np.isnan(alone.value)


def test_points_left_out_are_counted_and_named() -> None:
    dropped = np.zeros((20, 10), np.uint8)
    dropped[18:] = REASONS.index("aliased")
    dropped[17, 7:] = REASONS.index("out-of-gamut")
    responses = np.tile(RATIOS, (20, 1))
    responses[dropped > 0] = np.nan
    score = only(measured(responses, dropped=dropped))
    assert score.value == pytest.approx(1)
    assert score.n == 177
    assert (
        score.note == "3 of 200 points left out: out-of-gamut; 20 of 200 points left out: aliased"
    )


def test_points_left_out_do_not_count() -> None:
    generator = np.random.default_rng(5)
    responses = np.log(RATIOS) + generator.normal(0, 0.5, (20, 1))
    dropped = np.zeros((20, 10), np.uint8)
    dropped[[3, 11]] = REASONS.index("noise-clipped")
    spoiled = responses.copy()
    spoiled[[3, 11]] = 1e6 * generator.standard_normal((2, 10))
    assert only(measured(spoiled, dropped=dropped)).value == pytest.approx(
        stats.spearmanr(
            np.tile(RATIOS, 18), np.delete(responses, [3, 11], axis=0).ravel()
        ).statistic
    )


def test_all_points_left_out() -> None:
    dropped = np.full((20, 10), REASONS.index("aliased"), np.uint8)
    score = only(measured(np.full((20, 10), np.nan), dropped=dropped))
    assert np.isnan(score.value)
    assert score.n == 0
    assert "200 of 200 points left out: aliased" in score.note


def test_too_few_frequencies_for_a_shift() -> None:
    dropped = np.full((20, 10), REASONS.index("aliased"), np.uint8)
    dropped[:2] = 0
    scores = Alignment(4.0)(whole(lambda f, c: c / human(f), dropped=dropped))
    assert scores[0].value > 0.998
    assert [score.name for score in scores] == ["alignment"]
    assert scores[0].n == 20


# Beside the rank correlation


def test_which_scores_there_are() -> None:
    def ideal(f: np.ndarray, c: np.ndarray) -> np.ndarray:
        return (c / human(f)) ** 2

    names = [score.name for score in Alignment(4.0)(whole(ideal))]
    assert names == ["alignment", "threshold-error-db", "alignment-best-shift"]
    names = [score.name for score in Alignment(4.0)(whole(ideal, over="luminance_cdm2"))]
    assert names == ["alignment", "threshold-error-db"]  # only frequency depends on the ppd


@pytest.mark.parametrize("gain", [1.0, 30.0])
@pytest.mark.parametrize("exponent", [0.7, 2.0])
def test_a_human_observer_has_no_threshold_error(gain: float, exponent: float) -> None:
    score = named(whole(lambda f, c: gain * (c / human(f)) ** exponent), "threshold-error-db")
    assert score.value == pytest.approx(0, abs=0.06)  # the criterion is interpolated
    assert not score.higher_is_better
    assert (score.best, score.n) == (0.0, 20)
    assert "human threshold of 0.005" in score.note


@pytest.mark.parametrize("exponent", [0.7, 1.0])
def test_threshold_errors_are_recovered(exponent: float) -> None:
    # An observer that loses 3 dB per octave above 4 cpd and 1 dB per octave below.
    def profile_db(f: np.ndarray) -> np.ndarray:
        octaves = np.log2(f / 4)
        return np.where(octaves > 0, 3.0 * octaves, -1.0 * octaves)

    def response(f: np.ndarray, c: np.ndarray) -> np.ndarray:
        return (c / (human(f) * 10 ** (profile_db(f) / 20))) ** exponent

    score = named(whole(response), "threshold-error-db")
    anchor = FREQUENCIES[np.argmin(human(FREQUENCIES))]
    errors = profile_db(FREQUENCIES) - profile_db(anchor)
    assert score.value == pytest.approx(np.sqrt(np.mean(errors**2)), abs=0.06)
    assert score.low < score.value < score.high


def test_threshold_errors_do_not_see_overall_sensitivity() -> None:
    # The criterion is the observer's own.
    def deaf(f: np.ndarray, c: np.ndarray) -> np.ndarray:
        return c / (20 * human(f))

    assert named(whole(deaf), "threshold-error-db").value == pytest.approx(0, abs=0.06)


def shift_of(score: Score) -> float:
    found = re.search(r"moved by ([+-]\d\.\d\d) octaves", score.note)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("octaves", [-0.75, -0.25, 0.0, 0.5, 1.0])
def test_the_size_of_a_shift_is_recovered(octaves: float) -> None:
    # An observer who sees as people do, had the pixels been smaller or larger.
    data = whole(lambda f, c: c / human(f / 2**octaves))
    score = named(data, "alignment-best-shift")
    assert abs(shift_of(score)) == pytest.approx(abs(octaves))
    assert score.value == pytest.approx(1, abs=0.01)
    assert score.low - 1e-3 <= score.value <= score.high + 1e-3
    if octaves:
        assert named(data, "alignment").value < 0.97


@pytest.mark.parametrize("octaves", [-0.75, 0.5])
def test_the_direction_of_a_shift_is_recovered(octaves: float) -> None:
    # The observer's best frequency lies `octaves` above the human one: so must the moved curve's.
    score = named(whole(lambda f, c: c / human(f / 2**octaves)), "alignment-best-shift")
    assert shift_of(score) == pytest.approx(octaves)


# Without a sign, as in Hammou et al. (2025)


def test_the_absolute_alignment_of_one_who_answers_less_to_more() -> None:
    rng = np.random.default_rng(4)
    responses = np.tile(np.log(RATIOS), (20, 1)) + 0.5 * rng.standard_normal((20, 10))
    with_sign, other = (Alignment(4.0)(measured(sign * responses))[0] for sign in (1, -1))
    assert other.value == pytest.approx(-with_sign.value)
    dropped, same = (
        Alignment(4.0, absolute=True)(measured(sign * responses))[0] for sign in (-1, 1)
    )
    assert dropped.value == same.value == with_sign.value
    assert (dropped.low, dropped.high) == pytest.approx((with_sign.low, with_sign.high))
    assert dropped.note == "absolute value: it answers less to more contrast"
    assert same.note == ""


def test_an_axis_that_begins_at_0_is_read_on_its_own_scale() -> None:
    hertz = np.linspace(0, 60, 20)
    thresholds = 0.003 * np.exp(((hertz - 8) / 40) ** 2)

    def response(at: np.ndarray, contrast: np.ndarray) -> np.ndarray:
        return contrast / (0.003 * np.exp(((at - 8) / 40) ** 2))

    contrasts = thresholds[:, None] * RATIOS
    data = measured(
        response(hertz[:, None], contrasts), hertz, thresholds, over="flicker_hz"
    ).assign(
        {
            "surface": (
                ("x", "y", "layer", "readout"),
                response(hertz[:, None], CONTRASTS[None, :])[:, :, None, None],
            )
        }
    )
    data = data.assign_coords(
        {
            "surface_abscissa": ("x", hertz, {"name": "flicker_hz"}),
            "surface_contrast": ("y", CONTRASTS, {"unit": "michelson"}),
        }
    )
    main, error = Alignment(4.0)(data)
    assert main.value > 0.99
    assert error.name == "threshold-error-db"
    assert error.value < 0.05


def ranked(n: int, ties: int | None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(n)
    y = 0.5 * x + generator.standard_normal(n)
    if ties:
        x, y = np.round(x * ties), np.round(y * ties)
    return x, y


@pytest.mark.parametrize("n", [3, 10, 201])
@pytest.mark.parametrize("ties", [None, 1, 3])
def test_spearman_is_that_of_scipy(n: int, ties: int | None) -> None:
    for seed in range(5):
        x, y = ranked(n, ties, seed)
        if np.ptp(x) and np.ptp(y):
            expected = stats.spearmanr(x, y).statistic
            assert float(Spearman(x)(y)) == pytest.approx(expected, abs=1e-12)


def test_ranks_are_those_of_scipy() -> None:
    x, _ = ranked(50, 2)
    np.testing.assert_allclose(weighted_ranks(x, np.ones(50)), stats.rankdata(x))


@pytest.mark.parametrize("ties", [None, 2])
def test_weights_are_repetitions(ties: int | None) -> None:
    x, y = ranked(40, ties)
    counts = np.random.default_rng(1).multinomial(40, np.full(40, 1 / 40), size=25)
    found = Spearman(x, counts.astype(float))(y)
    assert found.shape == (25,)
    expected = [
        stats.spearmanr(np.repeat(x, count), np.repeat(y, count)).statistic for count in counts
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_weighted_ranks_are_ranks_of_repetitions() -> None:
    x, _ = ranked(12, 1)
    counts = np.array([3, 0, 1, 2, 1, 0, 4, 1, 1, 2, 0, 1])
    repeated = stats.rankdata(np.repeat(x, counts))
    found = np.repeat(weighted_ranks(x, counts.astype(float)), counts)
    np.testing.assert_allclose(found, repeated)


def test_known_values() -> None:
    # 1 - 6 sum d^2 / (n (n^2 - 1)) for d = (1, -1, 1, -1, 0).
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])
    assert float(Spearman(x)(y)) == pytest.approx(0.8)
    assert float(Spearman(x)(-y)) == pytest.approx(-0.8)
    assert float(Spearman(x)(np.exp(y))) == pytest.approx(0.8)
    assert float(Spearman(x)(x**3)) == pytest.approx(1.0)


@pytest.mark.parametrize("swap", [False, True])
def test_a_constant_has_no_correlation(swap: bool) -> None:
    x, y = np.arange(7.0), np.full(7, 0.1)
    assert np.isnan(Spearman(y)(x) if swap else Spearman(x)(y))
    # Some resamples may draw one value only.
    weights = np.array([[1.0, 1, 1, 0, 0, 0, 0], [0, 3.0, 0, 0, 0, 0, 0]])
    found = Spearman(x, weights)(x**2)
    assert found[0] == pytest.approx(1.0)
    assert np.isnan(found[1])


@pytest.mark.parametrize("ties", [None, 2])
def test_rows_against_scipy(ties: int | None) -> None:
    generator = np.random.default_rng(2)
    rows = generator.standard_normal((30, 60))
    _, y = ranked(60, ties)
    expected = [stats.spearmanr(row, y).statistic for row in rows]
    np.testing.assert_allclose(Spearman(rows)(y), expected, rtol=0, atol=1e-12)
    assert np.isnan(Spearman(rows)(np.ones(60))).all()
