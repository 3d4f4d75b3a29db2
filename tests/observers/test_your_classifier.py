"""Your own classifier: where its features come from."""

import pytest
import torch
from looking import features, frames
from torch import nn

from fechner.observers import observe
from fechner.observers.validation import validate


class Squeezed(nn.Module):
    """Class scores by a convolution, averaged over places."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, 6, 3)
        self.last = nn.Conv2d(6, 4, 1)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(pictures).relu()).relu().mean((2, 3))


def _perceptron() -> nn.Module:
    torch.manual_seed(0)
    layers = (nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, 9), nn.ReLU(), nn.Linear(9, 4))
    return nn.Sequential(*layers, nn.Softmax(1))


@pytest.mark.parametrize(
    ("model", "head", "inside"),
    [
        (_perceptron(), "4", lambda model, x: model[:4](x)),
        (Squeezed(), "last", lambda model, x: model.first(x).relu()),
    ],
)
def test_features_of_a_classifier_are_what_goes_into_its_head(model, head, inside) -> None:
    observer = observe(model, classes=list("abcd"))
    shown = frames(side=16)
    with torch.no_grad():
        torch.testing.assert_close(observer.class_scores(shown), model(shown.pixels))
        expected = inside(model, shown.pixels).flatten(1)
        torch.testing.assert_close(features(observer, shown).flatten(1), expected)
        scores = features(observer, shown, head)  # class scores, before what follows
    assert scores.flatten(1).shape[1] % 4 == 0
    assert f"'{head}'" in observer.network.unsure


def test_a_classifier_without_a_layer_for_its_scores_is_read_out_by_them() -> None:
    class Reds(nn.Module):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return pictures.mean(dim=(2, 3))[:, :2]

    for model in (Reds(), nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())):
        names = list("ab") if isinstance(model, Reds) else list("abcde")
        observer = observe(model, classes=names)
        shown = frames(side=16)
        with torch.no_grad():
            torch.testing.assert_close(features(observer, shown), model(shown.pixels))
        assert "class scores" in observer.network.unsure


def test_which_layer_was_used_is_among_the_warnings_of_a_run() -> None:
    (said,) = validate(observe(_perceptron(), classes=list("abcd"))).warnings
    assert "what goes into '4'" in said
