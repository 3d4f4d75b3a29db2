"""castleCSF against the values of the published model, its invariances, and bad input."""

import numpy as np
import pytest

from fechner.human import (
    GREY_LMS_PER_CDM2,
    LMS_TO_MECHANISMS,
    castle_csf,
    castle_csf_disc,
    castle_threshold_amplitude,
    convert_sensitivity,
)

# Values of the published model: D65 grey of 100 cd/m2, area pi deg2, static, foveal.
FREQUENCIES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
PUBLISHED = {
    "ach": (44.0295, 89.6498, 176.4800, 203.4053, 124.6852, 41.7360, 8.4614),
    "rg": (324.0596, 398.4657, 392.5656, 286.4131, 164.1150, 81.5043, 36.7424),
    "yv": (43.9323, 49.7896, 44.9946, 30.4939, 16.7343, 8.1518, 3.6646),
}
GREY = {"luminance_cdm2": 100.0, "area_deg2": np.pi}


@pytest.mark.parametrize("direction", PUBLISHED)
def test_published_values(direction: str) -> None:
    sensitivity = castle_csf(FREQUENCIES, direction=direction, **GREY)
    np.testing.assert_allclose(sensitivity, PUBLISHED[direction], rtol=0, atol=5.1e-5)


def test_example_of_the_published_class() -> None:
    sensitivity = castle_csf(
        4.0,
        temporal_hz=1.0,
        area_deg2=1.0,
        background_lms=(0.7443, 0.3054, 0.0157),
        direction=(0.9182, 0.3953, 0.0260),
    )
    assert sensitivity == pytest.approx(27.4555, abs=5e-5)


def dkl_axes() -> np.ndarray:
    """Columns: the axes of the DKL space on the D65 grey of Cai et al. (2025)."""
    long, medium, short = 0.739876529525622, 0.320136241543338, 0.020793708751515
    rows = [[1, 1, 0], [1, -long / medium, 0], [-1, -1, (long + medium) / short]]
    return np.linalg.inv(np.array(rows, dtype=float))


@pytest.mark.parametrize(
    ("axis", "factor", "digits"), [(0, 1.0024, 5e-5), (1, 1.585, 5e-4), (2, 1.748, 5e-4)]
)
@pytest.mark.parametrize("luminance", [0.1, 21.4, 100.0])
def test_dkl_amplitude_threshold_in_units_of_cone_contrast(
    axis: int, factor: float, digits: float, luminance: float
) -> None:
    # Feeding 1/S as a DKL contrast is wrong by this factor: the reason that k is public.
    at = {"luminance_cdm2": luminance, "area_deg2": np.pi, "direction": dkl_axes()[:, axis]}
    ratio = (
        castle_threshold_amplitude(FREQUENCIES, **at) / luminance * castle_csf(FREQUENCIES, **at)
    )
    np.testing.assert_allclose(ratio, factor, rtol=0, atol=digits)


