"""What tests of several rooms share: a browser, and finished runs to look at.

Where there is no browser, or nothing to draw 3D objects with, the tests that want it are left out
and counted.
"""

import ctypes
import faulthandler
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from debian import NEEDS, find_chromium
from oddities import HOSTILE, afraid_of_the_dark, broken, constant, network
from playwright.sync_api import Browser, sync_playwright

import fechner
from fechner import Run, observe

#: How many tests were left out for want of each of `NEEDS`.
_LEFT_OUT = pytest.StashKey[list[int]]()


def pytest_configure() -> None:
    """Compute with one thread: processes that run tests are many, and threads wait by spinning."""
    torch.set_num_threads(1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that tests start


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = []
    for need in NEEDS:
        wanted = [item for item in items if need.is_needed_by(item)]
        if wanted and need.is_there():
            wanted = []
        items[:] = [item for item in items if item not in wanted]
        config.hook.pytest_deselected(items=wanted)
        left_out.append(len(wanted))
    config.stash[_LEFT_OUT] = left_out
    if hasattr(config, "workeroutput"):  # one of several processes: tell the first
        config.workeroutput["left_out"] = left_out


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("slow") is not None:  # may take longer than others are let
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for number, need in zip(config.stash.get(_LEFT_OUT, []), NEEDS, strict=False):
        if number:
            terminalreporter.write_line(f"{number} {need.otherwise}")


@pytest.fixture
def freed_memory_is_handed_back() -> None:
    """Undo what the command line may have done in this process, for tests that measure memory."""
    trim_threshold, mmap_threshold = -1, -3  # names of malloc.h
    with suppress(OSError, AttributeError):  # other C libraries have no such switch
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(mmap_threshold, 32 << 20)
        library.mallopt(trim_threshold, 64 << 20)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium, shared by all tests; each opens a context of its own."""
    path = find_chromium()
    assert path is not None
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            downloads_path=Path(tmp_path_factory.mktemp("downloads")),
        )
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def shown_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three observers, one with layers, in a test with a surface and in a matching test."""
    return fechner.evaluate(
        "pixels",
        observe(network(0), name="network", version="1"),
        observe(network(1), name="timm/vit_small_patch16_224.dino", version="1"),
        tests=["masking-coherent", "matching-frequency"],
        readouts=["angle", "l2"],
        layers="*",
        out=tmp_path_factory.mktemp("runs") / "shown",
        progress=False,
    )


@pytest.fixture(scope="session")
def odd_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Hostile names, an observer without scores, one that fails, and one that is left out."""
    folder: Path = tmp_path_factory.mktemp("runs") / "odd"
    return fechner.evaluate(
        *(observe(network(i), name=name) for i, name in enumerate(HOSTILE)),
        observe(constant, name="constant"),
        observe(afraid_of_the_dark, name="afraid"),
        observe(broken, name="broken"),
        tests=["area", "matching-frequency"],
        scores_only=True,
        out=folder,
        progress=False,
    )
