"""Files of transformers, from a hub or a folder; what goes wrong becomes one sentence."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from fechner.arrays import torch
from fechner.errors import FechnerError, ObserverError
from fechner.observers.abilities import Dtype
from fechner.observers.hub import environment, fetching
from fechner.observers.weights import cause_of, read_weights


class Repository:
    """Where a model comes from: a repository, or a folder.

    Other weights are a folder with a model, or a file with weights only. ``trust`` says whether
    code that comes with it may be run.
    """

    def __init__(self, model: str, weights: str | None, trust: bool) -> None:
        folder = _folder(model)
        # A repository is NAME or OWNER/NAME; everything else can only be a folder.
        if folder is None and (model.count("/") > 1 or model.startswith(("/", ".", "~"))):
            raise ObserverError(
                f"there is no folder '{model}'; after hf/ comes a folder or a repository "
                "OWNER/NAME."
            )
        other = _folder(weights) if weights is not None else None
        self.name = f"hf/{model}"
        self.source = other or folder or model
        self.file = Path(weights).expanduser() if weights is not None and other is None else None
        # Weights in a folder of their own may have come without the small files.
        self._places = tuple(dict.fromkeys((self.source, folder or model)))
        self._trust = {"trust_remote_code": trust}

    @cached_property
    def config(self) -> Any:
        """The configuration of the model."""
        from transformers import AutoConfig

        # With weights at hand the configuration is all that is fetched.
        what = "model.safetensors" if self.file is None else "config.json"
        with self._loading(what):
            return AutoConfig.from_pretrained(self.source, **self._trust)

    def empty_model(self, loader: str = "AutoModel") -> Any:
        """Return the model without weights, which takes no memory."""
        import transformers

        with self._loading("config.json"), torch.device("meta"):
            return getattr(transformers, loader).from_config(self.config, **self._trust)

    def load(self, loader: str = "AutoModel", dtype: Dtype = "float32") -> tuple[Any, list[str]]:
        """Return the model and the names of weights that were not there or did not fit."""
        import transformers

        of_any_type = loader.startswith("Auto")
        maker: Any = getattr(transformers, loader)
        settings = {"dtype": getattr(torch, dtype), "output_loading_info": True}
        # Otherwise what does not fit is named in the log only.
        settings["ignore_mismatched_sizes"] = True
        weights = None if self.file is None else read_weights(self.file)
        with self._loading("model.safetensors"):
            if weights is None:
                settings |= self._trust if of_any_type else {}
                module, info = maker.from_pretrained(self.source, **settings)
            else:
                config = self.config
                if of_any_type:
                    maker = type(self.empty_model(loader))
                else:
                    config = maker.config_class.from_pretrained(self.source)
                # The library knows the names that weights had in former versions, torch does not.
                module, info = maker.from_pretrained(
                    None, config=config, state_dict=weights, **settings
                )
        misfits = {key if isinstance(key, str) else key[0] for key in info["mismatched_keys"]}
        return module.eval(), sorted({*info["missing_keys"], *misfits})

    def check(self, lacking: list[str], part: str) -> None:
        """Say which weights of a part are not there."""
        if lacking:
            some = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
            raise ObserverError(
                f"the weights of '{self.name}' are missing or of another shape for {len(lacking)} "
                f"tensors of the part that {part} ({some}); give weights that fit its config.json."
            )

    def image_processor(self) -> dict[str, Any]:
        """Return how pictures are prepared; nothing if the repository does not say."""
        try:
            return dict(self.processor("AutoImageProcessor", "preprocessor_config.json").to_dict())
        except FechnerError as error:
            if not _has_none(self._places[-1], error.__cause__):
                raise
            return {}

    def processor(self, loader: str, file: str) -> Any:
        """Return what prepares pictures or words, by the class that loads it."""
        import transformers

        for place in self._places:
            try:
                with self._loading(file, place):
                    return getattr(transformers, loader).from_pretrained(place, **self._trust)
            except FechnerError:
                if place == self._places[-1]:
                    raise
        raise AssertionError

    @contextmanager
    def _loading(self, file: str, place: str = "") -> Iterator[None]:
        """Load a file of a place inside this: what goes wrong becomes one sentence."""
        from huggingface_hub.utils import enable_progress_bars
        from transformers.utils import logging

        place = place or self.source
        bars = logging.is_progress_bar_enabled()
        if bars:
            logging.disable_progress_bar()
            enable_progress_bars()  # of downloads
        try:
            # Without this the library has a server convert repositories without safetensors.
            with (
                fetching(self.name, f"{file} of {place}"),
                environment({"DISABLE_SAFETENSORS_CONVERSION": "1"}),
            ):
                yield
        except FechnerError as error:
            cause = error.__cause__ or error
            if "trust_remote_code" in str(cause):
                why = (
                    f"'{self.name}' comes with code of its own, which is not run unasked: read it, "
                    "and if you trust it use --trust-remote-code."
                )
            elif isinstance(cause, pickle.UnpicklingError):
                why = (
                    f"the weights in '{place}' hold more than tensors, and fechner runs no code "
                    "from a pickle: use a repository with .safetensors."
                )
            elif _folder(place):  # fetching it would be no help
                why = (
                    f"'{self.name}' cannot be loaded from the folder '{place}' ({cause_of(cause)})."
                )
            else:
                raise
            raise ObserverError(why) from cause
        finally:
            if bars:
                logging.enable_progress_bar()


def _folder(place: str) -> str | None:
    """Return the path of a folder on this machine, None for anything else."""
    path = Path(place).expanduser()
    return str(path) if path.is_dir() else None


def _has_none(place: str, error: BaseException | None) -> bool:
    """Whether a repository has no preprocessor file, rather than one that could not be fetched."""
    if error is None or error.__cause__ or "Can't load image processor" not in str(error):
        return False
    if _folder(place):
        return True
    from huggingface_hub import try_to_load_from_cache

    # Without a network the error is the same; the cache remembers what a repository does not have.
    return try_to_load_from_cache(place, "preprocessor_config.json") is not None
