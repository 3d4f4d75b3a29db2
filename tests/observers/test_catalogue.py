"""The catalogue: names, settings, families, spelling, what is missing, and plug-ins."""

import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from fechner.errors import FechnerError, MissingExtraError, ObserverError, UnknownNameError
from fechner.observers import Entry, FunctionEncoder, abilities, catalogue, resolve
from fechner.observers.catalogue import Family, families
from fechner.observers.inputs import NORMALISATIONS, Normalisation
from fechner.observers.names import _settings, check_name, take_apart, with_settings
from fechner.observers.network import Network
from fechner.references import references
from fechner.suites import suites

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


def plug_in(monkeypatch: pytest.MonkeyPatch, *entries: Entry | Family) -> None:
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
        with pytest.raises(FechnerError, match=r"name the observer in it, .*mine\.py:make"):
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


@pytest.mark.usefixtures("fresh")
def test_a_broken_plug_in_takes_nothing_else_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Entry:
        raise ImportError("no such module")

    points = [
        SimpleNamespace(name="broken", load=broken),
        SimpleNamespace(name="theirs", load=lambda: Entry("theirs", "a net", "encodes", "x:make")),
    ]
    entry_points = SimpleNamespace(entry_points=lambda *, group: points)
    monkeypatch.setattr(MODULE, "metadata", entry_points)
    MODULE._entries.cache_clear()
    assert {"pixels", "theirs"} <= set(catalogue())
    assert "plug-in 'broken' is left out: no such module" in caplog.text


# Settings after @


@pytest.mark.parametrize(
    ("spec", "name", "settings"),
    [
        ("pixels", "pixels", {}),
        ("timm/x@size=96", "timm/x", {"size": "96"}),
        ("timm/x@size=96,normalise=none", "timm/x", {"size": "96", "normalise": "none"}),
        ("timm/x@size=96, normalise=none", "timm/x", {"size": "96", "normalise": "none"}),
        ("hf/o/r@weights=a/b=c.pt", "hf/o/r", {"weights": "a/b=c.pt"}),
        ("hf/o/r@masked=", "hf/o/r", {"masked": ""}),
        ("hf/o/r@weights=a@b,c.pt", "hf/o/r", {"weights": "a@b,c.pt"}),
        ("hf/o/r@weights=a@b,c.pt,size=9", "hf/o/r", {"weights": "a@b,c.pt", "size": "9"}),
        # An @ may be part of a name.
        ("hf/owner/model@main", "hf/owner/model@main", {}),
        ("hf/owner/model@main@size=96", "hf/owner/model@main", {"size": "96"}),
        ("models/a@b.onnx", "models/a@b.onnx", {}),
        ("timm/x@", "timm/x@", {}),
        ("", "", {}),
    ],
)
def test_a_name_is_taken_apart(spec: str, name: str, settings: dict[str, str]) -> None:
    assert take_apart(spec) == (name, settings)


