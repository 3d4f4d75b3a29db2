"""Cost of manipulating pictures beside that of looking at them; CPU seconds on two threads.

    python benchmarks/manipulations.py              # all, in batches of 8 and 64
    python benchmarks/manipulations.py blur c-jpeg  # some

prints, for each manipulation, the images per second of "manipulate and classify" over those of the
classifier alone (EfficientNet-Lite0, 224 px, pictures drawn beforehand). Both are measured in
turns, so that a machine that drifts does so for both. Threads sleep while they wait, for those that
spin would count as work; freed memory is kept, as in a run. Takes minutes.
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded

import numpy as np
import torch

from fechner.observers.adapters.efficientnet_lite import load
from fechner.observers.devices import keep_freed_memory
from fechner.stimuli import Field
from fechner.stimuli.manipulations import MANIPULATIONS, PUBLISHED, Manipulation
from fechner.stimuli.pictures import Manipulated, photograph, picture_drawn

THREADS = 2
FIELD = Field.of(pixels=224, ppd=32)
BITS = 8
PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg")
LIMIT = 0.85


@cache
def classifier() -> Callable[[torch.Tensor], torch.Tensor]:
    network = load()
    network.module.eval()
    return lambda pixels: network.classify(network.normalise(pixels))


def compare(manipulation: Manipulation, batch: int, turns: int) -> tuple[float, float, float]:
    """Return CPU ms per image of the classifier alone, of the manipulation, and of both."""
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    known = [photograph(folder / name, "photograph") for name in PHOTOGRAPHS]
    pictures = [known[i % len(known)] for i in range(batch)]
    levels = np.geomspace(*manipulation.range, batch).tolist()
    recipes = [
        Manipulated(picture, manipulation, level, (0, i))
        for i, (picture, level) in enumerate(zip(pictures, levels, strict=True))
    ]
    plain = torch.stack([picture_drawn(each, FIELD, BITS) for each in pictures]).float()
    classify = classifier()
    spent = []
    with torch.no_grad():
        for _ in range(turns + 1):
            moments = [time.process_time()]
            classify(plain)
            moments.append(time.process_time())
            changed = manipulation.show(recipes, FIELD, BITS, "cpu", torch.float32)
            moments.append(time.process_time())
            classify(changed)
            moments.append(time.process_time())
            spent.append(np.diff(moments))
    # The first one warms up.
    alone, change, after = 1e3 / batch * np.median(spent[1:], axis=0)
    return alone, change, change + after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="manipulations; all if none is named")
    parser.add_argument("--batch", type=int, nargs="*", default=[8, 64], help="batch sizes")
    parser.add_argument("--threads", type=int, default=THREADS, help="threads of torch")
    parser.add_argument("--turns", type=int, default=9, help="batches of each kind")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    held = {each.name for each in PUBLISHED}
    heads = ("classifier", "manipulation", "both", "ratio")
    for size in arguments.batch:
        print(f"batches of {size}, {arguments.threads} threads; CPU ms per image")
        print(f"{'':18}" + "".join(f"{head:>14}" for head in heads))
        for name in arguments.names or MANIPULATIONS:
            alone, change, both = compare(MANIPULATIONS[name], size, arguments.turns)
            limit = f"  (limit {LIMIT})" if name in held else ""
            times = "".join(f"{value:14.1f}" for value in (alone, change, both))
            print(f"{name:18}{times}{alone / both:14.3f}{limit}", flush=True)


if __name__ == "__main__":
    main()
