"""diffusers: ``diffusers/REPOSITORY[/SUBFOLDER]`` or a folder; the seeing half of autoencoders.

Image autoencoders of latent diffusion models (Rombach et al. 2022), class AutoencoderKL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import util
from pathlib import Path
from typing import Any, TypeAlias

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError
from fechner.observers.hub import fetching, quietly
from fechner.observers.inputs import NORMALISATIONS
from fechner.observers.network import Network
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import fit_weights, read_weights

#: A repository or folder, and a subfolder.
Place: TypeAlias = tuple[str, str | None]

#: Of the noise in samples: the same for every picture, so that equal pictures look equal.
_SEED = 0

#: What sees.
_USED = ("encoder.", "quant_conv.")

#: What the parts of attention were called in older files.
_RENAMED = {"query": "to_q", "key": "to_k", "value": "to_v", "proj_attn": "to_out.0"}


def load(
    model: str, *, weights: str | None = None, size: int | None = None, sample: bool = False
) -> Network:
    """Load the encoder of an AutoencoderKL.

    The natural read-out is the mean of the latent, [n, channels, h, w], without the scaling that
    diffusion asks for.

    Parameters
    ----------
    model
        A repository or a folder, alone or followed by a subfolder; ``vae`` is found by itself.
    weights
        A file with weights, or a folder with config.json and weights.
    sample
        Whether to read out a sample instead of the mean, with the same noise for every picture.
    """
    if util.find_spec("torchvision") is not None:
        import_torchvision()  # before the library does it
    import diffusers

    with quietly():
        autoencoder = _autoencoder(model, weights)
    config = autoencoder.config
    if config.in_channels != 3:
        raise ObserverError(
            f"'diffusers/{model}' takes {config.in_channels} channels, and pictures have 3; name "
            "an autoencoder of colour pictures."
        )
    # Its own class has much to say when it is moved to another device or precision.
    parts = {"encoder": autoencoder.encoder, "quant_conv": autoencoder.quant_conv}
    module = torch.nn.ModuleDict({name: part for name, part in parts.items() if part is not None})

    def call(pictures: Tensor) -> Any:
        posterior = autoencoder.encode(pictures).latent_dist
        if not sample:
            return posterior.mode()
        generator = torch.Generator().manual_seed(_SEED)  # on the CPU: the same for all devices
        noise = torch.randn(posterior.mean.shape[1:], generator=generator)
        return posterior.mean + posterior.std * noise.to(posterior.mean)

    own = config.sample_size if size is None else size
    blocks = len(autoencoder.encoder.down_blocks)
    return Network(
        module,
        call,
        size_px=(own[0], own[1]) if isinstance(own, list | tuple) else (own, own),
        normalise=NORMALISATIONS["half"],
        library=f"diffusers {diffusers.__version__}",
        settings=f"sample={sample} act_fn={config.act_fn} groups={config.norm_num_groups}",
        stages=(*(f"encoder.down_blocks.{i}" for i in range(blocks)), "encoder.mid_block"),
    )


def _autoencoder(model: str, weights: str | None) -> Any:
    """Return the encoder and what follows it, in float32 whatever the weights were saved in."""
    from diffusers import AutoencoderKL

    file = Path(weights) if weights is not None and not Path(weights).is_dir() else None
    if file is not None and not file.is_file():
        raise ObserverError(f"there is no file or folder of weights '{weights}'.")
    places = _places(model if weights is None or file is not None else weights)
    if file is not None and (file.parent / "config.json").is_file():
        places = [(str(file.parent), None)]
    where = "/".join(filter(None, places[0]))
    with fetching(f"diffusers/{model}", f"diffusion_pytorch_model.safetensors of {where}"):
        (repository, subfolder), config = _config(places)
        if (kind := config.get("_class_name")) != "AutoencoderKL":
            raise ObserverError(
                f"'diffusers/{model}' is a {kind}, not an AutoencoderKL; name the folder that has "
                "one, such as REPOSITORY/vae."
            )
        if file is not None:
            module, lost = AutoencoderKL.from_config(config), []
        else:
            module, found = AutoencoderKL.from_pretrained(
                repository,
                subfolder=subfolder,
                output_loading_info=True,
                low_cpu_mem_usage=False,  # or it asks for one more package
            )
            lost = [key for key in found["missing_keys"] if key.startswith(_USED)]
    if lost:  # the library fills them with anything
        raise ObserverError(
            f"the weights of 'diffusers/{model}' do not fit its config.json; {len(lost)} tensors "
            f"are missing: {', '.join(lost[:3])}."
        )
    module.decoder = module.post_quant_conv = None
    if file is not None:
        old = re.compile(rf"\.({'|'.join(_RENAMED)})\.(?=weight$|bias$)")
        tensors = {
            old.sub(lambda found: f".{_RENAMED[found[1]]}.", key): tensor
            for key, tensor in read_weights(file).items()
            if key.startswith(_USED)
        }
        fit_weights(module, tensors, file)
    return module.float()


def _places(model: str) -> Sequence[Place]:
    """Return where an autoencoder may be, the likeliest first."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        for inside in (folder, folder / "vae"):
            if (inside / "config.json").is_file():
                return [(str(inside), None)]
        raise ObserverError(
            f"the folder '{model}' has no config.json, nor has its subfolder vae; name the folder "
            "that save_pretrained() wrote."
        )
    if model.startswith(("/", ".", "~")):
        raise ObserverError(f"there is no folder '{model}'.")
    owner, name, subfolder = (*model.split("/", 2), "", "")[:3]
    repository = f"{owner}/{name}" if name else owner
    return [(repository, subfolder)] if subfolder else [(repository, None), (repository, "vae")]


def _config(places: Sequence[Place]) -> tuple[Place, dict[str, Any]]:
    """Return the first place that has a configuration, and that."""
    from diffusers import AutoencoderKL

    errors = []
    for repository, subfolder in places:
        try:
            config = AutoencoderKL.load_config(repository, subfolder=subfolder)
            return (repository, subfolder), config
        except OSError as error:
            errors.append(error)
    raise errors[0]
