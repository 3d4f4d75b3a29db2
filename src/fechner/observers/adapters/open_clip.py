"""open_clip: ``open_clip/ARCHITECTURE/TAG`` (Ilharco et al. 2021, OpenCLIP)."""

from __future__ import annotations

import logging
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from fechner.errors import MissingExtraError, ObserverError, UnknownNameError
from fechner.observers.abilities import Dtype
from fechner.observers.decisions import Contrastive
from fechner.observers.hub import fetching
from fechner.observers.network import Network, NetworkEncoder
from fechner.observers.normalisation import Normalisation
from fechner.observers.taps import first_tensor, natural_stages
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import cause_of, fit_weights, hash_weights, read_weights

if TYPE_CHECKING:
    from torch import Tensor, nn

#: Stands in for the text tower where only the image tower is filled: the real one may be larger
#: than what is looked through, and some need a download to be built.
_NO_TEXT = {"width": 8, "heads": 1, "layers": 1, "context_length": 1, "vocab_size": 1}

#: Parts of a model that have nothing to do with reading labels.
_NOT_READING = ("visual", "text_decoder")


def load(
    model: str,
    *,
    weights: str | None = None,
    size: int | None = None,
    trust_remote_code: bool = False,
) -> Network:
    """Load the image tower of a model with the weights of a tag, or those of a file.

    The natural read-out is the embedding of the picture, not scaled to unit length. It answers by
    the nearest label; the tower for words is loaded once it is asked.

    Parameters
    ----------
    model
        ``ARCHITECTURE/TAG``; with weights from a file the tag may be left out, and says how the
        weights were trained where it is not.
    """
    import_torchvision()
    import open_clip

    architecture, _, tag = model.partition("/")
    config, trained = _known(architecture, tag, weights)
    # Weights that were trained with it go astray without it; the library only warns.
    quick_gelu = bool(config.get("quick_gelu") or trained.get("quick_gelu"))
    _check_size(architecture, config["vision_cfg"], size)
    if weights is None:
        visual = _from_tag(architecture, tag, trained, size, quick_gelu)
    else:
        tensors = _tensors(weights, trust_remote_code)
        visual = _from_tensors(architecture, config, size, quick_gelu, trained, tensors, weights)
    preprocessing = open_clip.get_model_preprocess_cfg(visual)

    def call(pictures: Tensor) -> Tensor | None:
        return first_tensor(visual(pictures))  # CoCa hands on its tokens, too

    return Network(
        visual,
        call,
        size_px=_pair(visual.image_size),
        normalise=Normalisation(tuple(preprocessing["mean"]), tuple(preprocessing["std"])),
        library=f"open_clip {open_clip.__version__}",
        settings=f"quick_gelu={quick_gelu} {config['vision_cfg']}",
        stages=_stages(visual),
        answering=partial(
            _contrastive, architecture, tag, config, quick_gelu, weights, trust_remote_code
        ),
    )


def _contrastive(
    architecture: str,
    tag: str,
    config: Mapping[str, Any],
    quick_gelu: bool,
    weights: str | None,
    trust_remote_code: bool,
    *,
    name: str,
    device: str,
    dtype: Dtype,
    see: Callable[[], NetworkEncoder],
) -> Contrastive:
    """Make an observer that answers by labels; the tower for words is loaded here."""
    import torch

    encoder = see()
    try:
        with fetching(f"open_clip/{architecture}", "its tokenizer"), _quiet():
            import open_clip

            tokenizer = open_clip.get_tokenizer(architecture)
        tower = _reading(architecture, tag, config, quick_gelu, weights, trust_remote_code)
    except ObserverError as error:
        if not isinstance(error.__cause__, ImportError) and "transformers`" not in str(error):
            raise
        what, cause = f"reading labels with '{name}'", cause_of(error.__cause__ or error)
        raise MissingExtraError(what, "transformers", cause) from error
    scale = float(tower.logit_scale.detach().exp())
    reading = f"weights={hash_weights(tower)} {type(tokenizer).__name__} {config['text_cfg']}"
    tower.to(device=device, dtype=getattr(torch, dtype)).eval()

    def read(labels: Sequence[str]) -> Tensor:
        embeddings: Tensor = tower.encode_text(tokenizer(list(labels)).to(device))
        return embeddings

    return Contrastive(encoder, read, scale=scale, reading=reading)


