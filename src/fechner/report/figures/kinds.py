"""Figures for papers: from runs to what is drawn.

``figure`` makes a matplotlib figure and ``save`` writes it; both leave matplotlib's own settings
alone. Panels are drawn from what a suite says there is to see in a test, whatever test it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fechner.arrays import Floats
from fechner.errors import FechnerError, UnknownNameError
from fechner.report.contenders import ALL, Contender, Selection, choose_observers, choose_place
from fechner.report.figures import scores
from fechner.report.figures.grid import Cell, cells_of, draw_grid, name_of
from fechner.report.figures.pictures import draw_galleries, draw_stimuli
from fechner.report.figures.style import check_columns, paper_style
from fechner.report.panels import depth_panel, ends_of, readout_panels
from fechner.runs import Run
from fechner.scores import Panel
from fechner.scores.panels import Bars, Line, Points
from fechner.suites import Test

if TYPE_CHECKING:
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
    if any(scores.is_table(each) for each in many):
        if len(many) > 1:
            raise FechnerError(
                "a published table is drawn alone; `fechner report` shows it beside a run."
            )
        if kind not in (None, "scores") or layer is not None or readout is not None:
            raise FechnerError(
                "a published table has scores only; leave --kind, --layer and --readout out."
            )
        with paper_style():
            return scores.draw_printed(str(many[0]), test, observers, columns, dpi)
    chosen = choose_observers(many, observers)
    asked = Selection(chosen, test, layer, readout, observers is not None)
    if kind is None and test is None:
        kind = "scores"
    with paper_style():
        if kind in KINDS:
            return KINDS[kind](asked, columns, dpi)
        draw = _together if together else _everywhere if ALL in (layer, readout) else _panels
        return draw(asked, kind, columns, dpi)


# Panels of a test


class _Shown(NamedTuple):
    """The panels of an observer at one layer, by one read-out.

    Parameters
    ----------
    place
        Layer and read-out in words, where there was something to choose.
    """

    contender: Contender
    test: Test
    layer: str
    readout: str
    place: str
    panels: Sequence[Panel]


def _shown(asked: Selection) -> list[_Shown]:
    """Return the panels of the test for whoever has finished it."""
    assert asked.test is not None
    answers = {
        each.label: data for each in asked.contenders if (data := each.data(asked.test)) is not None
    }
    if not answers:
        raise FechnerError(f"no observer has finished test '{asked.test}' yet.")
    places = asked.places(answers)
    found = []
    for contender in (each for each in asked.contenders if each.label in answers):
        data = answers[contender.label]
        test = next(test for test in contender.run.tests if test.id == asked.test)
        for layer, readout in places[contender.label]:
            by = readout if data.sizes["readout"] > 1 else ""
            at = "" if layer == str(data["layer"].values[-1]) else f"at {layer}"
            place = f"{by} {at}".strip()
            panels = test.panels(data.sel(layer=layer, readout=readout), contender.others(test))
            found.append(_Shown(contender, test, layer, readout, place, panels))
    return found


def _kinds(found: Iterable[Sequence[Panel]]) -> list[str]:
    """Return the kinds of panels there are; those of whoever has most come first."""
    every = sorted(found, key=len, reverse=True)
    return list(dict.fromkeys(panel.kind for panels in every for panel in panels))


def _panels(asked: Selection, kind: str | None, columns: int, dpi: float) -> Figure:
    """Draw the panels of one kind, one observer beside the other."""
    if asked.test is None:
        raise UnknownNameError(
            "kind of figure",
            kind or "",
            KINDS,
            f"without a test there are {', '.join(KINDS)}; name a test for its own",
        )
    (test,) = asked.tests
    reasons = {each: each.why_not_asked(test) for each in asked.contenders}
    if all(reasons.values()):
        (someone, why), *_ = reasons.items()
        raise FechnerError(f"no observer was asked test '{test.id}': {someone.label}, since {why}.")
    found = {each.contender: each for each in _shown(asked)}
    kind = _check_kind(asked, test, kind, _kinds(each.panels for each in found.values()))
    shown = {
        each.contender: [panel for panel in each.panels if panel.kind == kind]
        for each in found.values()
    }
    names = {each: each.label for each in reasons} | {
        each.contender: f"{each.contender.label} {each.place}".strip() for each in found.values()
    }
    if any(panel.gallery for own in shown.values() for panel in own):
        blocks = [(names[each], panel) for each, own in shown.items() for panel in own]
        return draw_galleries(blocks, test.experiment.scene, columns, dpi)
    cells: list[Cell] = []
    most = max(map(len, shown.values()))
    parts = list(dict.fromkeys(name_of(panel) for own in shown.values() for panel in own))
    for contender, why in reasons.items():
        own, name = shown.get(contender, []), names[contender]
        # Several panels of one observer stand in a row of their own.
        title, heading = ("", name) if most > 1 else (name, "")
        if own and most > 1:
            cells += cells_of(name, own, parts if len(parts) == most else ())
        elif own:
            cells.append(Cell(name, own[0]))
        elif not why or asked.named:
            nothing = "not asked" if why else "not measured"
            cells.append(Cell(title, None, nothing=nothing, heading=heading))
    return draw_grid(cells, columns, dpi, test.experiment)


def _check_kind(asked: Selection, test: Test, kind: str | None, kinds: Sequence[str]) -> str:
    """Return the kind of panels to draw, the first by default."""
    kind = kinds[0] if kind is None else kind
    every = [*kinds, *KINDS]
    if kind in kinds:
        return kind
    pieces = [piece for piece in test.experiment.pieces() if piece.name.startswith(f"{kind}-")]
    if any(not piece.for_scores for piece in pieces) and all(
        each.run.data(each.observer, test.id, for_scores=False) is None
        for each in asked.contenders
        if test.id in each.run.manifest.tests
    ):
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


def _everywhere(asked: Selection, kind: str | None, columns: int, dpi: float) -> Figure:
    """Draw the panels of a test for all read-outs or layers of each observer, with their scores.

    Read-outs and layers have scales of their own, so responses are drawn relative to the largest.
    """
    (test,) = asked.tests
    scored = {
        (contender.label, result.score.layer, result.score.readout): result.score
        for contender, result in asked.results()
    }
    several = len(asked.contenders) > 1
    both = asked.layer == asked.readout == ALL
    cells: list[Cell] = []
    for contender, _, layer, readout, _, panels in _shown(asked):
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
        score = scored.get((contender.label, layer, readout))
        if score is not None and not np.isnan(score.value):
            value = f"{score.value:.2f}".replace("-", "−")
            title += f" {value}" if both else f" ({score.name} {value})"
        heading = " ".join(filter(None, (contender.label * several, layer * both)))
        for panel in shown:
            own = f"{title}, {name_of(panel)}" if len(shown) > 1 else title
            cells.append(Cell(own, _relative(panel), nothing="undefined", heading=heading))
    return draw_grid(cells, columns, dpi, test.experiment)


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


def _together(asked: Selection, kind: str | None, columns: int, dpi: float) -> Figure:
    """Draw the lines or bars of all observers on the same axes, with people's lines once.

    Lines and bars that one observer has several of, such as one for each contrast, have a panel
    each.
    """
    if asked.test is None or ALL in (asked.layer, asked.readout):
        raise FechnerError(
            "--together draws one test, and one layer and read-out of each observer."
        )
    found = _shown(asked)
    drawable = _kinds([p for p in each.panels if _own_marks(p)] for each in found)
    kinds = [each for each in _kinds(each.panels for each in found) if each in drawable]
    kind = kinds[0] if kind is None and kinds else kind
    if kind not in kinds:
        known = f"of test '{asked.test}' there are {', '.join(kinds) or 'none'}"
        raise UnknownNameError("kind of lines or bars", str(kind), kinds, known)
    shared: dict[tuple[str, str], Panel] = {}
    for number, each in enumerate(found):
        for panel in (panel for panel in each.panels if panel.kind == kind):
            people = tuple(
                replace(mark, group=len(found) + place)
                for place, mark in enumerate(panel.marks)
                if isinstance(mark, Line | Points) and mark.human
            )
            bare = replace(panel, marks=people, groups="observers", ordered=False)
            for mark in _own_marks(panel):
                place = (panel.name, mark.label)
                own = replace(mark, label=each.contender.label, group=number)
                before = shared.get(place, bare)
                shared[place] = replace(before, marks=(*before.marks, own))
    several = len(shared) > 1
    cells = [Cell(", ".join(filter(None, k)) * several, panel) for k, panel in shared.items()]
    return draw_grid(cells, columns, dpi, found[-1].test.experiment)


def _own_marks(panel: Panel) -> list[Line | Bars]:
    """Return the lines and bars of a panel that are an observer's own."""
    return [
        mark
        for mark in panel.marks
        if isinstance(mark, Bars) or (isinstance(mark, Line) and not mark.human and not mark.style)
    ]


