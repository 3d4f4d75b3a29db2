"""Displays: the sRGB formula written out, gamma, black, quantisation, dithering, gradients."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from fechner.errors import FechnerError, UnknownNameError
from fechner.stimuli import OPPONENT, Display, display, displays, gamut_limit, open_display
from fechner.stimuli.colour import PRIMARIES

EOTFS = ["srgb", "gamma", "linear", "pq", "hlg"]


def srgb_encode(linear: np.ndarray) -> np.ndarray:
    """IEC 61966-2-1, as printed."""
    return np.array(
        [12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055 for v in linear]
    )


def srgb_decode(encoded: np.ndarray) -> np.ndarray:
    return np.array([v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in encoded])


LINEAR = np.concatenate([[0.0, 0.00313, 0.0031309, 1.0], np.geomspace(1e-6, 1, 400)])


def test_srgb_encoding() -> None:
    encoded = Display("d", peak_cdm2=400.0).encode(torch.from_numpy(400 * LINEAR))
    np.testing.assert_allclose(encoded, srgb_encode(LINEAR), rtol=0, atol=1e-13)


@pytest.mark.parametrize("part", [LINEAR[LINEAR <= 0.003], LINEAR[LINEAR > 0.004]])
def test_srgb_encoding_of_dark_and_of_bright_pictures(part: np.ndarray) -> None:
    # Pictures wholly on one side of the knee take a path of their own.
    encoded = Display("d", peak_cdm2=400.0).encode(torch.from_numpy(400 * part))
    np.testing.assert_allclose(encoded, srgb_encode(part), rtol=0, atol=1e-13)


def test_srgb_decoding() -> None:
    values = np.linspace(0, 1, 1001)
    light = Display("d", peak_cdm2=80.0).decode(torch.from_numpy(values))
    np.testing.assert_allclose(light, 80 * srgb_decode(values), rtol=0, atol=1e-6)


def test_middle_grey() -> None:
    # 21.4 % of the peak is encoded as 0.5, 18 % as 0.461 (118 of 255).
    desk = Display("desk", peak_cdm2=100.0)
    encoded = desk.encode(torch.tensor([21.404, 18.0], dtype=torch.float64))
    np.testing.assert_allclose(encoded, (0.5, 0.4614), rtol=0, atol=5e-5)


def test_single_precision_stays_within_a_few_roundings() -> None:
    encoded = Display("d", peak_cdm2=400.0).encode(torch.from_numpy(400 * LINEAR).float())
    assert encoded.dtype == torch.float32
    np.testing.assert_allclose(encoded, srgb_encode(LINEAR), rtol=0, atol=3e-7)


def test_gamma_per_channel() -> None:
    crt = Display("crt", peak_cdm2=171.2, eotf="gamma", gamma=(2.2, 2.0, 1.8))
    light = torch.full((2, 3, 4, 5), 42.8, dtype=torch.float64)  # a quarter of the peak
    encoded = crt.encode(light)
    assert encoded.shape == light.shape
    np.testing.assert_allclose(encoded[1, :, 2, 3], [0.25 ** (1 / g) for g in (2.2, 2.0, 1.8)])
    np.testing.assert_allclose(crt.decode(encoded), light, rtol=1e-12)


def test_gamma_of_one_channel_is_that_of_green() -> None:
    crt = Display("crt", peak_cdm2=100.0, eotf="gamma", gamma=(1.0, 2.0, 3.0))
    for shape in [(7,), (4, 5), (3, 1, 4, 5)]:
        encoded = crt.encode(torch.full(shape, 25.0))
        assert encoded.shape == shape
        assert encoded.flatten()[0].item() == pytest.approx(0.5)


def test_a_linear_display() -> None:
    encoded = Display("l", peak_cdm2=200.0, eotf="linear").encode(torch.tensor([0.0, 50.0, 300.0]))
    assert encoded.tolist() == [0.0, 0.25, 1.0]


@pytest.mark.parametrize("eotf", ["srgb", "gamma", "linear", "hlg"])
def test_black_and_peak_are_the_ends_of_the_code(eotf: str) -> None:
    office = Display("office", peak_cdm2=100.0, black_cdm2=0.5, eotf=eotf)
    asked = torch.tensor([0.0, 0.5, 100.0, 120.0], dtype=torch.float64)
    # Constants of HLG are printed with eight digits.
    np.testing.assert_allclose(office.encode(asked), (0, 0, 1, 1), rtol=0, atol=1e-8)
    np.testing.assert_allclose(office.decode(torch.tensor([0.0, 1.0])), (0.5, 100.0), rtol=1e-6)
    assert office.show(asked).tolist() == [0.5, 0.5, 100.0, 100.0]


def test_floor_and_light_above_the_peak() -> None:
    published = Display("p", peak_cdm2=400.0, floor_cdm2=1e-4, clips=False)
    asked = torch.tensor([-3.0, 0.0, 500.0], dtype=torch.float64)
    assert published.show(asked).tolist() == [1e-4, 1e-4, 500.0]
    np.testing.assert_allclose(
        published.encode(asked), srgb_encode(np.array([2.5e-7, 2.5e-7, 1.25])), rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("eotf", EOTFS)
@pytest.mark.parametrize("black", [0.0, 0.3])
@pytest.mark.parametrize("lux", [0.0, 300.0])
def test_round_trip(eotf: str, black: float, lux: float) -> None:
    screen = Display("s", 250.0, black, eotf, ambient_lux=lux, reflectivity=0.01)
    low, high = screen.limits_cdm2()
    light = torch.from_numpy(np.geomspace(max(low, 1e-5), high, 300))
    np.testing.assert_allclose(screen.decode(screen.encode(light)), light, rtol=1e-7)
    np.testing.assert_allclose(screen.decode(screen.encode(light.float())), light, rtol=5e-5)
    assert torch.equal(screen.show(light), light)


@pytest.mark.parametrize("eotf", EOTFS)
def test_round_trip_in_colour(eotf: str) -> None:
    screen = Display("s", 800.0, 0.1, eotf, rgb_to_xyz=PRIMARIES["bt2020"])
    light = 0.1 + 799 * torch.rand(2, 3, 16, 16, dtype=torch.float64)
    np.testing.assert_allclose(screen.decode(screen.encode(light)), light, rtol=1e-7)


@pytest.mark.parametrize("eotf", EOTFS)
@pytest.mark.parametrize("compensates", [True, False])
def test_what_is_seen_is_what_the_values_say(eotf: str, compensates: bool) -> None:
    screen = Display(
        "s", 250.0, 0.3, eotf, compensates_black=compensates, ambient_lux=300, reflectivity=0.02
    )
    asked = torch.linspace(-5, 300, 200, dtype=torch.float64)
    seen = screen.decode(screen.encode(asked))
    np.testing.assert_allclose(screen.show(asked), seen, rtol=1e-7)
    reflected = 300 / math.pi * 0.02
    assert screen.reflected_cdm2 == pytest.approx(reflected)
    assert (float(seen.min()), float(seen.max())) == pytest.approx(
        (0.3 + reflected, 250 + reflected)
    )


def test_ambient_light_washes_out_pictures_that_are_not_made_for_it() -> None:
    """A grating of contrast 0.5 around 50 cd/m2 under 10 cd/m2 of reflection."""
    room = {"ambient_lux": 1000 * math.pi, "reflectivity": 0.01}
    asked = torch.tensor([25.0, 75.0])
    seen = Display("plain", 200.0, compensates_black=False, **room).show(asked)
    assert float(seen.diff() / seen.sum()) == pytest.approx(50 / 120)
    assert torch.equal(Display("calibrated", 200.0, **room).show(asked), asked)


def test_pq_values_stand_for_light() -> None:
    """ST 2084: 100 cd/m2 is 0.508 whatever the display's peak; what it cannot show is cut."""
    for peak in (300.0, 1000.0):
        screen = Display("hdr", peak, 0.01, "pq")
        encoded = screen.encode(torch.tensor([100.0, 1e4], dtype=torch.float64))
        assert encoded[0].item() == pytest.approx(0.508078, abs=1e-6)
        light = screen.decode(torch.tensor([0.0, 1.0, encoded[1]], dtype=torch.float64))
        assert light.tolist() == pytest.approx([0.01, peak, peak])


