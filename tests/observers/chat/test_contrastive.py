"""Models with two towers, through the real loading code, against the library called by hand."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch
import transformers
from looking import as_frames, features
from observers.chat.tiny_models import MEAN, STD, TEXT_LENGTH, shaken, two_towers

from fechner.errors import MissingExtraError, ObserverError
from fechner.observers import Prompt, Question, abilities, lift, network, resolve
from fechner.observers.adapters import open_clip as open_clip_adapter
from fechner.observers.adapters import transformers as adapter
from fechner.observers.adapters.transformers_files import Repository
from fechner.observers.chat.contrastive import Contrastive
from fechner.observers.network import NetworkThatAnswers
from fechner.observers.questions import Answer
from fechner.stimuli import Frames

KINDS = ("clip", "metaclip_2", "siglip", "siglip2")
LABELS = ("noise", "a flat grey area", "stripes")
DETECT = Prompt("", LABELS[:2])
BELOW_A_GREY_LEVEL = 0.1 / 255


def as_lift(observer: Any) -> Contrastive:
    found = lift(observer, "answers", ())
    assert isinstance(found, Contrastive)
    return found


def pictures(n: int = 4) -> torch.Tensor:
    return torch.rand(n, 3, 32, 32, generator=torch.Generator().manual_seed(1))


def ask(observer: Any, pixels: torch.Tensor, *questions: Question) -> list[Answer]:
    return list(observer.choose(as_frames(pixels), questions))


def single(prompt: Prompt = DETECT, n: int = 4) -> list[Question]:
    return [Question((row,), prompt) for row in range(n)]


def normalised(pixels: torch.Tensor) -> torch.Tensor:
    mean, std = (torch.tensor(each).reshape(3, 1, 1) for each in (MEAN, STD))
    return (pixels - mean) / std


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: two_towers(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


@pytest.fixture(scope="module")
def clip(folders: dict[str, Path]) -> Contrastive:
    return as_lift(resolve(f"hf/{folders['clip']}"))


# transformers


def logits_by_hand(folder: Path, kind: str, pixels: torch.Tensor, labels: Any) -> torch.Tensor:
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    padding = {"padding": "max_length", "max_length": TEXT_LENGTH} if "siglip" in kind else {}
    words = tokenizer(list(labels), return_tensors="pt", **({"padding": True} | padding))
    shown = {"pixel_values": normalised(pixels)}
    if kind == "siglip2":
        processor = transformers.AutoImageProcessor.from_pretrained(folder)
        shown = processor(list(pixels), do_rescale=False, return_tensors="pt")
    with torch.no_grad():
        found: torch.Tensor = model(**words, **shown).logits_per_image
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [LABELS[:2], LABELS])
def test_against_the_library(kind: str, labels: Any, folders: dict[str, Path]) -> None:
    observer = resolve(f"hf/{folders[kind]}")
    assert abilities(observer) == ("encodes", "answers")
    assert (observer.reads, observer.readouts) == ("labels", ("choice", "probability"))
    found = ask(as_lift(observer), pictures(), *single(Prompt("", labels)))
    logits = logits_by_hand(folders[kind], kind, pictures(), labels)
    assert (logits.max(dim=1).values - logits.min(dim=1).values).max() > 0.05
    for answer, row in zip(found, logits, strict=True):
        assert answer.choice == int(row.argmax())
        assert answer.probabilities == pytest.approx(row.double().softmax(0).tolist(), rel=1e-4)
        assert answer.mass == 1
        assert answer.place == (0, 0)


def test_what_it_wants_is_what_the_encoder_wants(folders: dict[str, Path]) -> None:
    observer = resolve(f"hf/{folders['clip']}@size=48,normalise=none")
    found = as_lift(observer)
    assert found.wants == observer.wants
    assert found.wants.size_px == (48, 48)
    assert found.layers == ("embedding",)
    assert found.name == observer.name
    assert found.fingerprint.startswith(observer.fingerprint)


def test_words_are_read_once_and_only_when_asked(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    load = Repository.load

    def spied(*arguments: Any) -> Any:
        loaded.append(arguments)
        return load(*arguments)

    observer = resolve(f"hf/{folders['clip']}")
    monkeypatch.setattr(Repository, "load", spied)
    assert features(observer, as_frames(pictures())).shape == (4, 512)
    assert not [name for name in observer.module.state_dict() if name.startswith("text")]
    assert not loaded
    found = as_lift(observer)
    read, seen = [], []
    reading, looking = found._read, found.encoder.features
    found._read = lambda labels: (read.append(list(labels)), reading(labels))[1]

    def look(frames: Frames, taps: Any) -> None:
        seen.append(len(frames))
        looking(frames, taps)

    monkeypatch.setattr(found.encoder, "features", look)
    ask(observer, pictures(), *single(), *single(Prompt("", LABELS)))
    assert len(loaded) == 1
    assert read == [list(LABELS)]
    assert seen == [4]  # eight questions about four pictures
    ask(observer, pictures(), *single())
    assert len(read) == 1


def test_small_batches_answer_the_same(clip: Contrastive, folders: dict[str, Path]) -> None:
    one_by_one = as_lift(resolve(f"hf/{folders['clip']}"))
    one_by_one.batch_size = 1
    questions = [*single(Prompt("", LABELS)), Question((2, 0), DETECT)]
    for one, other in zip(
        ask(clip, pictures(), *questions), ask(one_by_one, pictures(), *questions), strict=True
    ):
        assert one.choice == other.choice
        assert one.probabilities == pytest.approx(other.probabilities, rel=1e-4)


def test_memory_that_is_not_enough_halves_the_batch(
    clip: Contrastive, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = as_lift(resolve(f"hf/{folders['clip']}"))
    look, sizes = observer.encoder.features, []

    def small(frames: Frames, taps: Any) -> None:
        sizes.append(len(frames))
        if len(frames) > 2:
            raise torch.OutOfMemoryError("out of memory")
        look(frames, taps)

    monkeypatch.setattr(observer.encoder, "features", small)
    observer.batch_size = 8
    found = ask(observer, pictures(5), *single(n=5))
    assert sizes == [5, 4, 2, 2, 1]
    assert [a.choice for a in found] == [a.choice for a in ask(clip, pictures(5), *single(n=5))]


# Choosing


def test_swapped_labels_swap_the_answer(clip: Contrastive) -> None:
    swapped = Prompt("", DETECT.options[::-1])
    for one, other in zip(
        ask(clip, pictures(), *single()), ask(clip, pictures(), *single(swapped)), strict=True
    ):
        assert {one.choice, other.choice} == {0, 1}
        assert one.probabilities == pytest.approx(other.probabilities[::-1])


def test_the_same_label_twice_is_no_choice(clip: Contrastive) -> None:
    (answer,) = ask(clip, pictures(), Question((0,), Prompt("", ("noise", "noise"))))
    assert answer.choice is None
    assert answer.probabilities == (0.5, 0.5)


def test_of_several_pictures_the_one_that_fits_the_first_label_best(clip: Contrastive) -> None:
    alone = ask(clip, pictures(), *single())
    odds = [answer.probabilities[0] / answer.probabilities[1] for answer in alone]
    (answer,) = ask(clip, pictures(), Question((2, 0, 3), DETECT))
    expected = [odds[row] / (odds[2] + odds[0] + odds[3]) for row in (2, 0, 3)]
    assert answer.probabilities == pytest.approx(expected)
    assert answer.choice == expected.index(max(expected))
    (turned,) = ask(clip, pictures(), Question((3, 0, 2), DETECT))
    assert turned.choice == 2 - answer.choice


def test_differences_below_a_grey_level_are_seen(clip: Contrastive) -> None:
    assert clip.wants.bits is None
    both = torch.cat((pictures(1), pictures(1) + BELOW_A_GREY_LEVEL))
    first, second = ask(clip, both, *single(n=2))
    assert first.probabilities != second.probabilities
    assert first.probabilities == pytest.approx(second.probabilities, abs=0.01)


def test_half_precision(clip: Contrastive, folders: dict[str, Path]) -> None:
    half = network.encoder(adapter.load(str(folders["clip"])), name="half", dtype="bfloat16")
    assert isinstance(half, NetworkThatAnswers)
    for one, other in zip(
        ask(half, pictures(), *single()), ask(clip, pictures(), *single()), strict=True
    ):
        assert one.probabilities == pytest.approx(other.probabilities, abs=0.05)
    assert half.answerer.fingerprint != clip.fingerprint


def test_fingerprints_change_with_what_reads(folders: dict[str, Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    def changed(name: str, part: str) -> Any:
        folder = shutil.copytree(folders["clip"], tmp_path / name)
        tensors = load_file(folder / "model.safetensors")
        for key in tensors:
            if key.startswith(part):
                tensors[key] = tensors[key] + 0.01
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return resolve(f"hf/{folder}")

    same, words, scale = (changed(*e) for e in (("a", "none"), ("b", "text_model"), ("c", "logit")))
    prints = [each.fingerprint.partition(" ")[2] for each in (same, words, scale)]
    assert prints[0] == prints[1] == prints[2]  # features are the same
    prints = [as_lift(each).fingerprint.partition(" ")[2] for each in (same, words, scale)]
    assert len(set(prints)) == 3


def test_a_tower_without_weights(folders: dict[str, Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(folders["clip"], tmp_path, dirs_exist_ok=True)
    whole = load_file(tmp_path / "model.safetensors")
    seeing = {key: value for key, value in whole.items() if not key.startswith("text")}
    save_file(seeing, tmp_path / "model.safetensors", metadata={"format": "pt"})
    observer = resolve(f"hf/{tmp_path}")
    assert features(observer, as_frames(pictures())).shape == (4, 512)
    with pytest.raises(ObserverError, match="tensors of the part that reads"):
        lift(observer, "answers", ())


def test_a_vision_tower_alone_does_not_answer(folders: dict[str, Path], tmp_path: Path) -> None:
    model = transformers.CLIPVisionModelWithProjection.from_pretrained(folders["clip"])
    model.save_pretrained(tmp_path)
    assert abilities(resolve(f"hf/{tmp_path}")) == ("encodes",)


# open_clip

TEXT = {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}
VIT = {"image_size": 32, "layers": 2, "width": 16, "head_width": 8, "patch_size": 8}
CONFIGS: dict[str, dict[str, Any]] = {
    "reads-plain": {"text_cfg": TEXT},
    "reads-custom": {"text_cfg": TEXT, "custom_text": True},
    "reads-biased": {"text_cfg": TEXT, "custom_text": True, "init_logit_bias": -10},
    "reads-coca": {
        "vision_cfg": VIT
        | {"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True},
        "text_cfg": TEXT | {"embed_cls": True, "output_tokens": True},
        "multimodal_cfg": TEXT | {"mlp_ratio": 2, "dim_head": 8},
        "custom_text": True,
    },
    "reads-elsewhere": {"text_cfg": TEXT | {"hf_tokenizer_name": "nobody/words"}},
}


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the small models known to the library, for one test."""
    from open_clip import factory

    folder = tmp_path / "configs"
    folder.mkdir()
    for name, config in CONFIGS.items():
        whole = {"embed_dim": 12, "vision_cfg": VIT} | config
        (folder / f"{name}.json").write_text(json.dumps(whole))
    monkeypatch.setattr(factory, "_MODEL_CONFIGS", dict(factory._MODEL_CONFIGS))
    monkeypatch.setattr(factory, "_MODEL_CONFIG_PATHS", list(factory._MODEL_CONFIG_PATHS))
    open_clip.add_model_config(folder)
    return tmp_path


