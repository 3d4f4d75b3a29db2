"""``fechner redundancy`` as a person meets it."""

import sys
from pathlib import Path

import pytest

from fechner.cli.app import main

NETWORK = """
from torch import nn

def make():
    return nn.Sequential(nn.Conv2d(3, 3, 5, padding=2), nn.ReLU(), nn.Conv2d(3, 4, 3, padding=1))
"""


def test_a_table_checks_and_a_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NETWORK, "utf-8")
    arguments = ["net.py:make", "--layer", "0", "--layer", "2", "--pictures", "2"]
    arguments += ["--pairs", "100", "--channels", "2", "--out", "out.png"]
    monkeypatch.setattr(sys, "argv", ["fechner", "redundancy", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out = capsys.readouterr().out
    assert not ended.value.code
    assert out.startswith("net.py:make: bits per pair over 2 photographs\nlayer  px apart  places")
    assert "redundancy falls between places: " in out
    assert "redundancy falls between channels: " in out
    assert out.endswith(" mm\n")
    assert (tmp_path / "out.png").exists()
