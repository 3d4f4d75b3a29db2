"""Metrics as observers: declared facts, references once, pictures, videos, gradients."""

import math
import sys
import warnings
from pathlib import Path

import pytest
import torch

from fechner.errors import MissingExtraError
from fechner.observers import Wants, resolve
from fechner.observers.catalogue import catalogue, declared_metrics
from fechner.observers.metrics.metric import (
    KINDS,
    About,
    Metric,
    import_package,
    luma,
    quietly,
    release,
    rows,
)
from fechner.observers.metrics.speed_qa import information, speed, speed_video, watch
from fechner.stimuli import (
    OPPONENT,
    Clips,
    Field,
    Flicker,
    Frames,
    Gabor,
    Layer,
    Stimulus,
    display,
    paint,
)

# Metrics of our own as observers: declared facts, references once, pictures, videos, gradients


FIELD = Field(224, 192, 60.0)
SCREEN = display("metrics")
GREY = OPPONENT.background_xyz(21.4)


def gabor(contrast: float, direction: str = "ach", flicker: Flicker | None = None) -> Stimulus:
    modulation = OPPONENT.modulation_xyz(direction, 21.4)
    return Stimulus(GREY, (Layer(Gabor(4.0, 0.4), modulation, contrast, flicker),))


def shown(metric: Metric, *stimuli: Stimulus) -> Frames:
    wants = metric.wants
    return paint(stimuli, FIELD, SCREEN, light=wants.light, dtype=getattr(torch, wants.dtype))


def differences(metric: Metric, tests: Frames, references: Frames, which=None) -> list[float]:
    which = torch.zeros(len(tests), dtype=torch.long) if which is None else torch.tensor(which)
    answer = metric.difference(tests, metric.remember(references), which)
    assert answer.shape == (len(tests), 1, 1)
    assert answer.dtype == torch.float64
    return answer.flatten().tolist()


OWN = ("psnr-y", "ssim", "ms-ssim", "nlpd", "ciede2000", "hyab", "ictcp", "scielab", "speed-qa")


@pytest.fixture(params=OWN)
def metric(request: pytest.FixtureRequest) -> Metric:
    found = resolve(request.param)
    assert isinstance(found, Metric)
    return found


def test_identical_pictures_do_not_differ(metric: Metric) -> None:
    assert differences(metric, shown(metric, gabor(0.3)), shown(metric, gabor(0.3))) == [0.0]


def test_batches_and_references_do_not_matter(metric: Metric) -> None:
    tests = shown(metric, gabor(0.1), gabor(0.2), gabor(0.4))
    one = shown(metric, gabor(0.0))
    together = differences(metric, tests, one)
    three = shown(metric, gabor(0.4), gabor(0.0), gabor(0.2))
    assert differences(metric, tests, three, [1, 1, 1]) == pytest.approx(together, rel=1e-9)
    for row, expected in enumerate(together):
        alone = Frames(tests.pixels[row : row + 1], FIELD, SCREEN, metric.wants.light)
        assert differences(metric, alone, one) == pytest.approx([expected], rel=1e-9)


def test_more_contrast_differs_more(metric: Metric) -> None:
    grey = shown(metric, gabor(0.02))
    found = differences(metric, shown(metric, gabor(0.1), gabor(0.2), gabor(0.4)), grey)
    assert 0 < found[0] < found[1] < found[2]


def test_colours_of_the_same_luma_differ_for_those_who_see_colour(metric: Metric) -> None:
    grey = torch.full((1, 3, 192, 224), 0.5, dtype=torch.float64)
    coloured = grey.clone()
    coloured[:, 0, :, ::2] += 0.05
    coloured[:, 1, :, ::2] -= 0.05 * 0.2126 / 0.7152
    test, reference = (
        Frames(50 * pixels if metric.wants.light == "cdm2" else pixels, FIELD, SCREEN, light)
        for pixels, light in ((coloured, metric.wants.light), (grey, metric.wants.light))
    )
    (found,) = differences(metric, test, reference)
    assert (found > 1e-9) == metric.wants.colour


