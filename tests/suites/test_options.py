"""Options of suites: said once, known everywhere."""

import inspect
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from following import SPEC
from typer.testing import CliRunner

from fechner import FechnerError, Run, evaluate
from fechner.cli.app import app
from fechner.experiments import Detection, NearThreshold, Scene
from fechner.runs.manifest import Settings
from fechner.scores import Alignment, threshold_panels
from fechner.stimuli import OPPONENT, Field, display
from fechner.suites import DisplayOptions, Options, Suite, Test, option, suite, suites
from fechner.suites.base import RESERVED
from fechner.suites.options import options_of


@dataclass(frozen=True, kw_only=True)
class Some(DisplayOptions):
    """One option of each kind."""

    angle: float = option(90.0, help="Angle.", unit="degrees", above=0, high=180)
    often: int = option(3, help="Times.", low=1)
    turned: bool = option(False, help="Turn it.")
    mirrored: bool | None = option(None, help="Mirror it.", negative="upright")
    shape: Literal["round", "square"] = option("round", help="Shape.")
    parts: tuple[str, ...] | None = option(None, help="Parts.", words="with {}")
    sizes: tuple[int, ...] = option((1, 2), help="Sizes.", low=1)
    side: Literal[64, 128] = option(64, help="Side.")
    smooth: bool = option(True, help="Smooth it.")
    file: Path | None = option(None, help="File.")


@pytest.mark.parametrize(
    ("values", "held"),
    [
        ({"angle": 60}, 60.0),
        ({"angle": "60"}, 60.0),
        ({"often": "12"}, 12),
        ({"often": 2.0}, 2),
        ({"shape": "square"}, "square"),
        ({"parts": "a, b"}, ("a", "b")),
        ({"parts": ["a", "b"]}, ("a", "b")),
        ({"mirrored": False}, False),
        ({"mirrored": None}, None),
        ({"sizes": "3,4"}, (3, 4)),
        ({"sizes": (1, 2)}, (1, 2)),
        ({"side": "128"}, 128),
        ({"smooth": False}, False),
        ({"file": "a.txt"}, Path("a.txt")),
    ],
)
def test_values_are_held_as_their_field_says(values: dict, held: object) -> None:
    ((name, _),) = values.items()
    found = getattr(Some(**values), name)
    assert found == held
    assert type(found) is type(held)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"angle": 0}, r"--angle must be above 0 and at most 180 degrees, not 0\."),
        ({"angle": 181}, "--angle .* not 181"),
        ({"angle": float("nan")}, "--angle must be a number, not 'nan'"),
        ({"angle": "wide"}, "--angle must be a number, not 'wide'"),
        ({"often": 0}, "--often must be at least 1, not 0"),
        ({"often": 1.5}, "--often must be a whole number, not '1.5'"),
        ({"often": True}, "--often must be a whole number, not 'True'"),
        ({"turned": "yes"}, "--turned must be True or False, not 'yes'"),
        ({"shape": "squar"}, "--shape must be round or square, not 'squar'; did you mean square"),
        ({"display": "ofice"}, "did you mean 'office'"),
        ({"published": True, "display": "office"}, "leave --display out"),
        ({"sizes": "3,x"}, "--sizes must be a whole number, not 'x'"),
        ({"sizes": "0"}, "--sizes must be at least 1"),
        ({"side": 65}, "--side must be 64 or 128, not '65'"),
        ({"seed": -1}, "--seed must be at least 0"),
        ({"ppd": 0}, "--ppd must be above 0"),
    ],
)
def test_a_wrong_value_is_one_sentence(values: dict, sentence: str) -> None:
    with pytest.raises(FechnerError, match=sentence) as raised:
        Some(**values)
    assert "\n" not in str(raised.value)


def test_words_and_flags_follow_from_a_field() -> None:
    chosen = Some(angle=60, turned=True, mirrored=False, shape="square", parts=("a", "b"), ppd=30)
    assert chosen.words() == [
        "30 pixels/degree", "angle 60 degrees", "turned", "no mirrored", "shape square", "with a, b"
    ]  # fmt: skip
    known = options_of(Some)
    flags = [known[name].as_flag(value) for name, value in chosen.changed().items()]
    assert flags == [
        "--ppd 30", "--angle 60", "--turned", "--upright", "--shape square", "--parts a,b"
    ]  # fmt: skip
    assert known["turned"].as_flag(False) == "without --turned"
    assert known["mirrored"].as_flag(None) == "without --mirrored or --upright"
    assert Some(published=True).words() == ["as published"]


