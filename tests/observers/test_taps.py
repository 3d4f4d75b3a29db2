"""Taps: what a hook sees of a network, under which name, and which layers a pattern stands for."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers import ComparesFeatures, Wants, observe
from fechner.observers.abilities import LayerInfo, Tap
from fechner.observers.baselines import Pixels
from fechner.observers.taps import (
    choose_layers,
    every_layer,
    first_tensor,
    natural_stages,
    tapped,
)
from fechner.stimuli import Field, Frames, display


def frames(n: int, side: int = 6, seed: int = 0) -> Frames:
    values = np.random.default_rng(seed).random((n, 3, side, side), dtype=np.float32)
    field = Field.of(pixels=side, ppd=60)
    return Frames(torch.from_numpy(values), field, display("encoders"), "display")


def layers_of(module: nn.Module, side: int = 6) -> tuple[LayerInfo, ...]:
    return every_layer(module.eval(), lambda n: module(torch.full((n, 3, side, side), 0.5)))


def activations(module: nn.Module, names: list[str], pictures: torch.Tensor) -> dict[str, Any]:
    """Return copies of what taps at the named layers are handed."""
    layers = [layer for layer in layers_of(module, pictures.shape[-1]) if layer.name in names]
    seen: dict[str, Any] = {}

    def keep(name: str) -> Tap:
        def tap(activation: torch.Tensor) -> None:
            assert name not in seen  # once per pass
            seen[name] = activation.clone()

        return tap

    with tapped(module, {name: keep(name) for name in names}, layers, len(pictures)):
        module(pictures)
    return seen


def hooks(module: nn.Module) -> int:
    return sum(len(part._forward_hooks) for part in module.modules())


class Calls(nn.Module):
    """A module whose forward is a function of itself and the pictures."""

    def __init__(self, how: Callable[[Any, torch.Tensor], Any], **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)
        self.how = how

    def forward(self, pictures: torch.Tensor) -> Any:
        return self.how(self, pictures)


class Returns(nn.Module):
    """Hands on whatever a function makes of its input."""

    def __init__(self, make: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: torch.Tensor) -> Any:
        return self.make(x)


class ModelOutput(OrderedDict[str, Any]):
    """As transformers has it: a dict that is also indexed by number."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if isinstance(key, str) else tuple(self.values())[key]


# The first tensor

WANTED, OTHER = torch.ones(2, 3), torch.zeros(4)
WHOLE = torch.arange(3)


@pytest.mark.parametrize(
    "value",
    [
        WANTED,
        (WANTED, OTHER),
        [WANTED, OTHER],
        {"hidden": WANTED, "more": OTHER},
        ModelOutput(last_hidden_state=WANTED, pooler_output=OTHER),
        (None, WANTED, OTHER),
        (WHOLE, WANTED, OTHER),  # integers are indices, not features
        (WHOLE > 1, {"mask": None, "states": [(), [WHOLE, WANTED]]}, OTHER),
        ModelOutput(loss=None, hidden_states=(WANTED, OTHER)),
        ("text", 3, 0.5, {}, WANTED),
    ],
)
def test_the_first_floating_point_tensor_is_found(value: Any) -> None:
    assert first_tensor(value) is WANTED


@pytest.mark.parametrize(
    "value", [None, WHOLE, (), [], {}, (None, WHOLE), {"a": [WHOLE]}, 0.5, "text", np.ones(3)]
)
def test_where_there_is_no_tensor_none_is_found(value: Any) -> None:
    assert first_tensor(value) is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_floating_point_precision_counts(dtype: torch.dtype) -> None:
    tensor = torch.ones(2, dtype=dtype)
    assert first_tensor([WHOLE, tensor]) is tensor


# Every layer


