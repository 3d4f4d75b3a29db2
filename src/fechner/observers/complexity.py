"""How large a network is: its parameters, and the arithmetic that one picture takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fechner.arrays import torch
from fechner.observers.abilities import ANY_SIZE
from fechner.observers.devices import is_out_of_memory
from fechner.observers.inputs import grey
from fechner.observers.network import NetworkEncoder
from fechner.observers.taps import OUTPUT

#: Namespaces of operators that the counter knows, or that compute nothing.
_COUNTED = ("aten", "prim", "prims", "profiler")


@dataclass(frozen=True)
class Complexity:
    """Parameters of a network, its classifier included, and operations for one picture.

    ``gflops`` are thousand million floating-point operations for ``size_px``, two for each
    multiply-add in matrix products, convolutions and attention; None if not counted, ``why_not``.
    """

    parameters: int
    gflops: float | None
    size_px: tuple[int, int]
    why_not: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """What there is to say about it, by what it is about."""
        height, width = self.size_px
        operations = f"not counted: {self.why_not}"
        if self.gflops is not None:
            operations = f"{self.gflops:.3g} for {height} x {width} px (2 x multiply-adds)"
        return {"parameters": f"{self.parameters:,}", "GFLOPs": operations}


def count(observer: Any) -> Complexity | None:
    """Count parameters and operations; None for observers that are no torch networks.

    Examples
    --------
    >>> import torch
    >>> from fechner.observers import Wants, observe
    >>> conv = torch.nn.Conv2d(3, 16, kernel_size=4, stride=4)  # 56 x 56 x 16 x (4 x 4 x 3) MACs
    >>> found = count(observe(conv, wants=Wants(size_px=(224, 224))))
    >>> found.parameters, found.gflops
    (784, 0.004816896)
    """
    if not isinstance(observer, NetworkEncoder):
        return None
    parameters = sum(each.numel() for each in observer.module.parameters())
    if parameters == 0:
        return None
    flops, why_not = 0, ""
    try:
        flops, unknown = _flops(observer)
        if unknown:
            why_not = f"torch's counter does not know {', '.join(sorted(unknown))}"
        elif flops == 0:
            why_not = "it computes where torch's counter cannot see"
    except Exception as error:
        why_not = f"it raised {type(error).__name__} under torch's counter"
        if is_out_of_memory(error):
            why_not = "there is not enough memory"
    size_px = observer.wants.size_px or ANY_SIZE
    return Complexity(parameters, None if why_not else flops / 1e9, size_px, why_not)


def _flops(observer: NetworkEncoder) -> tuple[int, set[str]]:
    """Return operations for one picture, and the names of operators that cannot be counted."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode, flop_registry, sdpa_flop_count

    unknown: set[str] = set()

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func.namespace not in _COUNTED and func.overloadpacket not in flop_registry:
                unknown.add(str(func.overloadpacket))
            return func(*args, **(kwargs or {}))

    def attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
        return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]

    # What a CPU has for attention is not in the counter's list.
    on_cpu = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)
    more = {} if on_cpu is None or on_cpu in flop_registry else {on_cpu: attention}
    picture = grey(observer.wants, 1, next(observer.module.parameters()).device)
    counter = FlopCounterMode(display=False, custom_mapping=more)
    # `nn.MultiheadAttention` is computed step by step: the counter does not see into the fused one.
    fused = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad(), counter, Watch():  # type: ignore[no-untyped-call]
            observer.features(picture, {OUTPUT: lambda _: None})
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)
    return int(counter.get_total_flops()), unknown
