"""What is seen of an observer before a run: that it is fit, or what is wrong with it."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from fechner.observers import Wants, observe, resolve
from fechner.observers.devices import free_memory
from fechner.observers.network import Network, NetworkEncoder
from fechner.observers.validation import Validation, validate


def stage(before: int, after: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(before, after, 3, stride=2), nn.ReLU())


class Net(nn.Module):
    """A small convolutional network with two stages."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stages = nn.ModuleList([stage(3, 4), stage(4, 8)])
        self.head = nn.Linear(8 * 16, 10)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        for each in self.stages:
            pictures = each(pictures)
        return self.head(nn.functional.adaptive_avg_pool2d(pictures, 4).flatten(1))


def some_pixels(pictures: torch.Tensor) -> torch.Tensor:
    return pictures.flatten(1)[:, ::97]


def validated(encoder: Callable[..., Any], **options: Any) -> Validation:
    return validate(observe(encoder, name="mine"), **options)


# Fit observers


def test_pixels_are_fit_to_run() -> None:
    found = validate(resolve("pixels"))
    assert found.verdict == "pixels is fit to run."
    assert found.problems == found.warnings == []
    assert list(found.facts) == [
        "input",
        "output",
        "layers",
        "read-outs",
        "difference of a picture from itself",
        "difference of two looks",
        "difference of batches of 1 and 4",
        "gradients",
        "time per picture",
        "memory per picture",
    ]
    assert found.facts["input"].startswith("224 x 224 px (any), float32, ")
    low, high = map(float, found.facts["input"].split(", ")[2].split(" to "))
    # A Gabor of contrast 0.8 on grey in the middle of what the display can show.
    assert 0.2 < low < 0.5 < high < 0.75
    assert found.facts["output"] == "3 x 224 x 224 for one picture"
    assert found.facts["layers"] == "1: pixels"
    assert found.facts["read-outs"] == "angle"
    assert found.facts["difference of a picture from itself"] == "none"
    assert found.facts["difference of two looks"] == "none"
    assert found.facts["gradients"] == "off"


def test_a_network_is_fit_and_its_facts_are_said() -> None:
    net = Net()
    found = validate(
        observe(net, name="net", mean=0.5, std=0.25, wants=Wants(size_px=(96, 128))),
        readouts=("angle", "l2"),
    )
    assert found.verdict == "net is fit to run."
    count = sum(parameter.numel() for parameter in net.parameters())
    assert found.facts["parameters"] == f"{count:,}"
    assert found.facts["input"].startswith("96 x 128 px, float32, ")
    low, high = map(float, found.facts["input"].split(", ")[2].split(" to "))
    assert -2 < low < -0.5  # after normalisation
    assert 0.5 < high < 2
    assert found.facts["output"] == "10 for one picture"
    assert found.facts["layers"] == "3: stages.0, stages.1, output"
    assert found.facts["read-outs"] == "angle, l2"
    assert 0 < found.seconds_per_picture < 10
    assert found.facts["time per picture"] == f"{1e3 * found.seconds_per_picture:.3g} ms"
    assert found.facts["memory per picture"] == f"{found.bytes_per_picture / 1e6:.3g} MB"


def test_layers_are_those_asked_for() -> None:
    found = validated(Net(), layers=["stages.*.0"])
    assert found.facts["layers"] == "2: stages.0.0, stages.1.0"
    assert found.facts["output"] == "10 for one picture"


def test_double_precision_is_shown_as_such() -> None:
    found = validated(Net().double())
    assert found.verdict == "mine is fit to run."
    assert "float64" in found.facts["input"]


def test_a_comparer_is_fit_to_run() -> None:
    found = validated(lambda test, reference: (test - reference).abs().mean(dim=(1, 2, 3)))
    assert found.verdict == "mine is fit to run."
    assert found.facts["layers"] == "1: output"
    assert found.facts["read-outs"] == "difference"
    assert "output" not in found.facts


@pytest.mark.parametrize("name", ["standard-observer"])
def test_comparers_by_name_are_fit_to_run(name: str) -> None:
    assert validate(resolve(name)).verdict == f"{name} is fit to run."


# What makes a run useless


CALLED = (
    "when called with tensors [n, 3, h, w], 224 x 224 px; wants=fechner.Wants(...) can ask for "
    "another layout, size_px, channels or array"
)


def raising(pictures: torch.Tensor) -> torch.Tensor:
    raise ValueError("I want no pictures")


