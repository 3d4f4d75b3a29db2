"""What papers printed: whose numbers, under which names, and presets of observers."""

import importlib
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fechner import FechnerError, evaluate
from fechner.errors import UnknownNameError
from fechner.observers.names import check_name, take_apart
from fechner.references import reference
from fechner.suites import expand, preset, published_scores, suite
from fechner.suites.published import EXTERNAL, PRESETS

ROWS = preset("cai2025")
NAMES = [row.observer for row in ROWS]


def test_forty_three_networks_no_encoder_and_a_metric() -> None:
    assert len(ROWS) == 45
    assert len(set(NAMES)) == 45
    assert {"pixels", "cvvdp"} < set(NAMES)
    networks = [row for row in ROWS if row.observer not in ("pixels", "cvvdp")]
    assert len(networks) == 43
    assert Counter(row.family for row in networks) == {
        "DINO": 9,
        "DINOv2": 8,
        "OpenCLIP": 14,
        "SAM": 3,
        "SAM-2": 4,
        "MAE": 3,
        "SD-VAE": 2,
    }


def test_every_network_has_a_score_for_every_test_of_the_suite() -> None:
    tests = [test.id for test in suite("encoders").build(published=True)]
    assert len(tests) == 9
    for row in ROWS:
        assert list(row.scores) == tests
        assert all(0 < value < 1 for value in row.scores.values())
        assert all((row.family, row.architecture, row.training_data, row.readout))


def test_eight_models_that_write_and_two_that_match_labels() -> None:
    rows = preset("hernandez2025")
    assert len(rows) == len({row.observer for row in rows}) == 10
    printed = {row.architecture: dict(row.scores) for row in rows if row.scores}
    assert len(printed) == 8
    assert printed["Qwen2.5-VL-3B"] == {"detection": 0.86, "detection/csf-rmse": 131.6}
    assert printed["InternVL3-8B"] == {"detection": 0.37, "detection/csf-rmse": 126.4}
    # Those that transformers cannot load by themselves are asked at a server.
    assert sum(row.readout == EXTERNAL for row in rows) == 3
    assert len(expand(["@hernandez2025"])) == 7


def test_printed_errors_are_larger_than_that_of_an_observer_that_sees_nothing() -> None:
    """Seven of eight, with the human curve of published mode."""
    tests = {test.id: test for test in suite("verbal").build(published=True)}
    sensitivity = 1 / np.array([tests["detection"].experiment._human(i) for i in range(10)])
    blind = np.sqrt(np.mean(sensitivity**2))
    assert blind == pytest.approx(114.7, abs=0.05)
    printed = [row.scores.get("detection/csf-rmse", 0.0) for row in preset("hernandez2025")]
    assert sum(value > blind for value in printed) == 7


def test_four_networks_of_the_item_response_curves() -> None:
    rows = preset("richardwebster2018")
    assert [row.architecture for row in rows] == ["AlexNet", "GoogLeNet", "VGG-16", "VGG-19"]
    assert not any(row.scores for row in rows)  # the paper prints curves alone
    for row in rows:
        check_name(row.observer)


def test_thirty_three_metrics_in_six_families() -> None:
    rows = preset("hammou2025")
    assert len(rows) == len({row.observer for row in rows}) == 33
    assert Counter(row.family for row in rows) == {
        "traditional": 8,
        "traditional colour": 6,
        "colour difference": 4,
        "deep learning": 8,
        "video": 3,
        "visual difference predictor": 4,
    }
    assert {row.csf_based for row in rows} == {"yes", "no"}
    tests = {test.id for test in suite("metrics").build(published=True)}
    assert {test.partition("/")[0] for row in rows for test in row.scores} == tests
    found = published_scores("metrics")
    # 33 rows of 11 cells: 102 are empty, and the luminance of MAD was constant.
    assert len(found) == 33 * 11 - 103
    assert found["cvvdp", "matching-colour/colour-matching-error"] == 0.027
    assert found["speed-qa", "matching-frequency"] == 1.775
    assert ("pyiqa/mad", "luminance") not in found
    assert ("psnr-y", "flicker") not in found


