"""Your own model: modules, functions, files, what can be wrong with them, and fingerprints."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers import (
    Encodes,
    FunctionComparer,
    FunctionEncoder,
    Wants,
    abilities,
    lift,
    observe,
)
from fechner.observers.baselines import Pixels
from fechner.observers.custom import from_file
from fechner.observers.network import NetworkEncoder
from fechner.observers.validation import validate
from fechner.observers.weights import hash_weights
from fechner.stimuli import Field, Frames, Stimulus, display, paint


@pytest.fixture
def frames() -> Frames:
    stimuli = [Stimulus((k * 9.5, k * 10.0, k * 11.0)) for k in (1, 2, 3, 5)]
    return paint(stimuli, Field.of(pixels=6, ppd=60), display("encoders"))


def features(observer: Encodes, frames: Frames) -> torch.Tensor:
    seen = []
    observer.features(frames, {"output": seen.append})
    (output,) = seen
    return output


def tiny(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 5))


class Returns(nn.Module):
    """A module that returns what a function does."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, pictures: torch.Tensor) -> object:
        return self.function(pictures)


# Objects


def test_a_module_is_an_encoder_in_evaluation_mode(frames: Frames) -> None:
    model = tiny()
    observer = observe(model)
    assert isinstance(observer, NetworkEncoder)
    assert abilities(observer) == ("encodes",)
    assert observer.name == "Sequential"
    assert observer.layers == ("output",)
    first, second = features(observer, frames), features(observer, frames)
    assert torch.equal(first, second)  # dropout is off
    assert torch.equal(first, model.eval()(frames.pixels))


def test_a_function_of_one_batch_is_an_encoder(frames: Frames) -> None:
    def channel_means(pictures: torch.Tensor, power: float = 1.0) -> torch.Tensor:
        return pictures.mean(dim=(2, 3)) ** power

    observer = observe(channel_means)
    assert isinstance(observer, FunctionEncoder)
    assert observer.name == "channel_means"
    assert torch.equal(features(observer, frames), frames.pixels.mean(dim=(2, 3)))


