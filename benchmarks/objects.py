"""Render rate of both engines, and whether they agree on the view that a classifier knows best.

    fechner objects objects
    python benchmarks/objects.py objects --kept agreement.jsonl

prints views per CPU second of the rasteriser and of Mitsuba, and for each object the rank, among
all views as Mitsuba renders them, of the view that is best as the rasteriser draws it. The score is
that of RichardWebster et al. (2018): the probability of the most likely class if that is the
object's, minus it otherwise; the classifier is EfficientNet-Lite0. Scores are kept in a file after
every few views, so that it may be stopped and goes on where it was.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from fechner.observers.adapters.efficientnet_lite import load
from fechner.observers.classes import matching_classes
from fechner.stimuli.field import Field
from fechner.stimuli.objects import ObjectSet, View, open_objects, random_view

FIELD = Field.of(pixels=224, ppd=32)
ENGINES = ("raster", "mitsuba")
#: Views that are scored at a time, and then kept.
FEW = 10
#: The part of all views that counts as the top.
TOP = 0.01


class Classifier:
    """EfficientNet-Lite0 with the decision score."""

    def __init__(self) -> None:
        network = load()
        assert network.classify is not None
        self._module = network.classify.eval()
        self._classes = network.classes

    def place(self, label: str) -> int:
        """Return which of its classes is meant."""
        return matching_classes(self._classes, [label])[0]

    def scores(self, views: Sequence[View], expected: int) -> list[float]:
        """Return a score for each view."""
        pictures = torch.stack([view.draw(FIELD, 8, "cpu") for view in views]).float()
        with torch.no_grad():
            found = self._module((pictures - 127 / 255) / (128 / 255)).softmax(1).max(1)
        signs = torch.where(found.indices == expected, 1.0, -1.0)
        return (signs * found.values).tolist()


def rates(objects: ObjectSet, count: int) -> None:
    """Print views per CPU second, of objects that are in memory already."""
    print("engine    views per CPU second, median over objects (least .. most)")
    for engine in ENGINES:
        found = []
        for view in _objects(objects):
            views = [random_view(view, 1, i).seen(engine=engine) for i in range(count + 1)]
            views[0].draw(FIELD, 8, "cpu")
            start = time.process_time()
            for each in views[1:]:
                each.draw(FIELD, 8, "cpu")
            found.append(count / (time.process_time() - start))
        print(f"{engine:8}  {np.median(found):.1f} ({min(found):.1f} .. {max(found):.1f})")


def agreement(objects: ObjectSet, views: int, kept: Path) -> None:
    """Print ranks of the rasteriser's best view among Mitsuba's."""
    classifier = Classifier()
    known = _read(kept)
    ranks = []
    print("object                          best by raster  as Mitsuba's  Mitsuba's best  rank")
    for view in _objects(objects):
        expected = classifier.place(Path(view.name).parts[0])
        both = {}
        for engine in ENGINES:
            key = f"{engine} {view.sha256}"
            scores = known.setdefault(key, [])
            while len(scores) < views:
                numbers = range(len(scores), min(len(scores) + FEW, views))
                chosen = [random_view(view, 0, i).seen(engine=engine) for i in numbers]
                scores += classifier.scores(chosen, expected)
                with kept.open("a") as file:
                    file.write(json.dumps({"key": key, "scores": scores[-len(chosen) :]}) + "\n")
            both[engine] = np.array(scores[:views])
        best = int(both["raster"].argmax())
        rank = 1 + int((both["mitsuba"] > both["mitsuba"][best]).sum())
        ranks.append(rank)
        print(
            f"{view.name[:30]:30}  {both['raster'][best]:14.3f}  {both['mitsuba'][best]:12.3f}  "
            f"{both['mitsuba'].max():14.3f}  {rank:4}",
            flush=True,
        )
        top = int(np.sum(np.array(ranks) <= max(1, TOP * views)))
        print(f"in the top {TOP:.0%} of {views} views: {top} of {len(ranks)} objects", flush=True)


def _objects(objects: ObjectSet) -> Iterator[View]:
    for some in objects.objects:
        for name, sha256 in some:
            yield View(name, sha256, folder=objects.place)


def _read(path: Path) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    if path.is_file():
        for line in path.read_text().splitlines():
            row = json.loads(line)
            found.setdefault(row["key"], []).extend(row["scores"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("objects", type=Path, help="folder of objects, as of fechner objects")
    parser.add_argument("--views", type=int, default=300, help="random views of each object")
    parser.add_argument("--rate-views", type=int, default=5, help="views of each; 0 for no rates")
    parser.add_argument("--kept", type=Path, help="file of scores; without it, rates alone")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    objects = open_objects(options.objects, options.views)
    if options.rate_views:
        rates(objects, options.rate_views)
    if options.kept:
        agreement(objects, options.views, options.kept)


if __name__ == "__main__":
    main()
