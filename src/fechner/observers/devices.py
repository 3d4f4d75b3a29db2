"""Where to compute."""

from __future__ import annotations

from fechner.errors import FechnerError


def check_device(name: str) -> str:
    """Return the name of a device if torch can compute there.

    Examples
    --------
    >>> check_device("cpu")
    'cpu'
    """
    import torch

    try:
        torch.empty(1, device=name, dtype=torch.float64)  # read-outs sum in double precision
    except (RuntimeError, AssertionError, TypeError) as error:
        why = str(error).splitlines()[0].split(",")[0].rstrip(".")
        raise FechnerError(
            f"device '{name}' cannot be used here ({why}); `fechner doctor` lists those that can."
        ) from None
    return name


def best_device() -> str:
    """Return the accelerator of this machine if it has float64, as Apple's has not, or the CPU."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
