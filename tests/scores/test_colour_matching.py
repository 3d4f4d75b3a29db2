"""Error of matching across colour directions: by hand, by simulation, and what cannot be scored."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from fechner.scores import ColourMatchingError, colour_matching_panels
from fechner.scores.matching import _root_mean_square
from fechner.scores.statistics import cluster_counts, interval

CONTRASTS = np.geomspace(0.01, 0.2, 10)


def answers(responses: np.ndarray, dropped: np.ndarray | None = None) -> xr.Dataset:
    """Return answers of one layer and read-out, [contrast, direction]."""
    n = len(responses)
    flags = np.zeros(n, np.uint8) if dropped is None else dropped.astype(np.uint8)
    return xr.Dataset(
        {
            "response": (
                ("contrast", "direction", "layer", "readout"),
                np.asarray(responses, float)[..., None, None],
            ),
            "dropped": ("contrast", flags, {"meanings": "kept aliased out-of-gamut"}),
        },
        coords={
            "contrast": CONTRASTS[:n],
            "direction": ["ach", "rg", "yv"],
            "layer": ["output"],
            "readout": ["difference"],
        },
    )


def scores(responses: np.ndarray, **kwargs):
    return ColourMatchingError(0.8, "colour-matching-error")(answers(responses, **kwargs))


RATIOS = np.array([0.610649, 4.203636])
GRID = np.stack([np.geomspace(1e-3 * ratio, 0.21 * ratio, 33) for ratio in RATIOS])


def matched(
    errors_db: np.ndarray, transform: Callable[[np.ndarray], np.ndarray] = lambda r: r
) -> xr.Dataset:
    """Return answers of an observer whose matches are off by these errors, [contrast, direction].

    It responds with the 1.3th power of contrast; ``transform`` is put on top of it.
    """
    human = np.outer(CONTRASTS, RATIOS)
    log_match = np.log(human * 10 ** (errors_db / 20))
    # What it responds to a chromatic contrast is what it responds to the grey one it matches.
    sought = np.stack(
        [
            np.exp(np.interp(np.log(grid), log_match[:, j], np.log(CONTRASTS)))
            * np.exp(_beyond(np.log(grid), log_match[:, j]))
            for j, grid in enumerate(GRID)
        ]
    )
    data = answers(transform(np.tile(CONTRASTS[:, None], 3) ** 1.3))
    return data.assign_coords(chromatic=["rg", "yv"]).assign(
        sought_response=(
            ("chromatic", "level", "layer", "readout"),
            transform(sought**1.3)[..., None, None],
        ),
        sought_amplitude=(("chromatic", "level"), GRID),
        human_matched=(("contrast", "chromatic"), human),
    )


def _beyond(x: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return how far x lies past the ends of what is known."""
    return np.minimum(x - known[0], 0) + np.maximum(x - known[-1], 0)


def db(data: xr.Dataset):
    return ColourMatchingError(0.8)(data)[0]


def test_level_lines_have_no_error() -> None:
    for score in scores(np.tile(CONTRASTS[:, None] ** 1.3, 3)):
        assert (score.value, score.low, score.high) == pytest.approx((0, 0, 0), abs=1e-9)
        assert (score.best, score.higher_is_better, score.n) == (0.0, False, 30)
        assert score.resampled == "contrasts"


def test_equation_by_hand() -> None:
    # Differences ach-rg, rg-yv, yv-ach; the range of all responses is 4.
    responses = np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]])
    three, two = scores(responses)
    assert (three.name, two.name) == ("colour-matching-error", "colour-matching-error-printed")
    assert three.value == pytest.approx(math.sqrt(((1 + 4 + 9) + (1 + 0 + 1)) / 2) / 4)
    assert two.value == pytest.approx(math.sqrt(((1 + 4) + (1 + 0)) / 2) / 4)


def test_scale_and_offset_of_responses_do_not_matter() -> None:
    responses = np.random.default_rng(3).random((10, 3))
    first, other = scores(responses)[0], scores(7 - 3 * responses)[0]
    assert other.value == pytest.approx(first.value)
    assert (other.low, other.high) == pytest.approx((first.low, first.high))


