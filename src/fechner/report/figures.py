"""Figures for papers: from runs to what is drawn.

``figure`` makes a matplotlib figure and ``save`` writes it; both leave matplotlib's own settings
alone. Panels are drawn from what a suite says there is to see in a test, whatever test it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.contenders import Contender
from fechner.report.depth import depth_panel, ends_of, readout_panels
from fechner.report.gallery import Pictures
from fechner.report.paper.cells import Cell, Guide, cells_of, name_of
from fechner.report.paper.choice import Choice, Runs, choose_observers, choose_place, open_runs
from fechner.report.paper.drawing import CHANCE, PEOPLE
from fechner.report.paper.gallery import draw_galleries
from fechner.report.paper.grid import draw_grid
from fechner.report.paper.score_chart import Row, draw_scores, named_best
from fechner.report.paper.stimuli import draw_stimuli
from fechner.report.paper.strips import Strips
from fechner.report.paper.style import check_columns, check_path, paper_style, save
from fechner.report.printed import draw_printed, is_table
from fechner.runs import Run
from fechner.scores import Panel, Score
from fechner.scores.panels import Bars, Floats, Line, Points
from fechner.suites import Test

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["KINDS", "PANELS", "check_path", "figure", "save"]

#: Stands for every layer, or every read-out.
ALL = "all"

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
    chosen = choose_observers(open_runs(many), observers)
    asked = Choice(chosen, test, layer, readout, columns, dpi, named=observers is not None)
    if kind is None and test is None:
        kind = "scores"
    with paper_style():
        if kind in KINDS:
            return KINDS[kind](asked)
        if together:
            return _together(asked, kind)
        return _everywhere(asked, kind) if ALL in (layer, readout) else _panels(asked, kind)


# Panels of a test


def _panels(asked: Choice, kind: str | None) -> Figure:
    """Draw the panels of one kind, one observer beside the other."""
    if asked.test is None:
        raise UnknownNameError(
            "kind of figure",
            kind or "",
            KINDS,
            f"without a test there are {', '.join(KINDS)}; name a test for its own",
        )
    (test,) = asked.tests
    answers = {
        contender.label: data
        for contender in asked.contenders
        if (data := contender.data(test.id)) is not None
    }
    reasons = {each.label: each.why_not_asked(test) for each in asked.contenders}
    if not answers and all(reasons.values()):
        (label, why), *_ = reasons.items()
        raise FechnerError(f"no observer was asked test '{test.id}': {label}, since {why}.")
    if not answers:
        raise FechnerError(f"no observer has finished test '{test.id}' yet.")
    layers = choose_place("layer", asked.layer, _there(answers, "layer"))
    readouts = choose_place("read-out", asked.readout, _there(answers, "readout"))
    used = {each.label: each.others(test) for each in asked.contenders}
    found = {
        label: test.panels(data.sel(layer=layers[label], readout=readouts[label]), used[label])
        for label, data in answers.items()
    }
    kinds = _kinds(found.values())
    kind = kinds[0] if kind is None else kind
    if kind not in kinds and _only_scores(asked, test, kind):
        raise FechnerError(
            f"only what scores need of '{test.id}' was measured: run it without --scores-only to "
            f"see more than {', '.join([*kinds, *KINDS])}."
        )
    there = [*kinds, *KINDS]
    if kind not in there and kind in PANELS:
        # What other tests have is spelt well, so the nearest spelling is of no use.
        raise UnknownNameError(
            f"kind of figure of '{test.id}'",
            kind,
            (),
            f"take {kinds[0]}: it has {', '.join(there)}",
        )
    if kind not in there:
        raise UnknownNameError(
            "kind of figure", kind, there, f"test '{test.id}' has {', '.join(there)}"
        )
    shown = {label: [p for p in panels if p.kind == kind] for label, panels in found.items()}
    places = {
        label: _place(answers.get(label), layers.get(label, ""), readouts.get(label, ""))
        for label in reasons
    }
    if any(panel.gallery for own in shown.values() for panel in own):
        blocks = [(f"{k} {places[k]}".strip(), p) for k, own in shown.items() for p in own]
        return draw_galleries(blocks, Pictures(test.experiment.scene), asked.columns, asked.dpi)
    cells: list[Cell] = []
    most = max(map(len, shown.values()))
    names = list(dict.fromkeys(name_of(panel) for own in shown.values() for panel in own))
    for contender in asked.contenders:
        label = contender.label
        own = shown.get(label, [])
        name = f"{label} {places[label]}".strip()
        # Several panels of one observer stand in a row of their own.
        title, heading = ("", name) if most > 1 else (name, "")
        if own:
            in_row = cells_of(name, own, names if len(names) == most else ())
            cells += in_row if most > 1 else [Cell(name, own[0])]
        elif not reasons[label]:
            cells.append(Cell(title, None, heading=heading))
        elif asked.named:
            cells.append(Cell(title, None, nothing="not asked", heading=heading))
    return draw_grid(cells, asked.columns, asked.dpi, Strips(test.experiment))


def _everywhere(asked: Choice, kind: str | None) -> Figure:
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
        for layer, readout in _chosen_places(asked, data):
            panels = test.panels(data.sel(layer=layer, readout=readout), contender.others(test))
            kinds = _kinds([panels])
            lines = [each for each in kinds if _has_lines([p for p in panels if p.kind == each])]
            wanted = kind or (lines or kinds)[0]
            if wanted not in lines:
                raise UnknownNameError(
                    "kind of figure of all layers or read-outs",
                    wanted,
                    lines,
                    f"only panels of lines are drawn so: {', '.join(lines) or 'there are none'}",
                )
            shown = [panel for panel in panels if panel.kind == wanted]
            score = scores.get((contender.label, layer, readout))
            if score is not None and np.isnan(score.value):
                score = None
            value = "" if score is None else f"{score.value:.2f}".replace("-", "−")
            named = layer if asked.layer == ALL and not both else readout
            title = (
                f"{named} {value}" if both or score is None else f"{named} ({score.name} {value})"
            )
            heading = " ".join(filter(None, (contender.label * several, layer * both)))
            for panel in shown:
                own = f"{title}, {name_of(panel)}" if len(shown) > 1 else title
                drawn = _relative(panel)
                nothing = "undefined" if drawn is None else "not measured"
                cells.append(Cell(own, drawn, nothing=nothing, heading=heading))
    if not cells:
        raise FechnerError(f"no observer has finished test '{test.id}' yet.")
    return draw_grid(cells, asked.columns, asked.dpi, Strips(test.experiment))


def _together(asked: Choice, kind: str | None) -> Figure:
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
            ((layer, readout), *_) = _chosen_places(asked, data)
            chosen = data.sel(layer=layer, readout=readout)
            found[contender.label] = test.panels(chosen, contender.others(test))
            experiment = test.experiment
    if not found:
        raise FechnerError(f"no observer has finished test '{asked.test}' yet.")
    kinds = [
        each
        for each in _kinds(found.values())
        if any(_own_marks(p) for panels in found.values() for p in panels if p.kind == each)
    ]
    kind = kinds[0] if kind is None and kinds else kind
    if kind not in kinds:
        there = f"of test '{asked.test}' there are {', '.join(kinds) or 'none'}"
        raise UnknownNameError("kind of lines or bars", str(kind), kinds, there)
    shared: dict[tuple[str, str], Panel] = {}
    for number, (label, panels) in enumerate(found.items()):
        for panel in (each for each in panels if each.kind == kind):
            for mark in _own_marks(panel):
                people = tuple(
                    replace(each, group=len(found) + place)
                    for place, each in enumerate(panel.marks)
                    if isinstance(each, Line | Points) and each.human
                )
                own = replace(mark, label=label, group=number)
                place = (panel.name, mark.label)
                known = shared.setdefault(
                    place, replace(panel, marks=people, groups="observers", ordered=False)
                )
                shared[place] = replace(known, marks=(*known.marks, own))
    names = {place: ", ".join(filter(None, place)) for place in shared}
    titles = names if len(shared) > 1 else dict.fromkeys(shared, "")
    cells = [Cell(titles[place], panel) for place, panel in shared.items()]
    return draw_grid(cells, asked.columns, asked.dpi, Strips(experiment))


def _own_marks(panel: Panel) -> list[Line | Bars]:
    """Return the lines and bars of a panel that are an observer's own."""
    return [
        mark
        for mark in panel.marks
        if isinstance(mark, Bars) or (isinstance(mark, Line) and not mark.human and not mark.style)
    ]


