"""Models that write: asked about pictures in words, they reply in words.

The reply is taken apart by the same rules as that of a server. Beside it stands how probable each
option was as the first token of the answer, over the whole vocabulary.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError
from fechner.observers.abilities import Wants
from fechner.observers.chat.contrastive import in_batches
from fechner.observers.chat.processor import Processor
from fechner.observers.chat.reply_parser import (
    READER,
    answer_start,
    first_answer_token,
    first_token_probabilities,
    parse,
)
from fechner.observers.hub import quietly
from fechner.observers.questions import Answer, Question, Reads, Usage
from fechner.observers.weights import cause_of, hash_weights
from fechner.stimuli import Frames

#: Questions answered in one go; half as many for as long as memory is not enough.
_AT_ONCE = 8

#: What of a model's own decoding settings is kept: the marks around a reply. Its habits (sampling,
#: penalties on what was said before) are not, for they would be other for every model.
_MARKS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


@dataclass(frozen=True)
class Decoding:
    """How replies are written: greedily at temperature 0, else by drawing tokens.

    They are drawn from the seed, the question, its pictures and its repeat, so that an answer
    depends on nothing that is asked beside it.
    """

    max_tokens: int = 16
    temperature: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.temperature < 0:
            given = f"max_tokens={self.max_tokens},temperature={self.temperature:g}"
            raise ObserverError(
                f"replies have at least one token and a temperature of 0 or more, not {given}."
            )

    def __str__(self) -> str:
        drawn = f" temperature={self.temperature:g} seed={self.seed}" if self.temperature else ""
        return f"max_tokens={self.max_tokens}{drawn or ' greedy'}"


GREEDY = Decoding()


class Generative:
    """A model of transformers that takes pictures and words and replies in words.

    ``load`` returns the model, when it is first asked; ``library`` is the name and version of what
    loads it, and whatever else its answers depend on.
    """

    reads: Reads = "questions"
    layers = ("reply",)
    readouts = ("choice", "probability")

    def __init__(
        self,
        load: Callable[[], Any],
        processor: Processor,
        *,
        name: str,
        library: str = "",
        decoding: Decoding = GREEDY,
    ) -> None:
        self.name = name
        self.library = library
        self.decoding = decoding
        self.processor = processor
        self.wants: Wants = processor.wants
        #: Whether the same question may have another answer when it is asked again.
        self.samples = decoding.temperature > 0
        self.batch_size = _AT_ONCE
        self._load = load
        self._counts: dict[tuple[str, ...], Tensor] = {}

    @cached_property
    def model(self) -> Any:
        """The model, set to write as it is told here and not as it likes."""
        from transformers import GenerationConfig

        model = self._load()
        marks = {mark: getattr(model.generation_config, mark, None) for mark in _MARKS}
        for mark in ("eos_token_id", "pad_token_id"):
            if marks[mark] is None:
                marks[mark] = getattr(self.processor.tokenizer, mark)
        model.generation_config = GenerationConfig(
            do_sample=False, num_beams=1, max_new_tokens=self.decoding.max_tokens, **marks
        )
        return model

    @cached_property
    def fingerprint(self) -> str:
        """What its answers depend on: all weights, the processor, how replies are written."""
        resized = " resized" if self.processor.resizes else ""
        return (
            f"{self.name} {self.library} weights={hash_weights(self.model)} "
            f"processor={self.processor.identity} {self.wants}{resized} {self.model.dtype} "
            f"{self.decoding}"
        )

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        """Answer each question, a batch at a time."""
        encoded = _EncodedPictures(self, frames, questions)

        def run(places: range) -> list[Answer]:
            encoded.keep({row for each in questions[places.start :] for row in each.pictures})
            return self._batch(frames, places, [questions[i] for i in places], encoded)

        try:
            yield from in_batches(self, len(questions), run)
        except ObserverError:
            raise
        except Exception as error:
            raise ObserverError(f"'{self.name}' could not answer ({cause_of(error)}).") from error

    def _batch(
        self,
        frames: Frames,
        places: Sequence[int],
        questions: Sequence[Question],
        encoded: _EncodedPictures,
    ) -> list[Answer]:
        from transformers import LogitsProcessorList

        pictures = [[frames.pixels[row] for row in question.pictures] for question in questions]
        texts = [question.prompt.text for question in questions]
        model = self.model
        with torch.no_grad(), quietly():
            inputs = self.processor.inputs(pictures, texts).to(model.device, model.dtype)
            watch = _Watch(self, questions, frames)
            written = model.generate(
                **encoded.put_into(inputs, [q.pictures for q in questions]),
                logits_processor=LogitsProcessorList([watch]),
            )
        replies = written[:, -len(watch.masses) :].tolist()
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        answers = []
        for row, question in enumerate(questions):
            reply, probabilities, mass, n = self._read(replies[row], [m[row] for m in watch.masses])
            choice = parse(reply, question.prompt.options, question.prompt.text)
            usage = Usage(lengths[row], n, cost=0.0)
            reply = reply.strip()
            answers.append(
                Answer(places[row], choice, probabilities, mass, reply, usage, reader=READER)
            )
        return answers

    def _read(
        self, tokens: list[int], masses: Sequence[Sequence[float]]
    ) -> tuple[str, tuple[float, ...] | None, float | None, int]:
        """Return a reply, probabilities of options and of any of them, and its length in tokens."""
        ends = self.model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        stop = next((i + 1 for i, token in enumerate(tokens) if token in ends), len(tokens))
        # Decoded together, since a letter may be several tokens.
        decode = self.processor.tokenizer.decode
        parts = [decode(tokens[:n], skip_special_tokens=True) for n in range(stop + 1)]
        step = first_answer_token([after[len(before) :] for before, after in pairwise(parts)])
        if step is None and answer_start(parts[-1]) is not None:
            step = 0  # an empty reply; what it might have been is known all the same
        if step is None:
            return parts[-1], None, None, stop
        mass = sum(masses[step])
        probabilities = tuple(m / mass for m in masses[step]) if mass > 0 else None
        return parts[-1], probabilities, mass, stop

    def counts_for(self, options: tuple[str, ...], vocabulary: int) -> Tensor:
        """Return the option that each token begins, [vocabulary]; their number where none."""
        if options not in self._counts:
            tokenizer = self.processor.tokenizer
            special = set(tokenizer.all_special_ids)
            texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
            counts = torch.full((vocabulary,), len(options))
            for token, text in enumerate(texts[:vocabulary]):
                alone = first_token_probabilities([(text, 0)], options)
                if alone is not None and token not in special:
                    counts[token] = alone[0].index(1.0)
            self._counts[options] = counts
        return self._counts[options]


class _EncodedPictures:
    """What a model's encoder makes of frames, each looked at when it is first needed.

    Models that write see a picture through an encoder of its own before they read the question, so
    that is the same in every wording. Recent versions of transformers take it instead of pixels
    (``mm_encoder_outputs``); where a model does not, or puts more than one thing per picture into
    its words, pixels go in as ever.
    """

    def __init__(self, observer: Generative, frames: Frames, questions: Sequence[Question]) -> None:
        self._observer = observer
        self._frames = frames
        self._known: dict[int, Tensor] = {}
        model = observer.model
        rows = [row for question in questions for row in question.pictures]
        self._possible = (
            len(set(rows)) < len(rows)  # one question about each picture has nothing to gain
            and "mm_encoder_outputs" in inspect.signature(model.forward).parameters
            and getattr(model.base_model, "get_image_features", None) is not None
            and not model.config.is_encoder_decoder
        )

    def put_into(self, inputs: Any, pictures: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return a model's inputs with the encoded pictures of each question for its pixels."""
        rows = [row for group in pictures for row in group]
        new = [row for row in dict.fromkeys(rows) if row not in self._known]
        if self._possible and new:
            self._possible = self._look(new)
        if not self._possible:
            return dict(inputs)
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        seen = BaseModelOutputWithPooling(pooler_output=[self._known[row] for row in rows])
        without = {key: value for key, value in inputs.items() if key != "pixel_values"}
        return {**without, "mm_encoder_outputs": {"image": seen}}

    def keep(self, rows: Collection[int]) -> None:
        """Forget all pictures but these."""
        self._known = {row: seen for row, seen in self._known.items() if row in rows}

    def _look(self, rows: Sequence[int]) -> bool:
        """Encode pictures; return whether each became one thing that can be put into words."""
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        model = self._observer.model
        shown = [[self._frames.pixels[row]] for row in rows]
        inputs = self._observer.processor.inputs(shown, ["?"] * len(rows))
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


