"""What holds for every manipulation there is; a new one is tested by being in the list."""

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass
from typing import ClassVar

import pytest
import torch
from photographs import PHOTOGRAPHS, path_of

from fechner.errors import FechnerError
from fechner.references import reference
from fechner.stimuli import Field
from fechner.stimuli.manipulations import IMAGENET_C, MANIPULATIONS, PUBLISHED, Manipulation
from fechner.stimuli.manipulations import manipulation as by_name
from fechner.stimuli.pictures import Manipulated, Photograph, Picture, photograph, picture_drawn

FIELD = Field(64, 48, 16.0)
SEEDS = [(7, 0), (7, 1), (7, 2)]


@pytest.fixture(scope="module")
def photographs() -> list[Photograph]:
    return [photograph(path_of(name), label) for label, name in list(PHOTOGRAPHS.items())[:3]]


@pytest.fixture(scope="module")
def pixels(photographs: list[Photograph]) -> torch.Tensor:
    return torch.stack([picture_drawn(each, FIELD, 8) for each in photographs]).float()


@pytest.fixture(params=list(MANIPULATIONS))
def manipulation(request: pytest.FixtureRequest) -> Manipulation:
    found = MANIPULATIONS[request.param]
    assert isinstance(found, Manipulation)
    return found


def middle(manipulation: Manipulation) -> float:
    weakest, strongest = manipulation.range
    return (weakest * strongest) ** 0.5


def test_there_are_those_of_the_paper_and_all_of_imagenet_c() -> None:
    assert [each.name for each in PUBLISHED] == [
        "blur",
        "occlusion",
        "salt-pepper",
        "brightness-up",
        "brightness-down",
        "contrast-up",
        "contrast-down",
        "sharpness-up",
        "sharpness-down",
    ]
    assert len(IMAGENET_C) == 15 + 4
    assert all(each.name.startswith("c-") for each in IMAGENET_C)


def test_what_it_says_of_itself(manipulation: Manipulation) -> None:
    assert MANIPULATIONS[manipulation.name] is manipulation
    assert manipulation.applies_to == "pictures"
    weakest, strongest = manipulation.range
    assert 0 < weakest < strongest <= manipulation.most
    assert reference(manipulation.reference)
    assert manipulation.words[0].islower()
    assert not manipulation.words.endswith(".")
    assert manipulation.title[0].isupper()
    up, _, direction = manipulation.name.rpartition("-")
    if manipulation.opposite:
        other = MANIPULATIONS[manipulation.opposite]
        assert other.opposite == manipulation.name
        assert {direction, other.name.rpartition("-")[2]} == {"up", "down"}
        assert other.name.rpartition("-")[0] == up
    else:
        assert direction not in ("up", "down")
    with pytest.raises(FrozenInstanceError):
        manipulation.__setattr__("name", "another")
    assert len({manipulation, MANIPULATIONS[manipulation.name]}) == 1


def test_level_0_is_the_picture_to_the_bit(
    manipulation: Manipulation, photographs: list[Photograph], pixels: torch.Tensor
) -> None:
    level = middle(manipulation)
    levels = [0.0, level, 0.0]
    recipes = [
        Manipulated(photograph, manipulation, *each)
        for photograph, *each in zip(photographs, levels, SEEDS, strict=True)
    ]
    shown = manipulation.show(recipes, FIELD, 8, "cpu", torch.float32)
    assert torch.equal(shown[0], pixels[0])
    assert torch.equal(shown[2], pixels[2])
    assert not torch.equal(shown[1], pixels[1])
    steps = shown * 255
    torch.testing.assert_close(steps, steps.round(), atol=1e-4, rtol=0)
    # What is remembered of a picture is not written to.
    assert torch.equal(picture_drawn(photographs[1], FIELD, 8).float(), pixels[1])
    exact = manipulation.show(recipes[:1], FIELD, None, "cpu", torch.float64)
    assert torch.equal(exact[0], picture_drawn(photographs[0], FIELD, None))


def test_a_row_depends_on_its_own_picture_level_and_seed(
    manipulation: Manipulation, pixels: torch.Tensor
) -> None:
    weakest, strongest = manipulation.range
    level = middle(manipulation)
    kept = pixels.clone()
    alone = manipulation.apply(pixels[:1], [level], SEEDS[:1])
    for other in (weakest, strongest):
        first = manipulation.apply(pixels, [level, other, 0.0], SEEDS)
        last = manipulation.apply(pixels.flip(0), [other, other, level], SEEDS[::-1])
        assert torch.equal(first[0], alone[0])
        assert torch.equal(last[2], alone[0])
    assert torch.equal(pixels, kept)


def test_seeds_matter_if_it_is_random(manipulation: Manipulation, pixels: torch.Tensor) -> None:
    same = pixels[:1].expand(4, -1, -1, -1)
    # (1,) and (1, 0) are two seeds.
    first, again, other, longer = manipulation.apply(
        same, [manipulation.range[1] * 0.9] * 4, [(1,), (1,), (2,), (1, 0)]
    )
    assert torch.equal(first, again)
    assert torch.equal(first, other) != manipulation.random
    assert torch.equal(first, longer) != manipulation.random


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_shape_and_precision(
    manipulation: Manipulation, pixels: torch.Tensor, dtype: torch.dtype
) -> None:
    for level in (*manipulation.range, middle(manipulation)):
        changed = manipulation.apply(pixels.to(dtype), [level] * 3, SEEDS)
        assert changed.shape == pixels.shape
        assert changed.dtype == dtype
        assert bool(torch.isfinite(changed).all())
        assert float(changed.min()) >= 0
        assert float(changed.max()) <= 1


