"""What your own model is called with: channels, layout, arrays, one at a time, and by name."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from clips import small_metrics
from torch import nn

import fechner
from fechner.errors import ObserverError
from fechner.observers import Wants, lift, observe
from fechner.observers.custom import from_file
from fechner.observers.inputs import KNOWN, grey, prepared
from fechner.observers.metrics.metric import luma
from fechner.observers.validation import validate
from fechner.physiology import by_jacobian, record
from fechner.stimuli import OPPONENT, Clips, Field, Flicker, Frames, Gabor, Layer, Stimulus, display
from fechner.stimuli import paint as painted

FIELD = Field(20, 16, 8.0)
SIZE = (16, 20)


def stimulus(contrast: float, flicker: Flicker | None = None) -> Stimulus:
    """Return a Gabor of some colour."""
    colours = [OPPONENT.modulation_xyz(direction, 30.0) for direction in ("ach", "rg")]
    layers = (Layer(Gabor(1.0, 0.8), colour, contrast, flicker) for colour in colours)
    return Stimulus(OPPONENT.background_xyz(30.0), tuple(layers))


def shown(wants: Wants, *contrasts: float) -> Frames:
    dtype = getattr(torch, wants.dtype)
    stimuli = [stimulus(contrast) for contrast in contrasts]
    return painted(stimuli, FIELD, display("metrics"), light=wants.light, dtype=dtype)


def videos(wants: Wants, *contrasts: float) -> Clips:
    stimuli = tuple(stimulus(contrast, Flicker(10.0)) for contrast in contrasts)
    field = replace(FIELD, frames=6, fps=50.0)
    return Clips(stimuli, field, display("metrics"), wants.light, getattr(torch, wants.dtype))


def answers(thing: Any, wants: Wants, show: Callable[..., Any] = shown, **settings: Any) -> Any:
    """Return what three tests differ from two references by, at every layer."""
    observer = thing if hasattr(thing, "wants") else observe(thing, wants=wants, **settings)
    comparer = lift(observer, "compares", ("angle", "l2"), None)
    with torch.no_grad():
        memory = comparer.remember(show(wants, 0.0, 0.05))
        return comparer.difference(show(wants, 0.1, 0.2, 0.4), memory, torch.tensor([0, 1, 0]))


class Net(nn.Module):
    """Two stages, of which the second writes over what the first handed on."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        torch.manual_seed(0)
        second = nn.Sequential(nn.ReLU(inplace=True), nn.Conv2d(4, 5, 3))
        self.blocks = nn.ModuleList([nn.Sequential(nn.Conv2d(channels, 4, 5)), second])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x.mean(dim=(-2, -1))


class Rearranged(Net):
    """The same network for another form of pictures."""

    def __init__(self, rearrange: Callable[[Any], torch.Tensor], channels: int = 3) -> None:
        super().__init__(channels)
        self.rearrange = rearrange

    def forward(self, x: Any) -> torch.Tensor:
        return super().forward(self.rearrange(x))


