"""Agreement of curves with people's, and how curves are drawn."""

import numpy as np
import pytest
import xarray as xr

from fechner.experiments.detection import REASONS
from fechner.scores import CurveAgreement, CurvePanels
from fechner.scores.comparisons import paired
from fechner.scores.curve_checks import ORDERED, SATURATES, SATURATES_BOTH_SIDES
from fechner.scores.panels import Line, Panel
from fechner.suites import suite

X = np.linspace(0.03, 0.3, 10)
HUMAN = np.array([np.tanh(gain * X) for gain in (12.0, 6.0, 3.0)])


def curves(response, human=HUMAN, ideal=HUMAN, seeds: int = 1, x=X, **changes) -> xr.Dataset:
    response = np.repeat(np.asarray(response)[:, None, :, None, None], seeds, axis=1)
    n = len(human)
    coords = {
        "abscissa": ("x", x),
        "channel": ("curve", ["ach"] * n),
        "condition": ("curve", [f"c{i}" for i in range(n)]),
        "level": ("curve", np.arange(float(n))),
        "group": ("curve", [""] * n),
        "layer": ["output"],
        "readout": ["l2"],
    }
    data = {
        "response": (("curve", "seed", "x", "layer", "readout"), response),
        "human": (("curve", "x"), human),
        "ideal": (("curve", "x"), ideal),
        "dropped": (
            ("curve", "x"),
            np.zeros(human.shape, np.uint8),
            {"meanings": " ".join(REASONS)},
        ),
    }
    return xr.Dataset({**data, **changes}, coords=coords)


def scores(data: xr.Dataset, **how) -> dict:
    return {score.name: score for score in CurveAgreement(**how)(data)}


def test_a_scale_is_free_and_an_offset_too() -> None:
    found = scores(curves(7 * HUMAN + 2))
    assert found["pearson"].value == pytest.approx(1)
    assert found["order"].value == pytest.approx(1)
    assert found["agreement"].value == pytest.approx(1)
    assert "mean of pearson and order" in found["agreement"].note


def test_one_scale_for_all_curves() -> None:
    each_its_own = HUMAN * np.array([[1.0], [3.0], [9.0]])
    assert scores(curves(each_its_own))["pearson"].value < 0.9


def test_curves_that_do_not_move_agree_with_nothing() -> None:
    found = scores(curves(np.ones_like(HUMAN)))
    assert [found[name].value for name in ("pearson", "order", "agreement")] == [0, 0, 0]
    assert "the same and flat" in found["agreement"].note


def test_correlation_is_numpys() -> None:
    response = HUMAN + 0.3 * np.random.default_rng(0).standard_normal(HUMAN.shape)
    expected = np.corrcoef(HUMAN.ravel(), response.ravel())[0, 1]
    found = scores(curves(response))["pearson"]
    assert found.value == pytest.approx(expected)
    assert found.low < found.value < found.high
    assert found.resampled == "abscissae"


@pytest.mark.parametrize("order", ["concordance", "pooled"])
def test_intervals_hold_what_more_abscissae_would_show(order: str) -> None:
    """Noise on every point: intervals over abscissae hold the mean over observers."""
    generator = np.random.default_rng(3)
    found = [
        scores(curves(HUMAN + 0.2 * generator.standard_normal(HUMAN.shape)), order=order)
        for _ in range(150)
    ]
    for name in ("pearson", "order"):
        truth = np.mean([each[name].value for each in found])
        inside = np.mean([each[name].low <= truth <= each[name].high for each in found])
        assert inside > 0.88, name


def test_elevations_are_ratios_to_the_first_curve() -> None:
    raised = np.array([1 + 4 * np.exp(-((np.arange(10) - peak) ** 2) / 4) for peak in (3, 6)])
    base = HUMAN[0]
    human = np.stack([base, *(base / raised)])
    data = curves(5 * human, human=human, ideal=human)
    found = scores(data, elevation=True)
    assert found["pearson"].value == pytest.approx(1)
    assert found["order"].value == pytest.approx(1)
    # Half of the elevation everywhere has the same shape over its largest.
    milder = np.stack([base, *(base / (1 + (raised - 1) / 2))])
    assert scores(curves(milder, human=human, ideal=human), elevation=True)[
        "pearson"
    ].value == pytest.approx(1)


def test_rounding_is_no_elevation() -> None:
    base = HUMAN[0]
    noise = 1 + 1e-7 * np.random.default_rng(2).standard_normal((3, 10))
    human = np.stack([base, base / 2, base / 3])
    found = scores(curves(base * noise, human=human, ideal=human), elevation=True)
    assert found["agreement"].value == 0


