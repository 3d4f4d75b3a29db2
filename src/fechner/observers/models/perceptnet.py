"""PerceptNet and Bio-UNet: networks with generalised divisive normalisation, for trained weights.

PerceptNet (Hepburn et al. 2020) follows the path from retina to cortex: adaptation of the channels,
a change of colour space, centre and surround, orientation and scale, each with a divisive
normalisation. Bio-UNet has such an encoder and a decoder that gives every pixel a class
(Hernández-Cámara et al. 2023).

Nobody's weights come with this package. With a file they are loaded from it; without one, a network
is an untrained control: its convolutions are drawn at random, from a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from fechner.observers.abilities import Wants
from fechner.observers.devices import check_device
from fechner.observers.network import Network, NetworkEncoder
from fechner.observers.weights import hash_weights, load_weights

#: Lowest weight of a neighbour and lowest constant; below, training would divide by nothing.
_LOWEST_GAMMA = 2.0**-18
_LOWEST_BETA = (1e-6 + 2.0**-36) ** 0.5

#: Pixels per degree that the authors of these networks assume.
PPD = 128.0


class GDN(nn.Module):
    """Generalised divisive normalisation, x / sqrt(beta + gamma x^2) (Ballé et al. 2017).

    Parameters
    ----------
    channels
        How many there are; each is divided by a weighted sum over all of them at the same place.
    independent
        Whether a channel is divided by itself alone.
    gamma, beta
        First weight of a channel in its own sum, and first constant; other weights are 0 at first.

    Examples
    --------
    >>> round(float(GDN(1)(torch.full((1, 1, 1, 1), 3.0)).detach()), 4)
    2.1764
    """

    def __init__(
        self, channels: int, *, independent: bool = False, gamma: float = 0.1, beta: float = 1.0
    ) -> None:
        super().__init__()
        weights = torch.ones(channels, 1) if independent else torch.eye(channels)
        self.gamma = nn.Parameter(gamma * weights[:, :, None, None])
        self.beta = nn.Parameter(torch.full((channels,), beta))
        self.groups = channels if independent else 1

    def forward(self, x: Tensor) -> Tensor:
        """Divide each channel of [n, channels, h, w]."""
        gamma = self.gamma.clamp(min=_LOWEST_GAMMA)
        beta = self.beta.clamp(min=_LOWEST_BETA)
        return x / functional.conv2d(x.square(), gamma, beta, groups=self.groups).sqrt()


class PerceptNet(nn.Module):
    """PerceptNet (Hepburn et al. 2020); parts are named as in the authors' public weights."""

    def __init__(self) -> None:
        super().__init__()
        self.gdn1 = GDN(3, independent=True)
        self.conv1 = nn.Conv2d(3, 3, kernel_size=1, padding=1)
        self.maxpool1 = nn.MaxPool2d(2)
        self.gdn2 = GDN(3)
        self.conv2 = nn.Conv2d(3, 6, kernel_size=5, padding=1)
        self.maxpool2 = nn.MaxPool2d(2)
        self.gdn3 = GDN(6)
        self.conv3 = nn.Conv2d(6, 128, kernel_size=5, padding=1)
        self.gdn4 = GDN(128)

    def forward(self, pictures: Tensor) -> Tensor:
        """Encode display-encoded pictures in 0..1, [n, 3, h, w], as [n, 128, ...]."""
        x = self.maxpool1(self.conv1(self.gdn1(pictures)))
        x = self.maxpool2(self.conv2(self.gdn2(x)))
        out: Tensor = self.gdn4(self.conv3(self.gdn3(x)))
        return out


class BioUNet(nn.Module):
    """A U-Net with the encoder of PerceptNet (after Hernández-Cámara et al. 2023).

    A reconstruction: the encoder keeps the size of its maps between poolings, as a decoder with
    bridges needs; the decoder doubles twice by transposed convolution, each time joined with what
    the encoder had at that size, convolved (5 x 5) and normalised.

    Parameters
    ----------
    classes
        How many classes a pixel can be of.
    """

    def __init__(self, classes: int = 30) -> None:
        super().__init__()
        self.gdn1 = GDN(3, independent=True)
        self.conv1 = nn.Conv2d(3, 3, kernel_size=1)
        self.gdn2 = GDN(3)
        self.conv2 = nn.Conv2d(3, 6, kernel_size=5, padding=2)
        self.gdn3 = GDN(6)
        self.conv3 = nn.Conv2d(6, 128, kernel_size=5, padding=2)
        self.gdn4 = GDN(128)
        self.up1 = nn.ConvTranspose2d(128, 64, kernel_size=2, stride=2)
        self.conv4 = nn.Conv2d(64 + 6, 64, kernel_size=5, padding=2)
        self.gdn5 = GDN(64)
        self.up2 = nn.ConvTranspose2d(64, 32, kernel_size=2, stride=2)
        self.conv5 = nn.Conv2d(32 + 3, 32, kernel_size=5, padding=2)
        self.gdn6 = GDN(32)
        self.head = nn.Conv2d(32, classes, kernel_size=1)

    def encode(self, pictures: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return what the encoder hands on, and both maps that the decoder is joined with."""
        colours = self.conv1(self.gdn1(pictures))
        blobs = self.conv2(self.gdn2(functional.max_pool2d(colours, 2)))
        deep = self.gdn4(self.conv3(self.gdn3(functional.max_pool2d(blobs, 2))))
        return deep, blobs, colours

    def forward(self, pictures: Tensor) -> Tensor:
        """Give each pixel of [n, 3, h, w] a score for each class, [n, classes, h, w]."""
        x, blobs, colours = self.encode(pictures)
        x = self.gdn5(self.conv4(_joined(self.up1(x), blobs)))
        x = self.gdn6(self.conv5(_joined(self.up2(x), colours)))
        out: Tensor = self.head(x)
        return out


def _joined(coarse: Tensor, fine: Tensor) -> Tensor:
    """Put maps side by side; sizes that are odd lost a row or column in the pooling."""
    if coarse.shape[-2:] != fine.shape[-2:]:
        missing = (fine.shape[-1] - coarse.shape[-1], fine.shape[-2] - coarse.shape[-2])
        coarse = functional.pad(coarse, (0, missing[0], 0, missing[1]), mode="replicate")
    return torch.cat([coarse, fine], dim=1)


class OpponentNetwork(NetworkEncoder):
    """A network some of whose layers have three channels, meant as opponent colours.

    ``opponent_layers`` are those, with how many channels they have.
    """

    def __init__(
        self, network: Network, *, name: str, opponent_layers: Mapping[str, int], ppd: float
    ) -> None:
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

    Settings are those of PerceptNet, and how many classes a pixel can be of.

    Examples
    --------
    >>> make_bio_unet().layers[6:]
    ('gdn4', 'gdn5', 'gdn6', 'output')
    """
    stages = ("gdn1", "conv1", "gdn2", "conv2", "gdn3", "conv3", "gdn4", "gdn5", "gdn6")
    return _trained("bio-unet", lambda: BioUNet(classes), stages, weights, seed, device, ppd)
