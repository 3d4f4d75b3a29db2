"""Figures for papers: from runs to what is drawn.

``figure`` makes a matplotlib figure and ``save`` writes it; both leave matplotlib's own settings
alone. Panels are drawn from what a suite says there is to see in a test, whatever test it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.contenders import ALL, Selection, choose_observers, choose_place, names_in
from fechner.report.figures.grid import Cell, cells_of, draw_grid, name_of
from fechner.report.figures.pictures import draw_galleries, draw_stimuli
from fechner.report.figures.scores import (
    draw_printed,
    draw_scores,
    is_table,
    named_best,
    rows_of,
    there,
)
from fechner.report.figures.style import check_columns, paper_style
from fechner.report.panels import depth_panel, ends_of, readout_panels
from fechner.report.tiles import Pictures
from fechner.runs import Result, Run
from fechner.scores import Panel
from fechner.scores.panels import Bars, Floats, Line, Points
from fechner.suites import Test

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

Runs = Run | Path | str | Sequence[Run | Path | str]

#: A group that is black, and no observer's.
_BLACK = 8006

#: Kinds of panels that tests of the suites have; those of other makers are drawn as well.
PANELS = (
    "surface",
    "responses",
    "matches",
    "directions",
    "curves",
    "elevations",
    "csf",
    "csf of bands",
    "psychometric functions",
    "d-prime",
    "wording",
    "accuracy with noise",
    "accuracy without a band",
    "accuracy",
    "classes by level",
    "thresholds of classes",
    "lost first",
    "curves of classes",
    "decision scores",
    "preferred views",
)


def figure(
    runs: Runs,
    test: str | None = None,
    kind: str | None = None,
    *,
    observers: Sequence[str] | None = None,
    layer: str | None = None,
    readout: str | None = None,
    together: bool = False,
    columns: int = 2,
    dpi: float = 300.0,
) -> Figure:
    """Draw a figure for a paper.

    Parameters
    ----------
    runs
        One or several runs, or their folders; they must have been asked the same questions. Or a
        published table such as ``"@cai2025"``, of which only scores can be shown.
    test
        The test to show; None shows all, in the kinds that can.
    kind
        ``scores``, ``layers``, ``readouts`` or ``stimuli``, or one of the panels of a test, such
        as ``surface``; by default the first panel of the test, or all scores.
    observers
        Which to show, in this order; all if None.
    layer, readout
        Where observers are read out, and how; by default the last layer by its first read-out.
        Observers that have only one are shown with it. ``"all"`` draws a panel for each of them,
        with its score, in kinds that are panels of a test.
    together
        Draw all observers on the same axes, with people's curves once. Runs may differ in how they
        asked, such as trial by trial and at all contrasts.
    columns
        How wide it is printed: over 1 column (85 mm) or 2 (178 mm).
    dpi
        Resolution of a PNG. Stimuli have their own: a pixel for every pixel.

    Examples
    --------
    >>> import fechner
    >>> run = fechner.evaluate("pixels", tests="area", scores_only=True, progress=False)
    >>> drawn = fechner.figure(run, kind="scores", columns=1)
    >>> f"{25.4 * float(drawn.get_size_inches()[0]):.0f} mm"
    '85 mm'
    """
    check_columns(columns)
    if not 50 <= dpi <= 2400:
        raise FechnerError(f"a figure has 50 to 2400 dpi, not {dpi:g}.")
    many = [runs] if isinstance(runs, Run | Path | str) else list(runs)
    if any(is_table(each) for each in many):
        if len(many) > 1:
            raise FechnerError(
                "a published table is drawn alone; `fechner report` shows it beside a run."
            )
        if kind not in (None, "scores") or layer is not None or readout is not None:
            raise FechnerError(
                "a published table has scores only; leave --kind, --layer and --readout out."
            )
        with paper_style():
            return draw_printed(str(many[0]), test, observers, columns, dpi)
    chosen = choose_observers(many, observers)
    asked = _Asked(chosen, test, layer, readout, observers is not None, columns, dpi)
    if kind is None and test is None:
        kind = "scores"
    with paper_style():
        if kind in KINDS:
            return KINDS[kind](asked)
        if together:
            return _together(asked, kind)
        return _everywhere(asked, kind) if ALL in (layer, readout) else _panels(asked, kind)


# What is shown


@dataclass(frozen=True)
class _Asked(Selection):
    """What is to be shown, and how."""

    columns: int = 2
    dpi: float = 300.0


def _kinds(found: Iterable[Sequence[Panel]]) -> list[str]:
    """Return the kinds of panels there are; those of whoever has most come first."""
    every = sorted(found, key=len, reverse=True)
    return list(dict.fromkeys(panel.kind for panels in every for panel in panels))


# Panels of a test


def _panels(asked: _Asked, kind: str | None) -> Figure:
    """Draw the panels of one kind, one observer beside the other."""
    if asked.test is None:
        raise UnknownNameError(
            "kind of figure",
            kind or "",
            KINDS,
            f"without a test there are {', '.join(KINDS)}; name a test for its own",
        )
    (test,) = asked.tests
    reasons = {each.label: each.why_not_asked(test) for each in asked.contenders}
    answers = {
        each.label: (each, data)
        for each in asked.contenders
        if (data := each.data(test.id)) is not None
    }
    if not answers and all(reasons.values()):
        (label, why), *_ = reasons.items()
        raise FechnerError(f"no observer was asked test '{test.id}': {label}, since {why}.")
    if not answers:
        raise FechnerError(f"no observer has finished test '{test.id}' yet.")
    layers, readouts = (
        choose_place(what, name, {k: names_in(data, dim) for k, (_, data) in answers.items()})
        for what, name, dim in (
            ("layer", asked.layer, "layer"),
            ("read-out", asked.readout, "readout"),
        )
    )
    found, names = {}, dict.fromkeys(reasons, "")
    for label, (contender, data) in answers.items():
        chosen = data.sel(layer=layers[label], readout=readouts[label])
        found[label] = test.panels(chosen, contender.others(test))
        names[label] = _place(data, layers[label], readouts[label])
    names = {label: f"{label} {place}".strip() for label, place in names.items()}
    kind = _check_kind(asked, test, kind, _kinds(found.values()))
    shown = {label: [p for p in panels if p.kind == kind] for label, panels in found.items()}
    if any(panel.gallery for own in shown.values() for panel in own):
        blocks = [(names[label], panel) for label, own in shown.items() for panel in own]
        return draw_galleries(blocks, Pictures(test.experiment.scene), asked.columns, asked.dpi)
    cells: list[Cell] = []
    most = max(map(len, shown.values()))
    parts = list(dict.fromkeys(name_of(panel) for own in shown.values() for panel in own))
    for label, why in reasons.items():
        own, name = shown.get(label, []), names[label]
        # Several panels of one observer stand in a row of their own.
        title, heading = ("", name) if most > 1 else (name, "")
        if own:
            in_row = cells_of(name, own, parts if len(parts) == most else ())
            cells += in_row if most > 1 else [Cell(name, own[0])]
        elif not why or asked.named:
            nothing = "not asked" if why else "not measured"
            cells.append(Cell(title, None, nothing=nothing, heading=heading))
    return draw_grid(cells, asked.columns, asked.dpi, test.experiment)


def _check_kind(asked: _Asked, test: Test, kind: str | None, kinds: Sequence[str]) -> str:
    """Return the kind of panels to draw, the first by default."""
    kind = kinds[0] if kind is None else kind
    every = [*kinds, *KINDS]
    if kind in kinds:
        return kind
    if _only_scores(asked, test, kind):
        raise FechnerError(
            f"only what scores need of '{test.id}' was measured: run it without --scores-only to "
            f"see more than {', '.join(every)}."
        )
    if kind in PANELS:
        # What other tests have is spelt well, so the nearest spelling is of no use.
        hint = f"take {kinds[0]}: it has {', '.join(every)}"
        raise UnknownNameError(f"kind of figure of '{test.id}'", kind, (), hint)
    raise UnknownNameError(
        "kind of figure", kind, every, f"test '{test.id}' has {', '.join(every)}"
    )


def _only_scores(asked: _Asked, test: Test, kind: str) -> bool:
    """Whether a test has pieces for a kind of figure, and none of them was measured."""
    pieces = test.experiment.pieces()
    own = any(not piece.for_scores and piece.name.startswith(f"{kind}-") for piece in pieces)
    return own and all(
        contender.run.data(contender.observer, test.id, for_scores=False) is None
        for contender in asked.contenders
        if test.id in contender.run.manifest.tests
    )


def _place(data: xr.Dataset, layer: str, readout: str) -> str:
    """Return layer and read-out in words, where there was something to choose."""
    named = readout if data.sizes["readout"] > 1 else ""
    where = "" if layer == str(data["layer"].values[-1]) else f"at {layer}"
    return f"{named} {where}".strip()


def _everywhere(asked: _Asked, kind: str | None) -> Figure:
    """Draw the panels of a test for all read-outs or layers of each observer, with their scores.

    Read-outs and layers have scales of their own, so responses are drawn relative to the largest.
    """
    (test,) = asked.tests
    scores = {
        (contender.label, result.score.layer, result.score.readout): result.score
        for contender, result in asked.results()
    }
    several = len(asked.contenders) > 1
    both = asked.layer == asked.readout == ALL
    cells: list[Cell] = []
    for contender in asked.contenders:
        data = contender.data(test.id)
        if data is None:
            continue
        for layer, readout in asked.places(data):
            panels = test.panels(data.sel(layer=layer, readout=readout), contender.others(test))
            kinds = _kinds([panels])
            others = {p.kind for p in panels for mark in p.marks if not isinstance(mark, Line)}
            lines = [each for each in kinds if each not in others]
            wanted = kind or (lines or kinds)[0]
            if wanted not in lines:
                raise UnknownNameError(
                    "kind of figure of all layers or read-outs",
                    wanted,
                    lines,
                    f"only panels of lines are drawn so: {', '.join(lines) or 'there are none'}",
                )
            shown = [panel for panel in panels if panel.kind == wanted]
            title = layer if asked.layer == ALL and not both else readout
            score = scores.get((contender.label, layer, readout))
            if score is not None and not np.isnan(score.value):
                value = f"{score.value:.2f}".replace("-", "−")
                title += f" {value}" if both else f" ({score.name} {value})"
            heading = " ".join(filter(None, (contender.label * several, layer * both)))
            for panel in shown:
                own = f"{title}, {name_of(panel)}" if len(shown) > 1 else title
                cells.append(Cell(own, _relative(panel), nothing="undefined", heading=heading))
    if not cells:
        raise FechnerError(f"no observer has finished test '{test.id}' yet.")
    return draw_grid(cells, asked.columns, asked.dpi, test.experiment)


def _relative(panel: Panel) -> Panel | None:
    """Return a panel of lines with the observer's largest response as 1; None if it has none."""
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    own = np.concatenate([np.abs(line.y) for line in lines if not line.human] or [np.empty(0)])
    if not np.isfinite(own).any():
        return None
    largest = own[np.isfinite(own)].max() or 1.0

    def scaled(values: Floats | None) -> Floats | None:
        return None if values is None else values / largest

    marks = (
        replace(line, y=line.y / largest, low=scaled(line.low), high=scaled(line.high))
        for line in lines
    )
    label = f"{panel.y.label} over its largest"
    return replace(panel, marks=tuple(marks), y=replace(panel.y, label=label))