def test_points_left_out_are_named_and_shared() -> None:
    dropped = np.zeros(HUMAN.shape, np.uint8)
    dropped[0, -3:] = REASONS.index("out-of-gamut")
    flags = (("curve", "x"), dropped, {"meanings": " ".join(REASONS)})
    wrong_there = HUMAN.copy()
    wrong_there[0, -3:] = -9
    part = curves(wrong_there, dropped=flags)
    found = scores(part)
    assert found["pearson"].value == pytest.approx(1)
    assert "3 of 30 points left out: out-of-gamut" in found["pearson"].note
    at = {"layer": 0, "readout": 0}
    difference = paired(CurveAgreement(), part.isel(at), curves(2 * wrong_there).isel(at))
    assert difference.value == pytest.approx(0, abs=1e-12)


def test_checks_are_shares_of_curves_with_their_rule() -> None:
    saturating = scores(curves(np.tanh(12 * X) * np.ones((3, 1))), checks=(SATURATES, ORDERED))
    assert saturating["check-saturates"].value == 1
    assert saturating["check-saturates"].note.startswith("yes: the slope over the last third")
    assert saturating["check-ordered"].value == 0
    straight = scores(curves(X * np.array([[3.0], [2.0], [1.0]])), checks=(SATURATES, ORDERED))
    assert straight["check-saturates"].value == 0
    assert straight["check-saturates"].low == 0 < straight["check-saturates"].high
    assert straight["check-ordered"].value == 1


def stacked(layers: list[xr.Dataset]) -> xr.Dataset:
    data = xr.concat(layers, "layer", data_vars="minimal", coords="minimal", compat="override")
    return data.assign_coords(layer=[f"l{number}" for number in range(len(layers))])


def test_a_layer_is_chosen_where_it_is_not_scored() -> None:
    """Of many layers of noise the best is no better than chance on the other half."""
    generator = np.random.default_rng(5)
    noise = [curves(generator.standard_normal(HUMAN.shape)) for _ in range(60)]
    data = stacked(noise)
    found = CurveAgreement()(data)
    best = max(score.value for score in found if score.name == "agreement")
    (committed,) = (score for score in found if score.name == "agreement-committed")
    assert best > 0.3
    assert committed.value < best / 2
    assert "chosen on the other half" in committed.note
    assert committed.low < committed.value < committed.high


def test_the_right_layer_is_chosen() -> None:
    data = stacked([curves(-HUMAN), curves(HUMAN), curves(0 * HUMAN)])
    committed = CurveAgreement()(data)[-1]
    assert committed.name == "agreement-committed"
    assert committed.value == pytest.approx(1)
    assert committed.note.startswith("at l1, chosen")
    assert committed.layer == "l2"


def test_missing_curves_are_named_by_what_is_special_about_them() -> None:
    response = HUMAN.copy()
    response[2] = np.nan
    assert "no curve of c2" in scores(curves(response))["agreement"].note
    channels = curves(response).assign_coords(channel=("curve", ["ach", "rg", "yb"]))
    assert "no curve of yellow-blue" in scores(channels)["agreement"].note
    grouped = curves(response).assign_coords(group=("curve", ["low", "low", "high"]))
    assert "no curve of high c2" in scores(grouped)["agreement"].note
    assert "no curve" not in scores(curves(HUMAN))["agreement"].note


def test_checks_say_so_and_have_their_rule() -> None:
    found = scores(curves(HUMAN), checks=(SATURATES,))
    check = found["check-saturates"]
    assert check.is_check
    assert (check.claim, check.verdict, check.rule) == ("saturates", "yes", SATURATES.rule)
    assert not found["agreement"].is_check


def drawn(generator: np.random.Generator, draws: int, size: float, human=HUMAN) -> xr.Dataset:
    """Return curves in which every draw is larger or smaller as a whole, curve by curve."""
    scatter = 1 + size * generator.standard_normal((len(human), draws, 1, 1, 1))
    data = curves(human, seeds=draws, human=human, ideal=human)
    return data.assign(response=data["response"] * scatter)


def test_draws_are_resampled_beside_abscissae() -> None:
    alike, apart = (
        scores(drawn(np.random.default_rng(1), 5, size))["order"] for size in (0.0, 0.5)
    )
    once = scores(curves(HUMAN))["order"]
    assert (once.resampled, alike.resampled) == ("abscissae", "abscissae and draws")
    assert (alike.low, alike.high) == (once.low, once.high)
    assert apart.high - apart.low > 0.3
    note = scores(drawn(np.random.default_rng(1), 5, 0.5))["agreement"].note
    assert "over draws alone [" in note


