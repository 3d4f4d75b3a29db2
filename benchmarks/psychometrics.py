"""Psychometric functions of simulated observers: speed, coverage, bias, adaptive trials.

    python benchmarks/psychometrics.py              # CPU seconds of 1000 fits, and their grids
    python benchmarks/psychometrics.py --coverage   # observers drawn from the prior, and intervals
    python benchmarks/psychometrics.py --overdispersion  # intervals of observers who vary
    python benchmarks/psychometrics.py --bias       # estimates of fixed observers, 1600 trials
    python benchmarks/psychometrics.py --adaptive   # trials that 160 x 10 constant ones are worth

All but the first take minutes. `--simulations` sets how many observers of a kind are simulated.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import itertools
import time

import numpy as np

from fechner.psychometrics import Adaptive, Prior, fit, psychometric

#: The contrasts of Hernandez-Camara et al. (2025), ten trials each.
CONSTANT = np.linspace(0, 0.8, 160)
TRIALS = 10

#: What adaptive trials may show, and the prior of both sides.
ADAPTIVE = np.concatenate([[0.0], np.geomspace(0.001, 0.8, 60)])
PRIOR = Prior(threshold=(0.001, 1.0))
GUESS, LAPSE = 0.05, 0.02

#: 1600 trials each: a quarter blanks and contrasts in equal ratios, and the published ones.
DESIGNS = {
    "400 blanks, 40 contrasts from 0.004 to 0.8 in equal ratios, 30 times each": (
        np.concatenate([[0.0], np.geomspace(0.004, 0.8, 40)]),
        np.array([400] + 40 * [30]),
    ),
    "160 contrasts from 0 to 0.8 in equal steps, 10 times each": (CONSTANT, np.full(160, TRIALS)),
}

#: Thresholds, slopes, pairs of guess and lapse rate; and how large a bias may be.
KINDS = ((0.02, 0.05, 0.1), (1.5, 3, 5), ((0, 0), (0.1, 0.02), (0.3, 0.1), (0.5, 0.05)))
LIMITS = np.array([0.02, 10, 0.01, 0.01])


def answers(generator, size, *parameters):
    return generator.binomial(TRIALS, psychometric(CONSTANT, *parameters), (size, len(CONSTANT)))


def speed() -> None:
    generator = np.random.default_rng(0)
    size = 1000
    parameters = (
        10 ** generator.uniform(np.log10(0.02), np.log10(0.3), (size, 1)),
        generator.uniform(1.5, 5, (size, 1)),
        generator.uniform(0, 0.3, (size, 1)),
        generator.uniform(0, 0.1, (size, 1)),
    )
    k = answers(generator, size, *parameters)
    fit(CONSTANT, TRIALS, k[:2])
    started = time.process_time()
    found = fit(CONSTANT, TRIALS, k)
    seconds = time.process_time() - started
    largest = found.steps.max(axis=0)
    print(f"{size} fits of {len(CONSTANT)} x {TRIALS} trials: {seconds:.1f} CPU s (limit 10)")
    print(
        "largest step in posterior sd (limit 0.5): threshold {:.2f}, slope {:.2f}, guess {:.2f}, "
        "lapse {:.2f}".format(*largest)
    )


def coverage(simulations: int) -> None:
    generator = np.random.default_rng(0)
    levels, n = np.linspace(0, 0.8, 20), 20
    truth = Prior().draw(levels, simulations, generator)
    chance = psychometric(levels, *(each[:, None] for each in truth))
    found = fit(levels, n, generator.binomial(n, chance))
    print(f"{simulations} observers drawn from the prior, {len(levels)} levels x {n} trials")
    for name, true, low, high in zip(truth._fields, truth, found.low, found.high, strict=True):
        inside = np.mean((low <= true) & (true <= high))
        print(f"{name:10} in its 95 % interval: {100 * inside:.1f} % (93 to 97)", flush=True)


#: Families, and trials of each of eight blocks: 40, 160 and 480 trials in all.
FAMILIES = ("weibull", "logistic", "normal", "gumbel_l", "gumbel_r", "tdist")
ETAS, BLOCK_TRIALS = (0.0, 0.1, 0.3), (5, 20, 60)
BLOCKS = np.geomspace(0.01, 1, 8)


def overdispersed(generator, n, chance, eta):
    """Draw answers of blocks whose chance varies: Beta(P nu, (1 - P) nu), nu = 1 / eta^2 - 1."""
    if eta > 0:
        nu, inside = eta**-2 - 1, np.clip(chance, 1e-12, 1 - 1e-12)
        chance = generator.beta(inside * nu, (1 - inside) * nu)
    return generator.binomial(n, chance)


def overdispersion(simulations: int, beta: float = 3.0) -> None:
    print(
        f"{simulations} observers of each kind, thresholds within the levels, others by the prior"
    )
    print(
        f"{len(BLOCKS)} blocks from {BLOCKS[0]:g} to {BLOCKS[-1]:g}; % of 95 % intervals that hold"
    )
    print("the threshold (and median width in decades) | binomial | with overdispersion | its mean")
    kinds = [(shape, 0.5) for shape in FAMILIES] + [("weibull", None)]
    for (shape, guess), n, eta in itertools.product(kinds, BLOCK_TRIALS, ETAS):
        generator = np.random.default_rng(
            [FAMILIES.index(shape), n, round(10 * eta), guess is None]
        )
        prior = Prior(widen=0.0, guess=(1.0, 10.0))
        truth = prior.draw(BLOCKS, simulations, generator, shape=shape, guess=guess)
        chance = psychometric(BLOCKS, *(each[:, None] for each in truth), shape=shape)
        k = overdispersed(generator, n, chance, eta)
        cells = []
        for on in (False, True):
            held = Prior(overdispersion=(1.0, beta))
            found = fit(BLOCKS, n, k, shape=shape, guess=guess, overdispersion=on, prior=held)
            low, high = found.low.threshold, found.high.threshold
            inside = np.mean((low <= truth.threshold) & (truth.threshold <= high))
            cells.append(f"{100 * inside:.1f} ({np.median(np.log10(high / low)):.2f})")
        task = "yes/no" if guess is None else "2AFC"
        print(
            f"{shape:9} {task:6} {len(BLOCKS) * n:4} trials, eta {eta:.1f} "
            f"| {cells[0]} | {cells[1]} | {found.overdispersion.value.mean():.2f}",
            flush=True,
        )


def bias(simulations: int) -> None:
    for name, (levels, n) in DESIGNS.items():
        print(f"{name}\nbias of log10 threshold, slope (%), guess, lapse (and its standard error)")
        found = []
        for number, (threshold, slope, pair) in enumerate(itertools.product(*KINDS)):
            generator = np.random.default_rng(number)
            chance = psychometric(levels, threshold, slope, *pair)
            got = fit(levels, n, generator.binomial(n, chance, (simulations, len(levels))))
            off = np.array(
                [
                    np.log10(got.threshold / threshold),
                    100 * np.log(got.slope / slope),
                    got.guess - pair[0],
                    got.lapse - pair[1],
                ]
            )
            found.append(np.nanmean(off, axis=1))
            error = np.nanstd(off, axis=1) / np.sqrt(simulations)
            cells = [
                f"{value:+8.{digits}f} ({spread:.{digits}f})"
                for value, digits, spread in zip(found[-1], (3, 1, 3, 3), error, strict=True)
            ]
            print(f"{threshold:5} {slope:4} {pair[0]:4} {pair[1]:5} ", *cells, flush=True)
        size = np.abs(found)
        for i, parameter in enumerate(("log10 threshold", "slope (%)", "guess", "lapse")):
            print(
                f"{parameter}: below {LIMITS[i]} in {(size[:, i] < LIMITS[i]).sum()} of "
                f"{len(size)} kinds, at most {size[:, i].max():.3f}"
            )


def adaptive(simulations: int) -> None:
    print(f"observers with guess {GUESS}, lapse {LAPSE}; {simulations} simulations each")
    print("threshold slope | 160 x 10 constant: bias, sd | adaptive trials: bias, sd | fewer")
    for (threshold, times), slope in itertools.product(((0.01, 20), (0.05, 4)), (1.5, 3.0)):
        generator = np.random.default_rng([round(1000 * threshold), round(10 * slope)])
        k = answers(generator, simulations, threshold, slope, GUESS, LAPSE)
        constant = fit(CONSTANT, TRIALS, k, prior=PRIOR)
        asked = CONSTANT.size * TRIALS // times
        runs = [one_run(generator, threshold, slope, asked, seed) for seed in range(simulations)]
        cells = []
        for found in (constant, runs):
            medians = (
                found.quantile(0.5).threshold
                if found is constant
                else np.array([each.quantile(0.5).threshold for each in runs])
            )
            off = np.log10(medians / threshold)
            cells.append((off.mean(), off.std(ddof=1)))
        ratio = (cells[0][1] / cells[1][1]) ** 2 * times
        print(
            f"{threshold:9} {slope:5} | {cells[0][0]:+.3f} {cells[0][1]:.3f} "
            f"| {asked} trials: {cells[1][0]:+.3f} {cells[1][1]:.3f} "
            f"| {times} x with an sd of {cells[1][1] / cells[0][1]:.2f}; about {ratio:.0f} x",
            flush=True,
        )


def one_run(generator, threshold, slope, trials, seed):
    run = Adaptive(ADAPTIVE, prior=PRIOR, stop_trials=trials, seed=seed)
    chance = psychometric(ADAPTIVE, threshold, slope, GUESS, LAPSE)
    while not run.finished:
        index = run.next()
        run.update(index, float(generator.random() < chance[index]))
    return run.estimate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = {
        "coverage": (coverage, 4000),
        "overdispersion": (lambda size: overdispersion(size, options.beta), 500),
        "bias": (bias, 400),
        "adaptive": (adaptive, 1000),
    }
    for name in kinds:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--simulations", type=int)
    parser.add_argument("--beta", type=float, default=3.0, help="eta has the prior Beta(1, beta)")
    options = parser.parse_args()
    chosen = [each for name, each in kinds.items() if getattr(options, name)]
    for simulate, simulations in chosen:
        simulate(options.simulations or simulations)
    if not chosen:
        speed()


if __name__ == "__main__":
    main()
