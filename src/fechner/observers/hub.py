"""Fetching weights: from a hub where it can be reached, from its cache where it cannot."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fechner.errors import FechnerError, ObserverError
from fechner.observers.weights import MissingWeightsError, cause_of

#: Where the libraries keep what they fetched, for people.
HUGGING_FACE_CACHE = "the folder HF_HOME (~/.cache/huggingface)"
TORCH_CACHE = "the folder TORCH_HOME (~/.cache/torch)"

_SECONDS_TO_CONNECT = 5.0
#: Torch then reads tensors from files, and runs no code of theirs, whoever asks it to.
_TENSORS_ONLY = {"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": None}

#: What the Hugging Face client raises for a file that is not in its cache.
_NOT_CACHED = ("LocalEntryNotFoundError", "OfflineModeIsEnabled")
_SIGNS = ("download", "connect", "internet", "offline", "not appear to have a file", "resolve")


@cache
def reachable(address: str) -> bool:
    """Whether a server can be connected to; asked once per process.

    Behind a proxy nothing can be said beforehand, so the answer is yes.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    if {parts.scheme, "all"} & getproxies().keys() and not proxy_bypass(host):
        return True
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((host, port), _SECONDS_TO_CONNECT).close()
    except OSError:
        return False
    return True


@contextmanager
def fetching(name: str, file: str, cache: str = HUGGING_FACE_CACHE) -> Iterator[None]:
    """Load a model inside this: quietly; what is missing becomes one sentence, and nothing hangs.

    ``file`` is what is fetched, as a person would look for it.
    """
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SECONDS_TO_CONNECT)
    try:
        with _cache_only_if_unreachable() as cache_only, environment(_TENSORS_ONLY), quietly():
            yield
    except FechnerError:
        raise
    except Exception as error:
        causes = list(_chain(error))
        texts = " ".join(map(str, causes)).lower()
        # A file that was not there or could not be fetched, by the errors of any library.
        if any(isinstance(each, OSError) for each in causes) or any(s in texts for s in _SIGNS):
            only_cached = cache_only and any(type(e).__name__ in _NOT_CACHED for e in causes)
            cause = "the hub cannot be reached" if only_cached else cause_of(error)
            raise MissingWeightsError(name, file, cache, cause) from error
        raise ObserverError(f"'{name}' could not be loaded ({cause_of(error)}).") from error
    finally:
        socket.setdefaulttimeout(before)


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables, or take them away where None, for a while."""
    before = {name: os.environ.pop(name) for name in variables if name in os.environ}
    os.environ.update({name: value for name, value in variables.items() if value is not None})
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
        os.environ.update(before)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep libraries from logging and warning of what becomes an error of ours, or is none."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)  # or some set up logging for the whole program
    before = root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        root.removeHandler(handler)


@contextmanager
def _cache_only_if_unreachable() -> Iterator[bool]:
    """Keep the Hugging Face client from trying for a minute per file where there is no network.

    Gives whether only its cache is looked into.
    """
    try:
        from huggingface_hub import constants
    except ImportError:
        yield False
        return
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not reachable(constants.ENDPOINT)
    try:
        yield constants.HF_HUB_OFFLINE
    finally:
        constants.HF_HUB_OFFLINE = before


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Go from an error to what caused it, and on."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
