"""ColorVideoVDP through the observer equals the package called by hand."""

import pytest
import torch

from fechner.observers import resolve
from fechner.observers.metrics.cvvdp import _import_pycvvdp
from fechner.stimuli import (
    OPPONENT,
    Clips,
    Field,
    Flicker,
    Gabor,
    Layer,
    Stimulus,
    display,
    paint,
)

FIELD = Field.of(pixels=64, ppd=60)


def frames(contrasts):
    background = OPPONENT.background_xyz(100.0)
    modulation = OPPONENT.modulation_xyz("ach", 100.0)
    stimuli = [Stimulus(background, (Layer(Gabor(4.0, 0.2), modulation, c),)) for c in contrasts]
    return paint(stimuli, FIELD, display("encoders"), light="cdm2")


def test_equals_the_package_by_hand() -> None:
    observer = resolve("cvvdp")
    test, reference = frames([0.05, 0.2, 0.8]), frames([0.0])
    got = observer.difference(test, observer.remember(reference), torch.zeros(3, dtype=torch.long))
    pycvvdp = _import_pycvvdp()
    metric = pycvvdp.cvvdp(
        display_photometry=pycvvdp.vvdp_display_photo_eotf(400, contrast=1e6, EOTF="linear"),
        display_geometry=pycvvdp.vvdp_display_geometry((3840, 2160), ppd=60.0),
        quiet=True,
    )
    jod, _ = metric.predict(test.pixels, reference.pixels.expand(3, -1, -1, -1), dim_order="BCHW")
    assert got[:, 0, 0] == pytest.approx(1 - jod.double().numpy() / 10, abs=2e-7)


def test_published_geometry_is_part_of_the_fingerprint() -> None:
    default = resolve("cvvdp")
    published = resolve("cvvdp", suite="encoders", published=True)
    assert default.fingerprint != published.fingerprint
    ppd = published._metric(FIELD, display("encoders")).pix_per_deg
    assert ppd == pytest.approx(75.4, abs=0.05)


def clips(*contrasts: float) -> Clips:
    field = Field(64, 64, 60.0, frames=8, fps=30.0)
    background = OPPONENT.background_xyz(50.0)
    modulation = OPPONENT.modulation_xyz("ach", 50.0)
    stimuli = tuple(
        Stimulus(background, (Layer(Gabor(4.0, 0.2), modulation, c, Flicker(8.0, 90.0)),))
        for c in contrasts
    )
    return Clips(stimuli, field, display("encoders"), "cdm2", torch.float32)


def test_videos_that_are_streamed_equal_the_package_by_hand() -> None:
    observer = resolve("cvvdp")
    test, reference = clips(0.1, 0.5), clips(0.0)
    which = torch.zeros(2, dtype=torch.long)
    got = observer.difference(test, observer.remember(reference), which)
    pycvvdp = _import_pycvvdp()
    metric = pycvvdp.cvvdp(
        display_photometry=pycvvdp.vvdp_display_photo_eotf(400, contrast=1e6, EOTF="linear"),
        display_geometry=pycvvdp.vvdp_display_geometry((3840, 2160), ppd=60.0),
        quiet=True,
    )
    whole = test.whole().pixels.contiguous()
    jod, _ = metric.predict(
        whole, reference.whole().pixels.expand_as(whole), dim_order="BCFHW", frames_per_second=30
    )
    assert got[:, 0, 0] == pytest.approx(1 - jod.double().numpy() / 10, abs=2e-6)
    assert 0 < got[0] < got[1]
