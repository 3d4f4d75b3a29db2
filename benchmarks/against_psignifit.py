"""The same answers fitted by fechner and by psignifit 4, with the same priors.

    python -m venv oracle && oracle/bin/pip install psignifit==4.3
    PYTHONPATH=src oracle/bin/python benchmarks/against_psignifit.py

Six families x 2AFC and yes/no x binomial and overdispersed answers (eta 0.3): 24 data sets of 12
levels x 40 trials. psignifit fits a beta-binomial model to all of them, as by default; the priors
of both are those of `Prior(overdispersion=(1, 10))`. psignifit is under the GPL: it is only used
here. Needs about half an hour.
"""

import itertools
import os
import sys
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "psychometrics"))
import make_psignifit_cases as oracle

from fechner.psychometrics import Prior, fit

SLOPES = {"weibull": 3.0, "logistic": 8.0, "normal": 5.0, "gumbel_l": 6.0, "gumbel_r": 6.0}
PRIOR = Prior(overdispersion=(1.0, 10.0))


def main() -> None:
    generator = np.random.default_rng(4)
    print(
        "| shape | task | eta | threshold | difference | width | ratio | binomial | default prior |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    rows = []
    fit(oracle.LOG, 40, oracle.LOG, overdispersion=True, guess=0.5)  # makes tables that are kept
    for shape, guess, eta in itertools.product(oracle.SIGMOIDS, (0.5, None), (0.0, 0.3)):
        low = 0.1 if guess is None else guess
        case = (shape, 0.1, SLOPES.get(shape, 10.0), low, 0.02, guess, oracle.LOG, 40, eta)
        k = oracle.answers(case, generator)
        how = {"shape": shape, "guess": guess}
        started = time.process_time()
        found = fit(oracle.LOG, 40, k, overdispersion=True, prior=PRIOR, **how)
        ours = time.process_time() - started
        others = (
            fit(oracle.LOG, 40, k, **how),
            fit(oracle.LOG, 40, k, overdispersion=True, **how),
        )
        started = time.process_time()
        _, mean, *ends = oracle.fit(case, k)
        theirs = time.process_time() - started
        values, log_density = found.marginal("threshold")
        mine = np.average(np.log10(values), weights=np.exp(log_density))
        own, binomial, wide = (
            float(np.log10(each.high.threshold / each.low.threshold)) for each in (found, *others)
        )
        width = ends[1] - ends[0]
        rows.append((mine - mean, own / width, binomial / width, wide / width, theirs / ours))
        print(
            f"| `{shape}` | {'yes/no' if guess is None else '2AFC'} | {eta:g} | {10**mean:.4f} "
            f"| {mine - mean:+.4f} | {width:.3f} | {own / width:.3f} | {binomial / width:.2f} "
            f"| {wide / width:.2f} |",
            flush=True,
        )
    off, ratio, *_, times = np.array(rows).T
    print(
        f"threshold: at most {np.abs(off).max():.4f} log10 units apart, median "
        f"{np.median(np.abs(off)):.4f}; width over psignifit's: {ratio.min():.3f} to "
        f"{ratio.max():.3f}, median {np.median(ratio):.3f}; faster by a factor of "
        f"{np.median(times):.0f} (median)"
    )


if __name__ == "__main__":
    main()