@pytest.mark.parametrize(
    ("spec", "settings", "expected"),
    [
        ("pixels", {}, "pixels"),
        ("pixels", {"size": "96", "dtype": "float16"}, "pixels"),
        ("mine.py:make", {"dtype": "float16"}, "mine.py:make"),
        ("nobody", {"dtype": "float16"}, "nobody"),
        ("ours/x", {"dtype": "float16"}, "ours/x@dtype=float16"),
        ("ours/x", {"dtype": "float16", "nonsense": "1"}, "ours/x@dtype=float16"),
        ("ours/x@size=96", {"dtype": "float16"}, "ours/x@size=96,dtype=float16"),
        ("ours/x@size=96", {"size": "64"}, "ours/x@size=64"),
        ("ours/x@size=96,fast=yes", {}, "ours/x@size=96,fast=yes"),
        # What the user wrote is judged later, not dropped here.
        ("ours/x@nonsense=1", {"size": "64"}, "ours/x@nonsense=1,size=64"),
    ],
)
@pytest.mark.usefixtures("ours")
def test_more_settings(spec: str, settings: dict[str, str], expected: str) -> None:
    assert with_settings(spec, settings) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fast=yes", {"fast": True}),
        ("fast=True", {"fast": True}),
        ("fast=1", {"fast": True}),
        ("fast=no", {"fast": False}),
        ("fast=FALSE", {"fast": False}),
        ("fast=0", {"fast": False}),
        ("fast=yes,fast=no", {"fast": False}),  # the last word counts
        ("size=96", {"size": 96}),
        ("gain=0.5", {"gain": 0.5}),
        ("gain=1e-3", {"gain": 0.001}),
        ("weights=12.pt", {"weights": "12.pt"}),
        ("kind=float", {"kind": "float"}),
        ("size=96,fast=yes,weights=a", {"size": 96, "fast": True, "weights": "a"}),
    ],
)
def test_settings_become_values(
    ours: list[dict[str, Any]], text: str, expected: dict[str, Any]
) -> None:
    resolve(f"ours/x@{text}")
    assert ours == [DEFAULTS | expected]
    assert {key: type(ours[0][key]) for key in expected} == {
        key: type(value) for key, value in expected.items()
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size=big", "setting 'size' is a number, not 'big'."),
        ("size=9.5", "setting 'size' is a number, not '9.5'."),
        ("size=", "setting 'size' is a number, not ''."),
        ("gain=loud", "setting 'gain' is a number, not 'loud'."),
        ("fast=maybe", "setting 'fast' is yes or no, not 'maybe'."),
    ],
)
def test_settings_of_another_kind(ours: list[dict[str, Any]], text: str, message: str) -> None:
    for check in (check_name, resolve):
        with pytest.raises(FechnerError) as caught:
            check(f"ours/x@{text}")
        assert str(caught.value) == message
    assert ours == []


@pytest.mark.usefixtures("ours")
def test_an_unknown_setting_lists_those_that_exist() -> None:
    with pytest.raises(UnknownNameError) as caught:
        check_name("ours/x@sise=96")
    assert str(caught.value) == (
        "there is no setting named 'sise'; did you mean 'size'? "
        "ours/NAME has normalise, dtype, weights, size, fast, gain, kind."
    )
    with pytest.raises(UnknownNameError, match="no setting named 'size'; pixels has none"):
        check_name("pixels@size=96")
    # What is given otherwise is no setting.
    for name in ("device", "model", "name", "network", "trust_remote_code"):
        with pytest.raises(UnknownNameError, match=f"no setting named '{name}'"):
            check_name(f"ours/x@{name}=1")


def test_settings_of_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def make(
        device: str = "cpu", geometry: str | None = None, ppd: float = 60.0
    ) -> FunctionEncoder:
        calls.append({"device": device, "geometry": geometry, "ppd": ppd})
        return FunctionEncoder(lambda x: x, name="made")

    monkeypatch.setattr("fechner.observers.baselines.Pixels", make)
    resolve("pixels@geometry=4k,ppd=30")
    assert calls == [{"device": "cpu", "geometry": "4k", "ppd": 30.0}]
    with pytest.raises(UnknownNameError, match="no setting named 'size'; pixels has geometry, ppd"):
        resolve("pixels@size=3")


# Families


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gain * x


OWN = Normalisation(0.25, 0.125)
DEFAULTS = {
    "model": "x",
    "weights": None,
    "size": None,
    "fast": False,
    "gain": 1.0,
    "kind": "plain",
    "trust_remote_code": False,
}


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch, fresh: None) -> list[dict[str, Any]]:
    """A family from a plug-in; returns what its loader was called with."""
    calls: list[dict[str, Any]] = []

    def load(
        model: str,
        *,
        weights: str | None = None,
        size: int | None = None,
        fast: bool = False,
        gain: float = 1.0,
        kind: str = "plain",
        trust_remote_code: bool = False,
    ) -> Network:
        calls.append(
            {
                "model": model,
                "weights": weights,
                "size": size,
                "fast": fast,
                "gain": gain,
                "kind": kind,
                "trust_remote_code": trust_remote_code,
            }
        )
        return Network(Net(), size_px=(size, size) if size else None, normalise=OWN)

    module = ModuleType("somebodys_family")
    module.load = load
    monkeypatch.setitem(sys.modules, "somebodys_family", module)
    family = Family(
        "ours/NAME",
        "models of a plug-in",
        "somebodys_family:load",
        "ours/x",
        needs=(),
        extra="",
        prefix="ours/",
        published={"encoders": {"normalise": "none", "fast": True, "size": 224}},
    )
    plug_in(monkeypatch, family)
    return calls


