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
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0].split(",")[0].rstrip(".")
        raise FechnerError(
            f"device '{name}' cannot be used here ({why}); `fechner doctor` lists those that can."
        ) from None
    return name
