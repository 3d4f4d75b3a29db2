"""ONNX: ``path/to/FILE.onnx``, run by onnxruntime."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.arrays import torch
from fechner.errors import ObserverError, UnknownNameError
from fechner.observers.devices import is_out_of_memory
from fechner.observers.network import Network
from fechner.observers.weights import cause_of, hash_file

if TYPE_CHECKING:
    from torch import Tensor, nn

#: The types of input that pictures can be turned into, and of output that can be looked at.
_DTYPES = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}

#: How a tensor in a graph says which file it lies in: an entry (key "location", value), encoded.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")


def load(model: str, *, output: str | None = None, size: int | None = None) -> Network:
    """Load an exported network.

    The natural read-out is its first output, or the named one; every output is a layer. What the
    file does not say must be set: the normalisation, and the size where any is taken.
    """
    import onnxruntime

    if not Path(model).is_file():
        raise ObserverError(f"there is no file '{model}'.")
    graph = Graph(Path(model))
    if output is not None and output not in graph.outputs:
        there = f"there are {', '.join(graph.outputs)}"
        raise UnknownNameError(f"output of {model}", output, graph.outputs, there)
    natural = output or graph.outputs[0]
    own = graph.size_px
    if own is not None and size is not None and own != (size, size):
        raise ObserverError(
            f"'{model}' takes pictures of {own[0]} x {own[1]} px only: leave out size={size}."
        )
    module, parts = _module(graph.outputs)

    def call(pictures: Tensor) -> Any:
        seen = {
            name: module.get_submodule(parts[name])(value)
            for name, value in graph.run(pictures).items()
        }
        if natural not in seen:
            raise ObserverError(
                f"output '{natural}' of '{model}' has no row per picture; choose another of "
                f"{', '.join(graph.outputs)} with output=NAME."
            )
        return seen[natural]

    return Network(
        module,
        call,
        size_px=own or (None if size is None else (size, size)),
        library=f"onnxruntime {onnxruntime.__version__}",
        settings=f"output={natural}",
        stages=tuple(part for name, part in parts.items() if name != natural),
        weights_id=_hash(Path(model)),
        unsure="its file does not say how pictures are normalised, so they are not "
        "(@normalise=...)",
    )


def _module(outputs: tuple[str, ...]) -> tuple[nn.Module, dict[str, str]]:
    """Return a module with a part for each output to pass through, where it can be tapped."""
    from torch import nn

    module = nn.Module()
    parts: dict[str, str] = {}
    for output in outputs:
        name = re.sub(r"[^\w-]", "_", output)
        while hasattr(module, name):  # two that are written alike, or a word of torch's own
            name += "_"
        module.add_module(name, nn.Identity())
        parts[output] = name
    return module, parts


class Graph:
    """A graph that takes pictures, [n, 3, h, w] in 0..1 or normalised, and gives named outputs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sessions: dict[str, Any] = {}
        session = self._session("cpu")
        self._input, self._dtype, self._channels_last, shape = _only_input(session, path)
        batch, *sides = (each if isinstance(each, int) and each > 0 else None for each in shape)
        self._batch = batch
        known = [side for side in sides if side is not None]
        #: Its own input size, None for any.
        self.size_px = (known[0], known[-1]) if known else None
        #: Names of the outputs that can be looked at.
        self.outputs = tuple(each.name for each in session.get_outputs() if each.type in _DTYPES)
        if not self.outputs:
            raise ObserverError(f"'{path}' has no output of floating-point numbers to look at.")

    def run(self, pictures: Tensor) -> dict[str, Tensor]:
        """Return the outputs that have a row per picture."""
        found: dict[str, list[Tensor]] = {name: [] for name in self.outputs}
        for chunk in torch.split(pictures, self._batch or len(pictures)):
            # Filled up to the size of batches that the graph takes.
            lacking = (self._batch or len(chunk)) - len(chunk)
            shown = torch.cat([chunk, chunk[-1:].expand(lacking, -1, -1, -1)])
            for name, value in self._run(shown).items():
                if value.ndim and len(value) == len(shown):
                    found[name].append(value[: len(chunk)])
        return {name: torch.cat(each).to(pictures.device) for name, each in found.items() if each}

    def _run(self, pictures: Tensor) -> dict[str, Tensor]:
        shown = pictures.permute(0, 2, 3, 1) if self._channels_last else pictures
        array = shown.detach().to("cpu", getattr(torch, self._dtype)).contiguous().numpy()
        session = self._session(pictures.device.type)
        try:
            values = session.run(list(self.outputs), {self._input: array})
        except Exception as error:
            if is_out_of_memory(error):
                raise
            height, width = pictures.shape[2:]
            raise ObserverError(
                f"'{self._path}' cannot look at {height} x {width} px ({_cause(error)}); say "
                "what it takes with size=PIXELS."
            ) from error
        return {name: torch.from_numpy(v) for name, v in zip(self.outputs, values, strict=True)}

    def _session(self, device: str) -> Any:
        """Return what runs the graph on a kind of device; made when first asked for."""
        import onnxruntime

        if device in self._sessions:
            return self._sessions[device]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 4  # what goes wrong is raised as well
        options.enable_cpu_mem_arena = False  # it would keep what a batch that did not fit took
        providers = ["CPUExecutionProvider"]
        if device == "cuda" and "CUDAExecutionProvider" in onnxruntime.get_available_providers():
            providers.insert(0, "CUDAExecutionProvider")
        try:
            session = onnxruntime.InferenceSession(str(self._path), options, providers=providers)
        except Exception as error:
            raise ObserverError(
                f"'{self._path}' cannot be run by onnxruntime ({_cause(error)}); export it again."
            ) from error
        self._sessions[device] = session
        return session


def _cause(error: Exception) -> str:
    """Return what went wrong, without what the library puts before it."""
    text = re.sub(
        r"^\[ONNXRuntimeError\] : \d+ : \w+ : |Load model from .* failed:", "", str(error)
    )
    return cause_of(type(error)(text))


def _only_input(session: Any, path: Path) -> tuple[str, str, bool, list[Any]]:
    """Return the name and type of the input, whether channels are last, and [n, h, w]."""
    inputs = session.get_inputs()
    if len(inputs) != 1:
        names = ", ".join(each.name for each in inputs) or "none"
        raise ObserverError(
            f"'{path}' takes {len(inputs)} inputs ({names}); export a network that takes pictures "
            "only."
        )
    (only,) = inputs
    shape = list(only.shape)
    channels_last = len(shape) == 4 and shape[1] != 3 and shape[3] == 3
    n, *sides = [shape[i] for i in ((0, 3, 1, 2) if channels_last else range(len(shape)))] or [0]
    if len(sides) != 3 or (isinstance(sides[0], int) and sides[0] != 3):
        raise ObserverError(
            f"input '{only.name}' of '{path}' has shape {list(only.shape)}; export a network that "
            "takes colour pictures, [n, 3, h, w] or [n, h, w, 3]."
        )
    if only.type not in _DTYPES:
        raise ObserverError(
            f"input '{only.name}' of '{path}' is a {only.type}; export a network that takes "
            "floating-point pictures."
        )
    return only.name, _DTYPES[only.type], channels_last, [n, *sides[1:]]


def _hash(path: Path) -> str:
    """Return the sha256 of a graph and of the files its tensors lie in."""
    graph = path.read_bytes()
    found = {graph[m.end() : m.end() + m[1][0]] for m in _LOCATION.finditer(graph)}
    files = [path.parent / name.decode(errors="replace") for name in sorted(found)]
    hashes = [hash_file(file) for file in (path, *files) if file.is_file()]
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()
