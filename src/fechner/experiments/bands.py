"""What becomes of recognition when a band of frequencies is suppressed, or filled with noise.

After Hernández-Cámara et al. (2025, section 5): whatever the band, pictures are changed by the same
RMSE, so that what differs between bands is how much the observer needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from fechner.errors import PictureError
from fechner.experiments.base import Piece, Sample, Scene, geometry
from fechner.experiments.presenter import PROBLEMS, Presenter
from fechner.experiments.recognition import NOT_SHOWN, prompt_for, recognise
from fechner.observers.abilities import Ability, Need
from fechner.observers.classes import readable_names
from fechner.stimuli import (
    Album,
    Band,
    BandNoise,
    Manipulated,
    Photograph,
    Picture,
    Stimulus,
    Suppressed,
)
from fechner.stimuli.manipulations.spectra import AtRmse, rmse_between
from fechner.stimuli.pictures import picture_drawn

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray
    from torch import Tensor

Kind = Literal["suppressed", "noise"]

_MANIPULATIONS: dict[Kind, Callable[..., AtRmse]] = {"suppressed": Suppressed, "noise": BandNoise}
_IN_WORDS = {
    "suppressed": "suppressed in the Fourier domain",
    "noise": "filled with Gaussian noise, the same in all channels",
}

#: Rows and columns of the samples.
_COLUMNS = 6


@dataclass(frozen=True)
class BandRobustness:
    """Measure whether photographs are still recognised when bands of them are changed.

    Parameters
    ----------
    album
        The photographs, and the classes to choose from.
    bands_cpd
        Centres of the bands, in cycles per degree.
    rmse
        Root mean squared differences from the original, in display-encoded values of 0..1.
    kind
        Whether a band is suppressed or filled with noise.
    octaves
        Width of the bands.
    """

    id: str
    title: str
    reference: str
    scene: Scene
    album: Album
    bands_cpd: tuple[float, ...]
    rmse: tuple[float, ...]
    kind: Kind
    octaves: float = 1.0
    seed: int = 0
    version: int = 1

    asks: ClassVar[Ability] = "recognises"
    needs: ClassVar[tuple[Need, ...]] = ()
    axes: ClassVar[tuple[str, str]] = ("spatial frequency (cpd)", "RMSE")

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        classes = self.album.classes
        width = "an octave" if self.octaves == 1 else f"{self.octaves:g} octaves"
        levels = ", ".join(f"{level:g}" for level in self.rmse)
        left_out = (
            "a band that has less than that in it is left out for that picture"
            if self.kind == "suppressed"
            else "what leaves 0..1 is cut, and the noise made up to half as strong again"
        )
        return (
            f"{len(self.album)} photographs of {len(classes)} classes are shown as they are, and "
            f"with one band of {width} around each of {len(self.bands_cpd)} frequencies from "
            f"{self.bands_cpd[0]:.3g} to {self.bands_cpd[-1]:.3g} cpd {_IN_WORDS[self.kind]}, so "
            f"that their RMSE to the original, in display-encoded values of 0 to 1 as shown, is "
            f"{levels} whatever the band; {left_out}. Classifiers choose the class with the "
            "highest score among these; observers that read are asked "
            f"'{_short(prompt_for(classes, labels=False).text)}', or which label fits best, such "
            f"as '{prompt_for(classes, labels=True).options[0]}'. A reply that is none of the "
            f"classes is wrong. {self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """List the unperturbed pictures and then one piece for each band."""
        n, levels = len(self.album), len(self.rmse)
        return [
            Piece("unperturbed", 0, 1, n, questions=n),
            *(
                Piece(f"band-{index:02d}", index + 1, index + 2, n * levels, questions=n * levels)
                for index in range(len(self.bands_cpd))
            ),
        ]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Show all pictures, unperturbed or with one band changed."""
        import xarray as xr

        wants, album = presenter.observer.wants, self.album
        field, bits = self.scene.drawn_field(wants), presenter.display(self.scene).bits
        # Picture by picture, so that every file is decoded once.
        levels = self.rmse if piece.start else (0.0,)
        pictures = [
            self.picture(photograph, piece.start - 1, level)
            for photograph in album.photographs
            for level in levels
        ]
        labels = [label for label in album.labels for _ in levels]
        fits = piece.start == 0 or self.band(piece.start - 1).fits(field)
        rmse_shown = np.full(len(pictures), np.nan)

        def look(row: int, pixels: Tensor) -> None:
            photograph = album.photographs[row // len(levels)]
            original = picture_drawn(photograph, field, bits, presenter.device)
            rmse_shown[row] = float(rmse_between(pixels[None], original[None]))

        shown = pictures if fits else []
        found = recognise(presenter, shown, album.classes, self.scene, look=look)
        shape = (len(album), len(levels), len(presenter.layers), len(presenter.readouts))
        flags = np.full(shape[:2], PROBLEMS.index("aliased"), np.uint8)
        chosen = np.full(shape, NOT_SHOWN, np.int16)
        right, margin = np.full(shape, np.nan), np.full(shape[:3], np.nan)
        if fits:
            words = [why or "shown" for why, _ in found.problems]
            flags[:] = np.reshape([PROBLEMS.index(word) for word in words], shape[:2])
            chosen[:] = found.chosen.reshape(shape)
            right[:] = found.right(labels, presenter.readouts).reshape(shape)
            margin[:] = found.margin(labels).reshape(shape[:3])
        dims = ("band", "rmse", "picture", "layer")

        def spread(values: NDArray[np.generic]) -> NDArray[np.generic]:
            """Put pictures last but one; what is unperturbed is the same at every RMSE."""
            ordered = np.moveaxis(values, 0, 1)[None]
            return np.broadcast_to(ordered, (1, len(self.rmse), *ordered.shape[2:])).copy()

        return xr.Dataset(
            {
                "chosen": ((*dims, "readout"), spread(chosen)),
                "margin": (dims, spread(margin)),
                "problem": (dims[:3], spread(flags), {"meanings": " ".join(PROBLEMS)}),
                "right": ((*dims, "readout"), spread(right)),
                "rmse_shown": (dims[:3], spread(rmse_shown.reshape(shape[:2]))),
            },
            coords={
                "band": ("band", [self.bands_cpd[piece.start - 1] if piece.start else 0.0]),
                "class_of": ("picture", np.array(album.labels, np.int16)),
                "layer": ("layer", presenter.layers),
                "picture": ("picture", [each.name for each in album.photographs]),
                "readout": ("readout", presenter.readouts),
                "rmse": ("rmse", list(self.rmse)),
            },
            attrs={
                "along": "band",
                "chance": 1 / len(album.classes),
                "classes": "|".join(readable_names(album.classes)),
                "kind": self.kind,
                "reads": presenter.reads,
                "unreadable": " ".join(
                    dict.fromkeys(words for why, words in found.problems if why == "unreadable")
                ),
                **geometry(self.scene, wants),
            },
        )

    def band(self, index: int) -> Band:
        """Return a band."""
        return Band.octaves(self.bands_cpd[index], self.octaves)

    def picture(
        self, photograph: Photograph, band: int, rmse: float, nearest: bool = False
    ) -> Picture:
        """Return a photograph with one band changed; RMSE 0 is the photograph itself."""
        if rmse == 0:
            return photograph
        # The same noise whatever other pictures there are, and for every RMSE.
        own = int(photograph.sha256[:12] or "0", 16)
        manipulation = _MANIPULATIONS[self.kind](self.band(band), nearest=nearest)
        return Manipulated(photograph, manipulation, rmse, (self.seed, own))

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return one photograph over band (columns) and RMSE (rows, strongest on top).

        Where it cannot be changed as much, it is changed as much as it can be.
        """
        columns = np.unique(np.linspace(0, len(self.bands_cpd) - 1, _COLUMNS).round().astype(int))
        photograph = self._readable()
        return [
            [
                Sample(
                    self.picture(photograph, column, level, nearest=True)
                    if photograph is not None
                    else Stimulus(self.scene.space.background_xyz(20.0)),
                    x=f"{self.bands_cpd[column]:.3g}",
                    y=f"{level:g}",
                    at=self.bands_cpd[column],
                )
                for column in columns.tolist()
            ]
            for level in reversed(self.rmse)
        ]

    def _readable(self) -> Photograph | None:
        """Return the first photograph that can be read; None if they are gone."""
        for photograph in self.album.photographs:
            try:
                picture_drawn(photograph, self.scene.field.still(), self.scene.display.bits)
            except PictureError:
                continue
            return photograph
        return None


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
