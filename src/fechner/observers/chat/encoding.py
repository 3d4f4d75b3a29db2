"""Pictures as a model of transformers has encoded them, once for all that is asked about them.

Models that write see a picture through an encoder of its own before they read the question, so what
the encoder makes of it is the same in every wording. Recent versions of transformers take that
instead of pixels (``mm_encoder_outputs``); where a model does not, or puts more than one thing per
picture into its words, pixels go in as ever.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from fechner.observers.questions import Question
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.observers.chat.generative import Generative

#: Under this name processors hand over what is to be seen.
_PIXELS = "pixel_values"


class EncodedPictures:
    """What an observer's encoder makes of frames, each looked at when it is first needed."""

    def __init__(self, observer: Generative, frames: Frames, questions: Sequence[Question]) -> None:
        self._observer = observer
        self._frames = frames
        self._known: dict[int, Tensor] = {}
        rows = [row for question in questions for row in question.pictures]
        # One question about each picture has nothing to gain.
        self._possible = len(set(rows)) < len(rows) and _takes_encoded(observer.model)

    def put_into(self, inputs: Any, pictures: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return what a model is called with, with encoded pictures in the place of pixels.

        Parameters
        ----------
        inputs
            What the processor made of pictures and questions.
        pictures
            The pictures of each question.
        """
        every = dict(inputs)
        rows = [row for group in pictures for row in group]
        new = [row for row in dict.fromkeys(rows) if row not in self._known]
        self._possible = self._possible and self._look(new)
        if not self._possible:
            return every
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        seen = BaseModelOutputWithPooling(pooler_output=[self._known[row] for row in rows])
        without = {key: value for key, value in every.items() if key != _PIXELS}
        return {**without, "mm_encoder_outputs": {"image": seen}}

    def keep(self, rows: Collection[int]) -> None:
        """Forget all pictures but these."""
        self._known = {row: seen for row, seen in self._known.items() if row in rows}

    def _look(self, rows: Sequence[int]) -> bool:
        """Encode pictures; return whether each became one thing that can be put into words."""
        if not rows:
            return True
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        model = self._observer.model
        shown = [[self._frames.pixels[row]] for row in rows]
        inputs = self._observer.preparation.inputs(shown, ["?"] * len(rows))
        inputs = inputs.to(model.device, model.dtype)
        encode = model.base_model.get_image_features
        takes = inspect.signature(encode).parameters
        found = encode(**{k: v for k, v in inputs.items() if k in takes}, return_dict=True)
        # Anything beside it, such as features of other depths, would be lost.
        seen = found.pooler_output if type(found) is BaseModelOutputWithPooling else None
        if not isinstance(seen, list | tuple) or len(seen) != len(rows):
            return False
        self._known.update(zip(rows, seen, strict=True))
        return True


def _takes_encoded(model: Any) -> bool:
    """Whether a model can be handed encoded pictures."""
    return (
        "mm_encoder_outputs" in inspect.signature(model.forward).parameters
        and getattr(model.base_model, "get_image_features", None) is not None
        and not model.config.is_encoder_decoder
    )
