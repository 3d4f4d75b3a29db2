"""Frames hold every answer, in rows that say what each is."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from measured import HOSTILE, TESTS, measured
from scipy.stats import spearmanr

from fechner import FechnerError, Run
from fechner.report.frames import OF_ANSWERS, OF_SCORES, merged, schema, tidy, together
from fechner.report.score_tables import COLUMNS

WHOSE = {"observer": "me", "suite": "mine", "mode": "default", "test": "one"}


@pytest.fixture(scope="module")
def run() -> Run:
    return measured()


@pytest.fixture(scope="module")
def responses(run: Run) -> pd.DataFrame:
    return run.to_dataframe("responses")


# Scores


def test_scores_have_the_columns_of_the_csv_and_all_else_that_is_known(run: Run) -> None:
    frame = run.to_dataframe()
    results = run.scores()
    assert tuple(frame.columns[: len(COLUMNS)]) == COLUMNS
    assert schema(frame) == OF_SCORES
    assert len(frame) == len(results) > 20
    for (_, row), result in zip(frame.iterrows(), results, strict=True):
        of_score = {"score": result.score.name, **vars(result.score)}
        known = {**of_score, **vars(result), "score": result.score.name}
        for name in frame.columns:
            if pd.isna(row[name]):
                assert known[name] == "" or np.isnan(known[name])
            else:
                assert row[name] == known[name]
    assert frame["note"].isna().any()
    assert frame["note"].str.contains("points left out: noise-clipped").any()


# Raw answers


def test_every_cell_is_a_row_beside_what_belongs_to_it(run: Run, responses: pd.DataFrame) -> None:
    for observer in run.observers:
        data = run.data(observer, TESTS[0])
        dims = ["point", "ratio", "layer", "readout"]
        expected = data[["response", "contrast", "dropped"]].to_dataframe(dims)
        rows = responses[(responses["observer"] == observer) & (responses["test"] == TESTS[0])]
        rows = rows.set_index(dims).loc[expected.index]
        assert len(rows) == data["response"].size
        assert set(rows["quantity"]) == {"response"}
        np.testing.assert_array_equal(rows["value"], expected["response"])
        for name in ("contrast", "abscissa", "human_threshold"):
            np.testing.assert_array_equal(rows[name], expected[name])
        words = np.array(data["dropped"].attrs["meanings"].split())
        assert rows["dropped"].tolist() == words[expected["dropped"]].tolist()
        assert set(rows["abscissa_name"]) == {"mask_contrast"}
        assert set(rows["contrast_unit"]) == {"michelson"}


def test_what_was_left_out_is_missing_and_says_why(responses: pd.DataFrame) -> None:
    rows = responses[responses["test"] == TESTS[0]]
    assert set(rows["dropped"]) == {"kept", "noise-clipped"}
    assert (rows["value"].isna() == (rows["dropped"] != "kept")).all()


def test_numbers_of_people_that_no_answer_goes_with_have_rows_of_their_own(
    run: Run, responses: pd.DataFrame
) -> None:
    rows = responses[(responses["test"] == TESTS[1]) & (responses["observer"] == HOSTILE)]
    sizes = rows.groupby("quantity").size().to_dict()
    data = run.data(HOSTILE, TESTS[1], for_scores=True)
    answers = [name for name in data.data_vars if not str(name).startswith("dropped")]
    assert sizes == {name: data[name].size for name in answers}
    human = rows[rows["quantity"] == "human_matched"]
    assert human[["layer", "readout", "contrast"]].isna().all(axis=None)
    assert rows[rows["quantity"] != "human_matched"][["layer", "readout"]].notna().all(axis=None)
    for _, row in human.iterrows():
        at = {"reference": row["reference"], "frequency": row["frequency"]}
        assert row["value"] == data["human_matched"].sel(at).item()


def test_correlations_of_responses_are_the_scores(run: Run, responses: pd.DataFrame) -> None:
    scores = run.to_dataframe()
    scores = scores[scores["score"] == "alignment"]
    scored = responses["test"].isin(scores["test"])
    kept = responses[scored & (responses["dropped"] == "kept")]
    places = ["observer", "test", "layer", "readout"]
    found = {place: spearmanr(rows["ratio"], rows["value"]).statistic
             for place, rows in kept.groupby(places)}  # fmt: skip
    assert len(found) == len(scores) == 6
    for _, row in scores.iterrows():
        assert found[tuple(row[places])] == pytest.approx(row["value"], abs=1e-12)


def rebuilt(rows: pd.DataFrame, like: xr.Dataset) -> xr.Dataset:
    """Return a dataset made of the rows of a frame, and of the order of dimensions alone."""
    words = {name: like[name].attrs["meanings"].split() for name in like.variables
             if "meanings" in like[name].attrs}  # fmt: skip
    columns = {}
    for name, variable in like.variables.items():
        own = rows[rows["quantity"] == name]
        source = own if len(own) else rows[rows[name].notna()]
        values = source["value" if len(own) else name]
        if name in words:
            values = values.map({word: flag for flag, word in enumerate(words[name])})
        keys = [str(dim) for dim in variable.dims]
        unique = source.assign(_=values).drop_duplicates(keys)
        order = (
            unique["_"].to_numpy(variable.dtype) if len(own) or len(unique) == variable.size else []
        )
        columns[name] = (variable.dims, np.reshape(order, variable.shape), variable.attrs)
    return xr.Dataset(columns, attrs=like.attrs).set_coords(list(like.coords))


@pytest.mark.parametrize("test", TESTS)
def test_nothing_is_lost(run: Run, responses: pd.DataFrame, test: str) -> None:
    """Scores of a dataset that is made of the frame alone are the same to the bit."""
    (asked,) = (each for each in run.tests if each.id == test)
    for observer in run.observers:
        rows = responses[(responses["test"] == test) & (responses["observer"] == observer)]
        data = run.data(observer, test, for_scores=True)
        if "realised_mask" in data:
            assert np.isfinite(data["realised_mask"]).all()
        again = rebuilt(rows, data)
        xr.testing.assert_identical(again, data)
        assert run.score(observer, asked, again) == run.score(observer, asked, data)


def test_surfaces_are_apart(run: Run, responses: pd.DataFrame) -> None:
    surfaces = run.to_dataframe("surfaces")
    assert set(zip(surfaces["test"], surfaces["quantity"], strict=True)) == {
        (TESTS[0], "surface"),
        (TESTS[1], "curve_response"),
    }
    assert not set(responses["quantity"]) & set(surfaces["quantity"])
    rows = surfaces[(surfaces["observer"] == "pixels") & (surfaces["test"] == TESTS[0])]
    data = run.data("pixels", TESTS[0])
    np.testing.assert_array_equal(rows["value"], data["surface"].values.ravel())
    np.testing.assert_array_equal(
        rows["surface_abscissa"].to_numpy()[:: data.sizes["y"] * data["surface"][0, 0].size],
        data["surface_abscissa"].values,
    )


@pytest.mark.parametrize(
    ("test", "for_figures"), [(TESTS[0], "surface"), (TESTS[1], "curve_response")]
)
def test_the_two_parts_make_the_whole(run: Run, test: str, for_figures: str) -> None:
    parts = [run.data("pixels", test, for_scores=part) for part in (True, False)]
    assert for_figures not in parts[0]
    assert "response" not in parts[1]
    whole = xr.merge(parts, combine_attrs="override", join="exact", compat="equals")
    xr.testing.assert_identical(whole, run.data("pixels", test))


def test_what_is_not_complete_is_left_out(run: Run, tmp_path: Path) -> None:
    folder = shutil.copytree(run.folder, tmp_path / "run")
    (folder / "ledger.sqlite").unlink()
    for what, columns in (("scores", OF_SCORES), ("responses", OF_ANSWERS)):
        frame = Run(folder).to_dataframe(what)
        assert len(frame) == 0
        assert schema(frame) == columns


def test_unknown_frames_are_named(run: Run) -> None:
    with pytest.raises(FechnerError, match=r"no frame named 'response'; did you mean 'responses'"):
        run.to_dataframe("response")


# Datasets of experiments to come


def test_any_dataset_is_laid_out_by_its_own_dimensions() -> None:
    data = xr.Dataset(
        {
            "choice": (("readout", "trial", "layer"), np.arange(6).reshape(1, 3, 2) % 2,
                       {"meanings": "left right"}),
            "reply": (("trial", "layer", "readout"), np.full((3, 2, 1), "yes", dtype=object)),
            "seconds": (("trial", "layer", "readout"), np.ones((3, 2, 1)), {"unit": "s"}),
            "depth": ("layer", np.array([3, 7])),
            "seen": ("trial", np.array([True, False, True])),
            "seed": ((), 5),
            "value": ("trial", np.array([0.1, 0.2, 0.3])),
            "by_people": (("trial", "person"), np.arange(6.0).reshape(3, 2)),
            "ages": ("person", np.array([20, 30])),
        },
        coords={
            "layer": ["a", "b"], "readout": ["p"], "person": ["x", "y"],
            "mood": (("person", "day"), np.arange(4.0).reshape(2, 2)),
        },
    )  # fmt: skip
    frame = tidy(data, WHOSE)
    assert frame.groupby("quantity").size().to_dict() == {
        "choice": 6, "reply": 6, "seconds": 6, "by_people": 6, "mood": 4,
    }  # fmt: skip
    assert tuple(frame.columns[: len(OF_ANSWERS)]) == tuple(OF_ANSWERS)
    choice = frame[frame["quantity"] == "choice"]
    assert choice["value"].tolist() == [0, 1] * 3
    assert choice["text"].tolist() == ["left", "right"] * 3
    assert choice["layer"].tolist() == ["a", "b"] * 3
    assert choice["depth"].tolist() == [3, 7] * 3
    assert choice["trial"].tolist() == [0, 0, 1, 1, 2, 2]
    assert choice["value_"].tolist() == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]
    assert choice["seen"].tolist() == [True, True, False, False, True, True]
    assert set(choice["seed"]) == {5}
    reply = frame[frame["quantity"] == "reply"]
    assert set(reply["text"]) == {"yes"}
    assert reply["value"].isna().all()
    assert set(frame[frame["quantity"] == "seconds"]["value_unit"]) == {"s"}
    people = frame[frame["quantity"] == "by_people"]
    assert people["value"].tolist() == [0, 1, 2, 3, 4, 5]
    assert people["person"].tolist() == ["x", "y"] * 3
    assert people["ages"].tolist() == [20, 30] * 3
    assert people["layer"].isna().all()
    kinds = schema(frame)
    assert (kinds["depth"], kinds["seen"], kinds["value"]) == ("Int64", "boolean", "float64")


def test_a_column_holds_what_any_frame_has_in_it() -> None:
    frames = [
        pd.DataFrame({"observer": ["a"], "x": pd.Series([1], dtype="Int64")}),
        pd.DataFrame({"observer": ["b"], "x": [0.1]}),
        pd.DataFrame({"observer": ["c"], "y": pd.Series([True], dtype="boolean")}),
    ]
    frame = together(frames)
    assert frame["x"].tolist()[:2] == [1.0, 0.1]
    assert frame["x"].isna().tolist() == [False, False, True]
    assert frame["y"].isna().tolist() == [True, True, False]
    words = together([*frames, pd.DataFrame({"observer": ["d"], "x": ["ten"], "y": ["no"]})])
    assert words["x"].tolist()[:2] == ["1", "0.1"]
    assert words["x"].tolist()[3] == "ten"
    assert words["y"].tolist()[2:] == ["True", "no"]
    assert words["x"].isna().tolist() == [False, False, True, False]


def test_wider_types_win() -> None:
    kinds = ["boolean", "Int64", "float64", "str"]
    for number, narrow in enumerate(kinds):
        for wide in kinds[number:]:
            assert merged([{"a": narrow}, {"a": wide}]) == {"a": wide}
            assert merged([{"a": wide}, {"a": narrow}]) == {"a": wide}
