"""Networks as encoders: every part in one look, precision, what answers depend on, gradients."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers import READOUTS, ComparesFeatures, Wants, abilities, lift, observe
from fechner.observers.inputs import NORMALISATIONS, Normalisation
from fechner.observers.network import (
    Network,
    NetworkClassifier,
    NetworkEncoder,
    before_head,
    encoder,
)
from fechner.stimuli import Field, Frames, display

SIDE = 8
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def frames(n: int = 3, seed: int = 0, dtype: type = np.float32) -> Frames:
    values = np.random.default_rng(seed).random((n, 3, SIDE, SIDE)).astype(dtype)
    field = Field.of(pixels=SIDE, ppd=60)
    return Frames(torch.from_numpy(values), field, display("encoders"), "display")


class Net(nn.Module):
    """A small classifier with two stages; counts how often it looks, and at what."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.stem = nn.Conv2d(3, 4, 3)
        self.stages = nn.ModuleList(self._stage(4, width) for width in (4, 6))
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(6, 5)
        self.looks: list[tuple[torch.dtype, tuple[int, ...]]] = []
        self.eval()

    @staticmethod
    def _stage(channels: int, width: int) -> nn.Module:
        norm = nn.BatchNorm2d(width)
        nn.init.normal_(norm.running_mean)
        parts = [nn.Conv2d(channels, width, 3, padding=1), norm, nn.ReLU(inplace=True)]
        return nn.Sequential(*parts)

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        self.looks.append((x.dtype, tuple(x.shape)))
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.mean(x).flatten(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.forward_features(x))


WANTS = Wants(size_px=(SIDE, SIDE))
EVERYTHING = (
    "stem",
    "stages.0.0",
    "stages.0.1",
    "stages.0.2",
    "stages.0",
    "stages.1.0",
    "stages.1.1",
    "stages.1.2",
    "stages.1",
    "mean",
    "head",
    "output",
)


