"""Cost of real networks, as ratios in one run; CPU seconds on one thread.

    python benchmarks/networks.py --suite    # efficientnet_lite0: suite against bare forward passes
    python benchmarks/networks.py --layers   # ViT: 12 blocks x 6 read-outs against one of each
    python benchmarks/networks.py --batches  # efficientnet_lite0: scores at batch sizes 1, 3, 8, 32

Each takes minutes.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

THREADS = 1
ALL_READOUTS = ["angle", "l2", "l1", "minkowski4", "linf", "energy"]


def suite() -> None:
    from dataclasses import replace

    import torch

    from fechner import evaluate
    from fechner.observers.adapters.efficientnet_lite import load
    from fechner.observers.network import encoder

    torch.set_num_threads(THREADS)
    network = load()
    bare = {"seconds": 0.0, "images": 0, "calls": 0}

    def call(pictures: torch.Tensor) -> torch.Tensor:
        # The machine drifts, so every eighth batch is also given to the bare network, and timed.
        bare["calls"] += 1
        if bare["calls"] % 8 == 0:
            started = time.process_time()
            network.module(pictures)
            bare["seconds"] += time.process_time() - started
            bare["images"] += len(pictures)
        return network.call(pictures)

    observer = encoder(replace(network, call=call), name="efficientnet_lite0")
    started = time.process_time()
    run = evaluate(observer, scores_only=True, threads=THREADS, progress=False)
    measured = time.process_time() - started - bare["seconds"]
    run.scores()
    scored = time.process_time() - started - bare["seconds"]
    images = sum(entry.images for entry in run.entries())
    each = bare["seconds"] / bare["images"]
    print(
        f"efficientnet_lite0, 8 layers, {images} pictures, bare pass {1e3 * each:.1f} ms: "
        f"measuring {measured / (images * each):.3f}, with scoring {scored / (images * each):.3f} "
        "of images x bare pass (limit 1.10)"
    )


def measure_vit(layers: str, readouts: str, folder: str) -> None:
    """Measure a random 12-block ViT; run in a process of its own so that memory can be told."""
    import torch

    from fechner import evaluate, observe
    from fechner.observers.torchvision_fix import import_torchvision

    import_torchvision()
    import timm

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model = timm.create_model("vit_small_patch16_224", num_classes=0)
    started = time.process_time()
    evaluate(
        observe(model, name="vit-small", version="1"),
        tests=["frequency-ach", "luminance"],
        layers=layers.split(","),
        readouts=readouts.split(","),
        scores_only=True,
        threads=THREADS,
        out=folder,
        progress=False,
    )
    seconds = time.process_time() - started
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def layers(repeats: int = 3) -> None:
    every = ("blocks.*", ",".join(ALL_READOUTS))
    one = ("blocks.11", "angle")
    ratios, more = [], []
    for _ in range(repeats):
        found = []
        for what in (every, one):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, "--part", *what, str(Path(folder) / "run")]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
            found.append([float(number) for number in done.stdout.split()[-2:]])
        (seconds, memory), (seconds_one, memory_one) = found
        ratios.append(seconds / seconds_one)
        more.append(memory - memory_one)
        print(
            f"ViT-S/16, 12 blocks x 6 read-outs: {seconds:.1f} CPU s, {memory:.0f} MB; "
            f"last block, one read-out: {seconds_one:.1f} CPU s, {memory_one:.0f} MB; "
            f"ratio {ratios[-1]:.3f} (limit 1.15), {more[-1]:+.0f} MB (limit 300)"
        )


def batches() -> None:
    import torch

    from fechner import evaluate

    torch.set_num_threads(THREADS)
    scores: dict[str, dict[int, float]] = {}
    for size in (1, 3, 8, 32):
        run = evaluate(
            "efficientnet_lite0",
            scores_only=True,
            layers="output",
            batch_size=size,
            threads=THREADS,
            progress=False,
        )
        for result in run.scores():
            scores.setdefault(f"{result.test} {result.score.name}", {})[size] = result.score.value
    for name, values in scores.items():
        spread = max(values.values()) - min(values.values())
        print(f"{name}: {values[8]:.4f}, spread over batch sizes {spread:.1e} (limit 1e-3)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", action="store_true", help="suite against bare passes")
    parser.add_argument("--layers", action="store_true", help="all layers against one")
    parser.add_argument("--batches", action="store_true", help="scores at several batch sizes")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        measure_vit(*arguments.part)
    for chosen, function in (
        (arguments.suite, suite),
        (arguments.layers, layers),
        (arguments.batches, batches),
    ):
        if chosen:
            function()