def test_observers_that_err_in_the_same_draws_are_told_apart() -> None:
    """Draws are shared: an observer that is worse in every draw is, however much draws differ."""
    first = drawn(np.random.default_rng(2), 8, 0.3)
    at = {"layer": 0, "readout": 0}
    worse = first.assign(response=first["response"] + np.linspace(0, 0.4, 10)[:, None, None])
    difference = paired(CurveAgreement(), first.isel(at), worse.isel(at))
    apart = [scores(each)["agreement"] for each in (first, worse)]
    width = max(each.high - each.low for each in apart)
    assert difference.high - difference.low < width


@pytest.mark.slow
@pytest.mark.parametrize("draws", [5, 10])
def test_intervals_over_abscissae_and_draws_cover(draws: int) -> None:
    """Grids and draws of one population: 95 % intervals hold the score of all of it."""
    generator = np.random.default_rng(4)
    x, many = np.linspace(0.03, 0.3, 80), 200
    human = np.array([np.tanh(gain * x) for gain in (12.0, 6.0, 3.0)])
    own = human + 0.15 * np.sin(40 * x + np.arange(3.0)[:, None])
    each = own[:, None] * (1 + 0.15 * generator.standard_normal((3, many, 1)))

    def sample(at: np.ndarray, which: np.ndarray) -> dict:
        data = curves(own[:, at], human=human[:, at], ideal=human[:, at], x=x[at], seeds=len(which))
        return scores(
            data.assign(response=data["response"].copy(data=each[:, which][..., at, None, None]))
        )

    truth = sample(np.arange(80), np.arange(many))
    found = [
        sample(np.sort(generator.integers(80, size=10)), generator.integers(many, size=draws))
        for _ in range(300)
    ]
    for name in ("agreement", "pearson", "order"):
        inside = [each[name].low <= truth[name].value <= each[name].high for each in found]
        assert 0.92 < np.mean(inside) < 0.995, name


def test_size_of_elevations_is_scored_beside_their_shape() -> None:
    raised = np.array([1 + 4 * np.exp(-((np.arange(10) - peak) ** 2) / 4) for peak in (3, 6)])
    human = np.stack([HUMAN[0], *(HUMAN[0] / raised)])
    twice = np.stack([HUMAN[0], *(HUMAN[0] / (2 * raised))])
    same, larger, nothing = (
        scores(curves(each, human=human, ideal=human, seeds=3), elevation=True)["magnitude-db"]
        for each in (human, twice, np.tile(HUMAN[0], (3, 1)))
    )
    assert same.value == pytest.approx(0)
    assert larger.value == pytest.approx(20 * np.log10(2))
    assert nothing.value == nothing.chance == pytest.approx(-20 * np.log10(5))
    assert "people's 4, 4" in same.note
    assert same.low <= same.value <= same.high


def test_each_channel_has_its_own_unadapted_curve() -> None:
    raised = np.array([1 + 4 * np.exp(-((np.arange(10) - peak) ** 2) / 4) for peak in (3, 6)])
    human = np.stack([HUMAN[0], *(HUMAN[0] / raised)])
    both = xr.concat(
        [
            curves(5 * human, human=human, ideal=human),
            curves(human, human=human, ideal=human).assign_coords(
                group=("curve", ["rg"] * 3), channel=("curve", ["rg"] * 3)
            ),
        ],
        "curve",
    )
    found = scores(both, elevation=True)
    for name in ("pearson", "order", "order-rg", "pearson-rg", "agreement-chromatic"):
        assert found[name].value == pytest.approx(1), name
    assert found["magnitude-db"].value == pytest.approx(0)
    assert found["magnitude-db-rg"].value == pytest.approx(0)


def test_halves_and_channels_have_scores_of_their_own() -> None:
    channels = {"channel": ("curve", ["ach", "rg", "yb"])}
    # Right in colour, upside down in luminance.
    wrong = HUMAN * np.array([[-1.0], [1.0], [1.0]])
    found = scores(curves(wrong).assign_coords(channels))
    assert found["pearson-ach"].value == found["agreement-ach"].value == pytest.approx(-1)
    assert found["pearson-rg"].value == found["pearson-yb"].value == pytest.approx(1)
    assert found["agreement-chromatic"].value == pytest.approx(1)
    assert "agreement-ach" not in scores(curves(HUMAN))