def independent(
    rho: float, w: float, area: float, e: float, phi: float, b: np.ndarray, d: np.ndarray
) -> float:
    """Write the model out for one scalar condition, in its own notation."""
    y = b[0] + b[1]

    def spatial(gain: float, fmax: float, bw: float, a: float, a0: float, f0: float) -> float:
        lp = 10 ** (-((np.log10(rho) - np.log10(fmax)) ** 2) / 2**bw)
        if rho < fmax and lp < 1 - a:
            lp = 1 - a
        ac = a0 / (1 + (rho / f0) ** 2)
        return float(gain * lp * rho * np.sqrt(ac / (1 + ac / area)))

    def loss(k1: float, k2: float, k3: float, k4: float) -> float:
        alpha = min(1.0, abs(phi - 180) / 90)
        ke, kf = alpha * k1 + (1 - alpha) * k2, alpha * k3 + (1 - alpha) * k4
        return float(10 ** (-e * (ke + rho * kf)))

    smax = 56.4947 * (1 + 7.54726 / y) ** -0.144532
    smax *= -np.expm1(-9.66862e9 * np.log1p(5.58341e-7 / y))
    sust = spatial(
        smax, 1.78119 * (1 + 91.5718 / y) ** -0.256682, 0.000213047, 0.100207, 157.103, 0.702338
    )
    trans = spatial(2748.09 * y**0.193434, 0.000316696, 2.6761, 0.000241177, 3.81611, 3.01389)
    w0 = 4.7036 + 2.41482 * np.log10(y)
    apart = abs(w**0.1898 - complex(w0) ** 0.1898)
    ach = np.exp(-(w**1.3314) / 10.5795) * sust + np.exp(-(apart**2) / 0.0844836) * trans
    rg = spatial(
        681.434 * (1 + 38.0038 / y) ** -0.480386, 0.0178364, 2.42104, 0, 2816.44, 0.0711058
    )
    yv = spatial(
        166.683 * (1 + 62.8974 / y) ** -0.41193, 0.00425753, 2.68197, 0, 2.82789e7, 0.000635093
    )
    channels = [
        ach * loss(0.0239853, 0.0400662, 0.0189038, 0.00813619),
        rg * np.exp(-(w**1.15591) / 16.4325) * loss(0.0591402, 2.89615e-5, 2.04986e-69, 0.18108),
        yv
        * np.exp(-(w**0.969123) / 7.15012)
        * loss(0.00356865, 5.85804e-141, 0.00806631, 0.0110662),
    ]
    contrasts = abs(np.array([[1, 1, 0], [1, -2.3112, 0], [-1, -1, 50.9875]]) @ d) / y
    k = 1 / np.sqrt(np.sum((contrasts * channels) ** 2))
    return float(1 / np.sqrt(np.mean((k * d / b) ** 2)))


def test_agrees_with_an_independent_scalar_version_over_all_inputs() -> None:
    rng = np.random.default_rng(1994)
    count = 200
    frequency = 2 ** rng.uniform(-4, 6, count)
    hz = np.where(rng.random(count) < 0.3, 0.0, rng.uniform(0, 60, count))
    area = 10 ** rng.uniform(-3, 2, count)
    eccentricity = rng.uniform(0, 20, count)
    field = rng.uniform(0, 360, count)
    background = 10 ** rng.uniform(-3, 4, (count, 1)) * GREY_LMS_PER_CDM2
    background = background * 10 ** rng.uniform(-0.2, 0.2, (count, 3))
    direction = rng.normal(size=(count, 3))
    conditions = zip(frequency, hz, area, eccentricity, field, background, direction, strict=True)
    expected = [independent(*condition) for condition in conditions]
    sensitivity = castle_csf(
        frequency,
        temporal_hz=hz,
        area_deg2=area,
        eccentricity_deg=eccentricity,
        visual_field_deg=field,
        background_lms=background,
        direction=direction,
    )
    np.testing.assert_allclose(sensitivity, expected, rtol=1e-12)


# The Gabor of Hammou et al. (2025): 21.4 cd/m2, sd 2 deg, modulated at 8 Hz.
TRANSIENT = {"luminance_cdm2": 21.4, "area_deg2": 4 * np.pi, "temporal_hz": 8.0}


def test_transient_gabor_agrees_with_the_independent_version() -> None:
    # Contrast is DKL amplitude over luminance, so the threshold is k / Y.
    axis = dkl_axes()[:, 0]
    grey = 21.4 * GREY_LMS_PER_CDM2
    threshold = castle_threshold_amplitude(FREQUENCIES, direction=axis, **TRANSIENT) / 21.4
    expected = [
        1
        / independent(rho, 8.0, 4 * np.pi, 0.0, 180.0, grey, axis)
        / np.sqrt(np.mean((axis * 21.4 / grey) ** 2))
        for rho in FREQUENCIES
    ]
    np.testing.assert_allclose(threshold, expected, rtol=1e-12)


