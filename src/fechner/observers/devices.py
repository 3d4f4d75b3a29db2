"""Where to compute, and the memory there: how much is free, how much a call takes.

On a CPU, too large a request for memory can be made an error instead of being killed.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from fechner.arrays import torch
from fechner.errors import FechnerError

#: Share of the free memory that a batch may take.
_SHARE = 0.6
_CGROUP = Path("/sys/fs/cgroup")

#: What libraries say when there is not enough memory.
_SIGNS = (
    *("out of memory", "not enough memory", "allocate memory"),
    *("bad_alloc", "bad allocation", "start new thread"),
)


def check_device(name: str) -> str:
    """Return the name of a device if torch can compute there.

    Examples
    --------
    >>> check_device("cpu")
    'cpu'
    """
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
    return "cuda" if torch.cuda.is_available() else "cpu"


def free_memory(device: str = "cpu") -> int:
    """Return how many bytes can still be had on a device; containers' limits count."""
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(device)[0])
    free = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):  # no container, or one without a limit
        limit, used = (int((_CGROUP / f"memory.{x}").read_text()) for x in ("max", "current"))
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        files = int(stat["inactive_file"]) + int(stat["active_file"])  # given back when needed
        free = min(free, limit - used + files)
    return max(0, free)


def peak_memory(function: Callable[[], object], device: str = "cpu") -> int:
    """Call a function and return the most bytes it held beyond what was held before.

    On a CPU, memory is looked at every two milliseconds: shorter peaks may be missed.
    """
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
        allocated = torch.cuda.memory_allocated(device)
        function()
        return int(torch.cuda.max_memory_allocated(device) - allocated)
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what glibc keeps for later is not in use
    process = psutil.Process()
    before = highest = int(process.memory_info().rss)
    done = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.002):
            highest = max(highest, int(process.memory_info().rss))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        _result = function()  # held until it is counted
        highest = max(highest, int(process.memory_info().rss))
    finally:
        done.set()
        watcher.join()
    return highest - before


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for the next batch instead of handing it back.

    Every large tensor is otherwise mapped and cleared anew, which costs a quarter of the time of
    some observers on a CPU. Only glibc has this switch, and only a process of our own is changed.
    """
    trim_threshold, mmap_threshold, one_gigabyte = -1, -3, 1 << 30  # names of malloc.h
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(trim_threshold, one_gigabyte)
        library.mallopt(mmap_threshold, one_gigabyte)


def fitting_batch_size(bytes_per_picture: int, free: int, most: int) -> int:
    """Return the largest power of two, at most ``most``, of pictures that fit into free memory.

    Examples
    --------
    >>> fitting_batch_size(100, free=1000, most=64)
    4
    """
    size = 1
    while size * 2 <= most and size * 2 * bytes_per_picture <= _SHARE * free:
        size *= 2
    return size


@contextmanager
def limited_memory(device: str = "cpu") -> Iterator[None]:
    """Make too large a request for memory an error that can be caught.

    Linux otherwise grants it and later kills the process. Elsewhere, and for other devices, nothing
    changes.
    """
    if sys.platform != "linux" or device.partition(":")[0] != "cpu":
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = psutil.Process().memory_info().data + free_memory() + psutil.swap_memory().free
    if before[0] != resource.RLIM_INFINITY:
        limit = min(limit, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is not enough memory, by the words of any library.

    Examples
    --------
    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    """
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    of_a_library = isinstance(error, RuntimeError | OSError) or type(error).__module__.startswith(
        "onnxruntime"
    )
    return of_a_library and any(sign in str(error).lower() for sign in _SIGNS)
