"""Parameters and operations, beside numbers that were counted by hand."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import _get_current_dispatch_mode

from fechner.observers import Wants, observe, resolve
from fechner.observers.complexity import Complexity, count


def counted(module: nn.Module, side: int = 32) -> Complexity | None:
    return count(observe(module, wants=Wants(size_px=(side, side))))


class Attends(nn.Module):
    """Patches that look at each other: attention that torch would fuse on its own."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.fused = fused

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(pictures).flatten(2).transpose(1, 2)
        if self.fused:
            tokens = nn.functional.scaled_dot_product_attention(tokens, tokens, tokens)
        return self.attention(tokens, tokens, tokens, need_weights=False)[0]


def test_convolutions_in_groups_and_linear_layers() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),  # 32 x 32 x 8 x 27
        nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8),  # 16 x 16 x 8 x 9
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2048, 10),
    )
    found = counted(net)
    assert found is not None
    assert found.parameters == 8 * 27 + 8 + 8 * 9 + 8 + 20480 + 10
    macs = 32 * 32 * 8 * 27 + 16 * 16 * 8 * 9 + 20480
    assert found.gflops == pytest.approx(2 * macs / 1e9)
    assert found.facts == {
        "parameters": f"{found.parameters:,}",
        "GFLOPs": "0.00052 for 32 x 32 px (2 x multiply-adds)",
    }


@pytest.mark.parametrize("fused", [False, True])
def test_attention_counts_however_torch_computes_it(fused: bool) -> None:
    before = torch.backends.mha.get_fastpath_enabled()
    found = counted(Attends(fused))
    assert found is not None
    n, wide = 64, 16
    among = 2 * n * n * wide  # which tokens are alike, and their weighted sum
    macs = 64 * 16 * 48 + 4 * n * wide * wide + among * (2 if fused else 1)
    assert found.gflops == pytest.approx(2 * macs / 1e9)
    assert torch.backends.mha.get_fastpath_enabled() == before


def test_what_is_no_network_has_none() -> None:
    assert count(resolve("pixels")) is None
    assert count(observe(lambda pictures: pictures.mean(dim=1))) is None
    assert count(observe(lambda a, b: (a - b).abs().mean(dim=(1, 2, 3)))) is None
    assert counted(nn.AvgPool2d(2)) is None  # nothing was learnt


class _Calls(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.function = function

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.function(self.conv(pictures))


def test_operators_of_others_are_named_and_nothing_is_guessed() -> None:
    @torch.library.custom_op("fechner_tests::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    found = counted(_Calls(twice))
    assert found is not None
    assert (found.parameters, found.gflops) == (112, None)
    assert found.facts["GFLOPs"].startswith("not counted: ")
    assert "fechner_tests.twice" in found.why_not


def test_a_network_that_cannot_be_counted_can_still_be_looked_through() -> None:
    def shy(x: torch.Tensor) -> torch.Tensor:
        if _get_current_dispatch_mode() is not None:
            raise RuntimeError("not while somebody watches")
        return x

    found = counted(_Calls(shy))
    assert found is not None
    assert found.gflops is None
    assert "RuntimeError" in found.why_not


@pytest.mark.slow
def test_known_networks() -> None:
    from fechner.observers.torchvision_fix import import_torchvision

    import_torchvision()
    from torchvision import models

    known = {
        # Millions of parameters and thousand million multiply-adds, as torchvision prints them.
        "resnet50": (25.557, 4.089),
        "vit_b_16": (86.568, 17.564),
        "swin_t": (28.288, 4.491),
    }
    for name, (parameters, macs) in known.items():
        found = counted(getattr(models, name)(), 224)
        assert found is not None
        assert found.parameters / 1e6 == pytest.approx(parameters, abs=1e-3)
        assert found.gflops == pytest.approx(2 * macs, abs=2e-3)
    lite = count(resolve("efficientnet_lite0"))
    assert lite is not None
    # Convolutions and the classifier alone; with normalisation and the like its paper has 407 M.
    assert (lite.parameters, lite.gflops) == (4_652_008, pytest.approx(2 * 0.385187552))
