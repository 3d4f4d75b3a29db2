"""What observers that know nothing score: the chance levels of every test, measured.

    python benchmarks/baselines.py                          # all suites and modes
    python benchmarks/baselines.py --suites decalogue       # one of them; the others are kept
    python benchmarks/baselines.py --table                  # print what is stored, as Markdown

Untrained networks of four architectures and three seeds look at the stimuli of a suite together, as
branches of one module, so that stimuli are painted once. Beside them stand `pixels`, and networks
whose curves are shuffled within their groups. Results are written to
``src/fechner/suites/data/baselines.csv``, which scores take their chance levels from.
"""

import argparse
import csv
import itertools
import math
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from fechner import Run, evaluate, observe
from fechner.scores import CurveAgreement
from fechner.suites import suite

PLACE = Path(__file__).parents[1] / "src/fechner/suites/data/baselines.csv"
COLUMNS = (
    "suite",
    "mode",
    "test",
    "score",
    "median",
    "low",
    "high",
    "networks",
    "pixels",
    "points",
)
SUITES = ("encoders", "metrics", "decalogue")
SEEDS = 3


class Attention(nn.Module):
    """Patches that look at one another, without places of their own."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, channels, 16, 16)
        self.block = nn.TransformerEncoderLayer(
            channels, 2, 2 * channels, dropout=0.0, batch_first=True
        )

    def forward(self, pictures: Tensor) -> Tensor:
        """Return what patches become."""
        patches: Tensor = self.embed(pictures).flatten(2).transpose(1, 2)
        # More patches than these do not fit into a table of all pairs.
        return self.block(patches[:, :: math.ceil(patches.shape[1] / 256)])


def convolutions(*channels: int, kernel: int = 7, act: type[nn.Module] = nn.ReLU) -> nn.Module:
    layers: list[nn.Module] = []
    for number, (into, out) in enumerate(itertools.pairwise((3, *channels))):
        layers += [nn.Conv2d(into, out, kernel if number == 0 else 3, 4 if number == 0 else 2, 1)]
        layers += [act()]
    return nn.Sequential(*layers)


def untrained(seed: int) -> dict[str, nn.Module]:
    """Return a network of each architecture, with the weights that torch begins with."""
    torch.manual_seed(seed)
    return {
        f"convolutional-{seed}": convolutions(8, 16, 32),
        f"pooled-{seed}": nn.Sequential(
            convolutions(8, 16, 32, act=nn.Tanh), nn.AdaptiveAvgPool2d(1)
        ),
        f"linear-{seed}": nn.Conv2d(3, 12, 11, 4),
        f"attention-{seed}": Attention(16),
    }


class Untrained(nn.Module):
    """Networks side by side."""

    def __init__(self, seeds: int = SEEDS) -> None:
        super().__init__()
        for seed in range(seeds):
            for name, network in untrained(seed).items():
                self.add_module(name, network)

    def forward(self, pictures: Tensor) -> Tensor:
        """Let all of them look, and return what the last one hands on."""
        for network in self.children():
            found = network(pictures).flatten(1)
        return found


def measure(name: str, published: bool, tests: list[str] | None) -> list[dict[str, str]]:
    module = Untrained().eval()
    mode = "published" if published else "default"
    tests = tests or [test.id for test in suite(name).build(published=mode == "published")]
    names = [each for each, _ in module.named_children()]
    with tempfile.TemporaryDirectory() as folder:
        run = evaluate(
            observe(module, name="untrained", version="1"),
            suite=name,
            tests=tests,
            published=published,
            scores_only=True,
            layers=names,
            out=folder,
            progress=sys.stderr.isatty(),
        )
        pixels = evaluate(
            "pixels",
            suite=name,
            tests=tests,
            published=published,
            scores_only=True,
            progress=False,
        )
        own = {(r.test, r.score.name): r.score.value for r in pixels.scores()}
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        points: dict[tuple[str, str], int] = defaultdict(int)
        for result in run.scores():
            if not result.score.name.endswith("-committed"):
                found[result.test, result.score.name].append(result.score.value)
                points[result.test, result.score.name] = max(
                    points[result.test, result.score.name], result.score.n
                )
        for test, values in shuffled(run, names):
            found[test, "agreement (curves shuffled)"] = values
        rows = []
        for (test, score), values in found.items():
            known = [value for value in values if not math.isnan(value)]
            if known:
                low, median, high = np.min(known), np.median(known), np.max(known)
                numbers = [f"{x:.4g}" for x in (median, low, high)]
                beside = own.get((test, score), math.nan)
                last = "" if math.isnan(beside) else f"{beside:.4g}"
                n = points.get((test, score), 0)
                row = (name, mode, test, score, *numbers, str(len(known)), last, str(n or ""))
                rows.append(dict(zip(COLUMNS, row, strict=True)))
        return rows


def shuffled(run: Run, layers: list[str]) -> Iterable[tuple[str, list[float]]]:
    """Yield agreements of curves in a random order within their groups, the first fixed."""
    generator = np.random.default_rng(0)
    for test in run.tests:
        scorer = test.scorer
        data = run.data("untrained", test.id) if isinstance(scorer, CurveAgreement) else None
        if data is None:
            continue
        values = []
        for layer in layers:
            part = data.sel(layer=layer).isel(readout=0)
            # No intervals are wanted: of means over draws there is nothing to resample.
            mean = part["response"].mean("seed").expand_dims("seed", 1)
            part = part.drop_vars("response").assign(response=mean)
            for _ in range(10):
                order = np.arange(part.sizes["curve"])
                for group in np.unique(part["group"].values):
                    rows = np.flatnonzero(part["group"].values == group)[1:]
                    order[rows] = generator.permutation(rows)
                moved = part.assign(
                    {
                        each: part[each].copy(data=part[each].values[order])
                        for each in ("response", "dropped")
                    }
                )
                values.append(scorer.resample(moved).score.value)
        yield test.id, values


def stored() -> list[dict[str, str]]:
    if not PLACE.exists():
        return []
    lines = [line for line in PLACE.read_text("utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def write(rows: list[dict[str, str]]) -> None:
    with PLACE.open("w", encoding="utf-8", newline="") as file:
        file.write("# Measured by benchmarks/baselines.py: untrained networks, and pixels.\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def table(rows: list[dict[str, str]]) -> None:
    """Print main scores as Markdown, a row for each test."""
    stored_rows = {tuple(row[each] for each in COLUMNS[:4]): row for row in rows}
    print("| suite | test | by formula | default | `pixels` | shuffled | published |")
    print("|---|---|---|---|---|---|---|")
    for name in SUITES:
        by_mode = {
            mode: {test.id: test for test in suite(name).build(published=mode == "published")}
            for mode in ("default", "published")
        }

        def spread(mode: str, test: str, score: str, pixels: bool = False, of: str = name) -> str:
            row = stored_rows.get((of, mode, test, score))
            if row is None:
                return ""
            if pixels:
                return f"{float(row['pixels']):.2f}" if row["pixels"] else ""
            low, high = float(row["low"]), float(row["high"])
            return f"{float(row['median']):.2f} ({low:.2f} to {high:.2f})"

        for id, test in by_mode["default"].items():
            main = test.scorer.printed(math.nan, test.experiment)
            cells = [
                f"{main.chance:.3g}",
                spread("default", id, main.name),
                spread("default", id, main.name, pixels=True),
                spread("default", id, f"{main.name} (curves shuffled)"),
            ]
            if other := by_mode["published"].get(id):
                printed = other.scorer.printed(math.nan, other.experiment)
                what = "" if printed.name == main.name else f" `{printed.name}`"
                cells.append(f"{spread('published', id, printed.name)}{what}")
            else:
                cells.append("")
            print(f"| `{name}` | `{id}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--modes", default="default,published")
    parser.add_argument("--tests", help="comma-separated; all that a suite has by default")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        table(stored())
        sys.exit()
    torch.set_num_threads(1)
    tests = arguments.tests.split(",") if arguments.tests else None
    for name, mode in itertools.product(arguments.suites.split(","), arguments.modes.split(",")):
        started = time.process_time()
        new = measure(name, mode == "published", tests)
        again = {(row["suite"], row["mode"], row["test"]) for row in new}
        kept = [r for r in stored() if (r["suite"], r["mode"], r["test"]) not in again]
        order = [f"{s}/{m}" for s in SUITES for m in ("default", "published")]
        write(sorted([*kept, *new], key=lambda r: order.index(f"{r['suite']}/{r['mode']}")))
        print(f"{name}, {mode}: {len(new)} scores, {time.process_time() - started:.0f} CPU s")
