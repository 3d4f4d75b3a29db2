"""Fetching weights: whether a hub can be reached, and what is said when it cannot."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from huggingface_hub import constants

from fechner.errors import FechnerError, ObserverError
from fechner.observers import hub
from fechner.observers.hub import (
    HUGGING_FACE_CACHE,
    TORCH_CACHE,
    environment,
    fetching,
    reachable,
)
from fechner.observers.weights import MissingWeightsError


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what was asked before, and the proxies of this machine."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    reachable.cache_clear()
    yield
    reachable.cache_clear()


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def address(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/some/path"


@pytest.fixture
def closed() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return address(server)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[str, int], float]]:
    """Let no connection be made; return those that would have been."""
    asked: list[tuple[tuple[str, int], float]] = []

    def create_connection(where: tuple[str, int], timeout: float) -> socket.socket:
        asked.append((where, timeout))
        raise TimeoutError("timed out")

    monkeypatch.setattr(hub.socket, "create_connection", create_connection)
    return asked


# Whether it can be reached


def test_a_server_that_listens_is_reachable(server: socket.socket) -> None:
    assert reachable(address(server))
    connection, _ = server.accept()
    with connection:
        connection.settimeout(5)
        assert connection.recv(1) == b""  # and was hung up on


def test_a_closed_port_is_not_reachable(closed: str) -> None:
    assert not reachable(closed)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("https://hub.example", ("hub.example", 443)),
        ("http://hub.example/models", ("hub.example", 80)),
        ("https://hub.example:8443/models", ("hub.example", 8443)),
        ("http://[::1]:5000", ("::1", 5000)),
    ],
)
def test_ports_of_addresses(
    connections: list[tuple[tuple[str, int], float]], where: str, expected: tuple[str, int]
) -> None:
    assert not reachable(where)
    ((asked, seconds),) = connections
    assert asked == expected
    assert 0 < seconds <= 10  # people wait for this


def test_it_is_asked_once_per_process(
    connections: list[tuple[tuple[str, int], float]],
) -> None:
    for _ in range(3):
        assert not reachable("https://hub.example")
    assert len(connections) == 1
    assert not reachable("https://other.example")
    assert len(connections) == 2


def test_behind_a_proxy_the_answer_is_yes(monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    monkeypatch.setattr(hub, "getproxies", lambda: {"http": "http://proxy.example:3128"})
    assert reachable(closed)
    reachable.cache_clear()
    monkeypatch.setattr(hub, "getproxies", dict)
    assert not reachable(closed)


@pytest.mark.parametrize(
    ("variables", "scheme", "asked"),
    [
        ({}, "https", True),
        ({"https_proxy": "http://proxy.example:3128"}, "https", False),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, "https", False),
        ({"all_proxy": "socks5://proxy.example"}, "https", False),
        ({"http_proxy": "http://proxy.example:3128"}, "http", False),
        # A proxy for other addresses.
        ({"http_proxy": "http://proxy.example:3128"}, "https", True),
        ({"https_proxy": "http://proxy.example:3128", "no_proxy": "hub.example"}, "https", True),
        ({"https_proxy": "http://proxy.example:3128", "no_proxy": "*"}, "https", True),
        ({"https_proxy": "http://proxy.example:3128", "no_proxy": "a.example"}, "https", False),
        # An exception without a rule.
        ({"no_proxy": "localhost"}, "https", True),
        ({"NO_PROXY": "localhost"}, "https", True),
        ({"https_proxy": ""}, "https", True),
    ],
)
def test_proxies_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
    connections: list[tuple[tuple[str, int], float]],
    variables: dict[str, str],
    scheme: str,
    asked: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    # There is no such server: what is not asked for is taken to be behind the proxy.
    assert reachable(f"{scheme}://hub.example") is not asked
    assert len(connections) == asked


# Fetching


@pytest.fixture
def hugging_face(monkeypatch: pytest.MonkeyPatch, closed: str) -> ModuleType:
    """The client's settings, with a hub that cannot be reached."""
    monkeypatch.setattr(constants, "ENDPOINT", closed)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return constants