def _together(asked: _Asked, kind: str | None) -> Figure:
    """Draw the lines or bars of all observers on the same axes, with people's lines once.

    Lines and bars that one observer has several of, such as one for each contrast, have a panel
    each.
    """
    if asked.test is None or ALL in (asked.layer, asked.readout):
        raise FechnerError(
            "--together draws one test, and one layer and read-out of each observer."
        )
    found: dict[str, Sequence[Panel]] = {}
    for contender in asked.contenders:
        test = next((each for each in contender.run.tests if each.id == asked.test), None)
        data = contender.data(asked.test)
        if test is not None and data is not None:
            ((layer, readout),) = asked.places(data)
            chosen = data.sel(layer=layer, readout=readout)
            found[contender.label] = test.panels(chosen, contender.others(test))
            experiment = test.experiment
    if not found:
        raise FechnerError(f"no observer has finished test '{asked.test}' yet.")
    drawable = [[p for p in panels if _own_marks(p)] for panels in found.values()]
    kinds = [each for each in _kinds(found.values()) if each in _kinds(drawable)]
    kind = kinds[0] if kind is None and kinds else kind
    if kind not in kinds:
        known = f"of test '{asked.test}' there are {', '.join(kinds) or 'none'}"
        raise UnknownNameError("kind of lines or bars", str(kind), kinds, known)
    shared: dict[tuple[str, str], Panel] = {}
    for number, (label, panels) in enumerate(found.items()):
        for panel in (each for each in panels if each.kind == kind):
            people = tuple(
                replace(each, group=len(found) + place)
                for place, each in enumerate(panel.marks)
                if isinstance(each, Line | Points) and each.human
            )
            bare = replace(panel, marks=people, groups="observers", ordered=False)
            for mark in _own_marks(panel):
                place = (panel.name, mark.label)
                own = replace(mark, label=label, group=number)
                before = shared.get(place, bare)
                shared[place] = replace(before, marks=(*before.marks, own))
    several = len(shared) > 1
    cells = [Cell(", ".join(filter(None, k)) * several, panel) for k, panel in shared.items()]
    return draw_grid(cells, asked.columns, asked.dpi, experiment)


