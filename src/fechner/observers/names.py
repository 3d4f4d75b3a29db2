"""Names of observers with settings, and making the observer that a name stands for.

Settings follow a name after ``@``, as in ``timm/resnet50.a1_in1k@size=288,normalise=none``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_origin

from fechner.errors import FechnerError, MissingExtraError, ObserverError, UnknownNameError
from fechner.observers.abilities import Observer
from fechner.observers.catalogue import Entry, Family, at, catalogue, families
from fechner.observers.custom import FACTORY, from_file
from fechner.observers.network import Network, encoder
from fechner.observers.questions import Reads
from fechner.python_files import is_python_file, split_spec

#: Settings that are not the loader's business.
_OF_EVERY_NETWORK = ("normalise", "dtype")


def take_apart(spec: str) -> tuple[str, dict[str, str]]:
    """Split a name from its settings.

    Examples
    --------
    >>> take_apart("timm/vit_tiny_patch16_224@size=96,normalise=none")
    ('timm/vit_tiny_patch16_224', {'size': '96', 'normalise': 'none'})
    """
    # Values may hold either sign themselves: paths do.
    name, *text = re.split(r"@(?=\w+=)", spec, maxsplit=1)
    pairs = (part.partition("=") for part in re.split(r",\s*(?=\w+=)", text[0])) if text else ()
    return name, {key: value for key, _, value in pairs}


def _parse(spec: str) -> tuple[str, dict[str, str], Entry | Family | None]:
    """Return a name, its settings as text, and what the name stands for; None for a file."""
    name, texts = take_apart(spec)
    if name in catalogue():
        return name, texts, catalogue()[name]
    if is_file(name):
        return name, texts, None
    return name, texts, next((each for each in families().values() if each.takes(name)), None)


def _put_together(name: str, settings: Mapping[str, str]) -> str:
    return name + ("@" + ",".join(f"{k}={v}" for k, v in settings.items()) if settings else "")


def with_settings(spec: str, settings: Mapping[str, str]) -> str:
    """Return a name with more settings, leaving out those that its observer does not have.

    Examples
    --------
    >>> with_settings("timm/vit_tiny_patch16_224@size=96", {"dtype": "bfloat16"})
    'timm/vit_tiny_patch16_224@size=96,dtype=bfloat16'
    >>> with_settings("pixels", {"dtype": "bfloat16"})
    'pixels'
    """
    name, own, entry = _parse(spec)
    known = _settings(entry) if entry else {}
    return _put_together(name, {**own, **{k: v for k, v in settings.items() if k in known}})


def kept_name(spec: str) -> str:
    """Return the name under which results are kept: without settings that change no answer.

    Examples
    --------
    >>> kept_name("http://localhost:8000/v1#qwen@temperature=0.7,tries=3,key=MY_KEY")
    'http://localhost:8000/v1#qwen@temperature=0.7'
    >>> kept_name("pixels")
    'pixels'
    """
    name, own, entry = _parse(spec)
    if entry is None or not own:
        return spec
    return _put_together(name, {k: v for k, v in own.items() if k not in entry.operational})


def settings_of(spec: str) -> dict[str, Any]:
    """Return the settings of a name as values, with those that it leaves as they are.

    Examples
    --------
    >>> settings = settings_of("http://localhost:8000/v1#qwen@price_in=0.15")
    >>> settings["price_in"], settings["max_tokens"]
    (0.15, 128)
    """
    _, own, entry = _parse(spec)
    if entry is None:
        return {}
    known = {k: p.default for k, p in _settings(entry).items() if p.default is not p.empty}
    return {**known, **_values(entry, own)}


def reads_of(spec: str) -> Reads | None:
    """Return what an observer makes of words, without making it; None if that is not known.

    Examples
    --------
    >>> reads_of("openai/any"), reads_of("open_clip/ViT-B-32/laion2b_s34b_b79k"), reads_of("pixels")
    ('questions', 'labels', 'nothing')
    """
    name, _, entry = _parse(spec)
    if isinstance(entry, Entry):
        return None if entry.ability == "answers" else "nothing"
    if entry is None or entry.missing:
        return None
    reads: Any = entry.reads
    if ":" in reads:
        reads = at(reads)(name.removeprefix(entry.prefix))
    return reads or None


def is_file(name: str) -> bool:
    """Whether a name stands for something in a Python file.

    Examples
    --------
    >>> is_file("mine.py:metric"), is_file("cmd:python mine.py"), is_file("http://host#a.py")
    (True, False, False)
    """
    schemes = [each for each in families().values() if each.prefix.endswith((":", "://"))]
    return is_python_file(name) and not any(family.takes(name) for family in schemes)


def check_name(spec: str) -> None:
    """Say what is wrong with a name, without making the observer."""
    name, settings, entry = _parse(spec)
    if entry is not None:
        values = _values(entry, settings)
        if isinstance(entry, Family) and entry.check:
            at(entry.check)(name, **values)
        return
    if not is_file(spec):
        how = "`fechner list observers` shows them, and path/to/file.py:name is your own"
        raise UnknownNameError("observer", spec, [*catalogue(), *families()], how)
    if settings:
        raise ObserverError(
            f"'{name}' is your own and takes no settings; return "
            "fechner.observe(model, wants=..., mean=..., std=...) from it instead."
        )
    split_spec(spec, *FACTORY)


def resolve(
    spec: str,
    *,
    device: str = "cpu",
    suite: str | None = None,
    published: bool = False,
    trust_remote_code: bool = False,
) -> Observer:
    """Make the observer that a name stands for.

    Parameters
    ----------
    suite, published
        Take the settings under which the published numbers of that suite were made.
    trust_remote_code
        Whether code that comes with the weights may be run.

    Examples
    --------
    >>> resolve("pixels").layers
    ('pixels',)
    """
    check_name(spec)
    name, texts, entry = _parse(spec)
    if entry is None:
        return from_file(spec, device)
    if entry.missing:
        cause = f"{entry.missing} is not installed"
        raise MissingExtraError(f"observer '{spec}'", entry.extra, cause)
    settings = dict(entry.published.get(suite or "", {})) if published else {}
    settings.update(_values(entry, texts))
    observer: Observer
    if isinstance(entry, Entry):
        observer = at(entry.make)(device=device, **settings)
        return observer
    load = at(entry.load)
    takes = inspect.signature(load).parameters
    outer = {key: settings.pop(key) for key in _OF_EVERY_NETWORK if key in settings}
    kept = kept_name(spec)
    given = {"spec": kept, "device": device, "trust_remote_code": trust_remote_code, **outer}
    settings.update({key: value for key, value in given.items() if key in takes})
    observer = load(name.removeprefix(entry.prefix), **settings)
    if isinstance(observer, Network):
        return encoder(observer, name=kept, device=device, **outer)
    if unknown := [key for key in outer if key not in takes]:
        raise ObserverError(f"'{name}' has no setting '{unknown[0]}'; leave it out.")
    return observer


def _settings(entry: Entry | Family) -> dict[str, inspect.Parameter]:
    """Return what can be set after ``@``: the arguments of what makes the observer."""
    if isinstance(entry, Entry):
        functions = [at(entry.make)]
    else:
        # What is loaded to encode is mostly a network, which has settings of its own.
        functions = [*([encoder] if entry.ability == "encodes" else []), at(entry.load)]
    given = ("self", "model", "network", "name", "spec", "device", "trust_remote_code")
    return {
        key: parameter
        for function in functions
        for key, parameter in inspect.signature(function, eval_str=True).parameters.items()
        if key not in given and parameter.kind is not parameter.VAR_KEYWORD
    }


def _values(entry: Entry | Family, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return settings as the values that the maker takes."""
    known = _settings(entry) if texts else {}
    values: dict[str, Any] = {}
    for key, text in texts.items():
        if key not in known:
            there = ", ".join(known) or "none"
            raise UnknownNameError("setting", key, known, f"{entry.label} has {there}")
        values[key] = _value(key, text, known[key].annotation)
    return values


def _value(key: str, text: str, annotation: Any) -> Any:
    """Return the text of a setting as a value of an annotated kind."""
    if get_origin(annotation) is Literal:
        known = get_args(annotation)
        if text not in known:
            raise UnknownNameError(key, text, known, f"there are {', '.join(known)}")
        return text
    switches = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
    converters: dict[str, Callable[[str], Any]] = {
        "bool": lambda text: switches[text.lower()],
        "int": int,
        "float": float,
    }
    for kind, convert in converters.items():
        if kind in str(annotation):
            try:
                return convert(text)
            except (KeyError, ValueError):
                wanted = "yes or no" if kind == "bool" else "a number"
                raise FechnerError(f"setting '{key}' is {wanted}, not '{text}'.") from None
    return text
