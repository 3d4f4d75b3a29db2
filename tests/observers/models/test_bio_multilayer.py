"""The BioMultiLayer-style cascade: its formulas by hand, and whether it sees as it should."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from types import ModuleType

import numpy as np
import pytest
import torch
from scripts import script
from torch import Tensor

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers import abilities, resolve
from fechner.observers.models.bio_multilayer import (
    BioMultiLayerObserver,
    BioParameters,
    WaveletStage,
    make,
)
from fechner.observers.models.stages import BioMultiLayer, bands
from fechner.stimuli import Field, Frames, Layer, Square, Stimulus, display, paint
from fechner.stimuli.colour import ATD
from fechner.stimuli.oriented_noise import OrientedNoise

FIELD = Field.of(pixels=128, ppd=64)
SHOWN = display("decalogue")
GREY = 40.0
BANDS = 18


def stimulus(*layers: tuple[str, OrientedNoise, float]) -> Stimulus:
    return Stimulus(
        ATD.background_xyz(GREY),
        tuple(Layer(noise, ATD.modulation_xyz(way, GREY), c) for way, noise, c in layers),
    )


def shown(*stimuli: Stimulus, field: Field = FIELD, dtype: torch.dtype | None = None) -> Frames:
    return paint(stimuli, field, SHOWN, light="cdm2", dtype=dtype, strict=True)


def uniform(xyz: Sequence[float], side: int = 32) -> Frames:
    return shown(Stimulus(tuple(xyz)), field=Field.of(pixels=side, ppd=64))


def looked(observer: BioMultiLayerObserver, frames: Frames) -> dict[str, Tensor]:
    seen: dict[str, Tensor] = {}
    observer.features(
        frames, {layer: lambda a, layer=layer: seen.update({layer: a}) for layer in observer.layers}
    )
    return seen


@cache
def standard() -> BioMultiLayerObserver:
    return make()


@torch.no_grad()
def distances(
    test: Sequence[Stimulus], background: Stimulus, layer: str = "wavelets"
) -> np.ndarray:
    """Euclidean distance from the background at a layer."""
    rows = looked(standard(), shown(background, *test))[layer].flatten(1)
    return (rows[1:] - rows[:1]).norm(dim=1).numpy()


# What it is


def test_it_is_an_encoder_with_opponent_channels_at_every_layer() -> None:
    observer = resolve("bio-multilayer")
    assert isinstance(observer, BioMultiLayerObserver)
    assert abilities(observer) == ("encodes",)
    assert observer.layers[-1] == "wavelets"
    assert observer.opponent_layers == dict.fromkeys(observer.layers, 3)
    shapes = {name: tuple(a.shape) for name, a in looked(observer, shown(stimulus())).items()}
    assert shapes.pop("wavelets") == shapes.pop("wavelets.linear") == (1, 3 * BANDS, 128, 128)
    assert set(shapes.values()) == {(1, 3, 128, 128)}


def test_its_output_is_its_last_layer() -> None:
    seen = {}
    frames = uniform((30.0, 40.0, 20.0))
    standard().features(frames, {"output": lambda a: seen.update(out=a)})
    assert torch.equal(seen["out"], looked(standard(), frames)["wavelets"])


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(UnknownNameError, match=r"no layer named 'csff'.*did you mean 'csf'"):
        standard().features(uniform((40, 40, 40)), {"csff": lambda a: None})


def test_what_its_answers_depend_on_is_in_the_fingerprint() -> None:
    prints = {
        make().fingerprint,
        make(opponent_b=0.1).fingerprint,
        make(opponent_pool=2.0).fingerprint,
        make(dtype="float64").fingerprint,
        BioMultiLayerObserver(BioParameters(wavelets=WaveletStage(sigma_octaves=1))).fingerprint,
    }
    assert len(prints) == 5
    assert resolve("bio-multilayer@opponent_b=0.1").fingerprint == make(opponent_b=0.1).fingerprint


@pytest.mark.parametrize("settings", [{"opponent_b": 0.0}, {"opponent_pool": -1.0}])
def test_settings_that_would_divide_by_nothing(settings: dict[str, float]) -> None:
    with pytest.raises(ObserverError, match=r"give a positive b, not .*pool of 0 or more, not"):
        make(**settings)


# Formulas by hand


COLOUR = (36.0, 40.0, 20.0)
#: A = Y, T = X - Y, D = 0.4 (Y - Z), over 255, 23, 35 cd/m2.
SCALED = np.array([40 / 255, -4 / 23, 8 / 35])


def test_opponent_colours_of_a_known_colour() -> None:
    linear = looked(standard(), uniform(COLOUR))["opponent.linear"][0, :, 5, 5]
    assert linear.numpy() == pytest.approx(SCALED, rel=1e-4)


def test_opponent_normalisation_of_a_known_colour() -> None:
    e = np.abs(SCALED) ** 1.25
    pooled = 0.01 + np.array([5, 2, 2]) * e
    expected = np.sign(SCALED) * np.array([255, 23, 35]) * (pooled + 1) * e / (pooled + e)
    found = looked(standard(), uniform(COLOUR))["opponent"][0, :, 5, 5]
    assert found.numpy() == pytest.approx(expected, rel=1e-3)


def test_a_colour_of_energy_1_keeps_its_response_on_any_background() -> None:
    """Its gain follows the picture; numbers of the authors' public code at another setting."""
    from fechner.observers.models.bio_multilayer import OpponentStage
    from fechner.observers.models.stages import Opponent

    xyz = torch.zeros(2, 3, 3, 3)
    xyz[0, 1], xyz[1, 1] = 10.0, 200.0
    xyz[:, 1, 1, 1] = 255.0
    out = Opponent(OpponentStage(), 1e-6).float()(xyz).out
    assert out[:, 0, 1, 1].tolist() == pytest.approx([255, 255], rel=1e-4)
    # alexhepburn/expert: a place of 0.2 among eight of 0.125, exponent 1.3, pool 2, b 0.01.
    settings = OpponentStage(exponent=1.3, pool=(2.0, 2.0, 2.0))
    xyz = torch.zeros(1, 3, 3, 3)
    xyz[0, 1] = 0.125 * 255
    xyz[0, 1, 1, 1] = 0.2 * 255
    seen = Opponent(settings, 1e-9).float()(xyz).out[0, 0]
    assert float(seen[1, 1]) == pytest.approx(130.0170, abs=0.02)
    assert float(seen[0, 0]) == pytest.approx(88.3901, abs=0.02)


