"""pyiqa, by a stand-in with the surface of version 0.1.16: it is never required."""

import logging
import math
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from urllib.error import URLError

import pytest
import torch
from comparing import check_manners, differences, gabors, photos, pick

from fechner.errors import MissingExtraError, ObserverError, UnknownNameError
from fechner.observers import resolve
from fechner.observers.metrics import pyiqa
from fechner.observers.metrics.pyiqa import ABOUT, NOTICE
from fechner.observers.weights import MissingWeightsError

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
    pyiqa._tell_licence.cache_clear()
    yield
    pyiqa._tell_licence.cache_clear()


@pytest.mark.parametrize("name", ["topiq_fr", "nlpd"])
def test_manners(name: str, capfd: pytest.CaptureFixture[str]) -> None:
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
    assert ABOUT["pyiqa/mad"].csf_based
    assert ABOUT["pyiqa/msswd"].kind == "colour difference"
    assert ABOUT["pyiqa/gmsd"].fed == "float, which it rounds to 8 bits"
    assert all(about.best == math.inf for about in ABOUT.values())


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


def test_unknown_names() -> None:
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
        pyiqa.load("nlpd")