def test_keywords_of_evaluate_are_the_fields_of_what_all_suites_share() -> None:
    written = inspect.signature(evaluate).parameters
    shared = {**options_of(Options), **options_of(Settings)}
    for name, each in shared.items():
        assert written[name].default == each.default, name
    beside = {"observers", "suite", "tests", "out", "executor", "progress", "options"}
    assert set(written) == set(shared) | beside
    assert set(written) - set(options_of(Options)) == RESERVED


def test_every_option_has_help_and_a_sentence() -> None:
    for own in suites().values():
        for name, each in {**options_of(own.options), **options_of(Settings)}.items():
            assert each.help.endswith("."), name
            assert each.flags[0].startswith("--")


def help_of(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["run", *arguments, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    return done.output


def test_help_shows_the_options_of_the_suite_that_is_named() -> None:
    general, verbal, encoders = help_of(), help_of("--suite", "verbal"), help_of("--suite=encoders")
    for text in (general, verbal, encoders):
        assert "--published" in text
        assert "--device" in text
        assert "decalogue" in text  # suites are named
    assert "--prompts" in verbal
    assert "--match" in encoders
    assert not any(flag in general for flag in ("--prompts", "--match", "--display", "--objects"))
    assert not any(flag in verbal for flag in ("--match", "--objects"))
    assert "--prompts" not in encoders


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--trials", "3"], "not take --trials; it is an option of verbal and recognition."),
        (
            ["--suite", "verbal", "--objects=x"],
            "does not take --objects; it is an option of recognition.",
        ),
        (["--suite", "decalogue", "--mach", "x"], "suite 'decalogue' does not take --mach"),
        (["--publshed"], "did you mean --published?"),
        (["--suite", SPEC, "--display", "office"], "'following' does not take --display"),
    ],
)
def test_an_option_of_another_suite_gets_one_sentence(arguments: list, sentence: str) -> None:
    done = CliRunner().invoke(app, ["run", "pixels", *arguments])
    assert isinstance(done.exception, FechnerError)
    assert sentence in str(done.exception)


WITH_AN_OPTION = """
from dataclasses import dataclass
from fechner.experiments import Detection, NearThreshold, Scene
from fechner.scores import Alignment, threshold_panels
from fechner.stimuli import OPPONENT, Field, display
from fechner.suites import Options, Suite, Test, option

@dataclass(frozen=True, kw_only=True)
class Own(Options):
    loud: float = option(0.5, help="How loud it is.", unit="dB", low=0, words="at {}")

def tests(options):
    task = Detection("frequency_cpd", (1.0, 2.0, 4.0), (0.01, 0.1, 1.0))
    scene = Scene(Field(64, 64, 16.0), display("encoders"), OPPONENT)
    return [Test(NearThreshold("alone", "Alone", task, scene), Alignment(), threshold_panels)]

SUITE = Suite("loud", "Loud", "Doe & Roe 2026. Plaids.", tests, Own)
"""


def test_a_new_field_is_in_help_manifest_page_and_python(tmp_path: Path) -> None:
    """One file says it; nothing else has to know."""
    file = tmp_path / "loud.py"
    file.write_text(WITH_AN_OPTION)
    own = f"{file}:SUITE"
    help = help_of("--suite", own)
    assert "--loud" in help
    assert "How loud it is. At least 0 dB. Default: 0.5 dB." in help
    folder = tmp_path / "run"
    done = CliRunner().invoke(
        app, ["run", "pixels", "--suite", own, "--loud", "3", "--tests", "alone", "--out",
              str(folder)]
    )  # fmt: skip
    stored = json.loads((folder / "manifest.json").read_text())
    assert stored["options"]["loud"] == 3.0
    assert stored["origin"]["source"] == f"{file.resolve()}:SUITE"
    assert len(stored["origin"]["sha256"]) == 64
    run = Run(folder)
    assert run.options.loud == 3.0
    page = run.report(tmp_path / "page.html").read_text("utf-8")
    assert "Options: at 3 dB." in page
    assert "Doe &amp; Roe 2026. Plaids." in page
    again = evaluate("pixels", suite=own, loud=3, tests="alone", out=folder, progress=False)
    assert again.options == run.options
    with pytest.raises(FechnerError, match="--loud 3, not --loud 4"):
        evaluate("pixels", suite=own, loud=4, out=folder, progress=False)
    done = CliRunner().invoke(app, ["run", "pixels", "--suite", own, "--loud", "-1"])
    assert str(done.exception) == "--loud must be at least 0 dB, not -1."


