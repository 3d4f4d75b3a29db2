"""Chat models over HTTP: what is sent, what is made of replies, and of all that can go wrong."""

import io
import math
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
import torch
from observers.chat.server import FakeServer, Request, completion, picture
from PIL import Image
from processes import running

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers import Prompt, Question, abilities, resolve
from fechner.observers.abilities import Answers, Wants
from fechner.observers.catalogue import families
from fechner.observers.chat.client import _retry_after
from fechner.observers.chat.endpoint import DECODING, Endpoint, data_url, png, where
from fechner.observers.names import check_name, is_file, take_apart, with_settings
from fechner.observers.questions import Answer
from fechner.runs.store import slug
from fechner.stimuli import Field, Frames, display

ASKED = "Is there a pattern on the image? Respond just yes or no"
YES_NO = Prompt(ASKED)


def endpoint(server: FakeServer, settings: str = "", model: str = "m") -> Endpoint:
    found = resolve(f"{server.address}#{model}" + (f"@{settings}" if settings else ""))
    assert isinstance(found, Endpoint)
    return found


def one(server: FakeServer, frames: Frames, settings: str = "", prompt: Prompt = YES_NO) -> Answer:
    (answer,) = endpoint(server, settings).choose(frames, [Question((3,), prompt)])
    return answer


# What is sent


def test_a_question_as_it_is_sent(frames: Frames) -> None:
    with FakeServer() as server:
        observer = endpoint(server)
        assert isinstance(observer, Answers)
        assert abilities(observer) == ("answers",)
        assert observer.reads == "questions"
        assert observer.wants == Wants(bits=8)
        assert (observer.layers, observer.readouts) == (("reply",), ("choice",))
        (answer,) = observer.choose(frames, [Question((2,), YES_NO)])
    assert answer.choice == 0
    assert (answer.question, answer.place, answer.reply) == (0, (0, 0), "yes")
    assert answer.probabilities is None
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.texts == [ASKED]
    shown = (frames.pixels[2] * 255).round().byte().permute(1, 2, 0).numpy()
    assert np.array_equal(request.pictures[0], shown)
    body = request.body
    assert [message["role"] for message in body.pop("messages")] == ["user"]
    assert body == {"model": "m", "temperature": 0.0, "max_tokens": 128}


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ("temperature=0.7", {"temperature": 0.7, "max_tokens": 128}),
        ("temperature=nan", {"max_tokens": 128}),
        ("max_tokens=5", {"temperature": 0.0, "max_tokens": 5}),
        ("max_tokens=0", {"temperature": 0.0}),
        ("max_completion_tokens=9", {"temperature": 0.0, "max_completion_tokens": 9}),
        ("seed=7", {"temperature": 0.0, "max_tokens": 128, "seed": 10}),  # asked the fourth time
        (
            "logprobs=yes",
            {"temperature": 0.0, "max_tokens": 128, "logprobs": True, "top_logprobs": 20},
        ),
        (
            "logprobs=yes,top_logprobs=5",
            {"temperature": 0.0, "max_tokens": 128, "logprobs": True, "top_logprobs": 5},
        ),
        (
            "reasoning_effort=low",
            {"temperature": 0.0, "max_tokens": 128, "reasoning_effort": "low"},
        ),
    ],
)
def test_settings_are_sent(frames: Frames, settings: str, sent: dict[str, Any]) -> None:
    with FakeServer() as server:
        list(endpoint(server, settings).choose(frames, [Question((0,), YES_NO, repeat=3)]))
    body = server.requests[0].body
    assert {key: value for key, value in body.items() if key not in ("model", "messages")} == sent


def test_a_system_prompt_and_the_detail_of_pictures(frames: Frames) -> None:
    with FakeServer() as server:
        one(server, frames, "system=Look well, then answer.,detail=high")
    system, user = server.requests[0].body["messages"]
    assert system == {"role": "system", "content": "Look well, then answer."}
    assert user["content"][0]["image_url"]["detail"] == "high"


def test_several_pictures_go_in_order_before_the_text(frames: Frames) -> None:
    with FakeServer(lambda picture, prompt, request: "B") as server:
        prompt = Prompt("Which one?", ("A", "B"))
        (answer,) = endpoint(server).choose(frames, [Question((3, 0), prompt)])
    assert answer.choice == 1
    (request,) = server.requests
    kinds = [part["type"] for part in request.body["messages"][0]["content"]]
    assert kinds == ["image_url", "image_url", "text"]
    assert request.pictures[0].std() > 5
    assert request.pictures[1].std() == 0