def test_a_function_of_two_batches_is_a_comparer(frames: Frames) -> None:
    def loudness(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        return (test - reference).abs().amax(dim=(1, 2, 3))

    observer = observe(loudness, name="loud")
    assert isinstance(observer, FunctionComparer)
    assert abilities(observer) == ("compares",)
    which = torch.tensor([1, 1, 0, 3])
    answer = observer.difference(frames, observer.remember(frames), which)
    assert answer.shape == (4, 1, 1)
    assert answer.dtype == torch.float64
    pixels = frames.pixels.numpy()
    expected = [np.abs(pixels[i] - pixels[k]).max() for i, k in enumerate((1, 1, 0, 3))]
    assert answer.flatten().tolist() == pytest.approx(expected)
    assert expected[1] == expected[3] == 0


def test_a_callable_object_is_called(frames: Frames) -> None:
    class Doubler:
        def __call__(self, pictures: torch.Tensor) -> torch.Tensor:
            return 2 * pictures

    observer = observe(Doubler())
    assert observer.name == "Doubler"
    assert torch.equal(features(observer, frames), 2 * frames.pixels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_outputs(frames: Frames, dtype: type) -> None:
    encoder = observe(lambda x: x.numpy().mean(axis=(2, 3)).astype(dtype), name="n")
    np.testing.assert_allclose(features(encoder, frames), frames.pixels.mean(dim=(2, 3)), rtol=1e-6)
    comparer = observe(lambda x, y: (x - y).abs().numpy().max(axis=(1, 2, 3)), name="n")
    answer = comparer.difference(frames, comparer.remember(frames), torch.tensor([0, 1, 2, 3]))
    assert (answer == 0).all()
    one = observe(lambda x, y: np.ones((len(x), 1)), name="n")
    assert one.difference(frames, one.remember(frames), torch.arange(4)).flatten().sum() == 4


def test_normalisation(frames: Frames) -> None:
    mean, std = (0.1, 0.2, 0.3), (0.5, 2.0, 4.0)
    observer = observe(lambda x: x, name="same", mean=mean, std=std)
    expected = (frames.pixels.numpy() - np.array(mean).reshape(3, 1, 1)) / np.array(std).reshape(
        3, 1, 1
    )
    np.testing.assert_allclose(features(observer, frames), expected, rtol=1e-5, atol=1e-6)
    only_mean = observe(lambda x: x, name="same", mean=mean)
    np.testing.assert_allclose(
        features(only_mean, frames)[:, 2], frames.pixels[:, 2] - 0.3, rtol=1e-5
    )


def test_an_observer_is_returned_as_it_is() -> None:
    pixels = Pixels()
    assert observe(pixels) is pixels


def test_what_it_wants_to_be_shown() -> None:
    wants = Wants(light="cdm2", size_px=(32, 48), dtype="float64")
    assert observe(lambda x: x, name="f", wants=wants).wants == wants
    assert observe(lambda x, y: x, name="f", wants=wants).wants == wants
    assert observe(lambda x: x, name="f").wants == Wants("display", None, "float32")


def test_not_callable() -> None:
    with pytest.raises(ObserverError, match="'int' is a int; an observer is a torch module"):
        observe(3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: (x, x),
            r"'bad' returned a tuple of 2, not a tensor; say which features you mean, e\.g\. "
            r"fechner\.observe\(model, read=lambda output: output\[0\]\), which a file can return",
        ),
        (lambda x: [x], r"returned a list of 1, not a tensor.*lambda output: output\[0\]"),
        (
            lambda x: {"out": x, "more": x},
            r"returned a dict of 2, not a tensor.*output\['out'\]\), which a file can return\.$",
        ),
        (lambda x: OrderedDict(out=x), r"a OrderedDict of 1, .*lambda output: output\['out'\]"),
        (lambda x: {}, "returned a dict of 0, not a tensor"),
        (lambda x: None, "returned a NoneType, not a tensor"),
        (lambda x: x[:2], r"returned shape \(2, 3, 6, 6\) for a batch of 4.*must be the batch"),
        (lambda x: x.mean(), r"returned shape \(\) for a batch of 4"),
        (lambda x: 0.5, r"returned shape \(\) for a batch of 4"),
        (lambda x: x.flatten(1).argmax(dim=1, keepdim=True), "returned torch.int64; features must"),
        (lambda x: np.zeros((4, 2), dtype=np.int32), "returned torch.int32; features must"),
    ],
)
@pytest.mark.parametrize("kind", ["function", "module"])
def test_outputs_that_cannot_be_used(
    frames: Frames, function: Callable[..., object], message: str, kind: str
) -> None:
    thing = function if kind == "function" else Returns(function)
    with pytest.raises(ObserverError, match=message):
        features(observe(thing, name="bad"), frames)


@pytest.mark.parametrize("kind", ["function", "module"])
@pytest.mark.parametrize(
    ("give", "read"),
    [
        (lambda x: (x.mean(dim=(2, 3)), None), lambda output: output[0]),
        (lambda x: {"tokens": x, "pooled": x.mean(dim=(2, 3))}, lambda output: output["pooled"]),
        (lambda x: SimpleNamespace(pooled=x.mean(dim=(2, 3))), lambda output: output.pooled),
        (lambda x: x, lambda output: output.mean(dim=(2, 3))),
    ],
)
def test_features_are_read_from_what_a_model_returns(
    frames: Frames, give: Callable[..., object], read: Callable[..., object], kind: str
) -> None:
    thing = give if kind == "function" else Returns(give)
    observer = observe(thing, name="mine", mean=0.5, std=0.25, read=read)
    assert abilities(observer) == ("encodes",)
    expected = (frames.pixels.numpy().mean(axis=(2, 3)) - 0.5) / 0.25
    np.testing.assert_allclose(features(observer, frames).numpy(), expected, atol=1e-5)


def test_what_is_read_must_be_features_too(frames: Frames) -> None:
    observer = observe(Returns(lambda x: ((x, x), x)), name="bad", read=lambda output: output[0])
    with pytest.raises(ObserverError, match="'bad' returned a tuple of 2, not a tensor"):
        features(observer, frames)


