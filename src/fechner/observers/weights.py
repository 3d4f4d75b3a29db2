"""Weights: from a file, safely, and what to say when they cannot be had."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, ObserverError

#: What training on several devices or with torch.compile puts before every name.
_PREFIXES = ("module.", "_orig_mod.")

#: Where checkpoints of training programs keep the weights.
_WRAPPERS = ("state_dict", "model_state_dict", "model", "ema", "teacher", "module")


class MissingWeightsError(FechnerError):
    """Weights that are neither here nor to be had; ``cache`` is where their library keeps them."""

    def __init__(self, name: str, file: str, cache: str, cause: str = "") -> None:
        why = f" ({cause})" if cause else ""
        super().__init__(
            f"the weights of '{name}', {file}, are not on this machine and could not be "
            f"fetched{why}: run once with a network, or copy {cache} from a machine that has them, "
            f"or give a local copy with --weights PATH."
        )


def cause_of(error: BaseException) -> str:
    """Return the kind and first line of what went wrong, for a sentence."""
    first = (str(error).strip().splitlines() or [""])[0]
    text = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return text.rstrip(".:")[:160]


def read_weights(path: Path | str) -> dict[str, Tensor]:
    """Read a state dict from a file: safetensors, or a torch file that holds tensors only.

    A pickle with anything else in it is refused, since reading it would run its code.
    """
    path = Path(path)
    if not path.is_file():
        raise ObserverError(f"there is no weights file '{path}'.")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            found: Any = load_file(path)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is wrong is said in one sentence
                found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ObserverError(
            f"'{path}' holds more than tensors, or is no weights file; fechner runs no code from a "
            "pickle: save its state_dict() with torch.save or as .safetensors."
        ) from error
    except Exception as error:
        raise ObserverError(f"'{path}' cannot be read as weights ({cause_of(error)}).") from error
    for key in _WRAPPERS:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
    if not isinstance(found, Mapping) or not found:
        raise ObserverError(f"'{path}' holds no weights but a {type(found).__name__}.")
    tensors = {key: value for key, value in found.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        raise ObserverError(f"'{path}' holds no weights; its entries are {_some(found)}.")
    prefix = _prefix(tensors)
    return {key.removeprefix(prefix): value for key, value in tensors.items()}


def _prefix(names: Collection[str]) -> str:
    """Return what stands before every name."""
    prefix = ""
    while more := next(
        (p for p in _PREFIXES if names and all(name.startswith(prefix + p) for name in names)), ""
    ):
        prefix += more
    return prefix


def load_weights(module: torch.nn.Module, path: Path | str) -> None:
    """Put the weights of a file into a module; see `fit_weights`."""
    prefix = _prefix(module.state_dict())  # that was taken off, but is the name of a part
    weights = {f"{prefix}{key}": value for key, value in read_weights(path).items()}
    fit_weights(module, weights, path)


def fit_weights(module: torch.nn.Module, weights: Mapping[str, Tensor], path: Path | str) -> None:
    """Put the weights of ``path`` into a module; every parameter must be there and fit."""
    own = module.state_dict()
    missing = [key for key in own if key not in weights and not key.endswith("num_batches_tracked")]
    surplus = [key for key in weights if key not in own]
    shapes = [k for k in own if k in weights and own[k].shape != weights[k].shape]
    kinds = {"are missing": missing, "are not known to it": surplus, "have another shape": shapes}
    problems = [f"{len(keys)} {what}: {_some(keys)}" for what, keys in kinds.items() if keys]
    if problems:
        raise ObserverError(
            f"the weights in '{path}' do not fit {type(module).__name__}; of its {len(own)} "
            f"tensors {'; '.join(problems)}."
        )
    fitting = OrderedDict((key, value) for key, value in weights.items() if key in own)
    # Some models refuse weights that do not say which version of the model they belong to.
    fitting._metadata = {"": own._metadata[""]}  # type: ignore[attr-defined]
    module.load_state_dict(fitting, False)


def _some(names: Any) -> str:
    names = [str(name) for name in names]
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def hash_weights(module: torch.nn.Module) -> str:
    """Return the sha256 of a module's parameters and buffers."""
    digest = hashlib.sha256(type(module).__qualname__.encode())
    for key, value in sorted(module.state_dict().items()):
        digest.update(f"{key}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def hash_file(path: Path | str) -> str:
    """Return the sha256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
