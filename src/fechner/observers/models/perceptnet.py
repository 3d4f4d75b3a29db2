"""Makers of the networks with divisive normalisation: trained, untrained or parametric.

Nobody's weights come with this package. With a file they are loaded from it; without one, a network
is an untrained control: its convolutions are drawn at random, from a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fechner.observers.abilities import Wants
from fechner.observers.devices import check_device
from fechner.observers.models.parameters import ParametricParameters
from fechner.observers.network import Network, NetworkEncoder
from fechner.observers.weights import hash_weights, load_weights

if TYPE_CHECKING:
    from torch import nn

#: Pixels per degree that the authors of these networks assume.
PPD = 128.0


class OpponentNetwork(NetworkEncoder):
    """A network some of whose layers have three channels, meant as opponent colours.

    Parameters
    ----------
    opponent_layers
        Those layers, and how many channels they have.
    ppd
        Pixels per degree that it is made for.
    """

    def __init__(
        self, network: Network, *, name: str, opponent_layers: Mapping[str, int], ppd: float
    ) -> None:
        import torch

        assert network.module is not None
        wants = Wants(ppd=ppd)
        weights = hash_weights(network.module)
        fingerprint = (
            f"{name} torch {torch.__version__} {network.settings} weights={weights} {wants}"
        )
        super().__init__(network, name=name, wants=wants, fingerprint=fingerprint)
        self.opponent_layers = dict(opponent_layers)


def _trained(
    name: str,
    build: Callable[[], nn.Module],
    stages: tuple[str, ...],
    weights: Path | str | None,
    seed: int,
    device: str,
    ppd: float,
) -> OpponentNetwork:
    """Build a network and give it weights from a file, or from a seed."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = build()
    if weights is not None:
        load_weights(module, weights)
    module = module.to(check_device(device)).eval().requires_grad_(False)
    settings = "untrained" if weights is None else "trained"
    network = Network(module, stages=stages, settings=settings)
    # The only place with three channels behind a change of colours; training decides which colours.
    opponent = {"conv1": 3, "gdn2": 3}
    return OpponentNetwork(network, name=name, opponent_layers=opponent, ppd=ppd)


def make(
    device: str = "cpu", weights: str | None = None, seed: int = 0, ppd: float = PPD
) -> OpponentNetwork:
    """Make PerceptNet.

    Parameters
    ----------
    weights
        A file of tensors (safetensors, or what torch.save wrote of a state_dict).
    seed
        What the convolutions are drawn from where no weights are given.
    ppd
        Pixels per degree that it is shown stimuli at.

    Examples
    --------
    >>> make().layers
    ('gdn1', 'conv1', 'gdn2', 'conv2', 'gdn3', 'conv3', 'output')
    """
    from fechner.observers.models.networks import PerceptNet

    stages = ("gdn1", "conv1", "gdn2", "conv2", "gdn3", "conv3")
    return _trained("perceptnet", PerceptNet, stages, weights, seed, device, ppd)


def make_bio_unet(
    device: str = "cpu",
    weights: str | None = None,
    classes: int = 30,
    seed: int = 0,
    ppd: float = PPD,
) -> OpponentNetwork:
    """Make Bio-UNet, the encoder of PerceptNet with a decoder.

    Parameters
    ----------
    weights, seed, ppd
        As for PerceptNet.
    classes
        How many classes a pixel can be of.

    Examples
    --------
    >>> make_bio_unet().layers[6:]
    ('gdn4', 'gdn5', 'gdn6', 'output')
    """
    from fechner.observers.models.networks import BioUNet

    stages = ("gdn1", "conv1", "gdn2", "conv2", "gdn3", "conv3", "gdn4", "gdn5", "gdn6")
    return _trained("bio-unet", lambda: BioUNet(classes), stages, weights, seed, device, ppd)


def make_parametric(device: str = "cpu", ppd: float = PPD) -> OpponentNetwork:
    """Make the parametric PerceptNet, which needs no training.

    Parameters
    ----------
    ppd
        As for PerceptNet.

    Examples
    --------
    >>> make_parametric().layers[1]
    'opponent'
    """
    from fechner.observers.models.parametric import ParametricPerceptNet

    parameters = ParametricParameters()
    module = ParametricPerceptNet(parameters).to(check_device(device)).eval()
    stages = (
        "retina",
        "opponent",
        "opponent_normalised",
        "centre_surround",
        "centre_surround_normalised",
        "gabors",
    )
    network = Network(module, stages=stages, settings=repr(parameters))
    opponent = dict.fromkeys(stages[1:5], 3)
    name = "parametric-perceptnet"
    return OpponentNetwork(network, name=name, opponent_layers=opponent, ppd=ppd)