def error(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return (test - reference).abs().mean(dim=tuple(range(1, test.ndim)))


def sees_the_same(first: torch.Tensor, second: torch.Tensor, rounding: float = 0.0) -> bool:
    assert (first > 0).all()
    return torch.allclose(first, second, rtol=rounding, atol=0.0)


#: Batches of other sizes are summed in another order.
ROUNDING = 1e-9
DOUBLE = Wants(size_px=SIZE, dtype="float64")


# What wishes mean


@pytest.mark.parametrize(
    "wrong",
    [
        {"channels": 2},
        {"layout": "bchw"},
        {"layout": "nch"},
        {"layout": "nchhw"},
        {"layout": "hwcn"},
        {"layout": ""},
        {"array": "jax"},
    ],
)
def test_wishes_that_cannot_be_met(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is .*{next(iter(wrong.values()))}"):
        Wants(**wrong)


def test_what_follows_from_a_wish() -> None:
    assert Wants() == Wants(layout="NCHW")
    assert Wants(layout="nhwc").colour
    for no_colour in (Wants(channels=1), Wants(layout="nhw")):
        assert (no_colour.channels, no_colour.colour) == (1, False)
    assert Wants(layout="ntchw").video
    assert not Wants(layout="chw").batched


def test_every_wish_changes_the_fingerprint() -> None:
    wishes = [{}, {"channels": 1}, {"layout": "nhwc"}, {"layout": "chw"}, {"array": "numpy"}]
    for thing in (Net(), error, lambda pictures: pictures):
        prints = {observe(thing, version="1", wants=Wants(**wish)).fingerprint for wish in wishes}
        assert len(prints) == len(wishes)


# Layouts: the same answers, to the bit

PERMUTED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "nchw": lambda x: x,
    "nhwc": lambda x: x.permute(0, 3, 1, 2),
    "nwhc": lambda x: x.permute(0, 3, 2, 1),
    "chw": lambda x: x,
    "hwc": lambda x: x.permute(2, 0, 1),
}


@pytest.mark.parametrize("array", ["torch", "numpy"])
@pytest.mark.parametrize("layout", PERMUTED)
@pytest.mark.parametrize("kind", ["module", "function", "metric"])
def test_layouts(layout: str, array: str, kind: str) -> None:
    wants = replace(DOUBLE, layout=layout, array=array)
    rounding = 0.0 if wants.batched else ROUNDING

    def ordinary(pictures: Any) -> torch.Tensor:
        assert isinstance(pictures, torch.Tensor if array == "torch" else np.ndarray)
        sizes = {"n": 3, "c": 3, "h": 16, "w": 20}
        assert [sizes[axis] for axis in layout[-3:]] == list(pictures.shape[-3:])
        assert pictures.is_contiguous() if array == "torch" else pictures.flags.c_contiguous
        return PERMUTED[layout](torch.as_tensor(pictures)).contiguous()

    if kind == "metric":

        def metric(test: Any, reference: Any) -> Any:
            pair = [ordinary(each) for each in (test, reference)]
            if wants.batched:
                return error(*pair)
            score = error(*(each[None] for each in pair))[0]
            return float(score) if array == "numpy" else score

        assert sees_the_same(answers(metric, wants), answers(error, DOUBLE), rounding)
        return
    net = Net().double()
    if kind == "function":
        found = answers(lambda x: net(ordinary(x)).numpy(), wants)
        assert sees_the_same(found, answers(lambda x: net(x), DOUBLE), rounding)
    else:
        found = answers(Rearranged(ordinary).double(), wants)
        assert found.shape == (3, 3, 2)  # stages too
        assert sees_the_same(found, answers(net, DOUBLE), rounding)


def test_one_picture_at_a_time_is_never_a_batch() -> None:
    shapes = []

    def mean(picture: np.ndarray) -> float:
        shapes.append(picture.shape)
        return float(picture.mean())

    one = observe(mean, wants=Wants(layout="hw", array="numpy"))
    answers(one, one.wants)
    assert shapes == [(16, 20)] * 5


def test_a_module_of_single_pictures_has_layers() -> None:
    wants = Wants(layout="chw", size_px=SIZE)
    one, ordinary = observe(Net(), wants=wants), observe(Net(), wants=Wants(size_px=SIZE))
    assert one.layers == ordinary.layers == ("blocks.0", "blocks.1", "output")
    listed = [[(each.name, each.shape) for each in x.every_layer()] for x in (one, ordinary)]
    assert listed[0] == listed[1]


def test_receptive_fields_of_other_forms() -> None:
    wants = Wants(layout="hwc", size_px=SIZE)
    found = [
        by_jacobian(record(observer, "blocks.1", units=1))[0].weights
        for observer in (
            observe(Net(), wants=Wants(size_px=SIZE)),
            observe(Rearranged(PERMUTED["hwc"]), wants=wants),
        )
    ]
    np.testing.assert_array_equal(*found)


def test_arrays_of_other_libraries_are_features() -> None:
    class Array:
        def __init__(self, values: np.ndarray) -> None:
            self.values = values

        def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
            return self.values

    def jax_like(x: np.ndarray) -> Array:
        return Array(x.mean(axis=(1, 2)))

    wants = Wants(layout="nhwc", array="numpy")
    expected = answers(lambda x: x.mean(axis=(1, 2)), wants)
    assert sees_the_same(answers(jax_like, wants), expected)


# One channel


def test_grey_is_luma_of_encoded_values_and_luminance_of_light() -> None:
    frames = shown(Wants(), 0.3, 0.5)
    assert torch.equal(prepared(frames, Wants(channels=1)), luma(frames.pixels)[:, None])
    lit = shown(Wants(light="cdm2"), 0.3, 0.5)
    weights = torch.tensor(lit.display.rgb_to_xyz[1])
    expected = torch.einsum("nchw,c->nhw", lit.pixels, weights)
    torch.testing.assert_close(prepared(lit, Wants(light="cdm2", layout="nhw")), expected)
    clips = videos(Wants(light="cdm2"), 0.3)
    expected = torch.stack([frame.luminance() for frame in clips], dim=1)
    torch.testing.assert_close(prepared(clips, Wants(light="cdm2", layout="nhw")), expected)


@pytest.mark.parametrize("layout", ["nchw", "nhwc", "chw"])
def test_a_grey_model_says_what_the_same_model_says_of_luma(layout: str) -> None:
    wants = replace(DOUBLE, channels=1, layout=layout)
    found = answers(Rearranged(PERMUTED[layout], 1).double(), wants, mean=(0.2,), std=0.5)
    by_hand = Rearranged(lambda x: (luma(x)[:, None] - 0.2) / 0.5, 1).double()
    assert sees_the_same(found, answers(by_hand, DOUBLE), ROUNDING)


def test_a_grey_metric() -> None:
    def of_luma(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        return error(luma(test), luma(reference))

    assert sees_the_same(answers(error, Wants(layout="nhw")), answers(of_luma, Wants()))


@pytest.mark.parametrize("wants", [None, Wants(size_px=SIZE), Wants(layout="chw", size_px=SIZE)])
def test_a_first_convolution_of_one_channel_is_noticed(wants: Wants | None) -> None:
    observer = observe(Net(channels=1), wants=wants, version="1", mean=(0.13,))
    assert observer.wants == replace(wants or Wants(), channels=1)
    (warning,) = validate(observer).warnings
    assert "takes one channel" in warning
    assert "fechner.Wants(channels=1)" in warning
    told = observe(Net(channels=1), wants=observer.wants, version="1", mean=(0.13,))
    assert validate(told).warnings == []
    assert told.fingerprint == observer.fingerprint


def test_a_metric_whose_first_convolution_takes_one_channel_is_noticed() -> None:
    class Distance(Net):
        def forward(self, test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
            return error(super().forward(test), super().forward(reference))

    metric = observe(Distance(channels=1))
    assert metric.wants == Wants(channels=1)
    (warning,) = validate(metric).warnings
    assert "takes one channel" in warning
    assert observe(Distance()).wants == Wants()


def test_a_model_that_sees_grey_by_itself_is_left_alone() -> None:
    by_itself = Rearranged(lambda x: x.mean(dim=1, keepdim=True), channels=1)
    assert observe(by_itself).wants == Wants()
    never_reached = nn.Sequential(nn.Flatten(), nn.Linear(3, 1), nn.Conv2d(1, 1, 1))
    assert observe(never_reached).wants == Wants()


def test_a_grey_classifier_recognises() -> None:
    names = list("abcde")
    observer = observe(Net(channels=1), classes=names, wants=Wants(channels=1, layout="chw"))
    frames = shown(Wants(), 0.1, 0.5)
    with torch.no_grad():
        expected = Net(channels=1)(luma(frames.pixels)[:, None])
        torch.testing.assert_close(observer.class_scores(frames), expected)


@pytest.mark.parametrize("mean", [(0.1, 0.2, 0.3), (0.1, 0.2)])
def test_normalisation_of_other_channels_is_one_sentence(mean: tuple[float, ...]) -> None:
    for thing, wants in ((Net(channels=1), None), (lambda x: x, Wants(channels=1))):
        with pytest.raises(ObserverError, match=r"mean of .* is one number or 1"):
            observe(thing, wants=wants, mean=mean)


# By name

EXPECTED = {"ppd": 8.0, "fps": 60.0, "peak_cdm2": display("metrics").peak_cdm2}
EXPECTED |= {"black_cdm2": display("metrics").black_cdm2, "display": display("metrics")}


def test_what_is_known_is_filled_in() -> None:
    assert set(EXPECTED) == set(KNOWN)
    given: list[dict[str, Any]] = []

    def metric(test: Any, reference: Any, ppd: float, fps: float = 1.0, gain: float = 2.0, *,
               peak_cdm2: float, black_cdm2: float, display: Any) -> Any:  # fmt: skip
        given.append({name: value for name, value in locals().items() if name in KNOWN})
        return gain * error(test, reference)

    assert torch.equal(answers(metric, Wants()), 2 * answers(error, Wants()))
    assert given == [EXPECTED]


class Scaled(nn.Module):
    def forward(self, pictures: torch.Tensor, *, ppd: float) -> dict[str, torch.Tensor]:
        return {"features": pictures.flatten(1)[:, ::7] * ppd}


def test_encoders_and_modules_are_filled_in_too() -> None:
    expected = answers(lambda x: x.flatten(1)[:, ::7] * 8.0, Wants())
    assert sees_the_same(answers(lambda x, ppd: x.flatten(1)[:, ::7] * ppd, Wants()), expected)
    read = {"read": lambda output: output["features"]}
    assert sees_the_same(answers(Scaled(), Wants(), **read), expected)
    one = answers(lambda x, ppd: x.flatten()[::7] * ppd, Wants(layout="chw"))
    assert sees_the_same(one, expected)

    class Distance(nn.Module):
        def forward(self, test: Any, reference: Any, fps: float) -> Any:
            return error(test, reference) * fps

    assert sees_the_same(answers(Distance(), DOUBLE), 60 * answers(error, DOUBLE), ROUNDING)


@pytest.mark.parametrize(
    "function",
    [
        lambda test, reference, sigma: test,
        lambda test, reference, *, sigma: test,
        lambda pictures, *, sigma, ppd: pictures,
    ],
)
def test_what_is_not_known_is_one_sentence(function: Callable[..., Any]) -> None:
    with pytest.raises(ObserverError, match=r"needs an argument 'sigma'.*ppd, fps, peak_cdm2"):
        observe(function)


def test_the_best_score_is_asked_under_the_same_conditions_each_time() -> None:
    asked = []

    def likeness(test: Any, reference: Any, ppd: float) -> Any:
        asked.append((tuple(test.shape), ppd))
        return 5 - error(test, reference)

    wants = replace(DOUBLE, channels=1, layout="nhwc")
    observer = observe(likeness, wants=wants, higher_is_better=True)
    assert sees_the_same(answers(observer, wants), answers(error, wants), ROUNDING)
    assert asked == [((1, 16, 20, 1), 60.0), ((3, 16, 20, 1), 8.0)]


# Videos


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        ("nchw", (3, 3, 6, 16, 20)),
        ("nhwc", (3, 6, 16, 20, 3)),
        ("ntchw", (3, 6, 3, 16, 20)),
        ("nhw", (3, 6, 16, 20)),
        ("thwc", (6, 16, 20, 3)),
        ("chw", (3, 6, 16, 20)),
    ],
)
def test_videos_have_the_layout_too(layout: str, shape: tuple[int, ...]) -> None:
    seen = []

    def metric(test: torch.Tensor, reference: torch.Tensor, fps: float) -> torch.Tensor:
        seen.append((tuple(test.shape), fps))
        return error(test, reference) if layout[0] == "n" else (test - reference).abs().mean()

    wants = Wants(layout=layout, video=True, dtype="float64")
    found = answers(metric, wants, show=videos)
    assert set(seen) == {(shape, 50.0)}
    if wants.channels == 3:
        expected = answers(error, Wants(video=True, dtype="float64"), show=videos)
        torch.testing.assert_close(found, expected)


def test_a_picture_is_a_video_of_one_frame_for_those_that_take_videos_only() -> None:
    wants = Wants(layout="ncthw", size_px=SIZE)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv3d(3, 4, (1, 3, 3)), nn.Flatten())
    observer = observe(model, wants=wants, mean=(0.1, 0.2, 0.3))
    assert prepared(shown(wants, 0.1), wants).shape == (1, 3, 1, 16, 20)
    assert (answers(observer, wants) > 0).all()
    assert (answers(observer, wants, show=videos) > 0).all()
    assert validate(observer).verdict == "Sequential is fit to run."


