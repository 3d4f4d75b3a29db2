"""Panels of curves: which colour stands for what, and what is drawn beside people."""

import numpy as np
import pytest
import xarray as xr

from fechner.experiments.limits import REASONS
from fechner.scores import CurvePanels
from fechner.scores.panels import Line, Panel
from fechner.suites import suite

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
