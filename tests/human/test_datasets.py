"""The human data sets: shapes, spot values, invariants, and headers that name their source."""

from importlib import resources

import numpy as np
import pytest

import fechner.human as human
from fechner.errors import UnknownNameError
from fechner.human import DATASETS, HUMAN, load
from fechner.references import reference

ROWS = {
    "foley1994": 30,
    "gegenfurtner_kiper1992": 9,
    "georgeson_sullivan1975": 72,
    "modelfest": 43,
    "switkes_crognale1999": 30,
}


@pytest.mark.parametrize(("name", "rows"), list(ROWS.items()))
def test_rows_and_columns(name: str, rows: int) -> None:
    table = load(name)
    assert len(table) == rows
    assert list(table.columns) == [column for column, _ in DATASETS[name].columns]
    assert all(len(column) == rows for column in table.columns.values())
    assert table.about is DATASETS[name]


def test_the_registry_and_the_files_are_the_same() -> None:
    files = resources.files("fechner.human").joinpath("data").iterdir()
    # Colour-matching functions are no data of an experiment; `colour_matching` reads them.
    names = [*DATASETS, "judd_vos1978"]
    assert sorted(file.name for file in files) == sorted(f"{name}.csv" for name in names)
    assert list(DATASETS) == sorted(DATASETS) == list(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_header_names_source_columns_and_uncertainty(name: str) -> None:
    table = load(name)
    work = reference(table.about.reference_key)
    assert f"doi:{work.doi}" in table.header
    assert str(work.year) in table.header
    for word in ("Measured:", "Columns:", "Obtained:", "Uncertainty:"):
        assert word in table.header
    for column in table.columns:
        assert f"  {column} " in table.header
    assert not table.header.startswith(("#", " "))


@pytest.mark.parametrize("name", ROWS)
def test_the_file_has_exactly_the_declared_columns(name: str) -> None:
    text = resources.files("fechner.human").joinpath("data", f"{name}.csv").read_text("utf-8")
    first = next(line for line in text.splitlines() if not line.startswith("#"))
    assert first.split(",") == [column for column, _ in DATASETS[name].columns]


@pytest.mark.parametrize("name", ROWS)
def test_contrasts_lie_between_zero_and_one(name: str) -> None:
    table = load(name)
    for column, values in table.columns.items():
        if column.endswith("_contrast"):
            assert np.all((values >= 0) & (values <= 1))


@pytest.mark.parametrize("name", ROWS)
def test_uncertainty_and_luminance_are_stated(name: str) -> None:
    assert 0 < DATASETS[name].uncertainty_db < 5
    assert DATASETS[name].luminance_cdm2 >= 10


def test_foley() -> None:
    table = load("foley1994")
    orientation, mask, threshold = (
        table[name] for name in ("mask_orientation_deg", "mask_contrast", "threshold_contrast")
    )
    assert [np.sum(orientation == angle) for angle in (0, 45, 90)] == [11, 10, 9]
    assert np.sum(mask == 0) == 1
    assert np.isnan(table["mask_db"][mask == 0]).all()
    masked = mask > 0
    np.testing.assert_allclose(table["mask_db"][masked], 20 * np.log10(mask[masked]), atol=2e-4)
    np.testing.assert_allclose(table["threshold_db"], 20 * np.log10(threshold), atol=2e-4)
    # Facilitation: the lowest threshold, 5.5 dB below the unmasked one, at a mask of 0.0127.
    aligned = orientation == 0
    dip = np.argmin(threshold[aligned])
    assert mask[aligned][dip] == pytest.approx(0.012663)
    unmasked = table["threshold_db"][mask == 0][0]
    assert table["threshold_db"][aligned][dip] - unmasked == pytest.approx(-5.56, abs=0.01)
    # The strongest masker raises the threshold by 16.0, 14.5 and 11.5 dB.
    for angle, rise in ((0, 16.0), (45, 14.5), (90, 11.5)):
        strongest = table["threshold_db"][orientation == angle][-1]
        assert strongest - unmasked == pytest.approx(rise, abs=0.05)
    # Points inside the cut of Cai et al. (2025).
    assert np.sum(aligned & (mask > 0.005) & (mask < 0.25)) == 8


def test_gegenfurtner_and_kiper() -> None:
    table = load("gegenfurtner_kiper1992")
    mask, threshold = table["mask_contrast"], table["threshold_contrast"]
    assert mask[0] == 0.00789297
    assert threshold[-1] == 0.19142
    assert np.all(np.diff(mask) > 0)
    assert np.all(np.diff(threshold) > 0)
    # Internal noise and external noise add in energy.
    model = np.hypot(0.01354, 0.3686 * mask)
    rms_db = np.sqrt(np.mean((20 * np.log10(model / threshold)) ** 2))
    assert rms_db == pytest.approx(0.44, abs=0.01)
    assert np.sum((mask > 0.005) & (mask < 0.25)) == 6


def test_georgeson_and_sullivan() -> None:
    table = load("georgeson_sullivan1975")
    index, reference_contrast, frequency, matched = table.columns.values()
    assert index.dtype == np.int64
    assert np.unique(index).tolist() == list(range(8))
    for curve in range(8):
        rows = index == curve
        assert np.ptp(reference_contrast[rows]) == 0
        assert frequency[rows].tolist() == [0.25, 0.5, 1, 2, 5, 10, 15, 20, 25]
    assert np.all(np.diff(reference_contrast) <= 0)
    assert matched[0] == 0.661816
    assert matched[-1] == 0.097236
    itself = frequency == 5
    miss = np.abs(20 * np.log10(matched[itself] / reference_contrast[itself]))
    assert np.max(miss) == pytest.approx(1.26, abs=0.01)
    assert np.sqrt(np.mean(miss**2)) == pytest.approx(table.about.uncertainty_db, abs=0.05)
    # Contrast constancy: curves are flat at high contrast and follow the threshold at low.
    spread = [np.ptp(np.log10(matched[index == curve])) for curve in (0, 7)]
    assert spread[0] < 0.15
    assert spread[1] > 1


def test_modelfest() -> None:
    table = load("modelfest")
    assert table["stimulus"].tolist() == list(range(1, 44))
    log10, db = table["mean_log10_sensitivity"], table["mean_db"]
    np.testing.assert_allclose(db, -20 * log10, atol=6.1e-3)
    assert log10[3] == 2.1065
    assert np.argmax(log10[:10]) == 3
    assert db[13] == -10.27
    assert table["sd_between_log10"][25] == 0.32
    assert table["sd_run_log10"][34] == 0.074
    assert np.all(table["sd_run_log10"] < table["sd_between_log10"])
    standard_error_db = 20 * np.median(table["sd_between_log10"]) / np.sqrt(16)
    assert standard_error_db == pytest.approx(table.about.uncertainty_db, abs=0.05)


def test_modelfest_definitions() -> None:
    table = load("modelfest")
    assert table["frequency_cpd"][:4].tolist() == [1.12, 2, 2.83, 4]
    assert table["second_frequency_cpd"][21:25].tolist() == [2.83, 4, 5.66, 8]
    assert table["kind"][:21].tolist() == ["gabor"] * 21
    assert table["kind"][39] == "disc"
    assert table["note"][39] == "diameter 0.25 deg"
    assert np.isnan(table["sigma_across_deg"][39])
    assert np.isnan(table["frequency_cpd"][25:32]).all()
    assert table["orientation_deg"][[35, 36, 37]].tolist() == [45, 90, 0]
    assert (table["sigma_across_deg"][14], table["sigma_along_deg"][14]) == (0.28, 0.5)
    octave = table["frequency_cpd"][10:14] * table["sigma_across_deg"][10:14]
    np.testing.assert_allclose(octave, 0.56)


def test_switkes_and_crognale() -> None:
    table = load("switkes_crognale1999")
    assert table["direction"].tolist() == ["ach", "rg", "yv"] * 10
    contrasts = table["achromatic_contrast"].reshape(10, 3)
    np.testing.assert_allclose(contrasts[:, 0], np.geomspace(0.01, 0.2, 10), rtol=1e-9)
    assert np.ptp(contrasts, axis=1).max() == 0
    # Cone contrasts are those of the DKL axes: ach in all cones, rg without S, yv in S only.
    cones = np.stack([table[f"cone_contrast_{cone}"] for cone in "lms"], axis=-1)
    amplitude = table["dkl_amplitude"]
    grey = np.array([0.739876529525622, 0.320136241543338, 0.020793708751515])
    long, medium = grey[:2] / grey[:2].sum()
    expected = {"ach": (1, 1, 1), "rg": (medium / long, -1, 0), "yv": (0, 0, 1)}
    for direction, per_amplitude in expected.items():
        rows = table["direction"] == direction
        np.testing.assert_allclose(
            cones[rows], amplitude[rows, None] * np.array(per_amplitude), rtol=1e-5
        )
    rms = np.sqrt(np.mean(cones**2, axis=-1))
    np.testing.assert_allclose(table["cone_contrast_rms"], rms, rtol=1e-5)
    # What is not known is said.
    assert "not found" in table.header
    assert "not known" in table.header


def test_tables_are_shared_and_read_only() -> None:
    table = load("foley1994")
    assert load("foley1994") is table
    with pytest.raises(ValueError, match="read-only"):
        table["mask_contrast"][0] = 1.0
    with pytest.raises(TypeError):
        table.columns["new"] = np.zeros(3)  # type: ignore[index]


def test_unknown_names_come_with_the_nearest_spelling() -> None:
    with pytest.raises(UnknownNameError, match="named 'foley94'; did you mean 'foley1994'"):
        load("foley94")
    with pytest.raises(UnknownNameError, match="did you mean 'mask_contrast'"):
        load("foley1994")["mask_contrst"]


def test_the_list_of_human_references() -> None:
    names = [entry.name for entry in HUMAN]
    assert len(names) == len(set(names))
    assert {entry.name for entry in HUMAN if entry.kind == "data"} == set(DATASETS)
    for entry in HUMAN:
        assert "\n" not in entry.description
        assert len(entry.description) < 90
        if entry.kind == "model":
            assert callable(getattr(human, entry.name))
    kinds = [entry.kind for entry in HUMAN]
    assert kinds == sorted(kinds, reverse=True)
    for kind in ("model", "data"):
        ordered = [entry.name for entry in HUMAN if entry.kind == kind]
        assert ordered == sorted(ordered)
