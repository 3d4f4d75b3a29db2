"""The ModelFest patterns: amplitude, symmetry, spatial frequency and orientation."""

import re
from functools import cache

import numpy as np
import pytest

from fechner.human import MODELFEST_FIELD, load, modelfest_patterns
from fechner.stimuli import Bar, Bessel, Checkerboard, Edge, Field

PATTERNS = modelfest_patterns()
TABLE = load("modelfest")
ROW = {number: row for row, number in enumerate(TABLE["stimulus"].tolist())}
GABORS = [number for number in PATTERNS if TABLE["kind"][ROW[number]] == "gabor"]
EDGE, LINE, DIPOLE = 30, 31, 32

#: A pixel at the centre, where cosines and windows have their peak.
ODD = Field.of(pixels=257, ppd=120)
#: Large enough for narrow spectra, which are also padded to 0.12 cpd per bin.
WIDE = Field.of(pixels=512, ppd=120)
BINS = 1024


def draw(number: int, field: Field = MODELFEST_FIELD) -> np.ndarray:
    drawn = PATTERNS[number].draw(field)
    return drawn.expand(field.height_px, field.width_px).numpy()


@cache
def spectrum(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return frequencies rightwards and upwards, and power."""
    power = np.abs(np.fft.fft2(draw(number, WIDE), (BINS, BINS))) ** 2
    fx = np.fft.fftfreq(BINS, 1 / WIDE.ppd)[None, :]
    fy = -np.fft.fftfreq(BINS, 1 / WIDE.ppd)[:, None]
    return fx, fy, power


def column(name: str, number: int) -> float:
    return float(TABLE[name][ROW[number]])


def test_all_but_the_noise_and_the_photograph() -> None:
    left_out = {number: TABLE["kind"][row] for number, row in ROW.items() if number not in PATTERNS}
    assert left_out == {35: "noise", 43: "image"}
    assert list(PATTERNS) == sorted(PATTERNS)
    assert len(set(PATTERNS.values())) == 41  # hashable, and no two the same


def test_the_field() -> None:
    assert (MODELFEST_FIELD.width_px, MODELFEST_FIELD.height_px, MODELFEST_FIELD.ppd) == (
        256,
        256,
        120,
    )
    for number, pattern in PATTERNS.items():
        assert pattern.highest_cpd < MODELFEST_FIELD.nyquist_cpd
        frequencies = [column("frequency_cpd", number), column("second_frequency_cpd", number)]
        if not np.isnan(frequencies[0]):
            assert pattern.highest_cpd == np.nanmax(frequencies)


@pytest.mark.parametrize("number", PATTERNS)
def test_amplitude_is_one(number: int) -> None:
    if number in (EDGE, LINE, DIPOLE):
        # Drawn between or on the pixels around the centre, where the window is a little below 1.
        assert np.abs(draw(number)).max() == pytest.approx(1, abs=4e-4)
        return
    drawn = draw(number, ODD)
    # Neighbours in a string of Gabors, 5 sd away, add or take 7e-6.
    assert drawn[128, 128] == pytest.approx(1, abs=1e-5)
    assert np.abs(drawn).max() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("number", sorted(set(PATTERNS) - {EDGE, LINE, DIPOLE}))
def test_symmetry_about_the_centre(number: int) -> None:
    drawn = draw(number, ODD)
    np.testing.assert_allclose(drawn, drawn[::-1, ::-1], atol=1e-12)
    if number == 36:
        np.testing.assert_allclose(drawn, drawn.T[::-1, ::-1], atol=1e-12)
        assert not np.allclose(drawn, drawn[::-1], atol=1e-2)
    else:
        np.testing.assert_allclose(drawn, drawn[::-1], atol=1e-12)
        np.testing.assert_allclose(drawn, drawn[:, ::-1], atol=1e-12)
    if number in (26, 27, 28, 29, 38, 39, 40, 41, 42):
        np.testing.assert_allclose(drawn, drawn.T, atol=1e-12)


@pytest.mark.parametrize("number", GABORS)
def test_gabors_have_their_frequency_orientation_and_bandwidth(number: int) -> None:
    fx, fy, power = spectrum(number)
    bars = np.radians(column("orientation_deg", number))
    # Bars along (cos, sin) vary along (-sin, cos).
    across = fy * np.cos(bars) - fx * np.sin(bars)
    along = fx * np.cos(bars) + fy * np.sin(bars)
    half = power * (across > 0)
    centroid = np.sum(half * across) / half.sum()
    assert centroid == pytest.approx(column("frequency_cpd", number), rel=0.01)
    assert np.sum(half * along) / half.sum() == pytest.approx(0, abs=0.01)
    # The power spectrum of a Gaussian window of sd s has sd 1/(2 sqrt 2 pi s).
    for axis, name in ((across - centroid, "sigma_across_deg"), (along, "sigma_along_deg")):
        spread = np.sqrt(np.sum(half * axis**2) / half.sum())
        sigma = column(name, number)
        assert spread == pytest.approx(1 / (2 * np.sqrt(2) * np.pi * sigma), rel=0.01)


@pytest.mark.parametrize("number", [22, 23, 24, 25, 38, 39])
def test_pairs_have_two_equal_components(number: int) -> None:
    fx, fy, power = spectrum(number)
    strongest = []
    for which in ("", "second_"):
        bars = np.radians(column(f"{which}orientation_deg", number))
        frequency = column(f"{which}frequency_cpd", number)
        distance = np.hypot(fx + frequency * np.sin(bars), fy - frequency * np.cos(bars))
        strongest.append(power[distance < 0.3].max())
    assert strongest[0] == pytest.approx(strongest[1], rel=0.1)
    assert power.max() == pytest.approx(max(strongest), rel=0.1)


def test_rings_have_one_frequency_at_all_orientations() -> None:
    fx, fy, power = spectrum(41)
    radius = np.hypot(fx, fy)
    assert np.sum(power * radius) / power.sum() == pytest.approx(4, rel=0.01)
    ring = (radius > 3.9) & (radius < 4.1)
    assert power[ring].min() > 0.7 * power[ring].max()


def test_fundamentals_of_the_checkerboard_are_horizontal_and_vertical() -> None:
    fx, fy, power = spectrum(42)
    rows, columns = np.unravel_index(np.argsort(power.ravel())[-4:], power.shape)
    peaks = sorted((abs(fx[0, c]), abs(fy[r, 0])) for r, c in zip(rows, columns, strict=True))
    for peak, expected in zip(peaks, [(0, 4), (0, 4), (4, 0), (4, 0)], strict=True):
        assert peak == pytest.approx(expected, abs=0.06)  # half a bin


@pytest.mark.parametrize("orientation", [0, 45])
def test_checks_are_black_and_white_in_equal_parts(orientation: float) -> None:
    checks = Checkerboard(5.0, orientation).draw(Field.of(pixels=240, ppd=60)).numpy()
    assert abs(checks.mean()) < 0.01
    assert np.mean(np.abs(checks) == 1) > 0.7
    side = 60 / (5 * np.sqrt(2))
    along = checks[120] if orientation == 0 else np.diag(checks[:, ::-1])
    step = 1.0 if orientation == 0 else np.sqrt(2)
    changes = np.count_nonzero(np.diff(np.sign(along[np.abs(along) > 0.01])))
    assert changes == pytest.approx(len(along) * step / side, abs=1)


def test_the_edge_divides_the_field() -> None:
    drawn = draw(EDGE)
    assert np.all(drawn[:128] > 0)
    np.testing.assert_allclose(drawn, -drawn[::-1], atol=1e-15)
    np.testing.assert_allclose(drawn, drawn[:, ::-1], atol=1e-15)


def test_the_line_is_one_pixel_thick_and_the_dipole_three() -> None:
    line, dipole = draw(LINE), draw(DIPOLE)
    assert np.flatnonzero(np.abs(line[:, 128]) > 1e-9).tolist() == [127]
    assert np.flatnonzero(np.abs(dipole[:, 128]) > 1e-9).tolist() == [126, 128]
    assert dipole.sum() == pytest.approx(0, abs=0.1)
    # Along the line, a Gaussian of sd 0.5 deg = 60 px.
    profile = line[127, 128:] / line[127, 128]
    assert profile[60] == pytest.approx(np.exp(-0.5), rel=0.01)
    assert TABLE["note"][ROW[LINE]] == "0.5 arcmin wide"
    assert TABLE["note"][ROW[DIPOLE]] == "3 pixels wide"


@pytest.mark.parametrize("number", [33, 34])
def test_strings_of_gabors(number: int) -> None:
    """What is written in words in the table: how many, how far apart, in which phase."""
    note = TABLE["note"][ROW[number]]
    count, spacing_sd = (int(found) for found in re.findall(r"\d+", note))
    across_centre = draw(number, ODD)[128]
    step = round(spacing_sd * column("sigma_along_deg", number) * ODD.ppd)
    places = 128 + step * (np.arange(count) - count // 2)
    signs = (-1.0) ** np.arange(count) if "alternating" in note else np.ones(count)
    np.testing.assert_allclose(across_centre[places], signs, atol=1e-5)
    assert np.abs(across_centre).sum() / ODD.ppd == pytest.approx(
        count * column("sigma_along_deg", number) * np.sqrt(2 * np.pi), rel=0.03
    )


def test_the_disc_has_the_diameter_in_the_note() -> None:
    (diameter_deg,) = (float(found) for found in re.findall(r"[\d.]+", TABLE["note"][ROW[40]]))
    area_deg2 = draw(40).sum() / MODELFEST_FIELD.ppd**2
    assert area_deg2 == pytest.approx(np.pi * diameter_deg**2 / 4, rel=1e-3)


@pytest.mark.parametrize("ppd", [30, 60, 90, 120, 240])
def test_a_line_has_the_same_light_at_any_resolution(ppd: float) -> None:
    field = Field.of(degrees=1, ppd=ppd)
    for orientation, axis in ((0.0, 1), (90.0, 0)):
        drawn = Bar(1 / 120, orientation, offset_deg=0.1).draw(field)
        assert float(drawn.sum(dim=axis)[0]) / ppd == pytest.approx(1 / 120)


def test_orientation_is_that_of_gratings() -> None:
    field = Field.of(pixels=8, ppd=60)
    right, above, both = (Edge(angle).draw(field) for angle in (0, 90, 45))
    np.testing.assert_allclose(right[0], [-1] * 4 + [1] * 4)
    np.testing.assert_allclose(above[:, 0], [1] * 4 + [-1] * 4)
    assert both[0, -1] == 1
    assert both[-1, 0] == -1


def test_rings_are_a_mean_of_gratings() -> None:
    """J0 by its integral: the mean over orientations of a cosine grating through the centre."""
    field = Field.of(pixels=33, ppd=60)
    x, y = (axis.numpy() for axis in field.grid())
    angles = np.linspace(0, np.pi, 200, endpoint=False)
    gratings = [np.cos(2 * np.pi * 4 * (x * np.cos(a) + y * np.sin(a))) for a in angles]
    rings = Bessel(4.0).draw(field).numpy()
    np.testing.assert_allclose(rings, np.mean(gratings, axis=0), atol=1e-6)  # torch's precision