# Scores


def _scores(asked: Selection, columns: int, dpi: float) -> Figure:
    """Draw all scores of all observers."""
    results = asked.results()
    if not results:
        raise FechnerError("there are no scores yet: no observer has finished a test.")
    rows = scores.rows_of(asked.contenders, results, asked.layer, asked.readout)
    return scores.draw_scores(rows, [test.id for test in asked.tests], columns, dpi, asked.best)


def _layers(asked: Selection, columns: int, dpi: float) -> Figure:
    """Draw scores by depth, a panel for every test, with the best score and chance across it."""
    if asked.layer is not None:
        raise FechnerError("a figure of layers shows all of them; leave --layer out.")
    results = asked.results()
    best = scores.named_best(asked.best)
    cells = []
    # A line has the same colour in every panel, whoever else is there.
    numbers: dict[str, int] = {}
    for test in asked.tests:
        own = [(contender.label, result) for contender, result in results if result.test == test.id]
        if asked.readout is not None:
            by = choose_place("read-out", asked.readout, scores.there(own, "readout"))
            own = [(label, r) for label, r in own if r.score.readout == by[label]]
        panel = depth_panel(own)
        if panel is not None:
            score = own[0][1].score
            lines = [
                replace(mark, group=numbers.setdefault(mark.label, len(numbers)))
                for mark in panel.marks
                if isinstance(mark, Line)
            ]
            beyond = 0.5 if panel.x.ticks else 0.0
            last = max(line.x.max() for line in lines)
            x = np.array([-beyond, last + beyond])
            levels = (
                Line(x, np.full(2, score.best), best, _BLACK, human=True),
                Line(x, np.full(2, score.chance), "chance", _BLACK, style="guide"),
            )
            panel = replace(panel, marks=(*lines, *levels))
        cells.append(Cell(test.id, panel))
    if all(cell.panel is None for cell in cells):
        raise FechnerError(
            "no observer was measured at several layers, so there is no depth to show; "
            "`fechner run --layers` measures them."
        )
    return draw_grid(cells, columns, dpi)


