"""The stimulus is the one asked for, and so is what people see of it."""

import io
import math
from urllib.parse import parse_qsl

import numpy as np
import pytest
from PIL import Image

from fechner import FechnerError, human
from fechner.report.serving.explorer import (
    BOTTOM,
    LEFT,
    PRESETS,
    RIGHT,
    TOP,
    Point,
    judge,
    limits,
    picture,
    plot,
)
from fechner.report.tiles import shows_srgb
from fechner.stimuli import OPPONENT, convert_contrast, displays
from fechner.suites.options import options_of


def point(**values: object) -> Point:
    return Point.of({name: str(value) for name, value in values.items()})


def luminance(asked: Point) -> np.ndarray:
    """Decode a PNG into light, as the display of the point would show it."""
    image = Image.open(io.BytesIO(picture(asked)))
    assert (image.format, image.mode, image.size) == ("PNG", "RGB", (int(asked.size),) * 2)
    encoded = np.asarray(image, dtype=np.float64) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    black, peak = asked.screen.black_cdm2, asked.screen.peak_cdm2
    if shows_srgb(asked.screen):  # the room adds to what is sent
        light = black + linear * (peak - black) + asked.screen.reflected_cdm2
    else:  # the picture holds all light, up to HDR reference white
        light = linear * min(peak, 203)
    return light @ np.array([0.2126729, 0.7151522, 0.0721750])


@pytest.mark.parametrize("display", sorted(displays()))
@pytest.mark.parametrize("contrast", [0.5, 0.02])
def test_picture_has_the_contrast_and_frequency_asked_for(display: str, contrast: float) -> None:
    """Measured by the Fourier component: dither and 8 bits average out."""
    asked = point(
        pattern="grating", frequency=4, contrast=contrast, luminance=50, phase=0, ppd=64, size=256,
        display=display,
    )  # fmt: skip
    light = luminance(asked)
    assert light.mean() == pytest.approx(50, rel=0.01)
    cycles = np.fft.fft(light.mean(axis=0)) / light.mean() / len(light) * 2
    assert int(np.abs(cycles[1:128]).argmax()) + 1 == 16  # 4 cycles/degree over 4 degrees
    # An 8-bit display without dither rounds faint gratings to whole grey levels.
    rounded = asked.screen.bits is not None and not asked.screen.dither
    assert abs(cycles[16]) == pytest.approx(contrast, rel=0.25 if rounded else 0.02)


def test_faint_pattern_survives_eight_bits() -> None:
    """One grey level is a contrast of 0.017 here."""
    asked = point(pattern="grating", frequency=4, contrast=0.003, luminance=50, ppd=64, size=512)
    light = luminance(asked)
    cycles = np.fft.fft(light.mean(axis=0)) / light.mean() / len(light) * 2
    assert abs(cycles[32]) == pytest.approx(0.003, rel=0.2)


def test_noise_mask_and_disc() -> None:
    noise = luminance(point(pattern="noise", contrast=0.1, size=256))
    assert noise.std() / noise.mean() == pytest.approx(0.1, rel=0.03)
    disc = luminance(point(pattern="disc", sigma=1, contrast=0.2, ppd=64, size=256))
    assert disc[128, 128] / disc[2, 2] == pytest.approx(1.2, rel=0.02)
    assert (disc > disc[2, 2] * 1.1).sum() == pytest.approx(math.pi * 64**2, rel=0.01)
    mask = luminance(
        point(pattern="gabor", sigma=0.1, contrast=0.001, mask="grating", mask_contrast=0.3,
              frequency=4, ppd=64, size=256, phase=0)
    )  # fmt: skip
    cycles = np.fft.fft(mask.mean(axis=0)) / mask.mean() / len(mask) * 2
    assert abs(cycles[16]) == pytest.approx(0.3, rel=0.02)


