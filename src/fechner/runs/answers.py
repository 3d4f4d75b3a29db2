"""Answers of an observer in a test, put together from the pieces in a run folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.runs.keys import piece_keys
from fechner.runs.ledger import Entry
from fechner.runs.store import read_dataset
from fechner.suites import Test

if TYPE_CHECKING:
    import xarray as xr


def answers(
    folder: Path,
    test: Test,
    among: Mapping[str, Test],
    known: Mapping[str, Any],
    entries: Iterable[Entry],
    for_scores: bool | None = None,
) -> xr.Dataset | None:
    """Return the raw answers of an observer in a test, None if they are not complete.

    Parameters
    ----------
    among
        Tests by name, with those that this one comes after.
    known
        What the manifest has of the observer.
    entries
        What the ledger has.
    for_scores
        True for what scores need alone, False for what is for figures only; if None, both, where
        the latter was measured.
    """
    import xarray as xr

    experiment = test.experiment
    keys = piece_keys(test, among, known)
    done = {entry.key: entry for entry in entries if entry.status == "done"}
    found = []
    for part in (True, False) if for_scores is None else (for_scores,):
        own = [keys[piece.name] for piece in experiment.pieces() if piece.for_scores == part]
        if own and all(key in done for key in own):
            parts = [read_dataset(folder / done[key].file, done[key].sha256) for key in own]
            found.append(_join(parts))
        elif part or for_scores is False:
            return None
    return xr.merge(found, combine_attrs="override", join="exact", compat="equals")


def _join(parts: list[xr.Dataset]) -> xr.Dataset:
    """Put pieces together along the dimension they say they were cut along."""
    import xarray as xr

    if len(parts) == 1:
        return parts[0]
    return xr.concat(
        parts,
        dim=parts[0].attrs["along"],
        data_vars="minimal",
        coords="minimal",
        compat="equals",
        join="exact",
    )
