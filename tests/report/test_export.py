"""What was exported reads back as it was, and a file is there whole or not at all."""

import csv
import errno
import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from measured import HOSTILE, TESTS, measured
from scipy.stats import spearmanr

from fechner import FechnerError, Run, evaluate
from fechner.report import export as exports
from fechner.report.export import export
from fechner.report.frames import schema
from fechner.report.score_tables import format_scores
from fechner.report.tables import WRITERS, as_latex, as_markdown
from fechner.runs.store import slug

WHATS = ("scores", "responses", "surfaces")


@pytest.fixture(scope="module")
def run() -> Run:
    return measured()


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Run:
    """The same in a folder that may be changed."""
    return Run(shutil.copytree(run.folder, tmp_path / "run"))


@pytest.fixture(scope="module")
def frames(run: Run) -> dict[str, pd.DataFrame]:
    return {what: run.to_dataframe(what) for what in WHATS}


def read_csv(file) -> pd.DataFrame:
    """Read by what everybody has, with numbers as Python reads them: to the bit."""
    with Path(file).open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        exact = pd.DataFrame(list(reader), columns=reader.fieldnames)
    found = pd.read_csv(file)
    for name in found.columns:
        if found[name].dtype == "float64":
            found[name] = [float(text or "nan") for text in exact[name]]
        elif all(isinstance(text, str) for text in found[name].dropna()):
            assert exact[name].tolist() == found[name].fillna("").tolist()
    return found


def read_json(file) -> pd.DataFrame:
    return pd.DataFrame(json.loads(Path(file).read_bytes()))


READERS = {".csv": read_csv, ".json": read_json, ".parquet": pd.read_parquet}


# There and back


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("what", WHATS)
def test_frames_read_back_as_they_were(
    run: Run, frames: dict[str, pd.DataFrame], tmp_path: Path, what, suffix: str
) -> None:
    file = tmp_path / f"it{suffix}"
    said = export([run], str(file), what)
    found = READERS[suffix](file)
    expected = frames[what]
    assert list(found) == list(expected)
    if suffix == ".parquet":
        assert schema(found) == schema(expected)
    pd.testing.assert_frame_equal(
        found.astype(expected.dtypes), expected, check_exact=True, rtol=0, atol=0
    )
    assert set(found["observer"]) == {HOSTILE, "pixels"}
    assert said.startswith(f"{file}: {len(expected)} ")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_types_need_no_help_where_nothing_is_missing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "surfaces.csv"
    export([run], str(file), "surfaces", observers=["pixels"], tests=[TESTS[0]])
    kinds = schema(read_csv(file))
    assert kinds["value"] == kinds["surface_contrast"] == "float64"
    assert kinds["x"] == "int64"
    export([run], str(file), observers=["pixels"])
    kinds = schema(read_csv(file))
    assert kinds["higher_is_better"] == kinds["main"] == "bool"
    assert kinds["n"] == "int64"


def test_scores_can_be_computed_from_the_csv(run: Run, tmp_path: Path) -> None:
    for what in ("scores", "responses"):
        export([run], str(tmp_path / f"{what}.csv"), what, tests=[TESTS[0]])
    answers = read_csv(tmp_path / "responses.csv")
    scores = read_csv(tmp_path / "scores.csv")
    alignment = scores[scores["score"] == "alignment"]
    assert len(alignment) == 6
    for _, score in alignment.iterrows():
        rows = answers[answers["dropped"] == "kept"]
        for name in ("observer", "test", "layer", "readout"):
            rows = rows[rows[name] == score[name]]
        assert len(rows) == score["n"]
        value = spearmanr(rows["ratio"], rows["value"]).statistic
        assert value == pytest.approx(score["value"], abs=1e-12)


