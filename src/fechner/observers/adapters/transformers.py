"""transformers: ``hf/REPOSITORY`` or ``hf/FOLDER`` (Wolf et al. 2020, vision encoders)."""

from __future__ import annotations

import inspect
import math
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.errors import FechnerError, ObserverError
from fechner.observers.adapters.transformers_kinds import KINDS, MASKED_SHARE, OTHER, READOUTS, Kind
from fechner.observers.hub import environment, fetching
from fechner.observers.network import Network
from fechner.observers.normalisation import NONE, Normalisation
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import cause_of, read_weights

if TYPE_CHECKING:
    from torch import Tensor

#: The arguments of models that read text as well.
_TEXT_ARGUMENTS = {"input_ids", "inputs_embeds"}


def load(
    model: str,
    *,
    weights: str | None = None,
    size: int | None = None,
    masked: bool = False,
    trust_remote_code: bool = False,
) -> Network:
    """Load the vision encoder of a repository or a folder, or of it with the weights of a file.

    The natural read-out is what the model is known for: the class token after the last norm (ViT,
    DINO), the projected embedding (CLIP, SigLIP), the image embedding (SAM), all tokens (MAE), the
    pooled features.

    Parameters
    ----------
    size
        Side of the square pictures it is shown; its own if None.
    masked
        Let masked autoencoders see a fixed quarter of the patches only, as in training; of no
        consequence to others.
    """
    import_torchvision()
    import transformers

    name = f"hf/{model}"
    source, file = _places(model, weights)
    config = _config(name, source, file, trust_remote_code)
    known = config.model_type in KINDS
    kind = KINDS.get(config.model_type, OTHER)
    module, lacking = _whole_model(name, kind, source, file, config, trust_remote_code)
    if not known:
        path, module = _part_that_sees(name, module)
        lacking = [key.removeprefix(path) for key in lacking if key.startswith(path)]
    kind = _stripped(name, kind, module, lacking)
    if kind.masks:
        module.config.mask_ratio = MASKED_SHARE if masked else 0.0

    look = _Look(module, kind, masked)
    processor = _processor(name, _local(model) or model, source, trust_remote_code)
    own_px = _configured_size(module.config)
    size_px = (size, size) if size is not None else _processed_size(processor) or own_px
    if size_px is not None and size_px != own_px and look.takes("interpolate_pos_encoding"):
        look.further["interpolate_pos_encoding"] = True
    look.reversed_channels = bool(processor.get("do_flip_channel_order"))
    if size_px != own_px or not known:
        look.try_out(name, size_px, own_px)
    return Network(
        module,
        look,
        size_px=size_px,
        normalise=_normalisation(processor),
        library=f"transformers {transformers.__version__}",
        settings="; ".join(look.settings() + ([] if processor else ["no preprocessor file"])),
        unsure=""
        if processor
        else "it has no preprocessor file to say how pictures are normalised, so they are not "
        "(@normalise=...)",
    )


class _Look:
    """Shows pictures to a model and returns its natural read-out."""

    def __init__(self, module: Any, kind: Kind, masked: bool) -> None:
        self.module = module
        self.kind = kind
        self.readout = kind.readout
        self.masked = masked and kind.masks
        self.reversed_channels = False
        self.further: dict[str, Any] = {}

    def __call__(self, pixels: Tensor) -> Any:
        return READOUTS[self.readout](self.module, self._answer(pixels))

    def _answer(self, pixels: Tensor) -> Any:
        pixels = pixels.flip(1) if self.reversed_channels else pixels
        inputs = self.kind.inputs(pixels, self.module.config, self.masked)
        return self._shown()(**inputs, **self.further)

    def _shown(self) -> Any:
        return getattr(self.module, self.kind.through) if self.kind.through else self.module

    def takes(self, argument: str) -> bool:
        """Whether what is shown pictures has an argument."""
        return argument in _arguments(self._shown())

    def settings(self) -> list[str]:
        """Return what the answers depend on, beside the weights."""
        marks = {
            f"readout={self.readout}": True,
            f"masked={MASKED_SHARE}": self.masked,
            "positions interpolated": bool(self.further),
            "channels reversed": self.reversed_channels,
        }
        return [mark for mark, holds in marks.items() if holds]

    def try_out(
        self, name: str, size_px: tuple[int, int] | None, own_px: tuple[int, int] | None
    ) -> None:
        """Show it one grey picture: whether it takes the size, and what an unknown kind returns."""
        import torch

        height, width = size_px or (224, 224)
        try:
            with torch.no_grad():
                answer = self._answer(torch.zeros(1, 3, height, width))
        except Exception as error:
            only = f"; its own size is {own_px[0]} x {own_px[1]} px" if own_px else ""
            raise ObserverError(
                f"'{name}' cannot be shown pictures of {height} x {width} px "
                f"({cause_of(error)}){only}."
            ) from error
        if self.readout == "pooler_output" and getattr(answer, "pooler_output", None) is None:
            self.readout = "last_hidden_state"
        if self.readout == "last_hidden_state" and not hasattr(answer, "last_hidden_state"):
            raise ObserverError(
                f"'{name}' returns {', '.join(answer)}, no features; name a vision encoder."
            )