def test_layers_are_found_in_a_model_whose_output_is_read(frames: Frames) -> None:
    blocks = nn.Sequential(*(nn.Sequential(nn.Conv2d(3, 3, 1)) for _ in range(2)))
    model = Returns(lambda x: (model.blocks(x), "text"))
    model.add_module("blocks", blocks)
    observer = observe(model, wants=Wants(size_px=(6, 6)), read=lambda output: output[0])
    assert observer.layers == ("blocks.0", "blocks.1", "output")
    assert torch.equal(features(observer, frames), blocks(frames.pixels))


def test_a_comparer_returns_one_number_per_pair(frames: Frames) -> None:
    observer = observe(lambda x, y: (x - y).abs().mean(dim=(2, 3)), name="bad")
    with pytest.raises(
        ObserverError, match=r"'bad' returned shape \(4, 3\) for 4 pairs; .* one number"
    ):
        observer.difference(frames, observer.remember(frames), torch.arange(4))
    short = observe(lambda x, y: (x - y).mean(), name="bad")
    with pytest.raises(ObserverError, match="returned shape"):
        short.difference(frames, short.remember(frames), torch.arange(4))


def test_one_number_per_picture_is_a_feature_too(frames: Frames) -> None:
    observer = lift(observe(lambda x: x.mean(dim=(1, 2, 3)), name="m"), "compares", ("l2",))
    answer = observer.difference(frames, observer.remember(frames), torch.tensor([0, 0, 0, 0]))
    means = frames.pixels.mean(dim=(1, 2, 3)).double()
    assert answer.flatten().tolist() == pytest.approx((means - means[0]).tolist(), abs=1e-6)


# Fingerprints of objects


def test_bare_objects_have_no_fingerprint() -> None:
    assert observe(tiny()).fingerprint is None
    assert observe(lambda x: x, name="f").fingerprint is None
    assert observe(lambda x, y: x, name="f").fingerprint is None


def test_a_version_gives_one() -> None:
    def fingerprint(seed: int = 0, version: str = "1", **settings: object) -> str | None:
        return observe(tiny(seed), version=version, **settings).fingerprint

    base = fingerprint()
    assert base is not None
    assert base == fingerprint()
    others = {
        fingerprint(seed=1),
        fingerprint(version="2"),
        fingerprint(name="other"),
        fingerprint(mean=(0.5, 0.5, 0.5)),
        fingerprint(std=(0.5, 0.5, 0.5)),
        fingerprint(wants=Wants(size_px=(32, 32))),
    }
    assert len(others | {base}) == 7


def test_functions_with_a_version() -> None:
    one = observe(lambda x, y: x, name="f", version="1").fingerprint
    assert one is not None
    assert one != observe(lambda x, y: x, name="f", version="2").fingerprint
    assert one != observe(lambda x, y: x, name="f", version="1", wants=Wants("cdm2")).fingerprint


def test_weights_are_hashed_by_value_name_shape_and_kind() -> None:
    model = tiny()
    base = hash_weights(model)
    assert base == hash_weights(tiny())
    assert len(base) == 64
    assert hash_weights(model.double()) != base
    model.float()
    assert hash_weights(model) == base
    with torch.no_grad():
        model[3].bias[4] += 1e-6
    assert hash_weights(model) != base
    # Same numbers, other places.
    assert hash_weights(nn.Linear(2, 3)) != hash_weights(nn.Linear(3, 2))
    norm = nn.BatchNorm1d(3)
    before = hash_weights(norm)
    norm.running_mean[0] = 1.0  # buffers count
    assert hash_weights(norm) != before
    assert hash_weights(nn.BatchNorm1d(3).bfloat16()) != before


# Files

MODULE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(SEED)
        self.conv = nn.Conv2d(3, 2, 3)

    def forward(self, x):
        return self.conv(x)

def make():
    return Net()

def means(pictures):
    return pictures.mean(dim=(2, 3))

def gap(test, reference):
    return (test - reference).abs().mean(dim=(1, 2, 3))

def make_function():
    return means

