"""Write psignifit_cases.csv: functions fitted by psignifit 4, with the prior of `fechner`.

    python -m venv oracle && oracle/bin/pip install psignifit==4.3
    oracle/bin/python tests/psychometrics/make_psignifit_cases.py

Not a test: psignifit is under the GPL and slow, so only its numbers are kept. It fits thresholds
and widths on log10 levels; its priors are those of `Prior()`, and Beta(1, 10) for overdispersion,
which is fixed at 0 in most cases. `benchmarks/against_psignifit.py` compares more.
"""

import csv
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.special import expit, ndtr

# shape, threshold, slope, guess, lapse, fixed guess (None: free), levels, trials per level, eta
LOG = np.round(np.geomspace(0.01, 0.8, 12), 5)
FEW = np.round(np.geomspace(0.02, 0.5, 7), 5)
LINEAR = np.round(np.linspace(0.02, 0.8, 40), 5)
CASES = [
    ("weibull", 0.1, 3.0, 0.05, 0.02, None, LOG, 40),
    ("weibull", 0.05, 1.5, 0.2, 0.05, None, LOG, 60),
    ("weibull", 0.2, 5.0, 0.3, 0.0, None, LOG, 30),
    ("weibull", 0.08, 2.0, 0.1, 0.1, None, LINEAR, 10),
    ("weibull", 0.3, 2.5, 0.02, 0.02, None, LINEAR, 20),
    ("weibull", 0.1, 3.0, 0.5, 0.02, 0.5, FEW, 50),
    ("weibull", 0.15, 2.0, 0.25, 0.01, 0.25, FEW, 40),
    ("logistic", 0.1, 8.0, 0.05, 0.02, None, LOG, 40),
    ("logistic", 0.06, 5.0, 0.1, 0.05, None, LOG, 50),
    ("logistic", 0.12, 10.0, 0.5, 0.03, 0.5, FEW, 60),
    ("normal", 0.1, 5.0, 0.05, 0.02, None, LOG, 40),
    ("normal", 0.2, 8.0, 0.15, 0.0, None, LOG, 40),
    ("normal", 0.07, 4.0, 0.5, 0.02, 0.5, FEW, 80),
    ("gumbel_l", 0.1, 6.0, 0.5, 0.02, 0.5, FEW, 60),
    ("gumbel_r", 0.1, 6.0, 0.5, 0.02, 0.5, FEW, 60),
    ("tdist", 0.1, 10.0, 0.5, 0.02, 0.5, FEW, 60),
    ("weibull", 0.1, 3.0, 0.5, 0.02, 0.5, LOG, 20, 0.3),
    ("logistic", 0.12, 8.0, 0.5, 0.02, 0.5, LOG, 20, 0.3),
    ("normal", 0.08, 5.0, 0.5, 0.05, 0.5, LOG, 40, 0.1),
    ("tdist", 0.1, 10.0, 0.5, 0.02, 0.5, LOG, 40, 0.2),
]

SIGMOIDS = {
    "weibull": "weibull",
    "logistic": "logistic",
    "normal": "norm",
    "gumbel_l": "gumbel",
    "gumbel_r": "rgumbel",
    "tdist": "tdist",
}
#: z at F = 0.95 less z at F = 0.05, which psignifit calls the width.
WIDTHS = {
    **dict.fromkeys(
        ("weibull", "gumbel_l", "gumbel_r"), np.log(-np.log(0.05)) - np.log(-np.log(0.95))
    ),
    "logistic": 2 * np.log(0.95 / 0.05),
    "normal": 2 * 1.6448536269514722,
    "tdist": 2 * np.tan(0.45 * np.pi),
}
UNITS = {shape: 1 / np.log(10) if shape == "weibull" else 1.0 for shape in SIGMOIDS}
STEEPNESS = {
    **dict.fromkeys(("weibull", "gumbel_l", "gumbel_r"), np.log(2) / 2),
    "logistic": 1 / 4,
    "normal": 1 / np.sqrt(2 * np.pi),
    "tdist": 1 / np.pi,
}
SLOPE, FACTOR, WIDEN = 3.0, 2.0, 0.5


