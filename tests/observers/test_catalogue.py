"""The catalogue: names, spelling, what is missing, and plug-ins."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fechner.errors import FechnerError, MissingExtraError, ObserverError, UnknownNameError
from fechner.observers import Entry, FunctionEncoder, abilities, catalogue, resolve
from fechner.references import references

# The package offers the function under the module's name.
MODULE = importlib.import_module("fechner.observers.catalogue")


@pytest.fixture
def fresh() -> Iterator[None]:
    """Forget the plug-ins before and after."""
    MODULE._entries.cache_clear()
    yield
    MODULE._entries.cache_clear()


def maker(module_name: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Install a module with a ``make`` that records what it is called with."""
    calls: list[dict[str, Any]] = []

    def make(**settings: Any) -> FunctionEncoder:
        calls.append(settings)
        return FunctionEncoder(lambda x: x, name="made")

    module = ModuleType(module_name)
    module.make = make
    monkeypatch.setitem(sys.modules, module_name, module)
    return calls


def plug_in(monkeypatch: pytest.MonkeyPatch, *entries: Entry) -> None:
    def entry_points(*, group: str) -> list[SimpleNamespace]:
        assert group == "fechner.observers"
        return [SimpleNamespace(load=lambda entry=entry: entry) for entry in entries]

    monkeypatch.setattr(MODULE, "metadata", SimpleNamespace(entry_points=entry_points))
    MODULE._entries.cache_clear()


@pytest.mark.parametrize("name", ["pixels", "standard-observer"])
def test_built_in_observers_have_what_their_entry_says(name: str) -> None:
    observer = resolve(name)
    entry = catalogue()[name]
    assert observer.name == name
    assert entry.ability in abilities(observer)
    assert observer.fingerprint is not None


def test_every_entry_is_complete() -> None:
    for name, entry in catalogue().items():
        assert name == entry.name
        assert entry.summary
        assert entry.ability in ("compares", "encodes", "recognises", "answers")
        assert entry.reference is None or entry.reference in references()
        assert bool(entry.needs) == bool(entry.extra)  # what is missing can be installed
        module, _, function = entry.make.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize(
    ("name", "near"),
    [("pixel", "pixels"), ("PIXELS", "pixels"), ("cvvpd", "cvvdp"), ("zzzzzzzz", None)],
)
def test_unknown_names(name: str, near: str | None) -> None:
    with pytest.raises(UnknownNameError, match=f"no observer named '{name}'") as caught:
        resolve(name)
    message = str(caught.value)
    assert (f"did you mean '{near}'?" in message) == (near is not None)
    assert "fechner list observers" in message
    assert "path/to/file.py:name" in message


def test_a_file_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def means(pictures):\n    return pictures.mean(dim=(2, 3))\n")
    observer = resolve(f"{path}:means")
    assert abilities(observer) == ("encodes",)
    assert observer.name == f"{path}:means"


def test_a_file_without_what_is_in_it_is_explained(tmp_path: Path) -> None:
    for spec in (tmp_path / "mine.py", f"{tmp_path / 'mine.py'}:"):
        with pytest.raises(
            ObserverError, match=r"name the function or class in it .*mine\.py:make"
        ):
            resolve(str(spec))


@pytest.mark.parametrize("missing", ["pycvvdp", "torchvision"])
def test_missing_extra(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    found = SimpleNamespace(find_spec=lambda package: None if package == missing else object())
    monkeypatch.setattr(MODULE, "util", found)
    assert not catalogue()["cvvdp"].installed
    with pytest.raises(MissingExtraError, match=f"'cvvdp' needs .*{missing} is not installed") as e:
        resolve("cvvdp")
    assert "pip install 'fechner[cvvdp]'" in str(e.value)
    assert isinstance(e.value, FechnerError)


def test_core_observers_need_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "util", SimpleNamespace(find_spec=lambda package: None))
    assert catalogue()["pixels"].installed
    assert resolve("pixels").name == "pixels"


@pytest.mark.usefixtures("fresh")
def test_a_plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = maker("somebodys_package", monkeypatch)
    plug_in(monkeypatch, Entry("theirs/net", "a net", "encodes", "somebodys_package:make"))
    assert "pixels" in catalogue()
    assert catalogue()["theirs/net"].installed
    assert resolve("theirs/net", device="cpu").name == "made"
    assert calls == [{"device": "cpu"}]
    with pytest.raises(UnknownNameError, match="did you mean 'theirs/net'"):
        resolve("theirs/nett")


@pytest.mark.usefixtures("fresh")
def test_published_settings_of_a_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = maker("somebodys_package", monkeypatch)
    entry = Entry(
        "theirs",
        "a net",
        "encodes",
        "somebodys_package:make",
        published={"encoders": {"normalise": False}},
    )
    plug_in(monkeypatch, entry)
    resolve("theirs", suite="encoders")
    resolve("theirs", suite="encoders", published=True)
    resolve("theirs", suite="metrics", published=True)
    resolve("theirs", published=True)
    default = {"device": "cpu"}
    assert calls == [default, {**default, "normalise": False}, default, default]
