"""The BioMultiLayer-style cascade: its formulas by hand, and whether it sees as it should."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers import abilities, resolve
from fechner.observers.models.bio_multilayer import BioMultiLayerObserver, make
from fechner.observers.models.bio_parameters import BioParameters, WaveletStage
from fechner.observers.models.stages import BioMultiLayer, bands
from fechner.stimuli import Field, Frames, Layer, Stimulus, display, paint
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


def test_opponent_colours_of_a_known_colour() -> None:
    linear = looked(standard(), uniform((36.0, 40.0, 20.0)))["opponent.linear"][0, :, 5, 5]
    # A = Y, T = X - Y, D = 0.4 (Y - Z), over 100 cd/m2.
    assert linear.numpy() == pytest.approx([0.4, -0.04, 0.08], rel=1e-4)


def test_opponent_normalisation_of_a_known_colour() -> None:
    p = BioParameters()
    y = np.array([0.4, -0.04, 0.08])
    e = np.abs(y) ** 1.25
    mean, b, pool = np.array(p.means.opponent_energy), 0.01, np.array([5, 2, 2])
    gain = np.array([255, 23, 35]) * (b + (1 + pool) * mean) / mean
    expected = np.sign(y) * gain * e / (b + (1 + pool) * e)
    found = looked(standard(), uniform((36.0, 40.0, 20.0)))["opponent"][0, :, 5, 5]
    assert found.numpy() == pytest.approx(expected, rel=1e-3)


def test_contrast_of_a_uniform_field_is_what_the_surround_leaves() -> None:
    seen = looked(standard(), uniform((36.0, 40.0, 20.0)))
    x = seen["opponent"][0, :, 5, 5].double().numpy()
    left = np.array([0.05, 0.15, 0.15]) * x
    assert seen["contrast.linear"][0, :, 5, 5].numpy() == pytest.approx(left, rel=1e-3)
    expected = left / (np.array([30, 230, 350]) + np.abs(x))
    assert seen["contrast"][0, :, 5, 5].numpy() == pytest.approx(expected, rel=1e-3)


def test_the_sensitivity_stage_filters_by_the_human_curves() -> None:
    from fechner.human.spatial_observer import chromatic_yb_csf, standard_spatial_observer

    cascade = BioMultiLayer(BioParameters(), 64.0, (128, 128))
    x = torch.arange(128)
    grating = torch.cos(2 * np.pi * 8 * x / 128).expand(1, 3, 128, 128)  # 4 cpd
    linear = cascade.csf(grating).linear
    peak = 201.4082
    gains = linear[0, :, 0, 0].numpy() / 0.12
    assert gains[0] == pytest.approx(float(standard_spatial_observer(4.0)) / peak, rel=1e-4)
    assert gains[2] == pytest.approx(float(chromatic_yb_csf(4.0)) / peak, rel=1e-4)


def test_natural_energy_gives_the_natural_level() -> None:
    stage = BioMultiLayer(BioParameters(), 64.0, (128, 128)).csf.double()
    means = BioParameters().means
    e = torch.tensor(means.sensitivity_energy, dtype=torch.float64)[:, None, None]
    level = stage.gain * e / (stage.b + e)
    expected = 0.014 * np.array(means.sensitivity_amplitude)
    assert level.flatten().numpy() == pytest.approx(expected, rel=1e-6)


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


FREQUENCIES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 24.0)


@cache
def sensitivities(way: str) -> np.ndarray:
    """Response to noise of contrast 0.05, a mean over two seeds."""
    both = [
        distances(
            [stimulus((way, OrientedNoise(f, seed=s), 0.05)) for f in FREQUENCIES], stimulus()
        )
        for s in (5, 6)
    ]
    return np.mean(both, axis=0)


def test_achromatic_sensitivity_is_band_pass() -> None:
    found = sensitivities("ach")
    peak = int(found.argmax())
    assert 2 <= FREQUENCIES[peak] <= 6
    assert found[0] < 0.6 * found[peak]
    assert found[-1] < 0.4 * found[peak]


@pytest.mark.parametrize("way", ["rg", "yb"])
def test_chromatic_sensitivity_is_low_pass(way: str) -> None:
    found = sensitivities(way)
    assert found[0] > 0.97 * found.max()
    assert (np.diff(found[1:8]) < 0).all()
    assert found[7] < 0.1 * found[0]


def test_yellow_blue_is_below_red_green() -> None:
    assert (sensitivities("yb") < sensitivities("rg")).all()


@pytest.mark.parametrize("way", ["ach", "rg", "yb"])
def test_contrast_responses_saturate(way: str) -> None:
    contrasts = (0.01, 0.03, 0.06, 0.09)
    for frequency in (3.0, 12.0):
        noise = OrientedNoise(frequency, seed=5)
        found = distances([stimulus((way, noise, c)) for c in contrasts], stimulus())
        slopes = np.diff([0.0, *found]) / np.diff([0.0, *contrasts])
        assert (np.diff(found) > 0).all()
        assert slopes[-1] < 0.6 * slopes[0]


def test_order_of_contrast_responses() -> None:
    def at(way: str, frequency: float) -> float:
        noise = OrientedNoise(frequency, seed=5)
        return float(distances([stimulus((way, noise, 0.1))], stimulus())[0])

    achromatic = [at("ach", f) for f in (3.0, 6.0, 12.0, 24.0)]
    assert achromatic == sorted(achromatic, reverse=True)
    assert achromatic[0] > 1.3 * at("ach", 1.5)
    for way in ("rg", "yb"):
        chromatic = [at(way, f) for f in (1.5, 3.0, 6.0, 12.0)]
        assert chromatic == sorted(chromatic, reverse=True)
        assert chromatic[1] < achromatic[0]


@pytest.mark.parametrize("frequency", [3.0, 12.0])
def test_masks_attenuate(frequency: float) -> None:
    """As in the suite: a mean over draws of test and mask."""

    def behind(contrast: float, seed: int) -> float:
        mask = ("ach", OrientedNoise(frequency, seed=(0, seed, 1)), contrast)
        test = ("ach", OrientedNoise(frequency, seed=(0, seed, 0)), 0.06)
        return float(distances([stimulus(mask, test)], stimulus(mask))[0])

    found = [np.mean([behind(c, seed) for seed in range(4)]) for c in (0.0, 0.075, 0.15, 0.3)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.6 * found[0]


@pytest.mark.parametrize(("frequency", "share"), [(3.0, 0.8), (12.0, 0.95)])
def test_a_mask_of_the_same_orientation_attenuates_most(frequency: float, share: float) -> None:
    test = OrientedNoise(frequency, seed=5)

    def behind(orientation: float) -> float:
        mask = ("ach", OrientedNoise(frequency, orientation_deg=orientation, seed=6), 0.2)
        return float(distances([stimulus(mask, ("ach", test, 0.06))], stimulus(mask))[0])

    same = behind(0.0)
    assert same < share * behind(90.0)
    assert same < behind(45.0)


def test_colour_saturates_sooner_with_less_b() -> None:
    """The interventions of Figure 14 of Vila-Tomás et al. (2026)."""
    tests = [Stimulus((70.0 + t, 70.0, 70.0)) for t in (0.0, 5.0, 20.0)]
    frames = paint(tests, Field.of(pixels=16, ppd=64), SHOWN, light="cdm2")

    def sharpness(b: float) -> float:
        red = looked(make(opponent_b=b), frames)["opponent"][:, 1, 0, 0]
        return float((red[1] - red[0]) / (red[2] - red[0]))

    found = [sharpness(b) for b in (0.001, 0.01, 0.1)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.9
    assert found[2] < 0.6


def test_the_peak_stays_where_it_is_at_another_resolution() -> None:
    field = Field.of(pixels=64, ppd=32)
    recipes = [
        stimulus(("ach", OrientedNoise(f, seed=5), 0.05)) for f in (1.0, 2.0, 4.0, 8.0, 12.0)
    ]
    with torch.no_grad():
        rows = looked(standard(), shown(stimulus(), *recipes, field=field))["wavelets"].flatten(1)
    found = (rows[1:] - rows[:1]).norm(dim=1)
    assert int(found.argmax()) in (1, 2)
