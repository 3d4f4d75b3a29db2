"""End to end: ``transformers serve`` with a tiny model on loopback, asked as any other server."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import torch
from observers.chat.tiny import tiny_llava
from PIL import Image
from processes import running

from fechner import evaluate
from fechner.errors import ObserverError
from fechner.observers import Prompt, Question, resolve
from fechner.observers.validation import validate
from fechner.stimuli import Field, Frames, display

#: The command line of transformers, in a process where torchvision is not to be found: beside a
#: torch without CUDA its wheel cannot read PNG files; without it, transformers does so by Pillow.
SERVE = (
    "import sys; sys.modules['torchvision'] = None; "
    "from transformers.cli.transformers import main; main()"
)
QUESTIONS = [
    Question((row,), Prompt(f"Is there {what} on the image? Respond just yes or no"))
    for what in ("a pattern", "something")
    for row in range(8)
]


@pytest.fixture(scope="module")
def frames() -> Frames:
    """Coloured noise, which the model tells apart."""
    pixels = torch.rand(8, 3, 48, 48, generator=torch.Generator().manual_seed(0))
    return Frames(pixels, Field(48, 48, 64.0), display("encoders"), "display")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llava(tmp_path_factory.mktemp("models") / "tiny", seed=3)  # says both


@pytest.fixture(scope="module")
def address(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, folder = free_port(), tmp_path_factory.mktemp("serve")
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SERVE, "serve", str(model), "--device", "cpu"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with (
        (folder / "log.txt").open("w") as log,
        running(command, env={**os.environ, **offline}, stdout=log, stderr=log) as process,
    ):
        wait_for(f"http://127.0.0.1:{port}/health", process, folder / "log.txt")
        yield f"http://127.0.0.1:{port}/v1"


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(900):
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            assert process.poll() is None, log.read_text()
            threading.Event().wait(0.2)
    raise AssertionError(log.read_text())


def locally(model: Path, frames: Frames) -> list[str]:
    """What the same model says when it is called by hand."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor = AutoProcessor.from_pretrained(model, backend="pil")
    network = AutoModelForImageTextToText.from_pretrained(model)
    said = []
    for question in QUESTIONS:
        pixels = (frames.pixels[question.pictures[0]] * 255).round().byte().permute(1, 2, 0)
        parts = [
            {"type": "image", "image": Image.fromarray(pixels.numpy())},
            {"type": "text", "text": question.prompt.text},
        ]
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": parts}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        with torch.no_grad():
            tokens = network.generate(**inputs, max_new_tokens=1, do_sample=False)
        said.append(processor.decode(tokens[0, inputs["input_ids"].shape[1] :]))
    return said


def test_a_real_server_answers_as_its_model_does(address: str, model: Path, frames: Frames) -> None:
    observer = resolve(f"{address}#{model}@max_tokens=1,at_once=2")
    answers = sorted(observer.choose(frames, QUESTIONS), key=lambda answer: answer.question)
    assert [answer.question for answer in answers] == list(range(len(QUESTIONS)))
    assert [answer.reply for answer in answers] == locally(model, frames)
    assert {answer.reply for answer in answers} == {"yes", "no"}
    for answer in answers:
        assert answer.choice == ("yes", "no").index(answer.reply)
        assert answer.usage.completion_tokens == 1
        assert answer.usage.prompt_tokens > 16  # patches of the picture, and the text


def test_a_real_server_is_fit_to_run(address: str, model: Path) -> None:
    found = validate(resolve(f"{address}#{model}@max_tokens=1,logprobs=yes"))
    assert found.problems == []
    assert found.facts["answer to plain grey"].startswith(("yes, by 'yes'", "no, by 'no'"))
    assert "it gives no probabilities, though they were asked for" in found.warnings


def test_what_a_real_server_does_not_take_is_said(address: str, frames: Frames) -> None:
    with pytest.raises(ObserverError, match=r"1 of 1 .*: the server says 4\d\d: \S"):
        list(resolve(f"{address}#other").choose(frames, QUESTIONS[:1]))


def test_a_whole_run(address: str, model: Path, tmp_path: Path) -> None:
    """Five trials of two prompts at ten frequencies; the blank of a prompt is asked once."""
    run = evaluate(
        f"{address}#{model}@max_tokens=1",
        suite="verbal",
        tests="detection",
        prompts=["Is there a pattern?", "Anything?"],
        trials=5,
        out=tmp_path / "run",
        threads=1,
        progress=False,
    )
    assert run.assess()[1] == []
    spent = run.spent()
    assert spent.trials == 2 * (1 + 4 * 10)
    assert spent.prompt_tokens > 0
    data = run.data(run.observers[0], "detection")
    answered = data["yes"].notnull().values
    # The answer about the blank stands at every frequency.
    assert spent.invalid == 0
    assert answered.sum() == 2 * 5 * 10
