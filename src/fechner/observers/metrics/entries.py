"""The metrics that have a name. A new one is one module and one entry here."""

from __future__ import annotations

from fechner.observers.entry import Entry, Family

_HERE = "fechner.observers.metrics"

METRICS: tuple[Entry | Family, ...] = (
    Entry(
        "psnr-y",
        "peak signal-to-noise ratio of luma",
        "compares",
        f"{_HERE}.psnr:make",
        declared=f"{_HERE}.psnr:ABOUT",
    ),
    Entry(
        "cvvdp",
        "ColorVideoVDP, a metric that models human vision",
        "compares",
        f"{_HERE}.cvvdp:make",
        reference="mantiuk2024_cvvdp",
        needs=("pycvvdp", "torchvision"),
        extra="cvvdp",
        # Cai et al. (2025) ran it at the geometry of its 4K display whatever was shown.
        published={"encoders": {"geometry": "standard_4k"}},
        declared=f"{_HERE}.cvvdp:ABOUT",
    ),
)