def test_flicker_helps_coarse_patterns_and_hurts_finer_ones() -> None:
    static = TRANSIENT | {"temporal_hz": 0.0}
    coarse, fine = castle_csf([0.5, 4.0], **TRANSIENT) / castle_csf([0.5, 4.0], **static)
    assert coarse == pytest.approx(1.52, abs=0.01)
    assert fine == pytest.approx(0.47, abs=0.01)


@pytest.mark.parametrize(
    ("direction", "exponent", "scale"), [("rg", 1.15591, 16.4325), ("yv", 0.969123, 7.15012)]
)
def test_flicker_dims_colour_by_one_factor(direction: str, exponent: float, scale: float) -> None:
    static = TRANSIENT | {"temporal_hz": 0.0}
    flickering, still = (
        castle_csf(FREQUENCIES, direction=direction, **at) for at in (TRANSIENT, static)
    )
    np.testing.assert_allclose(flickering / still, np.exp(-(8**exponent) / scale), rtol=1e-12)


def test_bare_luminance_is_the_default_grey() -> None:
    grey = castle_csf(4.0, area_deg2=1.0, background_lms=37.0 * GREY_LMS_PER_CDM2)
    assert castle_csf(4.0, area_deg2=1.0, luminance_cdm2=37.0) == pytest.approx(grey, rel=1e-12)


@pytest.mark.parametrize(("index", "name"), list(enumerate(PUBLISHED)))
def test_names_are_columns_of_the_inverse_mechanisms(index: int, name: str) -> None:
    column = np.linalg.inv(LMS_TO_MECHANISMS)[:, index]
    assert castle_csf(3.0, direction=column, **GREY) == castle_csf(3.0, direction=name, **GREY)


def test_length_and_sign_of_the_direction() -> None:
    vector = np.array([0.3, -0.2, 0.1])
    plain, scaled = (castle_csf(3.0, direction=d, **GREY) for d in (vector, -4 * vector))
    assert scaled == pytest.approx(plain, rel=1e-12)
    amplitudes = [
        castle_threshold_amplitude(3.0, direction=d, **GREY) for d in (vector, -4 * vector)
    ]
    assert amplitudes[0] / amplitudes[1] == pytest.approx(4.0, rel=1e-12)


def test_mechanisms_combine_as_root_sum_of_squares() -> None:
    axes = np.linalg.inv(LMS_TO_MECHANISMS).T
    alone = [castle_threshold_amplitude(3.0, direction=axis, **GREY) for axis in axes]
    mixed = castle_threshold_amplitude(3.0, direction=axes.sum(axis=0), **GREY)
    assert mixed**-2 == pytest.approx(sum(k**-2 for k in alone), rel=1e-12)


def test_nasal_field_is_the_default_and_the_visual_field_is_symmetric_about_it() -> None:
    at = {"eccentricity_deg": 10.0, **GREY}
    assert castle_csf(2.0, **at) == castle_csf(2.0, visual_field_deg=180.0, **at)
    left, right = (castle_csf(2.0, visual_field_deg=angle, **at) for angle in (135.0, 225.0))
    assert left == pytest.approx(right, rel=1e-12)
    temporal, superior = (castle_csf(2.0, visual_field_deg=angle, **at) for angle in (0.0, 90.0))
    assert temporal == superior


def test_place_in_the_field_does_not_matter_at_the_fovea() -> None:
    assert np.ptp(castle_csf(2.0, visual_field_deg=np.linspace(0, 360, 9), **GREY)) == 0


@pytest.mark.parametrize("direction", PUBLISHED)
def test_sensitivity_grows_with_area_and_falls_with_eccentricity(direction: str) -> None:
    areas = castle_csf(
        8.0, luminance_cdm2=100.0, area_deg2=np.geomspace(1e-4, 10, 20), direction=direction
    )
    assert np.all(np.diff(areas) > 0)
    places = castle_csf(2.0, eccentricity_deg=np.arange(0, 30, 3), direction=direction, **GREY)
    assert np.all(np.diff(places) < 0)


