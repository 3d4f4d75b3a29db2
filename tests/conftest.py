"""A browser for the tests that want one; where there is none, they are left out and counted."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers import find_chromium, install_chromium
from playwright.sync_api import Browser, sync_playwright

_LEFT_OUT = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
    if not wanted or find_chromium() or install_chromium():
        return
    items[:] = [item for item in items if item not in wanted]
    config.hook.pytest_deselected(items=wanted)
    config.stash[_LEFT_OUT] = len(wanted)


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