def _own_marks(panel: Panel) -> list[Line | Bars]:
    """Return the lines and bars of a panel that are an observer's own."""
    return [
        mark
        for mark in panel.marks
        if isinstance(mark, Bars) or (isinstance(mark, Line) and not mark.human and not mark.style)
    ]


# Scores


def _scores(asked: _Asked) -> Figure:
    """Draw all scores of all observers."""
    results = asked.results()
    if not results:
        raise FechnerError("there are no scores yet: no observer has finished a test.")
    return draw_scores(
        rows_of(asked.contenders, results, asked.layer, asked.readout),
        [test.id for test in asked.tests],
        asked.columns,
        asked.dpi,
        asked.best,
    )


def _layers(asked: _Asked) -> Figure:
    """Draw scores by depth, a panel for every test."""
    if asked.layer is not None:
        raise FechnerError("a figure of layers shows all of them; leave --layer out.")
    results = asked.results()
    cells = []
    for test in asked.tests:
        own = [(contender.label, result) for contender, result in results if result.test == test.id]
        if asked.readout is not None:
            by = choose_place("read-out", asked.readout, there(own, "readout"))
            own = [(label, r) for label, r in own if r.score.readout == by[label]]
        cells.append(Cell(test.id, _with_levels(depth_panel(own), own, named_best(asked.best))))
    if all(cell.panel is None for cell in cells):
        raise FechnerError(
            "no observer was measured at several layers, so there is no depth to show; "
            "`fechner run --layers` measures them."
        )
    # A line has the same colour in every panel, whoever else is there.
    numbers: dict[str, int] = {}
    for k, cell in enumerate(cells):
        if cell.panel is not None:
            lines = [mark for mark in cell.panel.marks if isinstance(mark, Line)]
            marks = tuple(
                replace(line, group=numbers.setdefault(line.label, len(numbers)))
                if line.group < _BLACK
                else line
                for line in lines
            )
            cells[k] = replace(cell, panel=replace(cell.panel, marks=marks))
    return draw_grid(cells, asked.columns, asked.dpi)