def test_an_observer_without_a_channel_is_scored_in_the_others() -> None:
    channels = {"channel": ("curve", ["ach", "rg", "yb"])}
    silent = HUMAN.copy()
    silent[1:] = np.nan
    found = scores(curves(silent).assign_coords(channels))
    assert found["agreement"].value == pytest.approx(1)
    assert "pearson-rg" not in found
    # But a hole in a channel that it has is none of its curves.
    silent[0, 3] = np.nan
    found = scores(curves(silent).assign_coords(channels))
    assert "undefined" in found["agreement"].note


@pytest.mark.parametrize(
    "shape", [lambda x: x * np.exp(-6 * x), lambda x: np.sin(np.pi * x / 0.3), lambda x: -x]
)
def test_a_curve_that_falls_does_not_saturate(shape) -> None:
    falls = scores(curves(np.tile(shape(X), (3, 1))), checks=(SATURATES,))
    assert falls["check-saturates"].value == 0


def test_a_curve_that_falls_at_its_ends_does_not_saturate() -> None:
    x = np.linspace(-20, 20, 10)
    nothing = np.full((1, 10), np.nan)

    def passed(values: np.ndarray) -> float:
        data = curves(values[None], human=nothing, ideal=nothing)
        data = data.assign_coords(abscissa=("x", x), level=("curve", [0.0]))
        return scores(data, checks=(SATURATES_BOTH_SIDES,))["check-saturates"].value

    assert passed(np.tanh(x / 5)) == 1
    assert passed(x * np.exp(-((x / 8) ** 2))) == 0
    assert passed(-np.tanh(x / 5)) == 0


def test_flags_of_earlier_versions_can_be_shared() -> None:
    dropped = np.zeros(HUMAN.shape, np.uint8)
    dropped[2] = len(REASONS) - 1
    unseen = curves(HUMAN, dropped=(("curve", "x"), dropped, {"meanings": " ".join(REASONS)}))
    before = curves(HUMAN)
    before["dropped"].attrs["meanings"] = " ".join(REASONS[:-1])
    at = {"layer": 0, "readout": 0}
    difference = paired(CurveAgreement(), before.isel(at), unseen.isel(at))
    assert difference.value == pytest.approx(0, abs=1e-12)
    assert REASONS[-1] in difference.first.note


TESTS = {test.id: test for test in suite("decalogue").build()}


def answers(name: str, respond=None) -> xr.Dataset:
    """Return answers to a test by people's curves, or by a function of curve and abscissa."""
    task = TESTS[name].experiment.task
    curves, x = task.curves(), np.array(task.abscissae)
    nothing = (np.nan,) * len(x)
    human = np.array([curve.human or nothing for curve in curves])
    response = human if respond is None else np.array([respond(k, x) for k in range(len(curves))])
    return xr.Dataset(
        {
            "response": (("curve", "seed", "x"), response[:, None]),
            "human": (("curve", "x"), human),
            "ideal": (("curve", "x"), np.array([curve.ideal or nothing for curve in curves])),
            "dropped": (
                ("curve", "x"),
                np.zeros(human.shape, np.uint8),
                {"meanings": " ".join(REASONS)},
            ),
        },
        coords={
            "abscissa": ("x", x),
            **{
                key: ("curve", [getattr(curve, key) for curve in curves])
                for key in ("channel", "condition", "level", "group")
            },
        },
    )


def panels(name: str, respond=None) -> list[Panel]:
    return list(TESTS[name].panels(answers(name, respond)))


def lines(panel: Panel, human: bool = False) -> dict[str, Line]:
    found = [mark for mark in panel.marks if isinstance(mark, Line) and mark.human == human]
    return {line.label: line for line in found}


def test_channels_have_their_colours_and_names() -> None:
    (panel,) = panels("spectral")
    assert (panel.palette, panel.groups) == ("channels", "channel")
    assert {label: line.group for label, line in lines(panel).items()} == {
        "achromatic": 0,
        "red-green": 1,
        "yellow-blue": 2,
    }


def test_masks_are_coloured_by_how_much_they_should_attenuate() -> None:
    low, high = panels("masking-orientation", lambda k, x: x * (k + 1))
    assert (low.name, high.name) == ("low: 3 cpd", "high: 12 cpd")
    assert (low.title, high.title) == ("Response, low: 3 cpd", "Response, high: 12 cpd")
    assert (low.kind, low.palette, low.ordered) == ("curves", "adaptors", True)
    group = {label: line.group for label, line in lines(low).items()}
    assert group["no mask"] == 0
    assert group["mask at 90 deg"] == 1
    assert group["mask at 22.5 deg"] == group["mask at 157.5 deg"] == 4
    assert group["mask at 0 deg"] == 5
    # Each frequency has its own nearest mask.
    nearest = [
        max(lines(panel).values(), key=lambda line: line.group).label
        for panel in panels("masking-frequency", lambda k, x: x)
    ]
    assert nearest == ["mask 3 cpd", "mask 12 cpd"]


