"""Read-outs against plain float64 formulas, for differences from large to tiny."""

import math

import numpy as np
import pytest
import torch

from fechner.errors import UnknownNameError
from fechner.observers.readouts import (
    MAY_BE_UNDEFINED,
    READOUTS,
    check_readouts,
    energy_of,
    read_out,
    row_sum,
)

NAMES = tuple(READOUTS)


def formula(name: str, x: np.ndarray, r: np.ndarray) -> float:
    """One pair of feature vectors in float64; the angle as Kahan wrote it."""
    x, r = x.astype(np.float64).ravel(), r.astype(np.float64).ravel()
    d = x - r
    if name == "angle":
        u, v = x / np.linalg.norm(x), r / np.linalg.norm(r)
        return 2 * math.atan2(np.linalg.norm(u - v), np.linalg.norm(u + v)) / math.pi
    if name == "energy":
        return abs(math.fsum((x - r) * (x + r))) / (np.linalg.norm(x) + np.linalg.norm(r))
    if name == "correlation":
        u, v = (each - each.mean() for each in (x, r))
        u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
        return float(np.linalg.norm(u - v)) ** 2 / 2
    order = {"l2": 2, "l1": 1, "minkowski4": 4, "linf": np.inf}[name]
    return float(np.linalg.norm(d, ord=order))


def expected(x: torch.Tensor, r: torch.Tensor, which: list[int]) -> np.ndarray:
    return np.array(
        [[formula(name, x[i].numpy(), r[k].numpy()) for name in NAMES] for i, k in enumerate(which)]
    )


def ask(
    x: torch.Tensor, r: torch.Tensor, which: list[int], names: tuple[str, ...] = NAMES
) -> torch.Tensor:
    return read_out(x, r, energy_of(r.flatten(1)), torch.tensor(which), names)