# What is made of replies


@pytest.mark.parametrize(
    ("reply", "choice"), [("Yes.", 0), ("<think>yes</think>no", 1), ("I see.", None)]
)
def test_replies_are_parsed_and_kept(frames: Frames, reply: str, choice: int | None) -> None:
    with FakeServer(lambda picture, prompt, request: reply) as server:
        answer = one(server, frames)
    assert (answer.choice, answer.reply) == (choice, reply)


@pytest.mark.parametrize(
    "sent",
    [
        completion("", finish="content_filter"),
        completion(None or "", refusal="I can't help with that; no."),
        completion("", finish="length", reasoning_content="hm, yes"),
    ],
)
def test_what_was_withheld_is_an_answer(frames: Frames, sent: dict[str, Any]) -> None:
    with FakeServer(lambda picture, prompt, request: sent) as server:
        answer = one(server, frames)
    assert answer.choice is None
    assert len(server.requests) == 1


def test_a_question_that_the_service_filters_is_an_answer(frames: Frames) -> None:
    with FakeServer(faults=["400"], code="content_policy_violation", message="unsafe") as server:
        answer = one(server, frames)
    assert (answer.choice, answer.reply) == (None, "unsafe")


def test_a_second_question_where_a_reply_cannot_be_read(frames: Frames) -> None:
    def decide(picture: np.ndarray, prompt: str, request: dict[str, Any]) -> str:
        return "no" if prompt.startswith("Answer with one word") else "Hard to say."

    prices = "price_in=1,price_out=1"
    with FakeServer(decide) as server:
        answer = one(server, frames, prices)
        assert (answer.choice, answer.reply, answer.second_reply) == (None, "Hard to say.", "")
        assert len(server.requests) == 1
        server.faults = [None, "500"]  # the first question is not sent again
        answer = one(server, frames, f"second_question=true,{prices}")
    assert (answer.choice, answer.reply, answer.second_reply) == (1, "Hard to say.", "no")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (200, 4)
    assert answer.usage.cost == pytest.approx(204e-6)
    first, *again = [request.body["messages"] for request in server.requests[1:]]
    assert [message["role"] for message in again[-1]] == ["user", "assistant", "user"]
    assert again[-1][0] == first[0]
    assert again[-1][1]["content"] == "Hard to say."
    assert again[-1][2]["content"][0]["text"] == "Answer with one word: yes or no."
    assert len(again) == 2


def test_no_second_question_where_there_is_an_answer_or_a_refusal(frames: Frames) -> None:
    with FakeServer() as server:
        assert one(server, frames, "second_question=true").second_reply == ""
        server.decide = lambda *_: completion("", refusal="I cannot help.")
        assert one(server, frames, "second_question=true").second_reply == ""
        assert len(server.requests) == 2
        server.decide = lambda *_: "Perhaps."
        answer = one(server, frames, "second_question=true")
        assert (answer.choice, answer.second_reply) == (None, "Perhaps.")
    with FakeServer() as server:  # fingerprints of before hold
        assert "second" not in endpoint(server).fingerprint
        assert "second_question=True" in endpoint(server, "second_question=true").fingerprint


def test_replies_in_parts(frames: Frames) -> None:
    sent = completion("")
    sent["choices"][0]["message"]["content"] = [{"type": "text", "text": "y"}, {"text": "es"}]
    with FakeServer(lambda picture, prompt, request: sent) as server:
        assert one(server, frames).reply == "yes"


def test_a_model_that_says_nothing_gives_an_invalid_answer_in_the_end(frames: Frames) -> None:
    with FakeServer(lambda picture, prompt, request: "") as server:
        answer = one(server, frames, "tries=4")
    assert (answer.choice, answer.reply) == (None, "")
    assert len(server.requests) == 4


