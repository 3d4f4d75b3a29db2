"""Sheets of receptive fields: what is on them can be read, and is what was found."""

import csv
import io
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from gabor_bank import CONDITIONS, gabor_bank, planted
from PIL import Image
from printed import check_legible, lines_on, size_mm, words
from torch import nn

from fechner import observe
from fechner.errors import FechnerError
from fechner.physiology import Conditions, Tuning, by_jacobian, by_noise, describe, record
from fechner.report.fields import (
    SUFFIXES,
    caption,
    draw_sheets,
    make_fields_page,
    picture,
    scale_bar,
    sections,
    to_csv,
    write_sheet,
)
from fechner.stimuli import Field


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
    pages = draw_sheets(tunings, columns)
    assert len(pages) == {1: 2, 2: 1}[columns]
    for page in pages:
        check_legible(page)
        assert size_mm(page)[0] == pytest.approx({1: 85, 2: 178}[columns])
    written = [each for page in pages for each in lines_on(page)]
    assert any(each.endswith(" 2") for each in written)
    for tuning in tunings:
        for line in caption(tuning):
            assert line in written
    assert sum(len(axes.images) for page in pages for axes in page.axes) == len(tunings)


def test_captions_have_frequency_orientation_and_what_is_explained(tunings: list[Tuning]) -> None:
    first = tunings[0]
    assert first.gabor is not None
    unit, tuned, explained = caption(first)
    assert unit == "0 oriented"
    assert (
        tuned == f"{first.gabor.peak_cpd:.3g} cpd, {round(first.gabor.orientation_deg) % 180}°, ach"
    )
    assert explained == "R² 1.00"


def _dogs(sigmas_px: Sequence[float]) -> list[Tuning]:
    """Centre-surround kernels whose surrounds are twice as wide and take away four fifths."""
    place = torch.arange(41.0) - 20
    squared = place[:, None] ** 2 + place[None, :] ** 2
    bank = nn.Conv2d(3, len(sigmas_px), 41, bias=False)
    for k, sigma in enumerate(sigmas_px):
        centre, surround = (
            torch.exp(-squared / (2 * s**2)) / (2 * torch.pi * s**2) for s in (sigma, 2 * sigma)
        )
        colour = torch.tensor([0.3, 0.6, 0.1])[:, None, None]
        bank.weight.data[k] = colour * (centre - 0.8 * surround)
    conditions = Conditions(field=Field.of(pixels=48, ppd=64))
    found = by_jacobian(record(observe(bank, name="dogs"), conditions=conditions))
    return [describe(field) for field in found]


def test_centre_surround_fields_have_no_frequency_but_a_centre() -> None:
    (wide,) = _dogs([3.2])
    assert caption(wide) == ("0 centre-surround", "centre σ 0.05°, ach", "R² 1.00")


def test_windows_fit_fields_and_bars_their_scale() -> None:
    narrow, wide = _dogs([0.8, 3.2])
    (section,) = sections([narrow, wide])
    # One scale, and halves of it: where the field is seen, with a margin.
    sides = [max(section.window(each).size_px) for each in (narrow, wide)]
    assert sides[1] > 4 * 3.2
    assert sides[0] == pytest.approx(sides[1] / 2, abs=1)
    for each in (narrow, wide):
        shown = section.picture(each)
        assert shown.shape == (*section.window(each).size_px, 3)
        largest = np.abs(shown.astype(float) - 127.5).max(axis=-1)
        assert largest.argmax() == pytest.approx(largest.size / 2, abs=largest.shape[1])
        assert largest[0].max() < 0.1 * largest.max()
    (figure,) = draw_sheets([narrow, wide])
    shares = [float(np.ptp(axes.lines[0].get_xdata())) for axes in figure.axes if axes.lines]
    assert shares == pytest.approx([scale_bar(side / 64) / (side / 64) for side in sides])


def test_sheets_fit_a_page_and_say_what_is_not_on_them() -> None:
    """70 of 80 units, ten of which are silent, take two pages."""
    bank = gabor_bank(planted(80))
    bank.weight.data[:10] = 0
    found = by_jacobian(record(observe(bank, name="many"), units=70, conditions=CONDITIONS))
    tunings = [describe(field) for field in found]
    pages = draw_sheets(tunings)
    assert [len(page.axes) for page in pages] == [30, 30]
    for page in pages:
        check_legible(page)
        assert size_mm(page)[1] <= 225
    assert any(each.startswith("70 of 80 units: ") for each in lines_on(pages[0]))
    assert any("10 silent (not drawn)" in each for each in words(pages[0]))
    assert any(each.endswith("(continued)") for each in lines_on(pages[1]))


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
    assert "scale bars in degrees (64 px/deg)" in first.method


def test_what_cannot_be_seen_is_not_shown() -> None:
    """A speck in a wide field is shown with a margin."""
    bank = nn.Conv2d(3, 2, 21, bias=False)
    bank.weight.data[:] = 1e-5
    bank.weight.data[0, :, 9:12, 8:12] = 1.0
    speck, flat = (
        describe(field)
        for field in by_jacobian(record(observe(bank, name="speck"), conditions=CONDITIONS))
    )
    (section,) = sections([speck])
    assert section.window(speck).size_px == (6, 6)
    both = sections([speck, flat])[0]
    assert both.window(flat).size_px == (25, 25)  # all of the field, since its margin is no more
    assert both.window(speck).size_px == (7, 7)


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


def test_pages_are_one_pdf_or_numbered_files(tmp_path: Path) -> None:
    bank = gabor_bank(planted(31))
    found = by_jacobian(record(observe(bank, name="many"), conditions=CONDITIONS))
    tunings = [describe(field) for field in found]
    told = write_sheet(tunings, tmp_path / "sheet.png")
    assert f"to {tmp_path / 'sheet-2.png'}: 2 pages of 178 x 2" in told
    assert (tmp_path / "sheet-2.png").exists()
    assert ": 2 pages of" in write_sheet(tunings, tmp_path / "sheet.pdf")
    pdf = (tmp_path / "sheet.pdf").read_bytes()
    assert pdf.count(b"/Type /Page ") == 2
    assert b"CreationDate" not in pdf


def test_where_a_sheet_cannot_be_written(tunings: list[Tuning], tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match=r"should end in \.pdf, \.png, \.svg, \.html or \.csv"):
        write_sheet(tunings, tmp_path / "sheet.gif")
    with pytest.raises(FechnerError, match="there is no folder"):
        write_sheet(tunings, tmp_path / "nowhere" / "sheet.png")
