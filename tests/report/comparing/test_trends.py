"""Scores against figures from outside: numbers, words and tables."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fechner import Run
from fechner.errors import FechnerError
from fechner.report.comparing.trends import (
    COLUMNS,
    Trends,
    find_trends,
    match,
    read_figures,
    summarise_trends,
)
from fechner.report.contenders import entrants
from fechner.report.figures.compare import trend_figure
from fechner.report.tables import FORMATS
from fechner.scores.comparisons import corrected
from fechner.suites import preset

ROWS = [row for row in preset("cai2025") if row.family in ("DINO", "DINOv2", "SAM")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A figure that follows one test up, one that follows another down, and two of no use."""
    generator = np.random.default_rng(0)
    lines = ["observer,up,down,same,few"]
    for number, row in enumerate(ROWS):
        up = 70 + 20 * row.scores["area"] + generator.normal(0, 0.5)
        down = 1 + row.scores["matching-frequency"] + generator.normal(0, 0.02)
        few = number if number < 3 else ""
        lines.append(f"{row.observer},{up},{down},5,{few}")
    path = tmp_path / "figures.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_numbers_are_those_of_the_points(file: Path) -> None:
    found, problems = find_trends(["@cai2025"], file, ["up", "down"])
    assert len(found.trends) == 18
    assert found.figures == ["up", "down"]
    rows = list(csv.DictReader(file.read_text().splitlines()))
    for trend in found.trends:
        x = [float(row[trend.figure]) for row in rows]
        y = [row.scores[trend.test] for row in ROWS]
        line = stats.linregress(x, y)
        assert trend.regression.n == len(ROWS)
        assert (trend.regression.r, trend.regression.slope) == pytest.approx(
            (line.rvalue, line.slope)
        )
        assert trend.regression.p == pytest.approx(line.pvalue)
    p = [trend.regression.p for trend in found.trends]
    assert [trend.corrected for trend in found.trends] == corrected(p).tolist()
    (line,) = problems
    assert line.startswith("Here but not in figures.csv: pixels, ")


def of(found: Trends, figure: str, test: str) -> int:
    (trend,) = (t for t in found.trends if (t.figure, t.test) == (figure, test))
    return trend.significant


def test_directions(file: Path) -> None:
    found, _ = find_trends(["@cai2025"], file, ["up", "down"])
    assert of(found, "up", "area") == 1
    # A figure that grows with the error goes with observers that are farther from people.
    assert of(found, "down", "matching-frequency") == -1
    verdicts = summarise_trends(found).findings
    assert verdicts[0].startswith("up: observers with more of it are closer to people in ")
    assert "farther from people in " in verdicts[1]
    assert "matching-frequency" in verdicts[1].split("farther from people in ")[1]


def test_what_is_of_no_use_says_why(file: Path) -> None:
    found, _ = find_trends(["@cai2025"], file, ["same", "few"], tests=["area"])
    same, few = found.trends
    assert same.regression.note == (
        f"not computable: same is the same for all {len(ROWS)} observers"
    )
    assert few.regression.note == "3 observers are too few for an interval"
    assert np.isfinite(few.regression.r)
    assert np.isnan(few.corrected)
    assert found.tested == 0
    assert summarise_trends(found).findings == [
        "same: no trend is significant in 1 of 1 tests.",
        "few: no trend is significant in 1 of 1 tests.",
    ]
    text = summarise_trends(found).write()
    assert "same is the same for all" in text


