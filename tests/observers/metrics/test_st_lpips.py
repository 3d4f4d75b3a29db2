"""ST-LPIPS: as the package has it, with its own weights."""

from typing import Any

import pytest
import torch
from comparing import check_manners, differences, photos, pick

from fechner.errors import UnknownNameError
from fechner.observers import resolve
from fechner.observers.metrics.packages import import_package, quietly
from fechner.observers.metrics.st_lpips import ABOUT


@pytest.fixture(scope="module")
def package() -> Any:
    return import_package("stlpips_pytorch.stlpips", "st-lpips/alex", "st-lpips")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["alex", "vgg"])
def test_equals_the_package_by_hand(
    name: str, package: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    observer = resolve(f"st-lpips/{name}")
    assert capfd.readouterr() == ("", "")
    assert observer.about == ABOUT[f"st-lpips/{name}"]
    with quietly():
        module = package.LPIPS(net=name, variant="shift_tolerant")
    pictures = photos(observer, 2)
    with torch.no_grad():
        expected = module(pictures.pixels[:1], pictures.pixels[1:], normalize=True)
    (found,) = differences(observer, pick(pictures, 0), pick(pictures, 1))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_manners() -> None:
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


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="no network of ST-LPIPS named 'squeeze'"):
        resolve("st-lpips/squeeze")
