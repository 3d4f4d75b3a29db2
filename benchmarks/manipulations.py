"""Cost of manipulating pictures beside that of looking at them; CPU seconds on two threads.

    python benchmarks/manipulations.py              # all, in batches of 8 and 64
    python benchmarks/manipulations.py blur c-jpeg  # some

prints, for each manipulation, the images per second of "manipulate and classify" over those of the
classifier alone (EfficientNet-Lite0, 224 px, pictures drawn beforehand). Both are measured in
turns, so that a machine that drifts does so for both. Threads sleep while they wait, for those that
spin would count as work. Takes minutes.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded

import numpy as np
import torch

from fechner.observers.adapters.efficientnet_lite import load
from fechner.stimuli import Field
from fechner.stimuli.manipulations import MANIPULATIONS, PUBLISHED, Manipulation
from fechner.stimuli.photographs import photograph
from fechner.stimuli.pictures import picture_drawn

THREADS = 2
FIELD = Field.of(pixels=224, ppd=32)
BITS = 8
PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg")
LIMIT = 0.85


def seconds(function: Callable[[], object]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def compare(manipulation: Manipulation, batch: int, turns: int) -> tuple[float, float]:
    """Return CPU milliseconds per image of the classifier alone, and with the manipulation."""
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    known = [photograph(folder / name, "photograph") for name in PHOTOGRAPHS]
    pictures = [known[i % len(known)] for i in range(batch)]
    levels = np.geomspace(*manipulation.range, batch).tolist()
    seeds = [(0, i) for i in range(batch)]
    drawn = [picture_drawn(each, FIELD, BITS) for each in pictures]
    plain = torch.stack(drawn).float()

    def manipulate() -> torch.Tensor:
        return manipulation.show(pictures, levels, seeds, FIELD, BITS, "cpu", torch.float32)

    network = load()
    network.module.eval()

    def classify(pixels: torch.Tensor) -> torch.Tensor:
        return network.classify(network.normalise(pixels))

    alone, both = [], []
    with torch.no_grad():
        for turn in range(turns + 1):
            spent = seconds(lambda: classify(plain)), seconds(lambda: classify(manipulate()))
            if turn:  # the first one warms up
                alone.append(spent[0])
                both.append(spent[1])
    each = 1e3 / batch
    return each * statistics.median(alone), each * statistics.median(both)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="manipulations; all if none is named")
    parser.add_argument("--batch", type=int, nargs="*", default=[8, 64], help="batch sizes")
    parser.add_argument("--threads", type=int, default=THREADS, help="threads of torch")
    parser.add_argument("--turns", type=int, default=5, help="batches of each kind")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    held = {each.name for each in PUBLISHED}
    columns = "".join(
        f"{f'batch {size}: alone':>20} {'both':>6} {'ratio':>6}" for size in arguments.batch
    )
    print(f"{'CPU ms per image':20}{columns}")
    for name in arguments.names or MANIPULATIONS:
        row = f"{name:20}"
        for size in arguments.batch:
            alone, both = compare(MANIPULATIONS[name], size, arguments.turns)
            row += f"{alone:20.1f} {both:6.1f} {alone / both:6.3f}"
        print(row + (f"  (limit {LIMIT})" if name in held else ""), flush=True)


if __name__ == "__main__":
    main()