def test_gradients_are_finite(metric: Metric) -> None:
    tests = shown(metric, gabor(0.1))
    pixels = tests.pixels.clone().requires_grad_()
    frames = Frames(pixels, FIELD, SCREEN, metric.wants.light)
    which = torch.zeros(1, dtype=torch.long)
    metric.difference(frames, metric.remember(shown(metric, gabor(0.0))), which).sum().backward()
    assert torch.isfinite(pixels.grad).all()
    assert pixels.grad.abs().max() > 0


def test_double_precision_is_wanted(metric: Metric) -> None:
    assert metric.wants.dtype == "float64"
    assert metric.about.precision
    assert metric.fingerprint


@pytest.mark.parametrize("name", ["psnr-y", "ciede2000", "hyab", "ictcp"])
def test_a_mirrored_half_tells_pixelwise_metrics_all(name: str) -> None:
    metric = resolve(name)
    assert metric.wants.pixelwise
    whole = shown(metric, gabor(0.2)), shown(metric, gabor(0.0))
    half = [
        Frames(f.pixels[:, :, :96], FIELD, SCREEN, metric.wants.light, share=1.0) for f in whole
    ]
    assert differences(metric, *half) == pytest.approx(differences(metric, *whole), rel=1e-9)


def test_speed_qa_watches_videos() -> None:
    metric = resolve("speed-qa")
    field = Field(192, 192, 60.0, frames=4, fps=30.0)

    def clips(*contrasts: float) -> Clips:
        stimuli = tuple(gabor(c, flicker=Flicker(6.0, phase_deg=90)) for c in contrasts)
        return Clips(stimuli, field, SCREEN, "display", torch.float64)

    which = torch.zeros(2, dtype=torch.long)
    found = metric.difference(clips(0.2, 0.4), metric.remember(clips(0.1)), which)
    assert found.shape == (2, 1, 1)
    assert (found > 0).all()
    same = metric.difference(clips(0.1), metric.remember(clips(0.1)), which[:1])
    assert float(same) == 0


def test_speed_qa_of_the_last_pair_of_frames() -> None:
    field = Field(192, 192, 60.0, frames=4, fps=4.0)

    def clips(contrast: float) -> Clips:
        stimuli = (gabor(contrast, flicker=Flicker(1.0)),)  # the frames are 0, +, 0 and -
        return Clips(stimuli, field, SCREEN, "display", torch.float64)

    def asked(name: str) -> float:
        metric = resolve(name)
        remembered = metric.remember(clips(0.0))
        return float(metric.difference(clips(0.4), remembered, torch.tensor([0])))

    lumas = 16 + 219 * torch.stack([luma(frame.pixels) for frame in clips(0.4)], dim=1)
    uniform = lumas[:, :1].expand_as(lumas)
    pairs = [watch(each[:, 2:]) for each in (lumas, uniform)]
    assert asked("speed-qa@pairs=last") == pytest.approx(float(speed_video(*pairs)), rel=1e-9)
    assert asked("speed-qa") != pytest.approx(asked("speed-qa@pairs=last"), rel=0.01)


def test_speed_qa_of_luma_in_single_precision_computes_in_double() -> None:
    metric = resolve("speed-qa@precision=float32")
    test, grey = shown(metric, gabor(0.003)), shown(metric, gabor(0.0))
    assert test.pixels.dtype == torch.float32
    said = [information((16 + 219 * luma(each.pixels)).double()) for each in (test, grey)]
    assert differences(metric, test, grey) == speed(*said).tolist()
    published = resolve("speed-qa", suite="metrics", published=True)
    assert published.fingerprint == resolve("speed-qa@precision=float32,pairs=last").fingerprint


