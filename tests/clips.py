"""Suite metrics with fields of a few pixels and frames, so that its videos take no time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor

import fechner
from fechner import Run, Wants, observe
from fechner.suites import metrics

#: Tests that take no, one or another ability to see.
TESTS = ("flicker", "matching-colour", "area")


def watch(test: Tensor, reference: Tensor) -> Tensor:
    """Compare pictures or videos."""
    return (test - reference).abs().flatten(1).pow(1.5).mean(dim=1)


def _small(row: metrics._Row) -> metrics._Row:
    field = replace(row.field, width_px=48, height_px=36, ppd=4.1)
    if not field.is_video:
        return replace(row, field=field)
    return replace(
        row,
        field=replace(field, frames=24),
        task=replace(row.task, values=(1.0, 8.0, 50.0), contrasts=(0.01, 0.03, 0.1, 0.3, 1.0)),
        published={"values": (0.0, 30.0, 60.0)},
        published_field={"frames": 24, "fps": 120.0},
    )


@contextmanager
def small_metrics() -> Iterator[None]:
    """Make the fields of the suite small, as long as this lasts."""
    rows = tuple(_small(row) for row in metrics._ROWS if row.id in TESTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_ROWS", rows)
        yield


def measure(folder: Path, published: bool = False) -> Run:
    """Ask one observer everything, one nothing that moves, and one nothing coloured either."""
    return fechner.evaluate(
        observe(watch, name="watcher", version="1", wants=Wants(video=True)),
        "hyab",
        "psnr-y",
        suite="metrics",
        tests=list(TESTS),
        published=published,
        out=folder,
        progress=False,
    )
