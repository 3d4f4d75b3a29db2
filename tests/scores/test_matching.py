"""Matching error of observers whose matches are known, on data as the experiment returns it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from fechner.scores import MatchingError, Score, matching_panels
from fechner.scores.matching import matches

GRID = np.geomspace(0.001, 1, 33)
FREQUENCIES = np.array([0.25, 0.5, 1, 2, 5, 10, 15, 20, 25])
REFERENCES = np.geomspace(0.005, 0.15, 8)  # matches stay in range even when they are far off

# People's matches on a power law of the reference at every frequency: contrast constancy, with
# high frequencies a little short of it.
GAIN = np.linspace(1.0, 1.6, 9)
SLOPE = np.linspace(1.0, 0.9, 9)
MATCHED = GAIN * REFERENCES[:, None] ** SLOPE


def by_response(
    response: np.ndarray,
    reference_response: np.ndarray,
    matched: np.ndarray = MATCHED,
    references: np.ndarray = REFERENCES,
) -> xr.Dataset:
    """Return what `FrequencyMatching` returns for matches by equal response."""
    return xr.Dataset(
        {
            "human_matched": (("reference", "frequency"), matched),
            "reference_response": (
                ("reference", "layer", "readout"),
                reference_response[:, None, None],
            ),
            "response": (
                ("frequency", "contrast", "layer", "readout"),
                response[:, :, None, None],
            ),
            "dropped": (
                ("frequency", "contrast"),
                np.zeros(response.shape, np.uint8),
                {"meanings": "kept"},
            ),
            "dropped_reference": (
                "reference",
                np.zeros(len(references), np.uint8),
                {"meanings": "kept"},
            ),
        },
        coords={
            "frequency": ("frequency", FREQUENCIES[: matched.shape[1]], {"unit": "cpd"}),
            "reference": ("reference", references, {"unit": "michelson"}),
            "contrast": ("contrast", GRID, {"unit": "michelson"}),
            "layer": ("layer", ["output"]),
            "readout": ("readout", ["angle"]),
        },
    )


def observer(error_log10: np.ndarray | float = 0.0) -> xr.Dataset:
    """Someone who matches as people do, times 10^error at each frequency."""
    error = np.broadcast_to(error_log10, 9)[:, None]
    equivalent = (GRID * 10**-error / GAIN[:, None]) ** (1 / SLOPE[:, None])
    return by_response(3 * equivalent**2, 3 * REFERENCES**2)


def scores(data: xr.Dataset) -> tuple[Score, Score]:
    mean_of_roots, pooled, low, high = MatchingError(0.5)(data)
    assert (mean_of_roots.name, pooled.name) == ("matching-error", "matching-error-pooled")
    assert (low.name, high.name) == ("shape-error-low-contrast", "shape-error-high-contrast")
    return mean_of_roots, pooled


def test_human_matches_have_no_error() -> None:
    found, candidates = matches(observer().isel(layer=0, readout=0))
    np.testing.assert_allclose(found, MATCHED, rtol=1e-9)
    assert (candidates == 1).all()
    for score in scores(observer()):
        assert (score.value, score.low, score.high) == pytest.approx((0, 0, 0), abs=1e-9)
        assert (score.best, score.higher_is_better, score.n) == (0.0, False, 72)
        assert (score.layer, score.readout, score.note) == ("output", "angle", "")
        assert score.resampled == "frequencies"


def test_a_constant_error() -> None:
    for score in scores(observer(0.2)):
        assert (score.value, score.low, score.high) == pytest.approx((0.2, 0.2, 0.2))


def test_two_definitions_of_the_error() -> None:
    # 0.1 at one frequency, 0.3 at two, else nothing.
    error = np.array([0.1, 0, 0, -0.3, 0, 0, 0, 0.3, 0])
    mean_of_roots, pooled = scores(observer(error))
    assert mean_of_roots.value == pytest.approx(0.7 / 9)
    assert pooled.value == pytest.approx(math.sqrt(0.19 / 9))
    for score in (mean_of_roots, pooled):
        assert score.low < score.value < score.high


def test_two_definitions_by_hand_on_a_table_of_four() -> None:
    # Responses proportional to contrast, so matches equal references: 0.1 and 0.01.
    matched = np.array([[0.1 * 10**0.3, 0.1], [0.01 * 10**-0.4, 0.01 * 10**0.5]])
    references = np.array([0.1, 0.01])
    data = by_response(np.tile(GRID, (2, 1)), references, matched, references)
    mean_of_roots, pooled = scores(data)
    at_first, at_second = math.sqrt((0.3**2 + 0.4**2) / 2), math.sqrt((0 + 0.5**2) / 2)
    assert mean_of_roots.value == pytest.approx((at_first + at_second) / 2)
    assert pooled.value == pytest.approx(math.sqrt((0.09 + 0.16 + 0.25) / 4))


def test_the_interval_is_over_frequencies() -> None:
    # Half of the frequencies are wrong by 0.4: the mean of nine drawn from them.
    error = np.array([0.4, 0, 0.4, 0, 0.4, 0, 0.4, 0, 0.4])
    score, _ = scores(observer(error))
    share = 5 / 9
    assert score.value == pytest.approx(0.4 * share)
    # On a log scale: the relative standard error, with Student's t for nine frequencies.
    relative = math.sqrt((1 - share) / share / 9) * math.sqrt(9 / 8) * 2.306
    assert math.log(score.high / score.low) == pytest.approx(2 * relative, rel=0.3)


def test_human_error_of_half_a_decibel() -> None:
    # Errors of 0.025 in log10 around people's matches: a perfect observer is off by as much.
    _, pooled = scores(observer())
    assert pooled.human_low < 0.025 < pooled.human_high
    assert pooled.human_high - pooled.human_low == pytest.approx(
        2 * 1.96 * 0.025 / math.sqrt(2 * 72), rel=0.15
    )


def test_matches_out_of_range_are_counted_and_put_at_the_end() -> None:
    data = observer()
    # At the first frequency even full contrast is weaker than the three strongest references, and
    # at the last the weakest contrast is stronger than all.
    response = data["response"].values.copy()
    strongest = data["reference_response"].values[-3:, 0, 0]
    response[0, :, 0, 0] = np.linspace(0.1, 0.9, 33) * strongest[0]
    response[8] += 1e3
    data = data.assign(response=(data["response"].dims, response))
    found, candidates = matches(data.isel(layer=0, readout=0))
    assert found[-3:, 0].tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(found[:, 8], 0.001)
    assert (candidates[-3:, 0] == 0).all()
    assert (candidates[:, 8] == 0).all()
    # The weak references may also lie below the first frequency's weakest response.
    out = int((candidates == 0).sum())
    assert out >= 11
    for score in scores(data):
        assert score.note == f"{out} of 72 matches out of range, taken as the end of it"
        assert score.value > 0.1


def test_ambiguous_matches_are_counted_and_taken_near_the_reference() -> None:
    # At one frequency the response rises, falls and rises again through the same value.
    x, roots = np.log10(GRID), np.array([-2.2, -1.05, -0.3])
    response = observer()["response"].values[:, :, 0, 0].copy()
    response[4] = 0.03 * 10 ** ((x - roots[0]) * (x - roots[1]) * (x - roots[2]))
    data = by_response(
        response, np.array([0.03, 0.03]), MATCHED[[3, 3]], references=np.array([0.12, 0.004])
    )
    found, candidates = matches(data.isel(layer=0, readout=0))
    assert candidates[:, 4].tolist() == [3, 3]
    np.testing.assert_allclose(np.log10(found[:, 4]), (-1.05, -2.2), rtol=0, atol=0.01)
    assert scores(data)[0].note == "2 of 18 matches ambiguous"


def test_constant_answers() -> None:
    for score in scores(by_response(np.full((9, 33), 0.5), np.full(8, 0.5))):
        assert np.isnan([score.value, score.low, score.high]).all()
        assert "answered the same to every stimulus" in score.note


def test_chance_is_that_of_matches_drawn_at_random() -> None:
    # Log contrasts even over the range, 2000 observers; the root of mean squares for the pooled
    # one, and for the other too, since roots are taken at each frequency from eight matches.
    mean_of_roots, pooled = scores(observer())
    generator = np.random.default_rng(0)
    errors = generator.uniform(-3, 0, (2000, 8, 9)) - np.log10(MATCHED)
    assert pooled.chance == pytest.approx(np.sqrt((errors**2).mean()), rel=0.01)
    at_frequency = np.sqrt((errors**2).mean(axis=1))
    assert mean_of_roots.chance == pytest.approx(at_frequency.mean(), rel=0.04)
    assert mean_of_roots.chance >= at_frequency.mean()  # Jensen


def test_matches_by_least_difference() -> None:
    # The difference from each reference is least at the match; here on the grid.
    steps = np.arange(8, 8 + 3 * 8, 3)
    matched = GRID[steps][:, None] * np.ones(9)
    offsets = np.array([0, 0, 0, 0, 1, 0, 0, -2, 0])  # grid steps by which the observer is off
    least = steps[:, None] + offsets
    difference = np.abs(np.arange(33) - least[:, :, None]) + 0.1
    data = by_response(np.zeros((9, 33)), np.zeros(8), matched).drop_vars(
        ["response", "reference_response"]
    )
    data = data.assign(
        difference=(
            ("reference", "frequency", "contrast", "layer", "readout"),
            difference[..., None, None],
        )
    )
    step = 3 / 32
    mean_of_roots, pooled = scores(data)
    assert mean_of_roots.note == "matched by direct comparison"
    assert mean_of_roots.value == pytest.approx(3 * step / 9)
    assert pooled.value == pytest.approx(step * math.sqrt(5 / 9))


def test_read_outs_are_scored_one_by_one() -> None:
    first, second = observer(), observer(0.3)
    both = xr.Dataset(
        {
            name: (first[name].dims, np.concatenate([first[name], second[name]], axis=-1))
            for name in ("response", "reference_response")
        }
        | {name: first[name] for name in ("human_matched", "dropped", "dropped_reference")},
        coords={**first.drop_vars("readout").coords, "readout": ["angle", "l2"]},
    )
    found = {(s.readout, s.name): s.value for s in MatchingError(0.5)(both)}
    assert found["angle", "matching-error"] == pytest.approx(0, abs=1e-9)
    assert found["l2", "matching-error"] == pytest.approx(0.3)
    assert len(found) == 8


# Shape, gaps, and which error comes first


def shapes(data: xr.Dataset) -> tuple[Score, Score]:
    _, _, low, high = MatchingError(0.5)(data)
    return low, high


def test_a_constant_error_is_no_error_of_shape() -> None:
    for score in shapes(observer(0.2)):
        assert score.value == pytest.approx(0, abs=1e-9)


def test_shape_is_told_at_low_and_at_high_contrasts() -> None:
    """Of people's curves, flat ones miss the bend at low contrasts far more than at high ones."""
    flat = by_response(np.tile(GRID, (9, 1)), REFERENCES)
    low, high = shapes(flat)
    assert low.value > 1.2 * high.value
    upper = np.median(REFERENCES) < REFERENCES
    bends = np.log10(MATCHED) - np.log10(MATCHED).mean(axis=1, keepdims=True)
    assert high.value == pytest.approx(np.sqrt(np.square(bends[upper]).mean()), rel=1e-3)
    for score in (low, high):
        assert score.low < score.value < score.high
        assert score.chance > score.value


