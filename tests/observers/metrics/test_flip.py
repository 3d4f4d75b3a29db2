"""FLIP: as the package has it, at the pixels per degree of what is shown."""

from dataclasses import replace

import pytest
import torch
from comparing import check_manners, differences, gabors, photos, pick

from fechner.observers import resolve
from fechner.observers.metrics.flip import ABOUT
from fechner.observers.metrics.packages import import_package


def test_equals_the_package_by_hand() -> None:
    observer = resolve("flip")
    assert observer.about == ABOUT["flip"]
    assert observer.about.csf_based
    pictures = photos(observer, 3)
    package = import_package("flip_evaluator", "flip", "flip")
    arrays = [picture.permute(1, 2, 0).numpy().copy() for picture in pictures.pixels]
    for ppd in (30.0, 60.0):
        shown = replace(pictures, field=replace(pictures.field, ppd=ppd))
        found = differences(observer, pick(shown, 0, 1), pick(shown, 2))
        for row in (0, 1):
            parameters = {"ppd": ppd}
            _, mean, _ = package.evaluate(arrays[2], arrays[row], "LDR", parameters=parameters)
            assert found[row].item() == pytest.approx(mean, rel=1e-4)
            assert 0 < found[row] < 1


def test_manners() -> None:
    check_manners(resolve("flip"))


def test_weak_contrasts_go_with_the_power_of_its_colour_term() -> None:
    # Colour differences count to the power 0.7 (q_c of Andersson et al. 2020).
    observer = resolve("flip")
    weak = differences(observer, gabors(observer, [5e-4, 1e-3]), gabors(observer, [0.0]))
    assert (weak[1] / weak[0]).item() == pytest.approx(2**0.7, rel=0.02)


def test_fingerprint() -> None:
    observer = resolve("flip")
    assert observer.fingerprint is not None
    assert observer.fingerprint.startswith("flip/1/flip-evaluator 1.")


def test_answers_are_summed_in_double_precision() -> None:
    observer = resolve("flip")
    found = differences(observer, gabors(observer, [1e-3]), gabors(observer, [0.0]))
    assert found.item() != found.to(torch.float32).item()