@pytest.mark.parametrize("direction", ["ach", "rg", "yv"])
def test_threshold_is_castle_csf(direction: str) -> None:
    verdict = judge(point(frequency=3, sigma=0.7, luminance=40, direction=direction, contrast=0.2))
    modulation = OPPONENT.modulation_lms(direction, 40)
    background = OPPONENT.background_lms(40)
    sensitivity = human.castle_csf(
        3, area_deg2=math.pi * 0.7**2, direction=modulation, background_lms=background
    )
    expected = convert_contrast(
        1 / float(sensitivity), unit="cone", to="dkl", modulation_lms=modulation,
        background_lms=background,
    )  # fmt: skip
    assert verdict.threshold == pytest.approx(expected, rel=1e-9)
    assert verdict.ratio == pytest.approx(0.2 / expected)
    # On the achromatic axis contrast is Michelson's, which is cone contrast to 0.3 %.
    if direction == "ach":
        plain = human.castle_csf(3, luminance_cdm2=40, area_deg2=math.pi * 0.7**2)
        assert verdict.threshold == pytest.approx(1 / float(plain), rel=0.01)


def test_thresholds_of_other_patterns() -> None:
    field = 256 / 64
    grating = judge(point(pattern="grating", frequency=3, ppd=64, size=256))
    plain = human.castle_csf(3, luminance_cdm2=100, area_deg2=field**2)
    assert grating.threshold == pytest.approx(1 / float(plain), rel=0.01)
    noise = judge(point(pattern="noise", frequency=3, ppd=64, size=256))
    assert noise.threshold == pytest.approx(grating.threshold / math.sqrt(2))  # RMS of a sinusoid
    disc = judge(point(pattern="disc", sigma=1))
    plain = human.castle_csf_disc(1.0, luminance_cdm2=100)
    assert disc.threshold == pytest.approx(1 / float(plain), rel=0.01)


@pytest.mark.parametrize(
    ("key", "mask"), [("foley1994", "grating"), ("gegenfurtner_kiper1992", "noise")]
)
def test_masked_thresholds_are_the_data(key: str, mask: str) -> None:
    data = human.load(key)
    conditions = {
        "frequency": data.about.frequency_cpd,
        "sigma": data.about.sigma_deg,
        "luminance": data.about.luminance_cdm2,
        "mask": mask,
    }
    vertical = data["mask_orientation_deg"] == 0 if key == "foley1994" else np.ones(len(data), bool)
    chosen = vertical & (data["mask_contrast"] > 0)
    masks, thresholds = data["mask_contrast"][chosen], data["threshold_contrast"][chosen]
    for contrast, threshold in zip(masks, thresholds, strict=True):
        verdict = judge(point(**conditions, mask_contrast=contrast))
        assert verdict.threshold == pytest.approx(threshold)
        assert (verdict.caveat, verdict.measured) == ("", True)
    between = judge(point(**conditions, mask_contrast=math.sqrt(masks[2] * masks[3])))
    assert between.threshold == pytest.approx(math.sqrt(thresholds[2] * thresholds[3]))
    for change in (
        {"mask_contrast": 0.9},
        {"frequency": 3},
        {"sigma": 2},
        {"luminance": 100},
        {"orientation": 45},
        {"pattern": "grating"},
    ):
        elsewhere = judge(point(**{**conditions, "mask_contrast": masks[2], **change}))
        alone = judge(point(**{**conditions, **change, "mask": "none"}))
        assert elsewhere.threshold == alone.threshold
        assert elsewhere.caveat.startswith("No human model for this mask is at hand")
        assert f"{data.about.frequency_cpd:g} cycles/degree" in elsewhere.caveat


def test_words_for_what_is_seen() -> None:
    threshold = judge(point()).threshold
    seen = [judge(point(contrast=threshold * ratio)).seen for ratio in (0.5, 0.7, 1.4, 1.7)]
    assert seen == ["not visible", "about at threshold", "about at threshold", "visible"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, ""),
        ({"frequency": 40}, "40 cycles/degree is above the 30 that 60 pixels per degree can hold"),
        ({"pattern": "noise", "frequency": 25}, "35.4 cycles/degree is above the 30"),
        ({"mask": "noise", "ppd": 20}, "12 cycles/degree is above the 10"),
        ({"luminance": 300, "contrast": 0.5}, "the strongest contrast it can show here is 0.333"),
        ({"direction": "rg", "contrast": 0.9}, "The display goes from 0 to 400 cd/m² and cannot"),
        ({"luminance": 1000}, "the strongest contrast it can show here is 0."),
        (
            {"luminance": 0.05, "display": "srgb-8bit"},
            "the strongest contrast it can show here is 0.",
        ),
        ({"mask": "grating", "mask_contrast": 0.6, "contrast": 0.6}, "add up to more than 1"),
        ({"pattern": "noise", "contrast": 0.9}, "More than 1 % of the pixels lie outside"),
    ],
)
def test_limits_are_named(asked: dict[str, object], sentence: str) -> None:
    found = limits(point(**asked))
    assert sentence in found
    assert bool(sentence) == bool(found)