def test_small_areas_sum_as_the_root_of_area() -> None:
    small = castle_csf(8.0, luminance_cdm2=100.0, area_deg2=[1e-8, 1e-6])
    assert small[1] / small[0] == pytest.approx(10.0, rel=1e-3)


def test_band_pass_in_luminance_and_low_pass_in_colour() -> None:
    frequency = np.geomspace(0.25, 32, 60)
    peaks = {d: frequency[np.argmax(castle_csf(frequency, direction=d, **GREY))] for d in PUBLISHED}
    assert 2 < peaks["ach"] < 6
    assert peaks["rg"] < 2
    assert peaks["yv"] < 2


def test_dim_light_takes_the_complex_power() -> None:
    # Below 0.0113 cd/m2 the best temporal frequency is negative; the curve goes on smoothly.
    around = castle_csf(
        1.0, temporal_hz=4.0, area_deg2=1.0, luminance_cdm2=[0.0109, 0.0113, 0.0117]
    )
    assert np.all(np.isfinite(around))
    dim = castle_csf(1.0, temporal_hz=[1.0, 4.0], area_deg2=1.0, luminance_cdm2=0.001)
    grey = 0.001 * GREY_LMS_PER_CDM2
    axis = np.linalg.inv(LMS_TO_MECHANISMS)[:, 0]
    expected = [independent(1.0, w, 1.0, 0.0, 180.0, grey, axis) for w in (1.0, 4.0)]
    np.testing.assert_allclose(dim, expected, rtol=1e-12)


def test_scalars_give_a_float() -> None:
    for value in (
        castle_csf(4, luminance_cdm2=100, area_deg2=1),
        castle_threshold_amplitude(4, luminance_cdm2=100, area_deg2=1),
        castle_csf_disc(1, luminance_cdm2=100),
    ):
        assert isinstance(value, np.float64)


def test_everything_broadcasts() -> None:
    frequency = np.geomspace(0.5, 32, 5)[:, None, None]
    luminance = np.array([1.0, 10.0, 100.0])[:, None]
    vectors = np.linalg.inv(LMS_TO_MECHANISMS).T[:2]
    table = castle_csf(frequency, luminance_cdm2=luminance, area_deg2=1.0, direction=vectors)
    assert table.shape == (5, 3, 2)
    assert table.dtype == np.float64
    one = castle_csf(frequency[2, 0, 0], luminance_cdm2=10.0, area_deg2=1.0, direction=vectors[1])
    assert table[2, 1, 1] == pytest.approx(one, rel=1e-13)


def test_no_sensitivity_left_is_zero_and_an_infinite_threshold() -> None:
    at = {"eccentricity_deg": 120.0, "direction": (1.0, -1.0, 0.0), **GREY}
    assert castle_csf(2000.0, **at) == 0
    assert castle_threshold_amplitude(2000.0, **at) == np.inf


def test_inputs_are_left_alone() -> None:
    frequency = np.array([1.0, 2.0])
    castle_csf(frequency, **GREY)
    assert frequency.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        LMS_TO_MECHANISMS[0, 0] = 2


def test_disc_is_the_best_gabor_pooled_along_the_rim() -> None:
    gabors = castle_csf(np.geomspace(0.125, 16, 64), luminance_cdm2=100.0, area_deg2=2.42437)
    assert castle_csf_disc(1.0, luminance_cdm2=100.0) == pytest.approx(gabors.max(), rel=1e-13)
    small, large = castle_csf_disc([0.5, 4.0], luminance_cdm2=100.0)
    assert large / small == pytest.approx(8 ** (1 / 3.01142), rel=1e-12)