def test_nothing_of_a_uniform_field_is_left_behind_the_first_stage() -> None:
    seen = looked(standard(), uniform(COLOUR))
    for layer in ("contrast.linear", "contrast", "csf", "wavelets"):
        largest = float(
            looked(standard(), shown(stimulus(("ach", OrientedNoise(4.0), 0.01))))[layer]
            .abs()
            .max()
        )
        assert float(seen[layer].abs().max()) < 2e-3 * largest


def test_contrast_is_divided_by_the_surround_with_its_sign() -> None:
    cascade = BioMultiLayer(BioParameters(), 64.0, (128, 128))
    x = torch.arange(128)
    grating = torch.cos(2 * np.pi * 8 * x / 128).expand(1, 3, 128, 128)  # 4 cpd
    mean = torch.tensor([60.0, -10.0, 5.0])[:, None, None]
    seen = cascade.contrast(mean + grating)
    blurred = np.exp(-2 * (np.pi * 0.066 * 4) ** 2)
    below = np.array([30, 230, 350]) + np.array([60, -10, 5]) + blurred
    assert seen.linear[0, :, 0, 0].numpy() == pytest.approx(1 - blurred, rel=1e-4)
    assert seen.out[0, :, 0, 0].numpy() == pytest.approx((1 - blurred) / below, rel=1e-4)


def test_the_sensitivity_stage_filters_by_the_human_curves() -> None:
    from fechner.human.spatial_observer import chromatic_yb_csf, standard_spatial_observer

    cascade = BioMultiLayer(BioParameters(), 64.0, (128, 128))
    gain = BioParameters().sensitivity.gain
    x = torch.arange(128)
    grating = torch.cos(2 * np.pi * 8 * x / 128).expand(1, 3, 128, 128)  # 4 cpd
    gains = cascade.csf(grating).linear[0, :, 0, 0].numpy() - 0.5e-4
    peak = 201.4082
    assert gains[0] == pytest.approx(
        gain[0] * float(standard_spatial_observer(4.0)) / peak, rel=1e-4
    )
    assert gains[2] == pytest.approx(gain[2] * float(chromatic_yb_csf(4.0)) / peak, rel=1e-4)