def test_probabilities_of_the_first_token(frames: Frames) -> None:
    def decide(picture: np.ndarray, prompt: str, request: dict[str, Any]) -> Any:
        assert request["logprobs"]
        return [("Yes", 0.5), ("no", 0.2), (" yes", 0.1), ("Maybe", 0.15)]

    with FakeServer(decide) as server:
        observer = endpoint(server, "logprobs=yes")
        assert observer.readouts == ("choice", "probability")
        (answer,) = observer.choose(frames, [Question((1,), YES_NO)])
    assert answer.choice == 0
    assert answer.probabilities == pytest.approx((0.75, 0.25))
    assert answer.mass == pytest.approx(0.8)


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {},
        {"content": None},
        {"content": []},
        {"content": [{"token": "yes"}]},
        {"content": [{"token": "yes", "top_logprobs": [{"token": "yes"}]}]},
        {"content": ["yes"]},
        {"content": [{"token": "yes", "top_logprobs": []}]},
        {"content": [{"token": "<think>", "top_logprobs": []}]},
        "yes",
    ],
)
def test_a_server_without_usable_probabilities(frames: Frames, logprobs: Any) -> None:
    sent = completion("yes")
    sent["choices"][0]["logprobs"] = logprobs
    with FakeServer(lambda picture, prompt, request: sent) as server:
        answer = one(server, frames, "logprobs=yes")
    assert (answer.choice, answer.probabilities, answer.mass) == (0, None, None)


def test_tokens_and_costs(frames: Frames) -> None:
    with FakeServer() as server:
        unknown = one(server, frames).usage
        assert (unknown.prompt_tokens, unknown.completion_tokens) == (100, 2)
        assert math.isnan(unknown.cost)
        usage = one(server, frames, "price_in=2.5,price_out=10").usage
    assert usage.cost == pytest.approx((100 * 2.5 + 2 * 10) / 1e6)
    sent = completion("yes")
    sent["usage"]["cost"] = 0.125  # some services say it
    with FakeServer(lambda picture, prompt, request: sent) as server:
        assert one(server, frames).usage.cost == 0.125
        assert one(server, frames, "price_in=0,price_out=0").usage.cost == 0
    sent = {key: value for key, value in completion("yes").items() if key != "usage"}
    with FakeServer(lambda picture, prompt, request: sent) as server:
        assert one(server, frames, "price_in=1,price_out=1").usage.prompt_tokens == 0


# Pictures


def levels(values: torch.Tensor) -> Frames:
    size = values.shape[-2:]
    return Frames(values, Field(size[1], size[0], 64.0), display("encoders"), "display")


def test_every_level_arrives_unchanged() -> None:
    ramp = torch.arange(256, dtype=torch.float32).reshape(1, 1, 16, 16).expand(1, 3, 16, 16) / 255
    shifted = ramp.roll(7, dims=3)
    frames = levels(torch.cat([ramp, shifted]))
    for row in range(2):
        read = np.asarray(Image.open(io.BytesIO(png(frames, row))))
        expected = (frames.pixels[row] * 255).round().byte().permute(1, 2, 0).numpy()
        assert read.dtype == np.uint8
        assert np.array_equal(read, expected)


def test_colours_rows_and_columns_keep_their_places() -> None:
    pixels = torch.zeros(1, 3, 2, 3, dtype=torch.float64)
    pixels[0, 0, 0, 2] = 1.0
    pixels[0, 2, 1, 0] = 0.5
    read = np.asarray(Image.open(io.BytesIO(png(levels(pixels), 0))))
    assert read.shape == (2, 3, 3)
    assert read[0, 2].tolist() == [255, 0, 0]
    assert read[1, 0].tolist() == [0, 0, 128]
    assert read.sum() == 255 + 128


def test_values_outside_are_cut() -> None:
    pixels = torch.tensor([-0.1, 1.1]).reshape(1, 1, 1, 2).expand(1, 3, 1, 2)
    read = np.asarray(Image.open(io.BytesIO(png(levels(pixels), 0))))
    assert read[0, :, 0].tolist() == [0, 255]


def test_the_same_pixels_give_the_same_bytes_and_nothing_else(frames: Frames) -> None:
    assert png(frames, 1) == png(replace(frames, pixels=frames.pixels.double()), 1)
    assert png(frames, 1) != png(frames, 2)
    chunks, rest = [], png(frames, 1)[8:]
    while rest:
        length = int.from_bytes(rest[:4], "big")
        chunks.append(rest[4:8])
        rest = rest[12 + length :]
    assert set(chunks) == {b"IHDR", b"IDAT", b"IEND"}


def test_only_pictures_as_a_display_takes_them(frames: Frames) -> None:
    with pytest.raises(ObserverError, match=r"Wants\(light='display', bits=8\)"):
        png(replace(frames, light="cdm2"), 0)
    with pytest.raises(ObserverError, match="still pictures"):
        png(replace(frames, pixels=frames.pixels[:, :, None]), 0)


