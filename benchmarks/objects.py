"""CPU time of a view by its paths per pixel, and whether searches find the same preferred view.

    fechner objects objects
    python benchmarks/objects.py objects --kept agreement.jsonl

prints CPU milliseconds of a view at several numbers of paths per pixel, all in one run. Then, for
each object and each number, the five views that are best among 100 random ones are rendered as
curves show them, and the best of these is chosen, as in the suite: how many of the 100, rendered
so, are better? The score is that of RichardWebster et al. (2018): the probability of the most
likely class if that is the object's, minus it otherwise; the classifier is EfficientNet-Lite0.
Scores are kept in a file after every few views, so that a run may be stopped and resumed; objects
come in random order, so that the first few are a fair sample.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fechner.observers.adapters.efficientnet_lite import load
from fechner.observers.classes import matching_classes
from fechner.observers.devices import keep_freed_memory
from fechner.stimuli.field import Field
from fechner.stimuli.objects import ObjectSet, View, open_objects, random_view
from fechner.stimuli.objects.views import SAMPLES

FIELD = Field.of(pixels=224, ppd=32)
#: Paths per pixel; the last is how curves show a view.
PATHS = (1, 2, 4, 8, SAMPLES)
#: Of the best in a search, so many are rendered again.
SECOND_LOOK = 5
#: Views that are scored at a time, and then kept.
FEW = 10
#: Among how many views one is sought.
SEARCHED = 100


class Classifier:
    """EfficientNet-Lite0 with the decision score."""

    def __init__(self) -> None:
        network = load()
        assert network.classify is not None
        self._module = network.classify.eval()
        self._classes = network.classes

    def scores(self, views: Sequence[View], label: str) -> list[float]:
        """Return a score for each view of an object of a class."""
        expected = matching_classes(self._classes, [label])[0]
        pictures = torch.stack([view.draw(FIELD, 8, "cpu") for view in views]).float()
        with torch.no_grad():
            found = self._module((pictures - 127 / 255) / (128 / 255)).softmax(1).max(1)
        signs = torch.where(found.indices == expected, 1.0, -1.0)
        scores: list[float] = (signs * found.values).tolist()
        return scores


def rates(objects: Sequence[View], count: int) -> None:
    """Print CPU time of a view, and of the first, for which an object is prepared."""
    print("paths  CPU ms a view: mean, median over objects; the first view")
    for paths in PATHS:
        first, rest = [], []
        for view in objects:
            times = []
            for number in range(count + 1):
                start = time.process_time()
                random_view(view, 1, number).seen(samples=paths).draw(FIELD, 8, "cpu")
                times.append(1000 * (time.process_time() - start))
            first.append(times[0])
            rest.append(np.mean(times[1:]))
        figures = f"{np.mean(rest):6.0f} {np.median(rest):6.0f} {np.mean(first):8.0f}"
        print(f"{paths:5}  {figures}", flush=True)


class Scores:
    """Scores of views, kept in a file as soon as they are known."""

    def __init__(self, kept: Sequence[Path]) -> None:
        self._classifier = Classifier()
        self._file = kept[0]
        self._known: dict[tuple[str, int], float] = {}
        for path in kept:
            for line in path.read_text().splitlines() if path.is_file() else ():
                row = json.loads(line)
                keys = [(row["key"], number) for number in row["numbers"]]
                self._known |= dict(zip(keys, row["scores"], strict=True))

    def of(self, view: View, paths: int) -> NDArray[np.float64]:
        """Return scores of random views of an object."""
        key = f"mitsuba {paths} {view.sha256}"
        missing = [number for number in range(SEARCHED) if (key, number) not in self._known]
        for start in range(0, len(missing), FEW):
            few = missing[start : start + FEW]
            views = [random_view(view, 0, number).seen(samples=paths) for number in few]
            scores = self._classifier.scores(views, Path(view.name).parts[0])
            with self._file.open("a") as file:
                file.write(json.dumps({"key": key, "numbers": few, "scores": scores}) + "\n")
            self._known |= {(key, n): score for n, score in zip(few, scores, strict=True)}
        return np.array([self._known[key, number] for number in range(SEARCHED)])


def agreement(views: Sequence[View], scores: Scores) -> None:
    """Print how many views are better than the one that is found, and its score."""
    print(f"{'object':24}" + "".join(f"  {f'{paths} paths':>14}" for paths in PATHS))
    found = []
    for view in views:
        shown = scores.of(view, PATHS[-1])
        best = []
        for paths in PATHS:
            few = np.argsort(-scores.of(view, paths), kind="stable")[:SECOND_LOOK]
            best.append(int(few[shown[few].argmax()]))
        found.append([int((shown > shown[each]).sum()) for each in best])
        cells = "".join(f"  {n:5} ({shown[i]:6.3f})" for n, i in zip(found[-1], best, strict=True))
        print(f"{Path(view.name).stem[:24]:24}{cells}", flush=True)
    better = np.array(found)
    for words, counts in {
        "the very best": (better == 0).sum(axis=0),
        "among the best 5": (better < 5).sum(axis=0),
        "median rank": np.median(better, axis=0) + 1,
    }.items():
        print(f"{words:24}" + "".join(f"  {count:14g}" for count in counts))


def _objects(objects: ObjectSet) -> Iterator[View]:
    for some in objects.objects:
        for name, sha256 in some:
            yield View(name, sha256, folder=objects.place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("objects", type=Path, help="folder of objects, as of fechner objects")
    parser.add_argument("--rate-views", type=int, default=5, help="views of each; 0 for no rates")
    parser.add_argument("--kept", type=Path, nargs="*", help="files of scores; none: rates alone")
    parser.add_argument("--most", type=int, help="so many of the objects")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    every = list(_objects(open_objects(options.objects)))
    order = np.random.default_rng(0).permutation(len(every))[: options.most]
    objects = [every[place] for place in order]
    if options.rate_views:
        rates(objects, options.rate_views)
    if options.kept:
        agreement(objects, Scores(options.kept))


if __name__ == "__main__":
    main()
