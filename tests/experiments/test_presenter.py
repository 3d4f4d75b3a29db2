"""Batches: as many stimuli as fit into memory, what several rows show counted once."""

import pytest
from asking import Simulated, weibull

from fechner.experiments import Presenter, Scene
from fechner.stimuli import OPPONENT, Field, display


def scene(side: int) -> Scene:
    return Scene(Field(side, side, 64.0), display("verbal"), OPPONENT)


PRESENTER = Presenter(Simulated(weibull(0.1, 3.0)), batch_size=4)


@pytest.mark.parametrize(("side", "size"), [(64, 4), (224, 4), (448, 1), (896, 1)])
def test_larger_pictures_count_for_more(side: int, size: int) -> None:
    assert PRESENTER.at_a_time(scene(side)) == size
    batches = list(PRESENTER.batches(range(9), scene(side)))
    assert [row for batch in batches for row in batch] == list(range(9))
    assert {len(batch) for batch in batches[:-1]} == {size}


def test_stimuli_that_rows_share_count_once() -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (0, 4), (5, 6)]
    batches = PRESENTER.batches(range(5), scene(64), stimuli=lambda row: pairs[row])
    assert list(batches) == [[0, 1, 2], [3, 4]]


def test_a_row_that_does_not_fit_has_a_batch_of_its_own() -> None:
    batches = PRESENTER.batches([0, 1], scene(64), stimuli=lambda row: range(row, row + 6))
    assert list(batches) == [[0], [1]]
    assert list(PRESENTER.batches(range(9), scene(448), at_least=8)) == [list(range(8)), [8]]
