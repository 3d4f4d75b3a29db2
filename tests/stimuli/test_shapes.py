"""Squares, measured back from the picture."""

import pytest

from fechner.stimuli import Field, Square


@pytest.mark.parametrize("side", [0.25, 0.75, 0.7337])
@pytest.mark.parametrize("pixels", [128, 129])
def test_area_and_place_of_a_square(side: float, pixels: int) -> None:
    field = Field.of(pixels=pixels, ppd=64)
    drawn = Square(side).draw(field)
    assert drawn.shape == (pixels, pixels)
    assert float(drawn.sum()) / 64**2 == pytest.approx(side**2, rel=1e-9)
    x, y = field.grid()
    assert float((drawn * x).sum()) == pytest.approx(0, abs=1e-9)
    assert float((drawn * y).sum()) == pytest.approx(0, abs=1e-9)
    # Mean square distance from the middle, of a uniform square: a twelfth of its side squared.
    spread = float((drawn * x.square()).sum() / drawn.sum())
    assert spread == pytest.approx(side**2 / 12, rel=0.01)
    assert float(drawn.max()) == 1
    assert float(drawn.min()) == 0


def test_whole_pixels_have_sharp_edges() -> None:
    drawn = Square(0.5).draw(Field.of(pixels=128, ppd=64))
    assert float(drawn[48:80, 48:80].min()) == 1
    assert float(drawn.sum()) == 32**2
    assert Square(0.5).highest_cpd == 0


def test_a_square_of_nothing() -> None:
    with pytest.raises(ValueError, match="side_deg is 0; it must be above 0"):
        Square(0.0)
