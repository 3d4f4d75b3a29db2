"""Models that write, through the real loading code, against the library called by hand."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from looking import as_frames, features
from observers.chat.tiny import CHAT_TEMPLATE, tiny_llava
from observers.chat.tiny_models import QWEN_MARKS, soft_llava, tiny_qwen

from fechner.errors import ObserverError
from fechner.observers import Prompt, Question, abilities, lift, network, resolve
from fechner.observers.adapters import transformers as adapter
from fechner.observers.adapters.transformers_files import Repository
from fechner.observers.chat.generative import Decoding, Generative
from fechner.observers.chat.processor import Processor
from fechner.observers.network import NetworkThatAnswers
from fechner.observers.questions import Answer
from fechner.observers.weights import MissingWeightsError

DETECT = Prompt("Is there a pattern on the image? Respond just yes or no.")
OTHER = Prompt("Is anything there?")
BELOW_A_GREY_LEVEL = 0.1 / 255

#: Tokens of the tiny LLaVA that begin the one or the other, found by eye.
YES, NO = ("yes", "Yes", "ye", "Ye", "y", "Y"), ("no", "No", "n", "N")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return soft_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def qwen_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_qwen(tmp_path_factory.mktemp("qwen"))


@pytest.fixture(scope="module")
def llava(folder: Path) -> Generative:
    return answering(f"hf/{folder}")


@pytest.fixture(scope="module")
def sure(tmp_path_factory: pytest.TempPathFactory) -> Generative:
    """Says yes or no to everything."""
    return answering(f"hf/{tiny_llava(tmp_path_factory.mktemp('sure'))}@max_tokens=1")


@pytest.fixture(scope="module")
def qwen(qwen_folder: Path) -> Generative:
    return answering(f"hf/{qwen_folder}")


def answering(spec: str, **settings: Any) -> Generative:
    found = lift(resolve(spec, **settings), "answers", ())
    assert isinstance(found, Generative)
    return found


def pictures(side: int = 32, n: int = 4) -> torch.Tensor:
    return torch.rand(n, 3, side, side, generator=torch.Generator().manual_seed(1))


def ask(
    observer: Generative, pixels: torch.Tensor, *questions: Question, at_once: int = 8
) -> list[Answer]:
    observer.batch_size = at_once
    return list(observer.choose(as_frames(pixels), questions))


def single(*prompts: Prompt, n: int = 4) -> list[Question]:
    return [Question((row,), prompts[row % len(prompts)]) for row in range(n)]


# What it is


def test_it_encodes_and_answers_and_loads_what_it_is_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    load = Repository.load

    def spied(place: Repository, loader: str = "AutoModel", *arguments: Any) -> Any:
        loaded.append("sees" if loader == "AutoModel" else "writes")
        return load(place, loader, *arguments)

    monkeypatch.setattr(Repository, "load", spied)
    observer = resolve(f"hf/{folder}")
    assert isinstance(observer, NetworkThatAnswers)
    assert abilities(observer) == ("encodes", "answers")
    assert (observer.reads, observer.readouts) == ("questions", ("choice", "probability"))
    asked = lift(observer, "answers", ())
    assert (asked.layers, asked.readouts) == (("reply",), ("choice", "probability"))
    assert asked.wants.size_px == (32, 32)
    assert not loaded
    assert features(observer, as_frames(pictures())).shape == (4, 32)
    assert loaded == ["sees"]
    assert list(observer.choose(as_frames(pictures()), single(DETECT)))
    assert loaded == ["sees", "writes"]
    assert asked is lift(observer, "answers", ())
    assert asked.fingerprint != observer.fingerprint
    assert loaded == ["sees", "writes"]


def test_asking_does_not_load_the_encoder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_network", lambda *_: pytest.fail("it was loaded"))
    observer = answering(f"hf/{folder}")
    assert len(ask(observer, pictures(), *single(DETECT))) == 4
    assert observer.fingerprint


def test_one_without_a_part_that_sees_answers_only(qwen_folder: Path) -> None:
    observer = resolve(f"hf/{qwen_folder}")
    assert abilities(observer) == ("answers",)
    with pytest.raises(ObserverError, match="a reply in words has no size to compare"):
        lift(observer, "compares", ("l2",))


# Against the library


def by_hand(
    folder: Path,
    marks: str,
    pixels: Sequence[torch.Tensor],
    text: str,
    tokens: int = 1,
    words: str = "",
) -> tuple[str, dict[str, float]]:
    """Return a reply, and the probability of every token in the first place."""
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    words = words or f"user: {marks * len(pixels)}{text}assistant: "  # templates drop a line's end
    inputs = processor(
        images=list(pixels), text=[words], images_kwargs={"do_rescale": False}, return_tensors="pt"
    )
    with torch.no_grad():
        first = model(**inputs).logits[0, -1].double().softmax(dim=0)
        written = model.generate(**inputs, max_new_tokens=tokens, do_sample=False)
    reply = processor.decode(written[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    names = [processor.tokenizer.decode([token]) for token in range(len(processor.tokenizer))]
    return reply, dict(zip(names, first.tolist(), strict=True))


def test_llava_against_the_library(folder: Path, llava: Generative) -> None:
    pixels, short = pictures(), answering(f"hf/{folder}@max_tokens=1")
    replies = [answer.reply for answer in ask(llava, pixels, *single(DETECT, OTHER))]
    for row, answer in enumerate(ask(short, pixels, *single(DETECT, OTHER))):
        prompt = (DETECT, OTHER)[row % 2]
        reply, first = by_hand(folder, "<image>", [pixels[row]], prompt.text, 16)
        yes, no = (sum(first[token] for token in tokens) for tokens in (YES, NO))
        assert replies[row] == reply.strip()
        assert answer.question == row
        assert answer.mass == pytest.approx(yes + no, rel=1e-4)
        assert answer.probabilities == pytest.approx((yes / (yes + no), no / (yes + no)), rel=1e-4)
        assert 1e-4 < answer.mass < 0.9999


def test_probabilities_are_those_of_the_first_word(llava: Generative) -> None:
    (answer,) = ask(llava, pictures(), Question((0,), DETECT))
    # It begins with half a letter, which is no word; then comes "yes".
    assert answer.reply.lstrip("\ufffd").startswith("yes")
    assert answer.probabilities[0] > 0.9


def test_qwen_against_the_library(qwen_folder: Path, qwen: Generative) -> None:
    side = 252  # nine patches of 28, nearest to 256
    assert qwen.wants.size_px == (side, side)
    assert not qwen.processor.resizes
    pixels = pictures(side, 2)
    answers = ask(qwen, pixels, Question((0,), DETECT), Question((1, 0), OTHER))
    for answer, rows, prompt in zip(answers, [(0,), (1, 0)], (DETECT, OTHER), strict=True):
        shown = [pixels[row] for row in rows]
        reply, first = by_hand(qwen_folder, "".join(QWEN_MARKS[:3]), shown, prompt.text, 16)
        assert answer.reply == reply.strip()
        yes, no = first["y"] + first["Y"], first["n"] + first["N"]
        assert answer.mass == pytest.approx(yes + no, rel=1e-4)
        assert answer.probabilities == pytest.approx((yes / (yes + no), no / (yes + no)), rel=1e-4)


@pytest.mark.parametrize("model", ["llava", "qwen"])
def test_batches_answer_as_single_questions_do(model: str, request: pytest.FixtureRequest) -> None:
    observer: Generative = request.getfixturevalue(model)
    side = observer.wants.size_px[0]
    questions = [*single(DETECT, OTHER), Question((0, 1), OTHER), Question((3, 2, 1), DETECT)]
    together = ask(observer, pictures(side), *questions)
    alone = ask(observer, pictures(side), *questions, at_once=1)
    for one, other in zip(together, alone, strict=True):
        assert (one.question, one.choice, one.reply) == (other.question, other.choice, other.reply)
        assert one.mass == pytest.approx(other.mass, rel=1e-4)
        assert one.probabilities == pytest.approx(other.probabilities, rel=1e-4)
        assert one.usage == other.usage
        assert one.usage.prompt_tokens > 30


@pytest.mark.parametrize(("model", "eye"), [("llava", "vision_tower"), ("qwen", "visual")])
def test_a_picture_is_encoded_once_for_all_prompts(
    model: str, eye: str, request: pytest.FixtureRequest
) -> None:
    observer: Generative = request.getfixturevalue(model)
    side = observer.wants.size_px[0]
    prompts = [Prompt(f"Is there {what}? Respond just yes or no.") for what in "abcdefghijk"]
    questions = [Question((row,), prompt) for row in range(3) for prompt in prompts]
    seen: list[int] = []
    hook = getattr(observer.model.base_model, eye).register_forward_hook(
        lambda module, inputs, output: seen.append(inputs[0].numel())
    )
    try:
        together = ask(observer, pictures(side, 3), *questions)
        once = sum(seen)
        seen.clear()
        alone = [ask(observer, pictures(side, 3), each)[0] for each in questions]
    finally:
        hook.remove()
    assert once == 3 / len(questions) * sum(seen)
    for one, other in zip(together, alone, strict=True):
        assert (one.choice, one.reply) == (other.choice, other.reply)
        assert one.probabilities == pytest.approx(other.probabilities, rel=1e-4)


def test_what_is_more_than_one_thing_per_picture_is_encoded_as_ever(
    llava: Generative, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [Question((row,), prompt) for row in range(2) for prompt in (DETECT, OTHER)]
    expected = ask(llava, pictures(), *questions)
    encode = llava.model.base_model.get_image_features

    def in_halves(pixel_values: torch.Tensor, **more: Any) -> Any:
        found = encode(pixel_values=pixel_values, **more)
        found.pooler_output = [half for each in found.pooler_output for half in each.chunk(2)]
        return found

    monkeypatch.setattr(llava.model.base_model, "get_image_features", in_halves)
    found = ask(llava, pictures(), *questions)
    assert [each.reply for each in found] == [each.reply for each in expected]


def test_the_more_probable_option_is_chosen(sure: Generative) -> None:
    answers = ask(sure, pictures(n=16), *single(DETECT, n=16))
    assert {answer.choice for answer in answers} == {0, 1}
    for answer in answers:
        assert answer.reply == DETECT.options[answer.choice]
        assert answer.probabilities[answer.choice] > 0.5
        assert sum(answer.probabilities) == pytest.approx(1)


def test_swapped_options_swap_the_answer(sure: Generative, llava: Generative) -> None:
    swapped = Prompt(DETECT.text, ("no", "yes"))
    for observer in (sure, llava):
        before = ask(observer, pictures(), *single(DETECT))
        after = ask(observer, pictures(), *single(swapped))
        for one, other in zip(before, after, strict=True):
            assert one.probabilities == pytest.approx(other.probabilities[::-1])
            if observer is sure:
                assert {one.choice, other.choice} == {0, 1}


def test_words_that_are_no_option(llava: Generative) -> None:
    (answer,) = ask(llava, pictures(), Question((0,), Prompt(DETECT.text, ("left", "right"))))
    assert answer.choice is None
    assert answer.mass < 0.2


# Pictures


def test_differences_below_a_grey_level_are_seen(llava: Generative, qwen: Generative) -> None:
    for observer in (llava, qwen):
        assert observer.wants.bits is None
        pixels = 0.1 + 0.8 * pictures(observer.wants.size_px[0], 1)
        both = torch.cat((pixels, pixels + BELOW_A_GREY_LEVEL))
        first, second = ask(observer, both, Question((0,), DETECT), Question((1,), DETECT))
        assert first.mass != second.mass
        assert first.probabilities == pytest.approx(second.probabilities, abs=0.02)


def test_a_processor_that_rounds_says_so(qwen_folder: Path, qwen: Generative) -> None:
    processor = transformers.AutoProcessor.from_pretrained(qwen_folder)
    processor.image_processor = transformers.Qwen2VLImageProcessorPil()
    observer = Generative(lambda: qwen.model, Processor("rounds", processor), name="rounds")
    assert observer.wants == replace(qwen.wants, bits=8)
    assert not observer.processor.resizes
    assert Processor("rounds", processor, 256).resizes
    levels = (pictures(252, 2) * 255).round() / 255
    rounded = ask(observer, torch.cat((levels, levels + BELOW_A_GREY_LEVEL)), *single(DETECT))
    assert [a.mass for a in rounded[:2]] == [a.mass for a in rounded[2:]]
    for one, other in zip(rounded[:2], ask(qwen, levels, *single(DETECT, n=2)), strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, rel=1e-3)


def test_another_size_is_resized_by_the_processor(qwen_folder: Path, qwen: Generative) -> None:
    larger = answering(f"hf/{qwen_folder}@size=256")
    assert larger.wants.size_px == (256, 256)
    assert larger.processor.resizes
    assert larger.fingerprint != qwen.fingerprint
    small = answering(f"hf/{qwen_folder}@size=56")
    assert not small.processor.resizes
    assert small.wants.size_px == (56, 56)
    assert ask(small, pictures(56), *single(DETECT, n=1))[0].usage.prompt_tokens < 80


def test_the_order_of_pictures_counts(llava: Generative) -> None:
    assert llava.wants.several
    first, second = ask(llava, pictures(), Question((0, 1), DETECT), Question((1, 0), DETECT))
    assert abs(first.mass - second.mass) > 1e-6
    assert first.usage.prompt_tokens == second.usage.prompt_tokens


@pytest.mark.parametrize(
    "template",
    [
        CHAT_TEMPLATE.replace(
            "{% if part['type'] == 'image' %}<image>", "{% if loop.first %}<image>"
        ),
        CHAT_TEMPLATE.replace(
            "{% for part",
            "{% if message['content'] | length > 2 %}{{ "
            "raise_exception('one picture only') }}{% endif %}{% for part",
        ),
    ],
)
def test_a_template_for_one_picture(template: str, tmp_path: Path) -> None:
    observer = answering(f"hf/{soft_llava(tmp_path, chat_template=template)}")
    assert not observer.wants.several
    assert ask(observer, pictures(), *single(DETECT))
    with pytest.raises(ObserverError, match="picture"):
        ask(observer, pictures(), Question((0, 1), DETECT))


def test_without_a_template_words_are_taken_as_they_are(tmp_path: Path) -> None:
    soft_llava(tmp_path)
    (tmp_path / "chat_template.jinja").unlink()
    observer = answering(f"hf/{tmp_path}")
    assert not observer.wants.several
    (answer,) = ask(observer, pictures(), Question((0,), Prompt("<image>" + DETECT.text)))
    expected = by_hand(tmp_path, "", [pictures()[0]], "", 16, words="<image>" + DETECT.text)[0]
    assert answer.reply == expected.strip()
    with pytest.raises(ObserverError, match="takes one picture at a time"):
        ask(observer, pictures(), Question((0, 1), DETECT))


# Decoding


def test_habits_of_a_model_are_left_out(folder: Path, llava: Generative, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    habits = {"do_sample": True, "temperature": 2.0, "repetition_penalty": 9.0, "num_beams": 3}
    config = json.loads((folder / "generation_config.json").read_text())
    (tmp_path / "generation_config.json").write_text(json.dumps(config | habits))
    found = ask(answering(f"hf/{tmp_path}"), pictures(), *single(DETECT))
    assert found == ask(llava, pictures(), *single(DETECT))


def test_a_reply_ends_where_the_model_ends_it(folder: Path) -> None:
    short = answering(f"hf/{folder}@max_tokens=1")
    (answer,) = ask(short, pictures(), Question((0,), DETECT))
    assert answer.usage.completion_tokens == 1
    longer = answering(f"hf/{folder}")
    inputs = longer.processor.inputs([[pictures()[0]]], [DETECT.text])
    third = int(longer.model.generate(**inputs)[0, -16 + 2])
    longer.model.generation_config.eos_token_id = [third]
    (ended,) = ask(longer, pictures(), Question((0,), DETECT))
    assert ended.usage.completion_tokens <= 3
    (ended, *_) = ask(longer, pictures(), *single(DETECT, OTHER))
    assert ended.usage.completion_tokens <= 3


def test_drawn_replies_follow_their_probabilities(folder: Path) -> None:
    observer = answering(f"hf/{folder}@temperature=3,max_tokens=1")
    model = observer.model
    questions = [Question((0,), DETECT, repeat) for repeat in range(600)]
    answers = ask(observer, pictures(), *questions, at_once=200)
    inputs = observer.processor.inputs([[pictures()[0]]], [DETECT.text])
    with torch.no_grad():
        expected = (model(**inputs).logits[0, -1].double() / 3).softmax(dim=0)
    decoded = observer.processor.tokenizer.batch_decode([[t] for t in range(len(expected))])
    p = float(sum(expected[token] for token, text in enumerate(decoded) if text.isalpha()))
    assert 0.1 < p < 0.9
    share = sum(answer.reply.isalpha() for answer in answers) / 600
    assert share == pytest.approx(p, abs=4 * (p * (1 - p) / 600) ** 0.5)
    # What is known of the options is that before anything is drawn.
    assert len({answer.mass for answer in ask(observer, pictures(), *questions[:3])}) == 1


def test_what_is_drawn_depends_on_the_question_alone(folder: Path) -> None:
    observer = answering(f"hf/{folder}@temperature=30")
    questions = [*single(DETECT, OTHER), Question((0,), DETECT, repeat=1)]
    together = [answer.reply for answer in ask(observer, pictures(), *questions)]
    backwards = [answer.reply for answer in ask(observer, pictures(), *questions[::-1], at_once=2)]
    assert together == backwards[::-1]
    assert len(set(together)) == 5
    reseeded = answering(f"hf/{folder}@temperature=30,seed=1")
    assert ask(reseeded, pictures(), questions[0])[0].reply != together[0]


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ObserverError, match="at least one token"):
        Decoding(max_tokens=0)
    with pytest.raises(ObserverError, match="temperature of 0 or more"):
        Decoding(temperature=-1)


# What answers depend on


def test_fingerprints(folder: Path, llava: Generative, tmp_path: Path) -> None:
    def changed(name: str, **settings: Any) -> str | None:
        return answering(f"hf/{soft_llava(tmp_path / name, **settings)}").fingerprint

    def of(spec: str, **settings: Any) -> str | None:
        return answering(spec, **settings).fingerprint

    same = changed("same")
    assert same.replace(str(tmp_path / "same"), str(folder)) == llava.fingerprint
    (tmp_path / "same" / "note.txt").write_text("of no consequence")
    assert of(f"hf/{tmp_path / 'same'}") == same
    settings = (
        "max_tokens=8",
        "temperature=1",
        "temperature=1,seed=2",
        "dtype=bfloat16",
        "size=48",
    )
    others = [of(f"hf/{folder}@{setting}").partition(" ")[2] for setting in settings]
    others += [
        changed("seed", seed=1).partition(" ")[2],
        changed("words", chat_template=CHAT_TEMPLATE + "!").partition(" ")[2],
        same.partition(" ")[2],
    ]
    assert len(set(others)) == len(others)
    assert of(f"hf/{folder}@seed=5").partition(" ")[2] == same.partition(" ")[2]


def test_half_precision(folder: Path, llava: Generative) -> None:
    half = network.encoder(adapter.load(str(folder)), name="half", dtype="bfloat16")
    assert isinstance(half, NetworkThatAnswers)
    assert half.answerer.model.dtype == torch.bfloat16
    rough = list(half.choose(as_frames(pictures()), single(DETECT)))
    for one, other in zip(rough, ask(llava, pictures(), *single(DETECT)), strict=True):
        assert one.mass == pytest.approx(other.mass, abs=0.2)


def test_weights_of_a_file(folder: Path, llava: Generative, tmp_path: Path) -> None:
    other = soft_llava(tmp_path, seed=1)
    given = answering(f"hf/{folder}@weights={other / 'model.safetensors'}")
    moved = answering(f"hf/{other}")
    assert ask(given, pictures(), *single(DETECT)) == ask(moved, pictures(), *single(DETECT))
    assert ask(given, pictures(), *single(DETECT)) != ask(llava, pictures(), *single(DETECT))


# What can go wrong


def test_memory_that_is_not_enough_halves_the_batch(
    folder: Path, llava: Generative, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = answering(f"hf/{folder}")
    sizes, generate = [], observer.model.generate

    def small(**inputs: Any) -> Any:
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("out of memory")
        return generate(**inputs)

    monkeypatch.setattr(observer.model, "generate", small)
    questions = single(DETECT, OTHER, n=4) + single(OTHER, DETECT, n=3)
    answers = ask(observer, pictures(), *questions)
    assert sizes == [7, 4, 2, 2, 2, 1]
    assert [a.choice for a in answers] == [a.choice for a in ask(llava, pictures(), *questions)]


def test_memory_for_not_even_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = answering(f"hf/{folder}")

    def none(**inputs: Any) -> Any:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(observer.model, "generate", none)
    with pytest.raises(ObserverError, match=r"could not answer .OutOfMemoryError"):
        ask(observer, pictures(), *single(DETECT))


def test_answers_come_batch_by_batch(folder: Path) -> None:
    observer = answering(f"hf/{folder}")
    observer.batch_size = 2
    replies: Iterator[Answer] = observer.choose(as_frames(pictures()), single(DETECT))
    assert next(replies).question == 0
    observer.model.generate = None  # nothing more is asked for the second
    assert next(replies).question == 1
    with pytest.raises(ObserverError, match="could not answer"):
        next(replies)


def test_missing_weights_are_not_left_random(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    whole = load_file(folder / "model.safetensors")
    part = {key: value for key, value in whole.items() if ".layers.1." not in key}
    assert len(part) < len(whole)
    save_file(part, tmp_path / "model.safetensors", metadata={"format": "pt"})
    observer = answering(f"hf/{tmp_path}")
    with pytest.raises(ObserverError, match=r"missing or of another shape .* the part that writes"):
        ask(observer, pictures(), *single(DETECT))


def test_a_folder_without_a_tokenizer(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(folder / name, tmp_path)
    observer = resolve(f"hf/{tmp_path}")
    with pytest.raises(ObserverError, match=r"cannot be loaded from the folder|has no processor"):
        lift(observer, "answers", ())
    assert features(observer, as_frames(pictures())).shape == (4, 32)


def test_a_repository_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fechner.observers.hub.reachable", lambda address: False)
    with pytest.raises(MissingWeightsError, match=r"hf/nobody/vlm.*could not be fetched"):
        resolve("hf/nobody/vlm")