def features(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    drawn = np.random.default_rng(seed).standard_normal(shape) + 0.3
    return torch.from_numpy(drawn).to(dtype)


@pytest.mark.parametrize("size", [2, 255, 256, 257, 512, 1000])
def test_all_in_double_precision(size: int) -> None:
    x, r = features(5, size), features(1, size, seed=1)
    np.testing.assert_allclose(ask(x, r, [0] * 5), expected(x, r, [0] * 5), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_single_feature(dtype: torch.dtype) -> None:
    # All lengths agree with |x - r|; one number has no angle.
    x = torch.tensor([[3.0], [-0.5], [-3.0]], dtype=dtype)
    found = ask(x, torch.tensor([[2.0]], dtype=dtype), [0, 0, 0])
    lengths = [1.0, 2.5, 5.0]
    for name in ("l2", "l1", "minkowski4", "linf"):
        assert found[:, NAMES.index(name)].tolist() == pytest.approx(lengths, rel=1e-6)
    assert found[:, NAMES.index("energy")].tolist() == pytest.approx([1.0, 1.5, 1.0], rel=1e-6)
    assert found[:, NAMES.index("angle")].isnan().all()


def test_features_that_differ_in_length_alone_have_no_angle() -> None:
    r = features(1, 5, seed=1, dtype=torch.float32)
    x = r * torch.linspace(0.6, 1.9, 50)[:, None]
    assert ask(x, r, [0] * 50, ("angle",)).max() < 1e-6


@pytest.mark.parametrize("size", [2, 300, 4096, 20001])
def test_all_in_single_precision(size: int) -> None:
    x = features(3, size, dtype=torch.float32)
    r = features(1, size, seed=1, dtype=torch.float32)
    found = ask(x, r, [0, 0, 0])
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found, expected(x, r, [0, 0, 0]), rtol=2e-5, atol=1e-7)


def test_each_test_has_its_own_reference() -> None:
    x, r = features(6, 3, 7, 5), features(3, 3, 7, 5, seed=1)
    which = [2, 0, 0, 1, 2, 1]
    np.testing.assert_allclose(ask(x, r, which), expected(x, r, which), rtol=1e-9)


def test_read_outs_come_in_the_order_asked_for() -> None:
    x, r = features(4, 50), features(1, 50, seed=1)
    everything = ask(x, r, [0] * 4)
    some = ask(x, r, [0] * 4, ("linf", "angle"))
    assert torch.equal(some, everything[:, [NAMES.index("linf"), NAMES.index("angle")]])


@pytest.mark.parametrize("references", [1, 4])
def test_splitting_a_batch_changes_nothing(references: int) -> None:
    # 600 x 1025 is more than is read out in one block.
    x = features(600, 1025, dtype=torch.float32)
    r = features(references, 1025, seed=1, dtype=torch.float32)
    which = [i % references for i in range(600)]
    whole = ask(x, r, which)
    parts = torch.cat([ask(x[i : i + 77], r, which[i : i + 77]) for i in range(0, 600, 77)])
    torch.testing.assert_close(whole, parts, rtol=1e-12, atol=0)
    backwards = ask(x.flip(0), r, which[::-1]).flip(0)
    torch.testing.assert_close(whole, backwards, rtol=1e-12, atol=0)
    np.testing.assert_allclose(whole[599], expected(x[599:], r, which[599:])[0], rtol=2e-5)


def near(scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Features that differ by little, as pictures near threshold give them."""
    generator = np.random.default_rng(3)
    r = torch.from_numpy(generator.uniform(0.5, 1.0, (1, 30000))).float()
    noise = torch.from_numpy(generator.standard_normal((1, 30000))).float()
    return r + scale * noise, r


@pytest.mark.parametrize("scale", [1e-3, 1e-5, 1e-6])
def test_tiny_differences_in_single_precision(scale: float) -> None:
    x, r = near(scale)
    np.testing.assert_allclose(ask(x, r, [0]), expected(x, r, [0]), rtol=1e-3)


def test_the_usual_formulas_fail_there() -> None:
    # What the read-outs are for: the same features by arccos and by a difference of norms.
    x, r = near(1e-6)
    cosine = torch.nn.functional.cosine_similarity(x, r).clamp(-1, 1)
    naive_angle = (cosine.arccos() / math.pi).item()
    assert abs(naive_angle / formula("angle", x.numpy(), r.numpy()) - 1) > 0.5
    naive_energy = abs(x.norm() - r.norm()).item()
    assert abs(naive_energy / formula("energy", x.numpy(), r.numpy()) - 1) > 0.5


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e8])
def test_minkowski_neither_underflows_nor_overflows(scale: float) -> None:
    x = (features(2, 500) * scale).float()
    r = torch.zeros(1, 500)
    if scale == 1e-12:
        assert x.pow(4).sum() == 0  # what happens without care
    found = ask(x, r, [0, 0], ("minkowski4",))[:, 0]
    truth = [formula("minkowski4", row.numpy(), r.numpy()) for row in x]
    np.testing.assert_allclose(found, truth, rtol=1e-5)


def test_minkowski_by_hand() -> None:
    x, r = torch.tensor([[1.0, 2.0, -2.0]]), torch.tensor([[1.0, 0.0, -5.0]])
    assert ask(x, r, [0], ("minkowski4",)).item() == pytest.approx((2**4 + 3**4) ** 0.25)


@pytest.mark.parametrize("degrees", [0.01, 30.0, 90.0, 150.0, 179.99, 180.0])
def test_angles_of_all_sizes(degrees: float) -> None:
    angle = math.radians(degrees)
    x = torch.tensor([[7 * math.cos(angle), 7 * math.sin(angle)]], dtype=torch.float64)
    r = torch.tensor([[2.0, 0.0]], dtype=torch.float64)
    assert ask(x, r, [0], ("angle",)).item() == pytest.approx(degrees / 180, rel=1e-7)


def test_the_angle_ignores_length_and_the_energy_ignores_direction() -> None:
    r = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    longer, turned = 2 * r, r.flip(1)
    angle, energy = ask(torch.cat([longer, turned]), r, [0, 0], ("angle", "energy")).T
    assert angle.tolist() == pytest.approx([0.0, math.acos(24 / 25) / math.pi], abs=1e-9)
    assert energy.tolist() == pytest.approx([5.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_no_difference_is_zero_with_a_finite_gradient(name: str) -> None:
    nothing = torch.zeros(1, 300, dtype=torch.float64)
    for r in (features(1, 300), *([] if name == "correlation" else [nothing])):
        x = r.clone().requires_grad_()
        answer = ask(x, r, [0], (name,))
        assert answer.item() == 0
        answer.sum().backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree_with_finite_differences(name: str) -> None:
    x, r = features(3, 270).requires_grad_(), features(2, 270, seed=1)
    assert torch.autograd.gradcheck(lambda rows: ask(rows, r, [1, 0, 1], (name,)), x)


@pytest.mark.parametrize("size", [1, 255, 256, 257, 700, 150528])
def test_row_sums(size: int) -> None:
    rows = features(2, size, dtype=torch.float32)
    truth = rows.double().sum(dim=1)
    slack = 1e-7 * rows.double().abs().sum(dim=1).max().item()
    torch.testing.assert_close(row_sum(rows), truth, rtol=0, atol=slack)


def test_long_rows_are_summed_in_double_precision() -> None:
    # 2^32 + 256 is no float32.
    row = torch.cat([torch.full((256,), 2.0**24), torch.ones(256)])[None]
    assert row.sum().item() != 2.0**32 + 256
    assert row_sum(row).item() == 2.0**32 + 256


def test_unknown_read_out() -> None:
    assert check_readouts(["l2", "angle"]) == ("l2", "angle")
    with pytest.raises(UnknownNameError, match="no read-out named 'angel'; did you mean 'angle'"):
        check_readouts(["l2", "angel"])


@pytest.mark.parametrize("name", READOUTS)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_what_is_not_a_number_is_not_hidden(name: str, bad: float) -> None:
    reference = features(1, 300, dtype=torch.float32)
    x = reference.repeat(3, 1)
    x[1, 7] = bad
    answers = ask(x, reference, [0, 0, 0], (name,))
    assert torch.isfinite(answers[:, 0]).tolist() == [True, False, True]


def test_the_correlation_of_constant_features_is_undefined() -> None:
    varied, constant = features(1, 300, dtype=torch.float32), torch.full((1, 300), 0.1)
    found = [
        ask(x, r, [0], ("correlation",)).item()
        for x in (varied, constant)
        for r in (varied, constant)
    ]
    assert np.isnan(found).tolist() == [False, True, True, True]


def test_the_correlation_does_not_heed_mean_and_scale() -> None:
    r = features(1, 300)
    x = torch.cat([3 * r + 2, -r + 5, features(1, 300, seed=2)])
    found = 1 - ask(x, r, [0, 0, 0], ("correlation",))[:, 0]
    pearson = np.corrcoef(x[2].numpy(), r[0].numpy())[0, 1]
    assert found.tolist() == pytest.approx([1, -1, pearson], abs=1e-9)


def test_a_silent_reference_has_no_angle() -> None:
    r = features(1, 300, seed=1)
    x = r + features(4, 300, seed=2) * torch.tensor([[0.0], [1.0], [100.0], [1e5]])
    found = ask(x, r, [0, 0, 0, 0], ("angle",))[:, 0]
    assert found.isnan().tolist() == [False, False, False, True]
    nothing = torch.zeros(1, 2)
    x = torch.tensor([[0.0, 0.0], [1.0, 2.0]])
    assert ask(x, nothing, [0, 0], ("angle",))[0] == 0
    assert ask(x, nothing, [0, 0], ("angle",))[1].isnan()


@pytest.mark.parametrize("scale", [1e-20, 1e-30, 1e25])
def test_no_read_out_leaves_the_range_of_single_precision(scale: float) -> None:
    x, r = features(3, 300, dtype=torch.float32), features(1, 300, seed=1, dtype=torch.float32)
    found = ask(x * scale, r * scale, [0, 0, 0])
    lengths = torch.tensor([1.0 if name in MAY_BE_UNDEFINED else scale for name in NAMES])
    np.testing.assert_allclose(found / lengths.double(), ask(x, r, [0, 0, 0]), rtol=1e-4)


def test_features_that_are_not_finite_are_not_undefined() -> None:
    x = torch.tensor([[1.0, math.nan], [math.inf, 1.0], [1.0, 2.0]])
    found = ask(x, torch.tensor([[2.0, 1.0]]), [0, 0, 0], ("angle", "correlation"))
    assert found[:2].isinf().all()
    assert found[2].isfinite().all()
