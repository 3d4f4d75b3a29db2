"""A real browser for tests: found, or installed where that is possible."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """Return the path of a Chromium, None if there is none; FECHNER_CHROMIUM names one."""
    named = os.environ.get("FECHNER_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def install_chromium() -> str | None:
    """Install Chromium on Debian as root, and return its path, None if it could not be done.

    Tests run in several processes: one installs, the others wait for it.
    """
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return None
    import fcntl

    with (Path(tempfile.gettempdir()) / "fechner-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return find_chromium() or _install()


def _install() -> str | None:
    quiet = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "stdin": subprocess.DEVNULL,
    }
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update"],
        ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"],
    ):
        subprocess.run(command, env=environment, check=False, **quiet)
    return find_chromium()
