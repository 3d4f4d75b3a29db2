"""Looking at printed figures: what is written on them, and whether it can be read."""

import itertools

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from fechner.report.figures.style import FONT, paper_style


def writing(figure: Figure) -> list[Text]:
    """Return everything that is written on a figure."""
    return [each for each in figure.findobj(Text) if each.get_visible() and each.get_text().strip()]


def words(figure: Figure) -> list[str]:
    """Return the words on a figure."""
    return [each.get_text() for each in writing(figure)]


def lines_on(figure: Figure) -> list[str]:
    """Return the lines of words on a figure."""
    return [line for text in words(figure) for line in text.split("\n")]


def legends(figure: Figure) -> list[Legend]:
    """Return the legends of a figure, the uppermost first."""
    found = [each for each in figure.findobj(Legend) if each.axes is None]
    return sorted(found, key=lambda legend: -legend.get_window_extent().y0)


def width_mm(line: str, size_pt: float) -> float:
    """Return how wide a line is when printed."""
    font = FontProperties(family=FONT, size=size_pt)
    return float(text_to_path.get_text_width_height_descent(line, font, False)[0]) / 72 * 25.4


def _boxes(text: Text, mm: float) -> list[tuple[str, Bbox]]:
    """Return the lines of a text with their boxes; of turned text, all of them."""
    box, lines = text.get_window_extent(), text.get_text().split("\n")
    if len(lines) == 1 or text.get_rotation():
        return [(text.get_text(), box)]
    share = {"left": 0.0, "center": 0.5, "right": 1.0}[text.get_horizontalalignment()]
    found = []
    for k, line in enumerate(lines):
        width = min(width_mm(line, text.get_fontsize()) * mm, box.width) if line.strip() else 0.0
        left, top = box.x0 + share * (box.width - width), box.y1 - k * box.height / len(lines)
        found.append(
            (line, Bbox.from_extents(left, top - box.height / len(lines), left + width, top))
        )
    return found


def size_mm(figure: Figure) -> tuple[float, float]:
    """Return width and height as printed."""
    width, height = figure.get_size_inches() * 25.4
    return float(width), float(height)


def check_legible(figure: Figure) -> None:
    """Nothing is too small, leaves the page, or lies over something else."""
    with paper_style():
        figure.draw_without_rendering()  # legends find their place
        mm = figure.dpi / 25.4
        boxes = [box for each in writing(figure) for box in _boxes(each, mm)]
    assert boxes
    assert min(each.get_fontsize() for each in writing(figure)) >= 7
    page, tolerance = figure.bbox, figure.dpi / 72 / 4
    for text, box in boxes:
        inside = box.x0 > -tolerance and box.x1 < page.x1 + tolerance
        inside = inside and box.y0 > -tolerance and box.y1 < page.y1 + tolerance
        assert inside, f"{text!r} leaves the page"
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(wide, high) < tolerance, f"{one!r} lies over {other!r}"