def broken():
    raise RuntimeError("no weights today")

number = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MODULE.replace("SEED", "0"))
    return path


@pytest.mark.parametrize(
    ("attribute", "ability"),
    [
        ("make", "encodes"),
        ("Net", "encodes"),
        ("means", "encodes"),
        ("make_function", "encodes"),
        ("gap", "compares"),
    ],
)
def test_what_a_file_can_hold(file: Path, attribute: str, ability: str, frames: Frames) -> None:
    observer = from_file(f"{file}:{attribute}")
    assert abilities(observer) == (ability,)
    assert observer.name == f"{file}:{attribute}"
    assert observer.fingerprint is not None
    if ability == "encodes":
        assert len(features(observer, frames)) == 4
    else:
        answer = observer.difference(frames, observer.remember(frames), torch.arange(4))
        assert (answer == 0).all()


def test_fingerprints_follow_the_file_and_the_weights(file: Path) -> None:
    spec = f"{file}:make"
    base = from_file(spec).fingerprint
    assert base == from_file(spec).fingerprint
    file.write_text(file.read_text() + "\n# a comment\n")
    commented = from_file(spec).fingerprint
    file.write_text(MODULE.replace("SEED", "1"))
    assert len({base, commented, from_file(spec).fingerprint}) == 3


def test_fingerprints_follow_weights_that_lie_in_another_file(tmp_path: Path) -> None:
    weights, path = tmp_path / "weights.pt", tmp_path / "loads.py"
    path.write_text(
        "import torch\n\ndef make():\n    model = torch.nn.Linear(2, 2)\n"
        f"    model.load_state_dict(torch.load({str(weights)!r}))\n    return model\n"
    )
    found = set()
    for value in (0.0, 1.0):
        model = nn.Linear(2, 2)
        nn.init.constant_(model.weight, value)
        nn.init.constant_(model.bias, 0.0)
        torch.save(model.state_dict(), weights)
        found.add(from_file(f"{path}:make").fingerprint)
    assert len(found) == 2


def test_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.py"
    with pytest.raises(FechnerError, match=r"no file '.*nowhere\.py' \(from '.*:make'\)"):
        from_file(f"{path}:make")


