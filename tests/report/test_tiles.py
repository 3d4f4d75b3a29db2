"""What pictures of stimuli show of a field, and at which moment."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from levels import Grey

from fechner.experiments import NearThreshold
from fechner.report.page.panels import Album
from fechner.report.tiles import (
    PHASES,
    cycle_of,
    draw_picture,
    on_screen,
    painted,
    peak_time_s,
    shows_srgb,
    tile_rows,
    view_of,
    visible,
)
from fechner.stimuli import (
    ATD,
    Disk,
    Display,
    Field,
    Flicker,
    Grating,
    Layer,
    Stimulus,
    display,
    displays,
    paint,
)
from fechner.stimuli.colour import SRGB_TO_XYZ, as_triple, xyz_to_lab
from fechner.suites import suite

TESTS = {test.id: test.experiment for test in suite("metrics").build()}
BACKGROUND = (9.5, 10.0, 10.9)


def in_field(test: str, **changes: object) -> NearThreshold:
    """Return a test in another field."""
    experiment = TESTS[test]
    assert isinstance(experiment, NearThreshold)
    scene = experiment.scene
    return replace(experiment, scene=replace(scene, field=replace(scene.field, **changes)))


def stimulus(*layers: tuple[float, Flicker | None]) -> Stimulus:
    return Stimulus(
        BACKGROUND, tuple(Layer(Disk(1.0), BACKGROUND, contrast, how) for contrast, how in layers)
    )


@pytest.mark.parametrize("mode", ["default", "published"])
@pytest.mark.parametrize("name", ["encoders", "metrics"])
def test_tiles_are_small_and_hold_every_pattern(name: str, mode: str) -> None:
    for test in suite(name).build(published=mode == "published"):
        experiment, view = test.experiment, view_of(test.experiment)
        field = experiment.scene.field
        assert view.width_px * view.height_px <= 300 * 300
        assert not view.field.is_video
        if view.part is None:
            assert view.field.width_deg == pytest.approx(field.width_deg)
        else:
            assert view.field.ppd == field.ppd
        assert bool(view.note) == (
            (view.width_px, view.height_px) != (field.width_px, field.height_px)
        )


@pytest.mark.parametrize(
    ("test", "size", "note"),
    [
        ("frequency-yv", (256, 256), "centre of the field"),
        ("area", (320, 180), "drawn at 1/6 of the pixels per degree"),
        ("masking-coherent", (210, 150), "drawn at 1/2 of the pixels per degree"),
        ("masking-incoherent", (300, 300), ""),
    ],
)
def test_what_is_said_of_them(test: str, size: tuple[int, int], note: str) -> None:
    view = view_of(TESTS[test])
    assert ((view.width_px, view.height_px), view.note) == (size, note)


def test_four_pixels_to_a_cycle_are_enough() -> None:
    # The finest pattern has 2 cycles per degree, and twice the pixels per degree are too many.
    assert view_of(in_field("area", width_px=512, height_px=512, ppd=16.0)).field.ppd == 8.0
    assert view_of(in_field("area", width_px=512, height_px=512, ppd=15.9)).part is not None
    tall = view_of(in_field("area", width_px=100, height_px=2000, ppd=15.9))
    assert (tall.width_px, tall.height_px) == (100, 256)


@pytest.mark.parametrize("coordinates", ["centres", "endpoints"])
def test_the_centre_is_that_of_the_whole_picture(coordinates: str) -> None:
    experiment = in_field("frequency-ach", width_px=500, height_px=301, coordinates=coordinates)
    scene, (first, *_) = experiment.scene, experiment.samples()
    whole = paint([first[2].stimulus], scene.field, scene.display)
    centre = replace(whole, pixels=whole.pixels[..., 22:278, 122:378])
    np.testing.assert_array_equal(tile_rows(experiment)[0][2], visible(centre)[0])


def test_flicker_is_seen_at_its_peak() -> None:
    experiment = in_field("flicker", width_px=40, height_px=40, ppd=9.0)
    for row, tiles in zip(experiment.samples(), tile_rows(experiment), strict=True):
        ground = tiles[:, 0, 0].astype(int)
        peaks = tiles[:, 14:26, 14:26].mean(axis=(1, 2))
        if float(row[0].y) > 0.1:
            assert (peaks > ground + 3).all()
        np.testing.assert_allclose(peaks, peaks[:1].repeat(6, axis=0), atol=0.1)


def test_the_peak_is_among_the_frames_that_are_shown() -> None:
    field = Field(8, 8, 8.0, frames=120, fps=120.0)
    assert peak_time_s(stimulus((0.5, Flicker(2.0))), field) == pytest.approx(0.125)
    assert peak_time_s(stimulus((0.5, Flicker(8.0, phase_deg=90))), field) == 0
    assert peak_time_s(stimulus((0.5, None)), field) == 0
    # 60 Hz at 120 frames per second is a sine that is always met at 0.
    unseen = cycle_of(stimulus((0.5, Flicker(60.0))), field)
    assert unseen.stills[unseen.peak].layers == ()


def test_a_cycle_has_few_stills_that_differ() -> None:
    field = Field(8, 8, 8.0, frames=240, fps=240.0)
    cycle = cycle_of(stimulus((0.5, Flicker(7.3))), field)
    assert (cycle.hz, len(cycle.stills), cycle.peak) == (7.3, PHASES, PHASES // 4)
    contrasts = [still.layers[0].contrast if still.layers else 0.0 for still in cycle.stills]
    expected = 0.5 * np.sin(2 * np.pi * np.arange(PHASES) / PHASES)
    np.testing.assert_allclose(contrasts, expected, atol=1e-8)
    assert len(set(cycle.stills)) == 7
    # Another rate, the same pictures.
    assert cycle_of(stimulus((0.5, Flicker(50.0))), field).stills == cycle.stills
    assert set(cycle_of(stimulus((0.5, Flicker(8.0, 90.0))), field).stills) == set(cycle.stills)


def test_what_does_not_change_is_one_still() -> None:
    field = Field(8, 8, 8.0, frames=60)
    steady = cycle_of(stimulus((0.5, None)), field)
    assert (steady.hz, len(steady.stills)) == (0.0, 1)
    assert steady.stills[0] == stimulus((0.5, None))
    never = cycle_of(stimulus((0.5, Flicker(0.0))), field)
    assert (never.hz, never.stills) == (0.0, (Stimulus(BACKGROUND),))


def test_several_rhythms_have_the_clip_for_a_cycle() -> None:
    field = Field(8, 8, 8.0, frames=120, fps=60.0)
    both = stimulus((0.5, Flicker(2.0)), (0.2, Flicker(3.0)), (0.1, None))
    cycle = cycle_of(both, field)
    assert cycle.hz == 0.5
    assert len({len(still.layers) for still in cycle.stills}) > 1
    mask = Layer(Grating(1.0), BACKGROUND, 0.1)
    one = cycle_of(replace(both, layers=(mask, both.layers[0])), field)
    assert one.hz == 2.0
    assert all(mask in still.layers for still in one.stills)


def test_a_picture_that_is_gone_is_grey_among_the_others() -> None:
    experiment = TESTS["area"]
    view = view_of(experiment)
    there, gone, also = painted([Grey(0.2), Grey(-1.0), Grey(0.8)], experiment, view)
    assert there.shape == gone.shape == (view.height_px, view.width_px, 3)
    assert set(np.unique(gone)) == {128}
    assert there.mean() == pytest.approx(0.2 * 255, abs=1)
    assert also.mean() == pytest.approx(0.8 * 255, abs=1)


# Galleries

SCENE = suite("encoders").build()[0].experiment.scene


def test_pixels_are_those_shown_and_smaller_where_asked() -> None:
    whole = draw_picture(Grey(0.5), SCENE)
    assert whole is not None
    assert whole.shape == (SCENE.field.height_px, SCENE.field.width_px, 3)
    assert np.abs(whole.astype(float) - 127.5).max() <= 1  # dithered
    small = draw_picture(Grey(0.5), SCENE, side_px=100)
    assert small is not None
    assert small.shape == (100, 100, 3)


def test_what_is_gone_is_none() -> None:
    assert draw_picture(Grey(-1.0), SCENE, 64) is None


def test_an_album_holds_every_picture_once() -> None:
    album = Album()
    found = [album.number(Grey(v), SCENE) for v in (0.1, 0.9, 0.1, -1.0)]
    assert found == [0, 1, 0, None]
    assert len(album.uris) == 2
    assert all(uri.startswith("data:image/webp;base64,") for uri in album.uris)


# Screens

FIELD = Field(4, 4, 8.0)
TUBE = display("decalogue")
WHITE = as_triple(np.sum(TUBE.rgb_to_xyz, axis=1))


def light(values: torch.Tensor) -> np.ndarray:
    """Return XYZ of the first pixel on a screen whose white has a luminance of 1."""
    linear = Display("screen", peak_cdm2=1.0).decode(values.double())[0, :, 0, 0]
    return np.asarray(SRGB_TO_XYZ) @ linear.numpy()


def field(xyz: tuple[float, float, float], on: Display = TUBE):
    return paint([Stimulus(xyz)], FIELD, on)


def test_srgb_displays_are_left_alone() -> None:
    same = {name for name, each in displays().items() if shows_srgb(each)}
    assert set(displays()) - same == {"decalogue", "hdr-hlg-1000", "hdr-pq-1000", "phone"}
    for name in same:
        frames = field((0.3, 0.3, 0.3), displays()[name])
        assert on_screen(frames) is frames.pixels


@pytest.mark.parametrize("luminance", [0.5, 40.0, 70.0, 100.0])
def test_grey_is_neutral_and_as_light_as_it_was(luminance: float) -> None:
    seen = on_screen(field(ATD.background_xyz(luminance)), ATD.white_xyz)
    assert seen.amax() - seen.amin() < 2e-3
    assert light(seen)[1] == pytest.approx(luminance / TUBE.peak_cdm2, rel=1e-3)


def test_hdr_white_is_reference_white() -> None:
    """So that what is shown at 10 cd/m2 is not black on a page."""
    grey = (10 * 0.9505, 10.0, 10 * 1.0888)
    assert light(on_screen(field(grey, display("hdr-pq-1000"))))[1] == pytest.approx(10 / 203, 1e-3)


def test_white_is_white_unless_another_grey_is_meant() -> None:
    white = field(as_triple(TUBE.peak_cdm2 * np.array(WHITE)))
    assert on_screen(white).amin() > 0.999
    # Adapted to the equal-energy white, that of the display is bluish.
    red, _, blue = on_screen(white, ATD.white_xyz)[0, :, 0, 0]
    assert blue > red + 0.02


def test_colours_have_the_hue_they_are_named_after() -> None:
    grey = np.array(ATD.background_xyz(70.0))
    labs = {
        (channel, sign): xyz_to_lab(light(on_screen(field(as_triple(grey + step)), ATD.white_xyz)))
        for channel in ("rg", "yb")
        for sign in (-1, 1)
        for step in [sign * 15 * np.array(ATD.modulation_xyz(channel, 1.0))]
    }
    assert labs["rg", 1][1] > 10 > -10 > labs["rg", -1][1]
    assert labs["yb", 1][2] > 10 > -10 > labs["yb", -1][2]


def test_raw_light_is_encoded() -> None:
    frames = paint([Stimulus((50.0, 50.0, 50.0))], FIELD, TUBE, light="cdm2")
    assert on_screen(frames, ATD.white_xyz) == pytest.approx(
        on_screen(field((50.0, 50.0, 50.0)), ATD.white_xyz), abs=1e-5
    )