def _local(place: str) -> str | None:
    """Return the path of a folder on this machine, None for anything else."""
    path = Path(place).expanduser()
    return str(path) if path.is_dir() else None


def _places(model: str, weights: str | None) -> tuple[str, Path | None]:
    """Return the repository or folder to load, and the file that holds other weights."""
    source = _local(model)
    # A repository is NAME or OWNER/NAME; everything else can only be a folder.
    if source is None and (model.count("/") > 1 or model.startswith(("/", ".", "~"))):
        raise ObserverError(
            f"there is no folder '{model}'; after hf/ comes a folder or a repository OWNER/NAME."
        )
    if weights is None:
        return source or model, None
    folder = _local(weights)
    return (folder, None) if folder else (source or model, Path(weights).expanduser())


@contextmanager
def _loading(name: str, file: str, place: str) -> Iterator[None]:
    """Load a file of a place inside this: quietly, and what goes wrong becomes one sentence."""
    try:
        with fetching(name, f"{file} of {place}"), _quietly():
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
        if _local(place):  # fetching it would be no help
            raise ObserverError(
                f"'{name}' cannot be loaded from the folder '{place}' ({cause_of(cause)})."
            ) from cause
        raise


@contextmanager
def _quietly() -> Iterator[None]:
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


def _config(name: str, source: str, file: Path | None, trust: bool) -> Any:
    from transformers import AutoConfig

    # With weights at hand the configuration is all that is fetched.
    what = "model.safetensors" if file is None else "config.json"
    with _loading(name, what, source):
        return AutoConfig.from_pretrained(source, trust_remote_code=trust)


def _whole_model(
    name: str, kind: Kind, source: str, file: Path | None, config: Any, trust: bool
) -> tuple[Any, list[str]]:
    """Return a model and the names of those of its weights that were not there or did not fit."""
    import torch
    import transformers

    loader: Any = getattr(transformers, kind.loader)
    settings = {"dtype": torch.float32, "output_loading_info": True}
    # Otherwise what does not fit is named in the log only.
    settings["ignore_mismatched_sizes"] = True
    remote = {"trust_remote_code": trust} if kind.loader == "AutoModel" else {}
    weights = None if file is None else read_weights(file)
    with _loading(name, "model.safetensors", source):
        if weights is None:
            module, info = loader.from_pretrained(source, **settings, **remote)
        else:
            if kind.loader == "AutoModel":
                with torch.device("meta"):
                    loader = type(loader.from_config(config, **remote))
            else:
                config = loader.config_class.from_pretrained(source)
            # The library, not torch, since it knows the names that weights had in former versions.
            module, info = loader.from_pretrained(
                None, config=config, state_dict=weights, **settings
            )
    misfits = {key if isinstance(key, str) else key[0] for key in info["mismatched_keys"]}
    return module.eval(), sorted({*info["missing_keys"], *misfits})


def _stripped(name: str, kind: Kind, module: Any, lacking: list[str]) -> Kind:
    """Take away what does not see; what does must have its weights.

    Returns how the model sees, which depends on what the repository lacks.
    """
    if kind.without and lacking and all(_is_in(key, (kind.spare,)) for key in lacking):
        setattr(module, kind.spare, None)
        return kind.without
    needed = [key for key in lacking if not _is_in(key, kind.unused)]
    if needed:
        some = ", ".join(needed[:3]) + (", ..." if len(needed) > 3 else "")
        raise ObserverError(
            f"the weights of '{name}' are missing or of another shape for {len(needed)} tensors of "
            f"the part that sees ({some}); give weights that fit its config.json."
        )
    for part in kind.unused:
        if hasattr(module, part):
            setattr(module, part, None)
    return kind


