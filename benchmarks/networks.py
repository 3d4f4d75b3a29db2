"""Cost of real networks, as ratios in one run; CPU seconds on one thread.

    python benchmarks/networks.py --suite    # efficientnet_lite0: suite against bare forward passes
    python benchmarks/networks.py --layers   # ViT: 12 blocks x 6 read-outs against one of each
    python benchmarks/networks.py --readouts # efficientnet_lite0, decalogue: 6 read-outs to one
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


def measure_part(what: str, layers: str, readouts: str, folder: str) -> None:
    """Measure one network; run in a process of its own so that memory can be told."""
    import torch

    from fechner import evaluate

    torch.set_num_threads(THREADS)
    observer, options = {"vit": vit, "decalogue": decalogue}[what]()
    started = time.process_time()
    evaluate(
        observer,
        **options,
        layers=layers.split(",") if layers else None,
        readouts=readouts.split(","),
        threads=THREADS,
        out=folder,
        progress=False,
    )
    seconds = time.process_time() - started
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def vit():
    """Return a random ViT of 12 blocks, and what it is asked."""
    import torch

    from fechner import observe
    from fechner.observers.torchvision_fix import import_torchvision

    import_torchvision()
    import timm

    torch.manual_seed(0)
    model = timm.create_model("vit_small_patch16_224", num_classes=0)
    asked = {"tests": ["frequency-ach", "luminance"], "scores_only": True}
    return observe(model, name="vit-small", version="1"), asked


def decalogue():
    """Return what is asked of all natural stages of a real network."""
    return "efficientnet_lite0", {"suite": "decalogue"}


def against(what: str, every: tuple[str, str], one: tuple[str, str], repeats: int) -> None:
    """Compare the cost of much with that of little, each in a process of its own."""
    for _ in range(repeats):
        found = []
        for part in (every, one):
            with tempfile.TemporaryDirectory() as folder:
                run = str(Path(folder) / "run")
                command = [sys.executable, __file__, "--part", what, *part, run]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
            found.append([float(number) for number in done.stdout.split()[-2:]])
        (seconds, memory), (seconds_one, memory_one) = found
        print(
            f"{what}, {every[0] or 'all stages'} x 6 read-outs: {seconds:.1f} CPU s, "
            f"{memory:.0f} MB; {one[0] or 'all stages'}, one read-out: {seconds_one:.1f} CPU s, "
            f"{memory_one:.0f} MB; ratio {seconds / seconds_one:.3f} (limit 1.15), "
            f"{memory - memory_one:+.0f} MB (limit 300)",
            flush=True,
        )


def layers() -> None:
    against("vit", ("blocks.*", ",".join(ALL_READOUTS)), ("blocks.11", "angle"), repeats=3)


def readouts() -> None:
    against("decalogue", ("", ",".join(ALL_READOUTS)), ("", "l2"), repeats=1)


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
    parser.add_argument("--readouts", action="store_true", help="six read-outs against one")
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        measure_part(*arguments.part)
    for chosen, function in (
        (arguments.suite, suite),
        (arguments.layers, layers),
        (arguments.readouts, readouts),
        (arguments.batches, batches),
    ):
        if chosen:
            function()
