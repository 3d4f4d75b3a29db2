"""Figures of the scores that a paper printed, without a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fechner.errors import FechnerError
from fechner.references import reference
from fechner.report.comparing.standings import stand
from fechner.report.contenders import choose, choose_tests, entrants
from fechner.report.paper.score_chart import Row, draw_scores
from fechner.suites import PRESETS, preset, suite
from fechner.suites.published import Row as Published

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def is_table(source: object) -> bool:
    """Whether something names a published table, such as ``@cai2025``, rather than a run."""
    return isinstance(source, str | Path) and str(source).startswith("@")


def draw_printed(
    table: str, test: str | None, observers: Sequence[str] | None, columns: int, dpi: float
) -> Figure:
    """Draw what a published table has, families together, a column for every test.

    Parameters
    ----------
    table
        Its name, such as ``@cai2025``.
    test, observers
        Which to show; all if None.
    """
    name = table[1:]
    rows = preset(name)
    if not any(row.scores for row in rows):
        raise FechnerError(f"{table} has observers but no scores: its paper prints none.")
    every = entrants([table])
    chosen = every if observers is None else choose(every, observers)
    own = suite(PRESETS[name])
    there = choose_tests(every, None if test is None else [test])
    tests = [each.id for each in own.build(published=True) if each.id in there]
    standings, _ = stand(chosen, tests)
    labels = _labels(rows)
    found = [
        Row(labels[each.observer], "", row.family, row.scores)
        for each, row in zip(chosen, standings, strict=True)
        if row.scores or observers is not None
    ]
    return draw_scores(found, tests, columns, dpi, own.best, reference(name).short)


def _labels(rows: Sequence[Published]) -> dict[str, str]:
    """Return what a paper calls each observer, where it stands under its family.

    Those of one name are told apart by what they were trained on; a family of one gives its name.

    Examples
    --------
    >>> labels = _labels(preset("cai2025"))
    >>> [labels[row.observer] for row in preset("cai2025")[:2]], labels["open_clip/RN50/openai"]
    (['No Encoder', 'ResNet-50'], 'ResNet-50, OpenAI')
    """
    members = Counter(row.family for row in rows)
    same = Counter((row.family, row.architecture) for row in rows)
    return {
        row.label: row.family
        if members[row.family] == 1
        else f"{row.architecture}, {row.training_data}"
        if same[row.family, row.architecture] > 1
        else row.architecture
        for row in rows
    }
