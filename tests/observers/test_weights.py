"""Weights from files: what is read, what is refused, what does not fit, and what is missing."""

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from fechner.errors import FechnerError, ObserverError
from fechner.observers.hub import HUGGING_FACE_CACHE
from fechner.observers.weights import (
    MissingWeightsError,
    cause_of,
    fit_weights,
    hash_file,
    hash_weights,
    load_weights,
    read_weights,
)

Weights = dict[str, torch.Tensor]


def net(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    parts = OrderedDict(conv=nn.Conv2d(3, 4, 3), norm=nn.BatchNorm2d(4), head=nn.Linear(4, 2))
    model = nn.Sequential(parts)
    nn.init.normal_(model.norm.running_mean)
    return model


SAVE: dict[str, Callable[[Any, Path], None]] = {
    ".safetensors": save_file,
    ".pt": torch.save,
    ".pth": torch.save,
    ".ckpt": torch.save,
}


def saved(weights: Any, folder: Path, suffix: str = ".pt") -> Path:
    path = folder / f"weights{suffix}"
    SAVE[suffix](weights, path)
    return path


def same(first: Weights, second: Weights) -> bool:
    return sorted(first) == sorted(second) and all(
        torch.equal(first[key], second[key]) for key in first
    )


# Reading


@pytest.mark.parametrize("suffix", SAVE)
def test_files_of_tensors(tmp_path: Path, suffix: str) -> None:
    source, target = net(0), net(1)
    path = saved(source.state_dict(), tmp_path, suffix)
    assert same(read_weights(path), source.state_dict())
    assert same(read_weights(str(path)), source.state_dict())
    assert not same(target.state_dict(), source.state_dict())
    load_weights(target, path)
    assert same(target.state_dict(), source.state_dict())


def test_old_torch_files(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth.tar"
    torch.save(net().state_dict(), path, _use_new_zipfile_serialization=False)
    assert same(read_weights(path), net().state_dict())


@pytest.mark.parametrize(
    "wrap",
    [
        lambda weights: {"state_dict": weights},
        lambda weights: {"model": weights},
        lambda weights: {"model_state_dict": weights, "epoch": 90},
        lambda weights: {"epoch": 90, "best": 0.5, "arch": "x", "state_dict": weights},
        lambda weights: {"state_dict": {"model": weights}},
        lambda weights: {"teacher": weights, "student": {"conv": torch.zeros(1)}},
        lambda weights: {"ema": weights, "optimizer": {"state": {}, "lr": [0.1]}},
        lambda weights: {"module": weights},
        lambda weights: OrderedDict(model=OrderedDict(weights)),
        lambda weights: {**weights, "epoch": 3},  # what is no tensor is no weight
    ],
)
def test_checkpoints_keep_weights_inside(tmp_path: Path, wrap: Callable[[Weights], Any]) -> None:
    path = saved(wrap(net().state_dict()), tmp_path)
    assert same(read_weights(path), net().state_dict())


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod."])
def test_prefixes_of_training_are_taken_off(tmp_path: Path, prefix: str, suffix: str) -> None:
    weights = {f"{prefix}{key}": value for key, value in net().state_dict().items()}
    path = saved(weights, tmp_path, suffix)
    assert same(read_weights(path), net().state_dict())
    target = net(1)
    load_weights(target, path)
    assert same(target.state_dict(), net().state_dict())


def test_prefixes_of_a_compiled_parallel_model_are_taken_off(tmp_path: Path) -> None:
    # torch.compile(DistributedDataParallel(model)), the order that torch recommends.
    weights = {f"_orig_mod.module.{key}": value for key, value in net().state_dict().items()}
    assert same(read_weights(saved({"model": weights}, tmp_path)), net().state_dict())


def test_a_prefix_of_some_names_only_stays(tmp_path: Path) -> None:
    weights = {"module.a": torch.ones(1), "b": torch.ones(1)}
    assert set(read_weights(saved(weights, tmp_path))) == set(weights)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("saved_with", ["", "module."])
def test_a_prefix_that_is_the_name_of_a_part_fits(
    tmp_path: Path, depth: int, saved_with: str
) -> None:
    def wrapped(seed: int) -> nn.Module:
        inner: nn.Module = net(seed)
        for _ in range(depth):
            outer = nn.Module()
            outer.add_module("module", inner)
            inner = outer
        return inner

    weights = {f"{saved_with}{key}": value for key, value in wrapped(0).state_dict().items()}
    target = wrapped(1)
    load_weights(target, saved(weights, tmp_path))
    assert same(target.state_dict(), wrapped(0).state_dict())


def test_weights_at_hand_fit_as_they_are() -> None:
    outer, other = nn.Module(), nn.Module()
    outer.add_module("module", net(0))
    other.add_module("module", net(1))
    fit_weights(other, outer.state_dict(), "a file")
    assert same(other.state_dict(), outer.state_dict())


# Refusing


class Malicious:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("how", ["torch", "old torch", "pickle"])
def test_code_in_a_pickle_is_refused_and_not_run(tmp_path: Path, how: str) -> None:
    trace, path = tmp_path / "trace", tmp_path / "weights.pt"
    weights = {"state_dict": net().state_dict(), "callback": Malicious(trace)}
    if how == "pickle":
        path.write_bytes(pickle.dumps(weights, protocol=2))
        pickle.loads(path.read_bytes())
    else:
        torch.save(weights, path, _use_new_zipfile_serialization=how == "torch")
        torch.load(path, weights_only=False)
    assert trace.exists()  # it would be run
    trace.unlink()
    with pytest.raises(ObserverError) as caught:
        read_weights(path)
    assert not trace.exists()
    message = str(caught.value)
    assert message == (
        f"'{path}' holds more than tensors, or is no weights file; fechner runs no code from a "
        "pickle: save its state_dict() with torch.save or as .safetensors."
    )


def test_a_whole_module_is_refused(tmp_path: Path) -> None:
    path = saved(net(), tmp_path)
    with pytest.raises(ObserverError, match=r"more than tensors.*state_dict\(\)"):
        read_weights(path)


@pytest.mark.parametrize("suffix", [".pt", ".safetensors", ".txt", ""])
@pytest.mark.parametrize("text", ["<html>404: not found</html>\n", "a", ""])
def test_a_text_file_is_no_weights_file(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"weights{suffix}"
    path.write_text(text)
    with pytest.raises(ObserverError) as caught:
        read_weights(path)
    message = str(caught.value)
    assert message.startswith(f"'{path}' ")
    assert "no weights file" in message or "cannot be read as weights" in message
    assert message.endswith(".")
    assert "\n" not in message


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    for suffix in (".pt", ".safetensors"):
        path = saved(net().state_dict(), tmp_path, suffix)
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(ObserverError, match=r"cannot be read as|no weights file") as e:
            read_weights(path)
        assert "\n" not in str(e.value)


@pytest.mark.parametrize("name", ["nowhere.pt", "nowhere.safetensors", ""])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name  # a folder is no file
    with pytest.raises(ObserverError) as caught:
        load_weights(net(), path)
    assert str(caught.value) == f"there is no weights file '{path}'."


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (torch.ones(3), "holds no weights but a Tensor"),
        ([torch.ones(3)], "holds no weights but a list"),
        ({}, "holds no weights but a dict"),
        ({"epoch": 3, "lr": 0.1}, "holds no weights; its entries are epoch, lr."),
        (dict.fromkeys("abcde", 1), r"its entries are a, b, c, \.\.\."),
    ],
)
def test_files_without_weights(tmp_path: Path, content: Any, what: str) -> None:
    with pytest.raises(ObserverError, match=what):
        read_weights(saved(content, tmp_path))


# Fitting


def problem(module: nn.Module, weights: Weights, folder: Path) -> str:
    """Return the sentence, having seen that nothing was loaded."""
    before = {key: value.clone() for key, value in module.state_dict().items()}
    path = saved(weights, folder)
    with pytest.raises(ObserverError) as caught:
        load_weights(module, path)
    assert same(before, module.state_dict())
    return str(caught.value).replace(str(path), "FILE")


def test_missing_tensors(tmp_path: Path) -> None:
    weights = net(1).state_dict()
    del weights["head.bias"]
    assert problem(net(), weights, tmp_path) == (
        "the weights in 'FILE' do not fit Sequential; of its 9 tensors 1 are missing: head.bias."
    )
    for key in ("conv.weight", "conv.bias", "norm.weight"):
        del weights[key]
    found = problem(net(), weights, tmp_path)
    assert "of its 9 tensors 4 are missing: conv.weight, conv.bias, norm.weight, ..." in found
    assert "head.bias" not in found


def test_surplus_tensors(tmp_path: Path) -> None:
    weights = net(1).state_dict()
    weights |= {f"decoder.{i}": torch.ones(1) for i in range(3)}
    assert problem(net(), weights, tmp_path).endswith(
        "tensors 3 are not known to it: decoder.0, decoder.1, decoder.2."
    )
    weights["decoder.3"] = torch.ones(1)
    found = problem(net(), weights, tmp_path)
    assert "4 are not known to it: decoder.0, decoder.1, decoder.2, ..." in found
    assert "decoder.3" not in found


def test_tensors_of_another_shape(tmp_path: Path) -> None:
    weights = net(1).state_dict()
    weights["head.weight"] = torch.ones(1000, 4)
    weights["head.bias"] = torch.ones(1000)
    assert problem(net(), weights, tmp_path) == (
        "the weights in 'FILE' do not fit Sequential; of its 9 tensors 2 have another shape: "
        "head.weight, head.bias."
    )


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    weights = net(1).state_dict()
    del weights["conv.bias"]
    weights["fc.bias"] = torch.ones(2)
    weights["head.weight"] = weights["head.weight"].T
    assert problem(net(), weights, tmp_path).endswith(
        "of its 9 tensors 1 are missing: conv.bias; 1 are not known to it: fc.bias; "
        "1 have another shape: head.weight."
    )


def test_weights_of_another_model_altogether(tmp_path: Path) -> None:
    found = problem(net(), {"a": torch.ones(1)}, tmp_path)
    assert "8 are missing" in found  # the counter of batches may be missing
    assert "1 are not known to it: a" in found


def test_counters_of_batches_may_be_missing(tmp_path: Path) -> None:
    weights = net(1).state_dict()
    del weights["norm.num_batches_tracked"]
    target = net()
    load_weights(target, saved(weights, tmp_path))
    assert same({k: target.state_dict()[k] for k in weights}, weights)


def test_weights_in_another_precision_are_converted(tmp_path: Path) -> None:
    weights = {key: value.half() for key, value in net(1).state_dict().items()}
    target = net()
    load_weights(target, saved(weights, tmp_path))
    assert target.conv.weight.dtype == torch.float32
    assert torch.equal(target.conv.weight, weights["conv.weight"].float())


# Hashes


def test_the_hash_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = bytes(range(256)) * 5000
    path.write_bytes(content)
    assert hash_file(path) == hash_file(str(path)) == hashlib.sha256(content).hexdigest()
    path.write_bytes(b"")
    assert hash_file(path) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_hash_of_loaded_weights_is_that_of_those_saved(tmp_path: Path) -> None:
    target = net(1)
    assert hash_weights(target) != hash_weights(net())
    load_weights(target, saved(net().state_dict(), tmp_path, ".safetensors"))
    assert hash_weights(target) == hash_weights(net())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_weights_of_any_precision_can_be_hashed(dtype: torch.dtype) -> None:
    model = net().to(dtype)
    before = hash_weights(model)
    with torch.no_grad():
        model.head.bias[1] *= 2
    assert hash_weights(model) != before


def test_the_hash_does_not_depend_on_how_memory_is_laid_out() -> None:
    model = net()
    before = hash_weights(model)
    model.to(memory_format=torch.channels_last)
    assert not model.conv.weight.is_contiguous()
    assert hash_weights(model) == before


# Missing


def test_missing_weights_are_one_sentence_with_three_ways_out() -> None:
    error = MissingWeightsError(
        "timm/x", "model.safetensors of timm/x", HUGGING_FACE_CACHE, "OSError: no route"
    )
    assert isinstance(error, FechnerError)
    assert str(error) == (
        "the weights of 'timm/x', model.safetensors of timm/x, are not on this machine and could "
        "not be fetched (OSError: no route): run once with a network, or copy the folder HF_HOME "
        "(~/.cache/huggingface) from a machine that has them, or give a local copy with "
        "--weights PATH."
    )
    assert "()" not in str(MissingWeightsError("timm/x", "model.safetensors", "the folder"))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such thing.\nTraceback: more"), "ValueError: no such thing"),
        (ValueError(), "ValueError"),
        (ValueError("  \n "), "ValueError"),
        (KeyError("weight"), "KeyError: 'weight'"),
        (OSError(2, "No such file"), "OSError: [Errno 2] No such file"),
        (RuntimeError("Errors in loading:\n\tmissing"), "RuntimeError: Errors in loading"),
    ],
)
def test_causes_are_one_line(error: Exception, text: str) -> None:
    expected = text.replace("OSError: [Errno 2]", f"{type(error).__name__}: [Errno 2]")
    assert cause_of(error) == expected


def test_long_causes_are_cut() -> None:
    assert cause_of(ValueError("x" * 500)) == ("ValueError: " + "x" * 500)[:160]