FAMILIES = families()


def test_families_are_listed() -> None:
    libraries = ("timm/", "hf/", "open_clip/", "diffusers/", "torchvision/", "torch_hub/")
    metrics = ("piq/", "lpips/", "st-lpips/", "pyiqa/", "cmd:")
    servers = ("openai/", "http://", "https://")
    found = {ability: [] for ability in ("encodes", "compares", "answers")}
    for family in FAMILIES.values():
        found[family.ability] += [family.prefix] if family.prefix else []
    assert found == {
        "encodes": list(libraries),
        "compares": list(metrics),
        "answers": list(servers),
    }
    assert [f.suffix for f in FAMILIES.values() if f.suffix] == [".onnx"]
    assert not set(FAMILIES) & set(catalogue())


@pytest.mark.parametrize("label", FAMILIES)
def test_every_family_is_complete(label: str) -> None:
    family = FAMILIES[label]
    assert family.label == label
    assert family.summary
    assert family.ability in ("compares", "encodes", "recognises", "answers")
    assert bool(family.needs) == bool(family.extra)  # what is missing can be installed
    assert bool(family.prefix) != bool(family.suffix)
    assert set(family.published) <= set(suites())
    name, _ = take_apart(family.example)
    assert [other.label for other in FAMILIES.values() if other.takes(name)] == [label]
    assert name not in catalogue()


def test_what_is_missing_can_be_installed_under_its_name() -> None:
    file = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(file.read_text())["project"]["optional-dependencies"]
    wanted = {thing.extra for thing in (*catalogue().values(), *FAMILIES.values()) if thing.extra}
    assert wanted <= set(extras)


@pytest.mark.parametrize("label", [f.label for f in FAMILIES.values() if f.ability == "compares"])
def test_every_family_of_metrics_has_a_loader(label: str) -> None:
    module, _, function = FAMILIES[label].load.partition(":")
    load = getattr(importlib.import_module(module), function)
    parameters = list(inspect.signature(load, eval_str=True).parameters)
    assert parameters[:2] == ["name", "device"]
    assert not {"name", "device"} & set(_settings(FAMILIES[label]))


@pytest.mark.parametrize("label", [f.label for f in FAMILIES.values() if f.ability == "answers"])
def test_every_family_that_answers_has_a_loader(label: str) -> None:
    family = FAMILIES[label]
    for place in (family.load, family.check):
        module, _, function = place.partition(":")
        assert callable(getattr(importlib.import_module(module), function))
    assert not {"model", "spec", "name"} & set(_settings(family))
    check_name(family.example)


@pytest.mark.parametrize("label", [f.label for f in FAMILIES.values() if f.ability == "encodes"])
def test_every_family_has_a_loader(label: str) -> None:
    family = FAMILIES[label]
    module, _, function = family.load.partition(":")
    load = getattr(importlib.import_module(module), function)
    parameters = inspect.signature(load, eval_str=True).parameters
    if "trust_remote_code" in parameters:
        assert parameters["trust_remote_code"].default is False
    # Only the name is given by position, and it is no setting.
    positional = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    known = _settings(family)
    assert len(positional) == 1
    assert not set(positional) & set(known)
    assert {"normalise", "dtype"} <= set(known)
    for settings in family.published.values():
        assert set(settings) <= set(known)
    check_name(family.example)  # its settings exist