def test_each_picture_is_written_once(frames: Frames, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def count(shown: Frames, row: int) -> bytes:
        written.append(row)
        return png(shown, row)

    monkeypatch.setattr("fechner.observers.chat.endpoint.png", count)
    questions = [Question((row,), Prompt("Is there?")) for row in (2, 0, 2, 2, 0)]
    with FakeServer() as server:
        list(resolve(f"{server.address}#m").choose(frames, questions))
    assert written == [2, 0]
    shown = (frames.pixels[2] * 255).round().byte().permute(1, 2, 0).numpy()
    assert np.array_equal(picture(data_url(frames, 2)), shown)


# Faults


def row_of(request: Request, frames: Frames) -> int:
    """Which of the pictures was sent."""
    shown = (frames.pixels * 255).round().byte().permute(0, 2, 3, 1).numpy()
    (row,) = [row for row in range(4) if np.array_equal(shown[row], request.pictures[0])]
    return row


def test_with_faults_no_answer_is_lost_doubled_or_exchanged(frames: Frames) -> None:
    def decide(picture: np.ndarray, prompt: str, request: dict[str, Any]) -> Any:
        seen = picture.std() > 3
        return [("Yes" if seen else "No", 0.75), ("No" if seen else "Yes", 0.25)]

    questions = [
        Question((row,), Prompt(f"{ASKED} ({number})"), repeat)
        for row in range(4)
        for number in range(5)
        for repeat in range(6)
    ]
    with FakeServer(decide, faults=0.3, seed=3) as server:
        observer = endpoint(server, "timeout_s=1,logprobs=yes,seed=0")
        answers = list(observer.choose(frames, questions))
    assert sorted(answer.question for answer in answers) == list(range(len(questions)))
    for answer in answers:
        row = questions[answer.question].pictures[0]
        assert answer.choice == (0 if row > 1 else 1)
        assert answer.probabilities[answer.choice] == pytest.approx(0.75)
    # What was answered is not asked again.
    asked = Counter(
        (row_of(request, frames), request.texts[0], request.body["seed"])
        for request in server.answered
    )
    wanted = Counter((q.pictures[0], q.prompt.text, q.repeat) for q in questions)
    assert asked == wanted
    share = 1 - len(server.answered) / len(server.requests)
    assert 0.2 < share < 0.4
    assert len({request.fault for request in server.requests}) > 9  # all of them happened
    assert server.most <= 8


@pytest.mark.parametrize(
    "fault", ["429", "429 soon", "429 later", "408", "409", "500", "502", "503", "529"]
)
def test_statuses_that_are_asked_again(frames: Frames, fault: str) -> None:
    with FakeServer(faults=[fault, fault]) as server:
        assert one(server, frames).choice == 0
    assert [request.fault for request in server.requests] == [fault, fault, None]


@pytest.mark.parametrize("fault", ["cut", "garbage", "empty", "none", "hold"])
def test_answers_that_are_none_are_asked_again(frames: Frames, fault: str) -> None:
    with FakeServer(faults=[fault, fault]) as server:
        assert one(server, frames, "timeout_s=0.2").choice == 0
    assert [request.fault for request in server.requests] == [fault, fault, None]


@pytest.mark.parametrize(
    ("fault", "settings", "message"),
    [
        ("401", "", r"the server says 401: no; put the key into an environment variable .*@key="),
        ("401", "key=MY_KEY", r"401: no; check the key in the environment variable MY_KEY\.$"),
        ("403", "", "the server says 403: no; see your account there"),
        ("404", "", r"404: no; check the address http://127.0.0.1:\d+/v1 .* and the name of the"),
        ("400", "", "400: no; settings after @ decide what is sent: temperature=nan leaves it out"),
        ("422", "", "422: no; settings after @ decide"),
        ("307", "", "307: it points elsewhere; name the address it points to"),
    ],
)
def test_statuses_that_no_repetition_mends(
    frames: Frames, fault: str, settings: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    elsewhere = {"Location": "http://127.0.0.1:9/v1/chat/completions"}
    with (
        FakeServer(
            faults=[fault], message="no" if fault != "307" else "", headers=elsewhere
        ) as server,
        pytest.raises(ObserverError, match="1 of 1 questions were not answered: .*" + message),
    ):
        one(server, frames, settings)
    assert len(server.requests) == 1


def test_errors_within_an_answer_are_errors(frames: Frames) -> None:
    said: list[Any] = [{"code": 429, "message": "busy"}, "odd", {"code": "odd"}, {"code": 401}]

    def decide(picture: np.ndarray, prompt: str, request: dict[str, Any]) -> Any:
        return {"error": said.pop(0)}

    with (
        FakeServer(decide) as server,
        pytest.raises(ObserverError, match="the server says 401; put the key into"),
    ):
        one(server, frames)
    assert len(server.requests) == 4


def test_no_money_left_is_no_crowd(frames: Frames) -> None:
    with (
        FakeServer(faults=["429"], code="insufficient_quota", message="pay") as server,
        pytest.raises(ObserverError, match="429: pay; see your account there"),
    ):
        one(server, frames)
    assert len(server.requests) == 1


def test_nobody_there(frames: Frames) -> None:
    with FakeServer() as server:
        observer = endpoint(server)
    with pytest.raises(
        ObserverError, match=r"4 requests in a row failed: .*/v1 cannot be reached \(.*\); see whe"
    ):
        list(observer.choose(frames, [Question((i,), YES_NO) for i in range(2)]))


def test_a_server_that_goes_away_leaves_what_it_answered(frames: Frames) -> None:
    with FakeServer(faults=[None] * 10 + ["503"] * 999) as server:
        observer = endpoint(server)
        found: list[Answer] = []
        with pytest.raises(ObserverError, match=r"490 of 500 .* in a row failed: .*503"):
            found.extend(observer.choose(frames, [Question((0,), YES_NO)] * 500))
        assert len(found) == 10
        assert len(server.requests) < 150
        # When it is back, it goes on.
        server.faults = 0.0
        assert len(list(observer.choose(frames, [Question((0,), YES_NO)] * 20))) == 20


def test_retry_after_in_seconds_and_as_a_date(frames: Frames) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 95 < _retry_after({"retry-after": later}) <= 100
    naive = later.replace("GMT", "-0000")
    assert 95 < _retry_after({"retry-after": naive}) <= 100
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=100), usegmt=True)
    assert _retry_after({"retry-after": past}) == 0
    assert _retry_after({"retry-after": "3"}) == 3
    assert _retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert _retry_after({}) == 0
    for nonsense in ("soon", "-3", "", "nan", "inf"):
        assert _retry_after({"retry-after": nonsense}) == 0
    with FakeServer(faults=["429"], headers={"Retry-After": "0.4"}) as server:
        started = time.monotonic()
        one(server, frames)
    assert time.monotonic() - started > 0.4


