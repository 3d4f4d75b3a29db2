"""Tables keep every number and never break on odd names."""

import csv
import io
import json
import math

import pytest

from fechner.report.tables import FORMATS
from fechner.runs import Result
from fechner.scores import Score


def result(observer: str, test: str, value: float, **changes: object) -> Result:
    score = Score(
        "alignment",
        value,
        value - 0.1,
        value + 0.1,
        higher_is_better=True,
        best=1.0,
        chance=0.0,
        resampled="abscissae",
        n=200,
        **changes,
    )
    return Result(observer, "encoders", test, "default", score)


ODD = 'a|b & "c", <script>_{%}'


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_takes_odd_names_missing_cells_and_nan(format: str) -> None:
    results = [
        result("pixels", "area", 0.5),
        result(ODD, "luminance", math.nan, note="not computable: constant"),
    ]
    text = FORMATS[format](results)
    assert "pixels" in text
    assert text.endswith("\n")
    assert FORMATS[format]([]).endswith("\n")


def test_csv_reads_back() -> None:
    results = [result(ODD, "area", 0.123456789), result("b", "area", math.nan)]
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](results))))
    assert rows[0]["observer"] == ODD
    assert float(rows[0]["value"]) == pytest.approx(0.123457, abs=1e-9)
    assert rows[1]["value"] == ""


def test_json_is_strict_and_whole() -> None:
    rows = json.loads(FORMATS["json"]([result("a", "area", math.nan, note="why")]))
    assert rows[0]["value"] is None
    assert rows[0]["note"] == "why"
    assert rows[0]["score"] == "alignment"


def test_text_aligns_and_names_what_was_left_out_once() -> None:
    note = "10 of 200 points aliased"
    results = [result("pixels", "frequency-ach", 0.5, note=note),
               result("cvvdp", "frequency-ach", 0.65, note=note)]  # fmt: skip
    lines = FORMATS["table"](results).splitlines()
    assert lines[2].split("  ")[0] == "frequency-ach"
    assert lines[0].index("cvvdp") == lines[2].index("0.650")
    assert lines[-1] == f"frequency-ach: {note} (pixels, cvvdp)"
    assert sum(note in line for line in lines) == 1


def test_markdown_escapes_bars_and_latex_its_own() -> None:
    assert r"a\|b" in FORMATS["md"]([result(ODD, "area", 0.5)])
    latex = FORMATS["latex"]([result(ODD, "area", 0.5)])
    assert r"a|b \& " in latex
    assert r"\_\{\%\}" in latex
