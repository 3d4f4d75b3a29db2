"""torchvision beside a CPU-only torch: mended whoever imports it, and not imported for nothing."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

import fechner
from fechner.observers import observe, torchvision_fix
from fechner.observers.custom import from_file
from fechner.observers.validation import validate

#: Imports as torchvision does: parts first, then operators that may be missing.
PACKAGE = """
from torchvision import part
if not part.operators:
    raise RuntimeError("operator torchvision::nms does not exist")
gain = 2.0
"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A torchvision that refuses to be imported until its operators are declared."""
    package = tmp_path / "packages" / "torchvision"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE)
    (package / "part.py").write_text("operators = False\n")

    def declare() -> None:
        (package / "part.py").write_text("operators = True  # declared\n")

    def forget() -> dict[str, object]:
        names = [name for name in sys.modules if name.split(".")[0] == "torchvision"]
        return {name: sys.modules.pop(name) for name in names}

    real = forget()
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setattr(torchvision_fix, "_declare", declare)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if "Mender" not in repr(f)])
    yield package
    forget()
    sys.modules.update(real)


MINE = """
import torch

IMPORT
class Late(torch.nn.Module):
    def forward(self, pictures):
        from torchvision import gain
        return gain * pictures.mean(dim=(2, 3))

def make():
    from torchvision import gain
    return lambda pictures: gain * pictures.mean(dim=(2, 3))

def metric(test, reference):
    import torchvision.part
    return (test - reference).abs().mean(dim=(1, 2, 3))
"""


@pytest.mark.parametrize("name", ["make", "Late", "metric"])
@pytest.mark.parametrize("early", ["import torchvision\n", ""])
def test_files_may_import_it_anywhere(broken: Path, name: str, early: str) -> None:
    file = broken.parents[1] / "mine.py"
    file.write_text(MINE.replace("IMPORT", early))
    assert validate(from_file(f"{file}:{name}")).problems == []
    assert "declared" in (broken / "part.py").read_text()


def test_objects_may_import_it_when_they_look(broken: Path) -> None:
    def late(pictures):
        import torchvision

        return torchvision.gain * pictures.mean(dim=(2, 3))

    observer = observe(late)
    assert "torchvision" not in sys.modules
    assert validate(observer).problems == []


def test_a_healthy_one_is_left_alone(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (broken / "part.py").write_text("operators = True\n")
    monkeypatch.setattr(torchvision_fix, "_declare", lambda: pytest.fail("nothing is missing"))
    torchvision_fix.import_torchvision()
    assert sys.modules["torchvision"].gain == 2.0


@pytest.mark.parametrize("error", ["RuntimeError('other')", "ImportError('torchvision::nms')"])
def test_other_errors_are_not_hidden(broken: Path, error: str) -> None:
    (broken / "part.py").write_text(f"raise {error}\n")
    with pytest.raises((RuntimeError, ImportError), match=r"other|nms"):
        torchvision_fix.import_torchvision()
    assert "torchvision" not in sys.modules
    assert "raise" in (broken / "part.py").read_text()


def test_one_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    torchvision_fix.mend_torchvision()
    monkeypatch.setattr(sys, "path", [])
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)
    assert util.find_spec("torchvision") is None
    with pytest.raises(ModuleNotFoundError):
        torchvision_fix.import_torchvision()


REAL = """
import sys
import fechner

def late(pictures):
    from torchvision.transforms import functional
    return functional.resize(pictures, [8, 8])

observer = fechner.observe(late)
assert "torchvision" not in sys.modules
run = fechner.evaluate(late, tests=["area"], scores_only=True, progress=False)
print(run.left_out or "seen")
"""


@pytest.mark.slow
def test_the_real_one() -> None:
    if util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    source = str(Path(fechner.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", REAL],
        env={"PYTHONPATH": source, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "seen"
