"""The models of early vision that have a name."""

from __future__ import annotations

from fechner.observers.entry import Entry

_HERE = "fechner.observers.models"

MODELS: tuple[Entry, ...] = (
    Entry(
        "bio-multilayer",
        "retina to V1 in four stages of divisive normalisation (a reconstruction)",
        "encodes",
        f"{_HERE}.bio_multilayer:make",
        reference="martinez2018",
        needs=("plenoptic",),
        extra="plenoptic",
    ),
    Entry(
        "parametric-perceptnet",
        "PerceptNet of known filters: opponent colours, centre-surround, Gabors; untrained",
        "encodes",
        f"{_HERE}.parametric:make",
        reference="vila_tomas2025",
    ),
    Entry(
        "perceptnet",
        "PerceptNet with your weights (@weights=FILE); without, an untrained control",
        "encodes",
        f"{_HERE}.perceptnet:make",
        reference="hepburn2020",
    ),
    Entry(
        "bio-unet",
        "a U-Net with the encoder of PerceptNet, for your weights; without, untrained",
        "encodes",
        f"{_HERE}.perceptnet:make_bio_unet",
        reference="hernandez2023",
    ),
)
