"""Item-response curves of observers whose answers are known: recovery of thresholds, intervals.

    python benchmarks/item_response.py               # pooled thresholds: bias and coverage
    python benchmarks/item_response.py --adaptive    # adaptive trials, classes that differ
    python benchmarks/item_response.py --kappa       # error consistency

Observers are right with a probability that falls from a top to chance over the logarithm of the
level, half-way at 3, among 40 levels from 0.1 to 100 and the original. Trials: all independent;
steps: a class is right up to its own level (log-normal, 0.3 decades) and guesses beyond it; both:
each class falls along a logistic of its own. With a top of 0.9, trials are missed at random in the
first and whole classes in the others. Takes an hour or more; `--simulations` and `--classes` make
it shorter.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import itertools

import numpy as np
from scipy import special

from fechner.psychometrics import Adaptive, Prior
from fechner.psychometrics.likelihood import fit_falling
from fechner.psychometrics.population import fit_population
from fechner.scores.consistency import error_consistency
from fechner.scores.item_curves import PooledFit
from fechner.scores.statistics import cluster_counts

LEVELS = np.concatenate([[0.0], np.geomspace(0.1, 100, 40)])
TRUE = 3.0
PER_DECADE = 6.0
SPREAD_DECADES = 0.3
KINDS = ("trials", "steps", "both")
CHANCES = (1 / 2, 1 / 16, 1 / 1000)
TOPS = (1.0, 0.9)
CLASSES = (10, 40, 200, 1000)

#: Fewer than usual: standard errors are good to 7 %, which costs about 0.25 % of coverage.
RESAMPLES = 100
TOGETHER = 10

#: Trials about the original that come before adaptive ones.
ORIGINALS = 4


def shares(kind, x, size, generator, missed):
    """Return the chance that an answer is known, [size, levels], and each class's own level."""
    own = np.log10(TRUE) + np.zeros((size, 1))
    if kind != "trials":
        own = own + SPREAD_DECADES * generator.standard_normal((size, 1))
    steepness = {"trials": PER_DECADE, "steps": np.inf, "both": 2 * PER_DECADE}[kind]
    with np.errstate(invalid="ignore"):
        known = special.expit(-np.nan_to_num(steepness * (x - own), nan=0.0))
    whole = (1 - missed) * np.ones((size, 1))
    if kind != "trials":
        whole = generator.random((size, 1)) >= missed
    return known * whole, own[:, 0]


def answers(kind, classes, chance, top, generator):
    """Return right answers, one trial of each class at each level, [classes, levels]."""
    with np.errstate(divide="ignore"):
        x = np.log10(LEVELS)
    missed = (1 - top) / (1 - chance)
    known, _ = shares(kind, x, classes, generator, missed)
    return (generator.random(known.shape) < known + (1 - known) * chance).astype(float)


def report(name, found, true):
    """Print how far estimates are off and how often intervals hold the truth."""
    value, low, high = (np.array(each) for each in zip(*(each[:3] for each in found), strict=True))
    there = np.isfinite(value)
    held = 100 * np.mean((low <= true) & (true <= high))
    off = np.log10(value[there] / true)
    print(
        f"{name}: median {100 * (10 ** np.median(off) - 1):+5.1f} %, mean of logs "
        f"{100 * (10 ** off.mean() - 1):+5.1f} %, sd {off.std():.3f} decades, {there.mean():.3f} "
        f"with a threshold, 95 % interval holds it in {held:.1f} %",
        flush=True,
    )