@pytest.mark.parametrize("label", FAMILIES)
def test_loaders_do_not_import_their_library_before_they_are_called(label: str) -> None:
    # A name is checked where the library is not installed.
    family = FAMILIES[label]
    module = importlib.import_module(family.load.partition(":")[0])
    assert not [need for need in family.needs if hasattr(module, need)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_precision_is_a_setting(ours: list[dict[str, Any]], dtype: str) -> None:
    observer = resolve(f"ours/x@dtype={dtype}")
    assert observer.module.gain.dtype == getattr(torch, dtype)
    assert ours == [DEFAULTS]


def test_an_unknown_precision_or_normalisation(ours: list[dict[str, Any]]) -> None:
    with pytest.raises(UnknownNameError, match=r"no dtype named 'float8'.*there are float32, "):
        resolve("ours/x@dtype=float8")
    with pytest.raises(UnknownNameError, match=r"no normalise named 'raw'.*own, none"):
        resolve("ours/x@normalise=raw")


@pytest.mark.parametrize("normalise", ["own", *NORMALISATIONS])
def test_normalisation_is_a_setting(ours: list[dict[str, Any]], normalise: str) -> None:
    observer = resolve(f"ours/x@normalise={normalise}")
    assert observer.network.normalise == ({"own": OWN} | NORMALISATIONS)[normalise]
    assert ours == [DEFAULTS]


def test_a_family_from_a_plug_in(ours: list[dict[str, Any]]) -> None:
    assert families()["ours/NAME"].installed
    assert "timm/NAME" in families()
    assert "ours/NAME" not in catalogue()
    spec = "ours/deep/x.y@size=96,normalise=half"
    observer = resolve(spec, trust_remote_code=True)
    assert ours == [DEFAULTS | {"model": "deep/x.y", "trust_remote_code": True, "size": 96}]
    assert observer.name == spec
    assert observer.wants.size_px == (96, 96)
    assert abilities(observer) == ("encodes",)
    assert observer.fingerprint != resolve("ours/deep/x.y").fingerprint
    with pytest.raises(UnknownNameError, match="no observer named 'ours/'"):
        resolve("ours/")


class Answering:
    """An observer, and no network."""

    name, wants, fingerprint = "answering", None, "1"


def loader(monkeypatch: pytest.MonkeyPatch, load: Any, **family: Any) -> None:
    module = ModuleType("somebodys_family")
    module.load = load
    if "check" in family:
        module.check, family["check"] = family["check"], "somebodys_family:check"
    monkeypatch.setitem(sys.modules, "somebodys_family", module)
    where = "somebodys_family:load"
    plug_in(monkeypatch, Family("ours/NAME", "", where, "ours/x", (), "", "ours/", **family))


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("ability", ["compares", "answers", "recognises", "encodes"])
def test_a_family_may_load_the_observer_itself(
    monkeypatch: pytest.MonkeyPatch, ability: str
) -> None:
    calls: list[dict[str, Any]] = []

    def load(model: str, *, spec: str, device: str, gain: float = 1.0) -> Answering:
        calls.append({"model": model, "spec": spec, "device": device, "gain": gain})
        return Answering()

    loader(monkeypatch, load, ability=ability)
    observer = resolve("ours/a/b@gain=2", device="meta", trust_remote_code=True)
    assert isinstance(observer, Answering)
    assert calls == [{"model": "a/b", "spec": "ours/a/b@gain=2", "device": "meta", "gain": 2.0}]


@pytest.mark.usefixtures("fresh")
def test_settings_of_networks_go_to_what_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def load(model: str, *, dtype: str = "float32") -> Network | Answering:
        calls.append(dtype)
        return Network(Net()) if model == "net" else Answering()

    loader(monkeypatch, load)
    network = resolve("ours/net@dtype=bfloat16,normalise=half")
    assert network.module.gain.dtype == torch.bfloat16
    assert network.network.normalise == NORMALISATIONS["half"]
    assert isinstance(resolve("ours/other@dtype=float16"), Answering)
    assert calls == ["bfloat16", "float16"]
    # Nobody would normalise.
    with pytest.raises(ObserverError, match="'ours/other' has no setting 'normalise'; leave it"):
        resolve("ours/other@normalise=half")


@pytest.mark.usefixtures("fresh")
def test_a_family_may_refuse_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(model: str, *, gain: float = 1.0) -> Answering:
        return Answering()

    def check(name: str, *, gain: float = 1.0) -> None:
        if gain < 0 or name == "ours/none":
            raise ObserverError("no such thing.")

    loader(monkeypatch, load, check=check, ability="answers")
    for look in (check_name, resolve):
        look("ours/x@gain=1")
        for name in ("ours/none", "ours/x@gain=-1"):
            with pytest.raises(ObserverError, match="no such thing"):
                look(name)


def test_published_settings_of_a_family(ours: list[dict[str, Any]]) -> None:
    observer = resolve("ours/x", suite="encoders", published=True)
    assert ours.pop() == DEFAULTS | {"fast": True, "size": 224}
    assert observer.network.normalise == NORMALISATIONS["none"]
    # What is said goes before what was published.
    observer = resolve("ours/x@size=96,normalise=clip", suite="encoders", published=True)
    assert ours.pop() == DEFAULTS | {"fast": True, "size": 96}
    assert observer.network.normalise == NORMALISATIONS["clip"]
    for settings in ({"suite": "encoders"}, {"suite": "metrics", "published": True}):
        observer = resolve("ours/x", **settings)
        assert ours.pop() == DEFAULTS
        assert observer.network.normalise == OWN
    published = families()["ours/NAME"].published["encoders"]
    assert published == {"normalise": "none", "fast": True, "size": 224}  # not used up


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("timm/resnet50.a1_in1k", "timm/NAME"),
        ("hf/openai/clip-vit-base-patch32", "hf/REPOSITORY"),
        ("models/mine.onnx", "path/to/FILE.onnx"),
        ("mine.onnx", "path/to/FILE.onnx"),
        ("openai/gpt-4o-mini", "openai/MODEL"),
        ("http://localhost:8000/v1#name", "http://HOST/v1#MODEL"),
        ("https://h.example.org/v1#name", "https://HOST/v1#MODEL"),
        ("http:/h#name", None),
        ("timm/", None),
        (".onnx", None),
        ("timm", None),
        ("my/timm/x", None),
        ("mine.onnx.txt", None),
        ("pixels", None),
    ],
)
def test_names_belong_to_families(name: str, label: str | None) -> None:
    taken = [family.label for family in FAMILIES.values() if family.takes(name)]
    assert taken == ([] if label is None else [label])


