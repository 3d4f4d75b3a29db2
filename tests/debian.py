"""What tests need of the machine, beside Python: found, or installed where that is possible."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """Return the path of a Chromium, None if there is none; FECHNER_CHROMIUM names one."""
    named = os.environ.get("FECHNER_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass(frozen=True)
class Need:
    """Something that some tests need.

    Parameters
    ----------
    is_needed_by
        Whether a test needs it.
    find
        Returns where it is, None if it is not there.
    packages
        Debian's, that have it.
    otherwise
        What to say of tests that were left out, after their number.
    """

    is_needed_by: Callable[[pytest.Item], bool]
    find: Callable[[], str | None]
    packages: Sequence[str]
    otherwise: str

    def is_there(self) -> bool:
        """Look for it, and install it where that is possible.

        Tests run in several processes: one installs, the others wait for it.
        """
        if self.find():
            return True
        if shutil.which("apt-get") is None or os.geteuid() != 0:
            return False
        import fcntl

        with (Path(tempfile.gettempdir()) / "fechner-tests.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.find():
                self._install()
            return bool(self.find())

    def _install(self) -> None:
        quiet = {
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "stdin": subprocess.DEVNULL,
        }
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["apt-get", "update"],
            ["apt-get", "install", "--yes", "--no-install-recommends", *self.packages],
        ):
            subprocess.run(command, env=environment, check=False, **quiet)


NEEDS = (
    Need(
        lambda item: "browser" in getattr(item, "fixturenames", ()),
        find_chromium,
        ("chromium",),
        "browser tests were left out: Chromium is not installed, and only root on Debian can have "
        "it installed by the tests; set FECHNER_CHROMIUM to the path of one.",
    ),
)