def test_layers_are_listed_in_the_order_in_which_parts_finish() -> None:
    inner = nn.Sequential(nn.Conv2d(4, 5, 3), nn.ReLU())
    module = Calls(
        lambda self, x: self.head(self.body(self.stem(x)).flatten(1)),
        head=nn.Linear(5 * 2 * 2, 7),  # made first, called last
        stem=nn.Conv2d(3, 4, 3),
        body=inner,
    )
    found = layers_of(module)
    assert [(layer.name, layer.kind, layer.shape) for layer in found] == [
        ("stem", "Conv2d", (4, 4, 4)),
        ("body.0", "Conv2d", (5, 2, 2)),
        ("body.1", "ReLU", (5, 2, 2)),
        ("body", "Sequential", (5, 2, 2)),  # after its parts
        ("head", "Linear", (7,)),
    ]
    assert all(layer.module == layer.name and layer.call == 1 for layer in found)
    assert all(layer.batch_axis == 0 for layer in found)


def test_a_module_that_is_reused_has_a_layer_per_call() -> None:
    module = Calls(
        lambda self, x: self.act(self.two(self.act(self.one(x)))),
        one=nn.Conv2d(3, 4, 3),
        two=nn.Conv2d(4, 2, 3),
        act=nn.Tanh(),
    )
    found = layers_of(module)
    assert [layer.name for layer in found] == ["one", "act#1", "two", "act#2"]
    assert [(layer.module, layer.call, layer.shape) for layer in found[1::2]] == [
        ("act", 1, (4, 4, 4)),
        ("act", 2, (2, 2, 2)),
    ]
    pictures = frames(3).pixels
    seen = activations(module, ["act#1", "act#2"], pictures)
    first = module.one(pictures).tanh()
    assert torch.equal(seen["act#1"].reshape(3, 4, 4, 4), first)
    assert torch.equal(seen["act#2"].reshape(3, 2, 2, 2), module.two(first).tanh())


def test_one_part_under_two_names_is_one_module() -> None:
    shared = nn.Conv2d(3, 3, 1)
    module = Calls(lambda self, x: self.b(self.a(x)), a=shared, b=shared)
    assert [layer.name for layer in layers_of(module)] == ["a#1", "a#2"]


def test_parts_without_a_batch_axis_are_left_out() -> None:
    parts = {
        "same": Returns(lambda x: x),
        "constant": Returns(lambda x: torch.ones(5, 4)),
        "total": Returns(lambda x: x.sum()),
        "pairs": Returns(lambda x: x.flatten(1) @ x.flatten(1).T),  # [n, n]: two axes grow
        "one_more": Returns(lambda x: torch.cat([x, x[:1]])),  # [n + 1]: does not double
        "squeezed": Returns(lambda x: x.squeeze(0)),
        "whole": Returns(lambda x: x.argmax(dim=1)),
        "nothing": Returns(lambda x: None),
        "unused": nn.Conv2d(3, 3, 1),
        "last": Returns(lambda x: x.mean(dim=(2, 3))),
    }

    def how(self: Any, x: torch.Tensor) -> torch.Tensor:
        for name in parts:
            if name not in ("same", "unused", "last"):
                getattr(self, name)(x)
        return self.last(self.same(x))

    assert [layer.name for layer in layers_of(Calls(how, **parts))] == ["same", "last"]


@pytest.mark.parametrize("name", ["picture", "pair"])
def test_a_part_that_is_called_per_picture_or_pair_is_never_mixed_up(name: str) -> None:
    # Called more often for larger batches: no call sees them all.
    step = {"picture": 1, "pair": 2}[name]
    module = Calls(
        lambda self, x: torch.cat([self.part(chunk) for chunk in x.split(step)]),
        part=nn.Conv2d(3, 4, 3),
    )
    pictures = frames(4).pixels
    names = [layer.name for layer in layers_of(module)]
    if name == "picture":
        assert names == []
        return
    # Two pictures are one call, so it looks like any other part until there are more of them.
    assert names == ["part"]
    seen = activations(module, ["part"], pictures[:2])
    assert torch.equal(seen["part"], module(pictures[:2]).flatten(1))
    with pytest.raises(ObserverError, match="'part'"):
        activations(module, ["part"], pictures)


