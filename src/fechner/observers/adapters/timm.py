"""timm: ``timm/NAME`` or ``timm/NAME.TAG`` (Wightman 2019, PyTorch Image Models)."""

from __future__ import annotations

from typing import Any

from fechner.arrays import Tensor
from fechner.errors import ObserverError, UnknownNameError
from fechner.observers.classes import class_names
from fechner.observers.hub import fetching
from fechner.observers.inputs import Normalisation
from fechner.observers.network import Network
from fechner.observers.taps import natural_stages
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import fit_weights, read_weights


def load(model: str, *, weights: str | None = None, size: int | None = None) -> Network:
    """Load a model with its pretrained weights, or those of a file.

    The natural read-out is what goes into the classifier: pooled, or the class token, as the model
    has it.
    """
    import_torchvision()
    import timm

    architecture, dot, _ = model.partition(".")
    if not timm.is_model(architecture):
        raise UnknownNameError(
            "timm model", model, timm.list_models(), "timm.list_models() lists them"
        )
    tagged = timm.models.get_arch_pretrained_cfgs(architecture)
    if dot and model not in tagged:
        there = ", ".join(tagged)
        raise UnknownNameError("timm model", model, tagged, f"of {architecture} there is {there}")
    module = _create(model, weights, size)
    patch = getattr(getattr(module, "patch_embed", None), "patch_size", None)
    if size is not None and patch and any(size % side for side in patch):
        raise ObserverError(
            f"{architecture} cuts pictures into patches of {patch[0]} px; 'size' must be a "
            f"multiple of that, not {size}."
        )
    config = timm.data.resolve_model_data_config(module)
    info = getattr(module, "feature_info", None)
    rows = info if isinstance(info, list) else getattr(info, "info", None) or ()

    def call(pictures: Tensor) -> Tensor:
        features = module.forward_features(pictures)
        pooled: Tensor = module.forward_head(features, pre_logits=True)
        return pooled

    return Network(
        module,
        call if module.num_classes else None,  # pure encoders have no head to ask
        size_px=tuple(config["input_size"][1:]) if size is None else (size, size),
        normalise=Normalisation(tuple(config["mean"]), tuple(config["std"])),
        library=f"timm {timm.__version__}",
        stages=tuple(row["module"] for row in rows) or natural_stages(module),
        classify=module if module.num_classes else None,
        classes=class_names(module.num_classes),
    )


def _create(model: str, weights: str | None, size: int | None) -> Any:
    """Build a model with published weights, or with those of a file and as many classes.

    What does not fit as it is goes through timm's own conversion: positions for another size of
    pictures, names that a model's authors gave.
    """
    import timm

    settings: dict[str, Any] = {}
    config = timm.get_pretrained_cfg(model)
    if size is not None and config is not None and config.fixed_input_size:
        settings["img_size"] = size
    if weights is None:
        source = config.hf_hub_id or config.url if config is not None else None
        if not source:
            raise ObserverError(
                f"timm publishes no weights for '{model}'; name another (timm.list_pretrained() "
                "lists them) or give your own with --weights PATH."
            )
        with fetching(f"timm/{model}", f"model.safetensors of {source}"):
            return timm.create_model(model, pretrained=True, **settings)
    tensors = read_weights(weights)
    if config is not None and config.classifier:
        heads = config.classifier
        head = f"{heads if isinstance(heads, str) else heads[0]}.weight"
        # Without a classifier, as self-supervised training leaves it, there is none here either.
        settings["num_classes"] = len(tensors[head]) if head in tensors else 0
    module = timm.create_model(model, **settings)
    try:
        fit_weights(module, tensors, weights)
    except ObserverError as error:
        settings["pretrained_cfg_overlay"] = {
            "state_dict": tensors,
            "num_classes": module.num_classes,
        }
        try:
            module = timm.create_model(model, pretrained=True, pretrained_strict=True, **settings)
        except Exception:
            raise error from None  # timm's own words do not say what to do
        del module.pretrained_cfg["state_dict"]
    return module