def saved(name: str, folder: Path) -> tuple[Any, Path]:
    torch.manual_seed(0)
    model = shaken(open_clip.create_model(name))
    path = folder / f"{name}.pt"
    torch.save(model.state_dict(), path)
    return model, path


def by_library(model: Any, name: str, labels: Any) -> torch.Tensor:
    mean, std = (
        torch.tensor(each).reshape(3, 1, 1)
        for each in (open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD)
    )
    with torch.no_grad():
        seen = model.encode_image((pictures() - mean) / std, normalize=True)
        read = model.encode_text(open_clip.get_tokenizer(name)(list(labels)), normalize=True)
        return (model.logit_scale.exp() * seen @ read.T).softmax(dim=1)


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "reads-elsewhere"])
def test_open_clip_against_the_library(name: str, registered: Path) -> None:
    model, path = saved(name, registered)
    observer = resolve(f"open_clip/{name}@weights={path}")
    assert abilities(observer) == ("encodes", "answers")
    found = ask(as_lift(observer), pictures(), *single(Prompt("", LABELS)))
    for answer, row in zip(found, by_library(model, name, LABELS), strict=True):
        assert answer.choice == int(row.argmax())
        assert answer.probabilities == pytest.approx(row.tolist(), rel=1e-3)
        assert max(answer.probabilities) > 0.34