def test_netcdf_is_the_whole_dataset(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    export([run], str(folder))
    files = sorted(path.relative_to(folder) for path in folder.rglob("*.nc"))
    assert files == sorted(Path(slug(o), f"{t}.nc") for o in run.observers for t in TESTS)
    for observer in run.observers:
        for test in TESTS:
            found = xr.load_dataset(folder / slug(observer) / f"{test}.nc")
            data = run.data(observer, test)
            assert {name: found.attrs[f"fechner_{name}"] for name in
                    ("observer", "suite", "mode", "test")} == {
                "observer": observer, "suite": "encoders", "mode": "default", "test": test,
            }  # fmt: skip
            assert (
                found.attrs["fechner_fingerprint"] == run.manifest.observers[observer].fingerprint
            )
            assert found.attrs["fechner_version"] == run.manifest.versions["fechner"]
            found.attrs = {k: v for k, v in found.attrs.items() if not k.startswith("fechner_")}
            xr.testing.assert_identical(found, data)
    assert "surface" in xr.load_dataset(folder / "pixels" / f"{TESTS[0]}.nc")


@pytest.mark.parametrize(
    ("what", "kept", "gone"),
    [("responses", "response", "surface"), ("surfaces", "surface", "response")],
)
def test_one_netcdf_file_of_one_part(run: Run, tmp_path: Path, what, kept: str, gone: str) -> None:
    file = tmp_path / "one.nc"
    said = export([run], str(file), what, observers=["pixels"], tests=[TESTS[0]])
    found = xr.load_dataset(file)
    assert kept in found
    assert gone not in found
    assert said == f"{file}: pixels in {TESTS[0]}"


# What is chosen


def test_observers_and_tests_are_chosen(
    run: Run, frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    file = str(tmp_path / "it.parquet")
    export([run], file, "responses", observers=[HOSTILE], tests=[TESTS[0]])
    found = pd.read_parquet(file)
    rows = frames["responses"]
    rows = rows[(rows["observer"] == HOSTILE) & (rows["test"] == TESTS[0])]
    np.testing.assert_array_equal(found["value"], rows["value"])
    assert "frequency" not in found  # nothing has it


def test_several_runs_are_told_apart(run: Run, copy: Run, tmp_path: Path) -> None:
    file = tmp_path / "it.csv"
    for what in WHATS:
        export([run, copy], str(file), what, observers=["pixels"])
        found = read_csv(file)
        assert found.columns[0] == "run"
        first, second = (found[found["run"] == each.folder.name] for each in (run, copy))
        assert len(first) == len(second) == len(found) / 2 > 0
        pd.testing.assert_frame_equal(
            first.drop(columns="run"), second.drop(columns="run").reset_index(drop=True)
        )
    export([run, run, Run(run.folder)], str(file), "responses", tests=[TESTS[1]])
    assert "run" not in read_csv(file)
    export([run, copy], str(tmp_path / "answers"), tests=[TESTS[1]], observers=["pixels"])
    assert sorted(path.name for path in (tmp_path / "answers").iterdir()) == sorted(
        slug(each.folder.name) for each in (run, copy)
    )


def test_runs_of_the_same_name_have_their_paths(copy: Run, tmp_path: Path) -> None:
    other = Run(shutil.copytree(copy.folder, tmp_path / "elsewhere" / "run"))
    file = tmp_path / "it.json"
    export([copy, other], str(file), observers=["pixels"], tests=[TESTS[1]])
    assert set(read_json(file)["run"]) == {str(copy.folder), str(other.folder)}


def test_incomplete_observers_are_left_out_in_a_line_each(copy: Run, tmp_path: Path) -> None:
    (copy.folder / "results" / "pixels" / TESTS[0] / "score-00.nc").unlink()
    shutil.rmtree(copy.folder / "results" / "pixels" / TESTS[1])
    told: list[str] = []
    file = tmp_path / "it.csv"
    export([copy], str(file), tell=told.append)
    assert set(read_csv(file)["observer"]) == {HOSTILE}
    assert len(told) == 2
    assert [line.split(": ")[0] for line in told] == [f"pixels {test}" for test in TESTS]
    assert all("is missing; run the same command again" in line for line in told)
    with pytest.raises(FechnerError, match=r"nothing to export: pixels .* is missing; "):
        export([copy], str(tmp_path / "none.csv"), observers=["pixels"])
    assert not (tmp_path / "none.csv").exists()


def test_an_observer_that_was_never_finished_has_a_line_for_each_test(
    copy: Run, tmp_path: Path
) -> None:
    (copy.folder / "ledger.sqlite").unlink()
    told: list[str] = []
    for what in ("responses", "surfaces"):
        with pytest.raises(FechnerError, match="nothing to export: "):
            export([copy], str(tmp_path / "it.csv"), what, tell=told.append)
    names = [f"{name} {test}" for name in (" ".join(HOSTILE.split()), "pixels") for test in TESTS]
    why = "what figures need was not measured; run it without --scores-only"
    assert told == [f"{name}: {each}" for each in ("not finished", why) for name in names]


def test_observers_that_could_not_be_measured_are_named(copy: Run, tmp_path: Path) -> None:
    copy.manifest.left_out["broken"] = "it answered\nNaN."
    told: list[str] = []
    file = str(tmp_path / "it.csv")
    export([copy], file, tests=[TESTS[1]], tell=told.append)
    assert told == ["broken was left out: it answered NaN."]
    export([copy], file, tests=[TESTS[1]], observers=["pixels"], tell=told.append)
    assert len(told) == 1  # nobody asked for it


def test_a_damaged_ledger_is_told_once(copy: Run, tmp_path: Path) -> None:
    (copy.folder / "ledger.sqlite").write_bytes(b"not a database" * 99)
    told: list[str] = []
    for call in (
        lambda: export([copy], str(tmp_path / "it.csv"), tell=told.append),
        lambda: copy.to_dataframe("responses"),
    ):
        with pytest.raises(FechnerError, match=r"ledger.sqlite cannot be used"):
            call()
    assert told == []


def test_tests_without_surfaces_have_none(tmp_path: Path) -> None:
    run = evaluate("pixels", suite="metrics", tests="matching-colour", progress=False)
    with pytest.raises(FechnerError, match=r"nothing to export: these tests have no surfaces\."):
        export([run], str(tmp_path / "it.csv"), "surfaces")


# Tables for people


@pytest.mark.parametrize("suffix", [".md", ".tex"])
def test_scores_are_the_tables_of_the_command_line(run: Run, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"it{suffix}"
    export([run], str(file))
    format = {".md": "md", ".tex": "latex"}[suffix]
    assert file.read_text("utf-8") == format_scores(run.scores(), format)


@pytest.mark.parametrize("suffix", [".md", ".tex"])
def test_observers_of_several_runs_stand_side_by_side(
    run: Run, copy: Run, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"it{suffix}"
    export([run, copy], str(file), tests=[TESTS[1]])
    text = file.read_text("utf-8")
    for each in (run, copy):
        label = f"pixels ({each.folder.name})"
        assert (as_latex(label) if suffix == ".tex" else as_markdown(label)) in text
    # With other options, questions are not the same, and tables are apart.
    manifest = json.loads((copy.folder / "manifest.json").read_text())
    manifest["options"]["seed"] = 7
    (copy.folder / "manifest.json").write_text(json.dumps(manifest))
    export([run, Run(copy.folder)], str(file), observers=["pixels"], tests=[TESTS[1]])
    text = file.read_text("utf-8")
    assert text.count("seed 7") == 1
    assert text.count("matching-error") == 2 * 2  # read-outs


@pytest.mark.parametrize("suffix", [".md", ".tex"])
def test_raw_answers_are_no_tables_for_people(run: Run, tmp_path: Path, suffix: str) -> None:
    with pytest.raises(FechnerError, match=r"hold scores, not responses; choose one of \.csv"):
        export([run], str(tmp_path / f"it{suffix}"), "responses")


# Whole or not at all


def test_answers_are_written_one_observer_and_test_at_a_time(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def write(file, columns, frames) -> None:
        for frame in frames:
            assert list(frame) == list(columns)
            assert frame[["observer", "test"]].drop_duplicates().shape == (1, 2)
            sizes.append(len(frame))

    monkeypatch.setitem(WRITERS, ".csv", write)
    said = export([run], str(tmp_path / "it.csv"), "responses")
    assert len(sizes) == len(run.observers) * len(TESTS)
    assert f"{sum(sizes)} rows" in said


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "is full; |: No space left on device"),
        (OSError(errno.EIO, "Input/output error"), "cannot be written: Input/output error."),
        (RuntimeError("boom"), "boom"),
        (KeyboardInterrupt(), ""),
    ],
)
def test_a_failure_leaves_what_was_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, sentence: str
) -> None:
    def write(file, columns, frames) -> None:
        file.write(b"half")
        raise error

    def write_dataset(path, data) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
        raise error

    monkeypatch.setitem(WRITERS, ".csv", write)
    monkeypatch.setattr(exports, "write_dataset", write_dataset)
    file, folder = tmp_path / "it.csv", tmp_path / "answers"
    file.write_text("before")
    expected = FechnerError if isinstance(error, OSError) else type(error)
    for out in (file, folder):
        with pytest.raises(expected) as caught:
            export([run], str(out), observers=["pixels"], tests=[TESTS[1]])
        assert re.search(sentence, str(caught.value))
    assert file.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.csv"]


def test_a_link_stays_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to("real.csv")
    export([run], str(tmp_path / "link.csv"), observers=["pixels"], tests=[TESTS[1]])
    assert (tmp_path / "link.csv").is_symlink()
    assert set(read_csv(tmp_path / "real.csv")["observer"]) == {"pixels"}


def test_a_folder_of_the_same_export_is_filled_anew(copy: Run, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    for _ in range(2):
        assert export([copy], f"{folder}/", tests=[TESTS[1]]).endswith(": 2 files")
    shutil.rmtree(copy.folder / "results" / "pixels")
    assert export([copy], str(folder), tests=[TESTS[1]]).endswith(": 1 files")
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert files == [Path(slug(HOSTILE), f"{TESTS[1]}.nc")]
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(FechnerError, match=r"holds other things \(mine\.txt\); choose a folder"):
        export([copy], str(folder), tests=[TESTS[1]])
    assert (folder / "mine.txt").read_text() == "mine"


def test_a_run_is_not_written_over(copy: Run, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in copy.folder.rglob("*") if path.is_file()}
    own = copy.folder
    for out in (own / "manifest.json", own / "results" / "it.csv", own / "results" / "new"):
        with pytest.raises(FechnerError, match="belongs to the run in"):
            export([copy], str(out))
    with pytest.raises(FechnerError, match="holds other things"):
        export([copy], str(own))
    after = {path: path.read_bytes() for path in copy.folder.rglob("*") if path.is_file()}
    assert after == before
    export([copy], str(own / "scores.csv"), observers=["pixels"], tests=[TESTS[1]])
    assert (own / "scores.csv").is_file()


@pytest.mark.parametrize(
    ("out", "options", "sentence"),
    [
        ("it.xlsx", {}, "'it.xlsx' ends in none of .csv, .json, .parquet, .md, .tex, .nc;"),
        ("it.csv.gz", {}, "ends in none of"),
        ("", {}, "name a file to write"),
        ("no/it.csv", {}, "cannot be written: there is no folder"),
        ("no/such/folder", {}, "cannot be written: there is no folder"),
        ("folder.csv", {}, "is no file; choose another name"),
        ("file/", {}, "is no folder; choose another name"),
        ("pipe.csv", {}, "is no file; choose another name"),
        ("it.csv", {"observers": ["pixles"]}, "no observer named 'pixles'; did you mean 'pixels'?"),
        ("it.csv", {"tests": ["area"]}, "there is no test named 'area'"),
        ("it.csv", {"what": "answers"}, "there is no frame named 'answers'"),
        ("it.nc", {}, "a .nc file holds one observer in one test, not 4"),
        ("it.nc", {"what": "scores"}, ".nc files hold responses and surfaces, not scores"),
    ],
)
def test_mistakes_get_a_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, options, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.csv").mkdir()
    Path("file").touch()
    os.mkfifo("pipe.csv")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FechnerError) as error:
        export([run], out, **options)
    assert sentence in str(error.value)
    assert str(error.value).endswith(".")
    assert sorted(tmp_path.iterdir()) == before


def test_parquet_without_pyarrow_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(FechnerError, match=r"pip install 'fechner\[parquet\]'"):
        export([run], str(tmp_path / "it.parquet"))
    assert list(tmp_path.iterdir()) == []


# Numbers and words that are hard to write


@pytest.mark.parametrize("suffix", READERS)
def test_odd_values_survive(tmp_path: Path, suffix: str) -> None:
    columns = {"a": "float64", "b": "Int64", "c": "str", "d": "boolean"}
    texts = ["a\rb", '"', ",", "\n", "'", " lead", "tail ", "true", "1e5", "é", "=1+1", None]
    n = len(texts)
    numbers = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, np.nan, -0.0, 1e22]
    frame = pd.DataFrame(
        {
            "a": np.resize(numbers, n),
            "b": pd.Series(np.resize([1, None, -(2**53)], n), dtype="Int64"),
            "c": pd.Series(texts, dtype="str"),
            "d": pd.Series(np.resize([True, None, False], n), dtype="boolean"),
        }
    )
    file = tmp_path / f"it{suffix}"
    with file.open("wb") as stream:
        WRITERS[suffix](stream, columns, [frame[:5], frame[5:5], frame[5:]])
    found = (
        read_csv(file).assign(d=pd.read_csv(file, dtype=columns)["d"])
        if suffix == ".csv"
        else READERS[suffix](file)
    ).astype(columns)
    pd.testing.assert_frame_equal(found, frame, check_exact=True)
    np.testing.assert_array_equal(np.signbit(found["a"]), np.signbit(frame["a"]))


@pytest.mark.parametrize("suffix", WRITERS)
def test_no_frames_at_all(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"it{suffix}"
    with file.open("wb") as stream:
        WRITERS[suffix](stream, {"a": "float64", "b": "str"}, [])
    assert len(READERS[suffix](file)) == 0