def test_an_observer_that_matches_as_people_do_has_no_error_in_db() -> None:
    score = db(matched(np.zeros((10, 2))))
    assert (score.name, score.n, score.best) == ("colour-matching-error-db", 20, 0.0)
    assert score.value == pytest.approx(0, abs=1e-6)


def test_a_constant_error_in_db_is_recovered() -> None:
    # Below the gamut's end everywhere; the root mean square of 4 and -3 over two directions.
    score = db(matched(np.tile([-4.0, -3.0], (10, 1))))
    assert score.value == pytest.approx(math.sqrt((16 + 9) / 2), rel=1e-4)
    assert score.note == ""


@pytest.mark.parametrize("transform", [np.square, np.log, np.sqrt, lambda r: 10 - 10 * np.exp(-r)])
def test_the_error_in_db_does_not_change_under_monotone_functions(transform) -> None:
    errors = np.tile([-4.0, 2.0], (10, 1)) + np.linspace(-1, 1, 10)[:, None] ** 2
    plain, put_through = db(matched(errors)), db(matched(errors, transform))
    assert put_through.value == pytest.approx(plain.value, rel=0.01)


def test_matches_beyond_the_gamut_count_as_its_end() -> None:
    score = db(matched(np.tile([40.0, 0.0], (10, 1))))
    ends = 20 * np.log10(GRID[0, -1] / (CONTRASTS * RATIOS[0]))
    assert score.value == pytest.approx(math.sqrt(np.square(ends).mean() / 2), rel=1e-4)
    assert score.note == "10 of 20 matches out of range, taken as the end of it"


def test_no_interval_ends_beyond_the_largest_error() -> None:
    responses = np.zeros((10, 3))
    responses[0] = [0, 1, 0.5]
    score = scores(responses)[0]
    assert score.low < score.value < score.high == math.sqrt(2)
    score = db(matched(np.array([[60.0, -60.0]] + [[0.0, 0.0]] * 9)))
    low, high = (20 * np.log10(GRID[:, end] / np.outer(CONTRASTS, RATIOS)) for end in (0, -1))
    assert score.high <= math.sqrt(np.square(np.maximum(-low, high)).mean()) + 1e-9


def test_chance_in_db_is_what_matches_at_random_get() -> None:
    rng = np.random.default_rng(5)
    human = np.outer(CONTRASTS, RATIOS)
    drawn = np.exp(rng.uniform(np.log(GRID[:, 0]), np.log(GRID[:, -1]), (4000, 10, 2)))
    errors = 20 * np.log10(drawn / human)
    expected = np.sqrt(np.square(errors).mean())
    assert db(matched(np.zeros((10, 2)))).chance == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("n", [6, 10, 20])
@pytest.mark.parametrize("bias", [(0.0, 0.0), (3.0, 3.0), (6.0, -2.0)])
def test_the_interval_in_db_covers_the_error_of_a_population(
    n: int, bias: tuple[float, float]
) -> None:
    rng = np.random.default_rng(6)
    truth = math.sqrt(np.mean(np.square(bias)) + 2.0**2)
    inside = 0
    for _ in range(400):
        errors = np.array(bias) + 2.0 * rng.standard_normal((n, 2))
        value = float(_root_mean_square(errors, np.ones(n)))
        resamples = _root_mean_square(errors, cluster_counts(n))
        low, high = interval(value, resamples, n, "error", most=40.0)
        inside += low <= truth <= high
    assert 0.92 <= inside / 400 <= 0.98


def test_chance_is_what_random_answers_get() -> None:
    drawn = np.random.default_rng(0).random((400, 10, 3))
    values = np.array([[score.value for score in scores(each)] for each in drawn])
    for found, score in zip(values.T, scores(drawn[0]), strict=True):
        # The range of thirty numbers falls a little short of all they are drawn from.
        assert np.sqrt(np.square(found).mean()) == pytest.approx(score.chance / 0.94, rel=0.03)


