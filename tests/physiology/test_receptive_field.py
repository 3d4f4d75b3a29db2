"""Receptive fields of planted units are found, by all three methods."""

from functools import partial

import numpy as np
import pytest
import torch
from gabor_bank import CONDITIONS, KERNEL_PX, gabor_bank, planted, turned
from torch import nn

from fechner import Wants, observe
from fechner.errors import FechnerError, GamutError, ObserverError
from fechner.physiology import (
    Conditions,
    Window,
    by_deltas,
    by_jacobian,
    by_noise,
    describe,
    record,
)
from fechner.stimuli import Field, display

METHODS = {
    "jacobian": by_jacobian,
    "deltas": by_deltas,
    "noise": partial(by_noise, pictures=20_000),
    "gaussian": partial(by_noise, pictures=20_000, noise="gaussian"),
}
SMALL = Conditions(field=Field.of(pixels=9, ppd=16))


def small_bank(**wants: object) -> object:
    torch.manual_seed(0)
    return observe(nn.Conv2d(3, 4, 5), name="small", wants=Wants(**wants))


class Count:
    """Counts pictures."""

    def __init__(self) -> None:
        self.expected = self.shown = 0

    def start(self, images: int) -> None:
        self.expected = images

    def images(self, n: int) -> None:
        self.shown += n


@pytest.mark.parametrize("method", METHODS)
def test_planted_gabors_are_recovered(method: str) -> None:
    gabors = planted(6 if method == "gaussian" else 12)
    observer = observe(gabor_bank(gabors), name="bank")
    progress = Count()
    found = METHODS[method](record(observer, conditions=CONDITIONS), progress=progress)
    assert len(found) == len(gabors)
    assert progress.shown == progress.expected > 0
    for field, truth in zip(found, gabors, strict=True):
        assert field.window.size_px == (KERNEL_PX, KERNEL_PX)
        tuning = describe(field)
        assert tuning.kind == "oriented"
        assert tuning.colour.axis == truth.axis
        assert tuning.gabor is not None
        assert turned(tuning.gabor.orientation_deg, truth.orientation_deg) < 3
        assert tuning.gabor.frequency_cpd == pytest.approx(truth.frequency_cpd, rel=0.05)
        # The sign of a colour direction is the field's affair, so a phase may be half a turn off.
        assert turned(tuning.gabor.phase_deg, truth.phase_deg) < 12
        assert tuning.gabor.n_x == pytest.approx(0.5, rel=0.1)
        assert tuning.gabor.aspect == pytest.approx(1.3, rel=0.1)


def test_weights_of_pixels_are_the_kernels() -> None:
    observer = small_bank()
    conditions = Conditions(SMALL.field, of="pixels")
    kernels = observer.module.weight.detach().numpy()
    for found in (
        by_jacobian(record(observer, conditions=conditions)),
        by_deltas(record(observer, conditions=conditions)),
    ):
        for field, kernel in zip(found, kernels, strict=True):
            assert field.weights == pytest.approx(kernel, abs=2e-5)
            assert field.window == Window(2, 7, 2, 7)
            assert field.errors is None


def test_weights_of_light_have_the_slope_of_the_display() -> None:
    """The decalogue's display has exponents 2.2, 2.2 and 2.1 and a peak of 171.2 cd/m2."""
    observer = small_bank()
    (field, *_) = by_jacobian(record(observer, conditions=SMALL))
    share = 40 / display("decalogue").peak_cdm2
    slopes = np.array([share ** (1 / g) / g / 40 for g in (2.2, 2.2, 2.1)])
    kernel = observer.module.weight[0].detach().numpy()
    assert field.weights == pytest.approx(slopes[:, None, None] * kernel, rel=1e-4)


