"""Pictures and words as a model of transformers takes them, prepared by its own processor.

Processors resize pictures to what their model takes, and some round them to 8 bits. Both are found
out by showing them a picture, so that stimuli are drawn at a size that passes unchanged, and are
rounded where everybody knows of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError
from fechner.observers.abilities import Wants
from fechner.observers.weights import cause_of

#: Side of the pictures for models that take any size, as in Hernandez-Camara et al. (2025), and how
#: far from it those that take many sizes are tried.
_SIDE = 256
_RANGE = 64

#: Pictures beyond this are not drawn, however large a model likes them.
_LARGEST = 1024

#: A difference that no picture of 8 bits can show.
_BELOW_A_GREY_LEVEL = 0.1 / 255


class Processor:
    """What a processor, as ``AutoProcessor`` loads it, makes of pictures and a question.

    ``size`` is the side of the pictures that will be shown, one that passes unchanged if None;
    ``resizes`` says whether pictures of that size are resized by the processor.
    """

    def __init__(self, name: str, processor: Any, size: int | None = None) -> None:
        self.name = name
        self.processor = processor
        self.pictures: Any = getattr(processor, "image_processor", None)
        self.tokenizer: Any = getattr(processor, "tokenizer", None)
        if self.pictures is None or self.tokenizer is None:
            raise ObserverError(
                f"'{name}' has no processor that takes pictures and words; its repository needs a "
                "preprocessor_config.json and the files of a tokenizer."
            )
        self.tokenizer.padding_side = "left"  # replies begin where prompts end
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self._rescales = getattr(self.pictures, "do_rescale", True)
        self._floats = True
        try:
            self._floats = self._keeps_fractions()
            self.size_px, self.resizes = self._size(size)
        except ObserverError:
            raise
        except Exception as error:
            raise ObserverError(
                f"the processor of '{name}' cannot be shown a picture ({cause_of(error)})."
            ) from error

    @property
    def wants(self) -> Wants:
        """What it wants to be shown."""
        several = True
        try:
            self.words(2, "?")
        except ObserverError:
            several = False
        return Wants(size_px=self.size_px, several=several, bits=None if self._floats else 8)

    def inputs(self, pictures: Sequence[Sequence[Tensor]], texts: Sequence[str]) -> Any:
        """Return what a model is called with: pictures of each text, [3, h, w] in 0..1."""
        with self._image_settings(do_rescale=not self._floats and self._rescales):
            return self._processed(pictures, texts)

    def _processed(self, pictures: Sequence[Sequence[Tensor]], texts: Sequence[str]) -> Any:
        def image(picture: Tensor) -> Any:
            if self._floats:
                return picture.float()
            from PIL import Image

            levels = (picture.clamp(0, 1) * 255).round().byte()
            return Image.fromarray(levels.permute(1, 2, 0).cpu().contiguous().numpy())

        images = [list(map(image, group)) for group in pictures]
        words = [self.words(len(g), t) for g, t in zip(images, texts, strict=True)]
        # Where the template has the mark that begins a text, the tokenizer is not to add another.
        begin = self.tokenizer.bos_token
        marked = begin is not None and words[0].startswith(begin)
        once = {"add_special_tokens": False} if marked else {}
        return self.processor(images=images, text=words, padding=True, return_tensors="pt", **once)

    def words(self, pictures: int, text: str) -> str:
        """Return a question as the model's chat template puts it, with the pictures before it."""
        found, one = text, text
        if getattr(self.processor, "chat_template", None):
            found = self._templated(pictures, text)
            one = self._templated(1, text) if pictures > 1 else ""
        if pictures > 1 and found == one:
            raise ObserverError(f"'{self.name}' takes one picture at a time; ask about one.")
        return found

    def _templated(self, pictures: int, text: str) -> str:
        shown: list[dict[str, str]] = [{"type": "image"}] * pictures
        turn = {"role": "user", "content": [*shown, {"type": "text", "text": text}]}
        how = {"add_generation_prompt": True, "tokenize": False}
        try:
            return str(self.processor.apply_chat_template([turn], **how))
        except Exception as error:
            problem = f"the chat template of '{self.name}' does not take {pictures} picture(s)"
            raise ObserverError(f"{problem} ({cause_of(error)}).") from error

    @property
    def identity(self) -> str:
        """A hash of all that becomes of pictures and words."""
        words = identity_of_tokenizer(self.tokenizer)
        pictures = json.dumps(self.pictures.to_dict(), sort_keys=True, default=str)
        template = str(getattr(self.processor, "chat_template", None))
        parts = (type(self.processor).__name__, words, pictures, template)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @contextmanager
    def _image_settings(self, **wanted: bool) -> Iterator[None]:
        """Change settings of the image processor for a while, those that it has."""
        before = {key: getattr(self.pictures, key) for key in wanted if hasattr(self.pictures, key)}
        try:
            for key in before:
                setattr(self.pictures, key, wanted[key])
            yield
        finally:
            for key, value in before.items():
                setattr(self.pictures, key, value)

    def _keeps_fractions(self) -> bool:
        """Whether pictures in floating point keep differences smaller than a grey level."""
        picture = 0.2 + 0.6 * _noise(_SIDE)
        try:
            with self._image_settings(do_rescale=False, do_normalize=False):
                first, second = map(self._seen, (picture, picture + _BELOW_A_GREY_LEVEL))
        except Exception:
            return False  # it takes picture files only
        first, second = first.flatten(), second.flatten()
        shift = (second - first)[first != 0]  # what is not there is padding
        steady = (shift - _BELOW_A_GREY_LEVEL).abs() < 0.01 * _BELOW_A_GREY_LEVEL
        return shift.numel() > 0 and float(steady.to(torch.float32).mean()) > 0.9

    def _size(self, asked: int | None) -> tuple[tuple[int, int], bool]:
        """Return the size of pictures, and whether the processor changes it."""
        if asked is not None:
            return (asked, asked), not self._passes(asked, asked)
        with self._image_settings(do_rescale=False):
            own = self._seen(_noise(_SIDE))
        tried = [(_SIDE, _SIDE)]
        # What is no row of flattened patches is the size of all its pictures, or of their tiles.
        if own.dim() > 3 and own.shape[-3] == 3 and max(own.shape[-2:]) <= _LARGEST:
            tried.append((own.shape[-2], own.shape[-1]))
        otherwise = tried[-1]
        if own.numel() < 2.5 * 3 * _SIDE**2:  # about what it was given, once or twice
            near = range(_SIDE - _RANGE, _SIDE + _RANGE + 1)
            tried += [(side, side) for side in sorted(near, key=lambda s: (abs(s - _SIDE), s))]
        for height, width in tried:
            if self._passes(height, width):
                return (height, width), False
        return otherwise, True

    def _passes(self, height: int, width: int) -> bool:
        """Whether all of a picture is there after the processor had it."""
        picture = _noise(height, width)
        if not self._floats:
            picture = (picture * 255).round() / 255
        rescale = not self._floats and self._rescales
        with self._image_settings(do_rescale=rescale, do_normalize=False):
            seen = self._seen(picture)
        if self._floats:
            return bool(torch.isin(picture, seen).all())
        # Every grey level must be there as often as it was, or so many times as often.
        was, now = (torch.bincount((p.flatten() * 255).round().long()) for p in (picture, seen))
        return len(was) == len(now) and bool((now * picture.numel() == was * seen.numel()).all())

    def _seen(self, picture: Tensor) -> Tensor:
        """Return what a model would see of a picture."""
        found = self._processed([[picture]], ["?"])
        values: list[Tensor] = [v.float() for v in found.values() if v.is_floating_point()]
        if not values:
            raise ObserverError(f"the processor of '{self.name}' makes nothing of a picture.")
        return max(values, key=lambda v: v.numel())


def identity_of_tokenizer(tokenizer: Any) -> str:
    """Return a hash of all that becomes of words."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend else json.dumps(sorted(tokenizer.get_vocab().items()))
    return hashlib.sha256(f"{type(tokenizer).__name__} {rules}".encode()).hexdigest()


def _noise(height: int, width: int | None = None) -> Tensor:
    """Return a picture in which no value occurs twice, so that none can be lost unseen."""
    count = 3 * height * (width or height)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    return ((order + 0.5) / count).reshape(3, height, -1)
