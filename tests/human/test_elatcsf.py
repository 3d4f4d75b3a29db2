"""elaTCSF against the values of the published model, its integrals, its laws, and bad input."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from fechner.human import critical_flicker_frequency, elatcsf_disc, elatcsf_rectangle

BETA, THRESHOLD_ENERGY = 3.80022, 6.52801

# Frequency, luminance, radius and eccentricity of a disc, and what the published code gives.
PUBLISHED_DISCS = [
    (10.0, 3.0, 16.0, 10.0, 377.8886),
    (8.0, 100.0, 1.0, 0.0, 255.2572),
    (8.0, 21.4, 2.0, 0.0, 330.6356),
    (20.0, 3.0, 5.0, 30.0, 37.8870),
]

# The disc of Hammou et al. (2025).
DISC = {"luminance_cdm2": 21.4, "radius_deg": 2.0}


@pytest.mark.parametrize(("hz", "luminance", "radius", "place", "published"), PUBLISHED_DISCS)
def test_published_discs(
    hz: float, luminance: float, radius: float, place: float, published: float
) -> None:
    sensitivity = elatcsf_disc(
        hz, luminance_cdm2=luminance, radius_deg=radius, eccentricity_deg=place
    )
    assert sensitivity == pytest.approx(published, abs=5e-5)


def test_published_rectangle() -> None:
    sensitivity = elatcsf_rectangle(
        10.0, luminance_cdm2=3.0, width_deg=40.0, height_deg=32.0, eccentricity_deg=10.0
    )
    assert sensitivity == pytest.approx(400.3714, abs=5e-5)


def local(w: float, y: float, e: float) -> float:
    """Write the local sensitivity out as it was published."""
    u = ((w + 2) / (1 + 0.0341811 * e) - 2) / (0.6678 + 0.222269 * np.log10(y))
    tau, kappa = 0.00292069, 2.12547
    fast = (1 + 2j * np.pi * u * tau) ** -15
    slow = 0.721095 * (1 + 2j * np.pi * u * kappa * tau) ** -16
    gain = 1.76801 * (1 + 1.62402 / y) ** -0.533781
    return float(10 ** (-0.0330933 * e) * gain * 154.133 * abs(fast - slow))


def pooled(integral: float) -> float:
    return float((integral / THRESHOLD_ENERGY) ** (1 / BETA))


@pytest.mark.parametrize(
    ("hz", "luminance", "radius", "place"),
    [
        (0.0, 0.01, 3.0, 40.0),
        (1.0, 1.0, 2.0, 5.0),
        (8.0, 21.4, 5.0, 2.0),
        (30.0, 100.0, 10.0, 10.0),
        (60.0, 1000.0, 0.1, 25.0),
    ],
)
def test_disc_is_the_double_integral_around_its_centre(
    hz: float, luminance: float, radius: float, place: float
) -> None:
    def energy(r: float, t: float) -> float:
        e = np.sqrt(max(r**2 + place**2 + 2 * place * r * np.cos(t), 0.0))
        return local(hz, luminance, e) ** BETA * r

    integral, _ = dblquad(energy, 0, np.pi, 0, radius, epsrel=1e-7)
    sensitivity = elatcsf_disc(
        hz, luminance_cdm2=luminance, radius_deg=radius, eccentricity_deg=place
    )
    assert sensitivity == pytest.approx(pooled(2 * integral), rel=1e-7)


@pytest.mark.parametrize(("place", "width"), [(0.0, 3.0), (2.0, 8.0), (20.0, 8.0)])
def test_rectangle_is_the_double_integral(place: float, width: float) -> None:
    def energy(y: float, x: float) -> float:
        return local(12.0, 50.0, np.hypot(x, y)) ** BETA

    integral, _ = dblquad(energy, place - width / 2, place + width / 2, 0, 2.5, epsrel=1e-6)
    sensitivity = elatcsf_rectangle(
        12.0, luminance_cdm2=50.0, width_deg=width, height_deg=5.0, eccentricity_deg=place
    )
    assert sensitivity == pytest.approx(pooled(2 * integral), rel=1e-6)


@pytest.mark.parametrize("hz", [0.0, 8.0, 60.0])
@pytest.mark.parametrize("radius", [0.1, 2.0, 60.0, 180.0])
def test_disc_at_the_fovea_is_an_integral_over_its_radius(hz: float, radius: float) -> None:
    integral, _ = quad(
        lambda r: 2 * np.pi * r * local(hz, 21.4, r) ** BETA, 0, radius, epsrel=1e-12, limit=200
    )
    sensitivity = elatcsf_disc(hz, luminance_cdm2=21.4, radius_deg=radius)
    assert sensitivity == pytest.approx(pooled(integral), rel=1e-11)


@pytest.mark.parametrize("place", [0.0, 0.5, 20.0, 60.0])
def test_small_discs_pool_the_local_sensitivity_over_their_area(place: float) -> None:
    radius = np.array([1e-3, 1e-2])
    small = elatcsf_disc(8.0, luminance_cdm2=3.0, radius_deg=radius, eccentricity_deg=place)
    assert small[0] == pytest.approx(local(8.0, 3.0, place) * pooled(np.pi * 1e-6), rel=1e-4)
    assert small[1] / small[0] == pytest.approx(10 ** (2 / BETA), rel=1e-3)


def test_square_and_disc_of_equal_area() -> None:
    at = {"luminance_cdm2": 21.4, "eccentricity_deg": np.array([0.0, 30.0])}
    side = 2 * np.sqrt(np.pi)
    disc = elatcsf_disc(8.0, radius_deg=2.0, **at)
    square = elatcsf_rectangle(8.0, width_deg=side, height_deg=side, **at)
    np.testing.assert_allclose(square, disc, rtol=5e-3)
    # No shape of the same area keeps closer to the fovea than the disc around it.
    assert square[0] < disc[0]


def test_energy_of_a_rectangle_is_that_of_its_parts() -> None:
    def energy(width: float, place: float) -> float:
        sensitivity = elatcsf_rectangle(
            15.0, luminance_cdm2=10.0, width_deg=width, height_deg=6.0, eccentricity_deg=place
        )
        return float(sensitivity) ** BETA

    assert energy(8.0, 0.0) == pytest.approx(2 * energy(4.0, 2.0), rel=1e-7)
    assert energy(10.0, 20.0) == pytest.approx(energy(5.0, 17.5) + energy(5.0, 22.5), rel=1e-10)


def test_sides_of_a_rectangle_at_the_fovea_may_be_swapped() -> None:
    wide, high = elatcsf_rectangle(
        15.0, luminance_cdm2=10.0, width_deg=[3.0, 9.0], height_deg=[9.0, 3.0]
    )
    assert wide == pytest.approx(high, rel=1e-7)


def test_nothing_happens_where_the_rim_crosses_the_fovea() -> None:
    radius = np.array([5 - 1e-6, 5.0, 5 + 1e-6])
    around = elatcsf_disc(8.0, luminance_cdm2=21.4, radius_deg=radius, eccentricity_deg=5.0)
    np.testing.assert_allclose(around, around[1], rtol=1e-6)
    assert np.all(np.diff(around) > 0)


def test_the_flicker_curve_of_hammou_et_al() -> None:
    hz = np.linspace(0, 60, 601)
    sensitivity = elatcsf_disc(hz, **DISC)
    peak = hz[np.argmax(sensitivity)]
    assert 5 < peak < 12
    # Below 0.2 Hz the model turns: its frequency axis is stretched about -2 Hz.
    assert np.all(np.diff(sensitivity[(hz > 0.15) & (hz <= peak)]) > 0)
    assert np.all(np.diff(sensitivity[hz >= peak]) < 0)
    # Twice the threshold, the highest contrast of the test, passes 1 at 53 to 54 Hz.
    assert hz[sensitivity >= 2].max() == pytest.approx(53.2, abs=0.06)
    # The threshold itself passes 1 where flicker fuses.
    assert hz[sensitivity >= 1].max() == pytest.approx(58.3, abs=0.06)


def test_sensitivity_grows_with_size_and_light() -> None:
    sizes = elatcsf_disc(8.0, luminance_cdm2=21.4, radius_deg=np.geomspace(0.01, 60, 20))
    assert np.all(np.diff(sizes) > 0)
    lights = elatcsf_disc(8.0, luminance_cdm2=np.geomspace(0.01, 100, 20), radius_deg=2.0)
    assert np.all(np.diff(lights) > 0)


def test_flicker_fuses_where_sensitivity_is_one() -> None:
    at = {
        "luminance_cdm2": np.geomspace(0.01, 5000, 6)[:, None, None],
        "radius_deg": np.array([0.5, 2.0, 30.0])[:, None],
        "eccentricity_deg": np.array([0.0, 5.0, 30.0]),
    }
    fusion = critical_flicker_frequency(**at)
    assert fusion.shape == (6, 3, 3)
    assert np.isfinite(fusion).sum() > 45
    seen = np.isfinite(fusion)
    sensitivity = elatcsf_disc(np.where(seen, fusion, 0.0), **at)
    np.testing.assert_allclose(sensitivity[seen], 1.0, rtol=1e-9)
    # It is the last crossing: at all higher frequencies there is less.
    for factor in (1.01, 1.1, 1.5, 3.0, 10.0):
        assert np.all(elatcsf_disc(np.where(seen, factor * fusion, 0.0), **at)[seen] < 1)


def test_fusion_of_the_disc_of_hammou_et_al() -> None:
    assert critical_flicker_frequency(**DISC) == pytest.approx(58.3097, abs=5e-5)


def test_fusion_rises_with_the_logarithm_of_luminance() -> None:
    # Ferry (1892) and Porter (1902): a straight line.
    decades = np.linspace(0, 3, 13)
    fusion = critical_flicker_frequency(luminance_cdm2=10**decades, radius_deg=1.0)
    slope, start = np.polyfit(decades, fusion, 1)
    assert 8 < slope < 15
    np.testing.assert_allclose(fusion, start + slope * decades, atol=0.05 * np.ptp(fusion))
    assert np.all(np.diff(fusion) > 0)


def test_fusion_rises_with_the_logarithm_of_area() -> None:
    # Granit & Harper (1930).
    decades = np.linspace(-1, 1, 9)
    fusion = critical_flicker_frequency(
        luminance_cdm2=100.0, radius_deg=np.sqrt(10**decades / np.pi)
    )
    slope, start = np.polyfit(decades, fusion, 1)
    assert slope > 3
    np.testing.assert_allclose(fusion, start + slope * decades, atol=0.05 * np.ptp(fusion))


def test_fusion_is_fastest_away_from_the_fovea() -> None:
    # Small bright discs flicker up to higher frequencies at 20 to 40 deg, and less further out.
    place = np.arange(0, 61, 5)
    fusion = critical_flicker_frequency(luminance_cdm2=10.0, radius_deg=0.5, eccentricity_deg=place)
    best = np.argmax(fusion)
    assert 20 <= place[best] <= 40
    assert np.all(np.diff(fusion[: best + 1]) > 0)
    assert np.all(np.diff(fusion[best:]) < 0)


def test_what_never_reaches_one_does_not_fuse() -> None:
    places = np.array([60.0, 90.0])
    fusion = critical_flicker_frequency(
        luminance_cdm2=10.0, radius_deg=0.5, eccentricity_deg=places
    )
    assert np.isfinite(fusion[0])
    assert np.isnan(fusion[1])
    hz = np.linspace(0, 100, 1001)
    best = elatcsf_disc(hz, luminance_cdm2=10.0, radius_deg=0.5, eccentricity_deg=90.0).max()
    assert best < 1


def test_fusion_just_above_the_darkest_light_and_in_wide_bright_fields() -> None:
    dim, bright = critical_flicker_frequency(luminance_cdm2=[0.0011, 1e4], radius_deg=[2.0, 180.0])
    assert 0 < dim < 1
    assert bright > 94


def test_no_flicker_is_seen_at_absurd_frequencies() -> None:
    assert elatcsf_disc(1e200, **DISC) == 0


def test_scalars_give_a_float() -> None:
    for value in (
        elatcsf_disc(8, luminance_cdm2=100, radius_deg=1),
        elatcsf_rectangle(8, luminance_cdm2=100, width_deg=1, height_deg=2),
        critical_flicker_frequency(luminance_cdm2=100, radius_deg=1),
    ):
        assert isinstance(value, np.float64)


def test_everything_broadcasts() -> None:
    hz = np.array([2.0, 8.0, 30.0])[:, None, None]
    luminance = np.array([1.0, 100.0])[:, None]
    place = np.array([0.0, 3.0, 20.0, 50.0])
    discs = elatcsf_disc(hz, luminance_cdm2=luminance, radius_deg=4.0, eccentricity_deg=place)
    rectangles = elatcsf_rectangle(
        hz, luminance_cdm2=luminance, width_deg=4.0, height_deg=2.0, eccentricity_deg=place
    )
    for table in (discs, rectangles):
        assert table.shape == (3, 2, 4)
        assert table.dtype == np.float64
    one = elatcsf_disc(30.0, luminance_cdm2=1.0, radius_deg=4.0, eccentricity_deg=20.0)
    assert discs[2, 0, 2] == pytest.approx(one, rel=1e-13)
    one = elatcsf_rectangle(
        8.0, luminance_cdm2=100.0, width_deg=4.0, height_deg=2.0, eccentricity_deg=3.0
    )
    assert rectangles[1, 1, 1] == pytest.approx(one, rel=1e-13)


def test_nothing_gives_nothing() -> None:
    assert elatcsf_disc([], **DISC).shape == (0,)
    assert critical_flicker_frequency(luminance_cdm2=[], radius_deg=1.0).shape == (0,)


BAD = [
    ({"frequency_hz": -1.0}, "frequency_hz is -1; it must be finite and 0 or more"),
    ({"frequency_hz": [1.0, np.nan]}, "frequency_hz is nan"),
    ({"luminance_cdm2": 0.001}, "luminance_cdm2 is 0.001; it must be finite and above 0.001"),
    ({"luminance_cdm2": [10.0, -3.0]}, "luminance_cdm2 is -3"),
    ({"radius_deg": 0.0}, "radius_deg is 0; it must be finite and above 0 and at most 180"),
    ({"radius_deg": 1e4}, "radius_deg is 10000; it must be finite and above 0 and at most 180"),
    ({"eccentricity_deg": -2.0}, "eccentricity_deg is -2; it must be finite and 0 or more"),
    ({"eccentricity_deg": 181.0}, "eccentricity_deg is 181"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD)
def test_bad_input_says_what_is_wrong(change: dict[str, object], sentence: str) -> None:
    arguments = {"frequency_hz": 8.0, **DISC, **change}
    with pytest.raises(ValueError, match=sentence):
        elatcsf_disc(**arguments)
    frequency = arguments.pop("frequency_hz")
    if frequency == 8.0:
        with pytest.raises(ValueError, match=sentence):
            critical_flicker_frequency(**arguments)


@pytest.mark.parametrize("side", ["width_deg", "height_deg"])
@pytest.mark.parametrize("value", [0.0, -1.0, 361.0, np.inf])
def test_bad_sides(side: str, value: float) -> None:
    sides = {"width_deg": 2.0, "height_deg": 3.0, side: value}
    with pytest.raises(ValueError, match=f"{side} is {value:g}"):
        elatcsf_rectangle(8.0, luminance_cdm2=21.4, **sides)