def test_runs_and_tables_together(shown_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    path.write_text(
        "observer,top1\nnetwork,60\ntimm/vit_small_patch16_224.dino,70\ncvvdp,80\nnobody,1\n"
    )
    found, problems = find_trends([shown_run, "@cai2025"], path)
    by_test = {trend.test: trend for trend in found.trends}
    # The network was measured in two tests; the transformer was measured, and is printed.
    assert [each.label for each in by_test["masking-coherent"].observers] == [
        "network by angle",
        "timm/vit_small_patch16_224.dino (shown) by angle",
        "timm/vit_small_patch16_224.dino (@cai2025)",
        "cvvdp",
    ]
    assert by_test["masking-coherent"].regression.x.tolist() == [60, 70, 70, 80]
    assert by_test["area"].regression.n == 2
    assert problems[0] == "In figures.csv but not here: nobody."


def test_only_chosen_observers_and_tests_count(file: Path) -> None:
    names = [row.observer for row in ROWS[:5]]
    found, _ = find_trends(["@cai2025"], file, ["up"], observers=names, tests=["area"])
    (trend,) = found.trends
    assert trend.regression.n == 5


def test_observers_that_have_finished_nothing(odd_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    path.write_text("observer,top1\nafraid,1\n")
    with pytest.raises(FechnerError, match="has finished a test: afraid matching-frequency: "):
        find_trends([odd_run], path, tests=["matching-frequency"])


@pytest.mark.parametrize("format", FORMATS)
def test_formats(file: Path, format: str) -> None:
    found, _ = find_trends(["@cai2025"], file, ["up", "same"], tests=["frequency-rg", "area"])
    text = summarise_trends(found).write(format)
    assert text.endswith("\n")
    assert "frequency-rg" in text
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)
    assert [trend.test for trend in found.trends[:2]] == ["frequency-rg", "area"]
    r = found.trends[1].regression.r
    if format == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert tuple(rows[0]) == COLUMNS
        assert float(rows[1]["r"]) == pytest.approx(r, rel=1e-5)
        assert rows[3]["r"] == ""
    elif format == "json":
        read = json.loads(text)
        assert read["trends"][1]["r"] == r
        assert read["trends"][3]["r"] is None
        assert read["trends"][0]["points"][0]["observer"] == ROWS[0].observer
        assert len(read["trends"][0]["points"]) == len(ROWS)
    else:
        assert f"{r:+.3f}" in text
        assert ("closer to people" in text) == (found.trends[1].significant == 1)


# What runs counted of networks


def test_sizes_of_networks_are_known_to_their_run(shown_run: Run, tmp_path: Path) -> None:
    found, problems = find_trends([shown_run], "parameters", layer="output", readout="angle")
    assert found.figures == ["log10 parameters"]
    assert [trend.test for trend in found.trends] == ["masking-coherent", "matching-frequency"]
    about = shown_run.manifest.observers
    for trend in found.trends:
        assert len(trend.observers) == 2
        sizes = [about[name].complexity["parameters"] for name in shown_run.observers[1:]]
        assert trend.regression.x == pytest.approx(np.log10(sizes))
        assert trend.drawn(trend.regression.x) == pytest.approx(sizes)
    assert problems == ["No parameters were counted of pixels."]
    text = summarise_trends(found).write()
    assert "Scores against log10 parameters\n" in text
    assert "with more parameters" in text


def test_counts_stand_beside_the_columns_of_a_file(shown_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    path.write_text("observer,top1\nnetwork,60\ntimm/vit_small_patch16_224.dino,70\npixels,1\n")
    found, _ = find_trends(
        [shown_run], path, ["top1", "gflops"], tests=["masking-coherent"], readout="l2"
    )
    assert [(trend.figure, trend.regression.n) for trend in found.trends] == [
        ("top1", 3),
        ("GFLOPs", 2),
    ]
    heading = [section.heading for section in summarise_trends(found).tables]
    assert heading == ["Scores against top1 of figures.csv", "Scores against log10 GFLOPs"]
    drawn = trend_figure(found)
    assert [axes.get_xscale() for axes in drawn.axes] == ["linear", "log"]


def test_a_column_of_that_name_in_a_file_wins(shown_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    path.write_text("observer,gflops\nnetwork,3\npixels,1\n")
    found, _ = find_trends([shown_run], path, ["gflops"], tests=["masking-coherent"])
    (trend,) = found.trends
    assert sorted(trend.regression.x) == [1, 3]
    assert trend.title == "gflops"


@pytest.mark.parametrize(
    ("sources", "file", "columns", "sentence"),
    [
        (["@cai2025"], "gflops", None, "no GFLOPs were counted of any observer here"),
        (["@cai2025"], "parameter", None, "did you mean 'parameters'?"),
        (["@cai2025"], "parameters,size", None, "no figure named 'size'"),
        (["@cai2025"], "gflops", ["top1"], "--column is for CSV files"),
    ],
)
def test_counts_that_are_not_there(
    sources: list[str], file: str, columns: list[str] | None, sentence: str
) -> None:
    with pytest.raises(FechnerError, match=re.escape(sentence)):
        find_trends(sources, file, columns)


# Files of figures


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "figures.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_numbers_by_observer(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "# accuracies\ntop1, observer ,params\n"
        '76.5,pixels,\n\n 80 ,"a, b@x=1",1e6\n-3.5,c,0\nnan,d\n',
    )
    found = read_figures(path, ["params", "top1"])
    assert list(found.index) == ["pixels", "a, b@x=1", "c", "d"]
    assert list(found.columns) == ["params", "top1"]
    assert found["top1"].to_list()[:3] == [76.5, 80.0, -3.5]
    assert found["params"].to_list()[1:3] == [1e6, 0.0]
    assert np.isnan([found["top1"]["d"], found["params"]["pixels"], found["params"]["d"]]).all()


def test_the_only_column_needs_no_name(tmp_path: Path) -> None:
    # With the mark that spreadsheets write, and their ends of lines.
    path = written(tmp_path, b"\xef\xbb\xbfobserver,top1\r\npixels,1\r\n")
    assert read_figures(path)["top1"].to_dict() == {"pixels": 1.0}


@pytest.mark.parametrize(
    ("content", "columns", "sentence"),
    [
        ("", None, "needs a column 'observer' and others with numbers, separated by commas"),
        ("name,top1\na,1\n", None, "its first line has name, top1"),
        ("observer;top1\na;1\n", None, "separated by commas; its first line has observer;top1"),
        ("observer\na\n", None, "needs a column 'observer' and others with numbers"),
        ("observer,a,b\nx,1,2\n", None, "has a, b: choose by --column"),
        ("observer,top1\na,1\n", ["top2"], "no column named 'top2'; did you mean 'top1'?"),
        ("observer,top1\na,1\n", ["observer"], "no column named 'observer'"),
        ("observer,top1,top1\na,1,2\n", ["top1"], "has 'top1' twice"),
        ("observer,top1\na,1\nb,much\n", None, "'much' in column 'top1' is not a number"),
        ("observer,top1\na,inf\n", None, "'inf' in column 'top1' is not a number"),
        ('observer,top1\na,"76,5"\n', None, "'76,5' in column 'top1' is not a number"),
        (
            "observer,top1\na,76,5\n",
            None,
            "is no CSV in UTF-8 (2 columns passed, passed data had 3 columns)",
        ),
        ("observer,top1\na,1\nb,2\na,3\n", None, "has 'a' twice"),
        (b"observer,top1\n\xff\xfe,1\n", None, "is no CSV in UTF-8"),
        ('observer,top1\n"a,1\n', None, "is no CSV in UTF-8"),
    ],
)
def test_mistakes_are_sentences(
    tmp_path: Path, content: str | bytes, columns: list[str] | None, sentence: str
) -> None:
    with pytest.raises(FechnerError) as raised:
        read_figures(written(tmp_path, content), columns)
    assert sentence in str(raised.value)
    assert "figures.csv" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match=r"nothing\.csv cannot be read: No such file"):
        read_figures(tmp_path / "nothing.csv")
    with pytest.raises(FechnerError, match="cannot be read"):
        read_figures(tmp_path)


def figures(*names: str) -> pd.DataFrame:
    return pd.DataFrame({"top1": np.arange(len(names), dtype=float)}, index=names)


def test_names_of_observers() -> None:
    table = figures("pixels", "nobody", "no one")
    found, lines = match("figures.csv", table, entrants(["@cai2025"]))
    assert found["top1"].dropna().to_dict() == {"pixels": 0.0}
    assert lines[0] == "In figures.csv but not here: nobody, no one."
    assert lines[1].startswith("Here but not in figures.csv: ")
    assert lines[1].count(",") == 45 - 1 - 1


def test_two_runs_of_one_observer_have_the_same_figure(shown_run: Run, tmp_path: Path) -> None:
    shutil.copytree(shown_run.folder, tmp_path / "again")
    every = entrants([shown_run, tmp_path / "again", "@cai2025"])
    table = figures("timm/vit_small_patch16_224.dino", "pixels (again)", "network")
    found = match("figures.csv", table, every)[0]["top1"].dropna()
    assert [(label.split("(")[-1], value) for label, value in found.items()] == [
        ("shown)", 2), ("shown)", 0), ("again)", 1), ("again)", 2), ("again)", 0), ("@cai2025)", 0),
    ]  # fmt: skip


def test_nobody_is_named() -> None:
    with pytest.raises(FechnerError, match="it has a, b, and there are pixels, "):
        match("figures.csv", figures("a", "b"), entrants(["@cai2025"]))