def test_disc_broadcasts_over_directions_and_backgrounds() -> None:
    vectors = np.linalg.inv(LMS_TO_MECHANISMS).T
    grey = np.array([1.0, 10.0])[:, None] * GREY_LMS_PER_CDM2
    table = castle_csf_disc(
        [[[0.5]], [[1.0]]], background_lms=grey[:, None, :], direction=vectors, temporal_hz=8.0
    )
    assert table.shape == (2, 2, 3)
    one = castle_csf_disc(1.0, luminance_cdm2=10.0, direction="yv", temporal_hz=8.0)
    assert table[1, 1, 2] == pytest.approx(one, rel=1e-12)


BAD = [
    ({"frequency_cpd": 0.0}, "frequency_cpd is 0; it must be finite and above 0"),
    ({"frequency_cpd": [1.0, -2.0]}, "frequency_cpd is -2; it must be finite and above 0"),
    ({"frequency_cpd": np.nan}, "frequency_cpd is nan"),
    ({"area_deg2": 0.0}, "area_deg2 is 0"),
    ({"luminance_cdm2": -1.0}, "luminance_cdm2 is -1"),
    ({"temporal_hz": -1.0}, "temporal_hz is -1; it must be finite and 0 or more"),
    ({"eccentricity_deg": np.inf}, "eccentricity_deg is inf"),
    ({"direction": "red"}, "direction is 'red'; use one of ach, rg, yv or an LMS vector"),
    ({"direction": (1.0, 2.0)}, r"direction has shape \(2,\); its last axis must hold L, M and S"),
    ({"direction": (0.0, 0.0, 0.0)}, "give a finite vector that is not zero"),
    ({"luminance_cdm2": None}, "give exactly one of the two"),
    ({"background_lms": (70.0, 30.0, 2.0)}, "give exactly one of the two"),
    ({"luminance_cdm2": None, "background_lms": (70.0, 30.0, 0.0)}, "background_lms is 0"),
    ({"luminance_cdm2": None, "background_lms": 70.0}, r"background_lms has shape \(\)"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD)
def test_bad_input_says_what_is_wrong(change: dict[str, object], sentence: str) -> None:
    arguments = {"frequency_cpd": 4.0, **GREY, **change}
    for function in (castle_csf, castle_threshold_amplitude):
        with pytest.raises(ValueError, match=sentence):
            function(**arguments)


def test_bad_radius() -> None:
    with pytest.raises(ValueError, match="radius_deg is 0"):
        castle_csf_disc(0.0, luminance_cdm2=100.0)


@pytest.mark.parametrize(("direction", "factor"), [("ach", 1.0), ("rg", 1.591), ("yv", 1.732)])
def test_cone_contrast_as_dkl_amplitude(direction: str, factor: float) -> None:
    cone = castle_csf([1.0, 4.0], luminance_cdm2=100, area_deg2=np.pi, direction=direction)
    assert cone / convert_sensitivity(cone, to="dkl", direction=direction) == pytest.approx(
        factor, rel=5e-3
    )


def test_achromatic_sensitivity_is_one_over_michelson_contrast() -> None:
    # By definition of castleCSF's achromatic axis, to its own rounding of the grey.
    assert convert_sensitivity(100.0, to="michelson") == pytest.approx(100, rel=3e-3)
    assert convert_sensitivity(100.0, to="rms") == pytest.approx(100 * np.sqrt(2), rel=3e-3)


def test_there_and_back() -> None:
    direction, grey = (0.2, -0.1, 0.01), GREY_LMS_PER_CDM2 * 40
    there = convert_sensitivity(50.0, to="dkl", direction=direction, background_lms=grey)
    back = convert_sensitivity(
        there, unit="dkl", to="cone", direction=direction, background_lms=grey
    )
    assert back == pytest.approx(50)


def test_what_cannot_be_said() -> None:
    with pytest.raises(ValueError, match="has no michelson contrast"):
        convert_sensitivity(50.0, to="michelson", direction="rg")
    with pytest.raises(ValueError, match="use one of ach, rg, yv"):
        convert_sensitivity(50.0, to="dkl", direction="by")
