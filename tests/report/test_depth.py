import numpy as np

from fechner.report.depth import depth_panel, readout_panels
from fechner.runs import Result
from fechner.scores import Score
from fechner.scores.panels import Line, Panel, Surface


def result(value: float, layer: str, readout: str = "angle", main: bool = True) -> Result:
    score = Score(
        "alignment",
        value,
        value - 0.1,
        value + 0.1,
        True,
        best=1.0,
        chance=0.0,
        resampled="abscissae",
        n=9,
        layer=layer,
        readout=readout,
    )
    return Result("observer", "encoders", "area", "default", score, main=main)


def lines(panel: Panel) -> dict[str, Line]:
    return {mark.label: mark for mark in panel.marks if isinstance(mark, Line)}


def test_observers_with_one_layer_have_no_depth() -> None:
    assert depth_panel([("pixels", result(0.5, "output"))]) is None
    assert depth_panel([]) is None


def test_the_same_layers_are_named_on_the_axis() -> None:
    labelled = [("a", result(0.1 * i, layer)) for i, layer in enumerate(("x", "y", "z"))]
    panel = depth_panel([*labelled, ("a", result(9.0, "x", main=False))])
    assert panel is not None
    assert panel.x.ticks == ("x", "y", "z")
    (line,) = lines(panel).values()
    np.testing.assert_allclose(line.y, [0.0, 0.1, 0.2])
    np.testing.assert_allclose(line.x, [0, 1, 2])
    assert line.low is not None
    np.testing.assert_allclose(line.low, line.y - 0.1)


def test_other_layers_share_a_scale_from_first_to_last() -> None:
    labelled = [("a", result(0.1, layer)) for layer in "xyz"]
    labelled += [("b", result(0.2, layer, "l2")) for layer in "pq"]
    panel = depth_panel(labelled)
    assert panel is not None
    assert panel.x.ticks == ()
    found = lines(panel)
    assert list(found) == ["a angle", "b l2"]
    np.testing.assert_allclose(found["a angle"].x, [0, 0.5, 1])
    np.testing.assert_allclose(found["b l2"].x, [0, 1])
    assert found["b l2"].names == ("p", "q")


def surface(panel: Panel) -> Surface:
    (mark,) = panel.marks
    assert isinstance(mark, Surface)
    return mark


def test_several_layers_by_several_read_outs_are_a_heat_map() -> None:
    labelled = [
        ("deep", result(0.1 * i + j, layer, readout))
        for i, layer in enumerate("xyz")
        for j, readout in enumerate(("l2", "l1"))
        if (layer, readout) != ("z", "l1")
    ]
    labelled += [("flat", result(5.0, "x", readout)) for readout in ("l2", "l1")]
    labelled += [("single", result(5.0, layer)) for layer in "xy"]
    labelled += [("deep", result(9.0, "x", "l2", main=False))]
    found = readout_panels(labelled)
    assert list(found) == ["deep"]
    assert (found["deep"].x.ticks, found["deep"].y.ticks) == (("x", "y", "z"), ("l2", "l1"))
    np.testing.assert_allclose(surface(found["deep"]).z, [[0, 1], [0.1, 1.1], [0.2, np.nan]])


def test_heat_maps_have_one_scale() -> None:
    places = [(layer, readout) for layer in "xy" for readout in ("l2", "l1")]
    labelled = [("a", result(k / 4, *place)) for k, place in enumerate(places)]
    labelled += [("b", result(-k / 4, *place)) for k, place in enumerate(places)]
    found = [surface(panel) for panel in readout_panels(labelled).values()]
    assert [(each.low, each.high) for each in found] == [(-0.75, 0.75)] * 2
    (one, _) = readout_panels(labelled, (-1.0, 1.0)).values()
    assert (surface(one).low, surface(one).high) == (-1, 1)
