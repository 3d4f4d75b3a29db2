"""Networks of torchvision inside metrics, with weights from its cache, a hub or a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from fechner.observers.hub import TORCH_CACHE, environment, fetching
from fechner.observers.metrics.packages import quietly
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import read_weights


def weights_file(network: str) -> str:
    """Return the name of the file with torchvision's first weights of a network.

    Examples
    --------
    >>> weights_file("alexnet")
    'alexnet-owt-7be5be79.pth'
    """
    import_torchvision()
    from torchvision.models import get_model_weights

    published = get_model_weights(network)["IMAGENET1K_V1"]
    return PurePosixPath(urlsplit(published.url).path).name


@contextmanager
def loading_backbone(observer: str, network: str, weights: str | None) -> Iterator[None]:
    """Let a library load its network inside this; what is missing becomes one sentence.

    Parameters
    ----------
    observer
        Who needs it, as in results.
    network
        Its name in torchvision.
    weights
        A file to take instead of the one that torchvision keeps in its cache or fetches.
    """
    file = weights_file(network)
    with fetching(observer, file, TORCH_CACHE), quietly():
        if weights is None:
            yield
            return
        import torch

        # Libraries that ask torchvision for "pretrained" networks take no file, but a cache.
        with TemporaryDirectory() as home:
            place = Path(home) / "hub" / "checkpoints" / file
            place.parent.mkdir(parents=True)
            torch.save(read_weights(weights), place)
            with environment({"TORCH_HOME": home}):
                yield
