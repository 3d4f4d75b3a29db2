"""Autoencoders of diffusers through the observer equal the library by hand; small random models."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import diffusers
import pytest
import safetensors.torch
import torch
from looking import features, frames

from fechner.errors import FechnerError, ObserverError
from fechner.observers import hub, resolve
from fechner.observers.adapters.diffusers import load
from fechner.observers.network import encoder
from fechner.observers.weights import MissingWeightsError
from fechner.stimuli import Frames

TINY: dict[str, Any] = {
    "block_out_channels": (8, 16),
    "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2,
    "norm_num_groups": 4,
    "sample_size": 32,
}
KINDS: dict[str, dict[str, Any]] = {
    "stable-diffusion": {},
    "flux": {"latent_channels": 16, "use_quant_conv": False, "use_post_quant_conv": False},
    "no-attention": {"mid_block_add_attention": False},
    "wide": {"sample_size": [32, 48]},
}


def by_hand(**settings: Any) -> Any:
    torch.manual_seed(0)
    return diffusers.AutoencoderKL(**{**TINY, **settings}).eval()


def latent(model: Any, shown: Frames) -> Any:
    with torch.no_grad():
        return model.encode(2 * shown.pixels - 1).latent_dist


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Save a model as part of a pipeline."""
    by_hand().save_pretrained(tmp_path / "pipeline" / "vae")
    return tmp_path / "pipeline"


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_equals_the_library_by_hand(kind: str, tmp_path: Path) -> None:
    model = by_hand(**KINDS[kind])
    model.save_pretrained(tmp_path)
    observer = resolve(f"diffusers/{tmp_path}")
    size = KINDS[kind].get("sample_size", [32, 32])
    assert observer.wants.size_px == tuple(size)
    expected = latent(model, frames()).mode()
    assert expected.shape == (3, KINDS[kind].get("latent_channels", 4), 16, 16)
    torch.testing.assert_close(features(observer, frames()), expected, rtol=1e-5, atol=1e-6)
    stages = ("encoder.down_blocks.0", "encoder.down_blocks.1", "encoder.mid_block")
    assert observer.layers == (*stages, "output")
    # The decoder is gone.
    kept = [model.encoder, *filter(None, [model.quant_conv])]
    assert sum(p.numel() for p in observer.module.parameters()) == sum(
        p.numel() for part in kept for p in part.parameters()
    )


@pytest.mark.parametrize("place", ["", "/", "/vae", "/vae/"])
def test_places(folder: Path, place: str) -> None:
    observer = resolve(f"diffusers/{folder}{place}@size=48")
    assert observer.wants.size_px == (48, 48)
    expected = latent(by_hand(), frames(48)).mode()
    torch.testing.assert_close(features(observer, frames(48)), expected, rtol=1e-5, atol=1e-6)


def test_a_stage(folder: Path) -> None:
    model, seen = by_hand(), []
    model.encoder.mid_block.register_forward_hook(lambda part, given, out: seen.append(out))
    latent(model, frames())
    found = features(resolve(f"diffusers/{folder}"), frames(), "encoder.mid_block")
    torch.testing.assert_close(found, seen[0].reshape(3, -1), rtol=1e-5, atol=1e-6)


# Samples