def test_a_part_that_is_left_out_in_some_batches_was_not_reached() -> None:
    module = Calls(
        lambda self, x: self.b(self.a(x)) if len(x) < 4 else self.a(x),
        a=nn.Conv2d(3, 4, 3),
        b=nn.Tanh(),
    )
    pictures = frames(4).pixels
    assert set(activations(module, ["a", "b"], pictures[:3])) == {"a", "b"}
    with pytest.raises(ObserverError, match="layer 'b' was not reached in a pass of 4 pictures"):
        activations(module, ["a", "b"], pictures)
    assert hooks(module) == 0


def test_further_calls_in_larger_batches_do_not_disturb_the_first() -> None:
    def how(self: Any, x: torch.Tensor) -> torch.Tensor:
        for _ in range(len(x)):
            x = self.act(x)
        return x

    module = Calls(how, act=nn.Tanh())
    assert [(layer.name, layer.call) for layer in layers_of(module)] == [("act", 1)]
    pictures = frames(4).pixels
    seen = activations(module, ["act"], pictures)
    assert torch.equal(seen["act"], pictures.tanh().flatten(1))


# Layouts


def test_a_batch_along_the_second_axis_is_delivered_picture_by_picture() -> None:
    # [L, N, D], as in the transformers of open_clip and torch.
    module = Calls(
        lambda self, x: self.tokens(x).mean(dim=0),
        tokens=Returns(lambda x: x.flatten(2).permute(2, 0, 1)),
    )
    (layer,) = layers_of(module)
    assert layer.batch_axis == 1
    assert layer.shape == (36, 3)
    pictures = frames(5).pixels
    seen = activations(module, ["tokens"], pictures)["tokens"]
    expected = pictures.numpy().reshape(5, 3, 36).transpose(0, 2, 1)
    assert seen.shape[0] == 5
    np.testing.assert_array_equal(seen.reshape(5, 36, 3).numpy(), expected)


def windows(x: torch.Tensor) -> torch.Tensor:
    """Cut [n, c, h, w] into windows of 3 x 3, [n * windows, 9, c], as Swin does."""
    n, c, h, w = x.shape
    x = x.permute(0, 2, 3, 1).reshape(n, h // 3, 3, w // 3, 3, c)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, 9, c)


@pytest.mark.parametrize("axis", [0, 1])
def test_windows_of_a_picture_are_delivered_as_one_row(axis: int) -> None:
    module = Calls(
        lambda self, x: self.cut(x).mean() + x, cut=Returns(lambda x: windows(x).movedim(0, axis))
    )
    (layer,) = layers_of(module)
    assert layer.batch_axis == axis
    assert layer.shape == (4, 9, 3)
    pictures = frames(5).pixels
    seen = activations(module, ["cut"], pictures)["cut"]
    values = pictures.numpy()
    for i in range(5):
        expected = np.stack(
            [
                values[i, :, 3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
                .reshape(3, 9)
                .transpose(1, 0)
                for row in range(2)
                for column in range(2)
            ]
        )
        np.testing.assert_array_equal(seen[i].reshape(4, 9, 3).numpy(), expected)


def test_windows_are_counted_anew_in_pictures_of_another_size() -> None:
    module = Calls(lambda self, x: self.cut(x).mean() + x, cut=Returns(windows))
    layers = layers_of(module, side=6)
    pictures = frames(5, side=9).pixels
    seen: list[torch.Tensor] = []
    with tapped(module, {"cut": seen.append}, layers, 5):
        module(pictures)
    assert torch.equal(seen[0].reshape(5, 9, 9, 3), windows(pictures).reshape(5, 9, 9, 3))
    corner = pictures[3, :, 6:, 6:].reshape(3, 9).T
    assert torch.equal(seen[0][3].reshape(9, 9, 3)[8], corner)


def test_a_single_window_per_picture_is_an_ordinary_batch() -> None:
    module = Calls(lambda self, x: self.cut(x).mean() + x, cut=Returns(windows))
    (layer,) = layers_of(module, side=3)
    assert layer.shape == (9, 3)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: (x, None),
        lambda x: [None, x],
        lambda x: {"mask": None, "hidden": x},
        lambda x: ModelOutput(loss=None, last_hidden_state=x, pooler_output=x.mean(dim=(2, 3))),
    ],
)
def test_a_part_may_hand_on_more_than_a_tensor(wrap: Callable[[torch.Tensor], Any]) -> None:
    module = Calls(lambda self, x: (self.part(x), x)[1], part=Returns(wrap))
    pictures = frames(3).pixels
    seen = activations(module, ["part"], pictures)
    assert torch.equal(seen["part"], pictures.flatten(1))


