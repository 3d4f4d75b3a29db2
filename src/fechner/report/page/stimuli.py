"""The stimuli of a test as one picture for a page, with where each stands on the axis."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass

from fechner.experiments import Experiment
from fechner.report.contact_sheet import visible
from fechner.stimuli import paint


@dataclass(frozen=True)
class Sprite:
    """Pictures of stimuli side by side.

    Parameters
    ----------
    uri
        The whole as a data URI, lossless: resampled or compressed patterns are other patterns.
    columns, rows
        Labels of what varies from left to right and from top to bottom.
    at
        Abscissa of every column, None for one that stands beside the axis.
    """

    uri: str
    width_px: int
    height_px: int
    columns: list[str]
    rows: list[str]
    at: list[float | None]


def sprite(experiment: Experiment) -> Sprite:
    """Paint the stimuli that a test shows to people."""
    import numpy as np
    from PIL import Image

    scene, samples = experiment.scene, experiment.samples()
    rows = [
        np.concatenate(
            visible(paint([sample.stimulus for sample in row], scene.field, scene.display)), axis=1
        )
        for row in samples
    ]
    buffer = io.BytesIO()
    Image.fromarray(np.concatenate(rows)).save(buffer, "WEBP", lossless=True, method=4)
    first = samples[0]
    return Sprite(
        "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode(),
        scene.field.width_px,
        scene.field.height_px,
        [sample.x for sample in first],
        [row[0].y for row in samples],
        [None if math.isnan(sample.at) else sample.at for sample in first],
    )
