"""Memory: how much there is, how much a call takes, and an error instead of being killed."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

#: Share of the free memory that a batch may take.
_SHARE = 0.6
_CGROUP = Path("/sys/fs/cgroup")


def free_memory(device: str = "cpu") -> int:
    """Return how many bytes can still be had on a device; containers' limits count."""
    import torch

    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(device)[0])
    free = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text()) - _cached_files()
        free = min(free, limit - used)
    return max(0, free)


def _cached_files() -> int:
    """Return what a container holds of files it has read: it is given back when it is needed."""
    with suppress(OSError, ValueError):
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
        values = dict(line.split() for line in lines)
        return int(values.get("inactive_file", 0)) + int(values.get("active_file", 0))
    return 0


def peak_memory(function: Callable[[], object], device: str = "cpu") -> int:
    """Call a function and return the most bytes it held beyond what was held before."""
    import torch

    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        function()
        return int(torch.cuda.max_memory_allocated(device) - before)
    gc.collect()
    _hand_back_freed_memory()
    before = int(psutil.Process().memory_info().rss)
    with _highest_memory() as highest:
        result = function()
    del result  # it was counted
    return highest() - before


@contextmanager
def _highest_memory() -> Iterator[Callable[[], int]]:
    """Follow the memory of this process; afterwards, what is yielded says the most it held.

    Linux keeps count by itself. Elsewhere a thread looks every now and then, and may miss peaks of
    a few milliseconds.
    """
    process = psutil.Process()
    if _forget_highest():
        yield lambda: max(int(process.memory_info().rss), _kilobytes("VmHWM") * 1024)
        return
    seen = [int(process.memory_info().rss)]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            seen[0] = max(seen[0], int(process.memory_info().rss))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield lambda: seen[0]
    finally:
        seen[0] = max(seen[0], int(process.memory_info().rss))
        done.set()
        watcher.join()


def _forget_highest() -> bool:
    """Let Linux count the highest memory from now on; False where that cannot be had."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _hand_back_freed_memory() -> None:
    """Return what the C library keeps for later, so that it is not mistaken for what is used."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for the next batch instead of handing it back.

    Every large tensor is otherwise mapped and cleared anew, which costs a third of the time of some
    observers on a CPU. Only glibc has this switch, and only a process of our own is changed.
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
def no_more_than_there_is(device: str = "cpu") -> Iterator[None]:
    """Make too large a request for memory an error that can be caught.

    Linux otherwise grants it and later kills the process. Elsewhere, and for other devices, nothing
    changes.
    """
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    if device.partition(":")[0] != "cpu" or not Path("/proc/self/status").exists():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _private_memory() + free_memory() + psutil.swap_memory().free
    if before[0] != resource.RLIM_INFINITY:
        limit = min(limit, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _private_memory() -> int:
    """Return what the limit counts: private writable memory, in bytes."""
    return _kilobytes("VmData") * 1024


def _kilobytes(name: str) -> int:
    """Return what Linux knows of this process, 0 if it has no such entry."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is not enough memory, by the words of any library.

    Examples
    --------
    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    """
    import torch

    text = str(error).lower()
    signs = (
        "out of memory",
        "not enough memory",
        "allocate memory",
        "bad_alloc",
        "bad allocation",
        "start new thread",
    )
    libraries = isinstance(error, RuntimeError | OSError) or type(error).__module__.startswith(
        "onnxruntime"
    )
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        libraries and any(sign in text for sign in signs)
    )