def test_a_sample_has_the_same_noise_for_every_picture(folder: Path) -> None:
    observer = resolve(f"diffusers/{folder}@sample=yes")
    mean = resolve(f"diffusers/{folder}")
    shown, model = frames(), by_hand()
    noise = torch.randn(4, 16, 16, generator=torch.Generator().manual_seed(0))
    posterior = latent(model, shown)
    found = features(observer, shown)
    torch.testing.assert_close(found, posterior.mean + posterior.std * noise, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(found, features(mean, shown), atol=0.1)
    assert observer.fingerprint.split(" ", 1)[1] != mean.fingerprint.split(" ", 1)[1]
    torch.rand(5)  # whatever else is drawn
    assert torch.equal(features(observer, shown), found)
    twins = replace(shown, pixels=shown.pixels[:1].expand(2, -1, -1, -1))
    one, other = features(observer, twins)
    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("sample", ["yes", "no"])
def test_pictures_of_a_batch_do_not_meet(folder: Path, sample: str) -> None:
    observer = resolve(f"diffusers/{folder}@sample={sample}")
    shown = frames()
    alone = [features(observer, replace(shown, pixels=p[None])) for p in shown.pixels]
    torch.testing.assert_close(features(observer, shown), torch.cat(alone), rtol=1e-5, atol=1e-6)


# Weights


@pytest.mark.parametrize("how", ["float16", "pickle"])
def test_weights_however_saved_are_used_in_float32(how: str, tmp_path: Path) -> None:
    model = by_hand()
    if how == "float16":
        for part in (model.encoder, model.decoder, model.quant_conv, model.post_quant_conv):
            part.half()  # the library warns of model.half()
    model.save_pretrained(tmp_path, safe_serialization=how != "pickle")
    observer = resolve(f"diffusers/{tmp_path}")
    assert {p.dtype for p in observer.module.parameters()} == {torch.float32}
    for part in (model.encoder, model.quant_conv):
        part.float()
    expected = latent(model, frames()).mode()
    torch.testing.assert_close(features(observer, frames()), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_weights_of_a_file(folder: Path, tmp_path: Path, suffix: str, old: bool) -> None:
    torch.manual_seed(1)
    model = diffusers.AutoencoderKL(**TINY).eval()
    tensors = model.state_dict()
    if old:
        for new, was in (("to_q", "query"), ("to_k", "key"), ("to_out.0", "proj_attn")):
            tensors = {key.replace(f".{new}.", f".{was}."): t for key, t in tensors.items()}
    path = tmp_path / f"other{suffix}"
    if suffix == ".pt":
        torch.save(tensors, path)
    else:
        safetensors.torch.save_file(dict(tensors), path)
    observer = resolve(f"diffusers/{folder}@weights={path}")
    expected = latent(model, frames()).mode()
    torch.testing.assert_close(features(observer, frames()), expected, rtol=1e-5, atol=1e-6)
    assert observer.fingerprint != resolve(f"diffusers/{folder}").fingerprint


@pytest.mark.parametrize("what", ["", "/vae", "/vae/diffusion_pytorch_model.safetensors"])
def test_a_local_copy_of_a_repository(
    folder: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "reachable", lambda address: False)
    observer = resolve(f"diffusers/nobody/nothing/vae@weights={folder}{what}")
    expected = latent(by_hand(), frames()).mode()
    torch.testing.assert_close(features(observer, frames()), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", ["nobody/nothing", "nobody/nothing/vae"])
def test_missing_weights(
    model: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(hub, "reachable", lambda address: False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    message = f"diffusion_pytorch_model.safetensors of {model}, are not on this machine"
    with pytest.raises(MissingWeightsError, match=message):
        resolve(f"diffusers/{model}")
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_weights(folder: Path) -> None:
    (folder / "vae" / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(MissingWeightsError, match=r"safetensors of .*/pipeline/vae, are not on"):
        resolve(f"diffusers/{folder}")


def test_weights_that_are_not_all_there(folder: Path, tmp_path: Path) -> None:
    path = folder / "vae" / "diffusion_pytorch_model.safetensors"
    tensors = by_hand().state_dict()
    short = {k: v for k, v in tensors.items() if not k.startswith(("encoder.conv_in", "decoder"))}
    safetensors.torch.save_file(short, path)
    with pytest.raises(ObserverError, match=r"2 tensors are missing: encoder\.conv_in"):
        resolve(f"diffusers/{folder}")
    with pytest.raises(ObserverError, match=r"do not fit .*missing: encoder\.conv_in"):
        resolve(f"diffusers/{folder}@weights={path}")
    whole = {k: v for k, v in tensors.items() if not k.startswith("decoder")}
    safetensors.torch.save_file(whole, path)  # nobody asks for the decoder
    resolve(f"diffusers/{folder}")


def test_a_pickle_is_not_run(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "whole.bin"
    torch.save({"model": by_hand().encoder}, path)
    with pytest.raises(ObserverError, match="holds more than tensors"):
        resolve(f"diffusers/{folder}@weights={path}")
    (folder / "vae" / "diffusion_pytorch_model.safetensors").unlink()
    path.rename(folder / "vae" / "diffusion_pytorch_model.bin")
    with pytest.raises(FechnerError, match="Unable to load weights from checkpoint"):
        resolve(f"diffusers/{folder}")


# Other models


def test_only_this_kind_of_autoencoder(folder: Path) -> None:
    path = folder / "vae" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"_class_name": "AutoencoderTiny"}))
    with pytest.raises(ObserverError, match="is a AutoencoderTiny, not an AutoencoderKL; name the"):
        resolve(f"diffusers/{folder}")


def test_only_colour(tmp_path: Path) -> None:
    by_hand(in_channels=1).save_pretrained(tmp_path)
    with pytest.raises(ObserverError, match="takes 1 channels, and pictures have 3"):
        resolve(f"diffusers/{tmp_path}")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("{}", "has no config.json, nor has its subfolder vae"),
        ("{}/nowhere", "there is no folder '.*nowhere'"),
        ("./nowhere", "there is no folder './nowhere'"),
        ("a/b@weights={}/none.pt", "there is no file or folder of weights '.*none.pt'"),
    ],
)
def test_places_where_nothing_is(tmp_path: Path, model: str, message: str) -> None:
    with pytest.raises(ObserverError, match=message):
        resolve(f"diffusers/{model.format(tmp_path)}")


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_other_precisions_without_noise(
    folder: Path, dtype: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        observer = encoder(load(str(folder), sample=True), name="tiny", dtype=dtype)
    assert capfd.readouterr() == ("", "")
    shown = frames()
    shown = replace(shown, pixels=shown.pixels.to(getattr(torch, observer.wants.dtype)))
    expected = features(resolve(f"diffusers/{folder}@sample=yes"), frames())
    rough = {"float64": 1e-5, "bfloat16": 0.2}[dtype]
    torch.testing.assert_close(features(observer, shown).float(), expected, rtol=rough, atol=rough)
