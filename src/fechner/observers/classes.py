"""Names of the classes that classifiers were trained on."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources


@cache
def imagenet() -> tuple[tuple[str, str], ...]:
    """Return synset and name of the 1,000 classes of ImageNet, in their usual order.

    Examples
    --------
    >>> imagenet()[281]
    ('n02123045', 'tabby')
    """
    text = (resources.files("fechner.observers") / "data/imagenet_classes.csv").read_text("utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple((row["synset"], row["names"].split(",")[0]) for row in rows)


def class_names(count: int) -> tuple[str, ...]:
    """Return a name for each class: ImageNet's synsets where there are 1,000, else numbers.

    Examples
    --------
    >>> class_names(2)
    ('0', '1')
    """
    if count == len(imagenet()):
        return tuple(synset for synset, _ in imagenet())
    return tuple(str(number) for number in range(count))
