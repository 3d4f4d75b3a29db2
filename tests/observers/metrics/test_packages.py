"""piq and FLIP against the packages called by hand; pyiqa by a stand-in."""

import logging
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from urllib.error import URLError

import pytest
import torch
from comparing import check_batches, check_manners, differences, gabors, photos, pick

from fechner.errors import MissingExtraError, ObserverError, UnknownNameError
from fechner.observers import resolve
from fechner.observers.metrics import metric as shared
from fechner.observers.metrics.metric import declarations, declared, import_package, luma
from fechner.observers.metrics.packages import NOTICE, load_piq, load_pyiqa
from fechner.observers.weights import MissingWeightsError

# Metrics of piq: as the package has them, near threshold, names


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
    assert [name for name in declarations() if name.startswith("piq/")] == [
        f"piq/{name}" for name in NAMES
    ]


@pytest.mark.parametrize(("name", "function", "options", "colour"), FUNCTIONS)
def test_equals_the_package_by_hand(
    name: str, function: str, options: dict[str, Any], colour: bool, piq: Any
) -> None:
    observer = resolve(f"piq/{name}")
    about = observer.about
    assert about == declared(f"piq/{name}")
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
    observer = load_piq("ms-ssim")
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


# FLIP: as the package has it, at the pixels per degree of what is shown


def test_equals_the_package_by_hand_flip() -> None:
    observer = resolve("flip")
    assert observer.about == declared("flip")
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


def test_manners_flip() -> None:
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


# pyiqa, by a stand-in with the surface of version 0.1.16: it is never required


#: As the package writes them.
CONFIGS: dict[str, dict[str, Any]] = {
    "topiq_fr": {
        "metric_opts": {"type": "CFANet", "use_ref": True},
        "metric_mode": "FR",
        "score_range": "~0, ~1",
    },
    "nlpd": {
        "metric_opts": {"type": "NLPD", "channels": 1, "test_y_channel": True},
        "metric_mode": "FR",
        "lower_better": True,
        "score_range": "0, 1",
    },
    "new_grey": {
        "metric_opts": {"type": "New", "test_y_channel": True},
        "metric_mode": "FR",
        "lower_better": True,
        "score_range": "0, ~",
    },
    "fgresq_pair": {
        "metric_opts": {"type": "FGResQ", "pretrained": True},
        "metric_mode": "FR",
        "score_range": "quality: 0, 1; rank: 0, 2; rank_prob: 0, 1",
    },
    "ahiq": {"metric_opts": {"type": "AHIQ"}, "metric_mode": "FR", "score_range": "~0, ~1"},
    "musiq": {"metric_opts": {"type": "MUSIQ"}, "metric_mode": "NR", "score_range": "~0, ~100"},
}


class Inference(torch.nn.Module):
    """A metric as the package makes it: as alike as the root mean squared error is small."""

    def __init__(self, name: str, device: torch.device) -> None:
        super().__init__()
        self.name = name
        self.device = device
        self.lower_better = CONFIGS[name].get("lower_better", False)
        self.weight = torch.nn.Parameter(torch.ones(1, device=device))

    def forward(self, target: torch.Tensor, ref: torch.Tensor) -> Any:
        assert target.shape == ref.shape
        assert target.dtype == self.weight.dtype
        assert target.min() > -1e-6
        assert target.max() < 1 + 1e-6
        print("Scored", self.name)  # noqa: T201
        error = self.weight * (target - ref).square().mean(dim=(1, 2, 3)).sqrt()
        if self.name == "fgresq_pair":
            return {"quality": error, "rank": error}
        return error if self.lower_better else 0.9 - error[:, None]


def create_metric(
    metric_name: str, as_loss: bool = False, device: torch.device | None = None, **kwargs: Any
) -> Inference:
    print("Loading pretrained model")  # noqa: T201
    if metric_name == "ahiq":
        raise URLError("Name or service not known")
    assert isinstance(device, torch.device)
    return Inference(metric_name, device)


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    whole, part = ModuleType("pyiqa"), ModuleType("pyiqa.default_model_configs")
    for module in (whole, part):
        module.__spec__ = ModuleSpec(module.__name__, loader=None)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    vars(whole).update(create_metric=create_metric, __version__="0.1.16", __path__=[])
    vars(part).update(DEFAULT_CONFIGS=CONFIGS)
    shared._tell.cache_clear()
    yield
    shared._tell.cache_clear()