# In-place operations


def conv_bn_relu() -> nn.Sequential:
    torch.manual_seed(0)
    model = nn.Sequential(
        OrderedDict(conv=nn.Conv2d(3, 4, 3), bn=nn.BatchNorm2d(4), relu=nn.ReLU(inplace=True))
    )
    model.bn.running_mean[:] = torch.tensor([0.5, -0.5, 0.1, 0.0])
    return model.eval()


def test_a_tap_sees_values_before_they_are_changed_in_place() -> None:
    model = conv_bn_relu()
    pictures = frames(3).pixels
    with torch.no_grad():
        before = model.bn(model.conv(pictures)).flatten(1)
        seen = activations(model, ["bn", "relu"], pictures)
    assert (before < 0).any()
    assert torch.equal(seen["bn"], before)
    assert torch.equal(seen["relu"], before.clamp(min=0))


@torch.no_grad()
def test_tests_and_remembered_references_are_compared_before_they_are_changed_in_place() -> None:
    model = conv_bn_relu()
    observer = observe(model, wants=Wants(size_px=(6, 6)))
    comparer = ComparesFeatures(observer, ("l2", "l1"), layers=("bn", "relu"))
    references, tests = frames(2, seed=1), frames(3, seed=2)
    before = [model.bn(model.conv(f.pixels)).double().numpy() for f in (references, tests)]
    memory = comparer.remember(references)
    which = [1, 0, 1]
    answer = comparer.difference(tests, memory, torch.tensor(which))
    for layer, (reference, test) in enumerate([before, [np.maximum(x, 0) for x in before]]):
        change = (test - reference[which]).reshape(3, -1)
        np.testing.assert_allclose(answer[:, layer, 0], np.sqrt((change**2).sum(1)), rtol=1e-6)
        np.testing.assert_allclose(answer[:, layer, 1], np.abs(change).sum(1), rtol=1e-6)
    kept = memory["bn"][0].double().numpy()
    np.testing.assert_array_equal(kept, before[0].reshape(2, -1))
    assert kept.min() < 0
    assert (answer[:, 0] != answer[:, 1]).all()


# Hooks


@pytest.mark.parametrize("where", ["listing", "network", "tap"])
def test_hooks_are_removed_after_an_exception(where: str) -> None:
    def how(self: Any, x: torch.Tensor) -> torch.Tensor:
        x = self.a(x)
        assert hooks(self) > 0  # we are being looked at
        if broken:
            raise RuntimeError("no network today")
        return self.b(x)

    def tap(activation: torch.Tensor) -> None:
        if where == "tap":
            raise RuntimeError("no tap today")

    broken = False
    module = Calls(how, a=nn.Conv2d(3, 4, 3), b=nn.Tanh())
    layers = layers_of(module)
    broken = where != "tap"

    def look() -> None:
        with tapped(module, {"a": tap, "b": tap}, layers, 2):
            module(frames(2).pixels)

    with pytest.raises(RuntimeError, match=f"no {'tap' if where == 'tap' else 'network'} today"):
        look() if where != "listing" else layers_of(module)
    assert hooks(module) == 0


def test_hooks_are_removed_after_looking() -> None:
    model = conv_bn_relu()
    activations(model, ["conv", "bn", "relu"], frames(2).pixels)
    assert hooks(model) == 0