def test_open_clip_by_tag(registered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from open_clip.pretrained import _PRETRAINED

    model, path = saved("reads-plain", registered)
    monkeypatch.setitem(_PRETRAINED, "reads-plain", {"published": {"file": str(path)}})
    observer = resolve("open_clip/reads-plain/published")
    found = ask(as_lift(observer), pictures(), *single())
    expected = by_library(model, "reads-plain", DETECT.options)
    for answer, row in zip(found, expected, strict=True):
        assert answer.probabilities == pytest.approx(row.tolist(), rel=1e-3)
    given = resolve(f"open_clip/reads-plain@weights={path}")
    assert ask(given, pictures(), *single()) == found


def test_open_clip_loads_words_when_asked(
    registered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = saved("reads-plain", registered)
    reading, made = open_clip_adapter._Model.text_tower, []
    monkeypatch.setattr(
        open_clip_adapter._Model,
        "text_tower",
        lambda *given: (made.append(1), reading(*given))[1],
    )
    observer = resolve(f"open_clip/reads-plain@weights={path}")
    assert features(observer, as_frames(pictures())).shape == (4, 12)
    assert not made
    ask(observer, pictures(), *single())
    ask(observer, pictures(), *single())
    assert len(made) == 1


def test_words_that_need_another_package(registered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, path = saved("reads-elsewhere", registered)
    observer = resolve(f"open_clip/reads-elsewhere@weights={path}")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"reading labels .*fechner\[transformers\]"):
        lift(observer, "answers", ())
    assert features(observer, as_frames(pictures())).shape == (4, 12)


def test_weights_without_a_tower_for_words(registered: Path) -> None:
    model, path = saved("reads-plain", registered)
    seeing = {k: v for k, v in model.state_dict().items() if k.startswith(("visual.", "logit"))}
    torch.save(seeing, path)
    observer = resolve(f"open_clip/reads-plain@weights={path}")
    with pytest.raises(ObserverError, match=r"do not fit .* are missing"):
        lift(observer, "answers", ())