@pytest.mark.parametrize("name", ["topiq_fr", "nlpd"])
def test_manners_pyiqa(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    observer = resolve(f"pyiqa/{name}")
    check_manners(observer)
    pictures = photos(observer, 2)
    (found,) = differences(observer, pick(pictures, 0), pick(pictures, 1))
    error = (pictures.pixels[0] - pictures.pixels[1]).square().mean().sqrt()
    assert found.item() == pytest.approx(error.item(), rel=1e-5)
    assert capfd.readouterr().out == ""


def test_what_the_registry_says() -> None:
    topiq, nlpd, new = (resolve(f"pyiqa/{name}").about for name in ("topiq_fr", "nlpd", "new_grey"))
    assert topiq.higher_is_better
    assert topiq.scores == (0.0, 1.0)
    assert topiq.best == pytest.approx(0.9)  # asked of a picture
    assert topiq.wants.colour
    assert topiq.wants.dtype == "float32"
    assert topiq.kind == "deep learning"
    assert not nlpd.higher_is_better
    assert nlpd.best == 0
    assert not nlpd.wants.colour
    assert nlpd.wants.dtype == "float64"
    # One that this version does not know.
    assert new.kind == "other"
    assert new.scores == (0.0, math.inf)
    assert not new.wants.colour


def test_what_is_declared_without_the_package() -> None:
    assert declared("pyiqa/mad").csf_based
    assert declared("pyiqa/msswd").kind == "colour difference"
    assert declared("pyiqa/gmsd").fed == "float, which it rounds to 8 bits"
    assert all(declared(n).best == math.inf for n in declarations() if n.startswith("pyiqa/"))


def test_the_licence_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="fechner"):
        first, _ = resolve("pyiqa/nlpd"), resolve("pyiqa/topiq_fr")
    assert [record.getMessage() for record in caplog.records] == [NOTICE]
    assert first.notice == NOTICE
    assert "non-commercial" in NOTICE


def test_precision_and_fingerprint() -> None:
    own, other = resolve("pyiqa/topiq_fr"), resolve("pyiqa/topiq_fr@precision=float64")
    assert other.wants.dtype == "float64"
    assert own.fingerprint != other.fingerprint
    assert own.fingerprint is not None
    assert own.fingerprint.startswith("pyiqa/topiq_fr/1/pyiqa 0.1.16/float32/")
    assert differences(other, gabors(other, [0.1]), gabors(other, [0.0])) > 0


def test_no_reference_metrics() -> None:
    with pytest.raises(
        ObserverError, match=r"'pyiqa/musiq' looks at single pictures without a ref"
    ):
        resolve("pyiqa/musiq")


def test_unknown_names_pyiqa() -> None:
    with pytest.raises(UnknownNameError) as caught:
        resolve("pyiqa/topiq")
    said = str(caught.value)
    assert said.startswith("there is no metric of pyiqa named 'topiq'; did you mean 'topiq_fr'?")
    assert "musiq" not in said


def test_several_scores() -> None:
    with pytest.raises(ObserverError, match="'pyiqa/fgresq_pair' gives no single score for a pair"):
        resolve("pyiqa/fgresq_pair")


def test_missing_files() -> None:
    with pytest.raises(MissingWeightsError) as caught:
        resolve("pyiqa/ahiq")
    assert str(caught.value) == (
        "'pyiqa/ahiq' needs files that pyiqa fetches, and that are not on this machine and could "
        "not be fetched (URLError: <urlopen error Name or service not known>): run once with a "
        "network, or copy the folders TORCH_HOME (~/.cache/torch) and HF_HOME "
        "(~/.cache/huggingface) from a machine that has them."
    )


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiqa", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fechner\[pyiqa\]'"):
        load_pyiqa("nlpd")
