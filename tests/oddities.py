"""Observers that go wrong, and names that must stay text."""

import torch
from torch import Tensor, nn

#: Names that must stay text wherever they are shown.
HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "\"quotes\" & 'apostrophes'",
    "emoji 😀 ☃",
    "x" * 300,
    "</script></style><b>bold</b>",
)


def network(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 7, stride=4), nn.ReLU(), nn.Conv2d(4, 8, 5, stride=2))


def constant(test: Tensor, reference: Tensor) -> Tensor:
    """Answers the same to everything, so nothing can be scored."""
    return torch.zeros(len(test))


def afraid_of_the_dark(test: Tensor, reference: Tensor) -> Tensor:
    """Fails in the test that is shown in the dark."""
    if test.mean() < 0.2:
        raise RuntimeError("<i>too dark</i>")
    return (test - reference).abs().mean(dim=(1, 2, 3))


def broken(test: Tensor, reference: Tensor) -> Tensor:
    """Fails at the first look, so it is left out."""
    raise RuntimeError("never")
