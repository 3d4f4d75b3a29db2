"""What the ways of finding receptive fields share: whom to show what, and where to look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from fechner.errors import FechnerError, ObserverError
from fechner.observers.abilities import Encodes, abilities
from fechner.observers.memory import free_memory
from fechner.observers.taps import choose_layers
from fechner.physiology.conditions import Conditions
from fechner.physiology.receptive_field import By, ReceptiveField, Window
from fechner.physiology.units import Site, Unit, find_site, responses

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

#: Where weights are found: in a window, within reach of the units, or in all of the field.
Where = Window | Literal["support", "field"]

#: Values of a batch of pictures, unless told how many pictures a batch has.
_BATCH_VALUES = 1 << 23
_MOST_PICTURES = 256
#: Share of the free memory that weights may take.
_SHARE = 0.5


class Progress(Protocol):
    """Hears how many pictures there are to show, and how many have been shown."""

    def start(self, images: int) -> None:
        """Hear how many there are."""
        ...

    def images(self, n: int) -> None:
        """Hear that n were shown."""
        ...


@dataclass(frozen=True)
class Recording:
    """Units of an encoder under some conditions.

    Parameters
    ----------
    where
        See `Where`; ``support`` are the pixels that change any unit of a layer, found by
        gradients, or all of the field for observers without.
    """

    encoder: Encodes
    conditions: Conditions
    sites: tuple[Site, ...]
    where: Where = "support"
    device: str = "cpu"

    @property
    def n_units(self) -> int:
        """How many units there are in all layers."""
        return sum(len(site.units) for site in self.sites)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of pictures."""
        import torch

        found: torch.dtype = getattr(torch, self.encoder.wants.dtype)
        return found

    def batch_size(self, batch: int | None) -> int:
        """Return how many pictures are shown at a time."""
        if batch is not None:
            return max(1, batch)
        field = self.conditions.field
        return max(1, min(_MOST_PICTURES, _BATCH_VALUES // (3 * field.height_px * field.width_px)))

    def grey(self, n: int) -> Tensor:
        """Return n pictures of the grey."""
        return self.conditions.uniform(n, self.dtype, self.device)

    def look(self, pictures: Tensor) -> Tensor:
        """Return what all units say, [n, units]."""
        return responses(self.encoder, pictures, self.conditions, self.sites)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Where the weights of each layer are found."""
        field = self.conditions.field
        if isinstance(self.where, Window):
            self.where.check(field)
            return (self.where,) * len(self.sites)
        if self.where == "field":
            return (Window.whole(field),) * len(self.sites)
        return tuple(map(Window.around, self._reached()))

    @property
    def window(self) -> Window:
        """Where the weights of any layer are found."""
        first, *others = self.windows
        for other in others:
            first = first.joined(other)
        return first

    def _reached(self) -> list[NDArray[np.bool_]]:
        """Return which pixels change any unit of each layer, around two pictures of noise.

        Noise, because at the grey itself rectified units may be silent.
        """
        import torch

        random = np.random.default_rng(0)
        pictures = self.grey(2)
        signs = random.choice((-1.0, 1.0), tuple(pictures.shape))
        step = min(0.1, self.conditions.room() / 2)
        pictures = (pictures * (1 + step * torch.as_tensor(signs).to(pictures))).requires_grad_()
        size = tuple(pictures.shape[-2:])
        with torch.enable_grad():
            said = self.look(pictures)
            if not said.requires_grad:
                return [np.ones(size, dtype=bool)] * len(self.sites)
            # Random factors, so that units do not cancel.
            mixed = said * torch.as_tensor(random.normal(size=tuple(said.shape))).to(said)
            found, first = [], 0
            for site in self.sites:
                part = mixed[:, first : first + len(site.units)].sum()
                first += len(site.units)
                more = first < self.n_units
                (slope,) = torch.autograd.grad(part, pictures, retain_graph=more)
                found.append((slope != 0).any(dim=0).any(dim=0).cpu().numpy())
        return found

    def empty(self, window: Window, arrays: int = 1) -> NDArray[np.float64]:
        """Return room for the weights of all units in a window.

        Parameters
        ----------
        arrays
            How many arrays of that size will be held at a time.
        """
        height, width = window.size_px
        shape = (self.n_units, 3, height, width)
        needed = 8 * arrays * int(np.prod(shape))
        free = free_memory()
        if needed > _SHARE * free:
            raise FechnerError(
                f"the weights of {self.n_units} units in {height} x {width} px take "
                f"{needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB of memory are free; name fewer "
                "units or layers, or a smaller window."
            )
        return np.zeros(shape)

    def fields(
        self,
        by: By,
        window: Window,
        weights: NDArray[np.float64],
        pictures: int,
        *,
        contrast: float | None = None,
        errors: NDArray[np.float64] | None = None,
        linear: NDArray[np.float64] | None = None,
    ) -> tuple[ReceptiveField, ...]:
        """Return weights of all units as receptive fields, each in its layer's window."""
        made = []
        for k, (site, unit, own) in enumerate(self._units()):
            rows, columns = own.within(window).slices
            made.append(
                ReceptiveField(
                    observer=self.encoder.name,
                    layer=site.layer,
                    unit=unit,
                    by=by,
                    weights=weights[k][:, rows, columns],
                    conditions=self.conditions,
                    window=own,
                    pictures=pictures,
                    contrast=contrast,
                    errors=None if errors is None else errors[k][:, rows, columns],
                    linear=None if linear is None else float(linear[k]),
                    channels=site.shape[site.channel_axis],
                )
            )
        return tuple(made)

    def _units(self) -> Iterator[tuple[Site, Unit, Window]]:
        for site, window in zip(self.sites, self.windows, strict=True):
            for unit in site.units:
                yield site, unit, window


def record(
    encoder: Any,
    layers: str | Sequence[str] | None = None,
    units: Sequence[int | tuple[int, ...]] | int | None = None,
    *,
    conditions: Conditions | None = None,
    window: Where = "support",
    device: str = "cpu",
) -> Recording:
    """Choose units of an encoder, and the conditions.

    Parameters
    ----------
    layers
        Names or patterns of layers (``fechner layers`` lists them); None is the encoder's stages.
    units
        Channels, at the centre of the layer's map; or indices such as (channel, row, column); or
        how many channels, from the first on. None is all channels.
    conditions
        The defaults of `Conditions` if None, with the field that the observer wants.
    """
    if "encodes" not in abilities(encoder):
        name = getattr(encoder, "name", type(encoder).__name__)
        raise ObserverError(f"observer '{name}' is not an encoder, so it has no units to record.")
    if isinstance(units, int) and units < 1:
        raise FechnerError(f"at least one unit is recorded, not {units}.")
    patterns = [layers] if isinstance(layers, str) else layers
    seen = (conditions or Conditions()).seen_by(encoder.wants)
    sites = []
    for layer in choose_layers(encoder, patterns):
        wanted = None if isinstance(units, int) else units
        site = find_site(encoder, layer, seen, wanted, device)
        if isinstance(units, int):
            site = Site(site.layer, site.shape, site.channel_axis, site.units[:units])
        sites.append(site)
    return Recording(encoder, seen, tuple(sites), window, device)