def leaving(pictures: torch.Tensor) -> torch.Tensor:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("encoder", "problem"),
    [
        (lambda p: some_pixels(p) * torch.nan, "it answered NaN or infinity"),
        (lambda p: some_pixels(p) / 0, "it answered NaN or infinity"),
        (lambda test, reference: test.mean(dim=(1, 2, 3)) / 0, "it answered NaN or infinity"),
        (raising, f"it raised ValueError: I want no pictures, {CALLED}"),
        (leaving, f"it raised SystemExit: 3, {CALLED}"),
        (
            lambda p: some_pixels(p).sum(),
            "observer 'mine' returned shape () for a batch of 1; the first dimension must be the "
            "batch",
        ),
        (
            lambda p: torch.cat([some_pixels(p)] * 2),
            "observer 'mine' returned shape (2, 1552) for a batch of 1; the first dimension must "
            "be the batch",
        ),
        (
            lambda test, reference: (test - reference).mean(dim=(2, 3)),
            "observer 'mine' returned shape (4, 3) for 4 pairs; a metric returns one number for "
            "each pair, as a tensor, an array or a list",
        ),
        (
            lambda p: some_pixels(p).long(),
            "observer 'mine' returned torch.int64; features must be floating point",
        ),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(
    encoder: Callable[..., Any], problem: str
) -> None:
    found = validated(encoder)
    assert found.problems == [problem]
    assert found.verdict == f"mine cannot be run: {problem}."


def test_raising_for_several_pictures_only_is_found() -> None:
    found = validated(lambda p: some_pixels(p) if len(p) == 1 else raising(p))
    assert found.problems == [f"it raised ValueError: I want no pictures, {CALLED}"]


def test_unknown_layer_is_a_problem() -> None:
    found = validated(Net(), layers=["stagse.0"])
    assert found.problems == [
        "there is no layer named 'stagse.0'; did you mean 'stages.0'? `fechner layers mine` lists "
        "them"
    ]


class Compares(SimpleNamespace):
    """A comparer as others may write it: nothing stands between it and the run."""

    name, wants, fingerprint = "mine", Wants(), None
    layers, readouts = ("output",), ("difference",)

    def remember(self, reference: Any) -> torch.Tensor:
        return reference.pixels

    def difference(self, test: Any, memory: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
        return self.answer((test.pixels - memory[which]).abs().mean(dim=(1, 2, 3)).double())


def test_a_comparer_of_wrong_shape_is_a_problem() -> None:
    found = validate(Compares(answer=lambda d: d[:, None]))
    assert found.problems == ["it answered with shape (4, 1), not (4, 1, 1)"]
    assert validate(Compares(answer=lambda d: d[:, None, None])).problems == []


# What must be kept in mind


def test_a_guess_about_a_network_is_warned_of() -> None:
    network = Network(Net().eval(), unsure="nobody knows its normalisation")
    found = validate(NetworkEncoder(network, name="mine", wants=Wants(), fingerprint=None))
    assert found.verdict == "mine can be run, but mind: nobody knows its normalisation."


def test_gradients_are_warned_of() -> None:
    def with_gradients(difference: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            return difference.requires_grad_()[:, None, None] * 2

    found = validate(Compares(answer=with_gradients))
    assert found.warnings == ["it turns gradients on by itself, which costs memory"]
    assert found.facts["gradients"] == "kept"


def test_answers_that_change_when_asked_again_are_warned_of() -> None:
    generator = torch.Generator().manual_seed(0)
    found = validated(lambda p: some_pixels(p) + torch.randn(1552, generator=generator))
    assert not found.problems
    assert any(w.startswith("it answers otherwise when asked again (") for w in found.warnings)
    assert found.facts["difference of two looks"].endswith("of the largest answer")
    assert found.verdict.startswith("mine can be run, but mind: ")


def test_the_least_noise_is_found() -> None:
    calls = iter(range(1000))

    def almost_the_same(pictures: torch.Tensor) -> torch.Tensor:
        factors = torch.linspace(1, 1 + 1e-9 * next(calls), 1552, dtype=torch.float64)
        return some_pixels(pictures).double() * factors

    warning, other_size = validated(almost_the_same).warnings
    assert warning.startswith("it answers otherwise when asked again (")
    assert other_size.startswith("it cannot be shown pictures of 210 x 150 px (RuntimeError")


def test_answers_that_depend_on_the_batch_are_warned_of() -> None:
    def centred(pictures: torch.Tensor) -> torch.Tensor:
        features = some_pixels(pictures)
        return features - features.mean(dim=0) + len(features)

    found = validated(centred)
    (warning,) = found.warnings
    assert warning.startswith("its answers depend on the batch (")
    assert found.facts["difference of two looks"] == "none"


def test_a_network_that_learns_from_the_batch_is_found() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    observer = observe(net, name="mine")
    assert validate(observer).verdict == "mine is fit to run."
    net.train()
    warnings = validate(observer, readouts=("l2",)).warnings
    assert warnings[0] == "parts of it are in training mode"
    assert any(warning.startswith("its answers depend on the batch") for warning in warnings)


def test_one_part_in_training_mode_is_warned_of() -> None:
    net = Net()
    observer = observe(net, name="mine")
    net.stages[1].train()
    assert validate(observer).verdict == (
        "mine can be run, but mind: parts of it are in training mode."
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_warned_of(dtype: torch.dtype) -> None:
    found = validated(Net().to(dtype))
    assert not found.problems
    assert found.warnings[0] == (
        "it computes in half precision, and differences near threshold need float32"
    )
    assert str(dtype).removeprefix("torch.") in found.facts["input"]


@pytest.mark.parametrize(
    "encoder",
    [
        lambda p: torch.ones(len(p), 3),
        lambda p: torch.zeros(len(p), 3),
        lambda test, reference: torch.zeros(len(test)),
    ],
)
def test_constant_answers_are_warned_of(encoder: Callable[..., Any]) -> None:
    assert validated(encoder).warnings == ["it answers the same to every contrast"]


def test_a_difference_from_itself_is_warned_of() -> None:
    found = validated(lambda test, reference: 1 + (test - reference).abs().mean(dim=(1, 2, 3)))
    (warning,) = found.warnings
    assert re.fullmatch(
        r"it sees a difference where there is none \(9\..e-01 of the largest answer\)", warning
    )


# Memory


def greedy(most: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return an encoder that has memory for so many pictures."""

    def encoder(pictures: torch.Tensor) -> torch.Tensor:
        if len(pictures) > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return some_pixels(pictures)

    return encoder


class Greedy(Net):
    """A network that has memory for so many pictures."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        greedy(self.most)(pictures)
        return super().forward(pictures)


@pytest.mark.parametrize(("most", "looked"), [(4, 4), (3, 2), (2, 2)])
def test_fewer_pictures_are_shown_where_memory_is_short(most: int, looked: int) -> None:
    found = validated(greedy(most))
    assert found.verdict == "mine is fit to run."
    assert f"difference of batches of 1 and {looked}" in found.facts


@pytest.mark.parametrize(("most", "looked"), [(4, 4), (3, 2), (2, 2)])
def test_fewer_pictures_are_shown_to_a_network(most: int, looked: int) -> None:
    found = validated(Greedy(most))
    assert found.verdict == "mine is fit to run."
    assert f"difference of batches of 1 and {looked}" in found.facts


def test_memory_for_one_picture_only_makes_batches_of_one() -> None:
    found = validated(greedy(1))
    assert found.verdict == "mine is fit to run."
    assert found.bytes_per_picture > 0.3 * free_memory()


@pytest.mark.parametrize("layers", [None, ["output"]])
def test_network_with_memory_for_one_picture_only_is_fit(layers: list[str] | None) -> None:
    found = validated(Greedy(most=1), layers=layers)
    assert found.verdict == "mine is fit to run."
    assert found.bytes_per_picture > 0.3 * free_memory()


def test_warnings_are_given_once_where_memory_is_short() -> None:
    found = validated(lambda p: torch.ones_like(greedy(2)(p)))
    assert found.warnings == ["it answers the same to every contrast"]


def test_too_little_memory_for_one_picture_is_a_problem() -> None:
    found = validated(greedy(0))
    (problem,) = found.problems
    assert re.fullmatch(
        r"one picture needs more than the \d+\.\d GB of memory that are free; take a smaller size "
        r"\(@size=\.\.\.\), --dtype bfloat16 or another --device",
        problem,
    )


@pytest.mark.usefixtures("freed_memory_is_handed_back")
def test_memory_of_a_picture_is_measured() -> None:
    def wasteful(pictures: torch.Tensor) -> torch.Tensor:
        waste = torch.ones(len(pictures), 10_000_000)
        return some_pixels(pictures) * waste[:, :1]

    found = validated(wasteful)
    assert 40e6 / 2 < found.bytes_per_picture < 40e6 * 2.5
    modest = validated(some_pixels)
    assert modest.bytes_per_picture < 40e6 / 2


@pytest.mark.usefixtures("freed_memory_is_handed_back")
def test_memory_of_large_features_is_measured() -> None:
    def large(pictures: torch.Tensor) -> torch.Tensor:
        return pictures.mean(dim=(1, 2, 3))[:, None] * torch.ones(2_500_000)

    # Those of the picture, of its reference, their difference and its square, and what the
    # allocator of a long-lived process keeps beside them: 10 MB each, up to twenty times.
    assert 15e6 < validated(large).bytes_per_picture < 200e6


def test_exported_network_is_shown_fewer_pictures_where_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnx
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    from fechner.observers.adapters import onnx as adapter

    float32 = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["pictures"], ["features"])],
        "net",
        [onnx.helper.make_tensor_value_info("pictures", float32, ["n", 3, 32, 32])],
        [onnx.helper.make_tensor_value_info("features", float32, ["n", 3, 32, 32])],
    )
    opset = [onnx.helper.make_opsetid("", 13)]
    path = tmp_path / "net.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    session = adapter.Graph._session

    class Session:
        """Has memory for two pictures."""

        def __init__(self, *arguments: Any) -> None:
            self.real = session(*arguments)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.real, name)

        def run(self, outputs: Any, inputs: Any) -> Any:
            if any(len(value) > 2 for value in inputs.values()):
                raise state.Fail(
                    "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running "
                    "Tile node. Name:'' Status Message: bfc_arena.cc:360 Failed to allocate memory "
                    "for requested buffer of size 802160640"
                )
            return self.real.run(outputs, inputs)

    monkeypatch.setattr(adapter.Graph, "_session", lambda *arguments: Session(*arguments))
    found = validate(resolve(f"{path}@normalise=half"))
    assert found.verdict == f"{path}@normalise=half is fit to run."
    assert "difference of batches of 1 and 2" in found.facts


# Metrics


def metric(function: Callable[..., Any], **options: Any) -> Validation:
    return validate(observe(function, name="mine", **options))


def squares(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return (test - reference).square().mean(dim=(1, 2, 3))


def test_a_symmetric_metric_is_fit_to_run() -> None:
    assert metric(squares).verdict == "mine is fit to run."


def test_nan_for_identical_pictures_is_said() -> None:
    def ratio(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        found = squares(test, reference)
        return torch.where(found > 0, found, torch.nan)

    found = metric(ratio)
    assert found.problems == []
    assert found.warnings == ["it answers NaN or infinity to a picture compared with itself"]


def test_infinity_for_identical_pictures_of_a_metric_like_psnr() -> None:
    found = metric(lambda test, ref: -10 * squares(test, ref).log10(), higher_is_better=True)
    assert found.problems == []
    assert found.warnings == ["it answers NaN or infinity to a picture compared with itself"]


def test_an_asymmetric_metric_is_said_to_be_one() -> None:
    def relative(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        return squares(test, reference) / reference.square().mean(dim=(1, 2, 3))

    found = metric(relative)
    assert found.problems == []
    (warning,) = found.warnings
    assert re.match(r"it is not symmetric: test and reference exchanged change its", warning)


def rounded(pictures: torch.Tensor) -> torch.Tensor:
    return some_pixels((pictures * 255).round() / 255)


def test_responses_with_steps_are_warned_of() -> None:
    assert "its response has steps" in validated(rounded).verdict
    coarse = validated(lambda pictures: some_pixels((pictures * 1e6).round() / 1e6))
    assert coarse.warnings == []


def test_a_silent_reference_has_no_angle_and_may_be_read_out_otherwise() -> None:
    def edges(pictures: torch.Tensor) -> torch.Tensor:
        return pictures.diff(dim=-1).flatten(1)

    found = validated(edges)
    assert found.problems == []
    assert "angle at output is undefined" in found.verdict
    assert "--readout l2" in found.verdict
    assert validated(edges, readouts=("l2",)).verdict == "mine is fit to run."


def test_one_number_has_no_angle() -> None:
    found = validated(lambda pictures: pictures.var(dim=(1, 2, 3)))
    assert "angle at output is undefined" in found.verdict
    assert len(found.warnings) == 1