def _chosen_places(asked: Choice, data: xr.Dataset) -> list[tuple[str, str]]:
    """Return layers and read-outs of an observer, all or the one that was asked for."""
    names = [
        names if chosen == ALL else [choose_place(what, chosen, {"it": names})["it"]]
        for what, names, chosen in (
            ("layer", [str(each) for each in data["layer"].values], asked.layer),
            ("read-out", [str(each) for each in data["readout"].values], asked.readout),
        )
    ]
    if asked.layer is None:
        names[0] = [str(data["layer"].values[-1])]
    return [(layer, readout) for layer in names[0] for readout in names[1]]


def _has_lines(panels: Sequence[Panel]) -> bool:
    return all(isinstance(mark, Line) for panel in panels for mark in panel.marks)


def _relative(panel: Panel) -> Panel | None:
    """Return a panel of lines with the observer's largest response as 1; None if it has none."""
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    own = [line.y[np.isfinite(line.y)] for line in lines if not line.human]
    if not any(map(len, own)):
        return None
    largest = max(float(np.abs(each).max()) for each in own if len(each))

    def scaled(values: Floats | None) -> Floats | None:
        return None if values is None else values / (largest or 1.0)

    marks = (
        replace(line, y=line.y / (largest or 1.0), low=scaled(line.low), high=scaled(line.high))
        for line in lines
    )
    label = f"{panel.y.label} over its largest"
    return replace(panel, marks=tuple(marks), y=replace(panel.y, label=label))