class HubHTTPError(Exception):
    pass


def chain(*errors: BaseException) -> BaseException:
    """Return the first, caused by the second, caused by the third ..."""
    for error, cause in pairwise(errors):
        error.__cause__ = cause
    return errors[0]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (OSError("no route to host"), "OSError: no route to host"),
        (FileNotFoundError("model.safetensors"), "FileNotFoundError: model.safetensors"),
        (ConnectionRefusedError(), "ConnectionRefusedError"),
        (chain(RuntimeError("failed.\nmore"), OSError("x")), "RuntimeError: failed"),
        (
            chain(RuntimeError("failed"), ValueError("odd"), TimeoutError("slow")),
            "RuntimeError: failed",
        ),
        (HubHTTPError("Cannot connect to the hub"), "HubHTTPError: Cannot connect to the hub"),
        (ValueError("this is OFFLINE mode"), "ValueError: this is OFFLINE mode"),
        (
            RuntimeError("x/y does not appear to have a file named config.json"),
            "RuntimeError: x/y does not appear to have a file named config.json",
        ),
    ],
)
@pytest.mark.usefixtures("hugging_face")
def test_what_could_not_be_fetched_is_missing(error: Exception, cause: str) -> None:
    with pytest.raises(MissingWeightsError) as caught, fetching("timm/x", "model.safetensors of x"):
        raise error
    assert str(caught.value) == str(
        MissingWeightsError("timm/x", "model.safetensors of x", HUGGING_FACE_CACHE, cause)
    )
    assert f"({cause})" in str(caught.value)
    assert caught.value.__cause__ is error


@pytest.mark.usefixtures("hugging_face")
def test_an_error_while_handling_an_error_counts_too() -> None:
    def load() -> None:
        try:
            raise ConnectionResetError("gone")
        except ConnectionResetError:
            raise ValueError("no config") from None

    with pytest.raises(MissingWeightsError, match="ValueError: no config"), fetching("x", "y"):
        load()


@pytest.mark.usefixtures("hugging_face")
def test_the_cache_is_named() -> None:
    with (
        pytest.raises(MissingWeightsError, match=r"copy the folder TORCH_HOME \(~/.cache/torch\)"),
        fetching("torchvision/x", "x.pth", TORCH_CACHE),
    ):
        raise OSError("no route")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("unknown architecture 'x'.\nlong explanation"),
        chain(RuntimeError("size mismatch"), KeyError("weight")),
        AssertionError(),
        TypeError("unexpected keyword"),
    ],
)
@pytest.mark.usefixtures("hugging_face")
def test_other_errors_are_one_sentence(error: Exception) -> None:
    with pytest.raises(ObserverError) as caught, fetching("timm/x", "model.safetensors"):
        raise error
    message = str(caught.value)
    kind = type(error).__name__
    first = str(error).split("\n")[0].rstrip(".")
    expected = f"{kind}: {first}" if first else kind
    assert message == f"'timm/x' could not be loaded ({expected})."
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        MissingWeightsError("inner", "inner.pt", TORCH_CACHE),
        ObserverError("the weights in 'x.pt' do not fit Net; 1 are missing: bias."),
    ],
)
@pytest.mark.usefixtures("hugging_face")
def test_a_sentence_of_our_own_is_not_wrapped_in_another(error: FechnerError) -> None:
    with pytest.raises(FechnerError) as caught, fetching("timm/x", "model.safetensors"):
        raise error
    assert caught.value is error


@pytest.mark.usefixtures("hugging_face")
def test_what_can_be_fetched_is_handed_on() -> None:
    with fetching("timm/x", "model.safetensors"):
        found = "model"
    assert found == "model"


@pytest.mark.usefixtures("hugging_face")
def test_an_interrupt_stays_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), fetching("timm/x", "model.safetensors"):
        raise KeyboardInterrupt


# What is changed meanwhile


