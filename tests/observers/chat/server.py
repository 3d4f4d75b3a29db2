"""A server on loopback that speaks as OpenAI's does, decides answers by a function, and has faults.

    with FakeServer(lambda picture, prompt, request: "yes") as server:
        resolve(f"{server.address}#name")

Every request is kept, so that tests can say what was sent, how often, and with which headers.
"""

import base64
import io
import json
import math
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np
from PIL import Image

#: What can be decided of a request: the first picture, [h, w, 3] of 8 bits, the text of the
#: question, and all that was sent. A dictionary is sent as it is, a string as a reply, pairs of
#: tokens and probabilities as the reply of the likeliest with the log-probabilities of all.
Decide = Callable[[np.ndarray, str, dict[str, Any]], Any]

#: The faults of a plan, each as likely as the others.
FAULTS = ("429", "429 soon", "429 later", "500", "503", "hold", "cut", "garbage", "empty", "none")


@dataclass
class Request:
    """What came in, and what became of it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    fault: str | None = None

    @property
    def texts(self) -> list[str]:
        parts = self.body["messages"][-1]["content"]
        return [part["text"] for part in parts if part["type"] == "text"]

    @property
    def pictures(self) -> list[np.ndarray]:
        users = [each["content"] for each in self.body["messages"] if each["role"] == "user"]
        parts = [part for content in users for part in content]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return [picture(url) for url in urls]


def picture(url: str) -> np.ndarray:
    head, _, data = url.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data, validate=True))))


@dataclass
class FakeServer:
    """Answers ``POST /v1/chat/completions``.

    Parameters
    ----------
    faults
        The share of requests that fail, or which fault each request has, in turn, as long as there
        are any; a fault that is a number is sent as the status.
    hold_s
        How long a connection is held that gives no answer; longer than clients wait.
    """

    decide: Decide = lambda picture, prompt, request: "yes"
    faults: float | list[str | None] = 0.0
    seed: int = 0
    hold_s: float = 5.0
    requests: list[Request] = field(default_factory=list)
    #: What an error says, and more headers for it.
    message: str = "no"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    #: The most requests that were there at once.
    most: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._lock = threading.Lock()
        self._there = 0
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._handle(self)

            def do_GET(self) -> None:
                outer.get(self)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

            def handle_error(self, *_: Any) -> None:
                """Clients may go away whenever they like."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def answered(self) -> list[Request]:
        return [request for request in self.requests if request.fault is None]

    def _fault(self) -> str | None:
        if isinstance(self.faults, list):
            return self.faults.pop(0) if self.faults else None
        if self._chance.random() >= self.faults:
            return None
        return self._chance.choice(FAULTS)

    def _handle(self, http: BaseHTTPRequestHandler) -> None:
        content = http.rfile.read(int(http.headers["Content-Length"]))
        with self._lock:
            fault = self._fault()
            headers = {name.lower(): value for name, value in http.headers.items()}
            request = Request(http.path, headers, json.loads(content), fault)
            self.requests.append(request)
            self._there += 1
            self.most = max(self.most, self._there)
        try:
            if fault is None and http.path == "/v1/chat/completions":
                _send(http, 200, json.dumps(self._completion(request)))
            else:
                self._fail(http, fault or "404", request)
        finally:
            with self._lock:
                self._there -= 1

    def get(self, http: BaseHTTPRequestHandler) -> None:
        """Know nothing to be fetched."""
        _send(http, 404, "{}")

    def _completion(self, request: Request) -> dict[str, Any]:
        decided = self.decide(request.pictures[0], request.texts[0], request.body)
        if isinstance(decided, dict):
            return decided
        return completion(decided)

    def _fail(self, http: BaseHTTPRequestHandler, fault: str, request: Request) -> None:
        after = {"429 soon": {"Retry-After": "0"}, "429 later": {"Retry-After": "0.01"}}
        if fault == "hold":
            self._ended.wait(self.hold_s)
            http.close_connection = True
        elif fault == "cut":
            http.send_response(200)
            http.send_header("Content-Type", "application/json")
            http.send_header("Content-Length", "1000")
            http.end_headers()
            http.wfile.write(b'{"choices": [{"mess')
            http.close_connection = True
        elif fault == "garbage":
            _send(http, 200, '{"choices": [{"message": {"content": "yes"')
        elif fault == "empty":
            _send(http, 200, json.dumps(completion("")))
        elif fault == "none":
            _send(http, 200, json.dumps({"id": "x", "choices": []}))
        else:
            error = {"message": self.message, "code": self.code, "type": "fault"}
            headers = after.get(fault, self.headers)
            _send(http, int(fault[:3]), json.dumps({"error": error}), headers)


def completion(reply: Any, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """What a server sends back for a reply, or for tokens with their probabilities."""
    logprobs = None
    if not isinstance(reply, str):
        likely = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in reply]
        reply = max(reply, key=lambda pair: pair[1])[0]
        logprobs = {"content": [{"token": reply, "logprob": 0.0, "top_logprobs": likely}]}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": reply, **message},
        "finish_reason": finish,
        "logprobs": logprobs,
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [choice],
        "usage": {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102},
    }


def _send(
    http: BaseHTTPRequestHandler, status: int, text: str, headers: dict[str, str] | None = None
) -> None:
    body = text.encode()
    http.send_response(status)
    for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
        http.send_header(name, value)
    http.send_header("Content-Length", str(len(body)))
    http.end_headers()
    http.wfile.write(body)
