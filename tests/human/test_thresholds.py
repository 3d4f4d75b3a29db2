"""Human references: what models and data say of a target, and files of a user's own."""

import math
from pathlib import Path

import numpy as np
import pytest

from fechner import human
from fechner.errors import FechnerError
from fechner.human import (
    CastleCSF,
    ElaTCSF,
    MeasuredThresholds,
    StandardSpatialObserver,
    Target,
    masking_thresholds,
    read_thresholds,
    tabulated_thresholds,
)
from fechner.runs.manifest import parameters
from fechner.stimuli import OPPONENT, Disk, Field, Gabor, Gaussian, Grating, OctaveNoise

FIELD = Field.of(degrees=4, ppd=60)


def shown(pattern, x: float = 1.0, unit="dkl", direction: str = "ach", hz: float = 0.0) -> Target:
    return Target(x, pattern, unit, direction, 40.0, hz, FIELD, OPPONENT)


@pytest.mark.parametrize(
    ("pattern", "area"),
    [
        (Gabor(4.0, sigma_deg=0.5), math.pi / 4),
        (Gabor(4.0, sigma_deg=0.5, sigma_along_deg=1.0), math.pi / 2),
        (Grating(4.0), 16.0),
        (OctaveNoise(4.0), 16.0),
    ],
)
def test_castle_sees_a_pattern_over_its_own_area(pattern, area: float) -> None:
    found = CastleCSF("cone").threshold(shown(pattern))
    expected = human.castle_csf(4.0, area_deg2=area, luminance_cdm2=40.0)
    assert found == pytest.approx(1 / float(expected), rel=1e-12)
    fixed = CastleCSF("cone", area_deg2=2.0).threshold(shown(pattern))
    expected = human.castle_csf(4.0, area_deg2=2.0, luminance_cdm2=40.0)
    assert fixed == pytest.approx(1 / float(expected), rel=1e-12)


@pytest.mark.parametrize("direction", ["ach", "rg", "yv"])
def test_castle_knows_disks(direction: str) -> None:
    light = {
        "direction": OPPONENT.modulation_lms(direction, 40.0),
        "background_lms": OPPONENT.background_lms(40.0),
    }
    sensitivity = human.castle_csf_disc(1.5, **light)
    expected = 1 / human.convert_sensitivity(sensitivity, to="dkl", **light)
    found = CastleCSF().threshold(shown(Disk(1.5), direction=direction))
    assert found == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "pattern", "lacks"),
    [
        (CastleCSF(), Gaussian(1.0), "frequency_cpd"),
        (CastleCSF("amplitude"), Disk(1.0), "frequency_cpd"),
        (ElaTCSF(), Gabor(1.0, 1.0), "radius_deg"),
        (StandardSpatialObserver(), Disk(1.0), "frequency_cpd"),
    ],
)
def test_a_model_names_what_it_misses(model, pattern, lacks: str) -> None:
    with pytest.raises(FechnerError, match=rf"{lacks}.*{type(pattern).__name__}.*read_thresholds"):
        model.threshold(shown(pattern))


def test_the_standard_spatial_observer_sees_orientation() -> None:
    upright, oblique = (
        StandardSpatialObserver().threshold(shown(Grating(12.0, turn))) for turn in (0.0, 45.0)
    )
    expected = human.standard_spatial_observer(12.0, [0.0, 45.0])
    assert oblique / upright == pytest.approx(float(expected[0] / expected[1]))
    assert oblique > 1.2 * upright


def test_masks_are_those_of_the_data_or_between_them() -> None:
    data = masking_thresholds("foley1994", scored=(0.005, 0.25))
    assert all(0.005 < x < 0.25 for x in data.at)
    assert (data.citation, data.error_db) == ("foley1994", 0.5)
    at = (0.001, 0.04, 0.9)
    between = masking_thresholds("foley1994", scored_at=at)
    every = masking_thresholds("foley1994")
    assert between.at == at
    np.testing.assert_allclose(between.contrasts, np.interp(at, every.at, every.contrasts))