def test_psnr_is_minus_twenty_log_of_the_difference() -> None:
    metric = resolve("psnr-y")
    test, grey = shown(metric, gabor(0.2)), shown(metric, gabor(0.0))
    (found,) = differences(metric, test, grey)
    weights = torch.tensor([0.2126, 0.7152, 0.0722], dtype=torch.float64)[:, None, None]
    luma = [(frames.pixels * weights).sum(dim=1) for frames in (test, grey)]
    psnr = -10 * math.log10(float((luma[0] - luma[1]).square().mean()))
    assert -20 * math.log10(found) == pytest.approx(psnr)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ms-ssim", "odd=black,levels=255"),
        ("ciede2000", "conversion=published"),
        ("ictcp", "tritan=0.7071"),
        ("scielab", "version=code,relative=yes"),
        ("ssim", "precision=float32"),
    ],
)
def test_settings_change_answers_and_fingerprints(name: str, settings: str) -> None:
    plain, other = resolve(name), resolve(f"{name}@{settings}")
    assert plain.fingerprint != other.fingerprint
    stimuli = gabor(0.3, "yv") if plain.wants.colour else gabor(0.3)
    first, second = (
        differences(metric, shown(metric, stimuli), shown(metric, gabor(0.0)))[0]
        for metric in (plain, other)
    )
    assert first != second


def test_published_settings_are_those_of_the_suite() -> None:
    broken = resolve("hyab", suite="metrics", published=True)
    right = resolve("hyab")
    found, expected = (
        differences(each, shown(each, gabor(0.05, "rg")), shown(each, gabor(0.0)))[0]
        for each in (broken, right)
    )
    # Lightness in all three coordinates hardly sees red and green.
    assert found < 0.3 * expected


# What metrics declare


def test_every_metric_declares_itself() -> None:
    found = declared_metrics()
    assert {"psnr-y", "cvvdp", "piq/gmsd", "flip", "vmaf", "lpips/alex"} <= set(found)
    for name, about in found.items():
        assert about.kind in KINDS, name
        assert about.scores[0] < about.scores[1], name
        assert about.precision, name
        end = about.scores[1] if about.higher_is_better else about.scores[0]
        assert math.isinf(about.best) or math.isinf(end) or about.best == end, name
    for name, entry in catalogue().items():
        assert ".metrics." not in entry.make or name in found


def test_a_metric_without_a_way_to_watch_cannot_want_video() -> None:
    about = About("other", Wants(video=True), 0.0, (0.0, 1.0), higher_is_better=False)
    with pytest.raises(ValueError, match="wants video and cannot watch it"):
        Metric("x", about, lambda test, reference, frames: test)


def test_rows_of_nested_features() -> None:
    which = torch.tensor([1, 0, 1])
    features = (torch.arange(2.0), (torch.arange(4.0).reshape(2, 2), torch.ones(1, 3)))
    first, (second, third) = rows(features, which)
    assert first.tolist() == [1, 0, 1]
    assert second.tolist() == [[2, 3], [0, 1], [2, 3]]
    assert third.shape == (1, 3)


# Packages that hold metrics: quiet, and one sentence where they are missing


def test_import_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loud_metric.py").write_text(
        "import warnings\nprint('hello')\nwarnings.warn('old')\nscore = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert import_package("loud_metric", "loud", "loud", torchvision=False).score == 3
    monkeypatch.delitem(sys.modules, "loud_metric")
    assert capsys.readouterr().out == ""


def test_a_package_that_misses_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_metric.py").write_text("import no_such_thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError) as caught:
        import_package("half_metric", "piq/gmsd", "piq", torchvision=False)
    assert str(caught.value) == (
        "observer 'piq/gmsd' needs an extra package (No module named 'no_such_thing'): "
        "pip install 'fechner[piq]'."
    )


def test_warnings_come_back_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    with quietly():
        warnings.warn("unheard", stacklevel=1)
        sys.stdout.write("unheard")
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)
    assert capsys.readouterr().out == ""


def test_release_names_package_and_version() -> None:
    assert release("piq").split()[0] == "piq"
    assert release("piq").split()[1][0].isdigit()
