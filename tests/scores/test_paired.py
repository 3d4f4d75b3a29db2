"""Differences of two observers: recovered from simulations, on what both were asked."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from fechner.experiments.detection import REASONS
from fechner.human import DATASETS
from fechner.scores import Alignment, MatchingError, Score
from fechner.scores.alignment import Spearman
from fechner.scores.comparisons import Difference, difference, paired
from fechner.scores.score import Resampled, Scorer, in_common
from fechner.scores.statistics import cluster_counts, difference_interval
from fechner.suites import suite
from fechner.suites.published import baselines

RATIOS = np.geomspace(0.5, 2, 10)
SIMULATIONS = 250


def answers(
    responses: np.ndarray,
    abscissae: np.ndarray | None = None,
    ratios: np.ndarray = RATIOS,
    dropped: np.ndarray | None = None,
) -> xr.Dataset:
    """Return one layer and read-out of a test near threshold, [point, ratio]."""
    places = np.geomspace(0.5, 32, len(responses)) if abscissae is None else abscissae
    flags = np.zeros(responses.shape, np.uint8) if dropped is None else dropped
    return xr.Dataset(
        {
            "response": (("point", "ratio"), responses),
            "dropped": (("point", "ratio"), flags, {"meanings": " ".join(REASONS)}),
        },
        coords={
            "abscissa": ("point", places, {"name": "luminance_cdm2"}),
            "ratio": ("ratio", ratios),
            "layer": "output",
            "readout": "angle",
        },
    )


def matches(
    errors: np.ndarray, frequencies: np.ndarray | None = None, references: np.ndarray | None = None
) -> xr.Dataset:
    """Return one layer and read-out of a matching test: someone who is so far off, [frequency]."""
    grid = np.geomspace(0.001, 1, 33)
    contrasts = np.geomspace(0.01, 0.1, 4) if references is None else references
    n = len(errors)
    return xr.Dataset(
        {
            "human_matched": (("reference", "frequency"), np.tile(contrasts[:, None], n)),
            "reference_response": ("reference", contrasts),
            "response": (("frequency", "contrast"), grid * 10 ** -errors[:, None]),
            "dropped": (
                ("frequency", "contrast"),
                np.zeros((n, len(grid)), np.uint8),
                {"meanings": "kept"},
            ),
            "dropped_reference": (
                "reference",
                np.zeros(len(contrasts), np.uint8),
                {"meanings": "kept"},
            ),
        },
        coords={
            "frequency": np.geomspace(1, 16, n) if frequencies is None else frequencies,
            "reference": contrasts,
            "contrast": grid,
            "layer": "output",
            "readout": "angle",
        },
    )


# Recovery


@cache
def alignments(points: int) -> list[tuple[Resampled, Resampled, Resampled]]:
    """Return three observers per simulation: one that errs little, two that err more and alike.

    Each has a gain of its own at every abscissa; those of the last two are related (r 0.5).
    """
    generator = np.random.default_rng(points)
    x = np.tile(RATIOS, points)
    once = Spearman(x)
    often = Spearman(x, np.repeat(cluster_counts(points), len(RATIOS), axis=1))

    def resampled(gains: np.ndarray) -> Resampled:
        noise = generator.normal(0, 0.05, (points, len(RATIOS)))
        y = (np.log(RATIOS) + gains[:, None] + noise).ravel()
        value = float(once(y))
        score = Score("alignment", value, value, value, True, 1.0, 0.0, "abscissae", len(y))
        return Resampled(score, often(y), np.arange(float(points)), "correlation")

    found = []
    for _ in range(SIMULATIONS):
        common, first, second, third = generator.standard_normal((4, points))
        related = [np.sqrt(0.5) * (common + own) for own in (second, third)]
        found.append(
            (resampled(0.2 * first), resampled(0.5 * related[0]), resampled(0.5 * related[1]))
        )
    return found


@cache
def population_value(gain_sd: float) -> float:
    """The alignment over endlessly many abscissae (here 20 000)."""
    generator = np.random.default_rng(1)
    gains = generator.normal(0, gain_sd, (20000, 1))
    y = np.log(RATIOS) + gains + generator.normal(0, 0.05, (20000, len(RATIOS)))
    return float(stats.spearmanr(np.tile(RATIOS, 20000), y.ravel()).statistic)


def errors(points: int) -> list[tuple[Resampled, Resampled, Resampled]]:
    """Return the same for errors whose sizes are 0.1, 0.3 and 0.3."""
    generator = np.random.default_rng(points)
    counts = cluster_counts(points)

    def resampled(sizes: np.ndarray) -> Resampled:
        value = float(sizes.mean())
        score = Score("error", value, value, value, False, 0.0, 1.0, "frequencies", points)
        return Resampled(score, counts @ sizes / points, np.arange(float(points)), "error")

    found = []
    for _ in range(SIMULATIONS):
        common, *own = generator.standard_normal((4, points, 8))
        each = [size * (common + o) / np.sqrt(2)
                for size, o in zip((0.1, 0.3, 0.3), own, strict=True)]  # fmt: skip
        found.append(tuple(resampled(np.sqrt(np.mean(e**2, axis=1))) for e in each))
    return found


#: The mean over endlessly many frequencies of the root mean square of eight normal errors.
ROOT_OF_EIGHT = float(stats.chi(8).mean() / np.sqrt(8))

KINDS: dict[str, tuple[Callable, Callable[[], float]]] = {
    "alignment": (alignments, lambda: population_value(0.2) - population_value(0.5)),
    "error": (errors, lambda: (0.1 - 0.3) * ROOT_OF_EIGHT),
}


@pytest.mark.parametrize("points", [8, 20])  # as many as masking and detection tests have
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_true_difference(kind: str, points: int) -> None:
    simulate, truth = KINDS[kind][0], KINDS[kind][1]()
    found = [difference(first, second) for first, second, _ in simulate(points)]
    covered = np.mean([each.low <= truth <= each.high for each in found])
    assert 0.92 <= covered <= 0.99
    # It is found more often the more abscissae there are, and never the wrong way round.
    right = np.mean([each.p < 0.05 and np.sign(each.value) == np.sign(truth) for each in found])
    assert right > (0.3 if points == 8 else 0.9)
    assert not any(each.p < 0.05 and np.sign(each.value) != np.sign(truth) for each in found)


@pytest.mark.parametrize("points", [8, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_no_difference_is_seldom_found(kind: str, points: int) -> None:
    found = [difference(second, third) for _, second, third in KINDS[kind][0](points)]
    assert 0.01 <= np.mean([each.p < 0.05 for each in found]) <= 0.08
    assert 0.92 <= np.mean([each.low <= 0 <= each.high for each in found]) <= 0.99


def test_pairing_tells_apart_what_single_intervals_do_not() -> None:
    # Where observers err at the same abscissae, most of the spread is common to both.
    generator = np.random.default_rng(5)
    found = []
    for _ in range(20):
        gains = generator.normal(0, 0.5, (20, 1))
        noise = generator.normal(0, 0.05, (2, 20, 10))
        a, b = (
            answers(np.log(RATIOS) + scale * gains + each)
            for scale, each in zip((0.7, 1.0), noise, strict=True)
        )
        found.append(paired(Alignment(4.0), a, b))
    overlap = [each.first.low < each.second.high for each in found]
    assert np.mean(overlap) > 0.5
    assert np.mean([each.p < 0.05 for each in found]) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_p_and_interval_agree_and_order_does_not_matter(kind: str) -> None:
    for first, second, third in KINDS[kind][0](8)[:60]:
        for a, b in ((first, second), (second, third)):
            found, turned = difference(a, b), difference(b, a)
            if abs(found.p - 0.05) > 1e-3:
                assert (found.p < 0.05) == (not found.low <= 0 <= found.high)
            assert found.low < found.value < found.high
            assert (turned.value, turned.low, turned.high) == pytest.approx(
                (-found.value, -found.high, -found.low), abs=1e-4
            )
            assert turned.p == pytest.approx(found.p)


def test_p_is_a_t_test_on_the_scale_of_the_errors() -> None:
    generator = np.random.default_rng(0)
    draws = np.tanh(generator.multivariate_normal([0.8, 0.5], [[0.02, 0.01], [0.01, 0.03]], 20000))
    values = (float(np.tanh(0.8)), float(np.tanh(0.5)))
    low, high, p = difference_interval(values, draws.T, 12, "correlation")
    error = np.sqrt((0.02 + 0.03 - 2 * 0.01) * 12 / 11)
    assert p == pytest.approx(2 * stats.t.sf(0.3 / error, 11), rel=0.03)
    assert low < values[0] - values[1] < high


# Known answers


@pytest.mark.parametrize("scale", ["correlation", "error"])
def test_the_same_answers_do_not_differ(scale: str) -> None:
    resamples = np.random.default_rng(1).uniform(0.2, 0.6, 1000)
    found = difference_interval((0.4, 0.4), np.stack([resamples, resamples]), 10, scale)
    assert found == pytest.approx((0, 0, 1), abs=1e-9)


def test_a_difference_that_is_the_same_everywhere_is_certain() -> None:
    found = paired(MatchingError(0.5), matches(np.full(9, 0.1)), matches(np.full(9, 0.3)))
    assert (found.value, found.low, found.high) == pytest.approx((-0.2, -0.2, -0.2), abs=1e-6)
    assert found.p < 1e-9
    assert found.favours == 1  # less error is closer to people


def test_who_is_closer_to_people() -> None:
    scorer = Alignment(4.0)
    good, bad = answers(np.tile(RATIOS, (8, 1))), answers(np.tile(-RATIOS, (8, 1)))
    assert paired(scorer, good, bad).favours == 1
    assert paired(scorer, bad, good).favours == -1
    assert paired(scorer, good, good).favours == 0


def test_what_cannot_be_computed() -> None:
    scorer = Alignment(4.0)
    good, blind = answers(np.tile(RATIOS, (8, 1))), answers(np.full((8, 10), 0.5))
    for found in (paired(scorer, good, blind), paired(scorer, blind, good)):
        assert np.isnan([found.value, found.low, found.high, found.p]).all()
        assert found.favours == 0
    nothing = answers(np.ones((8, 10)), dropped=np.ones((8, 10), np.uint8))
    assert np.isnan(paired(scorer, nothing, good).p)
    assert paired(scorer, nothing, good).clusters == 0


# Scorers


def noisy(points: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    gains = generator.normal(0, 0.5, (points, 1))
    return np.log(RATIOS) + gains + generator.normal(0, 0.1, (points, 10))


@pytest.mark.parametrize(
    ("scorer", "data", "clusters"),
    [
        (Alignment(4.0), answers(noisy(8, 0)), "abscissa"),
        (MatchingError(0.5), matches(np.linspace(-0.3, 0.4, 9)), "frequency"),
    ],
)
def test_resampling_gives_the_main_score(scorer: Scorer, data: xr.Dataset, clusters: str) -> None:
    found = scorer.resample(data)
    answered = [name for name in data if "response" in name]
    every = data.assign({name: data[name].expand_dims(["layer", "readout"], [-2, -1])
                         for name in answered})  # fmt: skip
    assert found.score == scorer(every)[0]
    assert found.clusters.tolist() == data[clusters].values.tolist()
    assert found.values.shape == cluster_counts(len(found.clusters)).shape[:1]
    assert np.median(found.values) == pytest.approx(found.score.value, abs=0.1)


def spearman(responses: np.ndarray, kept: np.ndarray, ratios: np.ndarray = RATIOS) -> float:
    x = np.broadcast_to(ratios, responses.shape)
    return float(stats.spearmanr(x[kept], responses[kept]).statistic)


def test_observers_are_compared_at_the_points_that_both_have() -> None:
    a, b = noisy(10, 1), noisy(8, 2)
    places = np.geomspace(0.5, 32, 10)
    left_out = np.zeros((2, 10, 10), np.uint8)
    left_out[0, 3] = REASONS.index("aliased")
    left_out[1, 5, 7:] = REASONS.index("out-of-gamut")
    found = paired(
        Alignment(4.0),
        answers(a, places, dropped=left_out[0]),
        answers(b, places[2:], dropped=left_out[1, 2:]),
    )
    kept = (left_out.sum(axis=0) == 0)[2:]
    assert found.clusters == 7
    assert found.first.n == found.second.n == kept.sum() == 67
    assert found.first.value == pytest.approx(spearman(a[2:], kept))
    assert found.second.value == pytest.approx(spearman(b, kept))
    assert found.value == found.first.value - found.second.value


def test_multiples_of_the_threshold_are_paired_too() -> None:
    a, b = noisy(8, 3), noisy(8, 4)
    found = paired(Alignment(4.0), answers(a), answers(b[:, ::2], ratios=RATIOS[::2]))
    assert found.first.n == 40
    kept = np.ones((8, 5), bool)
    assert found.first.value == pytest.approx(spearman(a[:, ::2], kept, RATIOS[::2]))


def test_matches_are_paired_by_frequency_and_reference() -> None:
    wrong = np.linspace(-0.3, 0.4, 9)
    frequencies, references = np.geomspace(1, 16, 9), np.geomspace(0.01, 0.1, 4)
    first = matches(wrong, frequencies, references)
    second = matches(0.5 * wrong[:6], frequencies[:6], references[::-1][:3])
    found = paired(MatchingError(0.5), first, second)
    assert (found.clusters, found.first.n) == (6, 18)
    assert found.first.value == pytest.approx(np.abs(wrong[:6]).mean(), abs=1e-6)
    assert found.second.value == pytest.approx(0.5 * found.first.value, abs=1e-6)
    assert found.p < 0.05


def test_what_is_all_in_common_stays_as_it_is() -> None:
    a, b = answers(noisy(8, 5)), answers(noisy(8, 6))
    # Places that differ by rounding are the same.
    b = b.assign_coords(abscissa=b["abscissa"] * (1 + 1e-13))
    assert all(x is y for x, y in zip(Alignment(4.0).shared(a, b), (a, b), strict=True))
    c, d = matches(np.zeros(5)), matches(np.ones(5))
    assert all(x is y for x, y in zip(MatchingError(0.5).shared(c, d), (c, d), strict=True))


def test_common_places_come_in_the_same_order() -> None:
    a = xr.Dataset({"v": ("x", [1.0, 2.0, 3.0])}, coords={"at": ("x", [3.0, 1.0, 2.0])})
    b = xr.Dataset({"v": ("x", [30.0, 20.0])}, coords={"at": ("x", [2.0, 3.0])})
    first, second = in_common(a, b, {"x": "at"})
    assert first["at"].values.tolist() == second["at"].values.tolist() == [2.0, 3.0]
    assert (first["v"].values.tolist(), second["v"].values.tolist()) == ([3.0, 1.0], [30.0, 20.0])


def test_other_clusters_are_not_paired_by_mistake() -> None:
    scorer = Alignment(4.0)
    a, b = (scorer.resample(answers(noisy(n, n))) for n in (8, 9))
    with pytest.raises(ValueError, match="other clusters cannot be paired"):
        difference(a, b)


# Printed scores


def test_printed_scores_are_as_far_from_people_as_measured_ones() -> None:
    tests = {test.id: test for test in suite("encoders").build(published=True)}
    align = tests["area"].printed(0.8)
    assert (align.name, align.value, align.best) == ("alignment", 0.8, 1.0)
    assert align.chance == baselines()["encoders", "published", "area", "alignment"].median
    assert np.isnan([align.low, align.high]).all()
    matching = tests["matching-frequency"]
    printed = matching.printed(0.3)
    frequencies, references, human = matching.experiment.human_matches()
    data = matches(np.zeros(len(frequencies)), frequencies, references).assign(
        human_matched=(("reference", "frequency"), human)
    )
    measured = MatchingError(DATASETS["georgeson_sullivan1975"].uncertainty_db).resample(data)
    assert printed.name == measured.score.name
    # Untrained networks are closer than random contrasts.
    assert printed.chance < measured.score.chance
    assert not printed.higher_is_better


def test_a_difference_says_what_it_is_of() -> None:
    found = paired(Alignment(4.0), answers(noisy(8, 7)), answers(noisy(8, 8)))
    assert isinstance(found, Difference)
    assert (found.first.name, found.first.resampled) == ("alignment", "abscissae")
    assert found.clusters == 8
