"""A tiny suite for tests: what the second test shows depends on the answers to the first."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from fechner.experiments import Piece, Presenter, Scene
from fechner.experiments.presenter import differences
from fechner.observers.abilities import Ability
from fechner.stimuli import OPPONENT, Field, Gabor, Layer, Stimulus, display
from fechner.suites import Options, Suite, Test

NAME = "following"
SCENE = Scene(Field(32, 32, 16.0), display("encoders"), OPPONENT)
#: Pieces of each test, one of them for figures only; contrasts of each piece.
PIECES, EACH = 5, 3


@dataclass(frozen=True)
class Gabors:
    """Shows contrasts, larger ones the more an observer saw in an earlier test."""

    id: str
    version: int = 1
    asks: Ability = "compares"
    title: str = "Gabors"
    reference: str = "cai2025"
    needs: tuple[()] = ()
    scene: Scene = SCENE
    axes: tuple[str, str] = ("contrast", "")
    method: str = "Gabors are shown."

    def pieces(self) -> list[Piece]:
        return [
            Piece(f"piece-{i}", i * EACH, (i + 1) * EACH, EACH, for_scores=i < PIECES - 1)
            for i in range(PIECES)
        ]

    def measure(
        self, piece: Piece, presenter: Presenter, *earlier: xr.Dataset | None
    ) -> xr.Dataset:
        gain = [1.0 if each is None else 1 + float(each["response"].mean()) for each in earlier]
        seen = [0 if each is None else each.sizes["contrast"] for each in earlier]
        contrasts = 0.01 * (1 + np.arange(piece.start, piece.stop)) * np.prod(gain)
        grey = Stimulus(OPPONENT.background_xyz(40.0))
        modulation = OPPONENT.modulation_xyz("ach", 40.0)
        shown = [
            Stimulus(grey.background_xyz, (Layer(Gabor(2.0, 0.3), modulation, float(c)),))
            for c in contrasts
        ]
        found = differences(presenter, shown, [grey] * len(shown), self.scene)
        name = "response" if piece.for_scores else "surface"
        along = "contrast" if piece.for_scores else "contrast_of_surface"
        return xr.Dataset(
            {name: ((along, "layer", "readout"), found)},
            {along: contrasts, "layer": presenter.layers, "readout": presenter.readouts},
            {"along": along, "seen": seen or [0]},
        )

    def samples(self) -> list[Any]:
        return []


class Squares(torch.nn.Module):
    """A comparer that other processes can load."""

    def forward(self, test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        return (test - reference).square().mean(dim=(1, 2, 3))


def nothing(*arguments: Any) -> list[Any]:
    return []


def tests(options: Options) -> list[Test]:
    """The order of the suite is not the order in which they can be measured."""
    return [
        Test(Gabors("third"), nothing, nothing, after=("second", "first")),
        Test(Gabors("second"), nothing, nothing, after=("first",)),
        Test(Gabors("first"), nothing, nothing),
        Test(Gabors("alone"), nothing, nothing),
        Test(Gabors("odd"), nothing, nothing, by_default=False),
    ]


SUITE = Suite(NAME, "Following", "cai2025", tests, further={"more-of-it": "--images FOLDER"})

#: Where runs find it, in other processes too.
SPEC = f"{Path(__file__).resolve()}:SUITE"
