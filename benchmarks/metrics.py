"""Speed of the metrics suite, as CPU seconds on one thread and as ratios in one run.

    python benchmarks/metrics.py             # painting over one pow on the same pixels, every test
    python benchmarks/metrics.py --memory    # peak memory of a video test, ColorVideoVDP
    python benchmarks/metrics.py --run NAME  # seconds of every picture test, scores only

A few abscissae of each test are painted, batch by batch, as `fechner run` does.
"""

import argparse
import resource
import time

import torch

from fechner import evaluate
from fechner.experiments import NearThreshold, Presenter
from fechner.experiments.presenter import differences
from fechner.observers import resolve
from fechner.suites import suite

METRICS = ("psnr-y", "ssim", "piq/gmsd")
THREADS = 1


class Watching(Presenter):
    """Takes the CPU time of painting, and of one pow over the same pixels."""

    painting = power = 0.0

    def paint(self, *args):
        """Paint, and take both times."""
        started = time.process_time()
        frames = super().paint(*args)
        self.painting += time.process_time() - started
        started = time.process_time()
        frames.pixels.pow(1 / 2.4)
        self.power += time.process_time() - started
        return frames


def ratios() -> None:
    print("CPU time of painting over one pow on the same tensor (limit 3)")
    for name in METRICS:
        observer = resolve(name)
        for test in suite("metrics").build():
            experiment = test.experiment
            lacks_colour = "colour" in experiment.needs and not observer.wants.colour
            if lacks_colour or "video" in experiment.needs:
                continue
            pieces = [piece for piece in experiment.pieces() if piece.for_scores]
            presenter = Watching(observer, batch_size=8)
            for piece in pieces[:: max(1, len(pieces) // 4)]:
                experiment.measure(piece, presenter)
            ratio = presenter.painting / presenter.power
            print(f"{name:10} {test.id:20} {ratio:5.2f}   {presenter.painting:6.2f} s", flush=True)


def seconds(name: str) -> None:
    tests = [test.id for test in suite("metrics").build() if "video" not in test.experiment.needs]
    started = time.process_time()
    run = evaluate(
        name, suite="metrics", tests=tests, scores_only=True, threads=THREADS, progress=False
    )
    spent = time.process_time() - started
    for test in tests:
        own = [entry for entry in run.entries() if entry.test == test]
        wall, images = sum(e.seconds for e in own), sum(e.images for e in own)
        print(f"{name} {test:20} {wall:7.1f} s wall, {images} pictures")
    print(f"{name} all: {spent:.0f} CPU s")


def memory() -> None:
    observer = resolve("cvvdp")
    tests = {test.id: test.experiment for test in suite("metrics").build(published=True)}
    experiment = tests["flicker"]
    assert isinstance(experiment, NearThreshold)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    piece = experiment.pieces()[3]
    reference, target = experiment._at(piece.start, experiment.task.values[piece.start])
    presenter = Presenter(observer, batch_size=8)
    started = time.process_time()
    test = type(reference)(reference.background_xyz, (target,))
    differences(presenter, [test], [reference], experiment.scene)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"cvvdp, a clip of {experiment.scene.field.frames} frames: +{(peak - before) / 1e3:.0f} MB"
    )
    print(f"{time.process_time() - started:.1f} CPU s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--run", metavar="NAME")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    if options.memory:
        memory()
    elif options.run:
        seconds(options.run)
    else:
        ratios()