def test_primaries_as_in_colour_science() -> None:
    with np.printoptions():
        import colour
    white = np.array([0.95047, 1.0, 1.08883])
    for name, theirs in (("bt2020", "ITU-R BT.2020"), ("p3-d65", "P3-D65")):
        space = colour.RGB_COLOURSPACES[theirs]
        matrix = colour.normalised_primary_matrix(space.primaries, colour.XYZ_to_xy(white))
        np.testing.assert_allclose(PRIMARIES[name], matrix, rtol=0, atol=1e-12)
        np.testing.assert_allclose(PRIMARIES[name], space.matrix_RGB_to_XYZ, rtol=0, atol=5e-4)
        screen = Display("s", 100.0, rgb_to_xyz=PRIMARIES[name])
        assert screen.primaries == name
        np.testing.assert_allclose(screen.white_xyz, white, rtol=0, atol=1e-12)


FILE = """
peak_cdm2 = 600
eotf = "pq"
primaries = "p3-d65"
bits = 10
ambient_lux = 40
reflectivity = 0.02
"""


def test_a_display_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    mine = open_display(path)
    assert mine == Display(
        "mine",
        600.0,
        eotf="pq",
        rgb_to_xyz=PRIMARIES["p3-d65"],
        bits=10,
        ambient_lux=40.0,
        reflectivity=0.02,
    )
    path.write_text("name = 'desk'" + FILE)
    assert open_display(str(path)).name == "desk"
    assert open_display(mine) == mine
    assert isinstance(open_display(Display("whole", 100)).peak_cdm2, float)
    assert open_display("office") == display("office")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("black_cdm2 = 1", "peak_cdm2"),
        ("peak_cdm2 = 'bright'", "bright"),
        ("peak_cdm2 = 100\nbits = true", "bits"),
        ("peak_cdm2 = 100\npeek = 3", "peek"),
        ("peak_cdm2 = 100\neotf = 'log'", "log"),
        ("peak_cdm2 = 100\nprimaries = 'bt601'", "bt601"),
        ("peak_cdm2 = 100\ngamma = [2.2, 2.2]", "gamma"),
        ("peak_cdm2 = 100\nrgb_to_xyz = [[1, 0, 0], [0, 2, 0], [0, 0, 1]]", "rgb_to_xyz"),
        ("peak_cdm2 = 20000\neotf = 'pq'", "20000"),
        ("peak_cdm2 = 100\nambient_lux = -1", "ambient"),
        ("peak_cdm2 =", "mine.toml"),
        ("peak_cdm = 350", "did you mean 'peak_cdm2'"),
        ("peak_cdm2 = inf", "finite number"),
        ("peak_cdm2 = 100\nprimaries = 'bt2020'\nrgb_to_xyz = [[1]]", "one of the two"),
    ],
)
def test_files_that_are_no_displays(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(FechnerError, match=r"mine\.toml") as caught:
        open_display(path)
    assert said in str(caught.value)
    with pytest.raises(FechnerError, match="nowhere"):
        open_display(tmp_path / "nowhere.toml")


def test_encoding_leaves_what_it_is_given_alone() -> None:
    light = torch.linspace(0, 120, 50)
    kept = light.clone()
    for name in displays():
        display(name).encode(light)
        display(name).show(light)
    assert torch.equal(light, kept)


@pytest.mark.parametrize("bits", [1, 8, 10, 16])
def test_quantisation_gives_exact_levels(bits: int) -> None:
    screen = Display("q", peak_cdm2=100.0, bits=bits)
    levels = np.arange(2**bits) / (2**bits - 1)
    encoded = screen.encode(screen.decode(torch.from_numpy(levels)))
    np.testing.assert_array_equal(encoded, levels)
    off = screen.encode(torch.linspace(-1, 101, 5000, dtype=torch.float64)).numpy()
    assert np.isin(off, levels).all()
    assert (off[0], off[-1]) == (0.0, 1.0)


def test_quantisation_rounds_to_the_nearest_level() -> None:
    plain, screen = Display("p", peak_cdm2=100.0), Display("q", peak_cdm2=100.0, bits=8)
    light = torch.linspace(0, 100, 5001, dtype=torch.float64)
    assert (screen.encode(light) - plain.encode(light)).abs().max() <= 0.5 / 255 + 1e-12


def test_sub_level_contrasts_vanish_without_dithering_and_survive_with_it() -> None:
    # A cosine of a third of a grey level around level 120.
    size = 256
    wave = np.cos(2 * np.pi * 8 * np.arange(size) / size) * np.ones((size, 1))
    wanted = torch.from_numpy((120.0 + wave / 3) / 255)
    plain = Display("p", peak_cdm2=100.0)
    light = plain.decode(wanted)
    bare = Display("q", peak_cdm2=100.0, bits=8).encode(light) * 255
    assert (bare == 120).all()
    noisy = Display("n", peak_cdm2=100.0, bits=8, dither=True).encode(light) * 255
    np.testing.assert_array_equal(np.unique(noisy.round(decimals=9)), (119, 120, 121))
    # Expected error of both estimates: about 0.4 levels over 256 = sqrt(pixels).
    assert noisy.mean().item() == pytest.approx(120.0, abs=0.006)
    amplitude = 2 * (noisy.numpy() * wave).mean()
    assert amplitude == pytest.approx(1 / 3, abs=0.01)


def test_dithering_by_a_seed() -> None:
    screen = display("srgb-8bit-dithered")
    light = torch.full((3, 64, 64), 20.3)
    first = screen.encode(light)
    assert torch.equal(first, screen.encode(light))
    assert not torch.equal(first, screen.encode(light, dither_seed=1))
    # The same noise in every channel and every frame: grey stays grey.
    assert torch.equal(first[0], first[2])
    assert torch.equal(screen.encode(light.expand(2, 3, 64, 64))[1], first)


def test_dithering_stays_in_range() -> None:
    ends = torch.tensor([0.0, 1000.0])[:, None, None].expand(2, 50, 50)
    encoded = display("srgb-8bit-dithered").encode(ends)
    assert encoded.min() >= 0
    assert encoded.max() <= 1


@pytest.mark.parametrize("eotf", ["srgb", "gamma", "linear"])
@pytest.mark.parametrize("light", [(0.05, 0.3, 5.0, 60.0), (5.0, 20.0, 99.0), (0.02, 0.1, 0.2)])
def test_gradients_agree_with_finite_differences(eotf: str, light: tuple[float, ...]) -> None:
    screen = Display("s", peak_cdm2=100.0, black_cdm2=0.01, eotf=eotf)
    asked = torch.tensor(light, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(screen.encode, asked, eps=1e-7, atol=1e-5)
    encoded = screen.encode(asked).detach().requires_grad_()
    assert torch.autograd.gradcheck(screen.decode, encoded, eps=1e-7, atol=1e-4)


def test_srgb_gradients_are_finite_at_black() -> None:
    screen = Display("s", peak_cdm2=100.0)
    for values in ([0.0, 0.0], [0.0, 50.0]):
        light = torch.tensor(values, requires_grad=True)
        screen.encode(light).sum().backward()
        assert light.grad is not None
        assert light.grad[0].item() == pytest.approx(12.92 / 100)
        encoded = torch.zeros(2, requires_grad=True)
        screen.decode(encoded).sum().backward()
        assert encoded.grad is not None
        assert encoded.grad[0].item() == pytest.approx(100 / 12.92)


def test_linear_rgb_inverts_the_primaries() -> None:
    screen = Display("s", peak_cdm2=100.0)
    rgb = np.random.default_rng(0).uniform(0, 100, (6, 3))
    xyz = rgb @ np.array(screen.rgb_to_xyz).T
    np.testing.assert_allclose(screen.linear_rgb(xyz), rgb, rtol=0, atol=1e-10)


@pytest.mark.parametrize("direction", ["ach", "rg", "yv"])
@pytest.mark.parametrize("luminance", [2.0, 100.0, 350.0])
def test_gamut_limit_is_where_a_display_starts_to_cut(direction: str, luminance: float) -> None:
    screen = Display("s", peak_cdm2=400.0, black_cdm2=0.5)
    background = OPPONENT.background_xyz(luminance)
    modulation = OPPONENT.modulation_xyz(direction, luminance)
    limit = gamut_limit(screen, background, modulation)
    assert limit > 0

    def cut(contrast: float) -> bool:
        swings = [np.array(background) + sign * contrast * np.array(modulation) for sign in (-1, 1)]
        asked = torch.from_numpy(screen.linear_rgb(np.array(swings)))
        return not torch.equal(screen.show(asked), asked)

    assert not cut(limit * (1 - 1e-9))
    assert cut(limit * (1 + 1e-9))


def test_named_displays() -> None:
    assert display("encoders").peak_cdm2 == 400.0
    assert display("encoders").clips
    assert display("encoders").bits is None
    published = display("encoders-published")
    assert (published.floor_cdm2, published.clips) == (1e-4, False)
    assert published.xyz_to_rgb is not None
    assert published.xyz_to_rgb[0] == (3.2406, -1.5372, -0.4986)
    assert display("srgb-8bit").bits == 8
    assert not display("srgb-8bit").dither
    assert display("srgb-8bit-dithered").dither
    assert len({hash(screen) for screen in displays().values()}) == len(displays())


@pytest.mark.parametrize("name", displays())
def test_every_named_display_has_a_white_of_its_peak(name: str) -> None:
    screen = display(name)
    assert screen.name == name
    assert sum(screen.rgb_to_xyz[1]) == pytest.approx(1.0, abs=1e-6)
    white = screen.decode(screen.encode(torch.full((3, 1, 1), screen.peak_cdm2)))
    np.testing.assert_allclose(white, screen.peak_cdm2, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "near"), [("encoder", "encoders"), ("sRGB-8bits", "srgb-8bit"), ("zzzz", None)]
)
def test_unknown_display(name: str, near: str | None) -> None:
    with pytest.raises(UnknownNameError, match=f"no display named '{name}'") as caught:
        display(name)
    assert (f"did you mean '{near}'?" in str(caught.value)) == (near is not None)
    assert "fechner list displays" in str(caught.value)


@pytest.mark.parametrize(
    ("peak", "black"), [(0.0, 0.0), (100.0, -1.0), (100.0, 100.0), (math.nan, 0.0)]
)
def test_impossible_luminances(peak: float, black: float) -> None:
    with pytest.raises(ValueError, match=f"'odd' needs peak > black >= 0 cd/m2, not {peak} and"):
        Display("odd", peak_cdm2=peak, black_cdm2=black)


@pytest.mark.parametrize("bits", [0, -8, 17])
def test_impossible_bits(bits: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 16 bits, not {bits}"):
        Display("odd", peak_cdm2=100.0, bits=bits)


def test_the_tube_of_the_decalogue() -> None:
    tube = display("decalogue")
    printed = [[69.1661, 52.4902, 46.6052], [39.0454, 115.8404, 16.3118], [3.3467, 12.67, 170.109]]
    np.testing.assert_allclose(171.1976 * np.array(tube.rgb_to_xyz), printed, rtol=0, atol=1e-8)
    white = tube.peak_cdm2 * np.array(tube.rgb_to_xyz).sum(axis=1)
    np.testing.assert_allclose(white, (168.26, 171.20, 186.13), rtol=0, atol=5e-3)
    np.testing.assert_allclose(white[:2] / white.sum(), (0.3201, 0.3257), rtol=0, atol=5e-5)
    half = tube.encode(torch.full((3, 1, 1), tube.peak_cdm2 / 2, dtype=torch.float64)).reshape(3)
    np.testing.assert_allclose(half, (0.5 ** (1 / 2.2), 0.5 ** (1 / 2.2), 0.5 ** (1 / 2.1)))
