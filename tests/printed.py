"""Looking at printed figures: what is written on them, and whether it can be read."""

import itertools

from matplotlib.figure import Figure
from matplotlib.text import Text

from fechner.report.paper.style import paper_style


def writing(figure: Figure) -> list[Text]:
    """Return everything that is written on a figure."""
    return [each for each in figure.findobj(Text) if each.get_visible() and each.get_text().strip()]


def words(figure: Figure) -> list[str]:
    """Return the words on a figure."""
    return [each.get_text() for each in writing(figure)]


def size_mm(figure: Figure) -> tuple[float, float]:
    """Return width and height as printed."""
    width, height = figure.get_size_inches() * 25.4
    return float(width), float(height)


def check_legible(figure: Figure) -> None:
    """Nothing is too small, leaves the page, or lies over something else."""
    with paper_style():
        figure.draw_without_rendering()  # legends find their place
        boxes = [(each.get_text(), each.get_window_extent()) for each in writing(figure)]
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
