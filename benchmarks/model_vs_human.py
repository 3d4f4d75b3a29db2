"""Figures of people in model-vs-human (Geirhos et al. 2021), against those of its own code.

    python benchmarks/model_vs_human.py model-vs-human/raw-data
    python benchmarks/model_vs_human.py raw-data --checks checks.csv

Prints accuracy, error consistency and shape bias of people, of each experiment and their mean.
With ``--checks``, figures by the repository's own classes are compared one by one; the columns of
the file are figure (accuracy, kappa or shape-bias), experiment, condition, person_a, person_b and
value, and the largest difference has to be below 1e-12.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np

from fechner.human.trials import read_all_trials
from fechner.report.conditions import Experiment, condition_figures, summarise_conditions
from fechner.scores.conditions import scored_conditions
from fechner.scores.consistency import GivenAnswers, consistency_of, people_in, pooled
from fechner.stimuli.conditions import condition_name, known_experiment

#: As large as rounding to 12 digits allows.
CLOSE = 1e-12


def experiments_of(folder: Path) -> list[Experiment]:
    """Return the answers of people to all experiments."""
    trials = read_all_trials([folder])
    found = []
    for test in trials.tests:
        own = trials.of_test(test)
        name = test.removeprefix("given-")
        there = set(own.condition)
        known = known_experiment(name).conditions
        conditions = [*(each for each in known if each in there), *sorted(there - set(known))]
        found.append(Experiment(name, scored_conditions(name, conditions), {}, people_in(own)))
    return found


def figure_of(row: dict[str, str], people: dict[str, GivenAnswers]) -> float:
    """Return a figure of one person or two."""
    first = people[row["person_a"]]
    if row["figure"] == "shape-bias":
        return first.shape_bias().value
    condition = condition_name(row["condition"])
    if row["figure"] == "accuracy":
        return first.within([condition]).accuracy().value
    pair = (first, people[row["person_b"]])
    return consistency_of([pair], [condition], undefined=1.0).error.value


def compared(checks: Path, experiments: list[Experiment]) -> bool:
    """Compare all figures of a file; print the largest difference of each kind."""
    people = {each.name: {own.name: own for own in each.people} for each in experiments}
    differences: dict[str, list[float]] = {}
    with checks.open(newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            found = figure_of(row, people[row["experiment"]])
            differences.setdefault(row["figure"], []).append(abs(found - float(row["value"])))
    for name, each in differences.items():
        print(f"{name}: {len(each)} figures, largest difference {max(each):.1e}")
    return max(max(each) for each in differences.values()) < CLOSE


def main() -> int:
    """Print all figures, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--checks", type=Path)
    options = parser.parse_args()
    experiments = experiments_of(options.folder)
    print(summarise_conditions(condition_figures(experiments, undefined=1.0)).write())
    for each in experiments:
        if not any(own.has_conflict for own in each.people):
            continue
        values = [own.shape_bias().value for own in each.people]
        print(
            f"{each.name}: shape bias of {len(values)} people {np.mean(values):.4f} on average, "
            f"{pooled(each.people).shape_bias().value:.4f} pooled"
        )
    return 0 if options.checks is None or compared(options.checks, experiments) else 1


if __name__ == "__main__":
    sys.exit(main())
