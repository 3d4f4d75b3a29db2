"""Files of transformers: from a hub or a folder, quietly, and what goes wrong in one sentence."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fechner.errors import FechnerError, ObserverError
from fechner.observers.abilities import Dtype
from fechner.observers.hub import environment, fetching
from fechner.observers.weights import cause_of, read_weights


def local_folder(place: str) -> str | None:
    """Return the path of a folder on this machine, None for anything else."""
    path = Path(place).expanduser()
    return str(path) if path.is_dir() else None


@dataclass(frozen=True)
class Repository:
    """Where a model comes from.

    Parameters
    ----------
    name
        The observer, as in results.
    model, source
        What it was asked for by, and the repository or folder that is loaded.
    file
        The file that holds other weights.
    trust
        Whether code that comes with it may be run.
    """

    name: str
    model: str
    source: str
    file: Path | None = None
    trust: bool = False

    @property
    def places(self) -> tuple[str, ...]:
        """Where its small files are: weights in a folder of their own may have come without."""
        return tuple(dict.fromkeys((self.source, local_folder(self.model) or self.model)))


def repository(model: str, weights: str | None, trust: bool) -> Repository:
    """Return where a model is loaded from: a repository or a folder, or with weights of a file."""
    source = local_folder(model)
    # A repository is NAME or OWNER/NAME; everything else can only be a folder.
    if source is None and (model.count("/") > 1 or model.startswith(("/", ".", "~"))):
        raise ObserverError(
            f"there is no folder '{model}'; after hf/ comes a folder or a repository OWNER/NAME."
        )
    source, file = source or model, None
    if weights is not None:
        folder = local_folder(weights)
        source, file = (folder, None) if folder else (source, Path(weights).expanduser())
    return Repository(f"hf/{model}", model, source, file, trust)


@contextmanager
def loading(name: str, file: str, place: str) -> Iterator[None]:
    """Load a file of a place inside this: quietly, and what goes wrong becomes one sentence."""
    try:
        with fetching(name, f"{file} of {place}"), quietly():
            yield
    except FechnerError as error:
        cause = error.__cause__ or error
        if "trust_remote_code" in str(cause):
            raise ObserverError(
                f"'{name}' comes with code of its own, which is not run unasked: read it, and if "
                "you trust it use --trust-remote-code."
            ) from cause
        if isinstance(cause, pickle.UnpicklingError):
            raise ObserverError(
                f"the weights in '{place}' hold more than tensors, and fechner runs no code from a "
                "pickle: use a repository with .safetensors."
            ) from cause
        if local_folder(place):  # fetching it would be no help
            raise ObserverError(
                f"'{name}' cannot be loaded from the folder '{place}' ({cause_of(cause)})."
            ) from cause
        raise


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the library from reporting on what is checked here, and from asking for conversions.

    Downloads keep their progress bars.
    """
    from huggingface_hub.utils import enable_progress_bars
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if bars:
        logging.disable_progress_bar()
        enable_progress_bars()
    try:
        # Without this it has a server convert repositories that hold no safetensors.
        with environment({"DISABLE_SAFETENSORS_CONVERSION": "1"}):
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def configuration(place: Repository) -> Any:
    """Return the configuration of a model."""
    from transformers import AutoConfig

    # With weights at hand the configuration is all that is fetched.
    what = "model.safetensors" if place.file is None else "config.json"
    with loading(place.name, what, place.source):
        return AutoConfig.from_pretrained(place.source, trust_remote_code=place.trust)


def empty_model(place: Repository, config: Any, loader: str = "AutoModel") -> Any:
    """Return a model without weights, which takes no memory."""
    import torch
    import transformers

    with loading(place.name, "config.json", place.source), torch.device("meta"):
        return getattr(transformers, loader).from_config(config, trust_remote_code=place.trust)


def whole_model(
    place: Repository, config: Any, loader: str = "AutoModel", dtype: Dtype = "float32"
) -> tuple[Any, list[str]]:
    """Return a model and the names of those of its weights that were not there or did not fit."""
    import torch
    import transformers

    of_any_type = loader.startswith("Auto")
    maker: Any = getattr(transformers, loader)
    settings = {"dtype": getattr(torch, dtype), "output_loading_info": True}
    # Otherwise what does not fit is named in the log only.
    settings["ignore_mismatched_sizes"] = True
    remote = {"trust_remote_code": place.trust} if of_any_type else {}
    weights = None if place.file is None else read_weights(place.file)
    with loading(place.name, "model.safetensors", place.source):
        if weights is None:
            module, info = maker.from_pretrained(place.source, **settings, **remote)
        else:
            if of_any_type:
                maker = type(empty_model(place, config, loader))
            else:
                config = maker.config_class.from_pretrained(place.source)
            # The library, not torch, since it knows the names that weights had in former versions.
            module, info = maker.from_pretrained(
                None, config=config, state_dict=weights, **settings
            )
    misfits = {key if isinstance(key, str) else key[0] for key in info["mismatched_keys"]}
    return module.eval(), sorted({*info["missing_keys"], *misfits})


def check_weights(place: Repository, lacking: list[str], part: str) -> None:
    """Say which weights of a part are not there."""
    if lacking:
        some = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
        raise ObserverError(
            f"the weights of '{place.name}' are missing or of another shape for {len(lacking)} "
            f"tensors of the part that {part} ({some}); give weights that fit its config.json."
        )


def image_processor(place: Repository) -> dict[str, Any]:
    """Return how pictures are prepared for a model; nothing if its repository does not say."""
    from transformers import AutoImageProcessor

    for source in place.places:
        try:
            with loading(place.name, "preprocessor_config.json", source):
                found = AutoImageProcessor.from_pretrained(source, trust_remote_code=place.trust)
                return dict(found.to_dict())
        except FechnerError as error:
            if not _has_none(source, error.__cause__):
                raise
    return {}


def preparation(place: Repository, loader: str, file: str) -> Any:
    """Return what prepares words for a model: its ``AutoTokenizer`` or its ``AutoProcessor``."""
    import transformers

    for source in place.places:
        try:
            with loading(place.name, file, source):
                return getattr(transformers, loader).from_pretrained(
                    source, trust_remote_code=place.trust
                )
        except FechnerError:
            if source == place.places[-1]:
                raise
    raise AssertionError


def _has_none(place: str, error: BaseException | None) -> bool:
    """Whether a repository has no preprocessor file, rather than one that could not be fetched."""
    if error is None or error.__cause__ or "Can't load image processor" not in str(error):
        return False
    if local_folder(place):
        return True
    from huggingface_hub import try_to_load_from_cache

    # Without a network the error is the same; the cache remembers what a repository does not have.
    return try_to_load_from_cache(place, "preprocessor_config.json") is not None
