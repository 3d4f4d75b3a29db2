"""Metrics of piq: as the package has them, near threshold, names."""

from typing import Any

import pytest
import torch
from comparing import check_batches, check_manners, differences, gabors, photos, pick

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers import resolve
from fechner.observers.metrics.luma import luma
from fechner.observers.metrics.packages import import_package
from fechner.observers.metrics.piq import ABOUT, load

#: Name here, name there, its options, and whether it sees colour.
FUNCTIONS: list[tuple[str, str, dict[str, Any], bool]] = [
    ("dss", "dss", {}, False),
    ("fsim", "fsim", {"chromatic": True}, True),
    ("gmsd", "gmsd", {}, False),
    ("haarpsi", "haarpsi", {}, True),
    ("mdsi", "mdsi", {}, True),
    ("ms-gmsd", "multi_scale_gmsd", {}, False),
    ("ms-gmsdc", "multi_scale_gmsd", {"chromatic": True}, True),
    ("ms-ssim", "multi_scale_ssim", {}, False),
    ("psnr", "psnr", {}, True),
    ("srsim", "srsim", {}, False),
    ("srsimc", "srsim", {"chromatic": True}, True),
    ("ssim", "ssim", {}, False),
    ("vif", "vif_p", {}, False),
    ("vsi", "vsi", {}, True),
]
NAMES = [name for name, *_ in FUNCTIONS]

#: Pictures must be 161 px for five scales.
SIDES = {"ms-ssim": 168}


def side(name: str) -> int:
    return SIDES.get(name, 64)


@pytest.fixture(scope="module")
def piq() -> Any:
    return import_package("piq", "piq/gmsd", "piq")


def test_all_are_here() -> None:
    assert list(ABOUT) == [f"piq/{name}" for name in NAMES]


@pytest.mark.parametrize(("name", "function", "options", "colour"), FUNCTIONS)
def test_equals_the_package_by_hand(
    name: str, function: str, options: dict[str, Any], colour: bool, piq: Any
) -> None:
    observer = resolve(f"piq/{name}")
    about = observer.about
    assert about == ABOUT[f"piq/{name}"]
    assert about.wants.colour == colour
    assert about.kind == ("traditional colour" if colour else "traditional")
    pictures = photos(observer, 2, side(name))
    pixels = pictures.pixels if colour else luma(pictures.pixels)[:, None]
    expected = getattr(piq, function)(pixels[:1], pixels[1:], reduction="none", **options)
    (found,) = differences(observer, pick(pictures, 0), pick(pictures, 1))
    score = about.best - found if about.higher_is_better else found
    assert score.item() == pytest.approx(expected.item(), rel=1e-12)
    assert about.scores[0] <= score <= about.scores[1]


#: On grey fields these say nothing, jump at any contrast, or see a difference where none is.
ODD = ("fsim", "srsim", "srsimc", "vif", "vsi")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*ODD, *SIDES)])
def test_manners(name: str) -> None:
    check_manners(resolve(f"piq/{name}"))


@pytest.mark.parametrize("name", ODD)
def test_batches(name: str) -> None:
    check_batches(resolve(f"piq/{name}"))


@pytest.mark.parametrize("name", ["dss", "gmsd", "haarpsi", "ms-gmsd", "ms-ssim", "ssim"])
def test_weak_contrasts_count_in_proportion_to_their_square(name: str) -> None:
    # In float32 this fails for most of them: what is left is rounding.
    observer = resolve(f"piq/{name}")
    weak = differences(
        observer, gabors(observer, [1e-4, 2e-4], side(name)), gabors(observer, [0.0], side(name))
    )
    assert (weak[1] / weak[0]).item() == pytest.approx(4, rel=0.1)


def test_float32_does_not_see_what_float64_does() -> None:
    own, coarse = resolve("piq/haarpsi"), resolve("piq/haarpsi@precision=float32")
    assert coarse.wants.dtype == "float32"
    assert coarse.fingerprint != own.fingerprint
    assert "asked for" in coarse.about.precision
    found = [differences(o, gabors(o, [1e-3]), gabors(o, [0.0])).item() for o in (own, coarse)]
    assert found[0] > 0
    # What it answers is rounding, many times larger than what there is to see.
    assert abs(found[1]) > 5 * found[0]


def test_published_numbers_are_in_float32() -> None:
    assert resolve("piq/gmsd", suite="metrics", published=True).wants.dtype == "float32"
    assert resolve("piq/gmsd").wants.dtype == "float64"


def test_vif_of_a_uniform_reference_is_1_exactly() -> None:
    observer, plain = resolve("piq/vif"), resolve("piq/vif@precision=float32")
    exact = resolve("piq/vif@precision=float64")
    for each, rounds in ((observer, False), (exact, False), (plain, True)):
        found = differences(each, gabors(each, [0.1, 0.3]), gabors(each, [0.0]))
        assert bool((found != 0).any()) == rounds
    # One of two references is uniform.
    tests = gabors(observer, [0.1, 0.1], mask=0.2)
    references = gabors(observer, [0.0, 0.0], mask=0.2)
    references.pixels[1] = 0.5
    both = differences(observer, tests, references)
    assert both[1] == 0
    assert both[0] == differences(plain, pick(tests, 0), pick(references, 0))
    assert both[0] != 0


def test_vif_counts_more_contrast_as_better() -> None:
    observer = resolve("piq/vif")
    weak, strong = (gabors(observer, [0.0], mask=mask) for mask in (0.2, 0.3))
    assert differences(observer, strong, weak) < 0 < differences(observer, weak, strong)


def test_unknown_names() -> None:
    with pytest.raises(
        UnknownNameError, match="no metric of piq named 'gmsdd'; did you mean 'gmsd'"
    ):
        resolve("piq/gmsdd")
    with pytest.raises(UnknownNameError, match="there are own, float32, float64"):
        resolve("piq/gmsd@precision=half")


def test_pictures_that_are_too_small() -> None:
    observer = load("ms-ssim")
    with pytest.raises(ObserverError, match=r"'piq/ms-ssim' cannot compare .* 64 x 64 px .*161"):
        differences(observer, gabors(observer, [0.1]), gabors(observer, [0.0]))


def test_fingerprints_name_what_answers_depend_on() -> None:
    prints = {resolve(f"piq/{name}").fingerprint for name in NAMES}
    assert len(prints) == len(NAMES)
    assert resolve("piq/gmsd").fingerprint == f"piq/gmsd/1/piq {_version()}/float64/own"


def _version() -> str:
    from importlib.metadata import version

    return version("piq")


def test_gradients_reach_the_test() -> None:
    observer = resolve("piq/gmsd")
    pictures = photos(observer, 2)
    pictures.pixels.requires_grad_(True)
    memory = observer.remember(pick(pictures, 1))
    observer.difference(pick(pictures, 0), memory, torch.zeros(1).long()).sum().backward()
    assert pictures.pixels.grad is not None
    assert pictures.pixels.grad[0].abs().sum() > 0