def test_natural_energy_all_around_gives_kappa() -> None:
    stage = BioMultiLayer(BioParameters(), 64.0, (128, 128)).wavelets.double()
    p = BioParameters().wavelets
    # Kernels on coarse grids add up to more than 1.
    added = [*[1.0] * 5, *[1.0012] * 4, *[1.6017] * 4, *[6.217] * 4, 24.868]
    e = np.repeat(p.natural_energy[0], (1, 4, 4, 4, 4, 1))
    pooled = stage.pool.numpy() @ (np.array(added) * e)
    level = stage.gain[0, :, 0, 0].numpy() * e / (stage.b[:, 0, 0].numpy() + pooled)
    assert level == pytest.approx(np.repeat(p.kappa[0], (1, 4, 4, 4, 4, 1)), rel=2e-3)


def test_bands_are_those_of_a_subsampled_pyramid() -> None:
    from plenoptic.process import SteerablePyramidFreq

    cascade = BioMultiLayer(BioParameters(), 64.0, (64, 64))
    x = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    linear, out = cascade.wavelets(x)
    assert [tuple(maps.shape[-2:]) for maps in out] == [
        (64 >> k, 64 >> k) for k in (0, 0, 1, 2, 3, 4)
    ]
    whole = torch.cat(
        [each.flatten(1) for each in SteerablePyramidFreq((64, 64), height=4)(x).values()], dim=1
    )
    field = cascade.wavelets.on_field(linear)
    assert float(field.norm()) == pytest.approx(float(whole.norm()), rel=1e-5)
    assert int(field.count_nonzero()) == whole.numel()


@pytest.mark.parametrize(
    ("ppd", "size", "found"),
    [
        (64.0, (128, 128), [32, 16, 8, 4, 2, 1]),
        (60.0, (224, 224), [30, 15, 7.5, 3.75, 1.875, 0.9375]),
        (32.0, (64, 90), [16, 8, 4, 2, 1]),
        (64.0, (16, 16), [32, 16, 8, 4]),
    ],
)
def test_bands_follow_the_resolution(ppd: float, size: tuple[int, int], found: list[float]) -> None:
    assert list(dict.fromkeys(band.frequency_cpd for band in bands(ppd, size))) == found


@pytest.mark.parametrize(("ppd", "size"), [(64.0, (6, 64)), (5.0, (64, 64))])
def test_a_field_without_a_band(ppd: float, size: tuple[int, int]) -> None:
    with pytest.raises(ObserverError, match="needs a larger or finer field than"):
        bands(ppd, size)


@pytest.mark.parametrize("orientation", [0.0, 45.0, 90.0, 135.0])
def test_bands_are_tuned_to_what_they_say(orientation: float) -> None:
    noise = OrientedNoise(4.0, orientation_deg=orientation, seed=3)
    linear = looked(standard(), shown(stimulus(("ach", noise, 0.1))))["wavelets.linear"]
    power = linear[0, 1 : BANDS - 1].square().mean(dim=(1, 2))
    best = bands(64.0, (128, 128))[1 + int(power.argmax())]
    assert best.frequency_cpd == 4.0
    assert best.orientation_deg == orientation


# Invariants


def test_pictures_do_not_depend_on_their_neighbours() -> None:
    frames = shown(stimulus(), *(stimulus(("ach", OrientedNoise(f), 0.2)) for f in (3.0, 9.0)))
    together = looked(standard(), frames)["wavelets"]
    alone = looked(standard(), replace(frames, pixels=frames.pixels[1:2]))["wavelets"]
    assert torch.allclose(together[1:2], alone, rtol=1e-4, atol=1e-6 * float(alone.abs().max()))


def test_single_and_double_precision_agree() -> None:
    recipe = stimulus(("rg", OrientedNoise(3.0), 0.1))
    single = looked(standard(), shown(recipe))["wavelets"].double()
    frames = shown(recipe, dtype=torch.float64)
    double = looked(make(dtype="float64"), frames)["wavelets"]
    assert double.dtype == torch.float64
    assert float((single - double).norm() / double.norm()) < 1e-3