@pytest.mark.parametrize("of", ["light", "pixels"])
def test_an_observer_of_light(of: str) -> None:
    observer = small_bank(light="cdm2")
    conditions = Conditions(SMALL.field, of=of)
    by_slope = by_jacobian(record(observer, conditions=conditions))
    by_steps = by_deltas(record(observer, conditions=conditions), contrast=0.01)
    for one, other in zip(by_slope, by_steps, strict=True):
        assert one.weights == pytest.approx(other.weights, rel=0.01, abs=1e-3)
    if of == "light":
        kernel = observer.module.weight[0].detach().numpy()
        assert by_slope[0].weights == pytest.approx(kernel, rel=1e-4)


def test_layers_share_a_pass_and_have_windows_of_their_own() -> None:
    """An activation that writes over its input does not change what was tapped."""
    torch.manual_seed(1)
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Conv2d(4, 2, 3))
    observer = observe(network, name="network")
    passes = []
    network.register_forward_hook(lambda *_: passes.append(1))
    recording = record(observer, ["0", "1", "2"], conditions=SMALL)
    assert [len(site.units) for site in recording.sites] == [4, 4, 2]
    found = by_jacobian(recording, batch=3)
    assert [field.layer for field in found] == ["0"] * 4 + ["1"] * 4 + ["2"] * 2
    assert [field.window.size_px for field in found] == [(3, 3)] * 8 + [(5, 5)] * 2
    assert found[0].unit.place == (3, 3)
    kernel = network[0].weight.detach().numpy()
    ratio = found[0].weights[0] / kernel[0][0]
    assert ratio == pytest.approx(ratio[0, 0], rel=1e-4)
    passes.clear()
    by_noise(record(observer, ["0", "1", "2"], conditions=SMALL), pictures=100, batch=50)
    assert len(passes) <= 2 + 2 + 2 * 3 + 3  # shown, grey and support, shapes of three layers


def test_units_by_channel_index_or_number() -> None:
    observer = small_bank()
    at_centre, elsewhere = by_jacobian(record(observer, units=[1, (1, 0, 4)], conditions=SMALL))
    assert at_centre.unit.place == (2, 2)
    assert elsewhere.unit.place == (0, 4)
    # Both have the window that holds both.
    assert at_centre.window == elsewhere.window == Window(0, 7, 2, 9)
    assert at_centre.weights[:, 2:7, :5] == pytest.approx(elsewhere.weights[:, :5, 2:], rel=1e-5)
    assert [f.unit.channel for f in by_jacobian(record(observer, units=3, conditions=SMALL))] == [
        0,
        1,
        2,
    ]
    assert len(record(observer, units=99, conditions=SMALL).sites[0].units) == 4


def test_a_window_limits_what_is_shown() -> None:
    observer = small_bank()
    window = Window(3, 6, 3, 6)
    whole = by_deltas(record(observer, conditions=SMALL, window="field"))
    part = by_deltas(record(observer, conditions=SMALL, window=window))
    assert whole[0].weights.shape == (3, 9, 9)
    assert part[0].pictures == 2 * 3 * 9
    assert part[0].weights == pytest.approx(whole[0].weights[:, 3:6, 3:6], abs=1e-6)
    noise = by_noise(record(observer, conditions=SMALL, window=window), pictures=4000)
    close = np.abs(noise[0].weights - part[0].weights) < 5 * noise[0].errors
    assert close.all()


def test_tokens_and_maps_with_channels_last() -> None:
    class Tokens(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 5, 4, 4)

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            seen = self.patches(pictures).flatten(2).transpose(1, 2)
            return torch.cat([seen.mean(dim=1, keepdim=True), seen], dim=1)

    conditions = Conditions(field=Field.of(pixels=12, ppd=16))
    found = by_jacobian(record(observe(Tokens(), name="tokens"), conditions=conditions))
    assert len(found) == 5
    assert found[0].unit.place == (5,)  # the token of the fifth of nine patches, after the first
    assert found[0].window == Window(4, 8, 4, 8)
    last = observe(lambda p: p.movedim(1, -1), name="channels-last")
    (red, *_) = by_jacobian(record(last, conditions=conditions))
    assert red.window == Window(6, 7, 6, 7)
    assert red.weights[1:].any() == 0


