"""Whether 95 % intervals hold what they should where stimuli are random, by simulation.

    python benchmarks/coverage.py decalogue [--observers pixels,convolutional,bio-multilayer]
    python benchmarks/coverage.py encoders metrics verbal recognition
    python benchmarks/coverage.py prompts

Suite `decalogue`: an observer is shown many draws of every noise, at more abscissae than a test has
(contrasts between those of a test are interpolated). These are the population; a simulated
experiment takes as many of its abscissae and draws as the test has, at random, and the interval
should hold the score of the whole population ("all draws"), and the mean over experiments ("as many
draws"): where curves are apart by less than draws are, the order of few draws is not that of many.

Other suites: the tests with random stimuli are run with several seeds, and the interval of each
should hold the mean over seeds. Intervals that are also over abscissae, prompts or classes, which
are the same for all seeds, hold it more often than 95 %.

``prompts``: simulated observers of known contrast sensitivity answer 1, 2, 5 or 25 prompts, which
differ in threshold, slope, guess and lapse rate. Intervals should hold the score of the curve that
prompts vary around (of the prompt itself, if there is one).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

sys.path.insert(0, str(Path(__file__).parent))
from baselines import Untrained, untrained

from fechner import evaluate, observe
from fechner.experiments import Presenter
from fechner.observers import Wants
from fechner.observers.conversions import lift
from fechner.observers.names import resolve
from fechner.stimuli import Frames
from fechner.suites import Test, suite

#: Draws of each noise that stand for all there are, and how many steps go between two abscissae.
DRAWS, STEPS = 24, 5

#: Simulated experiments.
EXPERIMENTS = 200


def observer(name: str) -> Any:
    """Return an observer that compares, by its name or as an untrained network."""
    if name == "convolutional":
        found: Any = observe(untrained(0)["convolutional-0"].eval(), name=name)
    else:
        found = resolve(name)
    return lift(found, "compares", ["l2"])


def population(test: Test, who: Any) -> xr.Dataset:
    """Measure many draws; of frequencies twice as many, of contrasts what lies between."""
    experiment: Any = test.experiment
    task = experiment.task
    if task.over == "frequency_cpd":
        at = task.abscissae
        task = replace(task, abscissae=tuple(np.geomspace(at[0], at[-1], 2 * len(at) - 1)))
    experiment = replace(experiment, task=replace(task, seeds=DRAWS))
    presenter = Presenter(who, batch_size=16)
    parts = [experiment.measure(piece, presenter) for piece in experiment.pieces()]
    data = xr.concat(parts, "curve", data_vars="minimal") if len(parts) > 1 else parts[0]
    data = data.isel(layer=-1, readout=0)
    return data if task.over == "frequency_cpd" else between(data)


def between(data: xr.Dataset) -> xr.Dataset:
    """Return curves with straight lines between their points; none where one was left out."""
    n = data.sizes["x"]
    place = np.linspace(0, n - 1, (n - 1) * STEPS + 1)
    left = np.minimum(place.astype(int), n - 2)
    share = place - left

    def line(values: np.ndarray) -> np.ndarray:
        a, b = values[..., left], values[..., left + 1]
        return np.where(share == 0, a, np.where(share == 1, b, a * (1 - share) + b * share))

    found = data.isel(x=left)
    dropped = data["dropped"].values
    for name in ("response", "human", "ideal"):
        part = data[name].transpose(..., "x")
        found[name] = (part.dims, line(part.values))
    # A point between one that was shown and one that was not was not shown, either.
    flags = np.where(
        share == 0,
        dropped[:, left],
        np.where(
            share == 1, dropped[:, left + 1], np.maximum(dropped[:, left], dropped[:, left + 1])
        ),
    )
    found["dropped"] = found["dropped"].copy(data=flags)
    return found.assign_coords(abscissa=("x", line(data["abscissa"].values)))


def simulate(test: Test, every: xr.Dataset) -> dict[str, tuple[float, float, float, float]]:
    """Return for each score its true value, mean, and how often intervals hold either."""
    scorer: Any = test.scorer
    task: Any = test.experiment.task
    generator = np.random.default_rng(0)

    def scores(data: xr.Dataset) -> dict[str, Any]:
        data = data.expand_dims(["layer", "readout"]).transpose(..., "layer", "readout")
        found = replace(scorer, checks=())(data)
        return {each.name: each for each in found}

    # What is over draws alone is of the abscissae of the test.
    n = len(task.abscissae)
    own = np.linspace(0, every.sizes["x"] - 1, n).round().astype(int)
    truth, of_test = scores(every), scores(every.isel(x=own))
    truth |= {name: each for name, each in of_test.items() if each.resampled == "draws"}
    found = defaultdict(list)
    for _ in range(EXPERIMENTS):
        at = np.sort(generator.integers(every.sizes["x"], size=n))
        draws = generator.integers(every.sizes["seed"], size=task.seeds)
        some = scores(every.isel(x=at, seed=draws))
        if any(each.resampled == "draws" for each in some.values()):
            fixed = scores(every.isel(x=own, seed=draws))
            some |= {name: each for name, each in fixed.items() if each.resampled == "draws"}
        for name, score in some.items():
            if not math.isnan(score.value) and name in truth:
                found[name].append((score.value, score.low, score.high))
    summary = {}
    for name, each in found.items():
        value, low, high = np.array(each).T
        held = [
            np.mean((low <= aim + 1e-9) & (aim - 1e-9 <= high))
            for aim in (truth[name].value, value.mean())
        ]
        summary[name] = (truth[name].value, float(value.mean()), *map(float, held))
    return summary


def decalogue(observers: Sequence[str], tests: Sequence[str] | None) -> None:
    print("| observer | test | score | all draws | mean | held: all draws | held: as many draws |")
    print("|---|---|---|---|---|---|---|")
    for name in observers:
        who = observer(name)
        for test in suite("decalogue").build():
            if getattr(test.experiment.task, "seeds", 1) < 2 or (tests and test.id not in tests):
                continue
            for score, numbers in simulate(test, population(test, who)).items():
                truth, mean, all_draws, as_many = numbers
                shares = f"{100 * all_draws:.1f} % | {100 * as_many:.1f} %"
                print(
                    f"| {name} | {test.id} | {score} | {truth:.3f} | {mean:.3f} | {shares} |",
                    flush=True,
                )


class Templates:
    """Names the class whose picture is nearest, pixel by pixel."""

    name, fingerprint = "templates", "1"
    wants = Wants(size_px=(64, 64))

    def __init__(self, pictures: np.ndarray) -> None:
        self.pictures = torch.tensor(pictures, dtype=torch.float32).permute(0, 3, 1, 2) / 255
        self.classes = [f"class{number:02d}" for number in range(len(pictures))]

    def class_scores(self, frames: Frames) -> torch.Tensor:
        """Return how near each picture is, with a minus."""
        apart = (frames.pixels[:, None] - self.pictures[None]).square().mean((2, 3, 4))
        return -100 * apart


def blobs(n: int = 24) -> np.ndarray:
    """Return soft random pictures, [n, 64, 64, 3]."""
    from scipy.ndimage import gaussian_filter

    noise = np.random.default_rng(0).standard_normal((n, 64, 64, 3))
    soft = gaussian_filter(noise, (0, 6, 6, 0))
    return (128 + 40 * soft / soft.std()).clip(0, 255).astype(np.uint8)


def recognition_pictures() -> list[tuple[Any, str]]:
    from PIL import Image

    return [(Image.fromarray(each), f"class{k:02d}") for k, each in enumerate(blobs())]


#: Tests with random stimuli, how they are asked, and how many seeds there are.
NOISE = ["frequency-noise", "frequency-noise-rg", "frequency-noise-yv", "masking-incoherent"]
RANDOM: dict[str, tuple[list[str], dict[str, Any], int]] = {
    "encoders": ([*NOISE, "matching-frequency-noise"], {}, 12),
    "metrics": ([*NOISE, "matching-frequency-noise"], {}, 8),
    "verbal": (["detection"], {"trials": 16}, 6),
    "recognition": (
        ["mafc-salt-pepper", "mafc-c-gaussian-noise", "mafc-occlusion"],
        {"levels": 12, "show": "drawn"},
        20,
    ),
}


def over_seeds(name: str) -> None:
    """Run the random tests of a suite with several seeds."""
    tests, asked, seeds = RANDOM[name]
    known = {test.id for test in suite(name).build()}
    found = defaultdict(list)
    for seed in range(seeds):
        who: list[Any] = ["pixels"]
        more = dict(asked)
        if name == "recognition":
            who, more["images"] = [Templates(blobs())], recognition_pictures()
        elif name != "verbal":
            networks = Untrained(seeds=1).eval()
            who.append(observe(networks, name="untrained", version="1"))
            more["layers"] = [each for each, _ in networks.named_children()]
        chosen = [test for test in tests if test in known or name == "recognition"]
        run = evaluate(
            *who, suite=name, tests=chosen, seed=seed, scores_only=True, progress=False, **more
        )
        for result in run.scores():
            score = result.score
            if not math.isnan(score.value) and not math.isnan(score.low):
                key = (score.layer or result.observer, result.test, score.name, score.resampled)
                found[key].append((score.value, score.low, score.high))
    print("| suite | observer | test | score | resampled | spread over seeds | width | held |")
    print("|---|---|---|---|---|---|---|---|")
    for (who_, test, score_, over), each in found.items():
        value, low, high = np.array(each).T
        held = np.mean((low <= value.mean() + 1e-9) & (value.mean() - 1e-9 <= high))
        print(
            f"| {name} | {who_} | {test} | {score_} | {over} | {value.std(ddof=1):.3f} | "
            f"{(high - low).mean():.3f} | {100 * held:.0f} % of {len(value)} |",
            flush=True,
        )


#: Simulated observers of suite `verbal`: log10 of their sensitivity over people's.
FREQUENCIES = np.geomspace(0.5, 20, 9)
SIMULATED = {
    "people": np.zeros(9),
    "another shape": np.array([0.5, 0.3, 0.2, 0.1, -0.2, -0.3, -0.4, -0.2, 0.4]),
    "12 x less": np.full(9, -np.log10(12)),
}

#: Standard deviations over prompts in decades: of offsets, and at single frequencies.
OFFSETS, SINGLE = 0.1, 0.05


def simulated_answers(
    log10: np.ndarray, prompts: int, adaptive: bool, seed: int
) -> tuple[xr.Dataset, np.ndarray]:
    """Return answers of prompts around a curve of log10 thresholds, and that of the first."""
    from fechner.human import standard_spatial_observer
    from fechner.psychometrics import Adaptive, psychometric

    generator = np.random.default_rng([seed, prompts])
    own = log10[:, None] + generator.normal(0, OFFSETS, prompts)
    own = own + generator.normal(0, SINGLE, own.shape)
    slope = np.exp(generator.normal(np.log(3), 0.2, prompts))
    guess, lapse = generator.beta(2, 38, prompts), generator.beta(2, 60, prompts)
    contrasts = np.concatenate([[0.0], np.geomspace(0.001, 0.8, 30)])
    trials = 64 if adaptive else 4 * len(contrasts)
    level = np.empty((9, prompts, trials), np.int16)
    yes = np.empty(level.shape)
    for f, p in np.ndindex(9, prompts):
        chance = psychometric(contrasts, 10 ** own[f, p], slope[p], guess[p], lapse[p])
        if adaptive:
            track = Adaptive(contrasts, stop_trials=trials, seed=seed)
            for trial in range(trials):
                at = 0 if trial < 4 else track.next()
                said = float(generator.random() < chance[at])
                track.update(at, said)
                level[f, p, trial], yes[f, p, trial] = at, said
        else:
            level[f, p] = np.repeat(np.arange(len(contrasts)), 4)
            yes[f, p] = generator.random(trials) < chance[level[f, p]]
    human = 1 / standard_spatial_observer(FREQUENCIES)
    dims = ("point", "prompt", "trial", "layer", "readout")
    data = xr.Dataset(
        {
            "yes": (dims, yes[..., None, None]),
            "level": (dims, level[..., None, None]),
            "contrast": (dims, contrasts[level][..., None, None]),
        },
        coords={
            "abscissa": ("point", FREQUENCIES, {"name": "frequency_cpd"}),
            "human_threshold": ("point", human),
            "castle_threshold": ("point", human),
            "dropped": ("point", np.zeros(9, np.uint8), {"meanings": "kept"}),
            "prompt": ("prompt", [str(p) for p in range(prompts)]),
            "layer": ("layer", ["reply"]),
            "readout": ("readout", ["choice"]),
        },
        attrs={"grey_level": 0.0, "reads": "questions"},
    )
    return data, own[:, 0]


def true_scores(log10: np.ndarray, human: np.ndarray) -> dict[str, float]:
    """Return the scores of a curve of log10 thresholds that is known."""
    own, apart = 10.0**-log10, -log10 - np.log10(human)
    return {
        "csf-correlation": np.corrcoef(own, human)[0, 1],
        "csf-correlation-log": np.corrcoef(-log10, np.log10(human))[0, 1],
        "csf-gain-log10": abs(apart.mean()),
        "csf-rmse": np.sqrt(np.square(own - human).mean()),
        "csf-rmse-log10": np.sqrt(np.square(apart).mean()),
    }


def prompts(experiments: int) -> None:
    """Print how often intervals of scores of contrast sensitivity hold the truth."""
    from fechner.human import standard_spatial_observer
    from fechner.scores import ContrastSensitivity

    human = standard_spatial_observer(FREQUENCIES)
    names = list(true_scores(-np.log10(human), human))
    print(f"| prompts | trials | observer | {' | '.join(names)} |")
    print("|---|---|---|" + "---|" * len(names))
    for count, adaptive in ((1, False), (2, False), (5, False), (1, True), (25, False)):
        for who, apart in SIMULATED.items():
            log10 = -(np.log10(human) + apart)
            found = defaultdict(list)
            for seed in range(experiments):
                data, first = simulated_answers(log10, count, adaptive, seed)
                truth = true_scores(first if count == 1 else log10, human)
                for score in ContrastSensitivity()(data):
                    if score.name in truth:
                        low, high = score.low - 1e-9, score.high + 1e-9
                        found[score.name].append(
                            (low <= truth[score.name] <= high, score.high - score.low)
                        )
            cells = []
            for name in names:
                held, width = np.array(found[name]).T
                cells.append(f"{100 * held.mean():.1f} % ({np.median(width):.2g})")
            kind = "64, adaptive" if adaptive else "124"
            print(f"| {count} | {kind} | {who} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="+", choices=["decalogue", "prompts", *RANDOM])
    parser.add_argument("--observers", default="pixels,convolutional")
    parser.add_argument("--tests")
    parser.add_argument("--experiments", type=int, default=EXPERIMENTS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for each in arguments.suites:
        started = time.process_time()
        if each == "decalogue":
            which = arguments.tests.split(",") if arguments.tests else None
            decalogue(arguments.observers.split(","), which)
        elif each == "prompts":
            prompts(arguments.experiments)
        else:
            over_seeds(each)
        print(f"{each}: {time.process_time() - started:.0f} CPU s", file=sys.stderr)