INTERRUPTED = """
import signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores
from fechner.observers import Prompt, Question, resolve
from fechner.stimuli import Field, Stimulus, display, paint

grey = paint([Stimulus((38.0, 40.0, 43.6))], Field(8, 8, 64.0), display("encoders"))
observer = resolve(sys.argv[1])
for answer in observer.choose(grey, [Question((0,), Prompt("?"))] * 50):
    print(answer.reply, flush=True)
"""


@pytest.fixture
def holding() -> Iterator[FakeServer]:
    with FakeServer(faults=[None] + ["hold"] * 99, hold_s=300) as server:
        yield server


def test_an_interruption_does_not_wait_for_what_is_under_way(holding: FakeServer) -> None:
    command = [sys.executable, "-c", INTERRUPTED, f"{holding.address}#m"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "yes\n"
        for _ in range(1000):  # until others are under way
            if len(holding.requests) > 2:
                break
            threading.Event().wait(0.02)
        assert len(holding.requests) > 2
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)  # requests would take 120 s, the server 300
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0


# Names


@pytest.mark.parametrize(
    ("name", "address", "model"),
    [
        ("http://localhost:8000/v1#name", "http://localhost:8000/v1", "name"),
        ("http://localhost:11434/v1/#llava:7b", "http://localhost:11434/v1", "llava:7b"),
        ("http://[::1]:8000/v1#a/b", "http://[::1]:8000/v1", "a/b"),
        ("https://x.example.org/openai/v1#a@b", "https://x.example.org/openai/v1", "a@b"),
        ("https://h#m#n", "https://h", "m#n"),
        ("http://h/v1#mine.py:x", "http://h/v1", "mine.py:x"),
        ("openai/gpt-4o", "https://api.openai.com/v1", "gpt-4o"),
        ("openai/meta/llama:free", "https://api.openai.com/v1", "meta/llama:free"),
    ],
)
def test_names(name: str, address: str, model: str) -> None:
    place = where(name)
    assert (place.address, place.model) == (address, model)
    assert take_apart(name) == (name, {})
    assert take_apart(f"{name}@seed=3,system=a, b")[0] == name
    assert not is_file(name)
    check_name(name)
    check_name(f"{name}@temperature=0.5,detail=low")