def _is_in(key: str, parts: tuple[str, ...]) -> bool:
    return any(key == part or key.startswith(f"{part}.") for part in parts)


def _arguments(function: Any) -> set[str]:
    return set(inspect.signature(getattr(function, "forward", function)).parameters)


def _part_that_sees(name: str, model: Any) -> tuple[str, Any]:
    """Return the outermost part that takes pictures and no text, and how its weights begin."""
    from transformers import PreTrainedModel

    outside_in = sorted(model.named_modules(), key=lambda item: len(f".{item[0]}".split(".")))
    for path, part in outside_in:
        arguments = _arguments(part) if isinstance(part, PreTrainedModel) else set()
        if "pixel_values" in arguments and not arguments & _TEXT_ARGUMENTS:
            return f"{path}." if path else "", part
    raise ObserverError(
        f"'{name}' is a {type(model).__name__}, which has no part that takes pictures alone; name "
        "a vision encoder."
    )


def _processor(name: str, model: str, source: str, trust: bool) -> dict[str, Any]:
    """Return how pictures are prepared for a model; nothing if its repository does not say."""
    from transformers import AutoImageProcessor

    # Weights in a folder of their own may have come without it.
    for place in dict.fromkeys((source, model)):
        try:
            with _loading(name, "preprocessor_config.json", place):
                found = AutoImageProcessor.from_pretrained(place, trust_remote_code=trust)
                return dict(found.to_dict())
        except FechnerError as error:
            if not _has_none(place, error.__cause__):
                raise
    return {}


def _has_none(place: str, error: BaseException | None) -> bool:
    """Whether a repository has no preprocessor file, rather than one that could not be fetched."""
    if error is None or error.__cause__ or "Can't load image processor" not in str(error):
        return False
    if _local(place):
        return True
    from huggingface_hub import try_to_load_from_cache

    # Without a network the error is the same; the cache remembers what a repository does not have.
    return try_to_load_from_cache(place, "preprocessor_config.json") is not None


def _normalisation(processor: Mapping[str, Any]) -> Normalisation:
    mean, std = processor.get("image_mean"), processor.get("image_std")
    if not processor.get("do_normalize") or mean is None or std is None:
        return NONE
    return Normalisation(*(v if isinstance(v, int | float) else tuple(v) for v in (mean, std)))


def _processed_size(processor: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return height and width of what a square picture becomes."""
    if processor.get("max_num_patches") and processor.get("patch_size"):
        side = math.isqrt(processor["max_num_patches"]) * processor["patch_size"]
        return side, side
    for key, switch in (("crop_size", "do_center_crop"), ("pad_size", "do_pad"), ("size", "")):
        found = processor.get(key)
        if found and (not switch or processor.get(switch)):
            return _height_and_width(found)
    return None


def _height_and_width(size: Any) -> tuple[int, int] | None:
    """Return a size of any form as height and width.

    Examples
    --------
    >>> _height_and_width({"shortest_edge": 224}), _height_and_width(96), _height_and_width([3, 4])
    ((224, 224), (96, 96), (3, 4))
    """
    if isinstance(size, int):
        return size, size
    if isinstance(size, Mapping):
        for keys in (("height", "width"), ("shortest_edge",) * 2, ("longest_edge",) * 2):
            if all(size.get(key) for key in keys):
                return size[keys[0]], size[keys[1]]
        return None
    return (size[0], size[1]) if isinstance(size, list | tuple) and len(size) == 2 else None


def _configured_size(config: Any) -> tuple[int, int] | None:
    """Return the size that a model's positions were made for, wherever its configuration has it."""
    while config is not None:
        found = _height_and_width(getattr(config, "image_size", None))
        if found is not None:
            return found
        inner = (getattr(config, key, None) for key in ("vision_config", "backbone_config"))
        config = next((each for each in inner if each is not None), None)
    return None