def test_the_hub_is_left_alone_where_it_cannot_be_reached(hugging_face: ModuleType) -> None:
    with fetching("timm/x", "model.safetensors"):
        assert hugging_face.HF_HUB_OFFLINE is True
    assert hugging_face.HF_HUB_OFFLINE is False


def test_the_hub_is_asked_where_it_can_be_reached(
    hugging_face: ModuleType, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hugging_face, "ENDPOINT", address(server))
    with fetching("timm/x", "model.safetensors"):
        assert hugging_face.HF_HUB_OFFLINE is False
    assert hugging_face.HF_HUB_OFFLINE is False


def test_who_wants_no_network_is_not_asked_for_one(
    hugging_face: ModuleType,
    server: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
    connections: list[tuple[tuple[str, int], float]],
) -> None:
    monkeypatch.setattr(hugging_face, "ENDPOINT", address(server))
    monkeypatch.setattr(hugging_face, "HF_HUB_OFFLINE", True)
    with fetching("timm/x", "model.safetensors"):
        assert hugging_face.HF_HUB_OFFLINE is True
    assert hugging_face.HF_HUB_OFFLINE is True
    assert connections == []


@pytest.mark.parametrize("error", [OSError, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("seconds", [None, 33.0])
def test_settings_are_restored_after_an_error(
    hugging_face: ModuleType, error: type[BaseException], seconds: float | None
) -> None:
    meanwhile: list[float | None] = []

    def load() -> None:
        assert hugging_face.HF_HUB_OFFLINE is True
        meanwhile.append(socket.getdefaulttimeout())
        raise error

    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        with pytest.raises((FechnerError, KeyboardInterrupt)), fetching("x", "y"):
            load()
        (timeout,) = meanwhile
        assert timeout is not None
        assert 0 < timeout <= 10  # nothing hangs
        assert hugging_face.HF_HUB_OFFLINE is False
        assert socket.getdefaulttimeout() == seconds
    finally:
        socket.setdefaulttimeout(before)


@pytest.mark.usefixtures("hugging_face")
def test_the_timeout_is_restored_after_fetching() -> None:
    before = socket.getdefaulttimeout()
    with fetching("x", "y"):
        assert socket.getdefaulttimeout() not in (None, before)
    assert socket.getdefaulttimeout() == before


def test_the_client_of_hugging_face_may_be_absent(
    monkeypatch: pytest.MonkeyPatch, connections: list[tuple[tuple[str, int], float]]
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with fetching("torchvision/x", "x.pth", TORCH_CACHE):
        found = "model"
    assert found == "model"
    assert connections == []  # there is no hub to ask
    with pytest.raises(MissingWeightsError), fetching("torchvision/x", "x.pth", TORCH_CACHE):
        raise OSError("no route")


class Malicious:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.usefixtures("hugging_face")
def test_no_library_runs_code_from_a_pickle_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    trace, path = tmp_path / "trace", tmp_path / "weights.pt"
    torch.save({"weight": torch.ones(1), "callback": Malicious(trace)}, path)
    with pytest.raises(ObserverError, match="could not be loaded"), fetching("x", "y"):
        torch.load(path, weights_only=False)
    assert not trace.exists()
    assert os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] == "1"
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ
    torch.load(path, weights_only=False)
    assert trace.exists()  # it would have been run


@pytest.mark.parametrize("error", [None, ValueError])
def test_environment_variables_are_restored(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception] | None
) -> None:
    for name, value in (("FECHNER_A", "1"), ("FECHNER_B", "2")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FECHNER_C", raising=False)

    def look() -> dict[str, str]:
        return {name[-1]: os.environ[name] for name in os.environ if name.startswith("FECHNER_")}

    with (
        suppress(ValueError),
        environment({"FECHNER_A": "3", "FECHNER_B": None, "FECHNER_C": "4"}),
    ):
        meanwhile = look()
        if error is not None:
            raise error
    assert meanwhile == {"A": "3", "C": "4"}
    assert look() == {"A": "1", "B": "2"}
