"""Exported networks equal the networks they were exported from."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
import torch
from looking import features, frames
from torch import nn

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers import resolve
from fechner.observers.adapters.onnx import load
from fechner.observers.network import encoder
from fechner.observers.validation import validate
from fechner.observers.weights import hash_file
from fechner.stimuli import Frames

SIDE = 16


class Net(nn.Module):
    """A small network with two outputs, whose second has several axes."""

    def __init__(self, channels_last: bool = False, outputs: int = 1) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.BatchNorm2d(6), nn.GELU())
        self.head = nn.Linear(6, 5)
        self.channels_last = channels_last
        self.outputs = outputs

    def forward(self, x: torch.Tensor) -> Any:
        if self.channels_last:
            x = x.permute(0, 3, 1, 2)
        maps = self.features(x)
        scores = self.head(maps.mean(dim=(2, 3)))
        return (scores, maps, scores.argmax(1), maps.sum())[: self.outputs]


def exported(
    path: Path,
    model: nn.Module,
    *,
    batch: int = 2,
    names: tuple[str, ...] = ("scores",),
    dynamic: tuple[int, ...] = (0,),
    side: int = SIDE,
    dtype: torch.dtype = torch.float32,
) -> Path:
    shape = (batch, side, side, 3) if model.channels_last else (batch, 3, side, side)
    axes = {axis: f"axis{axis}" for axis in dynamic}
    by_name = {"pictures": axes} if axes else {}
    if 0 in axes:
        by_name |= {name: {0: "axis0"} for name in names if name != "total"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this way to export is old, the new one has more needs
        torch.onnx.export(
            model.eval().to(dtype),
            (torch.rand(shape, dtype=dtype),),
            path,
            input_names=["pictures"],
            output_names=list(names),
            dynamic_axes=by_name,
            dynamo=False,
        )
    return path


def by_hand(shown: Frames, output: int = 0) -> torch.Tensor:
    with torch.no_grad():
        return Net(outputs=4).eval()(shown.pixels)[output]


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize(
    ("batch", "dynamic"), [(2, (0,)), (1, ()), (4, ())], ids=["dynamic", "one", "four"]
)
def test_batches(tmp_path: Path, batch: int, dynamic: tuple[int, ...], n: int) -> None:
    path = exported(tmp_path / "net.onnx", Net(), batch=batch, dynamic=dynamic)
    observer = resolve(str(path))
    assert observer.wants.size_px == (SIDE, SIDE)
    assert observer.layers == ("output",)
    shown = frames(SIDE, n)
    torch.testing.assert_close(features(observer, shown), by_hand(shown), rtol=1e-5, atol=1e-5)
    alone = [features(observer, replace(shown, pixels=p[None])) for p in shown.pixels]
    torch.testing.assert_close(features(observer, shown), torch.cat(alone), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("batch", [1, 4])
def test_several_outputs_are_layers(tmp_path: Path, batch: int) -> None:
    names = ("scores", "a/maps.3", "classes", "total")
    path = exported(tmp_path / "net.onnx", Net(outputs=4), batch=batch, dynamic=(), names=names)
    observer, shown = resolve(str(path)), frames(SIDE)
    # Numbers of classes are no features, and the total is not of one picture.
    listed = {layer.name: layer.shape for layer in observer.every_layer()}
    assert listed == {"scores": (5,), "a_maps_3": (6, 7, 7)}
    assert observer.layers == ("a_maps_3", "output")
    torch.testing.assert_close(features(observer, shown), by_hand(shown), rtol=1e-5, atol=1e-5)
    maps = by_hand(shown, 1)
    found = features(observer, shown, "a_maps_3")
    torch.testing.assert_close(found, maps.reshape(3, -1), rtol=1e-5, atol=1e-5)
    other = resolve(f"{path}@output=a/maps.3")
    assert other.layers == ("scores", "output")
    torch.testing.assert_close(features(other, shown), maps, rtol=1e-5, atol=1e-5)
    assert other.fingerprint != observer.fingerprint


def test_outputs_of_any_name(tmp_path: Path) -> None:
    names = ("output", "forward", "a.b", "a/b")

    class Four(Net):
        def forward(self, x: torch.Tensor) -> Any:
            scores, maps = super().forward(x)
            return scores, maps, scores * 2, scores * 3

    path = exported(tmp_path / "net.onnx", Four(outputs=2), names=names)
    observer, shown = resolve(str(path)), frames(SIDE)
    listed = [layer.name for layer in observer.every_layer()]
    assert listed == ["output#1", "forward_", "a_b", "a_b_"]
    found = features(observer, shown, "a_b_")
    torch.testing.assert_close(found, 3 * by_hand(shown), rtol=1e-5, atol=1e-5)


def test_an_output_without_a_row_per_picture(tmp_path: Path) -> None:
    names = ("scores", "maps", "classes", "total")
    path = exported(tmp_path / "net.onnx", Net(outputs=4), names=names)
    with pytest.raises(ObserverError, match=r"output 'total' of .* has no row per picture; choose"):
        features(resolve(f"{path}@output=total"), frames(SIDE))
    with pytest.raises(UnknownNameError, match=r"named 'map'; did you mean 'maps'\? there are sc"):
        resolve(f"{path}@output=map")


# Pictures


def test_channels_last(tmp_path: Path) -> None:
    path = exported(tmp_path / "net.onnx", Net(channels_last=True))
    observer = resolve(str(path))
    assert observer.wants.size_px == (SIDE, SIDE)
    found = features(observer, frames(SIDE))
    torch.testing.assert_close(found, by_hand(frames(SIDE)), rtol=1e-5, atol=1e-5)


def test_half_precision(tmp_path: Path) -> None:
    path = exported(tmp_path / "net.onnx", Net(), dtype=torch.float16)
    found = features(resolve(str(path)), frames(SIDE))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, by_hand(frames(SIDE)), rtol=5e-3, atol=5e-3)


def test_double_precision(tmp_path: Path) -> None:
    path = graph(tmp_path / "graph.onnx", value("a", ["n", 3, 8, 8], "DOUBLE"))
    observer = encoder(load(str(path)), name="double", dtype="float64")
    shown = frames(8)
    shown = replace(shown, pixels=shown.pixels.double() / 3)
    assert torch.equal(features(observer, shown), shown.pixels)
    # There is no such convolution.
    with pytest.raises(ObserverError, match=r"cannot be run by onnxruntime \(NotImpl.*Conv"):
        resolve(str(exported(tmp_path / "net.onnx", Net(), dtype=torch.float64)))


@pytest.mark.parametrize("size", [None, 24])
def test_any_size(tmp_path: Path, size: int | None) -> None:
    path = exported(tmp_path / "net.onnx", Net(), dynamic=(0, 2, 3))
    observer = resolve(f"{path}@size={size}" if size else str(path))
    assert observer.wants.size_px == ((size, size) if size else None)
    assert [layer.shape for layer in observer.every_layer()] == [(5,)]
    shown = frames(size or 20, 2)
    torch.testing.assert_close(features(observer, shown), by_hand(shown), rtol=1e-5, atol=1e-5)


def test_one_size_only(tmp_path: Path) -> None:
    path = exported(tmp_path / "net.onnx", Net())
    assert resolve(f"{path}@size={SIDE}").wants.size_px == (SIDE, SIDE)
    with pytest.raises(ObserverError, match="takes pictures of 16 x 16 px only: leave out size=20"):
        resolve(f"{path}@size=20")
    with pytest.raises(ObserverError, match=r"cannot look at 20 x 20 px \(InvalidArgument"):
        features(resolve(str(path)), frames(20))


def test_normalisation_is_set_by_hand(tmp_path: Path) -> None:
    path, shown = exported(tmp_path / "net.onnx", Net()), frames(SIDE)
    half = replace(shown, pixels=2 * shown.pixels - 1)
    found = features(resolve(f"{path}@normalise=half"), shown)
    torch.testing.assert_close(found, by_hand(half), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pictures_in_any_precision(tmp_path: Path, dtype: Any) -> None:
    path, shown = exported(tmp_path / "net.onnx", Net()), frames(SIDE)
    observer = encoder(load(str(path)), name="net", dtype=dtype)
    shown = replace(shown, pixels=shown.pixels.to(getattr(torch, observer.wants.dtype)))
    torch.testing.assert_close(
        features(observer, shown), by_hand(frames(SIDE)), rtol=1e-5, atol=1e-5
    )


# Files


def graph(path: Path, *inputs: Any) -> Path:
    """Save a graph that hands on its first input."""
    helper = onnx.helper
    out = helper.make_tensor_value_info("out", inputs[0].type.tensor_type.elem_type, None)
    node = helper.make_node("Identity", [inputs[0].name], ["out"])
    opset = [helper.make_opsetid("", 17)]
    made = helper.make_graph([node], "graph", list(inputs), [out])
    onnx.save(helper.make_model(made, opset_imports=opset, ir_version=9), path)
    return path


def value(name: str, shape: list[Any], kind: str = "FLOAT") -> Any:
    return onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shape)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([value("a", ["n", 3, 8, 8]), value("b", [1])], r"takes 2 inputs \(a, b\); export"),
        ([value("a", ["n", 1, 8, 8])], r"input 'a' of .* has shape \['n', 1, 8, 8\]; export"),
        ([value("a", ["n", 10])], r"has shape \['n', 10\]; export .* colour pictures"),
        ([value("a", [])], r"has shape \[\]; export"),
        ([value("a", ["n", 3, 8, 8], "UINT8")], r"is a tensor\(uint8\); export .*floating"),
    ],
)
def test_graphs_that_take_something_else(tmp_path: Path, inputs: list[Any], message: str) -> None:
    with pytest.raises(ObserverError, match=message):
        resolve(str(graph(tmp_path / "graph.onnx", *inputs)))


@pytest.mark.parametrize("shape", [["n", "c", "h", "w"], [None, 3, None, None]])
def test_graphs_that_say_little(tmp_path: Path, shape: list[Any]) -> None:
    observer = resolve(str(graph(tmp_path / "graph.onnx", value("a", shape))))
    assert observer.wants.size_px is None
    assert torch.equal(features(observer, frames(SIDE)), frames(SIDE).pixels)


def test_missing_and_broken_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ObserverError, match=r"there is no file '.*none\.onnx'"):
        resolve(str(tmp_path / "none.onnx"))
    (tmp_path / "text.onnx").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ObserverError, match=r"text\.onnx' cannot be run by onnxruntime \("):
        resolve(str(tmp_path / "text.onnx"))
    assert capfd.readouterr() == ("", "")


def test_a_setting_that_it_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match="no setting named 'weights'"):
        resolve(f"{tmp_path}/net.onnx@weights=x.pt")


def test_the_fingerprint_is_of_all_files(tmp_path: Path) -> None:
    inside = exported(tmp_path / "net.onnx", Net())
    assert load(str(inside)).weights_id == hash_file(inside)
    assert f"onnxruntime {onnxruntime.__version__}" in resolve(str(inside)).fingerprint
    path = tmp_path / "outside.onnx"
    settings = {"save_as_external_data": True, "size_threshold": 0}
    onnx.save(onnx.load(inside), path, location="outside.data", **settings)
    before = load(str(path)).weights_id
    torch.testing.assert_close(features(resolve(str(path)), frames(SIDE)), by_hand(frames(SIDE)))
    data = tmp_path / "outside.data"
    data.write_bytes(data.read_bytes()[:-1] + b"\x07")
    assert before not in (load(str(path)).weights_id, hash_file(path))
    data.unlink()
    with pytest.raises(ObserverError, match=r"outside\.onnx' cannot be run by onnxruntime"):
        resolve(str(path))


def test_its_precision_is_its_own(tmp_path: Path) -> None:
    path = exported(tmp_path / "net.onnx", Net())
    with pytest.raises(ObserverError, match="is fixed in its file; leave --dtype out"):
        resolve(f"{path}@dtype=bfloat16")


def test_normalisation_that_is_not_known_is_warned_of(tmp_path: Path) -> None:
    path = exported(tmp_path / "net.onnx", Net())
    assert "does not say how pictures are normalised" in validate(resolve(str(path))).verdict
    assert "normalised" not in validate(resolve(f"{path}@normalise=none")).verdict