def test_a_metric_that_says_it_takes_videos_is_shown_one() -> None:
    good = validate(observe(error, wants=Wants(video=True)))
    assert good.warnings == []
    assert good.facts["video"] == "8 frames at 60 per second"
    pictures_only = observe(lambda t, r: (t - r).abs().mean(dim=(1, 2, 3)), wants=Wants(video=True))
    (warning,) = validate(pictures_only).warnings
    assert warning.startswith("it cannot be shown videos")


# All together

FORMS = """
import numpy as np
from fechner import Wants, observe

def ordinary():
    return observe(lambda t, r: _error(t, r), wants=Wants(video=True, dtype="float64"))

def last():
    metric = lambda t, r, fps: [np.abs(a - b).mean() for a, b in zip(t, r)]
    return observe(metric, wants=Wants(layout="nhwc", array="numpy", video=True, dtype="float64"))

def single():
    metric = lambda t, r, *, ppd: float(np.abs(t - r).mean())
    return observe(metric, wants=Wants(layout="thwc", array="numpy", dtype="float64"))

def _error(t, r):
    return (t - r).abs().flatten(1).mean(dim=1)
"""


def test_scores_do_not_depend_on_the_form(tmp_path: Path) -> None:
    file = tmp_path / "forms.py"
    file.write_text(FORMS)
    names = [f"{file}:{name}" for name in ("ordinary", "last", "single")]
    for name in names:
        assert validate(from_file(name)).verdict == f"{name} is fit to run."
    with small_metrics():
        run = fechner.evaluate(
            *names, suite="metrics", tests=["flicker"], scores_only=True, progress=False
        )
        frame = run.to_dataframe("scores")
    values = [frame[frame["observer"] == name]["value"].round(6).tolist() for name in names]
    assert values[0]
    assert values[0] == values[1] == values[2]


def test_what_is_tried_out_is_always_the_same() -> None:
    wants = Wants(light="cdm2", size_px=SIZE, dtype="float64")
    first, second = grey(wants, 2), grey(wants, 2)
    assert torch.equal(first.pixels, second.pixels)
    assert (first.light, first.pixels.dtype) == ("cdm2", torch.float64)
