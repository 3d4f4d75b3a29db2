"""Speed of the encoders suite, as CPU seconds on one thread and as ratios in one run.

    python benchmarks/encoders.py            # pixels: scores, surfaces, whole process
    python benchmarks/encoders.py --vit      # random ViT-S/16: suite against bare forward passes

The second needs timm and several minutes; ``--full`` adds the response surfaces.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

THREADS = 1


def cpu_of_children(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def pixels() -> None:
    # Imports are not what is measured, nor are those that wait for the first use.
    import scipy.io
    import scipy.special  # noqa: F401
    import torch
    import xarray  # noqa: F401

    from fechner import evaluate

    torch.set_num_threads(THREADS)
    for published in (True, False):
        mode = "published" if published else "default"
        for scores_only, limit in ((True, 3.0), (False, 8.0)):
            started = time.process_time()
            run = evaluate(
                "pixels",
                published=published,
                scores_only=scores_only,
                threads=THREADS,
                progress=False,
            )
            run.scores()
            seconds = time.process_time() - started
            images = sum(entry.images for entry in run.entries())
            what = "nine scores" if scores_only else "scores and surfaces"
            print(
                f"pixels, {mode}, {what}: {seconds:.2f} CPU s after import "
                f"(limit {limit:g}), {images} pictures, {1e3 * seconds / images:.2f} ms each"
            )
    with tempfile.TemporaryDirectory() as folder:
        program = "from fechner.cli.app import main; main()"
        options = ["--published", "--scores-only", "--threads", "1", "--out", f"{folder}/run"]
        seconds = cpu_of_children([sys.executable, "-c", program, "run", "pixels", *options])
        print(f"pixels, whole process, nine scores: {seconds:.2f} CPU s (limit 6)")


def vit(full: bool) -> None:
    import torch

    from fechner import evaluate, observe
    from fechner.observers.torchvision_fix import import_torchvision

    import_torchvision()
    import timm

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model = timm.create_model("vit_small_patch16_224", num_classes=0).eval()

    class Timed(torch.nn.Module):
        """Counts pictures and the CPU time of the forward passes inside the run."""

        def __init__(self) -> None:
            super().__init__()
            self.model, self.seconds, self.images = model, 0.0, 0

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            started = time.process_time()
            features = self.model(pictures)
            self.seconds += time.process_time() - started
            self.images += len(pictures)
            return features

    def bare(batch: int = 8, repeats: int = 4) -> float:
        pictures = torch.rand(batch, 3, 224, 224)
        with torch.no_grad():
            model(pictures)
            started = time.process_time()
            for _ in range(repeats):
                model(pictures)
        return (time.process_time() - started) / (batch * repeats)

    # The machine drifts, so bare passes are timed before and after as well as inside.
    before = min(bare(batch) for batch in (4, 8, 16, 32))
    timed = Timed()
    started = time.process_time()
    run = evaluate(
        observe(timed, name="vit-small"), scores_only=not full, threads=THREADS, progress=False
    )
    run.scores()
    seconds = time.process_time() - started
    after = min(bare(batch) for batch in (4, 8, 16, 32))
    print(f"ViT-S/16, {timed.images} pictures: {seconds:.1f} CPU s")
    print(f"  over the forward passes inside the run: {seconds / timed.seconds:.3f} (limit 1.10)")
    for when, each in (("before", before), ("after", after)):
        ratio = seconds / (timed.images * each)
        print(f"  over bare passes {when} ({1e3 * each:.0f} ms): {ratio:.3f}")


def memory() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = "from fechner.cli.app import main; main()"
        subprocess.run(
            [sys.executable, "-c", program, "run", "--out", str(Path(folder) / "run")],
            check=True,
            capture_output=True,
        )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(f"peak memory of `fechner run`: {peak:.2f} GB (limit 1.5)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vit", action="store_true", help="random ViT-S/16")
    parser.add_argument("--full", action="store_true", help="with response surfaces")
    parser.add_argument("--memory", action="store_true", help="peak memory of the default run")
    arguments = parser.parse_args()
    if arguments.vit:
        vit(arguments.full)
    elif arguments.memory:
        memory()
    else:
        pixels()
