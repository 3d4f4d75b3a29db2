from pathlib import Path
from types import SimpleNamespace

import pytest

import fechner
from fechner import Run
from fechner.report.contenders import Contender, contenders, groups


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder: Path = tmp_path_factory.mktemp("runs")
    made = []
    for place, options in (
        ("a/one", {}),
        ("b/one", {}),
        ("two", {"published": True, "ppd": 30.0}),
        ("three", {"seed": 3, "resize": True}),
    ):
        made.append(
            fechner.evaluate(
                "pixels",
                *(["standard-observer"] if place == "two" else []),
                tests=["masking-coherent"],
                scores_only=True,
                out=folder / place,
                progress=False,
                **options,
            )
        )
    return made


def test_labels_tell_observers_apart(runs: list[Run]) -> None:
    labels = [each.label for each in contenders(runs)]
    assert labels == [
        f"pixels ({runs[0].folder})",
        f"pixels ({runs[1].folder})",
        "pixels (two)",
        "standard-observer",
        "pixels (three)",
    ]
    assert [each.label for each in contenders(runs[2:3])] == ["pixels", "standard-observer"]


def test_a_group_was_asked_the_same_questions(runs: list[Run]) -> None:
    found = groups(runs)
    assert [group.title for group in found] == [
        "encoders",
        "encoders, as published, 30 pixels/degree",
        "encoders, seed 3, resampled",
    ]
    assert [len(group.contenders) for group in found] == [2, 2, 1]
    assert [test.id for test in found[0].tests] == ["masking-coherent"]


def test_a_test_that_was_not_measured_has_no_data(runs: list[Run]) -> None:
    contender = contenders(runs)[0]
    assert contender.data("area") is None
    assert contender.data("masking-coherent") is not None


def test_whoever_cannot_do_what_is_asked_was_not_asked() -> None:
    """It may lack an ability, not only something that must be seen."""
    manifest = SimpleNamespace(observers={"ssim": SimpleNamespace(lacks=["recognises"])})
    contender = Contender("ssim", SimpleNamespace(manifest=manifest), "ssim")  # type: ignore[arg-type]
    bands = SimpleNamespace(experiment=SimpleNamespace(needs=(), asks="recognises"))
    assert contender.why_not_asked(bands) == "it names nothing"  # type: ignore[arg-type]
