"""A server that speaks as OpenAI's does: requests to it, and what their failures mean.

Whatever is said of a failure holds no keys and no pictures, for it is shown, logged and stored.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from fechner.errors import ObserverError
from fechner.observers.chat.requests import RequestError
from fechner.observers.hub import environment

#: The variable from which the client of that name takes its key.
SERVICE_KEY = "OPENAI_API_KEY"
#: What the client sends of the environment without being told to; only its own service may see it.
_PERSONAL = ("OPENAI_ADMIN_KEY", "OPENAI_CUSTOM_HEADERS", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
#: Everybody who may log requests.
_LOGGERS = ("openai", "httpx", "httpx2", "httpcore", "httpcore2")
#: Under which a service keeps our name of a batch, and how many batches are searched for it.
_OUR_NAME, _MOST_LISTED = "fechner", 1000

_LONGEST_MESSAGE = 200
#: Keys by the looks of them, and pictures.
_SECRETS = re.compile(
    r"(?i)\b(?:bearer|basic)\s+\S+"
    r"|\b(?:api[ _-]?key|token|authorization)[\"']?\s*[:=]\s*(?:(?:bearer|basic)\s+)?\S+"
    r"|\b(?:(?:sk|pk|rk|xai|nvapi)-|(?:sk|pk|rk|gsk|hf|ghp)_|aiza|eyj)[\w*.-]{6,}"
    r"|data:[\w/+.-]+;base64,\S*"
    r"|[a-z0-9+/=]{40,}"
)


class DeclinedError(Exception):
    """A question that the server would not pass on to the model; its reason is the reply."""


class Client:
    """A server that answers over HTTP; every failure is a `RequestError`.

    Parameters
    ----------
    key_name
        The environment variable with the key; empty for none.
    own
        Whether it is the service that the client's environment variables are meant for.
    """

    def __init__(self, address: str, key_name: str, timeout_s: float, own: bool) -> None:
        self.address = address
        self.key_name = key_name
        self._timeout_s = timeout_s
        self._own = own

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the key, which is looked up anew.
        return Client, (self.address, self.key_name, self._timeout_s, self._own)

    @cached_property
    def _key(self) -> str:
        return secret(self.key_name)

    def open(self) -> None:
        """Make the client now, not in one of the threads that use it: it reads the environment."""
        _ = self._client

    @cached_property
    def _client(self) -> Any:
        import openai

        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        with environment({} if self._own else dict.fromkeys(_PERSONAL)):
            client = openai.OpenAI(
                base_url=self.address,
                api_key=self._key or "none",  # servers that want no key take any
                max_retries=0,
                timeout=openai.Timeout(self._timeout_s, connect=min(10.0, self._timeout_s)),
                http_client=openai.DefaultHttpxClient(
                    # Pictures go to the address that was named and to no other.
                    follow_redirects=False,
                    trust_env=not _is_this_computer(self.address),
                ),
            )
        weakref.finalize(self, client.close)  # connections are kept from question to question
        return client

    def chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request for a reply; return the response."""
        with self._in_words():
            raw = self._client.chat.completions.with_raw_response.create(**body)
        response = raw.http_response
        found = _json(response.text)
        if not isinstance(found, dict):
            raise RequestError("the server's answer is not JSON")
        if found.get("choices") or not (error := found.get("error")):
            return found
        # Services that pass requests on say with 200 that somebody else failed.
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 502
        raise self.refusal(status, response.text, response.headers)

    def upload(self, content: bytes) -> str:
        """Upload a file of requests; return its id."""
        file = ("requests.jsonl", content)
        with self._in_words():
            return str(self._client.files.create(file=file, purpose="batch").id)

    def create_batch(self, file: str, name: str) -> str:
        """Submit a file of requests under a name of ours; return the id of the batch."""
        with self._in_words():
            batch = self._client.batches.create(
                input_file_id=file,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_OUR_NAME: name},
            )
            return str(batch.id)

    def find_batch(self, name: str) -> str:
        """Return the id of the batch that was submitted under a name, empty if none was."""
        with self._in_words():
            for each in itertools.islice(self._client.batches.list(limit=100), _MOST_LISTED):
                if (each.metadata or {}).get(_OUR_NAME) == name:
                    return str(each.id)
        return ""

    def batch(self, number: str) -> dict[str, Any]:
        """Return the status of a batch."""
        with self._in_words():
            return dict(self._client.batches.retrieve(number).model_dump())

    def download(self, file: str) -> str:
        """Return the content of a file."""
        with self._in_words():
            return str(self._client.files.content(file).text)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Make a `RequestError` of whatever the library raises."""
        import openai

        failure: RequestError | DeclinedError
        try:
            yield
            return
        except openai.APIStatusError as error:
            failure = self.refusal(error.status_code, error.response.text, error.response.headers)
        except openai.APITimeoutError:
            failure = RequestError(f"no answer within {self._timeout_s:g} s")
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            unreached = type(cause).__name__ == "ConnectError"
            said = self.scrub(str(cause)) or type(cause).__name__
            why = f"{self.address} cut the connection ({said})"
            if unreached:
                why = f"{self.address} cannot be reached ({said}); see whether a server runs there"
            failure = RequestError(why, unreached=unreached)
        except openai.OpenAIError as error:
            failure = RequestError(f"{type(error).__name__}: {self.scrub(str(error))}", fatal=True)
        # What the library raised may quote the request, so it is not handed on.
        raise failure from None

    def refusal(
        self, status: int, text: str, headers: Mapping[str, str] | None = None
    ) -> RequestError | DeclinedError:
        """Return what a status of an error means."""
        code, message = _message(text)
        said = f"the server says {status}" + (f": {self.scrub(message)}" if message else "")
        no_credit = status == 429 and code == "insufficient_quota"
        if (status in (408, 409, 429) or status >= 500) and not no_credit:
            return RequestError(said, wait_s=_retry_after(headers or {}))
        if status < 400:
            return RequestError(
                f"{said}: it points elsewhere; name the address it points to", fatal=True
            )
        key = (
            f"check the key in the environment variable {self.key_name}"
            if self.key_name
            else "put the key into an environment variable and name that after the model, as in "
            "@key=NAME"
        )
        place = f"check the address {self.address} (mostly ends with /v1) and the name of the model"
        remedies = {401: key, 404: place} | dict.fromkeys((402, 403, 429), "see your account there")
        if status in remedies:
            return RequestError(f"{said}; {remedies[status]}", fatal=True)
        if "content" in code and ("filter" in code or "policy" in code):
            return DeclinedError(self.scrub(message))
        return RequestError(
            f"{said}; settings after @ decide what is sent: temperature=nan leaves it out, "
            "max_completion_tokens=N replaces max_tokens",
            retry=False,
        )

    def scrub(self, text: str) -> str:
        """Return a message on one line, short, without keys and pictures."""
        text = _SECRETS.sub("…", self.without_key(" ".join(text.split())))
        return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"

    def without_key(self, text: str) -> str:
        """Return a text without our own key, should a server repeat it."""
        return text.replace(self._key, "…") if self._key else text


def secret(variable: str) -> str:
    """Return the key that an environment variable holds, empty for no variable."""
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip() if re.fullmatch(r"\w+", variable) else ""
    if key and key.isascii() and key.isprintable():
        return key
    if key:
        problem = f"the key in the variable {variable} holds characters that cannot be sent."
    elif variable == SERVICE_KEY:
        problem = f"there is no key: put it into the environment variable {variable}."
    else:  # what was given may be the key itself, so it is not repeated
        problem = (
            "the setting key is the name of an environment variable that holds the key, never the "
            "key itself; no variable of the name that was given is set."
        )
    raise ObserverError(problem)


def _json(text: str) -> Any:
    with suppress(ValueError):
        return json.loads(text)
    return None


def _message(text: str) -> tuple[str, str]:
    """Return code and message of an error in any of the shapes in which servers give them."""
    found = _json(text)
    error = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(error, dict):
        return "", str(error or "")
    message = error.get("message") or error.get("detail") or error.get("error") or ""
    return str(error.get("code") or "").lower(), str(message)


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return how many seconds a server asks to wait, from a number or a date.

    Examples
    --------
    >>> _retry_after({"retry-after": "2.5"}), _retry_after({"retry-after": "soon"})
    (2.5, 0.0)
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name, "")
        if re.fullmatch(r"\d+(\.\d+)?", text.strip()):
            return float(text) * unit
        with suppress(TypeError, ValueError):
            date = parsedate_to_datetime(text)
            date = date if date.tzinfo else date.replace(tzinfo=UTC)
            return max(0.0, (date - datetime.now(UTC)).total_seconds())
    return 0.0


def _is_this_computer(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"