def test_the_interval_covers_the_error_of_a_population_of_contrasts() -> None:
    """Directions differ by a random gain at each contrast; the mean square is known."""
    rng = np.random.default_rng(1)
    population = np.linspace(0, 1, 20_000)[:, None] + 0.2 * rng.standard_normal((20_000, 3))
    # The ends of the range are always in, as the weakest and strongest contrast are.
    ends = np.array([[-1.0, -1.0, -1.0], [2.0, 2.0, 2.0]])
    inside = 0
    for _ in range(300):
        chosen = population[rng.choice(len(population), 18)]
        score = scores_of(np.concatenate([ends, chosen]))
        truth = math.sqrt(3 * 2 * 0.2**2 * 18 / 20) / 3
        inside += score.low <= truth <= score.high
    assert 0.90 <= inside / 300 <= 0.995


def scores_of(responses: np.ndarray):
    data = answers(np.zeros((1, 3)))
    n = len(responses)
    data = xr.Dataset(
        {
            "response": (
                ("contrast", "direction", "layer", "readout"),
                responses[..., None, None],
            ),
            "dropped": ("contrast", np.zeros(n, np.uint8), data["dropped"].attrs),
        },
        coords={
            "contrast": np.geomspace(0.01, 0.2, n),
            "direction": ["ach", "rg", "yv"],
            "layer": ["output"],
            "readout": ["difference"],
        },
    )
    return ColourMatchingError(0.8, "colour-matching-error")(data)[0]


def test_what_could_not_be_shown_does_not_count_and_is_named() -> None:
    responses = np.tile(CONTRASTS[:, None], 3)
    responses[-2:] = np.nan
    dropped = np.array([0] * 8 + [2, 2])
    score = scores(responses, dropped=dropped)[0]
    assert score.value == 0
    assert score.n == 24
    assert score.note == "2 of 10 points left out: out-of-gamut"


def test_a_constant_answer_is_not_computable() -> None:
    for score in scores(np.full((10, 3), 0.5)):
        assert math.isnan(score.value)
        assert "answered the same to every stimulus" in score.note


def test_nothing_to_show_is_not_computable() -> None:
    score = scores(np.full((10, 3), np.nan), dropped=np.full(10, 2))[0]
    assert math.isnan(score.value)
    assert math.isnan(score.low)


def test_error_of_people_widens_with_their_error() -> None:
    responses = CONTRASTS[:, None] * np.array([1.0, 1.2, 0.9])
    little, much = (
        ColourMatchingError(error, "colour-matching-error")(answers(responses))[0]
        for error in (0.2, 2.0)
    )
    assert little.value == much.value
    assert much.human_high - much.human_low > 3 * (little.human_high - little.human_low)


def test_shared_leaves_what_both_were_shown() -> None:
    responses = np.random.default_rng(2).random((10, 3))
    first = answers(responses, np.array([0] * 8 + [2, 2]))
    second = answers(responses, np.array([2] + [0] * 9))
    a, b = ColourMatchingError(0.8).shared(first, second)
    np.testing.assert_array_equal(a["contrast"], CONTRASTS[1:8])
    np.testing.assert_array_equal(b["contrast"], CONTRASTS[1:8])


def test_a_printed_number_has_a_chance_level() -> None:
    score = ColourMatchingError(0.8, "colour-matching-error").printed(0.027, None)
    assert score.value == 0.027
    assert score.chance == pytest.approx(math.sqrt(0.5))


def test_the_panel_has_a_level_line_for_each_contrast() -> None:
    responses = CONTRASTS[:, None] * np.array([1.0, 1.2, 0.9])
    (panel,) = colour_matching_panels(None, answers(responses).isel(layer=0, readout=0))
    assert panel.x.ticks == ("achromatic", "red-green", "yellow-violet")
    people = [line for line in panel.marks if line.human]
    own = [line for line in panel.marks if not line.human]
    assert len(people) == len(own) == 10
    assert all(np.ptp(line.y) == 0 for line in people)
    np.testing.assert_allclose(own[3].y, responses[3])
    assert panel.y.log


def test_matches_have_a_panel_beside_people() -> None:
    data = matched(np.tile([-4.0, 2.0], (10, 1))).isel(layer=0, readout=0)
    panel, _ = colour_matching_panels(None, data)
    people, own = ([line for line in panel.marks if line.human is who] for who in (True, False))
    for j, error in enumerate((-4.0, 2.0)):
        np.testing.assert_allclose(20 * np.log10(own[j].y / people[j].y)[:8], error, rtol=1e-3)
