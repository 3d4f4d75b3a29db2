"""Before thousands of questions, two: an observer that answers is examined in its own way."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
from observers.chat.server import FakeServer, completion

from fechner.observers import resolve
from fechner.observers.abilities import Wants, abilities
from fechner.observers.questions import Answer, Question, Reads, Usage
from fechner.observers.validation import Validation, validate
from fechner.stimuli import Frames

WANTS = Wants(size_px=(40, 60))


@dataclass
class Answerer:
    """Answers by a function of what it is shown."""

    decide: Any
    reads: Reads = "questions"
    readouts: tuple[str, ...] = ("choice",)
    wants: Wants = WANTS
    asked: list[Question] = field(default_factory=list)
    name: str = "answerer"
    fingerprint: str = "1"
    layers: tuple[str, ...] = ("reply",)

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        self.asked += questions
        for index, question in reversed(list(enumerate(questions))):  # in any order
            answer = self.decide(frames.pixels[question.pictures[0]])
            if answer is not None:
                yield replace(answer, question=index)


class Hybrid(Answerer):
    """It also compares."""

    def remember(self, reference: Frames) -> torch.Tensor:
        return reference.pixels

    def difference(self, test: Frames, memory: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
        return (test.pixels - memory[which]).square().mean(dim=(1, 2, 3))[:, None, None].double()


def sees(pixels: torch.Tensor) -> Answer:
    there = float(pixels.std()) > 0.01
    return Answer(0, 0 if there else 1, reply="Yes." if there else "No.")


def test_an_observer_that_answers_well() -> None:
    observer = Answerer(sees)
    assert abilities(observer) == ("answers",)
    found = validate(observer)
    assert found.verdict == "answerer is fit to run."
    assert found.facts["answer to plain grey"] == "no, by 'No.'"
    assert found.facts["answer to stripes"] == "yes, by 'Yes.'"
    assert found.facts["input"].startswith("40 x 60 px")
    assert found.facts["reads"] == "questions"
    assert found.seconds_per_picture > 0
    assert [question.prompt.options for question in observer.asked] == [("yes", "no")] * 2
    assert all(question.prompt.text.endswith("just yes or no") for question in observer.asked)


def test_labels_are_asked_as_labels() -> None:
    observer = Answerer(lambda pixels: replace(sees(pixels), reply=""), reads="labels")
    found = validate(observer)
    assert found.facts["answer to stripes"] == "a picture of a striped pattern"
    assert found.facts["answer to plain grey"] == "a plain grey picture"
    assert {question.prompt.text for question in observer.asked} == {""}
    assert not found.warnings


@pytest.mark.parametrize(
    ("decide", "warnings"),
    [
        (
            lambda pixels: Answer(0, 0, reply="Yes!"),
            ["it gives the same answer to plain grey and to stripes of full contrast (yes)"],
        ),
        (
            lambda pixels: Answer(0, None, reply="I am\n\x1b[31msorry " + "very " * 50),
            ["its reply 'I am [31msorry very very very .*…' is none of yes, no"] * 2,
        ),
        (
            lambda pixels: sees(pixels) if pixels.std() > 0.01 else Answer(0, None),
            ["its reply '' is none of yes, no"],
        ),
    ],
)
def test_what_to_keep_in_mind(decide: Any, warnings: list[str]) -> None:
    found = validate(Answerer(decide))
    assert found.problems == []
    assert len(found.warnings) == len(warnings)
    for warning, expected in zip(found.warnings, warnings, strict=True):
        pattern = re.sub(r"([()\[])", r"\\\1", expected)
        assert re.fullmatch(pattern, warning), warning
    assert "\x1b" not in found.verdict


def test_probabilities() -> None:
    def sure(pixels: torch.Tensor) -> Answer:
        answer = sees(pixels)
        graded = (0.75, 0.25) if answer.choice == 0 else (0.25, 0.75)
        return replace(answer, probabilities=graded, mass=0.875)

    graded = ("choice", "probability")
    found = validate(Answerer(sure, readouts=graded))
    assert found.verdict == "answerer is fit to run."
    assert found.facts["answer to stripes"] == "yes, by 'Yes.', p = 0.75"
    assert found.facts["probability of any option"] == "0.875"
    found = validate(Answerer(sees, readouts=graded))
    assert found.warnings == ["it gives no probabilities, though they were asked for"]
    found = validate(Answerer(lambda pixels: replace(sure(pixels), mass=0.02), readouts=graded))
    assert found.warnings == ["its first word is one of the options with probability 0.02"]


def test_tokens_and_costs() -> None:
    def paid(pixels: torch.Tensor) -> Answer:
        return replace(sees(pixels), usage=Usage(300, 2, 0.00123))

    found = validate(Answerer(paid))
    assert found.facts["tokens per question"] == "300 + 2"
    assert found.facts["cost per question"] == "0.0012 USD"


def test_why_it_cannot_be_run() -> None:
    def broken(pixels: torch.Tensor) -> Answer:
        raise RuntimeError("no tongue")

    assert validate(Answerer(broken)).problems == ["it raised RuntimeError: no tongue"]
    assert validate(Answerer(lambda pixels: None)).problems == ["it answered 0 of 2 questions"]


def test_an_observer_that_also_compares_is_examined_as_it_is_asked() -> None:
    observer = Hybrid(sees)
    assert abilities(observer) == ("compares", "answers")
    assert "difference of two looks" in validate(observer).facts
    assert observer.asked == []
    assert "answer to stripes" in validate(observer, asks="answers").facts
    # One that would answer by a lift is examined as what it is.
    assert "difference of two looks" in validate(resolve("pixels"), asks="answers").facts


def over_http(server: FakeServer, settings: str = "") -> Validation:
    observer = resolve(f"{server.address}#m{settings}")
    return validate(observer)


def test_an_endpoint() -> None:
    def decide(picture: np.ndarray, prompt: str, request: dict[str, Any]) -> Any:
        assert picture.shape == (224, 224, 3)
        return "Yes" if picture.std() > 3 else "No"

    with FakeServer(decide) as server:
        found = over_http(server)
        assert found.problems == found.warnings == []
        assert found.facts["input"] == "224 x 224 px (any), 8 bits"
        assert found.facts["tokens per question"] == "100 + 2"
        assert len(server.requests) == 2
        found = over_http(server, "@logprobs=yes")
        assert found.warnings == ["it gives no probabilities, though they were asked for"]
    found = over_http(server)
    (problem,) = found.problems
    assert re.match(r"2 of 2 questions were not answered: .*http://.* cannot be reached", problem)
    assert found.verdict.startswith(f"{server.address}#m cannot be run: 2 of 2")
    with FakeServer(lambda *_: completion("", finish="length")) as server:
        assert over_http(server).warnings == ["its reply '' is none of yes, no"] * 2


def test_nothing_is_asked_of_an_endpoint_while_it_is_made() -> None:
    with FakeServer() as server:
        observer = resolve(f"{server.address}#m")
        assert observer.name == f"{server.address}#m"
    assert server.requests == []
