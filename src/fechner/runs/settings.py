"""How a run is done: settings that are the same for every suite."""

from __future__ import annotations

from dataclasses import dataclass

from fechner.observers.abilities import Dtype
from fechner.observers.readouts import check_readouts
from fechner.suites.options import Checked, option


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """Where and how to compute, what to read out, and when to stop.

    Examples
    --------
    >>> Settings(readouts="angle,l2").readouts
    ('angle', 'l2')
    """

    scores_only: bool = option(
        False, help="Leave out what only figures need: response surfaces and curves of matches."
    )
    device: str | None = option(
        None, help="cpu, cuda...; an accelerator if there is one. Fixed at the first start."
    )
    threads: int | None = option(
        None, help="CPU threads, of each worker if there are several. Fixed at first.", low=1
    )
    workers: int = option(
        1,
        help="Processes that measure. Results are bit-identical for a given --threads; by default "
        "workers share the cores.",
        low=1,
    )
    batch_size: int | None = option(
        None, help="Pictures at a time; by default, all that fit into memory.", low=1
    )
    readouts: tuple[str, ...] | None = option(
        None,
        flag="readout",
        help="How encoders are read out: angle, l2, l1, minkowski4, linf, energy or correlation; "
        "several, comma-separated, at once.",
    )
    layers: tuple[str, ...] | None = option(
        None,
        help="Where encoders are read out: comma-separated names or patterns, as in "
        "'blocks.*,output'; their natural stages if left out (`fechner layers NAME`).",
    )
    weights: str | None = option(
        None,
        help="Weights for the observer named, instead of its own: safetensors, or a torch file "
        "that holds tensors only.",
    )
    dtype: Dtype | None = option(
        None, help="Precision of networks; differences near threshold need float32."
    )
    trust_remote_code: bool = option(
        False, help="Run code that comes with weights (torch.hub, hub)."
    )
    max_trials: int | None = option(
        None, help="Stop after this many answers in words, earlier starts included.", low=1
    )
    max_cost: float | None = option(
        None, help="Stop once this many dollars are spent, earlier starts included.", low=0
    )
    accept_invalid: bool = option(
        False,
        help="Go on with an observer even if 20 of its first 25 replies are none of the options.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_readouts(self.readouts or ())