def test_metrics_of_the_table_have_names_that_can_be_run_but_for_two() -> None:
    rows = preset("hammou2025")
    external = [row.observer for row in rows if row.readout == EXTERNAL]
    assert external == ["FUNQUE", "HDR-VDP-3"]
    names = expand(["@hammou2025"])
    assert names == [row.observer for row in rows if row.observer not in external]
    for name in names:
        check_name(name)


def test_no_two_networks_have_the_same_scores() -> None:
    assert len({tuple(row.scores.values()) for row in ROWS}) == 45


@pytest.mark.parametrize(
    ("architecture", "family", "test", "value"),
    [
        ("-", "No Encoder", "frequency-ach", 0.4688),
        ("-", "No Encoder", "matching-frequency", 0.2657),
        ("ViT-S/16", "DINO", "area", 0.9686),
        ("ViT-B/14 + reg", "DINOv2", "masking-coherent", 0.9549),
        ("ViT-L/14 + reg", "DINOv2", "masking-incoherent", 0.9814),
        ("ConvNext-XXL", "OpenCLIP", "luminance", 0.1112),
        ("ViT-H-SAM", "SAM", "frequency-noise", 0.3234),
        ("SAM2.1-hiera-S", "SAM-2", "masking-coherent", 0.398),
        ("ViT-H-MAE", "MAE", "area", 0.6466),
        ("SD-v1-5", "SD-VAE", "frequency-rg", 0.8447),
        ("SD-xl-base-1.0", "SD-VAE", "frequency-noise", 0.1662),
        ("HVS-based", "ColorVideoVDP", "frequency-yv", 0.9339),
    ],
)
def test_cells_as_printed(architecture: str, family: str, test: str, value: float) -> None:
    (row,) = (row for row in ROWS if (row.architecture, row.family) == (architecture, family))
    assert row.scores[test] == value
    assert published_scores("encoders")[row.observer, test] == value


def test_printed_scores_by_observer_and_test() -> None:
    found = published_scores("encoders")
    assert len(found) == 45 * 9
    assert found["hf/facebook/dinov2-with-registers-base", "masking-coherent"] == 0.9549
    assert ("standard-observer", "area") not in found
    assert published_scores("nobody") == {}


# Names


@pytest.mark.parametrize("name", NAMES)
def test_every_observer_has_a_name_that_can_be_run(name: str) -> None:
    check_name(name)
    assert take_apart(name) == (name, {})


def test_names_of_open_clip_say_the_training_of_their_row() -> None:
    tags = {
        "OpenAI": r"openai",
        "YFCC-15M": r"yfcc15m",
        "LAION-2B": r"laion2b_s\d+b_b\d+k",
        "LAION-2B+": r"laion2b_s\d+b_b\d+k_augreg",  # with more augmentation
    }
    rows = [row for row in ROWS if row.family == "OpenCLIP"]
    assert {row.training_data for row in rows} == set(tags)
    for row in rows:
        assert re.fullmatch(tags[row.training_data], row.observer.split("/")[-1])


@pytest.mark.parametrize(
    ("family", "ending", "architecture"),
    [
        ("DINOv2", r"dinov2-with-registers-{size}", r"ViT-{letter}/14"),
        # By the authors' own code, which moves positions by a tenth of a patch when it resizes.
        ("DINOv2", r"dinov2_vit{letter}14", r"ViT-{letter}/14"),
        ("MAE", r"vit-mae-{size}", r"ViT-{letter}-MAE"),
        ("SAM", r"sam-vit-{size}", r"ViT-{letter}-SAM"),
        ("DINO", r"vit_{size}_patch(8|16)_224.dino", r"ViT-{letter}/"),
    ],
)
def test_names_say_the_size_of_their_row(family: str, ending: str, architecture: str) -> None:
    letters = {"small": "S", "base": "B", "large": "L", "huge": "H", "giant": "g"}
    checked = 0
    for row in ROWS:
        for size, letter in letters.items():
            pattern = ending.format(size=size, letter=letter.lower())
            named = re.search(pattern + "$", row.observer)
            if row.family == family and named:
                assert row.architecture.startswith(architecture.format(letter=letter))
                assert ("with-registers" in row.observer) == ("+ reg" in row.architecture)
                checked += 1
    assert checked == {"DINOv2": 4, "MAE": 3, "SAM": 3, "DINO": 4}[family]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("timm/")])
