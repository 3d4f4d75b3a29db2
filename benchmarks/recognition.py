"""Suite `recognition` on real photographs, and how much memory it takes.

    python benchmarks/recognition.py --curves     # minutes: curves of EfficientNet-Lite0
    python benchmarks/recognition.py --memory     # a set of 1,000, 10,000 and 100,000 pictures

Curves: parts of photographs that come with scikit-image and scikit-learn, 35 of each; a curve
starts where all are recognised, and blur, occlusion and salt and pepper have to end within two
standard errors of chance. Memory: the highest of a run over virtual pictures of 100 classes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from fechner import Run, evaluate

#: Photographs with the synsets of what they show, in the words of ImageNet; of several, the one
#: that the network knows most parts by is taken.
PHOTOGRAPHS = {
    "skimage/data/chelsea.png": ("n02123045", "n02123159", "n02124075"),
    "skimage/data/motorcycle_left.png": ("n03791053", "n03785016"),
    "skimage/data/coffee.png": ("n07920052", "n07930864"),
    "skimage/data/rocket.jpg": ("n04266014", "n03773504"),
    "sklearn/datasets/images/china.jpg": ("n03877845", "n03956157"),
    "sklearn/datasets/images/flower.jpg": ("n11939491",),
}

PARTS, SHOWN, LEVELS = 80, 35, 12
TESTS = ("mafc-blur", "mafc-occlusion", "mafc-salt-pepper")


def parts_of(name: str, seed: int) -> list[object]:
    """Cut squares of random size and place out of a photograph."""
    from PIL import Image

    package, _, rest = name.partition("/")
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    picture = Image.open(Path(spec.origin).parent / rest).convert("RGB")
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(PARTS):
        side = int(min(picture.size) * generator.uniform(0.5, 1.0))
        left, top = (int(generator.integers(edge - side + 1)) for edge in picture.size)
        found.append(picture.crop((left, top, left + side, top + side)))
    return found


def label_of(name: str, parts: list[object]) -> tuple[str, int]:
    """Return the synset by which the network knows most parts of a photograph, and how many."""
    other = "n01440764"  # a tench, so that there are two classes
    best = ("", -1)
    for synset in PHOTOGRAPHS[name]:
        pairs = [(part, synset) for part in parts] + [(parts[0], other)]
        run = evaluate(
            "efficientnet_lite0", suite="recognition", tests="views", images=pairs, progress=False
        )
        data = run.data("efficientnet_lite0", "views")
        assert data is not None
        own = data["class_of"].values == (1 if synset > other else 0)
        known = int(data["right"].values[own].sum())
        best = max(best, (synset, known), key=lambda each: each[1])
    return best


def curves(out: Path) -> None:
    """Print how curves begin and end."""
    images = []
    for seed, name in enumerate(PHOTOGRAPHS):
        parts = parts_of(name, seed)
        synset, known = label_of(name, parts)
        print(f"{name}: {synset}, {known} of {len(parts)} parts recognised", flush=True)
        if known >= SHOWN and synset not in {label for _, label in images}:
            images += [(part, synset) for part in parts]
    run = evaluate(
        "efficientnet_lite0",
        suite="recognition",
        tests=TESTS,
        images=iter(images),  # which are then kept with the run, for its page
        per_class=SHOWN,
        levels=LEVELS,
        out=out,
    )
    for test in TESTS:
        report(run, test)
    run.report(out.with_suffix(".html"))


def report(run: Run, test: str) -> None:
    """Print the first and last accuracy of a curve."""
    data = run.data("efficientnet_lite0", test)
    assert data is not None
    right, level = data["right"].values[:, 0, 0], data["level"].values
    chance = data.attrs["chance"]
    first, last = right[level == 0], right[level == level.max()]
    error = np.sqrt(chance * (1 - chance) / len(last))
    within = abs(last.mean() - chance) <= 2 * error
    print(
        f"{test}: {len(last)} trials a level; original {first.mean():.3f}, end {last.mean():.3f}, "
        f"chance {chance:.3f} +- {2 * error:.4f} (two standard errors): "
        f"{'within' if within else 'NOT within'}"
    )


def make(label: int, index: int) -> np.ndarray:
    """Return a virtual picture."""
    return np.random.default_rng((label, index)).random((32, 32, 3), dtype=np.float32)


def memory_of(n: int) -> None:
    """Run a whole suite over so many pictures, and print the highest memory of this process."""
    import resource

    import torch

    from fechner import Wants, observe
    from fechner.stimuli import virtual_pictures

    classes = [f"class{number:03d}" for number in range(100)]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, len(classes)))
    little = observe(module, classes=classes, name="little", wants=Wants(size_px=(32, 32)))
    evaluate(
        little,
        suite="recognition",
        tests=["mafc-blur"],
        images=virtual_pictures(make, classes, n // len(classes), "virtual"),
        levels=10,
        threads=1,
        progress=False,
    )
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")


def memory() -> None:
    """Print the highest memory of runs over sets of other sizes, a process each."""
    for n in (1000, 10_000, 100_000):
        command = [sys.executable, __file__, "--memory-of", str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"{n:>7} pictures: {done.stdout.strip()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.memory_of:
        memory_of(options.memory_of)
        return
    out = options.out or Path(tempfile.mkdtemp()) / "run"
    if options.curves or not options.memory:
        curves(out)
    if options.memory:
        memory()


if __name__ == "__main__":
    main()
