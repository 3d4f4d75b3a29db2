"""Blocks that are pooled, and data frames that are fitted by groups."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from fechner.errors import FechnerError
from fechner.psychometrics import fit, fit_table, pool_blocks, psychometric


@pytest.fixture
def trials() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    rows = [
        (observer, day, level, bool(generator.random() < psychometric(level, threshold, 3.0, 0.5)))
        for observer, threshold in (("ada", 0.05), ("bob", 0.15))
        for day in (1, 2)
        for level in (0.02, 0.05, 0.1, 0.2, 0.4)
        for _ in range(20 if observer == "ada" else 15)
    ]
    return pd.DataFrame(rows, columns=["observer", "day", "contrast", "right"])


def test_a_table_of_trials_is_fitted_by_groups(trials: pd.DataFrame) -> None:
    how = {"levels": "contrast", "answer": "right", "guess": 0.5}
    table = fit_table(trials, by=["observer", "day"], **how)
    assert table[["observer", "day"]].to_numpy().tolist() == [
        ["ada", 1], ["ada", 2], ["bob", 1], ["bob", 2],
    ]  # fmt: skip
    assert table.trials.tolist() == [100, 100, 75, 75]
    part = trials[(trials.observer == "bob") & (trials.day == 1)]
    counts = part.groupby("contrast").right.agg(["size", "sum"])
    alone = fit(counts.index, counts["size"], counts["sum"], guess=0.5)
    row = table.iloc[2]
    assert row.threshold == pytest.approx(float(alone.threshold))
    assert row.slope_high == pytest.approx(float(alone.high.slope))
    assert row.censored == ""
    # Counted beforehand, shuffled, from xarray: all the same.
    shuffled = trials.sample(frac=1, random_state=1)
    again = fit_table(shuffled, by=["observer", "day"], **how).sort_values(["observer", "day"])
    np.testing.assert_allclose(again.threshold, table.threshold, rtol=1e-3)
    counted = trials.groupby(["observer", "day", "contrast"]).right.agg(["size", "sum"])
    counted = counted.reset_index()
    names = {"levels": "contrast", "n": "size", "k": "sum", "by": ["observer", "day"], "guess": 0.5}
    np.testing.assert_allclose(fit_table(counted, **names).threshold, table.threshold, rtol=1e-6)
    data = xr.Dataset.from_dataframe(counted)
    np.testing.assert_allclose(fit_table(data, **names).threshold, table.threshold, rtol=1e-6)


def test_blocks_are_kept_for_overdispersion(trials: pd.DataFrame) -> None:
    how = {"levels": "contrast", "answer": "right", "guess": 0.5, "overdispersion": True}
    table = fit_table(trials, by="observer", block="day", **how)
    assert table.blocks.tolist() == [10, 10]
    assert fit_table(trials, by="observer", **how).blocks.tolist() == [5, 5]
    assert (table.overdispersion_low < table.overdispersion).all()


def test_answers_that_are_missing_and_a_table_without_groups(trials: pd.DataFrame) -> None:
    trials["right"] = trials.right.astype(float)
    trials.loc[::5, "right"] = np.nan
    table = fit_table(trials, levels="contrast", answer="right", guess=0.5)
    assert len(table) == 1
    assert table.trials.item() == trials.right.notna().sum()


@pytest.mark.parametrize(
    "names", [{"n": "right"}, {"answer": "wrong"}, {"answer": "right", "by": "eye"}]
)
def test_columns_that_are_missing(trials: pd.DataFrame, names: dict) -> None:
    with pytest.raises(FechnerError):
        fit_table(trials, levels="contrast", **names)
    with pytest.raises(FechnerError, match="empty"):
        fit_table(trials[:0], levels="contrast", answer="right")


def test_pooling_by_tolerance_gap_and_length() -> None:
    levels, k = [1.0, 1.2, 2.0, 1.0, 2.0, 1.0], [1, 2, 8, 3, 9, 4]
    everything = pool_blocks(levels, 10, k)
    assert everything.levels.tolist() == [1.0, 1.2, 2.0]
    assert everything.n.tolist() == [30, 10, 20]
    assert everything.k.tolist() == [8, 2, 17]
    wide = pool_blocks(levels, 10, k, tolerance=0.2)
    assert wide.levels == pytest.approx([1.05, 2.0])
    near = pool_blocks(levels, 10, k, tolerance=0.2, gap=0)
    assert near.n.tolist() == [20, 10, 10, 10, 10]
    assert pool_blocks(levels, 10, k, trials=40).n.tolist() == [20, 10, 20, 10]
    assert pool_blocks(levels, 10, k, trials=5).n.tolist() == [10] * 6
    assert pool_blocks(levels, [10, 0, 10, 10, 10, 10], [1, 0, 8, 3, 9, 4]).n.sum() == 50
    with pytest.raises(FechnerError, match="one-dimensional"):
        pool_blocks([levels, levels], 10, 1)


def test_answers_in_words() -> None:
    """As exported trials have them: yes, no, and nothing where a reply was neither."""
    said = ["yes", "no", "yes", None, "no", "yes"] * 5
    frame = pd.DataFrame({"contrast": [0.4, 0.01, 0.2, 0.2, 0.05, 0.1] * 5, "choice": said})
    found = fit_table(frame, levels="contrast", answer="choice", by=[])
    numbers = frame.assign(choice=frame["choice"].map({"yes": 1.0, "no": 0.0}))
    same = fit_table(numbers, levels="contrast", answer="choice", by=[])
    assert found["threshold"].tolist() == same["threshold"].tolist()
    with pytest.raises(FechnerError, match="answers other than numbers"):
        fit_table(frame.replace("no", "nope"), levels="contrast", answer="choice", by=[])
