"""One self-contained page about some runs: opens offline, can be sent as a file."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fechner
from fechner.errors import FechnerError
from fechner.references import reference
from fechner.report.contenders import groups
from fechner.report.html import templates
from fechner.report.page.chapter import chapter
from fechner.report.page.panels import drawn
from fechner.report.page.stimuli import sprite
from fechner.runs import Run
from fechner.runs.progress import followed
from fechner.runs.store import write_atomically
from fechner.scores import distance

#: Parts of the page's script, in this order: what needs no plots works without them.
_SCRIPTS = ("leaderboard.js", "stimuli.js", "marks.js", "axes.js", "plots.js")


def make_page(runs: Sequence[Run], progress: bool = False) -> str:
    """Return a page about runs as HTML that needs nothing else; progress is shown on stderr."""
    from plotly.offline import get_plotlyjs

    if not runs:
        raise FechnerError("name at least one run folder.")
    chapters = [chapter(group, progress) for group in groups(runs)]
    experiments = [
        (f"sprite-{i}-{j}", test.experiment)
        for i, each in enumerate(chapters)
        for j, test in enumerate(each.tests)
    ]
    to_paint = followed(experiments, "painting stimuli", progress)
    sprites = {name: sprite(experiment) for name, experiment in to_paint}
    environment = templates("page/template")
    environment.filters |= {
        "number": _number,
        "short": "{:.3g}".format,
        "near": _near,
        "json": json.dumps,
        "lines": _lines,
        "distance": distance,
    }
    return environment.get_template("page.html").render(
        chapters=chapters,
        sprites=sprites,
        facts=[_facts(run) for run in runs],
        reference=reference,
        version=fechner.__version__,
        style=_text("page.css"),
        script="".join(map(_text, _SCRIPTS)),
        plotly=_packed(get_plotlyjs()),
        data=_packed(json.dumps([drawn(each) for each in chapters], separators=(",", ":"))),
        single=len(chapters) == 1,
    )


def write_page(runs: Sequence[Run], path: Path | str, progress: bool = False) -> int:
    """Write a page about runs and return its size in bytes."""
    content = make_page(runs, progress).encode()
    write_atomically(Path(path), content)
    return len(content)


def _text(name: str) -> str:
    return (Path(__file__).parent / "template" / name).read_text("utf-8")


def _packed(text: str) -> str:
    """Return text as base64 of gzip, which browsers unpack; the same text gives the same bytes."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _number(value: float, digits: int = 3) -> str:
    return "n/a" if math.isnan(value) else f"{value:.{digits}f}"


def _near(distance: float) -> str:
    """Return how strongly a cell is coloured: near human one way, beyond chance the other."""
    beyond = 0.0 if math.isnan(distance) else min(1.0, max(-1.0, distance - 1))
    return f"--near: {max(0.0, -beyond):.0%}; --beyond: {max(0.0, beyond):.0%}"


def _lines(parameters: Mapping[str, Any], before: str = "") -> str:
    """Return nested parameters with one of them on each line.

    Examples
    --------
    >>> print(_lines({"kind": "Field", "size": {"px": [224, 224]}}))
    kind = Field
    size.px = 224, 224
    """

    def lines(name: str, value: Any) -> str:
        if isinstance(value, Mapping):
            return _lines(value, f"{name}.")
        if isinstance(value, list) and not any(isinstance(item, list | Mapping) for item in value):
            value = ", ".join(map(str, value))
        return f"{name} = {value}"

    return "\n".join(lines(before + key, value) for key, value in parameters.items())


def _facts(run: Run) -> dict[str, Any]:
    """Return where the results of a run come from."""
    images: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for entry in run.entries():
        images[entry.observer] += entry.images
        seconds[entry.observer] += entry.seconds
    return {"run": run, "images": images, "seconds": seconds, "spent": run.spent()}
