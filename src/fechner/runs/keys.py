"""Keys: what a stored answer depends on, as one hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from fechner.observers.abilities import Ability
from fechner.suites.base import Test, may_ask


def parameters(thing: Any) -> Any:
    """Return a dataclass as plain JSON values, with the names of its classes.

    Fields that are not compared are left out: nothing that is measured depends on them.

    Examples
    --------
    >>> from fechner.stimuli import Gabor
    >>> parameters(Gabor(4.0, sigma_deg=0.5))["kind"]
    'Gabor'
    """
    if is_dataclass(thing) and not isinstance(thing, type):
        compared = [field.name for field in fields(thing) if field.compare]
        values = {name: parameters(getattr(thing, name)) for name in compared}
        return {"kind": type(thing).__name__, **values}
    if isinstance(thing, tuple | list):
        return [parameters(item) for item in thing]
    if isinstance(thing, dict):
        return {key: parameters(value) for key, value in thing.items()}
    return thing


def digest(value: Any) -> str:
    """Return the sha256 of a JSON value."""
    return _hash(_text(value))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def piece_keys(test: Test, among: Mapping[str, Test], known: Mapping[str, Any]) -> dict[str, str]:
    """Return the key of each piece of a test for one observer, by the name of the piece.

    Mode and seed are among the parameters; what a test comes after is part of it.

    Parameters
    ----------
    among
        Tests by name, with those that this one comes after.
    known
        What the manifest has of the observer.
    """
    experiment = test.experiment
    whole = _text(parameters(experiment))
    rest = [fingerprint_of(known, experiment.asks), *earlier(test, among, known)]
    if test.fingerprint:
        rest.append(test.fingerprint)
    tail = ",".join(_text(each) for each in rest)
    return {
        piece.name: _hash(f"[{whole},{_text(piece.name)},{tail}]") for piece in experiment.pieces()
    }


def earlier(test: Test, among: Mapping[str, Test], known: Mapping[str, Any]) -> list[Any]:
    """Return what the answers that a test is measured with depend on: nothing, for most."""
    return [
        [
            parameters(other.experiment),
            fingerprint_of(known, other.experiment.asks)
            if may_ask(other, known.get("lacks", []))
            else None,
            *earlier(other, among, known),
        ]
        for other in (among[name] for name in test.after)
    ]


def fingerprint_of(known: Mapping[str, Any], asks: Ability) -> str:
    """Return what an observer's answers depend on when an ability is asked, as a manifest has it.

    Manifests of before observers had several know one for all.
    """
    found: str = known.get("fingerprints", {}).get(asks, known["fingerprint"])
    return found
