"""A key is sent in one header to the server it is for, and is nowhere else, whatever goes wrong."""

import logging
import pickle
import traceback
from typing import Any

import pytest
from observers.chat.server import FakeServer, completion

from fechner.errors import FechnerError
from fechner.observers import Prompt, Question, resolve
from fechner.observers.chat.client import Client
from fechner.observers.chat.endpoint import Endpoint
from fechner.observers.validation import validate
from fechner.stimuli import Frames

KEY = "sk-proj-Zx81mQvT7rW2"
ODD_KEY = "correct horse/battery+staple"
QUESTION = Question((2,), Prompt("Is there? Respond just yes or no"))


def text_of(thing: Any, depth: int = 3) -> str:
    """Everything that printing, formatting or looking at the public members of a thing shows."""
    shown = [repr(thing), str(thing)]
    if depth and hasattr(thing, "__dict__"):
        for name, value in vars(thing).items():
            if not name.startswith("_"):
                shown.append(text_of(value, depth - 1))
    return "\n".join(shown)


@pytest.fixture(params=[KEY, ODD_KEY])
def key(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MY_KEY", request.param)
    return str(request.param)


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    return caplog


def keyed(server: FakeServer, settings: str = "") -> Endpoint:
    observer = resolve(f"{server.address}#m@key=MY_KEY{settings}")
    assert isinstance(observer, Endpoint)
    return observer


def test_the_key_is_in_one_header_only(
    frames: Frames, key: str, everything_logged: pytest.LogCaptureFixture, capfd: Any
) -> None:
    with FakeServer() as server:
        observer = keyed(server)
        answers = list(observer.choose(frames, [QUESTION]))
    (request,) = server.requests
    headers = dict(request.headers)
    assert headers.pop("authorization") == f"Bearer {key}"
    assert key not in str(headers)
    assert key not in str(request.body)
    assert key not in request.path
    shown = text_of(observer) + text_of(answers) + str(observer.fingerprint) + observer.name
    assert "MY_KEY" in shown  # its name may be known
    assert key not in shown
    printed = "".join(capfd.readouterr())
    for told in (everything_logged.text, printed):
        assert key not in told
        assert "base64" not in told
        assert "iVBOR" not in told  # with which every PNG begins, in base 64


@pytest.mark.parametrize("fault", ["400", "401", "403", "404", "429", "500", "cut", "garbage"])
def test_a_server_that_repeats_the_key_is_not_repeated(
    frames: Frames, key: str, fault: str, everything_logged: pytest.LogCaptureFixture
) -> None:
    message = f"Incorrect API key provided: {key}. Header was 'Authorization: Bearer {key}'"
    with FakeServer(faults=[fault] * 99, message=message) as server:
        observer = keyed(server, ",tries=2")
        with pytest.raises(FechnerError) as caught:
            list(observer.choose(frames, [QUESTION]))
        found = validate(observer)
    logging.getLogger("fechner").error("failed", exc_info=caught.value)  # as runs do
    told = "".join(traceback.format_exception(caught.value))
    assert found.problems
    for text in (told, str(caught.value), everything_logged.text, text_of(found)):
        assert key not in text
        assert "Bearer" not in text
        assert "base64" not in text
    assert caught.value.__cause__ is None


def test_a_reply_that_repeats_the_key_is_kept_without_it(frames: Frames, key: str) -> None:
    sent = completion(f"yes, and your key is {key}")
    with FakeServer(lambda picture, prompt, request: sent) as server:
        (answer,) = keyed(server).choose(frames, [QUESTION])
    assert answer.choice == 0
    assert answer.reply == "yes, and your key is …"


def test_no_key_goes_where_it_was_not_sent(frames: Frames, monkeypatch: pytest.MonkeyPatch) -> None:
    private = {
        "OPENAI_API_KEY": KEY,
        "OPENAI_ADMIN_KEY": "sk-admin-Zx81mQvT7rW2",
        "OPENAI_ORG_ID": "org-private",
        "OPENAI_PROJECT_ID": "proj-private",
        "OPENAI_CUSTOM_HEADERS": "X-Private: private",
    }
    for name, value in private.items():
        monkeypatch.setenv(name, value)
    with FakeServer() as server:
        list(resolve(f"{server.address}#m").choose(frames, [QUESTION]))
        headers = str(server.requests[0].headers)
        assert "Bearer none" in headers
        assert KEY not in headers
        assert "private" not in headers
        assert "admin" not in headers
        # The service that these are meant for gets what its client sends.
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        observer = resolve("openai/m")
        list(observer.choose(frames, [QUESTION]))
    headers = server.requests[1].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["openai-organization"] == "org-private"
    assert server.requests[1].body["model"] == "m"
    assert KEY not in text_of(observer)


def test_the_service_without_a_key_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FechnerError, match="put it into the environment variable OPENAI_API_KEY"):
        resolve("openai/m")
    monkeypatch.setenv("OTHER", KEY)
    assert resolve("openai/m@key=OTHER").name == "openai/m"


