"""What papers printed: scores per observer and test, and the observers as a preset ``@name``."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from fechner.errors import UnknownNameError
from fechner.scores import Score, notes

if TYPE_CHECKING:
    from fechner.scores import Score
    from fechner.suites.base import Test


@dataclass(frozen=True)
class Row:
    """What a paper printed for one observer.

    Parameters
    ----------
    observer
        The name under which fechner knows it.
    architecture
        What the paper calls it.
    readout
        What was compared; an ``EXTERNAL`` one can be run by a command of yours only.
    csf_based
        Whether a contrast sensitivity function is built in; empty where nobody asked.
    layer
        The layer that was read, where that is not what the observer hands on.
    scores
        By test, where there is one; ``test/score`` for scores that are not the main one of a test
        in every mode.
    """

    observer: str
    family: str
    architecture: str
    training_data: str
    readout: str
    scores: Mapping[str, float]
    csf_based: str = ""
    layer: str = ""

    @property
    def label(self) -> str:
        """The observer, and its layer where that has to be told."""
        return f"{self.observer} at {self.layer}" if self.layer else self.observer


#: What stands for the read-out of programs that fechner cannot run by name.
EXTERNAL = "external command"


#: Published tables by name, which is also their key in the bibliography, and the suite of each.
PRESETS = {
    "cai2025": "encoders",
    "hammou2025": "metrics",
    "hernandez2025": "verbal",
    "richardwebster2018": "recognition",
    "vila_tomas2026": "decalogue",
}


@cache
def preset(name: str) -> tuple[Row, ...]:
    """Return a published table.

    Examples
    --------
    >>> rows = preset("cai2025")
    >>> len(rows), rows[2].observer, rows[2].scores["area"]
    (45, 'timm/vit_small_patch16_224.dino', 0.9686)
    """
    if name not in PRESETS:
        known = [f"@{each}" for each in PRESETS]
        raise UnknownNameError("preset", f"@{name}", known, f"there are {', '.join(known)}")
    text = (resources.files("fechner.suites") / f"data/{name}.csv").read_text("utf-8")
    labels = {label.name for label in fields(Row)} - {"scores"}
    return tuple(
        Row(
            **{label: value for label, value in record.items() if label in labels},
            scores={k: float(v) for k, v in record.items() if k not in labels and v},
        )
        for record in csv.DictReader(line for line in text.splitlines() if line[0] != "#")
    )


def expand(observers: Sequence[Any]) -> list[Any]:
    """Replace presets among observers by what they stand for.

    Examples
    --------
    >>> len(expand(["pixels", "@cai2025"]))
    45
    """
    found: list[Any] = []
    for each in observers:
        if isinstance(each, str) and each.startswith("@"):
            rows = [row for row in preset(each[1:]) if row.readout != EXTERNAL and not row.layer]
            names = [row.observer for row in rows]
            found += [name for name in names if name not in (*observers, *found)]
        else:
            found.append(each)
    return found


@cache
def published_scores(suite: str, layer: str = "") -> Mapping[tuple[str, str], float]:
    """Return what papers printed for a suite at a layer, by observer and test.

    Examples
    --------
    >>> for layer in ("", "opponent"):
    ...     published_scores("decalogue", layer)["bio-multilayer", "spectral/pearson"]
    0.73
    0.76
    """
    return {
        (row.observer, test): value
        for name, of in PRESETS.items()
        if of == suite
        for row in preset(name)
        if row.layer == layer
        for test, value in row.scores.items()
    }


def printed_score(row: Row, test: Test) -> Score | None:
    """Return what a paper printed as the main score of a test; None if it printed another, or none.

    Examples
    --------
    >>> from fechner.suites import suite
    >>> tests = {test.id: test for test in suite("metrics").build(published=True)}
    >>> printed_score(preset("hammou2025")[-1], tests["matching-colour"]).value
    0.027
    """
    main = test.printed(math.nan)
    value = row.scores.get(f"{test.id}/{main.name}", row.scores.get(test.id))
    return None if value is None else replace(main, value=value)


@dataclass(frozen=True)
class Baseline:
    """Scores of untrained networks: their median, lowest and highest, and how many there were.

    Parameters
    ----------
    points
        The largest number of points in one of these scores; 0 if it is not known.
    noted
        Whether notes say who is no better than untrained networks: where stimuli are shown as these
        were shown them.
    """

    median: float
    low: float
    high: float
    networks: int
    points: int = 0
    noted: bool = field(default=True, compare=False)

    def as_chance(self, score: Score) -> Score:
        """Return a score whose chance level is that of observers that know nothing.

        These are random answers, by the formula of the score, or the median untrained network,
        whichever is closer to people.
        """
        if score.higher_is_better is None or (self.points and score.n > self.points):
            return score  # of more curves than these networks have, such as opponent channels
        nearer = max if score.higher_is_better else min
        chance = nearer(score.chance, self.median)
        return replace(score, chance=chance, note=notes.join(score.note, self._compared(score)))

    def _compared(self, score: Score) -> str:
        """Say where a score is no better than those of untrained networks."""
        best = self.high if score.higher_is_better else self.low
        better = score.value > best if score.higher_is_better else score.value < best
        if not self.noted or score.is_check or better or score.value != score.value:
            return ""
        return f"no better than untrained networks ({self.low:.2f} to {self.high:.2f})"


@cache
def baselines() -> Mapping[tuple[str, str, str, str], Baseline]:
    """Return what was measured, by suite, mode, test and name of the score.

    Examples
    --------
    >>> found = baselines()["decalogue", "default", "colour", "agreement"]
    >>> found.median > 0.95, found.networks
    (True, 12)
    """
    text = (resources.files("fechner.suites") / "data/baselines.csv").read_text("utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if line[0] != "#")
    found = {}
    for row in rows:
        median, low, high = (float(row[each]) for each in ("median", "low", "high"))
        key = (row["suite"], row["mode"], row["test"], row["score"])
        found[key] = Baseline(median, low, high, int(row["networks"]), int(row["points"] or 0))
    return found


def baselines_of(suite: str, mode: str, test: str, noted: bool = True) -> dict[str, Baseline]:
    """Return what was measured of one test, by name of the score."""
    return {
        score: replace(found, noted=noted)
        for (*place, score), found in baselines().items()
        if place == [suite, mode, test]
    }