def pooled(simulations, sizes, kinds):
    for classes, kind, chance, top in itertools.product(sizes, kinds, CHANCES, TOPS):
        seed = [classes, KINDS.index(kind), round(1 / chance), round(10 * top)]
        generator = np.random.default_rng(seed)
        counts = cluster_counts(classes, RESAMPLES)
        found = []
        # As `pooled_fit` does, but some data sets at once, which is quicker.
        for start in range(0, simulations, TOGETHER):
            sets = range(start, min(start + TOGETHER, simulations))
            right = np.stack([answers(kind, classes, chance, top, generator) for _ in sets])
            fits = fit_falling(LEVELS, classes, right.sum(axis=1), chance=chance)
            again = fit_falling(
                LEVELS, classes, counts @ right, chance=chance, start=fits.points[:, None]
            )
            found += [
                PooledFit(fits[i], again.points[i], classes).threshold for i in range(len(right))
            ]
        report(f"{classes:4} classes, {kind:6}, chance {chance:.3f}, top {top}", found, TRUE)


def adaptive(simulations, sizes, kinds, pool=2000):
    """Classes are drawn from a pool of runs, whose true mean is the truth."""
    levels = LEVELS[1:]
    for kind, chance, top in itertools.product(kinds, CHANCES, TOPS):
        trials = 60 if chance == 1 / 2 else 40
        seed = [7, KINDS.index(kind), round(1 / chance), round(10 * top)]
        generator = np.random.default_rng(seed)
        missed = (1 - top) / (1 - chance)
        known, own = shares(kind, np.log10(levels), pool, generator, missed)
        n, right = np.zeros((2, pool, len(LEVELS)))
        seen = known[:, :1] if kind == "trials" else known.max(axis=1, keepdims=True)
        n[:, 0] = ORIGINALS
        right[:, 0] = generator.binomial(ORIGINALS, seen + (1 - seen) * chance)[:, 0]
        for i in range(pool):
            run = Adaptive(
                levels,
                shape="logistic",
                lapse=chance,
                prior=Prior(guess=(1, 10)),
                stop_trials=trials,
                seed=i,
            )
            while not run.finished:
                at = run.next()
                p = known[i, at] + (1 - known[i, at]) * chance
                run.update(at, float(generator.random() >= p))
            n[i, 1:], right[i, 1:] = run.n, run.n - run.k
        true = 10 ** own[seen[:, 0] > 0.5].mean()
        for classes in sizes:
            found = []
            for _ in range(simulations):
                some = generator.integers(0, pool, classes)
                each = fit_population(LEVELS, n[some], right[some], chance=chance)
                found.append((each.threshold, each.low, each.high))
            report(f"{classes:4} classes, {kind:6}, chance {chance:.3f}, top {top}", found, true)


def kappa(simulations, sizes, _):
    """Two observers right in 80 and 60 %, who copy from a common draw in some of the trials."""
    first, second = 0.8, 0.6
    for classes, share in itertools.product(sizes, (0.0, 0.5)):
        generator = np.random.default_rng([classes, round(10 * share)])
        expected = first * second + (1 - first) * (1 - second)
        together = min(first, second) + 1 - max(first, second)
        true = share * (together - expected) / (1 - expected)
        found = []
        for _ in range(simulations):
            u = generator.random((2, classes, 20))
            u[1] = np.where(generator.random(u[1].shape) < share, u[0], u[1])
            right = u < np.array([first, second])[:, None, None]
            of = np.repeat(np.arange(classes), 20)
            found.append(error_consistency(right[0].ravel(), right[1].ravel(), of))
        value, low, high = (
            np.array([getattr(f, n) for f in found]) for n in ("kappa", "low", "high")
        )
        held = 100 * np.mean((low <= true) & (true <= high))
        print(
            f"{classes:4} classes x 20 trials, true kappa {true:.3f}: mean {value.mean():.3f}, "
            f"95 % interval holds it in {held:.1f} %",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adaptive", action="store_true")
    parser.add_argument("--kappa", action="store_true")
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--classes", type=int, nargs="*", default=CLASSES)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    chosen = [each for each in (adaptive, kappa) if getattr(options, each.__name__)]
    for each in chosen or [pooled]:
        each(options.simulations, options.classes, options.kinds)


if __name__ == "__main__":
    main()
