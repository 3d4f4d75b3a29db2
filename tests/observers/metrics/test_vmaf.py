"""VMAF: the packages called by hand, both engines beside each other, and what it is blind to."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from fechner.errors import MissingExtraError, ObserverError, UnknownNameError
from fechner.observers import resolve
from fechner.observers.metrics.metric import import_package, luma
from fechner.observers.metrics.vmaf import Vmaf, _blur
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

FIELD = Field(128, 96, ppd=60.0)
DESK = display("metrics")
GREY = Stimulus(OPPONENT.background_xyz(21.4))
MASK = 0.2


def gabor(contrast: float, frequency_cpd: float = 4.0, flicker: Flicker | None = None) -> Layer:
    modulation = OPPONENT.modulation_xyz("ach", 21.4)
    return Layer(Gabor(frequency_cpd, sigma_deg=2.0), modulation, contrast, flicker)


def on_grey(*layers: Layer) -> Stimulus:
    return replace(GREY, layers=layers)


def frames(*stimuli: Stimulus) -> Frames:
    return paint(stimuli, FIELD, DESK, dtype=torch.float64)


def clips(*stimuli: Stimulus, count: int = 4) -> Clips:
    field = replace(FIELD, frames=count, fps=60.0)
    return Clips(stimuli, field, DESK, "display", torch.float64)


def differences(observer: Vmaf, tests: Frames | Clips, reference: Frames | Clips) -> torch.Tensor:
    """Compare with one reference for all, or one for each."""
    which = torch.arange(len(tests)) % len(reference)
    return observer.difference(tests, observer.remember(reference), which).flatten()


@pytest.fixture(scope="module")
def vmaf() -> Vmaf:
    return resolve("vmaf")


@pytest.fixture(scope="module")
def libvmaf() -> Vmaf:
    return resolve("vmaf@engine=libvmaf")


def by_hand(reference: torch.Tensor, test: torch.Tensor, motion: bool) -> torch.Tensor:
    """Return the scores of frames, [n, 3, h, w], by the package as it comes, made in float64."""
    torch.set_default_dtype(torch.float64)
    try:
        model = import_package("vmaf_torch", "vmaf", "vmaf").VMAF(enable_motion=motion)
    finally:
        torch.set_default_dtype(torch.float32)
    reference, test = (16 + 219 * luma(each)[:, None] for each in (reference, test))
    return model(reference.expand_as(test), test).flatten()


def test_pictures_equal_the_package_by_hand(vmaf: Vmaf) -> None:
    tests = frames(*(on_grey(gabor(MASK, 2.0), gabor(c, 6.0)) for c in (0.01, 0.1, 0.5)))
    reference = frames(on_grey(gabor(MASK, 2.0)))
    want = 97.4280426426 - by_hand(reference.pixels, tests.pixels, motion=False)
    assert differences(vmaf, tests, reference).numpy() == pytest.approx(want.numpy(), abs=1e-9)


def test_videos_equal_the_package_by_hand(vmaf: Vmaf) -> None:
    """With motion in the reference, as the package sees it when it is given all frames at once."""
    test = clips(on_grey(gabor(0.5, 2.0, Flicker(8.0, 30)), gabor(0.1, 6.0)), count=5)
    reference = clips(on_grey(gabor(0.5, 2.0, Flicker(8.0, 90))), count=5)
    whole = [each.whole().pixels[0].transpose(0, 1) for each in (reference, test)]
    scores = by_hand(*whole, motion=True)
    still = by_hand(*whole, motion=False)
    assert (scores - still).abs().max() > 0.1
    want = 97.4280426426 - scores.mean().item()
    assert differences(vmaf, test, reference).item() == pytest.approx(want, abs=1e-9)


def test_the_blur_equals_a_convolution() -> None:
    picture = torch.rand(2, 1, 20, 31, dtype=torch.float64)
    kernel = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1], dtype=torch.float64)
    for stride in (1, 2):
        want = torch.nn.functional.conv2d(picture, kernel.outer(kernel)[None, None], stride=stride)
        assert _blur(picture, kernel, stride).numpy() == pytest.approx(want.numpy(), abs=1e-15)


def test_nothing_differs_from_itself(vmaf: Vmaf, libvmaf: Vmaf) -> None:
    pictures = frames(GREY, on_grey(gabor(0.5)))
    assert differences(vmaf, pictures, pictures).abs().max() < 1e-3
    # Fixed point leaves a little where there is a pattern.
    assert differences(libvmaf, pictures, pictures).abs().max() < 0.1
    assert differences(libvmaf, frames(GREY), frames(GREY)).item() == 0
    assert differences(vmaf, clips(GREY), clips(GREY)).abs().item() < 1e-9


def test_near_threshold_it_is_the_square_of_contrast(vmaf: Vmaf) -> None:
    """Which neither float32 nor the fixed point of the original hold."""
    contrasts = torch.tensor([0.0003, 0.003, 0.03], dtype=torch.float64)
    tests = frames(*(on_grey(gabor(c)) for c in contrasts.tolist()))
    ratios = differences(vmaf, tests, frames(GREY)) / contrasts.square()
    assert (ratios / ratios[-1]).tolist() == pytest.approx([1, 1, 1], rel=2e-3)


def test_engines_agree(vmaf: Vmaf, libvmaf: Vmaf) -> None:
    """To a thousandth of a point on grey, to 3 % where there is a pattern in the reference."""
    tests = frames(*(on_grey(gabor(c)) for c in (0.03, 0.3, 0.9)))
    a, b = (differences(each, tests, frames(GREY)) for each in (vmaf, libvmaf))
    assert a.tolist() == sorted(a.tolist())
    assert a.numpy() == pytest.approx(b.numpy(), abs=1e-3)
    tests = frames(*(on_grey(gabor(MASK, 2.0), gabor(c, 6.0)) for c in (0.03, 0.1, 0.3)))
    reference = frames(on_grey(gabor(MASK, 2.0)))
    a, b = (differences(each, tests, reference) for each in (vmaf, libvmaf))
    assert a.numpy() == pytest.approx(b.numpy(), rel=0.03, abs=0.1)


def test_engines_agree_on_videos(vmaf: Vmaf, libvmaf: Vmaf) -> None:
    test = clips(on_grey(gabor(0.9, 4.0, Flicker(8.0, 90))), count=8)
    a, b = (differences(each, test, clips(GREY, count=8)).item() for each in (vmaf, libvmaf))
    assert a == pytest.approx(b, abs=1e-3)
    assert a > 0.3
    moving = clips(on_grey(gabor(0.5, 2.0, Flicker(8.0, 90))), count=8)
    a, b = (differences(each, test, moving).item() for each in (vmaf, libvmaf))
    assert a == pytest.approx(b, rel=0.1)


def test_it_does_not_see_time(vmaf: Vmaf) -> None:
    """A Gabor that reverses is the mean of its frames: half of the steady one, at any frequency."""
    steady = differences(vmaf, frames(on_grey(gabor(0.03))), frames(GREY)).item()
    for frequency_hz in (4.0, 8.0):
        reversing = clips(on_grey(gabor(0.03, 4.0, Flicker(frequency_hz, 90))), count=15)
        got = differences(vmaf, reversing, clips(GREY, count=15)).item()
        assert got == pytest.approx(steady / 2, rel=0.04)  # of whole periods, but for one frame
    assert differences(vmaf, clips(on_grey(gabor(0.03))), clips(GREY)).item() == pytest.approx(
        steady, rel=1e-9
    )


def test_motion_of_the_reference_raises_the_score(vmaf: Vmaf) -> None:
    moving = clips(on_grey(gabor(0.5, 2.0, Flicker(8.0, 90))))
    assert -20 < differences(vmaf, moving, moving).item() < -5


def test_batches(vmaf: Vmaf) -> None:
    tests = frames(*(on_grey(gabor(c)) for c in (0.01, 0.1, 0.5)))
    together = differences(vmaf, tests, frames(GREY))
    assert torch.equal(together, differences(vmaf, tests, frames(GREY, GREY, GREY)))
    alone = [differences(vmaf, replace(tests, pixels=p[None]), frames(GREY)) for p in tests.pixels]
    assert torch.equal(together, torch.cat(alone))
    videos = [on_grey(gabor(c, 4.0, Flicker(8.0, 90))) for c in (0.1, 0.5)]
    together = differences(vmaf, clips(*videos), clips(GREY))
    alone = [differences(vmaf, clips(video), clips(GREY)) for video in videos]
    assert torch.equal(together, torch.cat(alone))


def test_levels_and_clipping(vmaf: Vmaf) -> None:
    tests, reference = frames(on_grey(gabor(0.03))), frames(GREY)
    limited = differences(vmaf, tests, reference).item()
    full = differences(resolve("vmaf@levels=full"), tests, reference).item()
    assert full / limited == pytest.approx((255 / 219) ** 2, rel=1e-3)
    tests, reference = frames(on_grey(gabor(0.5))), frames(on_grey(gabor(0.2)))
    assert differences(vmaf, tests, reference).item() < -2.6
    clipped = differences(resolve("vmaf@clip=yes"), tests, reference).item()
    assert clipped == pytest.approx(97.4280426426 - 100)


def test_fingerprints() -> None:
    names = ["vmaf", "vmaf@levels=full", "vmaf@clip=yes"]
    seen = {resolve(name).fingerprint for name in (*names, "vmaf@engine=libvmaf")}
    assert len(seen) == 4
    assert "vmaf-torch 1." in resolve("vmaf").fingerprint


def test_what_is_declared(vmaf: Vmaf, libvmaf: Vmaf) -> None:
    assert (vmaf.wants.video, vmaf.wants.colour, vmaf.wants.dtype) == (True, False, "float64")
    assert vmaf.about.csf_based
    assert vmaf.about.fed == "float"
    assert "16-bit luma of limited levels" in libvmaf.about.fed


def test_published_numbers_were_made_by_the_original() -> None:
    """By the weights of BT.2020, and with scores in single precision."""
    observer = resolve("vmaf", suite="metrics", published=True)
    assert "16-bit" in observer.about.fed
    assert "/limited/bt2020/False/float32" in observer.fingerprint


def test_weights_of_luma(vmaf: Vmaf) -> None:
    """Greys are the same by all weights, colours are not."""
    other = resolve("vmaf@matrix=bt2020")
    tests, reference = frames(on_grey(gabor(0.3))), frames(GREY)
    want = differences(vmaf, tests, reference).item()
    assert differences(other, tests, reference).item() == pytest.approx(want, rel=1e-3)
    red = replace(tests, pixels=tests.pixels * torch.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1))
    brighter = replace(red, pixels=red.pixels * 0.2627 / 0.2126)
    black = replace(reference, pixels=torch.zeros_like(reference.pixels))
    want = differences(vmaf, brighter, black).item()
    assert differences(other, red, black).item() == pytest.approx(want, rel=1e-6)
    assert differences(vmaf, red, black).item() != pytest.approx(want, rel=0.1)


def test_scores_in_single_precision_are_steps(vmaf: Vmaf) -> None:
    rounded = resolve("vmaf@scores_in=float32")
    tests = frames(*(on_grey(gabor(c)) for c in (0.0, 0.0003, 0.0004, 0.03)))
    exact, steps = (differences(each, tests, frames(GREY)) for each in (vmaf, rounded))
    assert exact[0] < exact[1] < exact[2] < 2e-6
    assert steps[:3].tolist() == [0, 0, 0]
    assert steps[3].item() == pytest.approx(exact[3].item(), abs=8e-6)


def test_the_default_precision_is_left_alone() -> None:
    resolve("vmaf")
    assert torch.get_default_dtype() == torch.float32


def test_unknown_settings() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'libvmaf'"):
        resolve("vmaf@engine=libvmf")
    with pytest.raises(UnknownNameError, match="vmaf has engine, levels, matrix, clip, scores_in"):
        resolve("vmaf@size=96")


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fechner\[libvmaf\]'"):
        resolve("vmaf@engine=libvmaf")
    monkeypatch.setitem(sys.modules, "vmaf_torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fechner\[vmaf\]'"):
        resolve("vmaf")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo ' ... scale V->V'", "was built without libvmaf; unset IMAGEIO_FFMPEG_EXE"),
        ("echo ' ... libvmaf VV->V'; echo 'out of luck' >&2", "it said: out of luck"),
    ],
)
def test_another_ffmpeg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text(f"#!/bin/sh\n{script}\n")
    ffmpeg.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(ffmpeg))
    with pytest.raises(ObserverError, match=says):
        differences(resolve("vmaf@engine=libvmaf"), clips(GREY, count=20), clips(GREY, count=20))
