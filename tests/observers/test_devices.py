"""Memory: how much there is, how much a call takes, and an error instead of being killed."""

import contextlib
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from fechner.observers import devices as memory
from fechner.observers.devices import (
    fitting_batch_size,
    free_memory,
    is_out_of_memory,
    limited_memory,
    peak_memory,
)

pytestmark = pytest.mark.usefixtures("freed_memory_is_handed_back")

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory cannot be limited")

#: Bytes that this machine has, and nothing can be given.
ALL = psutil.virtual_memory().total + psutil.swap_memory().total


# How much there is


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where a container's limits are looked for."""
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    (tmp_path / "memory.stat").write_text("inactive_file 0\nactive_file 0\n")
    return tmp_path


def test_free_memory_without_a_container_is_that_of_the_machine(cgroup: Path) -> None:
    assert free_memory() == pytest.approx(psutil.virtual_memory().available, rel=0.1)


@pytest.mark.parametrize(
    ("limit", "used", "free"),
    [("3000000\n", "1000000\n", 2_000_000), ("3000000", "3500000", 0)],
)
def test_free_memory_heeds_the_limit_of_a_container(
    cgroup: Path, limit: str, used: str, free: int
) -> None:
    (cgroup / "memory.max").write_text(limit)
    (cgroup / "memory.current").write_text(used)
    assert free_memory() == free


@pytest.mark.parametrize("limit", ["max\n", str(100 * ALL)])
def test_a_container_without_a_limit_has_what_the_machine_has(cgroup: Path, limit: str) -> None:
    (cgroup / "memory.max").write_text(limit)
    (cgroup / "memory.current").write_text("1000000\n")
    assert free_memory() == pytest.approx(psutil.virtual_memory().available, rel=0.1)


def test_files_that_a_container_has_read_leave_its_memory_free(cgroup: Path) -> None:
    # The kernel counts what it caches of files as used, and gives it back when it is needed.
    (cgroup / "memory.max").write_text("4000000\n")
    (cgroup / "memory.current").write_text("3900000\n")
    (cgroup / "memory.stat").write_text(
        "anon 900000\nfile 3000000\ninactive_anon 0\nactive_anon 900000\n"
        "inactive_file 3000000\nactive_file 0\n"
    )
    assert free_memory() == 3_100_000


# How much a call takes


def test_peak_memory_of_a_known_allocation() -> None:
    assert peak_memory(lambda: torch.ones(25_000_000)) == pytest.approx(100e6, rel=0.2)


def test_peak_memory_counts_what_is_given_back_within_the_call() -> None:
    def up_and_down() -> None:
        large = torch.ones(25_000_000)
        large += 1
        del large
        torch.ones(1_000_000)

    assert peak_memory(up_and_down) == pytest.approx(100e6, rel=0.2)


def test_peak_memory_is_the_same_again() -> None:
    first, second = (peak_memory(lambda: np.ones(6_250_000)) for _ in range(2))
    assert second == pytest.approx(first, rel=0.2)
    assert second == pytest.approx(50e6, rel=0.2)


def test_peak_memory_of_nothing_is_little() -> None:
    assert 0 <= peak_memory(lambda: None) < 5e6


def test_peak_memory_hands_on_what_a_call_raises() -> None:
    with pytest.raises(ValueError, match="as it was"):
        peak_memory(lambda: (_ for _ in ()).throw(ValueError("as it was")))


# How many pictures fit


@pytest.mark.parametrize(
    ("bytes_per_picture", "free", "most", "size"),
    [
        (1, 10**12, 8, 8),
        (1, 10**12, 100, 64),
        (1, 10**12, 1, 1),
        (100, 2000, 64, 8),
        (150, 2000, 64, 8),
        (151, 2000, 64, 4),
        (1000, 10, 64, 1),
        (1000, 0, 64, 1),
    ],
)
def test_the_largest_power_of_two_that_takes_six_tenths_of_what_is_free(
    bytes_per_picture: int, free: int, most: int, size: int
) -> None:
    assert fitting_batch_size(bytes_per_picture, free, most) == size


# An error instead of being killed


@linux
@pytest.mark.parametrize(
    "ask",
    [
        lambda: torch.empty(ALL, dtype=torch.uint8),
        lambda: np.empty(ALL, dtype=np.uint8),
        lambda: bytearray(ALL),
    ],
    ids=["torch", "numpy", "python"],
)
def test_asking_for_more_than_there_is_can_be_caught(ask) -> None:
    with limited_memory(), pytest.raises((MemoryError, RuntimeError)) as caught:
        ask()
    assert is_out_of_memory(caught.value)


@linux
def test_many_requests_that_are_too_much_together_can_be_caught() -> None:
    # Each alone is granted; what was never touched costs nothing.
    held: list[torch.Tensor] = []
    part = free_memory() // 8

    def ask_sixteen_times() -> None:
        for _ in range(16):
            held.append(torch.empty(part, dtype=torch.uint8))

    with limited_memory(), pytest.raises(RuntimeError) as caught:
        ask_sixteen_times()
    assert is_out_of_memory(caught.value)
    assert len(held) >= 4


@linux
def test_half_of_what_is_free_can_be_had() -> None:
    with limited_memory():
        assert torch.empty(free_memory() // 2, dtype=torch.uint8).numel() > 0


@pytest.fixture
def unlimited() -> Iterator[tuple[int, int]]:
    """Take limits away for a test, and return what that means."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (before[1], before[1]))
    yield (before[1], before[1])
    resource.setrlimit(resource.RLIMIT_DATA, before)


@linux
@pytest.mark.parametrize("error", [None, ValueError("inside")])
def test_the_limit_ends_with_the_block(unlimited: tuple[int, int], error: Exception | None) -> None:
    with contextlib.suppress(ValueError), limited_memory():
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        assert 0 < soft < 2 * ALL
        assert (soft, hard) != unlimited
        assert hard == unlimited[1]
        if error is not None:
            raise error
    assert resource.getrlimit(resource.RLIMIT_DATA) == unlimited


@linux
def test_a_lower_limit_of_the_user_is_kept() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    own = (psutil.Process().memory_info().vms + free_memory() // 2, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, own)
    try:
        with limited_memory():
            assert resource.getrlimit(resource.RLIMIT_DATA) == own
        assert resource.getrlimit(resource.RLIMIT_DATA) == own
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@linux
@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("name", ["cpu", "cpu:0"])
def test_the_processor_is_limited_by_any_name(name: str) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory(name):
        assert resource.getrlimit(resource.RLIMIT_DATA) != before


@linux
def test_other_devices_are_not_limited() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory("cuda"):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before


# What says that memory is out


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."),
        RuntimeError("std::bad_alloc"),
        RuntimeError("bad allocation"),
        OSError(12, "Cannot allocate memory"),
    ],
    ids=str,
)
def test_words_for_too_little_memory(error: BaseException) -> None:
    assert is_out_of_memory(error)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
        ValueError("a picture of an elephant who never forgets is out of memory"),
        OSError(2, "No such file or directory"),
        KeyboardInterrupt(),
    ],
    ids=repr,
)
def test_other_errors_are_not_about_memory(error: BaseException) -> None:
    assert not is_out_of_memory(error)


def test_onnxruntime_says_it_in_an_exception_of_its_own() -> None:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    words = "Failed to allocate memory for requested buffer of size 99"
    assert is_out_of_memory(state.RuntimeException(f"[ONNXRuntimeError] : 6 : {words}"))