def _there(answers: dict[str, xr.Dataset], what: str) -> dict[str, list[str]]:
    """Return the layers of each observer from the last on, or its read-outs from the first on."""
    order = -1 if what == "layer" else 1
    return {
        label: [str(name) for name in data[what].values][::order] for label, data in answers.items()
    }


def _kinds(found: Iterable[Sequence[Panel]]) -> list[str]:
    """Return the kinds of panels there are; those of whoever has most come first."""
    every = sorted(found, key=len, reverse=True)
    return list(dict.fromkeys(panel.kind for panels in every for panel in panels))


def _only_scores(asked: Choice, test: Test, kind: str) -> bool:
    """Whether a test has pieces for a kind of figure, and none of them was measured."""
    pieces = test.experiment.pieces()
    own = any(not piece.for_scores and piece.name.startswith(f"{kind}-") for piece in pieces)
    return own and all(
        contender.run.data(contender.observer, test.id, for_scores=False) is None
        for contender in asked.contenders
        if test.id in contender.run.manifest.tests
    )


def _place(data: xr.Dataset | None, layer: str, readout: str) -> str:
    """Return layer and read-out in words, where there was something to choose."""
    if data is None:
        return ""
    named = readout if data.sizes["readout"] > 1 else ""
    where = "" if layer == str(data["layer"].values[-1]) else f"at {layer}"
    return f"{named} {where}".strip()


# All scores


def _scores(asked: Choice) -> Figure:
    """Draw all scores of all observers."""
    results = asked.results()
    if not results:
        raise FechnerError("there are no scores yet: no observer has finished a test.")
    layers: dict[str, list[str]] = {}
    readouts: dict[str, list[str]] = {}
    measured: dict[tuple[str, str], set[str]] = {}
    for contender, result in results:
        measured.setdefault((contender.label, result.test), set()).add(result.score.layer)
        at = layers.setdefault(contender.label, [])
        by = readouts.setdefault(contender.label, [])
        if result.score.layer not in at:
            at.insert(0, result.score.layer)
        if result.score.readout not in by:
            by.append(result.score.readout)
    at_layer = choose_place("layer", asked.layer, layers)
    by_readout = choose_place("read-out", asked.readout, readouts)
    rows: dict[tuple[Contender, str], dict[str, Score]] = {}
    for contender, result in results:
        score = result.score
        # All read-outs are shown unless one is chosen.
        chosen = asked.readout is None or score.readout == by_readout[contender.label]
        layer = at_layer[contender.label]
        # Tests that ask another ability may not have that layer; then what there is is shown.
        elsewhere = layer not in measured[contender.label, result.test] and result.last
        if chosen and (score.layer == layer or elsewhere):
            rows.setdefault((contender, result.place), {})[result.test] = score
    unseen = [each for each in asked.contenders if each.label not in layers]
    shown = [*rows.items(), *(((each, ""), {}) for each in unseen)]
    return draw_scores(
        [Row(each.label, place, each.family, own) for (each, place), own in shown],
        [test.id for test in asked.tests],
        asked.columns,
        asked.dpi,
        asked.best,
    )