def _reading(
    architecture: str,
    tag: str,
    config: Mapping[str, Any],
    quick_gelu: bool,
    weights: str | None,
    trust_remote_code: bool,
) -> Any:
    """Return a model without the parts that see and write."""
    import open_clip
    from open_clip.convert import convert_state_dict
    from open_clip.model import convert_to_custom_text_state_dict

    name = f"open_clip/{architecture}"
    with fetching(f"{name}/{tag}", f"the weights of {architecture}"), _quiet():
        model: Any = open_clip.create_model(
            architecture,
            tag if weights is None else None,
            force_quick_gelu=quick_gelu,
            weights_only=True,
            pretrained_text=False,
        )
    tensors = {}
    if weights is not None:
        tensors = convert_state_dict(model, _tensors(weights, trust_remote_code))
        if "positional_embedding" in tensors and not hasattr(model, "positional_embedding"):
            tensors = convert_to_custom_text_state_dict(tensors)
    for part in _NOT_READING:
        if hasattr(model, part):
            setattr(model, part, None)
    if weights is not None:
        read = {k: v for k, v in tensors.items() if k.partition(".")[0] not in _NOT_READING}
        for key in ("logit_scale", "logit_bias"):
            if key in read and getattr(model, key, None) is not None:
                read[key] = read[key].reshape(getattr(model, key).shape)
        fit_weights(model, read, weights)
    return model


def _known(
    architecture: str, tag: str, weights: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configurations of an architecture and of its tag, or say what there is."""
    import open_clip

    known = open_clip.list_models()
    if architecture not in known:
        raise UnknownNameError(
            "open_clip model", architecture, known, "open_clip.list_models() lists them"
        )
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    there = f"there are {', '.join(tags)}" if tags else "it has none: give weights with --weights"
    trained = open_clip.get_pretrained_cfg(architecture, tag) if tag else {}
    if tag and not trained:
        raise UnknownNameError(f"tag of {architecture}", tag, tags, there)
    if not tag and weights is None:
        raise ObserverError(
            f"'open_clip/{architecture}' is an architecture: name the tag of its weights too, as "
            f"open_clip/{architecture}/TAG ({there})."
        )
    return open_clip.get_model_config(architecture), trained


def _check_size(architecture: str, vision: Mapping[str, Any], size: int | None) -> None:
    """Say what is wrong with a size that a ResNet cannot take: it pools by position."""
    own = vision.get("image_size", 224)
    if isinstance(vision.get("layers"), list | tuple) and size not in (None, own):
        raise ObserverError(
            f"'{architecture}' takes pictures of {own} px only, not {size}: set size={own}."
        )


def _from_tag(
    architecture: str, tag: str, trained: Mapping[str, Any], size: int | None, quick_gelu: bool
) -> Any:
    """Return the image tower with published weights."""
    import open_clip

    repository, _, file = str(trained.get("hf_hub") or trained.get("url")).rpartition("/")
    what = f"{file or 'open_clip_model.safetensors'} of {repository}"
    with fetching(f"open_clip/{architecture}/{tag}", what), _quiet():
        return open_clip.create_model(
            architecture,
            tag,
            force_image_size=size,
            force_quick_gelu=quick_gelu,
            weights_only=True,
        ).visual


def _from_tensors(
    architecture: str,
    config: Mapping[str, Any],
    size: int | None,
    quick_gelu: bool,
    trained: Mapping[str, Any],
    tensors: dict[str, Tensor],
    path: str,
) -> Any:
    """Return the image tower with weights of a file, made to fit as the library does it."""
    import open_clip
    from open_clip.convert import convert_state_dict
    from open_clip.model import resize_pos_embed

    # Towers of timm are resized once they are filled, the others before.
    of_timm = "timm_model_name" in config["vision_cfg"]
    with _quiet():
        model = open_clip.create_model(
            architecture,
            force_image_size=None if of_timm else size,
            force_quick_gelu=quick_gelu,
            force_preprocess_cfg={k: trained[k] for k in ("mean", "std") if k in trained},
            text_cfg=_NO_TEXT,
        )
    visual = model.visual
    tensors = convert_state_dict(model, tensors)
    resize_pos_embed(tensors, model)
    part = {k.removeprefix("visual."): v for k, v in tensors.items() if k.startswith("visual.")}
    fit_weights(visual, part, path)
    if of_timm and size is not None:
        visual.set_input_size(size)
    return visual


def _tensors(path: str, trust_remote_code: bool) -> dict[str, Tensor]:
    """Read a state dict; also from the programs that OpenAI published its weights in."""
    if not _is_program(path):
        return read_weights(path)
    if not trust_remote_code:
        raise ObserverError(
            f"'{path}' is a TorchScript program, and reading it may run its code: allow it with "
            "--trust-remote-code, or save its state_dict() as .safetensors."
        )
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TorchScript is deprecated
        program: Any = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    return dict(program.state_dict())


def _is_program(path: str) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library from reporting every step, and that a model is filled only later.

    It logs in the name of the whole program, and sets up logging for it if nobody has.
    """
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    root.addFilter(_nothing)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "QuickGELU mismatch")
            yield
    finally:
        root.removeFilter(_nothing)
        root.removeHandler(handler)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _pair(side: int | tuple[int, int]) -> tuple[int, int]:
    return (side, side) if isinstance(side, int) else (side[0], side[1])


def _stages(visual: nn.Module) -> tuple[str, ...]:
    """Return the blocks of a transformer, the layers of a ResNet, or what timm calls a stage."""
    info: Any = getattr(getattr(visual, "trunk", None), "feature_info", None) or ()
    return tuple(f"trunk.{row['module']}" for row in info) or natural_stages(visual)
