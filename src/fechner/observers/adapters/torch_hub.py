"""torch.hub: ``torch_hub/OWNER/REPOSITORY[:REF]/MODEL``, or a folder that holds hubconf.py."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError
from fechner.observers import hub
from fechner.observers.inputs import NORMALISATIONS
from fechner.observers.network import Network
from fechner.observers.taps import first_tensor
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import load_weights

_SITE = "https://github.com"


def load(
    model: str,
    *,
    weights: str | None = None,
    size: int | None = None,
    trust_remote_code: bool = False,
) -> Network:
    """Load a model by the code of its own repository.

    The natural read-out is what the model returns; of several things the first tensor.

    Parameters
    ----------
    model
        The repository on GitHub, or a folder, and a function of its hubconf.py.
    weights
        A file; the model is then built with ``pretrained=False``.
    size
        Side of the pictures, 224 if None; the code does not say it.
    """
    repository, _, entry = model.rpartition("/")
    folder = Path(repository).expanduser().absolute()
    local = (folder / "hubconf.py").is_file()
    if not local and repository.partition(":")[0].count("/") != 1:
        raise ObserverError(
            f"'torch_hub/{model}' is neither OWNER/REPOSITORY/MODEL nor a folder with a hubconf.py "
            "followed by /MODEL."
        )
    if not trust_remote_code:
        raise ObserverError(
            f"'torch_hub/{model}' runs code from {'the folder ' if local else ''}{repository}: "
            "allow it with --trust-remote-code if you trust that code."
        )
    import_torchvision()
    what = f"{entry} of {folder if local else f'{_SITE}/{repository}'}"
    with hub.fetching(f"torch_hub/{model}", what, hub.TORCH_CACHE):
        module = _make(folder if local else _cached(repository), repository, entry, weights)
    if not isinstance(module, torch.nn.Module):
        raise ObserverError(
            f"'torch_hub/{model}' made a {type(module).__name__}, not a torch module; name a "
            "function of hubconf.py that returns one."
        )
    if weights is not None:
        load_weights(module, weights)

    def call(pictures: Tensor) -> Any:
        seen = module(pictures)
        tensor = first_tensor(seen)
        return seen if tensor is None else tensor

    code = folder if local else _cached(repository)
    return Network(
        module,
        call,
        size_px=(size or 224, size or 224),
        normalise=NORMALISATIONS["imagenet"],
        library=f"torch.hub {torch.__version__}",
        settings="" if code is None else f"code={_hash_code(code)}",
    )


def _cached(repository: str) -> Path | None:
    """Return the folder that torch.hub keeps a repository in, None if it is not here."""
    name, _, reference = repository.partition(":")
    # torch would ask the site which of the two it is, every time.
    references = [reference] if reference else ["main", "master"]
    kept = Path(torch.hub.get_dir())
    folders = [kept / f"{name}_{each}".replace("/", "_") for each in references]
    return next((folder for folder in folders if (folder / "hubconf.py").is_file()), None)


def _make(folder: Path | None, repository: str, entry: str, weights: str | None) -> Any:
    """Call a function of hubconf.py: in a folder, or in a repository that is not here yet."""
    source: dict[str, Any] = {"repo_or_dir": str(folder), "source": "local"}
    if folder is None:
        if not hub.reachable(_SITE):
            raise ConnectionError(f"{_SITE} cannot be reached")
        # A reference may name a commit of somebody's fork, the main branch cannot.
        source = {"repo_or_dir": repository, "skip_validation": ":" not in repository}
    hub_load: Any = partial(torch.hub.load, model=entry, trust_repo=True, verbose=False, **source)
    with _their_code(folder):
        if weights is not None:
            with suppress(TypeError):  # of functions that have no such switch
                return hub_load(pretrained=False)
        return hub_load()


@contextmanager
def _their_code(folder: Path | None) -> Iterator[None]:
    """Run code of others so that it does not stand in the way of what comes after.

    Modules of different repositories are often called alike (``utils``), so they are forgotten
    once the model is built. What the code prints goes to standard error.
    """
    there = set(sys.modules)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        theirs = tuple(Path(path) for path in (folder, torch.hub.get_dir()) if path is not None)
        for name in set(sys.modules) - there:
            module = sys.modules[name]
            files = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
            if any(Path(file).is_relative_to(path) for file in files for path in theirs):
                del sys.modules[name]


def _hash_code(folder: Path) -> str:
    """Return the sha256 of all code in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
