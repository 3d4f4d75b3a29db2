"""LPIPS, ST-LPIPS and DISTS against their packages called by hand."""

from pathlib import Path
from typing import Any

import pytest
import torch
from comparing import check_manners, differences, gabors, photos, pick

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers import resolve
from fechner.observers.metrics.metric import declared, import_package, quietly
from fechner.observers.weights import MissingWeightsError

# LPIPS: the real loading code with random backbones, against the package by hand


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
    assert observer.about == declared(f"lpips/{name}")
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


# ST-LPIPS: as the package has it, with its own weights


@pytest.fixture(scope="module")
def package() -> Any:
    return import_package("stlpips_pytorch.stlpips", "st-lpips/alex", "st-lpips")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["alex", "vgg"])
def test_equals_the_package_by_hand_st_lpips(
    name: str, package: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    observer = resolve(f"st-lpips/{name}")
    assert capfd.readouterr() == ("", "")
    assert observer.about == declared(f"st-lpips/{name}")
    with quietly():
        module = package.LPIPS(net=name, variant="shift_tolerant")
    pictures = photos(observer, 2)
    with torch.no_grad():
        expected = module(pictures.pixels[:1], pictures.pixels[1:], normalize=True)
    (found,) = differences(observer, pick(pictures, 0), pick(pictures, 1))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_manners_st_lpips() -> None:
    check_manners(resolve("st-lpips/alex"))


def test_a_small_shift_counts_little() -> None:
    observer = resolve("st-lpips/alex")
    pictures = photos(observer, 2)
    shifted = pick(pictures, 0)
    shifted.pixels.copy_(shifted.pixels.roll(1, dims=3))
    one, other = pick(pictures, 0), pick(pictures, 1)
    assert differences(observer, shifted, one) < 0.1 * differences(observer, other, one)


def test_fingerprint_holds_the_weights() -> None:
    first, second = (resolve("st-lpips/alex").fingerprint for _ in range(2))
    assert first == second
    assert first is not None
    assert "stlpips-pytorch 0." in first
    assert len(first.rsplit("/", 1)[1]) == 64


def test_unknown_names_st_lpips() -> None:
    with pytest.raises(UnknownNameError, match="no network of ST-LPIPS named 'squeeze'"):
        resolve("st-lpips/squeeze")


# DISTS: the rearranged formula is the published one, and has digits near threshold


@pytest.fixture
def module(cached: Path) -> Any:
    package = import_package("DISTS_pytorch", "dists", "dists")
    with quietly():
        module = package.DISTS(load_weights=False)
    own = torch.load(Path(package.__file__).with_name("weights.pt"), weights_only=True)
    module.alpha.data, module.beta.data = own["alpha"], own["beta"]
    return module.double()


def test_equals_the_package_by_hand_dists(module: Any, capfd: pytest.CaptureFixture[str]) -> None:
    observer = resolve("dists")
    assert capfd.readouterr() == ("", "")
    assert observer.about == declared("dists")
    pictures = photos(observer, 2)
    expected = module(pictures.pixels[:1].double(), pictures.pixels[1:].double()).item()
    (found,) = differences(observer, pick(pictures, 0), pick(pictures, 1))
    assert found.item() == pytest.approx(expected, rel=1e-4)
    assert 0 < found < 1
    check_manners(observer)

    weak, grey = gabors(observer, [2e-3]), gabors(observer, [0.0])
    expected = module(weak.pixels.double(), grey.pixels.double()).item()
    assert differences(observer, weak, grey).item() == pytest.approx(expected, rel=1e-3)


@pytest.mark.usefixtures("cached")
def test_as_published_it_answers_rounding_errors() -> None:
    plain = resolve("dists", suite="metrics", published=True)
    assert plain.wants.dtype == "float32"
    assert plain.fingerprint is not None
    assert plain.fingerprint.endswith("/as-published")
    grey = gabors(plain, [0.0])
    assert differences(plain, grey, grey).abs() > 1e-9
    pictures = photos(plain, 3)
    assert (differences(plain, pictures, pick(pictures, 2))[:2] > 0).all()


@pytest.mark.usefixtures("offline")
def test_missing_weights_dists() -> None:
    with pytest.raises(MissingWeightsError) as caught:
        resolve("dists")
    assert str(caught.value).startswith("the weights of 'dists', vgg16-397923af.pth, are not on")
