"""Recognition by bands of frequencies."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from bands import BANDS_CPD, FIELD, SeesOneBand, write_gratings

from fechner.experiments import BandRobustness, Presenter, Scene
from fechner.experiments.presenter import PROBLEMS
from fechner.human import standard_spatial_observer
from fechner.observers import lift
from fechner.scores import BandAccuracy, BandPanels, distance
from fechner.scores.bands import Changes, LogSensitivity, comparable, correlate
from fechner.scores.comparisons import paired
from fechner.scores.statistics import change_interval
from fechner.stimuli import OPPONENT, display

BANDS = np.geomspace(0.5, 20, 9)
#: As sensitive as people, at bands of their own.
SENSITIVITY = standard_spatial_observer(BANDS)


def detection(thresholds: np.ndarray, bands: np.ndarray = BANDS, seed: int = 0) -> xr.Dataset:
    """Answers of an observer with these thresholds, all contrasts the same number of times."""
    generator = np.random.default_rng(seed)
    contrasts = np.concatenate([[0.0], np.geomspace(0.001, 0.8, 30)])
    level = np.repeat(np.arange(31), 10)
    shape = (len(bands), 2, len(level), 1, 1)
    chance = 0.05 + 0.93 * (1 - 0.5 ** ((contrasts[level] / thresholds[:, None]) ** 3))
    yes = (generator.random(shape) < chance[:, None, :, None, None]).astype(float)
    dims = ("point", "prompt", "trial", "layer", "readout")
    return xr.Dataset(
        {
            "yes": (dims, yes),
            "level": (dims, np.broadcast_to(level[:, None, None], shape).astype(np.int16)),
            "contrast": (dims, np.broadcast_to(contrasts[level][:, None, None], shape)),
        },
        coords={
            "abscissa": ("point", bands, {"name": "frequency_cpd"}),
            "human_threshold": ("point", 1 / standard_spatial_observer(bands)),
            "castle_threshold": ("point", 1 / standard_spatial_observer(bands)),
            "dropped": ("point", np.zeros(len(bands), np.uint8), {"meanings": "kept aliased"}),
            "prompt": ("prompt", ["a", "b"]),
            "layer": ("layer", ["output"]),
            "readout": ("readout", ["angle"]),
        },
        attrs={"grey_level": 0.0, "reads": "nothing"},
    )


def answers(
    drop: np.ndarray,
    *,
    pictures: int = 60,
    base: float = 0.9,
    rmse: tuple[float, ...] = (0.02, 0.04),
    bands: np.ndarray = BANDS,
    kind: str = "noise",
    reads: str = "nothing",
    seed: int = 0,
) -> xr.Dataset:
    """Answers of an observer that loses a picture at a band with these chances, [bands, RMSEs]."""
    generator = np.random.default_rng(seed)
    drop = np.broadcast_to(drop.T, (len(rmse), len(bands))).T
    right = np.empty((len(bands) + 1, len(rmse), pictures))
    right[:] = generator.random(pictures) < base
    right[1:][generator.random(right[1:].shape) < drop[..., None]] = 0
    return xr.Dataset(
        {
            "right": (("band", "rmse", "picture", "layer", "readout"), right[..., None, None]),
            "chosen": (
                ("band", "rmse", "picture", "layer", "readout"),
                np.where(right > 0, 0, 1)[..., None, None].astype(np.int16),
            ),
            "problem": (
                ("band", "rmse", "picture"),
                np.zeros(right.shape, np.uint8),
                {"meanings": " ".join(PROBLEMS)},
            ),
        },
        coords={
            "band": [0.0, *bands],
            "rmse": list(rmse),
            "picture": [f"{i:03d}.png" for i in range(pictures)],
            "layer": ["class-scores"],
            "readout": ["choice"],
        },
        attrs={"chance": 0.1, "kind": kind, "reads": reads},
    )


def unmade(data: xr.Dataset, band: int, level: int, pictures: slice) -> xr.Dataset:
    """Take away pictures, as where a band has too little in it."""
    data = data.copy(deep=True)
    data["right"][band + 1, level, pictures] = np.nan
    data["problem"][band + 1, level, pictures] = PROBLEMS.index("unreachable")
    return data


def scores(data: xr.Dataset, *others: xr.Dataset | None) -> dict:
    return {score.name: score for score in BandAccuracy()(data, *others)}


def test_changes_are_recovered() -> None:
    drop = np.linspace(0.1, 0.5, 9)
    found = scores(answers(drop, pictures=4000))
    assert next(iter(found)) == "accuracy-change"
    assert found["accuracy-change"].value == pytest.approx(-0.9 * drop.mean(), abs=0.01)
    for band, expected in zip(BANDS, 0.9 * drop, strict=True):
        score = found[f"accuracy-change-{band:.3g}-cpd"]
        assert score.value == pytest.approx(-expected, abs=0.02)
        assert score.low < score.value < score.high
    assert found["accuracy-unperturbed"].value == pytest.approx(0.9, abs=0.02)
    main = found["accuracy-change"]
    assert np.isnan(distance(main))  # nobody knows what people would lose
    assert main.chance == pytest.approx(0.1 - 0.9, abs=0.02)
    assert main.resampled == "pictures"
    assert main.n == 4000
    assert "RMSE 0.02, 0.04; 9 bands from 0.5 to 20 cpd" in main.note


@pytest.mark.parametrize(("loss", "pictures"), [(0.02, 40), (0.1, 30), (0.4, 100)])
def test_intervals_hold_the_truth(loss: float, pictures: int) -> None:
    generator = np.random.default_rng(1)
    truth = -0.9 * loss
    inside = 0
    for _ in range(400):
        base = generator.random(pictures) < 0.9
        changes = -(base & (generator.random(pictures) < loss)).astype(float)
        draws = generator.choice(changes, (400, pictures)).mean(axis=1)
        low, high = change_interval(float(changes.mean()), draws, pictures)
        inside += low <= truth <= high
    assert inside / 400 >= 0.93


def test_an_interval_has_a_width_where_nothing_changed() -> None:
    found = scores(answers(np.zeros(9), pictures=50))["accuracy-change"]
    assert found.value == 0
    assert found.low == pytest.approx(-0.0386, abs=0.002)


def test_drops_that_go_with_sensitivity_correlate() -> None:
    log = np.log10(SENSITIVITY)
    drop = 0.05 + 0.7 * (log - log.min()) / np.ptp(log)
    seen = detection(1 / SENSITIVITY)
    found = scores(answers(drop, pictures=200), seen)["drop-csf-correlation"]
    assert found.value > 0.97
    assert found.low > 0.6
    assert found.high <= 1
    assert found.n == 9
    assert found.resampled == "bands"
    assert "sensitivity at output by angle" in found.note  # it detects elsewhere
    opposite = scores(answers(0.75 - drop, pictures=200), seen)["drop-csf-correlation"]
    assert opposite.value < -0.95
    each = scores(answers(drop, pictures=200), seen)
    assert each["drop-csf-correlation-rmse-0.02"].value > 0.9
    assert "RMSE 0.04" in each["drop-csf-correlation-rmse-0.04"].note


@pytest.mark.parametrize("truth", [0.0, 0.7])
def test_the_interval_of_a_correlation_holds_the_truth(truth: float) -> None:
    # Bands drawn from many, so that there is a true correlation over all of them.
    generator = np.random.default_rng(3)
    inside = []
    for seed in range(200):
        one, two = generator.standard_normal((2, 9))
        drop = np.clip(0.4 + 0.1 * (truth * one + (1 - truth**2) ** 0.5 * two), 0, 1)
        data = answers(drop, pictures=300, base=1.0, seed=seed).isel(layer=0, readout=0)
        found, nothing = Changes.of(data), np.empty((0, 9))
        known = LogSensitivity(1.5 + 0.3 * one, nothing, "")
        score = correlate("correlation", found, found.bands, found.levels, known)
        inside.append(score.low <= truth <= score.high)
    assert 0.93 <= np.mean(inside) <= 0.995


def test_without_detection_there_is_no_correlation_and_it_says_so() -> None:
    drop = np.linspace(0.1, 0.5, 9)
    found = scores(answers(drop))["drop-csf-correlation"]
    assert np.isnan(found.value)
    assert "its contrast sensitivity was not measured in this run" in found.note
    same = scores(answers(np.ones(9)), detection(1 / SENSITIVITY))["drop-csf-correlation"]
    assert np.isnan(same.value)
    assert "by the same at every band" in same.note


def test_sensitivity_is_found_between_frequencies_but_not_beyond() -> None:
    drop = np.linspace(0.1, 0.5, 6)
    bands = np.array([0.25, 1.0, 2.0, 4.0, 8.0, 30.0])
    seen = detection(1 / SENSITIVITY)
    assert scores(answers(drop, bands=bands), seen)["drop-csf-correlation"].n == 4


def test_bands_are_compared_at_the_same_rmse_only() -> None:
    known = np.ones((4, 3, 10), bool)
    known[3, 1:, :6] = False  # the last band has too little for two of the three
    known[2, 2, :6] = False
    enough, bands, levels = comparable(known)
    assert enough.sum() == 9
    assert bands.tolist() == [True, True, True, False]
    assert levels.tolist() == [True, True, False]
    _, bands, levels = comparable(np.zeros((4, 3, 10), bool))
    assert not bands.any()
    assert not levels.any()
    _, bands, _ = comparable(np.ones((4, 3, 0), bool))
    assert not bands.any()


def test_pictures_that_could_not_be_made_are_left_out_and_counted() -> None:
    drop = np.full((9, 2), 0.2)
    drop[8, 1] = 1.0
    data = unmade(answers(drop), 8, 1, slice(0, 40))
    found = scores(data)["accuracy-change"]
    assert "40 of 1080 pictures left out: unreachable" in found.note
    assert "8 bands from 0.5 to" in found.note
    assert found.value == pytest.approx(-0.18, abs=0.04)
    whole = Changes.of(data.isel(layer=0, readout=0))
    assert whole.bands.tolist() == [True] * 8 + [False]


def test_pictures_that_cannot_be_read_are_named() -> None:
    data = answers(np.full((9, 2), 0.2)).assign_attrs(unreadable="cats/a.png is no picture.")
    assert "cats/a.png is no picture; RMSE" in scores(data)["accuracy-change"].note


def test_whoever_recognises_nothing_has_nothing_to_lose() -> None:
    found = scores(answers(np.zeros(9), base=0.05))["accuracy-change"]
    assert np.isnan(found.value)
    assert "not recognised above chance" in found.note
    broken = answers(np.zeros(9))
    broken["right"][:] = np.nan
    assert "no band could be changed" in scores(broken)["accuracy-change"].note


def test_noise_against_suppression_of_the_same_pictures() -> None:
    noise = answers(np.full(9, 0.5), pictures=300, rmse=(0.02, 0.04, 0.08))
    gentle = answers(np.full(9, 0.1), pictures=300, kind="suppressed", seed=0)
    found = scores(noise, None, gentle)["noise-minus-suppression"]
    assert found.value == pytest.approx(-0.9 * 0.4, abs=0.04)
    assert found.low < found.value < found.high < 0
    assert "RMSE 0.02, 0.04; 9 bands" in found.note  # those that both have
    other_way = scores(gentle, None, noise)["noise-minus-suppression"]
    assert other_way.value == pytest.approx(found.value)
    assert "noise-minus-suppression" not in scores(noise)


def test_replies_that_were_none_of_the_classes_are_counted_once() -> None:
    data = answers(np.zeros(9), reads="questions", base=1.0)
    data["chosen"][0, :, :3] = -1
    data["chosen"][1, 0, :6] = -1
    found = scores(data)["invalid-replies"]
    assert found.note == "none of the classes: 9 of 1140"
    assert found.value == pytest.approx(9 / 1140)
    assert "invalid-replies" not in scores(answers(np.zeros(9)))


def test_two_observers_are_compared_on_what_both_were_shown() -> None:
    scorer = BandAccuracy()
    robust, frail = (
        answers(np.full(9, drop), pictures=100, seed=seed).isel(layer=0, readout=0)
        for drop, seed in ((0.1, 0), (0.5, 0))
    )
    assert scorer.shared(robust, frail) == (robust, frail)
    difference = paired(scorer, robust, frail)
    assert difference.value == pytest.approx(0.36, abs=0.05)
    assert difference.p < 0.001
    assert difference.clusters == 100
    fewer = unmade(frail, 2, 1, slice(0, 20)).isel(picture=slice(10, None))
    a, b = scorer.shared(robust, fewer)
    assert a["picture"].values.tolist() == b["picture"].values.tolist()
    np.testing.assert_array_equal(np.isnan(a["right"]), np.isnan(b["right"]))
    assert paired(scorer, robust, fewer).clusters == 90
    printed = scorer.printed(-0.2, None)
    assert (printed.value, printed.name) == (-0.2, "accuracy-change")


def test_three_panels_csf_noise_suppression() -> None:
    seen = detection(1 / SENSITIVITY)
    noise = answers(np.linspace(0.1, 0.5, 9)).isel(layer=0, readout=0)
    suppressed = answers(np.linspace(0.1, 0.2, 9), kind="suppressed")
    draw = BandPanels(BandAccuracy())
    csf, first, second = draw(None, noise, seen, suppressed)
    assert csf.kind == "csf of bands"
    np.testing.assert_allclose(csf.marks[0].y, SENSITIVITY, rtol=0.2)
    assert first.title == "Accuracy with noise in one band"
    assert second.title == "Accuracy with one band suppressed"
    assert [first.kind, second.kind] == ["accuracy with noise", "accuracy without a band"]
    weak, strong, guessing = first.marks
    assert weak.label == "RMSE 0.02"
    assert (weak.low <= weak.y).all()
    assert (weak.y <= weak.high).all()
    assert guessing.label == "guessing"
    assert (guessing.y == Changes.of(noise).chance - Changes.of(noise).accuracy).all()
    (alone,) = draw(None, noise)
    assert alone.title == first.title
    # Points of few pictures are doubtful, and those of none are not there.
    few = unmade(unmade(noise, 0, 1, slice(0, 50)), 1, 1, slice(0, 60))
    (panel,) = draw(None, few)
    assert panel.marks[1].doubtful.tolist() == [True] + [False] * 7
    assert strong.label == panel.marks[1].label


def test_an_observer_of_one_band_is_recovered_end_to_end(tmp_path: Path) -> None:
    album = write_gratings(tmp_path / "album")
    scene = Scene(FIELD, display("verbal"), OPPONENT)
    presenter = Presenter(lift(SeesOneBand(), "recognises", ()), batch_size=32)
    found = {}
    for kind in ("suppressed", "noise"):
        asked = BandRobustness(kind, "t", "hernandez2025", scene, album, BANDS_CPD, (0.06,), kind)
        parts = [asked.measure(piece, presenter) for piece in asked.pieces()]
        found[kind] = xr.concat(
            parts, dim="band", data_vars="minimal", coords="minimal", compat="equals"
        )
    # It detects its own band at a tenth of the contrast that it needs for any other.
    thresholds = np.where(np.array(BANDS_CPD) == 4.0, 0.02, 0.2)
    seen = detection(thresholds, np.array(BANDS_CPD))
    for kind, other in (("noise", "suppressed"), ("suppressed", "noise")):
        by_name = scores(found[kind], seen, found[other])
        assert by_name["accuracy-change-4-cpd"].high < 0
        for band in (1, 2, 8):
            assert by_name[f"accuracy-change-{band}-cpd"].value > -0.08
        assert by_name["drop-csf-correlation"].value > 0.95
