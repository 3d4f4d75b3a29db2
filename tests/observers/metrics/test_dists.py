"""DISTS: the rearranged formula is the published one, and has digits near threshold."""

from pathlib import Path
from typing import Any

import pytest
import torch
from comparing import check_manners, differences, gabors, photos, pick

from fechner.observers import resolve
from fechner.observers.metrics.dists import ABOUT
from fechner.observers.metrics.packages import import_package, quietly
from fechner.observers.weights import MissingWeightsError


@pytest.fixture
def module(cached: Path) -> Any:
    package = import_package("DISTS_pytorch", "dists", "dists")
    with quietly():
        module = package.DISTS(load_weights=False)
    own = torch.load(Path(package.__file__).with_name("weights.pt"), weights_only=True)
    module.alpha.data, module.beta.data = own["alpha"], own["beta"]
    return module.double()


def test_equals_the_package_by_hand(module: Any, capfd: pytest.CaptureFixture[str]) -> None:
    observer = resolve("dists")
    assert capfd.readouterr() == ("", "")
    assert observer.about == ABOUT["dists"]
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
def test_missing_weights() -> None:
    with pytest.raises(MissingWeightsError) as caught:
        resolve("dists")
    assert str(caught.value).startswith("the weights of 'dists', vgg16-397923af.pth, are not on")