def _with_levels(
    panel: Panel | None, results: Sequence[tuple[str, Result]], best: str
) -> Panel | None:
    """Return a panel of scores with the best one and chance as lines across it."""
    if panel is None:
        return None
    score = results[0][1].score
    ends = np.concatenate([mark.x for mark in panel.marks if isinstance(mark, Line)])
    x = np.array([ends.min(), ends.max()]) + (0.5 if panel.x.ticks else 0.0) * np.array([-1, 1])
    levels = (
        Line(x, np.full(2, score.best), best, _BLACK, human=True),
        Line(x, np.full(2, score.chance), "chance", _BLACK, style="guide"),
    )
    return replace(panel, marks=(*panel.marks, *levels))


def _readouts(asked: _Asked) -> Figure:
    """Draw scores by layer and read-out, a heat map for every test and observer that has both."""
    if asked.layer is not None or asked.readout is not None:
        raise FechnerError(
            "a figure of read-outs shows all of them and all layers; leave --layer and --readout "
            "out."
        )
    results = asked.results()
    # Scores of one name are on one scale, whatever the test.
    ends = {
        name: ends_of(r.score.value for _, r in results if r.score.name == name)
        for name in dict.fromkeys(result.score.name for _, result in results)
    }
    cells = []
    several = len(asked.tests) > 1
    for test in asked.tests:
        own = [(contender.label, result) for contender, result in results if result.test == test.id]
        found = readout_panels(own, ends[own[0][1].score.name]) if own else {}
        cells += [
            Cell(f"{label}: {test.id}" if several else label, p) for label, p in found.items()
        ]
    if not cells:
        raise FechnerError(
            "no observer was measured at several layers by several read-outs; "
            "`fechner run --readout l2,l1` with an encoder measures them."
        )
    return draw_grid(cells, asked.columns, asked.dpi)


def _stimuli(asked: _Asked) -> Figure:
    """Draw the stimuli of the tests."""
    return draw_stimuli([test.experiment for test in asked.tests], asked.columns)


#: Figures that show all tests as well as one.
KINDS: dict[str, Callable[[_Asked], Figure]] = {
    "scores": _scores,
    "layers": _layers,
    "readouts": _readouts,
    "stimuli": _stimuli,
}