def test_a_suite_that_changed_is_measured_anew(tmp_path: Path) -> None:
    file, folder = tmp_path / "loud.py", tmp_path / "run"
    file.write_text(WITH_AN_OPTION)
    settings = {"suite": f"{file}:SUITE", "tests": "alone", "out": folder, "progress": False}
    run = evaluate("pixels", **settings)
    keys = {entry.key for entry in run.entries()}
    assert {entry.key for entry in evaluate("pixels", **settings).entries()} == keys
    file.write_text(WITH_AN_OPTION + "\n# changed\n")
    with pytest.raises(FechnerError, match=r"loud\.py has changed since .*run the same command"):
        Run(folder)
    run = evaluate("pixels", **settings)
    assert "suite 'loud' has changed since it was measured here: measured anew." in run.told
    assert keys.isdisjoint(entry.key for entry in run.entries())
    assert run.data("pixels", "alone") is not None
    # A run that was moved is read with the file beside it.
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    folder.rename(moved / "run")
    file.rename(moved / "loud.py")
    assert Run(moved / "run").data("pixels", "alone") is not None
    (moved / "loud.py").unlink()
    with pytest.raises(FechnerError, match=r"was read from .*loud\.py, which is gone"):
        Run(moved / "run")


def test_a_suite_given_in_python(tmp_path: Path) -> None:
    own = suite(SPEC)
    bare = type(own)("bare", "Bare", "", own.tests, version=2)
    run = evaluate("pixels", suite=bare, tests="alone", out=tmp_path / "run", progress=False)
    assert run.assess() == ([], [])
    assert run.manifest.origin == {"source": "", "version": 2, "sha256": ""}
    with pytest.raises(FechnerError, match=r"'bare' .* was given in Python"):
        Run(tmp_path / "run")
    assert Run(tmp_path / "run", suite=bare).data("pixels", "alone") is not None
    with pytest.raises(FechnerError, match="measured with suite 'bare', not with 'encoders'"):
        Run(tmp_path / "run", suite="encoders")
    with pytest.raises(FechnerError, match=r"a name, path/to/file.py:NAME or a fechner.Suite"):
        evaluate("pixels", suite=3)


@dataclass(frozen=True)
class Bar:
    """A pattern of a user's."""

    frequency_cpd: float

    def draw(self, field: Any, device: str = "cpu") -> Any:
        return field.grid(device)[0].cos()

    @property
    def highest_cpd(self) -> float:
        return self.frequency_cpd


def bars(kind: type) -> Suite:
    task = Detection("frequency_cpd", (1.0, 2.0), (0.01, 0.1), pattern=kind(1.0), human=None)
    scene = Scene(Field(64, 64, 16.0), display("encoders"), OPPONENT)
    test = Test(NearThreshold("bar", "Bar", task, scene), Alignment(), threshold_panels)
    return Suite("bars", "Bars", "", lambda options: [test])


def test_answers_depend_on_the_code_of_patterns_given_in_python() -> None:
    class Other(Bar):
        def draw(self, field: Any, device: str = "cpu") -> Any:
            return field.grid(device)[1].cos()

    first, again, other = (bars(kind).build()[0].fingerprint for kind in (Bar, Bar, Other))
    assert first == again != other


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("5 * x.cos()", "Odd has values up to 5"),
        ("x / 0", "Odd has values that are not finite"),
        ("x.gird()", r"Odd could not be drawn: AttributeError.*\(loud\.py, line 6\)"),
    ],
)
def test_a_wrong_pattern_is_named_and_no_observer_is_blamed(
    tmp_path: Path, value: str, named: str
) -> None:
    file = tmp_path / "loud.py"
    odd = (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Odd:\n"
        "    frequency_cpd: float\n    highest_cpd = 1.0\n"
        f"    def draw(self, field, device='cpu'): x = field.grid(device)[0]; return {value}\n"
    )
    contrasts = "(0.01, 0.1, 1.0))"
    shown = contrasts.replace("))", "), Odd(1.0))")
    file.write_text(odd + WITH_AN_OPTION.replace(contrasts, shown))
    run = evaluate("pixels", suite=f"{file}:SUITE", progress=False)
    (problem,) = run.assess()[1]
    assert re.search(named, problem)
    assert "observer 'pixels'" not in problem


def test_seeds_are_compared_at_one_value_of_whatever_else_is_swept(tmp_path: Path) -> None:
    file = tmp_path / "loud.py"
    file.write_text(WITH_AN_OPTION)
    done = CliRunner().invoke(
        app, ["run", "pixels", "--suite", f"{file}:SUITE", "--loud", "1,2", "--seed", "0-1",
              "--out", str(tmp_path / "run")]
    )  # fmt: skip
    assert sorted(path.name for path in tmp_path.glob("run-*")) == [
        f"run-seed{seed}-loud{loud}" for seed in (0, 1) for loud in (1, 2)
    ]
    lines = done.output.splitlines()
    for heading in ("loud1:", "loud2:"):
        header, _, row = lines[lines.index(heading) + 1 :][:3]
        assert (
            dict(zip(header.split(), row.replace(" ↑", "").split(), strict=False))["seeds"] == "2"
        )