def share(z, shape):
    if shape in ("weibull", "gumbel_l"):
        return -np.expm1(-np.log(2) * np.exp(z))
    if shape == "gumbel_r":
        return np.exp(-np.log(2) * np.exp(-z))
    if shape == "tdist":
        return 0.5 + np.arctan(z) / np.pi
    return expit(z) if shape == "logistic" else ndtr(z)


def answers(case, generator):
    shape, threshold, slope, guess, lapse, _, levels, n, *eta = case
    z = slope * np.log10(levels / threshold) / UNITS[shape]
    chance = guess + (1 - guess - lapse) * share(z, shape)
    if eta and eta[0]:
        nu = 1 / eta[0] ** 2 - 1
        chance = generator.beta(chance * nu, (1 - chance) * nu)
    return generator.binomial(n, chance)


def fit(case, k):
    """Return threshold (mode, mean) and its 95 % interval on log10 levels."""
    import psignifit

    shape, _, _, _, _, fixed, levels, n, *eta = case
    x = np.log10(levels)
    median = SLOPE * np.log(10) * STEEPNESS["weibull"] / STEEPNESS[shape] * UNITS[shape]
    per_slope = WIDTHS[shape] * UNITS[shape]

    def width_prior(width):
        # The log slope is normal; a density over width has one over the width before it.
        distance = np.log(per_slope / width / median) / np.log(FACTOR)
        return np.exp(-0.5 * distance**2) / width

    reach = FACTOR**3.5
    options = {
        "sigmoid": SIGMOIDS[shape],
        "experiment_type": "yes/no" if fixed is None else "nAFC",
        "experiment_choices": None if fixed is None else round(1 / fixed),
        "fixed_parameters": {} if eta else {"eta": 1e-8},
        "bounds": {
            "threshold": (x.min() - WIDEN, x.max() + WIDEN),
            "width": (per_slope / median / reach, per_slope / median * reach),
        },
        "priors": {
            "threshold": np.ones_like,
            "width": width_prior,
            "gamma": np.ones_like,
            "lambda": lambda rate: 10 * (1 - rate) ** 9,
            "eta": lambda eta: 10 * (1 - eta) ** 9,
        },
        "grid_steps": {"threshold": 60, "width": 50, "lambda": 40, "gamma": 40, "eta": 1},
        "steps_moving_bounds": {"threshold": 30, "width": 40, "lambda": 12, "gamma": 12, "eta": 1},
        "verbose": False,
    }
    if eta:
        # A fifth axis as fine as the others would not fit into memory.
        few = 20 if fixed is None else 30
        steps = {"threshold": 40, "width": 40, "lambda": few, "gamma": few, "eta": 20}
        options["grid_steps"] = steps
        options["steps_moving_bounds"] = {name: min(count, 20) for name, count in steps.items()}
    data = np.stack([x, k, np.full(len(x), n)], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = psignifit.psignifit(data, **options)
    low, high = found.confidence_intervals["threshold"]["0.95"]
    estimates = (found.parameter_estimate_MAP, found.parameter_estimate_mean)
    return *(each["threshold"] for each in estimates), low, high


def main() -> None:
    generator = np.random.default_rng(20)
    path = Path(__file__).with_name("psignifit_cases.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(f"# Thresholds by psignifit {version('psignifit')}, make_psignifit_cases.py.\n")
        writer = csv.writer(file, lineterminator="\n")
        names = ["shape", "guess", "levels", "n", "k", "eta", "mode", "mean", "low", "high"]
        writer.writerow(names)
        for case in CASES:
            k = answers(case, generator)
            found = [f"{10**value:.6f}" for value in fit(case, k)]
            fixed = "" if case[5] is None else case[5]
            lists = [" ".join(str(value) for value in each) for each in (case[6], k)]
            eta = case[8] if len(case) == 9 else ""
            writer.writerow([case[0], fixed, lists[0], case[7], lists[1], eta, *found])
            print(case[0], found, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