def test_chance_of_shape_is_what_random_matches_get() -> None:
    rng = np.random.default_rng(5)
    low, high = np.log10(GRID[[0, -1]])
    errors = rng.uniform(low, high, (4000, *MATCHED.shape)) - np.log10(MATCHED)
    errors -= errors.mean(axis=-1, keepdims=True)
    below = np.median(REFERENCES) >= REFERENCES
    expected = np.sqrt(np.square(errors[:, below]).mean())
    assert shapes(observer(0.1))[0].chance == pytest.approx(expected, rel=0.01)


def test_gaps_are_left_out_where_that_is_asked_for() -> None:
    # Nothing at the last frequency is as strong as any reference: the match is out of range.
    grating = np.tile(GRID, (9, 1))
    grating[-1] *= 1e-4
    data = by_response(grating, REFERENCES)
    ends = MatchingError(0.5)(data)[1]
    gaps = MatchingError(0.5, gaps=True)(data)[1]
    assert "8 of 72 matches out of range, taken as the end of it" in ends.note
    assert "8 of 72 matches out of range, left out" in gaps.note
    assert (ends.n, gaps.n) == (72, 64)
    errors = np.log10(REFERENCES[:, None] / MATCHED[:, :-1])
    assert gaps.value == pytest.approx(np.sqrt(np.square(errors).mean()), rel=1e-3)
    assert ends.value != pytest.approx(gaps.value, rel=0.01)