def test_filters_are_made_once_for_a_size() -> None:
    observer = make()
    first = observer.cascade(uniform((40, 40, 40)))
    assert observer.cascade(uniform((30, 40, 35))) is first
    assert observer.cascade(uniform((40, 40, 40), side=48)) is not first
    for side in (50, 52, 54):
        observer.cascade(uniform((40, 40, 40), side=side))
    assert observer.cascade(uniform((40, 40, 40))) is not first  # the oldest of four is forgotten


def test_fields_of_odd_and_unequal_sides() -> None:
    frames = shown(stimulus(), field=Field(width_px=75, height_px=51, ppd=60.0))
    assert looked(standard(), frames)["wavelets"].shape[-2:] == (51, 75)


@pytest.mark.parametrize("layer", ["opponent", "contrast", "csf", "wavelets"])
@pytest.mark.parametrize("contrast", [0.0, 0.2])
def test_gradients_reach_the_light(layer: str, contrast: float) -> None:
    frames = shown(stimulus(("ach", OrientedNoise(4.0), contrast)))
    light = frames.pixels.clone().requires_grad_()
    activation = looked(standard(), replace(frames, pixels=light))[layer]
    (gradient,) = torch.autograd.grad(activation[0, :, 64, 64].sum(), light)
    assert bool(gradient.isfinite().all())
    assert float(gradient.abs().max()) > 0


# What it should see like


@cache
def calibration() -> ModuleType:
    return script("bio_multilayer")


def test_it_answers_as_the_published_responses_at_some_contrasts() -> None:
    """Of one draw and every sixth contrast, the lowest among them, which is farthest off."""
    found = calibration().distance(BioParameters(), draws=1, every=6)
    assert np.mean(np.square(list(found.values()))) ** 0.5 < 0.14


@pytest.mark.slow
def test_it_answers_as_the_published_responses() -> None:
    found = calibration().distance(BioParameters())
    assert np.mean(np.square(list(found.values()))) ** 0.5 < 0.10


@pytest.mark.parametrize("frequency", [3.0, 12.0])
def test_masks_attenuate_at_both_last_stages(frequency: float) -> None:
    """Sums of absolute differences, as in the published responses."""
    contrasts = np.array([0.03, 0.075, 0.15, 0.3])
    found = calibration().masked_over_unmasked(
        BioParameters(), "A", frequency, tuple(contrasts.tolist()), draws=5
    )[..., 0]
    csf, wavelets = found[..., 0], found[..., 1]
    assert (csf < 1).all()
    # From a weak mask, a strong test is a little farther than from nothing.
    masks = np.array(calibration().MASKS[1:])
    assert (wavelets[contrasts <= masks[:, None]] < 1).all()
    assert (wavelets < 1.2).all()
    assert (np.diff(found, axis=0) < 0).all()


def test_colour_saturates_sooner_with_less_b() -> None:
    """The interventions of Figure 14 of Vila-Tomás et al. (2026)."""
    way = ATD.modulation_xyz("rg", 1.0)
    reds = [Layer(Square(0.5), way, t) for t in (0.0, 5.0, 20.0)]
    tests = [Stimulus((70.0, 70.0, 70.0), (red,)) for red in reds]
    frames = paint(tests, Field.of(pixels=64, ppd=64), SHOWN, light="cdm2")

    def sharpness(b: float) -> float:
        red = looked(make(opponent_b=b), frames)["opponent"][:, 1, 32, 32]
        return float((red[1] - red[0]) / (red[2] - red[0]))

    found = [sharpness(b) for b in (0.001, 0.01, 0.1)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 1.2 * found[2]


@pytest.mark.parametrize("frequency", [2.0, 4.0, 8.0])
def test_bands_are_as_large_at_another_resolution(frequency: float) -> None:
    recipe = stimulus(("ach", OrientedNoise(frequency, seed=5), 0.1))
    coarse, fine = (
        looked(standard(), shown(recipe, field=Field.of(degrees=2, ppd=ppd)))["wavelets.linear"]
        for ppd in (32.0, 64.0)
    )
    assert float(coarse.norm()) == pytest.approx(float(fine.norm()), rel=0.1)