def by_hand(net: Net, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Run the parts one after the other, without taps and without changing anything in place."""
    found = {"stem": net.stem(x)}
    x = found["stem"]
    for number, stage in enumerate(net.stages):
        for index, part in enumerate(stage):
            x = part(x) if index < 2 else x.clamp(min=0)
            found[f"stages.{number}.{index}"] = x
        found[f"stages.{number}"] = x
    found["mean"] = adaptive_avg_pool2d(x, 1)
    found["head"] = found["output"] = net.head(found["mean"].flatten(1))
    return found


def look(observer: Any, shown: Frames, names: Sequence[str] = ("output",)) -> dict[str, Any]:
    seen: dict[str, torch.Tensor] = {}

    def keep(name: str) -> Callable[[torch.Tensor], None]:
        return lambda activation: seen.update({name: activation.clone()})

    observer.features(shown, {name: keep(name) for name in names})
    return seen


# Taps


@torch.no_grad()
def test_all_taps_give_what_the_parts_give_by_hand_in_one_pass() -> None:
    net = Net()
    observer = observe(net, wants=WANTS)
    assert [layer.name for layer in observer.every_layer()] == list(EVERYTHING[:-1])
    net.looks.clear()
    shown = frames()
    seen = look(observer, shown, EVERYTHING)
    assert net.looks == [(torch.float32, (3, 3, SIDE, SIDE))]
    expected = by_hand(net, shown.pixels)
    assert set(seen) == set(expected)
    for name, activation in seen.items():
        assert torch.equal(activation.flatten(1), expected[name].flatten(1)), name
    assert (seen["stages.0.1"] < 0).any()  # what the next part changes in place
    shapes = {layer.name: layer.shape for layer in observer.every_layer()}
    assert all(shapes[name] == expected[name].shape[1:] for name in shapes)


def test_a_tap_does_not_depend_on_which_others_there_are() -> None:
    observer, shown = observe(Net(), wants=WANTS), frames()
    together = look(observer, shown, EVERYTHING)
    for name in EVERYTHING:
        assert torch.equal(look(observer, shown, [name])[name], together[name])


@torch.no_grad()
def test_all_layers_and_read_outs_are_served_by_one_pass() -> None:
    net = Net()
    observer = observe(net, wants=WANTS)
    comparer = ComparesFeatures(observer, tuple(READOUTS), layers=("**",))
    assert comparer.layers == EVERYTHING
    references, tests = frames(2, seed=1), frames(4, seed=2)
    which = [0, 1, 1, 0]
    net.looks.clear()
    answer = comparer.difference(tests, comparer.remember(references), torch.tensor(which))
    assert len(net.looks) == 2  # references, tests
    assert answer.shape == (4, len(EVERYTHING), len(READOUTS))
    # One at a time.
    for row, layer in enumerate(EVERYTHING):
        for column, readout in enumerate(READOUTS):
            alone = ComparesFeatures(observer, (readout,), layers=(layer,))
            memory = alone.remember(references)
            single = alone.difference(tests, memory, torch.tensor(which))[:, 0, 0]
            torch.testing.assert_close(answer[:, row, column], single, rtol=1e-12, atol=1e-12)


@torch.no_grad()
def test_read_outs_of_all_layers_are_those_of_numpy() -> None:
    net = Net().double()
    observer = observe(net, wants=Wants(size_px=(SIDE, SIDE), dtype="float64"))
    comparer = ComparesFeatures(observer, tuple(READOUTS), layers=("**",))
    references, tests = frames(2, 1, np.float64), frames(4, 2, np.float64)
    which = [0, 1, 1, 0]
    answer = comparer.difference(tests, comparer.remember(references), torch.tensor(which))
    first, second = by_hand(net, references.pixels), by_hand(net, tests.pixels)
    for row, layer in enumerate(EVERYTHING):
        x, r = (f[layer].flatten(1).numpy() for f in (second, first))
        r = r[which]
        d = x - r
        length = np.linalg.norm(x, axis=1), np.linalg.norm(r, axis=1)
        expected = {
            "angle": np.arccos((x * r).sum(1) / (length[0] * length[1])) / np.pi,
            "l2": np.sqrt((d**2).sum(1)),
            "l1": np.abs(d).sum(1),
            "minkowski4": (d**4).sum(1) ** 0.25,
            "linf": np.abs(d).max(1),
            "energy": np.abs(length[0] - length[1]),
            "correlation": [1 - np.corrcoef(a, b)[0, 1] for a, b in zip(x, r, strict=True)],
        }
        for column, readout in enumerate(READOUTS):
            np.testing.assert_allclose(
                answer[:, row, column].numpy(), expected[readout], rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("side", [8, 12])
@torch.no_grad()
def test_a_network_of_any_size_is_tapped_at_any_size(side: int) -> None:
    net = Net()
    observer = observe(net)  # looks for its layers in one size, and is shown another
    assert observer.layers == ("stages.0", "stages.1", "output")
    values = np.random.default_rng(0).random((3, 3, side, side), dtype=np.float32)
    field = Field.of(pixels=side, ppd=60)
    shown = Frames(torch.from_numpy(values), field, display("encoders"), "display")
    expected = by_hand(net, shown.pixels)
    for name, activation in look(observer, shown, EVERYTHING).items():
        assert torch.equal(activation.flatten(1), expected[name].flatten(1)), name


def test_layers_default_to_the_stages_of_the_adapter() -> None:
    net = Net()
    network = Network(net, size_px=(SIDE, SIDE))
    assert encoder(network, name="n").layers == ("stages.0", "stages.1", "output")
    stages = ("mean", "stem")  # in the order of the pass, whatever that of the names
    network = Network(net, size_px=(SIDE, SIDE), stages=stages)
    assert encoder(network, name="n").layers == ("stem", "mean", "output")
    network = Network(net, size_px=(SIDE, SIDE), stages=())
    assert encoder(network, name="n").layers == ("output",)


def test_the_natural_read_out_may_leave_out_the_head() -> None:
    net, shown = Net(), frames()
    network = Network(net, net.forward_features, size_px=(SIDE, SIDE))
    observer = encoder(network, name="n")
    assert [layer.name for layer in observer.every_layer()] == list(EVERYTHING[:-2])
    seen = look(observer, shown, ("mean", "output"))
    assert torch.equal(seen["output"], net.forward_features(shown.pixels))
    assert torch.equal(seen["mean"], seen["output"])


def test_pictures_are_normalised_once() -> None:
    net, shown = Net(), frames()
    mean, std = (0.1, 0.2, 0.3), (0.5, 2.0, 4.0)
    observer = observe(net, wants=WANTS, mean=mean, std=std)
    values = (shown.pixels.numpy() - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    expected = by_hand(net, torch.from_numpy(values.astype(np.float32)))
    for name, activation in look(observer, shown, EVERYTHING).items():
        torch.testing.assert_close(activation, expected[name].flatten(1), rtol=1e-5, atol=1e-5)


# When it looks


def test_naming_its_abilities_does_not_make_it_look() -> None:
    net = Net()
    observer = observe(net, wants=WANTS, version="1")
    assert abilities(observer) == ("encodes",)
    assert observe(observer) is observer
    assert observer.fingerprint
    loaded = encoder(Network(net, size_px=(SIDE, SIDE), classify=net), name="n")
    assert abilities(loaded) == ("encodes", "recognises")
    assert net.looks == []


def test_the_output_is_read_without_looking_at_anything_else() -> None:
    net = Net()
    look(observe(net, wants=WANTS), frames(3))
    assert net.looks == [(torch.float32, (3, 3, SIDE, SIDE))]


def test_layers_are_found_once_in_its_own_size() -> None:
    net = Net()
    observer = observe(net, wants=WANTS)
    for _ in range(2):
        assert observer.layers == ("stages.0", "stages.1", "output")
        assert len(observer.every_layer()) == len(EVERYTHING) - 1
    assert net.looks == [(torch.float32, (n, 3, SIDE, SIDE)) for n in (1, 2)]


def test_finding_layers_keeps_no_gradients() -> None:
    observer = observe(Net(), wants=WANTS)
    seen: list[bool] = []
    handle = observer.module.stem.register_forward_hook(
        lambda part, arguments, output: seen.append(output.requires_grad)
    )
    assert observer.layers
    handle.remove()
    assert seen == [False, False]


# Precision


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@torch.no_grad()
def test_a_half_precision_module_is_shown_half_and_compared_in_single(dtype: torch.dtype) -> None:
    net, shown = Net().to(dtype), frames()
    observer = observe(net, wants=WANTS)
    assert observer.wants.dtype == "float32"
    assert observer.layers == ("stages.0", "stages.1", "output")
    net.looks.clear()
    seen = look(observer, shown, EVERYTHING)
    assert net.looks == [(dtype, (3, 3, SIDE, SIDE))]
    expected = by_hand(net, shown.pixels.to(dtype))
    for name, activation in seen.items():
        assert activation.dtype == torch.float32
        assert torch.equal(activation, expected[name].flatten(1).float()), name
    exact = by_hand(Net(), shown.pixels)["output"]
    assert torch.allclose(seen["output"], exact, atol=0.03)
    assert not torch.equal(seen["output"], exact)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_normalisation_is_computed_before_precision_is_lost(dtype: torch.dtype) -> None:
    class Same(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1, dtype=dtype))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.weight * x

    shown = frames()
    seen = look(observe(Same(), mean=0.5, std=0.01), shown)["output"]
    expected = ((shown.pixels.double() - 0.5) / 0.01).to(dtype).float()
    torch.testing.assert_close(seen, expected, rtol=torch.finfo(dtype).eps, atol=0)
    lost = ((shown.pixels.to(dtype) - 0.5) / 0.01).float()
    assert (lost - expected).abs().max() > 10 * (seen - expected).abs().max()


@torch.no_grad()
def test_a_double_precision_module_is_shown_double() -> None:
    net = Net().double()
    observer = observe(net)
    assert observer.wants == Wants(dtype="float64")
    shown = frames(dtype=np.float64)
    seen = look(observer, shown, ("output",))["output"]
    assert seen.dtype == torch.float64
    assert torch.equal(seen, by_hand(net, shown.pixels)["output"])
    assert net.looks == [(torch.float64, (3, 3, SIDE, SIDE))]


@torch.no_grad()
def test_a_double_precision_module_of_a_size_of_its_own_works_too() -> None:
    net = Net().double()
    observer = observe(net, wants=WANTS)
    dtype = np.float64 if observer.wants.dtype == "float64" else np.float32
    seen = look(observer, frames(dtype=dtype), ("stem", "output"))
    assert seen["output"].dtype == seen["stem"].dtype == torch.float64
    assert net.looks[-1][0] == torch.float64
    expected = by_hand(net, frames(dtype=dtype).pixels.double())
    assert torch.equal(seen["stem"], expected["stem"].flatten(1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@torch.no_grad()
def test_the_precision_of_a_loaded_network(dtype: str) -> None:
    net = Net()
    observer = encoder(Network(net, size_px=(SIDE, SIDE)), name="n", dtype=dtype)
    own = getattr(torch, dtype)
    assert {p.dtype for p in net.parameters()} == {own}
    assert observer.wants.dtype == ("float64" if dtype == "float64" else "float32")
    shown = frames(dtype=np.float64 if dtype == "float64" else np.float32)
    seen = look(observer, shown, EVERYTHING)
    assert net.looks[-1][0] == own
    features = torch.float64 if dtype == "float64" else torch.float32
    assert {activation.dtype for activation in seen.values()} == {features}


def test_a_module_without_parameters_is_shown_pictures_as_they_are() -> None:
    shown = frames()
    observer = observe(nn.AvgPool2d(2), wants=WANTS)
    expected = shown.pixels.numpy().reshape(3, 3, 4, 2, 4, 2).mean(axis=(3, 5))
    np.testing.assert_allclose(look(observer, shown)["output"].numpy(), expected, rtol=1e-5)
    assert observer.layers == ("output",)
    assert observer.every_layer() == ()


def test_whole_numbers_among_the_parameters_are_not_its_precision() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.arange(3), requires_grad=False)
            self.conv = nn.Conv2d(3, 2, 3).half()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert x.dtype == torch.float16
            return self.conv(x)

    assert look(observe(Counted()), frames())["output"].dtype == torch.float32


# Loading


def test_a_loaded_network_is_in_evaluation_mode() -> None:
    net = Net().train()
    observer = encoder(Network(net), name="n")
    assert not any(part.training for part in net.modules())
    assert isinstance(observer, NetworkEncoder)
    assert observer.name == "n"
    assert observer.wants == Wants()


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(FechnerError, match=r"device 'nowhere' cannot be used here .*doctor"):
        encoder(Network(Net()), name="n", device="nowhere")


def test_an_unknown_precision() -> None:
    with pytest.raises(UnknownNameError) as caught:
        encoder(Network(Net()), name="n", dtype="bfloat")
    assert str(caught.value) == (
        "there is no dtype named 'bfloat'; did you mean 'bfloat16'? "
        "there are float32, float64, bfloat16, float16."
    )


def test_an_unknown_normalisation() -> None:
    with pytest.raises(UnknownNameError) as caught:
        encoder(Network(Net()), name="n", normalise="imagnet")
    assert str(caught.value) == (
        "there is no normalisation named 'imagnet'; did you mean 'imagenet'? "
        "there are own, none, imagenet, clip, half."
    )


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("own", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)),
        ("none", 0.0, 1.0),
        ("half", 0.5, 0.5),
        ("imagenet", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        (
            "clip",
            (0.48145466, 0.4578275, 0.40821073),
            (0.26862954, 0.26130258, 0.27577711),
        ),
    ],
)
def test_normalisation_by_name(name: str, mean: Any, std: Any) -> None:
    own = Normalisation((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    network = Network(nn.Identity(), normalise=own)
    shown = frames()
    seen = look(encoder(network, name="n", normalise=name), shown)["output"]
    mean, std = (np.broadcast_to(v, 3).reshape(3, 1, 1) for v in (mean, std))
    np.testing.assert_allclose(seen.numpy(), (shown.pixels.numpy() - mean) / std, atol=2e-6)
    assert network.normalise == own  # the adapter's description is not written over
    assert set(NORMALISATIONS) == {"none", "half", "imagenet", "clip"}


def test_fingerprints_name_what_answers_depend_on() -> None:
    def fingerprint(
        seed: int = 0, name: str = "n", dtype: Any = "float32", normalise: str = "own", **more: Any
    ) -> str | None:
        network = Network(Net(seed), **more)
        return encoder(network, name=name, dtype=dtype, normalise=normalise).fingerprint

    base = fingerprint()
    assert base is not None
    assert base == fingerprint()
    assert base == fingerprint(normalise="none")  # which is its own
    others = [
        fingerprint(seed=1),
        fingerprint(name="m"),
        fingerprint(dtype="bfloat16"),
        fingerprint(dtype="float64"),
        fingerprint(normalise="imagenet"),
        fingerprint(normalise="half"),
        fingerprint(size_px=(8, 8)),
        fingerprint(size_px=(8, 16)),
        fingerprint(library="timm 1.0"),
        fingerprint(library="timm 1.1"),
        fingerprint(settings="masked"),
        fingerprint(weights_id="0123"),
    ]
    assert len({base, *others}) == 1 + len(others)


def test_the_fingerprint_follows_a_single_weight() -> None:
    net = Net()
    before = encoder(Network(net), name="n").fingerprint
    assert encoder(Network(net), name="n").fingerprint == before
    with torch.no_grad():
        net.stages[1][1].running_var[3] += 1e-6  # buffers count
    assert encoder(Network(net), name="n").fingerprint != before


def test_weights_that_have_an_id_are_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(module: nn.Module) -> str:
        raise AssertionError("hashed")

    monkeypatch.setattr("fechner.observers.network.hash_weights", refuse)
    found = encoder(Network(Net(), weights_id="sha256-of-a-file"), name="n").fingerprint
    assert found is not None
    assert "weights=sha256-of-a-file" in found
    with pytest.raises(AssertionError, match="hashed"):
        encoder(Network(Net()), name="n")


# Before the head


@torch.no_grad()
def test_what_goes_into_the_head() -> None:
    net, shown = Net(), frames()
    call = before_head(net, "head")
    assert torch.equal(call(shown.pixels), net.forward_features(shown.pixels))
    assert not net.head._forward_pre_hooks
    observer = encoder(Network(net, call, size_px=(SIDE, SIDE)), name="n")
    seen = look(observer, shown, ("stages.1", "output"))
    assert torch.equal(seen["output"], net.forward_features(shown.pixels))
    nested = nn.Sequential(nn.Flatten(), nn.Sequential(nn.Dropout(), nn.Linear(192, 2))).eval()
    assert torch.equal(before_head(nested, "1.1")(shown.pixels), shown.pixels.flatten(1))


def test_a_head_that_is_not_reached() -> None:
    class Headless(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.forward_features(x)

    with pytest.raises(ObserverError, match="Headless did not reach its head 'head'"):
        before_head(Headless(), "head")(frames().pixels)


def test_a_head_that_fails_is_not_left_with_hooks() -> None:
    net = Net()
    with pytest.raises(RuntimeError):
        before_head(net, "head")(torch.zeros(1, 4, SIDE, SIDE))
    assert not net.head._forward_pre_hooks


def test_a_head_that_writes_over_its_input_does_not_change_what_was_seen() -> None:
    head = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4 * 36, 2))
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), head).eval()
    pictures = frames().pixels
    with torch.no_grad():
        seen = before_head(net, "2")(pictures)
        expected = net[0](pictures).flatten(1)
    assert (expected < 0).any()
    assert torch.equal(seen, expected)


# Classifiers


def classifier(net: Net, **settings: Any) -> NetworkEncoder:
    network = Network(
        net,
        net.forward_features,
        size_px=(SIDE, SIDE),
        normalise=Normalisation(0.5, 0.25),
        classify=net,
        classes=("a", "b", "c", "d", "e"),
    )
    return encoder(network, name="n", **settings)


@torch.no_grad()
def test_a_classifier_encodes_and_recognises() -> None:
    net, shown = Net(), frames()
    observer = classifier(net)
    assert isinstance(observer, NetworkClassifier)
    assert abilities(observer) == ("encodes", "recognises")
    assert observer.classes == ("a", "b", "c", "d", "e")
    prepared = (shown.pixels - 0.5) / 0.25
    expected = by_hand(net, prepared)
    scores = observer.class_scores(shown)
    assert torch.equal(scores, expected["output"])
    seen = look(observer, shown, ("stages.0", "output"))
    assert torch.equal(seen["output"], expected["mean"].flatten(1))
    # Compared by its features, not by its scores.
    comparer = lift(observer, "compares", ("l2",))
    assert comparer.layers == ("stages.0", "stages.1", "output")


@pytest.mark.parametrize("dtype", DTYPES)
@torch.no_grad()
def test_scores_of_a_half_precision_classifier(dtype: str) -> None:
    net, shown = Net(), frames()
    scores = classifier(net, dtype=dtype).class_scores(shown)
    assert scores.dtype == torch.float32
    assert net.looks[-1][0] == DTYPES[dtype]
    exact = Net()((shown.pixels - 0.5) / 0.25)
    assert torch.allclose(scores, exact, atol=0.05)


def test_scores_that_cannot_be_used() -> None:
    network = Network(nn.Identity(), classify=lambda x: (x, x), classes=("a",))
    observer = encoder(network, name="n")
    assert isinstance(observer, NetworkClassifier)
    with pytest.raises(ObserverError, match="'n' returned a tuple of 2"):
        observer.class_scores(frames())


def test_a_network_without_a_classifier_does_not_recognise() -> None:
    observer = encoder(Network(Net()), name="n")
    assert abilities(observer) == ("encodes",)
    assert not hasattr(observer, "class_scores")


def test_outputs_that_cannot_be_used() -> None:
    with pytest.raises(ObserverError, match=r"'n' returned a tuple of 2.*output\[0\]"):
        look(encoder(Network(Net(), lambda x: (x, x)), name="n"), frames())
    with pytest.raises(ObserverError, match=r"'n' returned shape \(5, 4\) for a batch of 3"):
        look(encoder(Network(Net(), lambda x: torch.ones(5, 4)), name="n"), frames())


# Gradients


def test_gradients_flow_to_the_pixels_if_the_caller_wants_them() -> None:
    net = Net().double()
    shown = frames(2, dtype=np.float64)
    shown.pixels.requires_grad_()
    observer = observe(net, mean=0.5, std=0.25, wants=Wants(size_px=(SIDE, SIDE), dtype="float64"))
    seen: dict[str, torch.Tensor] = {}
    observer.features(shown, {"output": lambda x: seen.update(output=x)})
    seen["output"].sum().backward()
    (expected,) = torch.autograd.grad(net((shown.pixels - 0.5) / 0.25).sum(), shown.pixels)
    assert expected.abs().max() > 0
    torch.testing.assert_close(shown.pixels.grad, expected)


@pytest.mark.parametrize("layer", ["stem", "stages.0.1", "stages.1", "output"])
def test_gradients_of_differences_are_those_of_small_steps(layer: str) -> None:
    net = Net().double()
    observer = observe(net, wants=Wants(size_px=(SIDE, SIDE), dtype="float64"))
    comparer = ComparesFeatures(observer, ("l2", "angle"), layers=(layer,))
    memory = comparer.remember(frames(1, seed=1, dtype=np.float64))
    shown = frames(1, seed=2, dtype=np.float64)

    def answer(pixels: torch.Tensor) -> torch.Tensor:
        test = Frames(pixels, shown.field, shown.display, shown.light)
        return comparer.difference(test, memory, torch.tensor([0]))[0, 0]

    pixels = shown.pixels.clone().requires_grad_()
    direction = torch.from_numpy(np.random.default_rng(3).normal(size=pixels.shape))
    step = 1e-6
    with torch.no_grad():
        change = answer(shown.pixels + step * direction) - answer(shown.pixels - step * direction)
    for readout in range(2):
        (gradient,) = torch.autograd.grad(answer(pixels)[readout], pixels)
        along = float((gradient * direction).sum())
        assert along == pytest.approx(float(change[readout]) / (2 * step), rel=1e-5)
        assert along != 0


def test_without_gradients_nothing_is_kept() -> None:
    net = Net().requires_grad_(False)
    assert not look(observe(net, wants=WANTS), frames())["output"].requires_grad