# Scores by depth


def _layers(asked: Choice) -> Figure:
    """Draw scores by depth, a panel for every test."""
    if asked.layer is not None:
        raise FechnerError("a figure of layers shows all of them; leave --layer out.")
    results = asked.results()
    cells = []
    for test in asked.tests:
        own = [(contender.label, result) for contender, result in results if result.test == test.id]
        by = {label: [r.score.readout for at, r in own if at == label] for label, _ in own}
        chosen = choose_place(
            "read-out", asked.readout, {k: list(dict.fromkeys(v)) for k, v in by.items()}
        )
        if asked.readout is not None:
            own = [(label, r) for label, r in own if r.score.readout == chosen[label]]
        panel = depth_panel(own)
        guides = (
            (
                Guide(own[0][1].score.best, named_best(asked.best), PEOPLE),
                Guide(own[0][1].score.chance, "chance", CHANCE),
            )
            if panel is not None
            else ()
        )
        cells.append(Cell(test.id, panel, guides))
    if all(cell.panel is None for cell in cells):
        raise FechnerError(
            "no observer was measured at several layers, so there is no depth to show; "
            "`fechner run --layers` measures them."
        )
    return draw_grid(_same_colours(cells), asked.columns, asked.dpi)


def _same_colours(cells: Sequence[Cell]) -> list[Cell]:
    """Give a line the same colour in every panel, whoever else is there."""
    lines = [m for c in cells if c.panel for m in c.panel.marks if isinstance(m, Line)]
    numbers = {label: k for k, label in enumerate(dict.fromkeys(line.label for line in lines))}

    def coloured(panel: Panel) -> Panel:
        marks = (
            replace(mark, group=numbers[mark.label]) if isinstance(mark, Line) else mark
            for mark in panel.marks
        )
        return replace(panel, marks=tuple(marks))

    return [replace(c, panel=coloured(c.panel)) if c.panel else c for c in cells]


def _readouts(asked: Choice) -> Figure:
    """Draw scores by layer and read-out, a heat map for every test and observer that has both."""
    if asked.layer is not None or asked.readout is not None:
        raise FechnerError(
            "a figure of read-outs shows all of them and all layers; leave --layer and --readout "
            "out."
        )
    results = asked.results()
    # Scores of one name are on one scale, whatever the test.
    names = dict.fromkeys(result.score.name for _, result in results)
    ends = {
        name: ends_of(r.score.value for _, r in results if r.score.name == name) for name in names
    }
    cells = []
    several = len(asked.tests) > 1
    for test in asked.tests:
        own = [(contender.label, result) for contender, result in results if result.test == test.id]
        if not own:
            continue
        found = readout_panels(own, ends[own[0][1].score.name])
        cells += [
            Cell(f"{label}: {test.id}" if several else label, p) for label, p in found.items()
        ]
    if not cells:
        raise FechnerError(
            "no observer was measured at several layers by several read-outs; "
            "`fechner run --readout l2,l1` with an encoder measures them."
        )
    return draw_grid(cells, asked.columns, asked.dpi)


def _stimuli(asked: Choice) -> Figure:
    """Draw the stimuli of the tests."""
    return draw_stimuli([test.experiment for test in asked.tests], asked.columns)


#: Figures that show all tests as well as one.
KINDS: dict[str, Callable[[Choice], Figure]] = {
    "scores": _scores,
    "layers": _layers,
    "readouts": _readouts,
    "stimuli": _stimuli,
}