def test_backgrounds_have_the_colours_of_their_axis() -> None:
    red_green, yellow_blue = panels("colour", lambda k, x: x + k)
    assert (red_green.palette, yellow_blue.palette) == ("red-green", "yellow-blue")
    assert [line.group for line in lines(red_green).values()] == [0, 1, 2, 3, 4]
    # What stands below is the row on grey of either axis.
    rows = TESTS["colour"].experiment.samples()
    shown = [rows[panel.row][0].y for panel in (red_green, yellow_blue)]
    assert shown == ["red-green, on grey", "yellow-blue, on grey"]
    (brightness,) = panels("brightness", lambda k, x: x)
    assert (brightness.palette, brightness.row) == ("adaptors", 0)
    assert lines(brightness)["on 160 cd/m2"].group == 4


def test_frequencies_are_steps_since_their_order_changes() -> None:
    found = panels("contrast")
    assert [panel.title for panel in found] == [
        "Response, achromatic",
        "Response, red-green",
        "Response, yellow-blue",
    ]
    for panel in found:
        assert (panel.palette, panel.ordered) == ("", True)
        assert [line.group for line in lines(panel).values()] == [0, 1, 2, 3, 4]
    samples = TESTS["contrast"].experiment.samples()
    assert [samples[panel.row][0].y for panel in found] == [
        "achromatic, 1.5 cpd",
        "red-green, 1.5 cpd",
        "yellow-blue, 1.5 cpd",
    ]


def test_people_are_scaled_by_one_factor_to_the_observer() -> None:
    data = answers("contrast")
    data["response"] = 7 * data["response"]
    for panel in TESTS["contrast"].panels(data):
        for label, line in lines(panel, human=True).items():
            np.testing.assert_allclose(line.y, lines(panel)[label].y)
    # Not so elevations, which have a unit of their own: 3.3-fold thresholds are people's.
    (panel,) = panels("adaptation")
    assert panel.kind == "elevations"
    for line in lines(panel, human=True).values():
        assert 2.1 < line.y.max() < 2.4


def test_curves_without_a_point_are_not_drawn() -> None:
    data = answers("masking-energy", lambda k, x: x)
    data["response"] = data["response"].where(data["condition"] != "mask 0.3")
    low, _ = CurvePanels()(TESTS["masking-energy"].experiment, data)
    assert "mask 0.3" not in lines(low)
    assert list(lines(low, human=True)) == ["no mask"]


def test_people_are_drawn_only_where_they_are_compared_with() -> None:
    # By distance, there is one curve and nothing to hold people's other channels against.
    nothing = np.nan
    (panel,) = panels("spectral", lambda k, x: x if k == 0 else nothing * x)
    assert list(lines(panel)) == list(lines(panel, human=True)) == ["achromatic"]
    # Where there is nothing at all, people are still to be seen.
    (panel,) = panels("spectral", lambda k, x: nothing * x)
    assert not lines(panel)
    assert len(lines(panel, human=True)) == 3


def test_bands_are_intervals_over_draws() -> None:
    """Half-widths are Student's t times the standard error of the mean of the draws."""
    data = answers("masking-energy", lambda k, x: x)
    scatter = 0.01 * np.random.default_rng(0).standard_normal(5)
    drawn = data.isel(seed=[0] * 5)
    drawn["response"] = drawn["response"] + xr.DataArray(scatter, dims="seed")
    low, _ = CurvePanels()(TESTS["masking-energy"].experiment, drawn)
    expected = 2.776 * scatter.std(ddof=1) / np.sqrt(5)
    for line in lines(low).values():
        np.testing.assert_allclose(line.high - line.y, expected, rtol=0.05)
        np.testing.assert_allclose(line.y - line.low, expected, rtol=0.05)
    (once, _) = CurvePanels()(TESTS["masking-energy"].experiment, data)
    assert all(line.low is None for line in lines(once).values())


def test_adaptation_of_several_channels_has_a_panel_each() -> None:
    data = answers("adaptation", lambda k, x: x / (1 + k))
    both = xr.concat([data, data.assign_coords(group=data["group"].copy(data=["rg"] * 4))], "curve")
    found = CurvePanels(elevation=True)(TESTS["adaptation"].experiment, both)
    assert len(found) == 2
    for panel in found:
        assert [line.y.max() for line in lines(panel).values()] == pytest.approx([1, 2, 3])
