"""A batch service on loopback: files and batches beside chat, as OpenAI's client speaks to them."""

import json
import re
from http.server import BaseHTTPRequestHandler
from typing import Any

from observers.chat.server import FakeServer, Request, _send


class BatchServer(FakeServer):
    """Works a batch off when it was asked about it ``polls`` times.

    Parameters
    ----------
    bad_lines
        Of each batch, so many of the first lines fail with 500, as long as there are batches in it.
    """

    def __init__(self, *arguments: Any, polls: int = 1, **settings: Any) -> None:
        self.polls = polls
        self.bad_lines: list[int] = []
        self.ends: list[str] = []
        self.lose_replies = 0
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.asked_about: dict[str, int] = {}
        super().__init__(*arguments, **settings)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return every request of every batch that was submitted."""
        files = [self.files[batch["input_file_id"]] for batch in self.batches.values()]
        return [json.loads(line) for text in files for line in text.splitlines()]

    def _handle(self, http: BaseHTTPRequestHandler) -> None:
        path = http.path.partition("?")[0]
        if path == "/v1/chat/completions":
            super()._handle(http)
            return
        content = http.rfile.read(int(http.headers["Content-Length"]))
        with self._lock:
            if path == "/v1/files":
                text = re.split(rb"\r\n\r\n", content[content.index(b"filename=") :], maxsplit=1)[1]
                number = f"file-{len(self.files)}"
                self.files[number] = text[: text.index(b"\r\n--")].decode()
                _send(http, 200, json.dumps(self._file(number)))
                return
            wanted = json.loads(content)
            number = f"batch-{len(self.batches)}"
            self.batches[number] = self._batch(number, wanted)
            if self.lose_replies:
                self.lose_replies -= 1
                http.close_connection = True
                return
            _send(http, 200, json.dumps(self.batches[number]))

    def get(self, http: BaseHTTPRequestHandler) -> None:
        path = http.path.partition("?")[0]
        parts = path.split("/")
        with self._lock:
            if path == "/v1/batches":
                found = list(reversed(self.batches.values()))
                body = {"object": "list", "data": found, "has_more": False}
                _send(http, 200, json.dumps(body))
            elif parts[2] == "batches":
                _send(http, 200, json.dumps(self._looked_after(parts[3])))
            else:
                _send(http, 200, self.files[parts[3]])

    def _file(self, number: str) -> dict[str, Any]:
        return {
            "id": number,
            "object": "file",
            "bytes": 1,
            "created_at": 1,
            "filename": "f",
            "purpose": "batch",
            "status": "processed",
        }

    def _batch(self, number: str, wanted: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": number,
            "object": "batch",
            "created_at": 1,
            "status": "in_progress",
            "endpoint": wanted["endpoint"],
            "completion_window": wanted["completion_window"],
            "input_file_id": wanted["input_file_id"],
            "metadata": wanted.get("metadata"),
        }

    def _looked_after(self, number: str) -> dict[str, Any]:
        batch = self.batches[number]
        self.asked_about[number] = self.asked_about.get(number, 0) + 1
        if batch["status"] != "in_progress" or self.asked_about[number] < self.polls:
            return batch
        batch["status"] = self.ends.pop(0) if self.ends else "completed"
        if batch["status"] == "failed":
            batch["errors"] = {"object": "list", "data": [{"code": "x", "message": "too many"}]}
            return batch
        requests = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        bad = self.bad_lines.pop(0) if self.bad_lines else 0
        if batch["status"] == "expired":
            requests = requests[: len(requests) // 2]
        good = []
        for each in requests[bad:]:
            body = self._completion(Request(each["url"], {}, each["body"]))
            response = {"status_code": 200, "request_id": "r", "body": body}
            good.append({"id": "l", "custom_id": each["custom_id"], "response": response})
        failed = [
            {
                "id": "l",
                "custom_id": each["custom_id"],
                "response": {"status_code": 500, "body": {"error": {"message": "busy"}}},
            }
            for each in requests[:bad]
        ]
        for kind, lines in (("output_file_id", good), ("error_file_id", failed)):
            if lines:
                file = f"file-{len(self.files)}"
                # Lines come in any order.
                self.files[file] = "".join(json.dumps(each) + "\n" for each in reversed(lines))
                batch[kind] = file
        return batch