def test_the_service_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example.org/v1")
    assert where("openai/m").address == "https://proxy.example.org/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:hush@proxy.example.org/v1")
    with pytest.raises(ObserverError, match="holds no user, password or query") as caught:
        check_name("openai/m")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("http://localhost:8000/v1", "name the model after the address, as in .*/v1#MODEL"),
        ("http://localhost:8000/v1#", "name the model"),
        ("http://#m", "that is no address; those of servers look like http://localhost:8000/v1"),
        ("http://me:hush/v1#m", "that is no address"),
        ("http://me:hush@localhost/v1#m", "holds no user, password or query.*http://localhost/v1#"),
        ("https://hush@localhost/v1#m", "holds no user"),
        ("http://localhost/v1?key=hush#m", "holds no user, password or query"),
        ("http://h/v1#m@price_in=3", "both price_in and price_out"),
        ("http://h/v1#m@key=sk-hush", "the setting key is the name of an environment variable"),
        ("http://h/v1#m@key=hush", "never the key itself"),
        ("http://h/v1#m@detail=some", "no detail named 'some'"),
        ("http://h/v1#m@tries=often", "setting 'tries' is a number"),
    ],
)
def test_names_that_are_none(name: str, message: str) -> None:
    for look in (check_name, resolve):
        with pytest.raises(FechnerError, match=message) as caught:
            look(name)
        assert "hush" not in str(caught.value)


def test_an_unknown_setting_lists_those_there_are() -> None:
    with pytest.raises(UnknownNameError) as caught:
        check_name("http://h/v1#m@temprature=1")
    assert str(caught.value) == (
        "there is no setting named 'temprature'; did you mean 'temperature'? http://HOST/v1#MODEL "
        "has key, temperature, max_tokens, max_completion_tokens, seed, logprobs, top_logprobs, "
        "system, detail, reasoning_effort, revision, second_question, price_in, price_out, "
        "timeout_s, tries, at_once, rpm, batch."
    )
    assert with_settings("http://h/v1#m", {"dtype": "float16", "seed": "3"}) == (
        "http://h/v1#m@seed=3"
    )


def test_names_are_folders() -> None:
    names = [
        "http://localhost:8000/v1#m",
        "http://localhost:8000/v1/m",
        "http://localhost:8000/v1#m@seed=1",
        "openai/m",
    ]
    folders = [slug(name) for name in names]
    assert len(set(folders)) == len(names)
    assert all(set(folder) <= set(slug("a-._") + "-" + folder) for folder in folders)
    assert folders[0].startswith("http-localhost-8000-v1-m-")


def test_the_fingerprint_is_what_replies_depend_on() -> None:
    def fingerprint(settings: str = "", name: str = "http://h/v1#m") -> str:
        return str(resolve(name + (f"@{settings}" if settings else "")).fingerprint)

    first = fingerprint()
    assert "http://h/v1#m" in first
    for other in (
        "temperature=0.5",
        "max_tokens=4",
        "max_completion_tokens=4",
        "seed=1",
        "logprobs=yes",
        "logprobs=yes,top_logprobs=5",
        "system=Be brief.",
        "detail=low",
        "reasoning_effort=low",
        "revision=2",
    ):
        assert fingerprint(other) != first, other
    for same in ("timeout_s=3", "tries=2", "at_once=1", "price_in=1,price_out=2", "rpm=10"):
        assert fingerprint(same) == first, same
    assert fingerprint(name="http://h/v1#n") != first
    assert fingerprint(name="http://g/v1#m") != first
    assert resolve("http://h/v1#m@seed=1,tries=2").name == "http://h/v1#m@seed=1"


def test_every_setting_either_changes_answers_or_is_left_out_of_names() -> None:
    settings = {each.name for each in fields(Endpoint)} - {"model", "spec"}
    for family in ("openai/MODEL", "http://HOST/v1#MODEL", "https://HOST/v1#MODEL"):
        aside = set(families()[family].operational)
        assert aside.isdisjoint(DECODING)
        assert aside | set(DECODING) == settings