def test_errors_of_noise_are_what_they_say() -> None:
    """z scores of weights have unit variance, whatever the noise."""
    observer = small_bank(light="cdm2")
    recording = record(observer, conditions=SMALL, window="field")
    truth = np.stack([field.weights for field in by_jacobian(recording)])
    for noise, contrast in (("binary", 0.2), ("gaussian", 0.3)):
        found = by_noise(recording, pictures=3000, noise=noise, contrast=contrast, seed=4)
        scores = np.stack([(f.weights - t) / f.errors for f, t in zip(found, truth, strict=True)])
        assert abs(scores.mean()) < 0.1
        assert scores.std() == pytest.approx(1, abs=0.1)
        assert [field.linear for field in found] == pytest.approx([1] * 4, abs=0.06)


def test_noise_depends_on_its_seed_and_not_on_batches() -> None:
    recording = record(small_bank(), units=1, conditions=SMALL)
    for noise in ("binary", "gaussian"):
        find = partial(by_noise, recording, pictures=301, noise=noise)
        (one,), (same,), (other,) = find(batch=7), find(batch=128), find(seed=1)
        assert one.weights == pytest.approx(same.weights, rel=1e-4, abs=1e-7)
        assert np.abs(one.weights - other.weights).max() > one.errors.max()


def test_a_unit_that_only_rectifies() -> None:
    """Silent at the grey: the Jacobian says nothing, steps say half, noise finds it."""
    torch.manual_seed(0)
    conv = nn.Conv2d(3, 1, 5)
    grey = torch.tensor(SMALL.encoded)[None, :, None, None].expand(1, 3, 5, 5)
    conv.bias.data -= conv(grey).detach().flatten() + 1e-4
    observer = observe(nn.Sequential(conv, nn.ReLU()), name="rectified")
    linear = by_jacobian(record(observe(conv, name="linear"), conditions=SMALL))[0]
    recording = record(observer, conditions=SMALL, window=linear.window)
    silent = describe(by_jacobian(recording)[0])
    assert (silent.kind, silent.colour.axis) == ("silent", "none")
    steps = by_deltas(recording)[0]
    assert np.corrcoef(steps.weights.ravel(), linear.weights.ravel())[0, 1] > 0.99
    found = by_noise(recording, pictures=5000)[0]
    assert np.corrcoef(found.weights.ravel(), linear.weights.ravel())[0, 1] > 0.95
    assert 0.5 < found.linear < 0.9
    assert describe(found).kind != "silent"


def test_maximum_pooling_is_a_tie_at_the_grey() -> None:
    """Its derivative there is that of one pixel of every pool; around it, of all."""
    observer = observe(nn.MaxPool2d(3), name="pool", wants=Wants(light="cdm2"))
    recording = record(observer, units=1, conditions=SMALL, window=Window(3, 6, 3, 6))
    at_grey = by_jacobian(recording)[0].weights[0]
    assert sorted(at_grey.ravel()) == [0.0] * 8 + [1.0]
    around = by_jacobian(recording, pictures=400)[0]
    assert around.weights[0] == pytest.approx(np.full((3, 3), 1 / 9), abs=0.06)
    assert around.weights[0].sum() == pytest.approx(1)
    assert (around.pictures, around.contrast) == (400, 0.01)
    noise = by_noise(recording, pictures=20_000, noise="gaussian", contrast=0.01)[0]
    assert np.abs((noise.weights[0] - 1 / 9) / noise.errors[0]).max() < 4