def test_a_test_whose_human_data_changed_is_measured_anew(tmp_path: Path) -> None:
    file = tmp_path / "loud.py"
    people = tmp_path / "people.csv"
    file.write_text(
        WITH_AN_OPTION.replace(
            "(0.01, 0.1, 1.0))",
            f"(0.01, 0.1, 1.0), human=read_thresholds({str(people)!r}, over='frequency_cpd'))",
        ).replace(
            "from fechner.stimuli",
            "from fechner.human import read_thresholds\nfrom fechner.stimuli",
        )
    )
    settings = {"suite": f"{file}:SUITE", "out": tmp_path / "run", "progress": False}
    people.write_text("frequency_cpd,threshold\n1,0.02\n4,0.05\n")
    evaluate("pixels", **settings)
    people.write_text("frequency_cpd,threshold\n1,0.03\n4,0.05\n")
    assert "has changed since" in Run(tmp_path / "run").assess()[1][0]
    run = evaluate("pixels", **settings)
    assert "test 'alone' has changed since it was measured here: measured anew." in run.told
    assert run.assess()[1] == []


BUILT_BY = "import dataclasses; import fechner.suites as s"
SUITE_A = f"{BUILT_BY}\nSUITE = s.Suite('a', '', '', "
OPTIONS = f"{BUILT_BY}\n@dataclasses.dataclass(frozen=True, kw_only=True)\nclass O(s.Options):"
WITH_THEM = "SUITE = s.Suite('a', '', '', list, O)"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("SUITE = 3", "must be a fechner.Suite, not 3"),
        ("import fechner.suites as s\nSUITE = s.Suite('encoders', '', '', list)", "another name"),
        ("import fechner.suites as s\nSUITE = s.Suite('A B', '', '', list)", "lower-case letters"),
        ("SUIT = 3", "wrong.py has SUIT"),
        ("1 / 0", r"ZeroDivisionError: division by zero \(wrong.py, line 1\)"),
        (
            f"{SUITE_A}lambda: [])",
            "could not build its tests: TypeE",
        ),
        (f"{SUITE_A}lambda options: 1 / 0)", "wrong.py, line 2"),
        (f"{SUITE_A}lambda options: [3])", "list of fechner.Test"),
        (
            f"{SUITE_A}lambda options: [])",
            "no tests with these opt",
        ),
        (
            f"{SUITE_A}list, dict)",
            "derived from fechner.suites.Opti",
        ),
        (
            f"{OPTIONS}\n    tests: str = s.option('', help='')\n{WITH_THEM}",
            "an option 'tests', which",
        ),
        (f"{OPTIONS}\n    angle: float = 3.0\n{WITH_THEM}", "field 'angle' of O is no option yet"),
        (
            f"{BUILT_BY}\nclass O(s.Options):\n    a: int = 3\n{WITH_THEM}",
            "needs the line @dataclass",
        ),
    ],
)
def test_what_is_no_suite(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(text)
    with pytest.raises(FechnerError, match=sentence):
        evaluate("pixels", suite=f"{file}:SUITE", progress=False)


def test_suites_of_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    from fechner.suites import base

    class Point:
        name, value, dist = "following", "following:SUITE", None

        @staticmethod
        def load() -> object:
            import following

            return following.SUITE

    class Broken(Point):
        name, value = "broken", "broken:SUITE"

        @staticmethod
        def load() -> object:
            raise ImportError("no such thing")

    monkeypatch.setattr(base.metadata, "entry_points", lambda group: [Broken, Point])
    assert suite("following").source == "following:SUITE"
    assert len(suite("following").sha256) == 64
    assert list(suites())[-1] == "following"
    done = CliRunner().invoke(app, ["list", "suites"])
    assert "Following" in done.output
    assert "suite 'broken' of entry point 'broken' could not be loaded" in done.output
    with pytest.raises(
        FechnerError, match=r"'broken' .* could not be loaded: ImportError: no such"
    ):
        suite("broken")


def test_observers_from_a_text_file(tmp_path: Path) -> None:
    names = tmp_path / "models.txt"
    names.write_text("# mine\npixels\n\nstandard-observer  # a model\n")
    done = CliRunner().invoke(
        app, ["run", "--observers", str(names), "--tests", "area", "--dry-run"]
    )
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.output.splitlines()[1:3]] == [
        "pixels", "standard-observer"
    ]  # fmt: skip
    names.write_text("# nobody\n")
    done = CliRunner().invoke(app, ["run", "--observers", str(names)])
    assert "names no observer" in str(done.exception)