def test_the_main_error_comes_first() -> None:
    names = [score.name for score in MatchingError(0.5, main="matching-error-pooled")(observer())]
    assert names[:2] == ["matching-error-pooled", "matching-error"]
    assert len(set(names)) == 4
    main = MatchingError(0.5, main="matching-error-pooled").resample(
        observer(0.1).isel(layer=0, readout=0)
    )
    assert main.score.name == "matching-error-pooled"


def test_lines_are_broken_where_gaps_are() -> None:
    grating = np.tile(GRID, (9, 1))
    grating[-1] *= 1e-4
    data = by_response(grating, REFERENCES).isel(layer=0, readout=0)
    experiment = SimpleNamespace(
        axes=("f", "c"), reference_frequency_cpd=5.0, pattern="grating", unit_name="Michelson"
    )
    for gaps in (True, False):
        (panel,) = matching_panels(experiment, data, gaps=gaps)
        own = [line for line in panel.marks if not line.human]
        assert all(np.isnan(line.y[-1]) == gaps for line in own)
        assert all(np.isfinite(line.y[:-1]).all() for line in own)
        assert all((line.doubtful is None) == gaps for line in own)


def test_contrasts_that_could_not_be_shown_do_not_count() -> None:
    whole = observer(0.2)
    flags, reference_flags = np.zeros((9, 33), np.uint8), np.zeros(8, np.uint8)
    flags[:, -4:], flags[8], reference_flags[7] = 1, 2, 1
    meanings = {"meanings": "kept clipped aliased"}
    cut = whole.assign(
        response=whole["response"].where((flags == 0)[:, :, None, None]),
        reference_response=whole["reference_response"].where((reference_flags == 0)[:, None, None]),
        dropped=(("frequency", "contrast"), flags, meanings),
        dropped_reference=("reference", reference_flags, meanings),
    )
    for score in scores(cut):
        assert (score.value, score.n) == (pytest.approx(0.2), 56)
        assert "33 of 297 points left out: aliased" in score.note
        assert "1 of 8 references left out: clipped" in score.note
    first, second = MatchingError(0.5).shared(cut, whole)
    assert first.sizes["frequency"] == second.sizes["frequency"] == 8
    assert first.sizes["reference"] == second.sizes["reference"] == 7


def test_direct_matches_among_the_contrasts_that_could_be_shown() -> None:
    data = observer().isel(layer=0, readout=0)
    away = np.abs(np.log(GRID[None, None] / MATCHED[:, :, None]))
    away[:, 0, 20:] = np.nan  # up to 0.07
    away[0] = np.nan
    data = data.drop_vars("response").assign(
        difference=(("reference", "frequency", "contrast"), away)
    )
    found, candidates = matches(data)
    assert np.isnan(found[0]).all()
    assert (candidates[0] == 1).all()
    np.testing.assert_allclose(np.log(found[1:, 1:] / MATCHED[1:, 1:]), 0, atol=0.11)
    assert (candidates[1:, 1:] == 1).all()
    beyond = MATCHED[1:, 0] > GRID[19]
    assert (found[1:, 0][beyond] == GRID[19]).all()
    assert (candidates[1:, 0] == (found[1:, 0] < GRID[19])).all()
