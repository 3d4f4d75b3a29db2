"""open_clip: ``open_clip/ARCHITECTURE/TAG`` (Ilharco et al. 2021, OpenCLIP)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fechner.arrays import Tensor
from fechner.errors import MissingExtraError, ObserverError, UnknownNameError
from fechner.observers.chat.contrastive import Contrastive
from fechner.observers.hub import fetching, quietly
from fechner.observers.inputs import Normalisation
from fechner.observers.network import LoadOptions, Network
from fechner.observers.taps import first_tensor, natural_stages
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import cause_of, fit_weights, read_weights

#: Stands in for the text tower where only the image tower is filled: the real one may be larger
#: than what is looked through, and some need a download to be built.
_NO_TEXT = {"width": 8, "heads": 1, "layers": 1, "context_length": 1, "vocab_size": 1}

#: Parts of a model that have nothing to do with reading labels.
_NOT_READING = ("visual", "text_decoder")


def load(model: str, *, weights: str | None = None, size: int | None = None) -> Network:
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

    found = _Model(model, weights)
    visual = found.image_tower(size)
    side = visual.image_size
    preprocessing = open_clip.get_model_preprocess_cfg(visual)
    info: Any = getattr(getattr(visual, "trunk", None), "feature_info", None) or ()

    def call(pictures: Tensor) -> Tensor | None:
        return first_tensor(visual(pictures))  # CoCa hands on its tokens, too

    return Network(
        visual,
        call,
        size_px=(side, side) if isinstance(side, int) else (side[0], side[1]),
        normalise=Normalisation(tuple(preprocessing["mean"]), tuple(preprocessing["std"])),
        library=f"open_clip {open_clip.__version__}",
        settings=f"quick_gelu={found.quick_gelu} {found.config['vision_cfg']}",
        # What timm calls a stage, or the blocks of a transformer, or the layers of a ResNet.
        stages=tuple(f"trunk.{row['module']}" for row in info) or natural_stages(visual),
        answering=partial(_contrastive, found),
    )


def _contrastive(model: _Model, options: LoadOptions) -> Contrastive:
    """Make an observer that answers by labels; the tower for words is loaded here."""
    try:
        with fetching(f"open_clip/{model.architecture}", "its tokenizer"):
            import open_clip

            tokenizer = open_clip.get_tokenizer(model.architecture)
        tower = model.text_tower()
    except ObserverError as error:
        if not isinstance(error.__cause__, ImportError) and "transformers`" not in str(error):
            raise
        what, cause = f"reading labels with '{options.name}'", cause_of(error.__cause__ or error)
        raise MissingExtraError(what, "transformers", cause) from error

    def read(labels: Sequence[str]) -> Tensor:
        embeddings: Tensor = tower.encode_text(tokenizer(list(labels)).to(options.device))
        return embeddings

    words = f"{type(tokenizer).__name__} {model.config['text_cfg']}"
    return Contrastive.of_tower(tower, read, words, options)


class _Model:
    """An architecture with the weights of a tag or a file; its towers are loaded one by one."""

    def __init__(self, model: str, weights: str | None) -> None:
        import open_clip

        self.architecture, _, self.tag = model.partition("/")
        self.weights = weights
        known = open_clip.list_models()
        if self.architecture not in known:
            raise UnknownNameError(
                "open_clip model", self.architecture, known, "open_clip.list_models() lists them"
            )
        tags = open_clip.list_pretrained_tags_by_model(self.architecture)
        there = (
            f"there are {', '.join(tags)}" if tags else "it has none: give weights with --weights"
        )
        self.trained: Any = (
            open_clip.get_pretrained_cfg(self.architecture, self.tag) if self.tag else {}
        )
        if self.tag and not self.trained:
            raise UnknownNameError(f"tag of {self.architecture}", self.tag, tags, there)
        if not self.tag and weights is None:
            raise ObserverError(
                f"'open_clip/{self.architecture}' is an architecture: name the tag of its weights "
                f"too, as open_clip/{self.architecture}/TAG ({there})."
            )
        self.config: Any = open_clip.get_model_config(self.architecture)
        # Weights that were trained with it go astray without it; the library only warns.
        self.quick_gelu = bool(self.config.get("quick_gelu") or self.trained.get("quick_gelu"))

    def image_tower(self, size: int | None) -> Any:
        """Return the tower for pictures; weights of a file are made to fit as the library does."""
        vision = self.config["vision_cfg"]
        own = vision.get("image_size", 224)
        # A ResNet pools by position.
        if isinstance(vision.get("layers"), list | tuple) and size not in (None, own):
            raise ObserverError(
                f"'{self.architecture}' takes pictures of {own} px only, not {size}: set "
                f"size={own}."
            )
        if self.weights is None:
            return self._create(force_image_size=size).visual
        from open_clip.convert import convert_state_dict
        from open_clip.model import resize_pos_embed

        tensors = read_weights(self.weights)
        # Towers of timm are resized once they are filled, the others before.
        of_timm = "timm_model_name" in vision
        model = self._create(
            force_image_size=None if of_timm else size,
            force_preprocess_cfg={k: self.trained[k] for k in ("mean", "std") if k in self.trained},
            text_cfg=_NO_TEXT,
        )
        tensors = convert_state_dict(model, tensors)
        resize_pos_embed(tensors, model)
        part = {k.removeprefix("visual."): v for k, v in tensors.items() if k.startswith("visual.")}
        fit_weights(model.visual, part, self.weights)
        if of_timm and size is not None:
            model.visual.set_input_size(size)
        return model.visual

    def text_tower(self) -> Any:
        """Return the model without the parts that see and write."""
        from open_clip.convert import convert_state_dict
        from open_clip.model import convert_to_custom_text_state_dict

        with fetching(f"open_clip/{self.architecture}", "the text tower"):
            model = self._create(pretrained_text=False)
        tensors: dict[str, Tensor] = {}
        if self.weights is not None:
            tensors = convert_state_dict(model, read_weights(self.weights))
            if "positional_embedding" in tensors and not hasattr(model, "positional_embedding"):
                tensors = convert_to_custom_text_state_dict(tensors)
        for part in _NOT_READING:
            if hasattr(model, part):
                setattr(model, part, None)
        if self.weights is not None:
            read = {k: v for k, v in tensors.items() if k.partition(".")[0] not in _NOT_READING}
            for key in ("logit_scale", "logit_bias"):
                if key in read and getattr(model, key, None) is not None:
                    read[key] = read[key].reshape(getattr(model, key).shape)
            fit_weights(model, read, self.weights)
        return model

    def _create(self, **settings: Any) -> Any:
        """Build the model; with the weights of its tag, unless those of a file follow."""
        import open_clip

        settings["force_quick_gelu"] = self.quick_gelu
        if self.weights is not None:
            with quietly():
                return open_clip.create_model(self.architecture, **settings)
        repository, _, file = str(self.trained.get("hf_hub") or self.trained.get("url")).rpartition(
            "/"
        )
        what = f"{file or 'open_clip_model.safetensors'} of {repository}"
        with fetching(f"open_clip/{self.architecture}/{self.tag}", what):
            return open_clip.create_model(
                self.architecture, self.tag, weights_only=True, **settings
            )