def test_a_file_in_a_folder_named_as_a_family_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*name: str, **settings: Any) -> Network:
        raise AssertionError("taken for a model of the family")

    monkeypatch.setattr("fechner.observers.adapters.transformers.load", refuse)
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf/mine.py").write_text("def means(pictures):\n    return pictures.mean((2, 3))\n")
    monkeypatch.chdir(tmp_path)
    check_name("hf/mine.py:means")
    assert isinstance(resolve("hf/mine.py:means"), FunctionEncoder)


@pytest.mark.parametrize(
    ("spec", "missing", "extra"),
    [
        ("timm/resnet50.a1_in1k", "timm", "timm"),
        ("timm/resnet50.a1_in1k@size=96", "torchvision", "timm"),
        ("hf/facebook/dinov2-small", "transformers", "transformers"),
        ("open_clip/ViT-B-32/openai", "open_clip", "open_clip"),
        ("diffusers/a/b", "diffusers", "diffusers"),
        ("torchvision/resnet50", "torchvision", "torchvision"),
        ("torch_hub/a/b/c", "torchvision", "torchvision"),
        ("mine.onnx", "onnxruntime", "onnx"),
        ("openai/gpt-4o-mini", "openai", "openai"),
        ("http://localhost:8000/v1#name@seed=1", "openai", "openai"),
    ],
)
def test_missing_extra_of_a_family(
    monkeypatch: pytest.MonkeyPatch, spec: str, missing: str, extra: str
) -> None:
    found = SimpleNamespace(find_spec=lambda package: None if package == missing else object())
    monkeypatch.setattr(MODULE, "util", found)
    (family,) = [f for f in families().values() if f.takes(take_apart(spec)[0])]
    assert not family.installed
    check_name(spec)
    with pytest.raises(MissingExtraError) as caught:
        resolve(spec)
    assert str(caught.value) == (
        f"observer '{spec}' needs an extra package ({missing} is not installed): "
        f"pip install 'fechner[{extra}]'."
    )
