"""LPIPS: the real loading code with random backbones, against the package by hand."""

from pathlib import Path

import pytest
import torch
from comparing import check_manners, differences, gabors, photos, pick

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers import resolve
from fechner.observers.metrics.lpips import ABOUT
from fechner.observers.metrics.packages import import_package, quietly
from fechner.observers.weights import MissingWeightsError

FILES = {
    "alex": "alexnet-owt-7be5be79.pth",
    "squeeze": "squeezenet1_1-b8a52dc0.pth",
    "vgg": "vgg16-397923af.pth",
}


@pytest.mark.parametrize("name", FILES)
def test_equals_the_package_by_hand(
    name: str, cached: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    observer = resolve(f"lpips/{name}")
    assert capfd.readouterr() == ("", "")
    assert observer.about == ABOUT[f"lpips/{name}"]
    package = import_package("lpips", "lpips/alex", "lpips")
    with quietly():
        module = package.LPIPS(net=name, verbose=False).to(getattr(torch, observer.wants.dtype))
    pictures = photos(observer, 2)
    with torch.no_grad():
        expected = module(pictures.pixels[:1], pictures.pixels[1:], normalize=True)
    (found,) = differences(observer, pick(pictures, 0), pick(pictures, 1))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    assert found > 0


@pytest.mark.parametrize("name", ["alex", "squeeze"])
def test_manners(name: str, cached: Path) -> None:
    check_manners(resolve(f"lpips/{name}"))


def test_weak_contrasts_count_in_proportion_to_their_square(cached: Path) -> None:
    observer = resolve("lpips/alex@precision=float32")
    assert observer.wants.dtype == "float32"
    weak = differences(observer, gabors(observer, [1e-3, 2e-3]), gabors(observer, [0.0]))
    assert (weak[1] / weak[0]).item() == pytest.approx(4, rel=0.02)


def test_a_file_instead_of_the_cache(
    cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = resolve("lpips/alex").fingerprint
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "empty"))
    file = cached / FILES["alex"]
    assert resolve(f"lpips/alex@weights={file}").fingerprint == own
    other = torch.load(file)
    other["features.0.weight"] *= 0.5
    torch.save({"state_dict": other}, tmp_path / "mine.pth")
    changed = resolve(f"lpips/alex@weights={tmp_path / 'mine.pth'}").fingerprint
    assert changed != own
    assert changed is not None
    assert not (tmp_path / "empty").exists()


def test_a_file_of_another_network(cached: Path) -> None:
    with pytest.raises(ObserverError, match="'lpips/alex' could not be loaded"):
        resolve(f"lpips/alex@weights={cached / FILES['squeeze']}")
    with pytest.raises(ObserverError, match=r"there is no weights file 'nowhere\.pth'"):
        resolve("lpips/alex@weights=nowhere.pth")


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("name", FILES)
def test_missing_weights(name: str) -> None:
    with pytest.raises(MissingWeightsError) as caught:
        resolve(f"lpips/{name}")
    said = str(caught.value)
    assert said.startswith(f"the weights of 'lpips/{name}', {FILES[name]}, are not on this machine")
    assert "TORCH_HOME" in said
    assert "--weights PATH" in said


def test_unknown_names() -> None:
    with pytest.raises(
        UnknownNameError, match="did you mean 'alex'\\? there are alex, squeeze, vgg"
    ):
        resolve("lpips/alexnet")