def test_missing_attribute(file: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean '.*mine\.py:make'\? mine\.py has"):
        from_file(f"{file}:mkae")


def test_attribute_that_is_no_model(file: Path) -> None:
    with pytest.raises(ObserverError, match="is a int; an observer is"):
        from_file(f"{file}:number")


def test_file_with_a_syntax_error(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("def make(:\n    pass\n")
    with pytest.raises(FechnerError, match=r"wrong\.py could not be loaded: SyntaxError.*line 1"):
        from_file(f"{path}:make")


def test_file_that_needs_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "needy.py"
    path.write_text("import no_such_package_anywhere\n")
    with pytest.raises(FechnerError, match=r"ModuleNotFoundError.*no_such_package_anywhere"):
        from_file(f"{path}:make")


def test_factory_that_raises(file: Path) -> None:
    with pytest.raises(ObserverError, match="could not be made: RuntimeError: no weights today"):
        from_file(f"{file}:broken")


def test_file_with_a_dataclass_and_postponed_annotations(tmp_path: Path) -> None:
    path = tmp_path / "modern.py"
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n"
        "@dataclass\nclass Model:\n    gain: float = 2.0\n\n"
        "    def __call__(self, pictures):\n        return self.gain * pictures\n"
    )
    assert abilities(from_file(f"{path}:Model")) == ("encodes",)


def test_file_with_a_ready_made_module(tmp_path: Path) -> None:
    path = tmp_path / "ready.py"
    path.write_text("from torch import nn\n\nmodel = nn.Flatten()\n")
    assert abilities(from_file(f"{path}:model")) == ("encodes",)


def test_fingerprint_of_a_ready_made_observer_follows_the_file(tmp_path: Path) -> None:
    path = tmp_path / "whole.py"
    found = set()
    for gain in (1, 2):
        path.write_text(
            "from fechner.observers.baselines import Pixels\n\n"
            "class Mine(Pixels):\n    def features(self, frames, taps):\n"
            f"        for tap in taps.values():\n            tap(frames.pixels * {gain})\n"
        )
        found.add(from_file(f"{path}:Mine").fingerprint)
    assert len(found) == 2
    assert Pixels.fingerprint not in found


def test_a_name_is_resolved() -> None:
    assert observe("pixels").name == "pixels"


def test_functions_of_more_than_two_batches_and_misplaced_normalisation() -> None:
    with pytest.raises(ObserverError, match="needs an argument 'c'"):
        observe(lambda a, b, c: a)
    with pytest.raises(ObserverError, match="mean, std and read are for encoders"):
        observe(lambda a, b: (a - b).mean(), mean=(0.5, 0.5, 0.5))


def test_a_device_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(FechnerError, match=r"device 'nowhere' cannot be used here .*doctor"):
        observe(torch.nn.Flatten(), device="nowhere")


@pytest.mark.parametrize(
    "wrong", [{"light": "lux"}, {"size_px": 224}, {"size_px": (0, 5)}, {"dtype": "float16"}]
)
def test_wishes_that_cannot_be_met(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is "):
        Wants(**wrong)


OBSERVED = """
import fechner, torch

def make():
    torch.manual_seed(SEED)
    return fechner.observe(torch.nn.Conv2d(3, 2, 3), mean=0.5)

def means():
    return fechner.observe(lambda pictures: pictures.mean(dim=(2, 3)))
"""


def test_a_file_may_return_an_observer_and_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    found = []
    for seed in ("0", "0", "1"):
        path.write_text(OBSERVED.replace("SEED", seed))
        observer = from_file(f"{path}:make")
        assert observer.name == f"{path}:make"
        found.append(observer.fingerprint)
    assert None not in found
    assert found[0] == found[1] != found[2]
    assert from_file(f"{path}:means").fingerprint not in (None, *found)


class Distance(torch.nn.Module):
    """A metric as many people write them."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        return self.weight * (test - reference).abs().mean(dim=(1, 2, 3))


def test_a_module_of_two_batches_compares() -> None:
    observer = observe(Distance(), version="1")
    assert abilities(observer) == ("compares",)
    other = Distance()
    other.weight.data += 1
    assert observe(other, version="1").fingerprint != observer.fingerprint


@pytest.mark.parametrize(
    "returned",
    [
        lambda n: [0.5] * n,
        lambda n: torch.ones(n, dtype=torch.long),
        lambda n: np.ones((n, 1), dtype=np.float32),
        lambda n: tuple(torch.tensor(0.5) for _ in range(n)),
    ],
)
def test_a_metric_may_return_numbers_in_any_way(returned) -> None:
    observer = observe(lambda test, reference: returned(len(test)))
    assert validate(observer).problems == []


def test_a_metric_that_points_the_other_way_is_named() -> None:
    similarity = observe(lambda test, reference: -(test - reference).abs().mean(dim=(1, 2, 3)))
    (warning,) = validate(similarity).warnings
    assert warning.startswith("it answers less to more contrast")
    right = observe(similarity._function, higher_is_better=True)
    assert validate(right).warnings == []


def test_a_metric_that_writes_over_its_input_is_not_blamed_for_more() -> None:
    def in_place(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        test -= reference
        return test.abs().mean(dim=(1, 2, 3))

    assert validate(observe(in_place)).warnings == []


def test_a_metric_for_one_size_is_warned_of() -> None:
    def square(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        if test.shape[-1] != test.shape[-2]:
            raise ValueError("square pictures only")
        return (test - reference).abs().mean(dim=(1, 2, 3))

    (warning,) = validate(observe(square)).warnings
    assert warning.startswith("it cannot be shown pictures of 210 x 150 px (ValueError: square")


def test_a_metric_for_one_pair_at_a_time() -> None:
    def single(test: torch.Tensor, reference: torch.Tensor) -> float:
        assert len(test) == 1
        return float((test - reference).abs().mean())

    assert "AssertionError" in validate(observe(single)).problems[0]
    assert validate(observe(single), at_a_time=1).problems == []
