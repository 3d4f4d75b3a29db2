"""Sheets of receptive fields: what is on them can be read, and is what was found."""

import csv
import io
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from gabor_bank import CONDITIONS, gabor_bank, planted
from PIL import Image
from printed import check_legible, size_mm, words
from torch import nn

from fechner import observe
from fechner.errors import FechnerError
from fechner.physiology import Tuning, by_jacobian, by_noise, describe, record
from fechner.report.fields import (
    SUFFIXES,
    draw_sheet,
    make_fields_page,
    to_csv,
    write_sheet,
)
from fechner.report.fields.words import caption, picture, sections


@pytest.fixture(scope="module")
def tunings() -> list[Tuning]:
    """Two layers: Gabors, and what small kernels of noise make of them."""
    torch.manual_seed(0)
    gabors = planted(8)
    network = nn.Sequential(gabor_bank(gabors), nn.ReLU(), nn.Conv2d(8, 2, 1))
    observer = observe(network, name="<b>bank</b> & $friends$")
    found = by_jacobian(record(observer, ["0", "2"], conditions=CONDITIONS))
    return [describe(field) for field in found]


@pytest.mark.parametrize("columns", [1, 2])
def test_a_sheet_can_be_read(tunings: list[Tuning], columns: int) -> None:
    figure = draw_sheet(tunings, columns)
    check_legible(figure)
    assert size_mm(figure)[0] == pytest.approx({1: 85, 2: 178}[columns])
    written = words(figure)
    assert any(each.endswith(" 2") for each in written)
    for tuning in tunings:
        for line in caption(tuning):
            assert line in written
    assert len(figure.axes) == len(tunings)


def test_captions_have_frequency_orientation_and_what_is_explained(tunings: list[Tuning]) -> None:
    first = tunings[0]
    assert first.gabor is not None
    unit, tuned, explained = caption(first)
    assert unit == "0 oriented"
    assert (
        tuned == f"{first.gabor.peak_cpd:.3g} cpd, {round(first.gabor.orientation_deg) % 180}°, ach"
    )
    assert explained.startswith("R² 1.00, DoG 0.")


def test_pictures_are_weights_around_grey(tunings: list[Tuning]) -> None:
    field = tunings[0].field
    shown = picture(field).astype(float)
    assert shown.shape == (17, 17, 3)
    expected = np.moveaxis(127.5 + 127.5 * field.weights / np.abs(field.weights).max(), 0, -1)
    assert np.abs(shown - expected).max() <= 0.5


def test_layers_are_sections(tunings: list[Tuning]) -> None:
    first, second = sections(tunings)
    assert (first.layer, second.layer) == ("0", "2")
    assert first.counts == "8 units: 8 oriented"
    assert "linear light by derivatives at the grey; grey of 40 cd/m2" in first.method
    assert "0.266 x 0.266 degrees" in first.method


def test_what_cannot_be_seen_is_not_shown() -> None:
    """A speck in a wide field is shown as large as there is of it."""
    bank = nn.Conv2d(3, 2, 21, bias=False)
    bank.weight.data[:] = 1e-5
    bank.weight.data[0, :, 9:12, 8:12] = 1.0
    found = by_jacobian(record(observe(bank, name="speck"), conditions=CONDITIONS))
    speck = describe(found[0])
    (section,) = sections([speck])
    assert section.part.size_px == (3, 4)
    assert section.picture(speck).shape == (3, 4, 3)
    assert "0.0625 x 0.0469 degrees shown" in section.method
    both = sections([describe(field) for field in found])[0]
    assert both.part.size_px == (21, 21)  # the other is flat, so all of it is seen


def test_the_method_of_noise_is_told() -> None:
    observer = observe(gabor_bank(planted(1)), name="bank")
    found = by_noise(record(observer, conditions=CONDITIONS), pictures=2000)
    (section,) = sections([describe(field) for field in found])
    assert "2,000 pictures of noise of contrast 0.2" in section.method


def test_the_table_has_every_fit_with_errors(tunings: list[Tuning]) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(tunings))))
    assert len(rows) == len(tunings)
    for row, tuning in zip(rows, tunings, strict=True):
        assert row["observer"] == tuning.field.observer
        assert int(row["channel"]) == tuning.field.unit.channel
        assert row["linear"] == ""
        if tuning.gabor is None:
            assert row["gabor_frequency_cpd"] == ""
            continue
        assert float(row["gabor_frequency_cpd"]) == tuning.gabor.frequency_cpd
        error = tuning.gabor.errors["frequency_cpd"]
        assert float(row["gabor_frequency_cpd_error"]) == error
        assert float(row["t"]) == tuning.colour.atd[1]


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.bold = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]
        self.bold += tag == "b"


def test_the_page_needs_nothing_else(tunings: list[Tuning]) -> None:
    text = make_fields_page(tunings)
    page = Tags(text)
    assert all(each.startswith("data:") for each in page.loads)
    assert len(page.loads) == len(tunings) + 1
    assert page.bold == len(tunings)  # none of them from a name
    assert "&lt;b&gt;bank&lt;/b&gt; &amp; $friends$" in text
    assert "8 units: 8 oriented" in text


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_by_their_suffix(tunings: list[Tuning], suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"sheet{suffix}"
    told = write_sheet(tunings, path)
    assert told.startswith(f"{path}: ")
    assert path.stat().st_size > 1000
    if suffix == ".png":
        with Image.open(path) as image:
            assert image.width == pytest.approx(178 / 25.4 * 300, abs=1)


def test_where_a_sheet_cannot_be_written(tunings: list[Tuning], tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match=r"should end in \.pdf, \.png, \.svg, \.html or \.csv"):
        write_sheet(tunings, tmp_path / "sheet.gif")
    with pytest.raises(FechnerError, match="there is no folder"):
        write_sheet(tunings, tmp_path / "nowhere" / "sheet.png")