def test_precisions_agree(manipulation: Manipulation, pixels: torch.Tensor) -> None:
    levels = [middle(manipulation)] * 3
    single = manipulation.apply(pixels, levels, SEEDS)
    double = manipulation.apply(pixels.double(), levels, SEEDS)
    # Where a whole number is rounded or a threshold is met, single pixels may differ.
    assert float((single - double).abs().quantile(0.99)) < 1e-3


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (7, 1), (2, 2), (33, 50)])
def test_odd_sizes(manipulation: Manipulation, size: tuple[int, int]) -> None:
    picture = torch.rand(2, 3, *size, generator=torch.Generator().manual_seed(0))
    for level in (*manipulation.range, middle(manipulation)):
        changed = manipulation.apply(picture, [level] * 2, SEEDS[:2])
        assert changed.shape == picture.shape
        assert bool(torch.isfinite(changed).all())


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_black_and_white_pictures(manipulation: Manipulation, value: float) -> None:
    flat = torch.full((1, 3, 20, 20), value)
    for level in manipulation.range:
        assert bool(torch.isfinite(manipulation.apply(flat, [level], SEEDS[:1])).all())


def test_stronger_levels_change_more(manipulation: Manipulation, pixels: torch.Tensor) -> None:
    weakest, strongest = manipulation.range
    changes = []
    for level in (weakest, middle(manipulation), strongest):
        changed = manipulation.apply(pixels, [level] * 3, SEEDS)
        changes.append(float((changed - pixels).abs().mean()))
    assert changes[0] > 0
    if manipulation.ordered:
        assert changes[0] < changes[1] < changes[2]


def test_gradients(manipulation: Manipulation, pixels: torch.Tensor) -> None:
    if not manipulation.differentiable:
        assert manipulation.name in ("c-jpeg", "c-shot-noise")
        return
    free = pixels.clone().requires_grad_()
    manipulation.apply(free, [middle(manipulation)] * 3, SEEDS).square().sum().backward()
    assert free.grad is not None
    assert bool(torch.isfinite(free.grad).all())
    assert bool((free.grad != 0).any())


def test_black_has_finite_gradients(manipulation: Manipulation) -> None:
    free = torch.zeros(1, 3, 16, 16, requires_grad=True)
    changed = manipulation.apply(free, [middle(manipulation)], SEEDS[:1])
    if manipulation.differentiable:
        changed.sum().backward()
        assert free.grad is not None
        assert bool(torch.isfinite(free.grad).all())


@pytest.mark.parametrize("level", [-0.1, float("nan"), float("inf")])
def test_levels_that_are_none(
    manipulation: Manipulation, pixels: torch.Tensor, level: float
) -> None:
    with pytest.raises(FechnerError, match=f"a level of {manipulation.name} is 0 or more"):
        manipulation.apply(pixels[:1], [level], SEEDS[:1])
    if manipulation.most < float("inf"):
        with pytest.raises(FechnerError, match="or less"):
            manipulation.apply(pixels[:1], [manipulation.most * 1.01], SEEDS[:1])


def test_as_many_levels_and_seeds_as_pictures(pixels: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="needs a level and a seed"):
        PUBLISHED[0].apply(pixels, [1.0, 2.0], SEEDS)


@dataclass(frozen=True)
class Counted(Picture):
    """A picture that counts how often it is drawn."""

    drawn: ClassVar[list[int]] = []

    def draw(self, field: Field, bits: int | None, device: str) -> torch.Tensor:
        self.drawn.append(1)
        return torch.full((3, field.height_px, field.width_px), 0.5, dtype=torch.float64)


def test_a_picture_that_comes_often_is_drawn_once() -> None:
    picture, salt = Counted(), by_name("salt-pepper")
    recipes = [Manipulated(picture, salt, 0.1, (i,)) for i in range(200)]
    shown = salt.show(recipes, Field(20, 10, 1.0), 8, "cpu", torch.float32)
    assert shown.shape == (200, 3, 10, 20)
    assert len(picture.drawn) == 1


def test_names_that_are_none() -> None:
    with pytest.raises(FechnerError, match="did you mean 'blur'"):
        by_name("blurr")


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("name", [*(each.name for each in PUBLISHED), "band-noise", "c-contrast"])
def test_neither_threads_nor_batches_matter(name: str) -> None:
    # As large as real pictures: small ones are not shared between threads.
    picture = photograph(path_of(PHOTOGRAPHS["n02123045"]), "cat")
    field = Field(160, 160, 32.0)
    chosen = by_name(name)
    weakest, strongest = chosen.range
    level = (weakest * strongest) ** 0.5

    def show(n: int) -> torch.Tensor:
        recipes = [Manipulated(picture, chosen, strongest, (i,)) for i in range(n - 1)]
        recipes.append(Manipulated(picture, chosen, level, (99,)))
        return chosen.show(recipes, field, None, "cpu", torch.float32)[-1]

    alone = show(1)
    assert torch.equal(show(2), alone)
    assert torch.equal(show(15), alone)
    torch.set_num_threads(1)
    assert torch.equal(show(1), alone)