def test_timm_has_these_models(name: str) -> None:
    timm = _after_torchvision("timm")
    model = name.removeprefix("timm/")
    architecture, dot, tag = model.partition(".")
    assert timm.is_model(architecture)
    assert dot
    assert tag
    assert model in timm.models.get_arch_pretrained_cfgs(architecture)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("open_clip/")])
def test_open_clip_has_these_models(name: str) -> None:
    open_clip = _after_torchvision("open_clip")
    _, architecture, tag = name.split("/")
    assert tag in open_clip.list_pretrained_tags_by_model(architecture)


def _after_torchvision(package: str):
    from fechner.observers.torchvision_fix import import_torchvision

    import_torchvision()
    return importlib.import_module(package)


# Presets


def test_a_preset_stands_for_its_observers_in_order() -> None:
    assert expand(["@cai2025"]) == NAMES
    assert expand(["pixels", "standard-observer"]) == ["pixels", "standard-observer"]


def test_what_is_named_beside_a_preset_comes_once_and_where_it_was_named() -> None:
    found = expand(["standard-observer", "cvvdp", "@cai2025", "efficientnet_lite0"])
    assert found[:2] == ["standard-observer", "cvvdp"]
    assert found[2:-1] == [name for name in NAMES if name != "cvvdp"]
    assert found[-1] == "efficientnet_lite0"
    after = expand(["@cai2025", "pixels"])
    assert after == [*NAMES[1:], "pixels"]


def test_a_preset_named_twice_stands_for_its_observers_once() -> None:
    assert expand(["@cai2025", "@cai2025"]) == NAMES


def test_objects_pass_through() -> None:
    thing = object()
    assert expand([thing, "pixels", thing]) == [thing, "pixels", thing]
    mixed = expand([thing, "@cai2025"])
    assert mixed == [thing, *NAMES]


@pytest.mark.parametrize("name", ["@cai2052", "@"])
def test_unknown_preset_gets_a_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=f"there is no preset named '{name}'; ") as error:
        expand(["pixels", name])
    known = ", ".join(f"@{each}" for each in PRESETS)
    assert f"there are {known}." in str(error.value)
    with pytest.raises(FechnerError, match="there is no preset named"):
        evaluate(name, out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UnknownNameError, match="did you mean '@cai2025'"):
        preset("cai205")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_in_the_bibliography_and_belong_to_a_suite(name: str) -> None:
    assert reference(name).short in (
        "Cai et al. 2025",
        "Hammou et al. 2025",
        "Hernández-Cámara et al. 2025",
        "RichardWebster et al. 2018",
        "Vila-Tomás et al. 2026",
    )
    assert suite(PRESETS[name]).reference == name


# Beside what is measured


@pytest.mark.parametrize("published", [True, False])
def test_printed_numbers_come_with_the_results(published: bool) -> None:
    run = evaluate(
        "pixels",
        "standard-observer",
        tests=["masking-coherent"],
        published=published,
        readouts=["angle", "l2"],
        scores_only=True,
        progress=False,
    )
    found = {(r.observer, r.score.readout): r.published for r in run.scores()}
    # The paper read out by the angle, and had no standard observer.
    assert found["pixels", "angle"] == 0.5057
    others = [value for place, value in found.items() if place != ("pixels", "angle")]
    assert len(others) == 2
    assert all(math.isnan(value) for value in others)
    assert ("paper 0.506" in run.table()) == published


def test_printed_numbers_of_a_layer_stand_beside_that_layer() -> None:
    run = evaluate(
        "bio-multilayer",
        suite="decalogue",
        tests=["spectral"],
        layers=["opponent", "csf", "wavelets"],
        published=True,
        progress=False,
    )
    found = {(r.score.layer, r.score.name): r.published for r in run.scores()}
    assert found["opponent", "pearson"] == 0.76
    assert found["opponent", "order"] == -0.17
    assert found["wavelets", "pearson"] == 0.73
    assert math.isnan(found["csf", "pearson"])
    assert expand(["@vila_tomas2026"]) == ["bio-multilayer"]
