"""Render rate of both engines, and whether they agree on the view that a classifier knows best.

    fechner objects objects
    python benchmarks/objects.py objects --kept agreement.jsonl

prints views per CPU second of the rasteriser and of Mitsuba. Then, for each object, the view that
is best among 1,000 as the rasteriser draws them (and among the first 300) is rendered by Mitsuba:
how many of Mitsuba's own views, 100 random ones, are better? The score is that of RichardWebster et
al. (2018): the probability of the most likely class if that is the object's, minus it otherwise;
the classifier is EfficientNet-Lite0. Scores are kept in a file after every few views, so that it
may be stopped and goes on where it was; objects come in random order, so that some are a fair
sample of all. ``--part 1/2`` and ``--part 2/2`` share them between two processes that keep their
scores in two files; a last one reads both. Takes three CPU minutes for each object.
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
from fechner.observers.memory import keep_freed_memory
from fechner.stimuli.field import Field
from fechner.stimuli.objects import ObjectSet, View, open_objects, random_view
from fechner.stimuli.objects.views import Engine

FIELD = Field.of(pixels=224, ppd=32)
ENGINES: tuple[Engine, ...] = ("raster", "mitsuba")
#: Views that are scored at a time, and then kept.
FEW = 10
#: Among how many views the rasteriser seeks, and among how many others Mitsuba's are placed.
SEARCHED = (300, 1000)
OTHERS = 100
#: The part of all views that counts as the top.
TOP = 0.01


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
    """Print views per CPU second, of objects that are in memory already."""
    print("engine    views per CPU second, median over objects (least .. most)")
    for engine in ENGINES:
        found = []
        for view in objects:
            views = [random_view(view, 1, i).seen(engine=engine) for i in range(count + 1)]
            views[0].draw(FIELD, 8, "cpu")
            start = time.process_time()
            for each in views[1:]:
                each.draw(FIELD, 8, "cpu")
            found.append(count / (time.process_time() - start))
        print(f"{engine:8}  {np.median(found):.1f} ({min(found):.1f} .. {max(found):.1f})")


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

    def of(self, view: View, engine: Engine, numbers: Sequence[int]) -> NDArray[np.float64]:
        """Return scores of some random views of an object."""
        key = f"{engine} {view.sha256}"
        missing = [number for number in numbers if (key, number) not in self._known]
        for start in range(0, len(missing), FEW):
            few = missing[start : start + FEW]
            views = [random_view(view, 0, number).seen(engine=engine) for number in few]
            scores = self._classifier.scores(views, Path(view.name).parts[0])
            with self._file.open("a") as file:
                file.write(json.dumps({"key": key, "numbers": few, "scores": scores}) + "\n")
            self._known |= {(key, n): score for n, score in zip(few, scores, strict=True)}
        return np.array([self._known[key, number] for number in numbers])


def agreement(views: Sequence[View], scores: Scores) -> None:
    """Print how many of Mitsuba's views are better than the best of the rasteriser."""
    heads = "".join(f"  best of {count:5}  as Mitsuba's  better" for count in SEARCHED)
    print(f"{'object':24}{heads}  Mitsuba's best")
    found = []
    for view in views:
        line, row = f"{Path(view.name).stem[:24]:24}", []
        others = scores.of(view, "mitsuba", range(OTHERS))
        for count in SEARCHED:
            drawn = scores.of(view, "raster", range(count))
            best = int(drawn.argmax())
            there = scores.of(view, "mitsuba", [best]).item()
            row.append(int((others > there).sum()))
            line += f"  {drawn[best]:13.3f}  {there:12.3f}  {row[-1]:6}"
        found.append(row)
        print(f"{line}  {others.max():14.3f}", flush=True)
        top = (np.array(found) <= TOP * OTHERS).sum(axis=0).tolist()
        among = ", ".join(f"{n} (of {c} views)" for n, c in zip(top, SEARCHED, strict=True))
        print(f"in Mitsuba's top {TOP:.0%}: {among} of {len(found)} objects", flush=True)


def _objects(objects: ObjectSet) -> Iterator[View]:
    for some in objects.objects:
        for name, sha256 in some:
            yield View(name, sha256, folder=objects.place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("objects", type=Path, help="folder of objects, as of fechner objects")
    parser.add_argument("--rate-views", type=int, default=5, help="views of each; 0 for no rates")
    parser.add_argument("--kept", type=Path, nargs="*", help="files of scores; none: rates alone")
    parser.add_argument("--part", default="1/1", help="which part of the objects, such as 1/2")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    part, parts = map(int, options.part.split("/"))
    every = list(_objects(open_objects(options.objects)))
    order = np.random.default_rng(0).permutation(len(every))[part - 1 :: parts]
    objects = [every[place] for place in order]
    if options.rate_views:
        rates(objects, options.rate_views)
    if options.kept:
        agreement(objects, Scores(options.kept))


if __name__ == "__main__":
    main()