class _Watch:
    """Watches the probabilities of options at every step, and draws tokens if asked to.

    ``masses`` are the probabilities, at temperature 1, that the next token begins an option, by
    step, question and option.
    """

    def __init__(self, observer: Generative, questions: Sequence[Question], frames: Frames) -> None:
        self.observer = observer
        self.options = [question.prompt.options for question in questions]
        self.masses: list[list[list[float]]] = []
        self.generators = []
        for question in questions if observer.decoding.temperature > 0 else ():
            # Random numbers that belong to a question, its pictures and its repeat.
            identity = f"{observer.decoding.seed} {question.repeat} {question.prompt}"
            digest = hashlib.sha256(identity.encode())
            for row in question.pictures:
                digest.update(frames.pixels[row].float().cpu().contiguous().numpy().tobytes())
            seed = int.from_bytes(digest.digest()[:7], "big")
            self.generators.append(torch.Generator().manual_seed(seed))

    def __call__(self, tokens: Tensor, scores: Tensor) -> Tensor:
        """Take the scores of the next token, [questions, vocabulary]; return those to go by."""
        probabilities = scores.detach().double().softmax(dim=1).cpu()
        step = []
        for row, options in zip(probabilities, self.options, strict=True):
            counts = self.observer.counts_for(options, len(row))
            sums = torch.zeros(len(options) + 1, dtype=row.dtype).index_add_(0, counts, row)
            step.append(sums[:-1].tolist())
        self.masses.append(step)
        if not self.generators:
            return scores
        # The largest of log p + Gumbel noise is a draw from p, so that every
        # question has its own noise whatever is in the batch.
        uniform = torch.stack([torch.rand(scores.shape[1], generator=g) for g in self.generators])
        noise = -torch.log(-torch.log(uniform.clamp(1e-12, 1 - 1e-7)))
        return scores / self.observer.decoding.temperature + noise.to(scores)