def _readouts(asked: Selection, columns: int, dpi: float) -> Figure:
    """Draw scores by layer and read-out, a heat map for every test and observer that has both."""
    if asked.layer is not None or asked.readout is not None:
        raise FechnerError(
            "a figure of read-outs shows all of them and all layers; leave --layer and --readout "
            "out."
        )
    results = asked.results()
    cells = []
    several = len(asked.tests) > 1
    for test in asked.tests:
        own = [(contender.label, result) for contender, result in results if result.test == test.id]
        # Scores of one name are on one scale, whatever the test.
        names = {result.score.name for _, result in own}
        ends = ends_of(r.score.value for _, r in results if r.score.name in names)
        cells += [
            Cell(f"{label}: {test.id}" if several else label, panel)
            for label, panel in readout_panels(own, ends).items()
        ]
    if not cells:
        raise FechnerError(
            "no observer was measured at several layers by several read-outs; "
            "`fechner run --readout l2,l1` with an encoder measures them."
        )
    return draw_grid(cells, columns, dpi)


def _stimuli(asked: Selection, columns: int, dpi: float) -> Figure:
    """Draw the stimuli of the tests, at their own resolution."""
    return draw_stimuli([test.experiment for test in asked.tests], columns)


#: Figures that show all tests as well as one.
KINDS: dict[str, Callable[[Selection, int, float], Figure]] = {
    "scores": _scores,
    "layers": _layers,
    "readouts": _readouts,
    "stimuli": _stimuli,
}
