"""Pages that follow from the code are what the code would write now."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from fechner.cli.app import app
from fechner.references import references

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["cli.md", "bibliography.md", "manipulations.md"])
def test_page_is_up_to_date(generate: ModuleType, page: str) -> None:
    written = (DOCS / page).read_text("utf-8")
    assert written == generate.PAGES[page](), f"docs/{page} is out of date: {generate.COMMAND}"


@pytest.mark.parametrize("columns", ["40", "200"])
def test_terminal_does_not_matter(
    generate: ModuleType, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = generate.cli_page()
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert generate.cli_page() == before


def test_every_command_and_option_of_the_help_is_there(generate: ModuleType) -> None:
    """As people see them: by what `--help` prints, not by how typer keeps them."""
    sections = dict(part.split("`\n", 1) for part in generate.cli_page().split("\n## `")[1:])
    assert {"fechner run", "fechner scores", "fechner list human"} <= set(sections)
    for name, section in sections.items():
        done = CliRunner().invoke(app, [*name.split()[1:], "--help"], env={"COLUMNS": "300"})
        printed = {word.strip("`") for word in done.output.split() if word.startswith("--")}
        on_page = {word.strip("`") for word in section.replace("/", " ").split()}
        missing = {each for word in printed for each in word.split("/")} - on_page - {"--help"}
        assert not missing, f"{name}: {missing}"


def test_every_reference_is_there(generate: ModuleType) -> None:
    page = generate.bibliography_page()
    for key, work in references().items():
        assert f"## {key}\n" in page
        assert work.title in page