def test_strongest_contrast_that_is_named_can_be_shown() -> None:
    assert limits(point(luminance=300, contrast=0.333)) == ""
    assert limits(point(luminance=300, contrast=0.335)) != ""


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"frequency": "0"}, "frequency must be at least 0.1 and at most 60 cycles/degree, not 0."),
        ({"frequency": "nan"}, "not 'nan'"),
        ({"contrast": "inf"}, "not 'inf'"),
        ({"contrast": "-1"}, "not -1"),
        ({"luminance": "1e400"}, "not '1e400'"),
        ({"luminance": ""}, "luminance must be a number, not ''."),
        ({"ppd": "7"}, "ppd must be at least 8 and at most 240 pixels/degree, not 7."),
        ({"size": "1025"}, "size must be at least 64 and at most 1024 pixels, not 1025."),
        ({"size": "100.5"}, "size must be a whole number, not '100.5'"),
        ({"size": "9" * 5000}, "size must be a whole number, not '9999"),
        ({"pattern": "plaid"}, "pattern must be gabor or grating or noise or disc, not 'plaid'."),
        ({"display": "../../etc/passwd"}, "there is no display named '../../etc/passwd'"),
        ({"direction": "<script>"}, "direction must be ach or rg or yv, not '<script>'."),
        ({"colour": "red"}, "there is no setting named 'colour'; "),
        ({"pattern": "noise", "direction": "rg"}, "noise is achromatic here"),
        ({"mask": "noise", "direction": "yv"}, "noise is achromatic here"),
    ],
)
def test_nonsense_is_one_sentence(query: dict[str, str], sentence: str) -> None:
    with pytest.raises(FechnerError) as caught:
        Point.of(query)
    assert sentence in str(caught.value)


def test_every_corner_has_an_answer() -> None:
    """The ends of all ranges at once, for every pattern and colour: no number breaks anything."""
    numbers = {name: each for name, each in options_of(Point).items() if each.low is not None}
    for pattern in ("gabor", "grating", "disc"):
        for direction in ("ach", "rg", "yv"):
            for end in ("low", "high"):
                values = {name: getattr(each, end) for name, each in numbers.items()}
                asked = point(**values, pattern=pattern, direction=direction, mask="grating")
                verdict = judge(asked)
                assert math.isfinite(verdict.ratio)
                assert verdict.threshold > 0
                drawn = plot(verdict)
                assert LEFT <= drawn["dot"][0] <= RIGHT
                assert TOP <= drawn["dot"][1] <= BOTTOM
                assert bool(limits(asked)) == (end == "high")


def test_address_holds_the_point() -> None:
    asked = point(frequency=1 / 3, contrast=0.012345678, pattern="disc", mask="grating")
    again = Point.of(dict(parse_qsl(asked.query)))
    assert again.frequency == pytest.approx(asked.frequency, rel=1e-11)
    assert Point.of(dict(parse_qsl(again.query))) == again


def test_presets_are_what_they_say() -> None:
    for name, query in PRESETS.items():
        asked = Point.of(dict(parse_qsl(query)))
        assert limits(asked) == "", name
        assert judge(asked).measured == (asked.mask != "none")


def test_plot_puts_the_dot_where_the_point_is() -> None:
    threshold = judge(point()).threshold
    at_threshold = plot(judge(point(contrast=threshold)))
    x, y = at_threshold["dot"]
    places = [tuple(map(float, part[1:].split())) for part in _commands(at_threshold["path"])]
    nearest = min(places, key=lambda place: abs(place[0] - x))
    assert nearest[1] == pytest.approx(y, abs=2)
    stronger = plot(judge(point(contrast=threshold * 10)))
    assert stronger["dot"][1] > y  # sensitivity is upwards


def _commands(path: str) -> list[str]:
    return path.replace(" L", "|L").split("|")
