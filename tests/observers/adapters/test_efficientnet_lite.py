"""EfficientNet-Lite0 with its real weights: read-outs, recognition, normalisation."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from looking import as_frames, features
from PIL import Image

from fechner.observers import Recognises, abilities
from fechner.observers.adapters.efficientnet_lite import load, make
from fechner.observers.classes import imagenet
from fechner.observers.inputs import NORMALISATIONS
from fechner.observers.network import NetworkClassifier
from fechner.stimuli import Frames

#: Photographs that come with scikit-image and scikit-learn, and classes of ImageNet that are right.
PHOTOGRAPHS = {
    "skimage/data/chelsea.png": ("tabby", "tiger cat", "Egyptian cat"),
    "skimage/data/coffee.png": ("espresso", "cup", "coffee mug"),
    "skimage/data/rocket.jpg": ("missile", "projectile", "space shuttle"),
    "skimage/data/motorcycle_left.png": ("moped", "motor scooter"),
    "skimage/data/camera.png": ("tripod", "reflex camera"),
    "sklearn/datasets/images/china.jpg": ("palace", "bell cote", "monastery"),
    "sklearn/datasets/images/flower.jpg": ("daisy",),
}

#: Mean over the photographs of the log of the probability that their right classes have together.
LOG_PROBABILITY = {"none": -0.513, "imagenet": -0.710, "half": -0.409, "own": -0.411}


def probabilities(observer: Recognises, shown: Frames) -> torch.Tensor:
    with torch.no_grad():
        return observer.class_scores(shown).double().softmax(dim=1)


def shown_as_usual(path: Path) -> torch.Tensor:
    """Shorter side to 256 px, the middle 224 px of it."""
    picture = Image.open(path).convert("RGB")
    scale = 256 / min(picture.size)
    width, height = (round(side * scale) for side in picture.size)
    picture = picture.resize((width, height), Image.Resampling.BICUBIC)
    left, top = (width - 224) // 2, (height - 224) // 2
    values = np.array(picture.crop((left, top, left + 224, top + 224)))
    return torch.from_numpy(values).permute(2, 0, 1).float() / 255


@pytest.fixture(scope="module")
def observer() -> NetworkClassifier:
    return make()


@pytest.fixture(scope="module")
def noise() -> Frames:
    return as_frames(torch.rand(8, 3, 224, 224, generator=torch.Generator().manual_seed(1)))


@pytest.fixture(scope="module")
def few(noise: Frames) -> Frames:
    return as_frames(noise.pixels[:2])


@pytest.fixture(scope="module")
def photographs() -> Frames:
    folders = {}
    for package in ("skimage", "sklearn"):  # found, not imported: that takes seconds
        found = find_spec(package)
        assert found is not None
        assert found.origin is not None
        folders[package] = Path(found.origin).parent.parent
    paths = [folders[name.split("/")[0]] / name for name in PHOTOGRAPHS]
    return as_frames(torch.stack([shown_as_usual(path) for path in paths]))


# What it is


def test_what_it_can_do_and_wants(observer: NetworkClassifier) -> None:
    assert abilities(observer) == ("encodes", "recognises")
    assert observer.name == "efficientnet_lite0"
    assert observer.wants.size_px == (224, 224)
    assert len(observer.classes) == 1000
    assert observer.classes[281] == "n02123045"  # tabby


def test_stages_are_the_last_blocks_of_the_seven_widths(observer: NetworkClassifier) -> None:
    blocks = ["_blocks.0", "_blocks.2", "_blocks.4", "_blocks.7", "_blocks.10", "_blocks.14"]
    assert observer.layers == (*blocks, "_blocks.15", "output")
    shapes = {layer.name: layer.shape for layer in observer.every_layer()}
    # Tan & Le (2019), table 1, without scaling.
    assert [shapes[name] for name in observer.layers[:-1]] == [
        (16, 112, 112),
        (24, 56, 56),
        (40, 28, 28),
        (80, 14, 14),
        (112, 14, 14),
        (192, 7, 7),
        (320, 7, 7),
    ]


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str], few: Frames) -> None:
    features(make(), few)
    assert capsys.readouterr() == ("", "")


# What it answers


def test_read_outs_by_hand(observer: NetworkClassifier, few: Frames) -> None:
    module, pictures = observer.module, observer.network.normalise(few.pixels)
    torch.testing.assert_close(pictures, (few.pixels * 255 - 127) / 128)
    with torch.no_grad():
        maps = module.extract_features(pictures)
        assert torch.equal(observer.class_scores(few), module(pictures))
    assert maps.shape == (2, 1280, 7, 7)
    torch.testing.assert_close(features(observer, few), maps.mean(dim=(2, 3)))
    with torch.no_grad():
        assert torch.equal(module._fc(features(observer, few)), observer.class_scores(few))


def test_a_stage_is_what_its_block_hands_on(observer: NetworkClassifier, few: Frames) -> None:
    module = observer.module
    with torch.no_grad():
        x = observer.network.normalise(few.pixels)
        x = module._swish(module._bn0(module._conv_stem(x)))
        for block in module._blocks[:3]:
            x = block(x)
    assert torch.equal(features(observer, few, "_blocks.2"), x.flatten(1))


def test_the_same_twice_and_in_any_batch(observer: NetworkClassifier, noise: Frames) -> None:
    together = features(observer, noise)
    assert torch.equal(features(observer, noise), together)
    alone = torch.cat([features(observer, as_frames(noise.pixels[[i]])) for i in range(len(noise))])
    assert ((alone - together).abs().max() / together.abs().max()) < 1e-5


def test_fingerprints(observer: NetworkClassifier) -> None:
    assert observer.fingerprint == make().fingerprint
    assert "efficientnet_lite_pytorch 0." in observer.fingerprint
    others = {make(normalise="none").fingerprint, make(dtype="float64").fingerprint}
    assert len(others | {observer.fingerprint}) == 3


def test_double_precision(observer: NetworkClassifier, few: Frames) -> None:
    double = make(dtype="float64")
    assert double.wants.dtype == "float64"
    answer = features(double, as_frames(few.pixels.double()))
    assert answer.dtype == torch.float64
    torch.testing.assert_close(answer.float(), features(observer, few), rtol=1e-3, atol=1e-4)


def test_padding_is_that_of_tensorflow_at_its_own_size(observer: NetworkClassifier) -> None:
    # The package works out padding for 224 px once; with no size it does so for each picture, as
    # TensorFlow's SAME does. They agree for even sides all the way down, and not otherwise.
    from efficientnet_lite_pytorch import EfficientNet

    each = EfficientNet.from_name("efficientnet-lite0", image_size=None).eval()
    each.load_state_dict(observer.module.state_dict())
    agree = {}
    with torch.no_grad():
        for side in (224, 192, 225):
            pictures = observer.network.normalise(torch.rand(1, 3, side, side))
            agree[side] = torch.equal(observer.module(pictures), each(pictures))
    assert agree == {224: True, 192: True, 225: False}


# Normalisation


def log_probability(normalise: str, photographs: Frames) -> float:
    names = [name for _, name in imagenet()]
    right = [[names.index(name) for name in classes] for classes in PHOTOGRAPHS.values()]
    found = probabilities(make(normalise=normalise), photographs)
    sums = [row[which].sum() for row, which in zip(found, right, strict=True)]
    return float(torch.stack(sums).log().mean())


def test_its_normalisation_is_that_of_its_training(photographs: Frames) -> None:
    found = {name: log_probability(name, photographs) for name in LOG_PROBABILITY}
    assert found == pytest.approx(LOG_PROBABILITY, abs=0.005)
    # Pictures in -1..1 are recognised best. Whether by 127 and 128, as in training, or by 127.5 and
    # 127.5, is less than seven photographs can tell.
    assert found["own"] > max(found["none"], found["imagenet"]) + 0.05
    assert found["own"] == pytest.approx(found["half"], abs=0.005)
    own = load().normalise
    assert own.mean == pytest.approx(NORMALISATIONS["half"].mean, abs=0.5 / 255)
    assert (own.mean * 255, own.std * 255) == pytest.approx((127, 128))


def test_photographs_are_recognised(observer: NetworkClassifier, photographs: Frames) -> None:
    names = [name for _, name in imagenet()]
    best = probabilities(observer, photographs).topk(5).indices.tolist()
    for row, right in zip(best, PHOTOGRAPHS.values(), strict=True):
        assert names[row[0]] in right
    assert {names[i] for i in best[0][:3]} == {"tabby", "tiger cat", "Egyptian cat"}
    assert [names[i] for i in best[1][:2]] == ["espresso", "cup"]