def test_any_function_is_held_as_numbers() -> None:
    found = tabulated_thresholds(lambda x: 0.01 * x, "angle_deg", np.array([1, 2, 4]), 1.5)
    assert (found.at, found.contrasts) == ((1.0, 2.0, 4.0), (0.01, 0.02, 0.04))
    assert found.threshold(shown(Grating(4.0), x=2.0)) == 0.02
    assert parameters(found)["contrasts"] == [0.01, 0.02, 0.04]
    with pytest.raises(FechnerError, match="angle_deg 3"):
        found.threshold(shown(Grating(4.0), x=3.0))


@pytest.mark.parametrize(
    "wrong",
    [
        {"at": ()},
        {"at": (2.0, 1.0)},
        {"contrasts": (0.1,)},
        {"contrasts": (0.1, 0.0)},
        {"error_db": (1.0,)},
        {"citation": ""},
    ],
)
def test_wrong_thresholds(wrong) -> None:
    right = {"over": "angle_deg", "at": (1.0, 2.0), "contrasts": (0.1, 0.2)}
    MeasuredThresholds(**right)
    with pytest.raises(FechnerError):
        MeasuredThresholds(**right | wrong)


# Files


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.csv"
    path.write_text(text, "utf-8")
    return path


def test_a_file_with_intervals(tmp_path: Path) -> None:
    # 2 dB of standard error is a factor of 10^(2 * 1.96 / 20) to either side.
    factor = 10 ** (1.959964 * 2 / 20)
    rows = [f"{x},{c},{c / factor},{c * factor},any" for x, c in ((90, 0.02), (0, 0.01))]
    text = "# Ann\n#\nAngle_deg, threshold,low,high,who\n" + "\n# later\n".join(rows) + "\n\n"
    found = read_thresholds(written(tmp_path, text), over="angle_deg", citation="ashraf2024")
    assert (found.over, found.at, found.contrasts) == ("angle_deg", (0.0, 90.0), (0.01, 0.02))
    assert found.error_db == pytest.approx((2.0, 2.0))
    assert found.citation == "ashraf2024"
    assert hash(found)


def test_a_file_without_errors(tmp_path: Path) -> None:
    found = read_thresholds(written(tmp_path, "x,threshold\n1,0.1\n"), over="x")
    assert found.error_db is None
    assert found.citation == "mine.csv"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("# nothing\n", "angle_deg, threshold"),
        ("angle_deg,threshold\n", "no thresholds"),
        ("angle,threshold\n1,2\n", "'angle' may be 'angle_deg'"),
        ("angle_deg;threshold\n1;0,2\n", "semicolons"),
        ("angle_deg,threshold,threshold\n1,2,3\n", "2 columns 'threshold'"),
        ("angle_deg,threshold\n1,0.1\n2,0.1,3\n", "line 3: .*3 cells"),
        ("#\nangle_deg,threshold\n1,x\n", "line 3: .*'x' for threshold"),
        ("angle_deg,threshold\n1,\n", "line 2: .*threshold"),
        ("angle_deg,threshold\nnan,1\n", "line 2: .*angle_deg"),
        ("angle_deg,threshold\n1,-30\n", "line 2: .*sensitivities or dB"),
        ("angle_deg,threshold\n1,80\n", "line 2: .*sensitivities or dB"),
        ("angle_deg,threshold\n1,0.1\n2,0.1\n1,0.2\n", "line 4: .*line 2, 1"),
        ("angle_deg,threshold,low\n1,0.1,0.05\n", "column high"),
        ("angle_deg,threshold,low,high\n1,0.1,0.2,0.05\n", "line 2: .*outside"),
        ("angle_deg,threshold,low,high,error_db\n1,0.1,0.05,0.2,1\n", "both error_db"),
        ("angle_deg,threshold,error_db\n1,0.1,-1\n", "line 2: .*error_db -1"),
    ],
)
def test_mistakes_in_a_file_are_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(FechnerError, match=rf"mine\.csv.*{says}") as found:
        read_thresholds(written(tmp_path, text), over="angle_deg")
    assert "\n" not in str(found.value)
