"""ST-LPIPS (Ghildyal & Liu 2022, ghildyal_liu2022): LPIPS that hardly minds small shifts.

Its networks blur before they subsample; their weights come with the package.
"""

from __future__ import annotations

from fechner.errors import UnknownNameError
from fechner.observers.metrics.lpips import declare, distance_of_activations
from fechner.observers.metrics.metric import Metric
from fechner.observers.metrics.packages import import_package, quietly, release
from fechner.observers.metrics.precision import Precision, at_precision

_NETWORKS = ("alex", "vgg")

ABOUT = {"st-lpips/alex": declare("float32", 4), "st-lpips/vgg": declare("float32", 3)}


def load(name: str, device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return the observer."""
    if name not in _NETWORKS:
        raise UnknownNameError(
            "network of ST-LPIPS", name, _NETWORKS, f"there are {', '.join(_NETWORKS)}"
        )
    full_name = f"st-lpips/{name}"
    package = import_package("stlpips_pytorch.stlpips", full_name, "st-lpips")
    with quietly():
        module = package.LPIPS(net=name, variant="shift_tolerant", verbose=False)
    about = at_precision(ABOUT[full_name], precision)
    return distance_of_activations(full_name, about, module, release("stlpips-pytorch"), device)