def test_a_unit_without_a_linear_part_is_silent_to_noise() -> None:
    observer = observe(lambda p: (p - p.mean()).square().sum(dim=(1, 2, 3))[:, None], name="energy")
    found = by_noise(record(observer, conditions=SMALL, units=1, window="field"), pictures=2000)
    flat = observe(lambda p: p[:, :1, :1, 0] * 0, name="flat")
    nothing = by_noise(record(flat, conditions=SMALL), pictures=100)[0]
    assert describe(nothing).kind == "silent"
    assert found[0].linear < 1


def test_observers_without_gradients() -> None:
    weights = np.random.default_rng(0).normal(size=(2, 3, 9, 9))

    def outside_of_torch(pictures: torch.Tensor) -> np.ndarray:
        return np.einsum("nchw,kchw->nk", pictures.detach().numpy(), weights)

    observer = observe(outside_of_torch, name="outside")
    conditions = Conditions(SMALL.field, of="pixels")
    with pytest.raises(ObserverError, match="by deltas or noise"):
        by_jacobian(record(observer, conditions=conditions))
    found = by_deltas(record(observer, conditions=conditions))
    for field, truth in zip(found, weights, strict=True):
        assert field.weights == pytest.approx(truth, abs=1e-4)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda o: record(o, units=[4], conditions=SMALL), "no unit at 4: it is 4 x 5 x 5"),
        (lambda o: record(o, units=[(0, 5, 0)], conditions=SMALL), r"no unit at \("),
        (lambda o: record(o, units=[], conditions=SMALL), "at least one unit"),
        (lambda o: record(o, units=0, conditions=SMALL), "units must"),
        (lambda o: record(o, "nothing", conditions=SMALL), "there is no layer named 'nothing'"),
        (
            lambda o: by_jacobian(record(o, conditions=SMALL, window=Window(0, 10, 0, 9))),
            "a field of 9 x 9 px",
        ),
        (lambda o: by_noise(record(o, conditions=SMALL), noise="pink"), "binary or gaussian"),
        (lambda o: by_noise(record(o, conditions=SMALL), pictures=19), "20 pictures"),
        (lambda o: Conditions(of="lux"), "light or pixels"),
        (lambda o: Conditions(field=Field(9, 9, 9.0, frames=2)), "still pictures"),
        (lambda o: Conditions(display=display("hdr-hlg-1000"), of="pixels"), "HLG"),
    ],
)
def test_mistakes_are_sentences(wrong, sentence: str) -> None:
    with pytest.raises(FechnerError, match=sentence):
        wrong(small_bank())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda r: by_deltas(r, contrast=1.5), "steps of contrast 1.5"),
        (lambda r: by_noise(r, noise="gaussian", contrast=0.4), "at most 1"),
        (lambda r: Conditions(luminance_cdm2=500), "leaves no room"),
        (lambda r: Conditions(display=display("srgb-8bit")), "rounds to 8 bits"),
    ],
)
def test_what_a_display_cannot_show(wrong, sentence: str) -> None:
    with pytest.raises(GamutError, match=sentence):
        wrong(record(small_bank(), conditions=SMALL))


def test_who_does_not_encode_has_no_units() -> None:
    with pytest.raises(ObserverError, match="is not an encoder"):
        record(observe("standard-observer"))


def test_weights_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fechner.physiology.recording.free_memory", lambda: 1000)
    with pytest.raises(FechnerError, match="name fewer units"):
        by_jacobian(record(small_bank(), conditions=SMALL))


def test_the_first_layer_of_efficientnet_is_its_kernels() -> None:
    observer = observe("efficientnet_lite0")
    found = by_jacobian(record(observer, "_conv_stem", conditions=Conditions(of="pixels")))
    kernels = observer.module._conv_stem.weight.detach().numpy()
    std = np.broadcast_to(observer.network.normalise.std, 3)[:, None, None]
    assert len(found) == 32
    for field, kernel in zip(found, kernels, strict=True):
        assert field.weights == pytest.approx(kernel / std, rel=1e-3, abs=1e-5)
        assert describe(field).kind == "small"