def test_a_redirection_is_not_followed(frames: Frames) -> None:
    with FakeServer() as other:
        elsewhere = {"Location": f"{other.address}/chat/completions"}
        with (
            FakeServer(faults=["307", "308", "302"], headers=elsewhere) as server,
            pytest.raises(FechnerError, match="it points elsewhere"),
        ):
            list(resolve(f"{server.address}#m").choose(frames, [QUESTION]))
    assert other.requests == []


def test_a_proxy_is_not_asked_for_this_computer(
    frames: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer() as proxy, FakeServer() as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        list(resolve(f"{server.address}#m").choose(frames, [QUESTION]))
    assert (len(proxy.requests), len(server.requests)) == (0, 1)


@pytest.mark.parametrize(
    ("message", "scrubbed"),
    [
        (
            "model `qwen2.5-vl-72b-instruct` is unknown",
            "model `qwen2.5-vl-72b-instruct` is unknown",
        ),
        ("bad key sk-abc***xyz, sorry", "bad key …, sorry"),
        ("token hf_abcdefghij is bad", "token … is bad"),
        ("Authorization: Bearer abc", "…"),
        ('{"api_key": "abc"}', '{"…'),
        ("image data:image/png;base64,iVBORw0KGgo= is", "image … is"),
        ("A" * 60 + " is bad", "… is bad"),
        ("two\n\n  lines", "two lines"),
        ("word " * 100, ("word " * 100)[:199] + "…"),
        ("my secret word", "my … word"),
    ],
)
def test_messages_without_secrets(
    message: str, scrubbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    server = Client("http://h", "MY_KEY", timeout_s=1, own=False)
    assert server.scrub(message) == scrubbed


def test_an_endpoint_travels_without_its_key(frames: Frames, key: str) -> None:
    with FakeServer() as server:
        observer = resolve(f"{server.address}#m@key=MY_KEY")
        list(observer.choose(frames, [QUESTION]))
        written = pickle.dumps(observer)
        assert key.encode() not in written
        # Where it arrives, the variable is looked up.
        list(pickle.loads(written).choose(frames, [QUESTION]))
    assert server.requests[1].headers["authorization"] == f"Bearer {key}"


@pytest.mark.parametrize("unsendable", ["sk-first\nsk-second", "sk-\u00fc\u00fc\u00fc", "sk-\x7f"])
def test_a_key_that_no_header_holds(monkeypatch: pytest.MonkeyPatch, unsendable: str) -> None:
    monkeypatch.setenv("MY_KEY", unsendable)
    with pytest.raises(FechnerError, match="MY_KEY holds characters that cannot be sent") as caught:
        resolve("http://h/v1#m@key=MY_KEY")
    assert "sk-" not in str(caught.value)