def test_only_the_parts_that_are_tapped_are_hooked() -> None:
    model = conv_bn_relu()
    layers = [layer for layer in layers_of(model) if layer.name == "bn"]
    with tapped(model, {"bn": lambda activation: None}, layers, 2):
        assert hooks(model) == hooks(model.bn) == 1
        model(frames(2).pixels)


def test_hooks_of_others_stay() -> None:
    model = conv_bn_relu()
    seen = []
    model.bn.register_forward_hook(lambda part, arguments, output: seen.append(len(output)))
    activations(model, ["bn"], frames(3).pixels)
    assert seen == [1, 2, 3]
    assert hooks(model) == 1


def test_an_error_of_the_network_is_not_hidden_by_the_layers_it_kept_from_being_reached() -> None:
    module = Calls(lambda self, x: self.b(self.a(x)), a=nn.Conv2d(3, 4, 3), b=nn.Tanh())
    layers = layers_of(module)
    with (
        pytest.raises(RuntimeError, match="channels"),
        tapped(module, {"b": print}, layers[1:], 1),
    ):
        module(torch.zeros(1, 5, 6, 6))


# Natural stages


def block(channels: int = 3) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, channels, 1), nn.ReLU())


class Block(nn.Module):
    """A residual block, with a sequence in it that is not a stage."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)
        self.downsample = block()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x) + self.downsample(x)


class Layered(nn.Module):
    """Parts called one after the other; lists are unpacked."""

    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.children():
            for each in part if isinstance(part, nn.ModuleList) else [part]:
                x = each(x)
        return x


def resnet() -> nn.Module:
    return Layered(
        conv1=nn.Conv2d(3, 3, 1),
        layer1=nn.Sequential(Block(), Block()),
        layer2=nn.Sequential(Block()),
        layer3=nn.Sequential(Block(), Block()),
        avgpool=nn.AdaptiveAvgPool2d(1),
        fc=nn.Sequential(nn.Flatten(), nn.Linear(3, 2)),  # a sequence of leaves is no stage
    )


def vit() -> nn.Module:
    return Layered(
        patch_embed=block(),
        blocks=nn.ModuleList([Block(), Block(), Block()]),
        norm=nn.Identity(),
    )


def test_the_stages_of_a_resnet_are_its_sequences_of_blocks() -> None:
    assert natural_stages(resnet()) == ("layer1", "layer2", "layer3")


def test_the_stages_of_a_transformer_are_the_members_of_its_list() -> None:
    assert natural_stages(vit()) == ("blocks.0", "blocks.1", "blocks.2")


def test_stages_that_lie_deeper_have_their_whole_name() -> None:
    inside = Layered(embeddings=nn.Conv2d(3, 3, 1), encoder=Layered(layer=vit().blocks))
    expected = tuple(f"vision_model.encoder.layer.{i}" for i in range(3))
    assert natural_stages(Layered(vision_model=inside)) == expected
    deep = Layered(backbone=Layered(body=resnet()))
    assert natural_stages(deep) == tuple(f"backbone.body.layer{i}" for i in (1, 2, 3))


def test_lists_inside_lists_are_not_stages() -> None:
    stage = Layered(blocks=nn.ModuleList([Block(), Block()]))
    stages = nn.ModuleList([stage, Layered(blocks=nn.ModuleList([Block()]))])
    assert natural_stages(Layered(stem=block(), stages=stages)) == ("stages.0", "stages.1")


def test_lists_go_before_sequences_and_all_of_them_count() -> None:
    model = Layered(
        stem=nn.Sequential(Block(), Block()),
        down=nn.ModuleList([Block(), Block()]),
        up=nn.ModuleList([Block()]),
    )
    assert natural_stages(model) == ("down.0", "down.1", "up.0")


def test_the_members_of_the_only_sequence_are_the_stages() -> None:
    model = Layered(stem=nn.Conv2d(3, 3, 1), blocks=nn.Sequential(Block(), Block()))
    assert natural_stages(model) == ("blocks.0", "blocks.1")


def test_a_list_of_plain_parts_is_no_list_of_stages() -> None:
    heads = nn.ModuleList([nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)])
    model = Layered(convolutions=heads, blocks=nn.Sequential(Block(), Block()))
    assert natural_stages(model) == ("blocks.0", "blocks.1")


def test_a_sequence_of_blocks_by_itself_has_its_blocks_for_stages() -> None:
    assert natural_stages(nn.Sequential(Block(), Block(), Block())) == ("0", "1", "2")


@pytest.mark.parametrize(
    "module",
    [
        nn.Flatten(),
        nn.Conv2d(3, 3, 1),
        nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU(), nn.Flatten()),
        Layered(features=nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU()), head=nn.Identity()),
        Layered(blocks=nn.ModuleList()),
    ],
)
def test_simple_networks_have_no_stages(module: nn.Module) -> None:
    assert natural_stages(module) == ()
    assert observe(module).layers == ("output",)


def small(module: nn.Module) -> Any:
    return observe(module, name="small", wants=Wants(size_px=(6, 6)))


def test_the_default_layers_of_a_module_are_its_stages_and_the_output() -> None:
    assert small(resnet()).layers == ("layer1", "layer2", "layer3", "output")
    assert small(vit()).layers == ("blocks.0", "blocks.1", "blocks.2", "output")
    assert ComparesFeatures(small(vit())).layers == ("blocks.0", "blocks.1", "blocks.2", "output")


def test_a_stage_that_is_called_twice_is_two_layers() -> None:
    model = Calls(
        lambda self, x: self.blocks[0](self.blocks[1](self.blocks[0](x))),
        blocks=nn.ModuleList([Block(), Block(), Block()]),  # one of them is not called
    )
    assert small(model).layers == ("blocks.0#1", "blocks.1", "blocks.0#2", "output")


# Choosing layers

BLOCKS = ("blocks.0", "blocks.1", "blocks.2")


def reused() -> Any:
    return small(
        Calls(
            lambda self, x: self.act(self.two(self.act(self.one(x)))),
            one=nn.Conv2d(3, 4, 1),
            two=nn.Conv2d(4, 2, 1),
            act=nn.Tanh(),
        )
    )


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (None, (*BLOCKS, "output")),
        (["output"], ("output",)),
        (["blocks.1"], ("blocks.1",)),
        (["blocks.*"], BLOCKS),
        (["blocks.?"], BLOCKS),
        (["block?.2"], ("blocks.2",)),
        (["*.conv"], ()),
        (["blocks.*.conv"], tuple(f"{name}.conv" for name in BLOCKS)),
        (["**.conv"], tuple(f"{name}.conv" for name in BLOCKS)),
        (["blocks.1.*"], ("blocks.1.conv", "blocks.1.downsample")),
        (
            ["blocks.1.**"],
            (
                "blocks.1.conv",
                "blocks.1.downsample.0",
                "blocks.1.downsample.1",
                "blocks.1.downsample",
            ),
        ),
        (["*"], ("patch_embed", "norm", "output")),
        (["patch_embed.?", "norm"], ("patch_embed.0", "patch_embed.1", "norm")),
        (["**.downsample"], tuple(f"{name}.downsample" for name in BLOCKS)),
        # Whatever the order of the patterns, and however often they name a layer.
        (["output", "blocks.2", "blocks.*", "blocks.0"], (*BLOCKS, "output")),
        (["blocks.0", "blocks.0"], ("blocks.0",)),
        # A dot is a dot, and case matters.
        (["blocks?0"], ()),
        (["Norm"], ()),
        (["blocks"], ()),
        ([".*norm"], ()),
    ],
)
def test_patterns(patterns: list[str] | None, expected: tuple[str, ...]) -> None:
    encoder = small(vit())
    if not expected:
        assert patterns is not None
        with pytest.raises(UnknownNameError, match="no layer named"):
            choose_layers(encoder, patterns)
        return
    assert choose_layers(encoder, patterns) == expected
    assert ComparesFeatures(encoder, layers=patterns).layers == expected


def test_two_stars_are_every_layer() -> None:
    encoder = small(vit())
    found = choose_layers(encoder, ["**"])
    assert found == (*(layer.name for layer in encoder.every_layer()), "output")
    assert len(found) == 3 + 3 * 5 + 2  # stem, blocks, norm and output


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("act", ("act#1", "act#2")),
        ("act#1", ("act#1",)),
        ("act#2", ("act#2",)),
        ("act#?", ("act#1", "act#2")),
        ("a?t#*", ("act#1", "act#2")),
        ("a*", ("act#1", "act#2")),
        ("*#2", ("act#2",)),
        ("*", ("one", "act#1", "two", "act#2", "output")),
        ("one", ("one",)),
        ("act#3", ()),
        ("one#1", ()),
        ("act#", ()),
        ("ac", ()),
    ],
)
def test_patterns_and_the_index_of_calls(pattern: str, expected: tuple[str, ...]) -> None:
    if expected:
        assert choose_layers(reused(), [pattern]) == expected
    else:
        with pytest.raises(UnknownNameError, match=f"no layer named '{pattern}'"):
            choose_layers(reused(), [pattern])


def test_an_unknown_layer_is_one_sentence_with_a_way_to_list_them() -> None:
    with pytest.raises(UnknownNameError) as caught:
        choose_layers(small(vit()), ["blocks.1.cnv"])
    assert str(caught.value) == (
        "there is no layer named 'blocks.1.cnv'; did you mean 'blocks.1.conv'? "
        "`fechner layers small` lists them."
    )


class Named:
    """An encoder that is not looked into, whose output has a name of its own."""

    name = "named"
    wants = Wants()
    fingerprint = None
    layers = ("V1.simple", "V1.complex", "IT")

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        for tap in taps.values():
            tap(frames.pixels)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["output"], ("IT",)),
        (["IT"], ("IT",)),
        (["V1.*"], ("V1.simple", "V1.complex")),
        (["output", "V1.simple"], ("V1.simple", "IT")),
        (["**"], ("V1.simple", "V1.complex", "IT")),
        (None, ("V1.simple", "V1.complex", "IT")),
    ],
)
def test_encoders_that_are_not_looked_into(
    patterns: list[str] | None, expected: tuple[str, ...]
) -> None:
    assert choose_layers(Named(), patterns) == expected


def test_the_output_has_one_name_everywhere() -> None:
    assert choose_layers(Pixels(), ["output"]) == ("pixels",)
    assert choose_layers(observe(lambda x: x, name="f"), ["output"]) == ("output",)
    # What cannot be looked into is read out as it is; networks of several kinds share patterns.
    assert choose_layers(Pixels(), ["blocks.*"]) == ("pixels",)
    assert choose_layers(small(vit()), ["layer*", "blocks.0"]) == ("blocks.0",)


@torch.no_grad()
def test_a_part_named_output_is_not_the_output() -> None:
    torch.manual_seed(0)
    model = Calls(
        lambda self, x: 2 * self.output(x).flatten(1),
        output=nn.Conv2d(3, 4, 3),
    )
    encoder = small(model)
    assert [layer.name for layer in encoder.every_layer()] == ["output#1"]
    assert encoder.layers == ("output",)
    assert choose_layers(encoder, ["output"]) == ("output",)
    assert choose_layers(encoder, ["output#1"]) == ("output#1",)
    assert choose_layers(encoder, ["**"]) == ("output#1", "output")
    shown = frames(2)
    seen: dict[str, torch.Tensor] = {}
    taps = {
        name: (lambda x, name=name: seen.update({name: x.clone()}))
        for name in ("output#1", "output")
    }
    encoder.features(shown, taps)
    assert torch.equal(seen["output#1"], model.output(shown.pixels).flatten(1))
    assert torch.equal(seen["output"], 2 * seen["output#1"])
