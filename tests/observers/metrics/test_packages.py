"""Packages that hold metrics: quiet, and one sentence where they are missing."""

import sys
import warnings
from pathlib import Path

import pytest

from fechner.errors import MissingExtraError
from fechner.observers.metrics.packages import import_package, quietly, release


def test_import_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loud_metric.py").write_text(
        "import warnings\nprint('hello')\nwarnings.warn('old')\nscore = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert import_package("loud_metric", "loud", "loud", torchvision=False).score == 3
    monkeypatch.delitem(sys.modules, "loud_metric")
    assert capsys.readouterr().out == ""


def test_a_package_that_misses_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_metric.py").write_text("import no_such_thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError) as caught:
        import_package("half_metric", "piq/gmsd", "piq", torchvision=False)
    assert str(caught.value) == (
        "observer 'piq/gmsd' needs an extra package (No module named 'no_such_thing'): "
        "pip install 'fechner[piq]'."
    )


def test_warnings_come_back_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    with quietly():
        warnings.warn("unheard", stacklevel=1)
        sys.stdout.write("unheard")
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)
    assert capsys.readouterr().out == ""


def test_release_names_package_and_version() -> None:
    assert release("piq").split()[0] == "piq"
    assert release("piq").split()[1][0].isdigit()
