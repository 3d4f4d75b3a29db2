"""What tests of several rooms share: a browser, and finished runs to look at.

Where there is no browser, the tests that want one are left out and counted.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import find_chromium, install_chromium
from oddities import HOSTILE, afraid_of_the_dark, broken, constant, network
from playwright.sync_api import Browser, sync_playwright

import fechner
from fechner import Run, observe

_LEFT_OUT = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
    if not wanted or find_chromium() or install_chromium():
        return
    items[:] = [item for item in items if item not in wanted]
    config.hook.pytest_deselected(items=wanted)
    config.stash[_LEFT_OUT] = len(wanted)
    if hasattr(config, "workeroutput"):  # one of several processes: tell the first
        config.workeroutput["left_out"] = len(wanted)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if number := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{number} browser tests were left out: Chromium is not installed, and only root on "
            "Debian can have it installed by the tests; set FECHNER_CHROMIUM to the path of one."
        )


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
