"""torchvision: ``torchvision/NAME`` or ``torchvision/NAME/WEIGHTS``, classifiers only."""

from __future__ import annotations

import math
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers.classes import class_names
from fechner.observers.hub import TORCH_CACHE, fetching
from fechner.observers.inputs import Normalisation
from fechner.observers.network import Network, before_head
from fechner.observers.taps import natural_stages
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import fit_weights, read_weights

if TYPE_CHECKING:
    from torch import Tensor, nn

#: Heads that are used in training only.
_AUXILIARY = ("AuxLogits.", "aux1.", "aux2.")

#: What torchvision sets by itself when it loads these with its own weights: they turn pictures that
#: are normalised as for all other models into those they were trained on.
_INCEPTION = {"transform_input": True, "aux_logits": False, "init_weights": False}
_AS_PUBLISHED = {"googlenet": _INCEPTION, "inception_v3": _INCEPTION}

#: Names in published files that have changed since (DenseNet, ViT).
_OLD_NAMES = (
    (re.compile(r"(denselayer\d+\.(?:norm|relu|conv))\.([12]\.)"), r"\1\2"),
    (re.compile(r"\.mlp\.linear_1\."), ".mlp.0."),
    (re.compile(r"\.mlp\.linear_2\."), ".mlp.3."),
)

#: Positions of a ViT, which depend on the size of pictures.
_POSITIONS = "encoder.pos_embedding"


def load(model: str, *, weights: str | None = None, size: int | None = None) -> Network:
    """Load a classifier with weights that torchvision publishes, or those of a file.

    The natural read-out is what goes into the last linear layer, or the class scores where there is
    none (SqueezeNet). Size and normalisation are those of the published weights that are named,
    the newest ones if none are; for a file, too.
    """
    import_torchvision()
    import torchvision
    from torchvision import models

    name, _, tag = model.partition("/")
    name = name.lower()
    published = _published(model, name, tag)
    if weights is not None:
        module, scores = _filled(name, read_weights(weights), weights)
    else:
        file = PurePosixPath(urlsplit(published.url).path).name
        with fetching(f"torchvision/{model}", file, TORCH_CACHE):
            # Not by the builder, which would run code from a pickle.
            found = published.get_state_dict(progress=True, check_hash=True, weights_only=True)
            module, scores = _filled(name, found, file)
    shown = published.transforms()
    own = getattr(module, "image_size", shown.crop_size[0])
    # Their positions are made for one size; timm has the same networks for any.
    one_size = isinstance(module, models.MaxVit | models.VisionTransformer)
    if one_size and size not in (None, own):
        raise ObserverError(f"{name} takes pictures of {own} px only; leave 'size' out.")
    head = _head(module) if scores else None
    # By rule, but mixed parts in Inception and pooling in plain networks.
    mixed = [name for name, _ in module.named_children() if name.startswith(("inception", "Mixed"))]
    pools = [n for n, part in module.named_modules() if type(part).__name__ == "MaxPool2d"]
    return Network(
        module,
        before_head(module, head) if head else None,
        size_px=(size or own, size or own),
        normalise=Normalisation(tuple(shown.mean), tuple(shown.std)),
        library=f"torchvision {torchvision.__version__}",
        stages=tuple(mixed or natural_stages(module) or pools),
        classify=module if scores else None,
        # The last weights are those of the classifier.
        classes=class_names(len(next(reversed(module.state_dict().values())))) if scores else (),
    )


def _published(model: str, name: str, tag: str) -> Any:
    """Return the published weights of that name."""
    from torchvision import models

    known = models.list_models(module=models)
    if name not in known:
        raise UnknownNameError(
            "torchvision model", model, known, "torchvision.models.list_models() lists them"
        )
    # Weights without classes are for detection: their last layers hold no numbers.
    members = models.get_model_weights(name).__members__.items()
    found = {key.lower(): each for key, each in members if each.meta["categories"]}
    if (tag or "default").lower() not in found:
        there = ", ".join(each.name for key, each in found.items() if key != "default")
        raise UnknownNameError(f"set of weights of {name}", tag, found, f"there is {there}")
    return found[(tag or "default").lower()]


def _filled(name: str, weights: dict[str, Tensor], path: str) -> tuple[Any, bool]:
    """Build a model as its weights need it and put them in; say whether it scores classes."""
    from torch import nn
    from torchvision.models import get_model

    weights = {k: v for k, v in weights.items() if not k.startswith(_AUXILIARY)}
    for old, new in _OLD_NAMES:
        weights = {old.sub(new, key): value for key, value in weights.items()}
    settings: dict[str, Any] = dict(_AS_PUBLISHED.get(name, {}))
    module = get_model(name, weights=None, **settings)
    own, others = module.state_dict(), {}
    last = next(reversed(own))
    if last in weights and weights[last].shape[:1] != own[last].shape[:1]:
        others["num_classes"] = len(weights[last])
    if _POSITIONS in own and _POSITIONS in weights:
        side = math.isqrt(weights[_POSITIONS].shape[1] - 1) * module.patch_size
        if side != module.image_size:
            others["image_size"] = side
    if others:
        module = get_model(name, weights=None, **settings, **others)
    head = _head(module)
    scores = head is None or f"{head}.weight" in weights
    if head is not None and not scores:
        # As self-supervised training leaves it: then the module gives the features themselves.
        module.set_submodule(head, nn.Identity())
    fit_weights(module, weights, path)
    return module, scores


def _head(module: nn.Module) -> str | None:
    """Return the last linear layer; auxiliary ones come before it."""
    from torch import nn

    linear = [name for name, part in module.named_modules() if isinstance(part, nn.Linear)]
    return linear[-1] if linear else None
