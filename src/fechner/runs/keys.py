"""Keys: what a stored answer depends on, as one hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

from fechner.experiments import Experiment, Piece
from fechner.observers.abilities import Ability


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
    return thing


def digest(value: Any) -> str:
    """Return the sha256 of a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def piece_key(experiment: Experiment, piece: Piece, fingerprint: str) -> str:
    """Return the key of one piece for one observer; mode and seed are among the parameters."""
    return digest([parameters(experiment), piece.name, fingerprint])


def fingerprint_of(known: dict[str, Any], asks: Ability) -> str:
    """Return what an observer's answers depend on when an ability is asked, as a manifest has it.

    Manifests of before observers had several know one for all.
    """
    found: str = known.get("fingerprints", {}).get(asks, known["fingerprint"])
    return found
