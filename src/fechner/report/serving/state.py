"""How far a run is: which pieces were asked for, which are done, how long the rest will take.

What was asked for is known from the plan of the last process, as long as that has not got to its
end. Of the rest, a test of an observer counts as asked for once the ledger has an entry of it, and
its surface (what only figures need) once it has an entry of that: a run made for scores only is
complete without surfaces.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from fechner.errors import FechnerError
from fechner.experiments import Piece
from fechner.report.serving.runs import Found, last_lines
from fechner.runs import Run
from fechner.runs.manifest import FILE
from fechner.runs.plan import digest, jobs, piece_keys
from fechner.runs.store import Entry, Ledger, Plan, last_writer
from fechner.suites.base import not_asked


def read_state(found: Found) -> dict[str, Any]:
    """Return how far a run is, as plain values that pages show and programs read.

    Whatever is wrong with its folder becomes a sentence, its ``problem``. Who writes it is one of
    ``now``, ``elsewhere`` (another machine, as far as anyone here can tell), ``stopped`` and
    ``ended``; ``now`` is the observer that seems to be looking.
    """
    writer = last_writer(found.folder)
    lives = {None: "elsewhere", True: "now", False: "stopped"}
    writing = "ended" if writer is None else lives[writer.lives]
    state: dict[str, Any] = {
        "id": found.id,
        "run": found.label,
        "writing": writing,
        "live": writing in ("now", "elsewhere"),
        "problem": "",
        "suite": None,
        "observers": [],
        "tests": [],
        "not_asked": [],
        "notes": [],
        "log": last_lines(found.folder),
    }
    try:
        if not (found.folder / FILE).is_file():
            raise FechnerError("nothing is written yet; if it was stopped, run it again.")
        run = Run(found.folder)
        plan = (writer.plan if writer else None) or Plan([], [], scores_only=True)
        state |= {
            "tests": [k for k in run.all_tests if k in run.manifest.tests or k in plan.tests],
            "observers": _rows(run, plan, state["live"]),
            "suite": run.manifest.suite,
            "mode": run.manifest.mode,
            "device": run.manifest.device,
            "not_asked": run.not_asked,
            "notes": run.manifest.notes,
        }
    # A manifest may hold anything, and one damaged folder must not hide the others.
    except Exception as error:
        why = str(error)
        if not isinstance(error, FechnerError):
            why = f"it cannot be understood ({type(error).__name__}: {error})."
        state["problem"] = found.without_path(why)
    rows = state["observers"]
    cells = [cell for row in rows for cell in row["cells"].values()]
    done, of = (sum(cell[name] for cell in cells) for name in ("done", "of"))
    failures: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        for test, cell in row["cells"].items():
            if cell["state"] == "failed":
                own = failures.setdefault(row["observer"], {})
                own.setdefault(cell["message"], []).append(test)
    now = (row for row in rows if row["loading"] or any(c["now"] for c in row["cells"].values()))
    state |= {
        "pieces": {"done": done, "of": of},
        "complete": not state["problem"] and 0 < of == done,
        "images": sum(row["images"] for row in rows),
        "failed": sum(cell["state"] == "failed" for cell in cells),
        "failures": failures,
        "left_out": {row["observer"]: row["left_out"] for row in rows if row["left_out"]},
        "now": next(now, None),
        "seconds_left": sum(row["seconds_left"] or 0.0 for row in rows),
        "observers_of_unknown_speed": sum(row["seconds_left"] is None for row in rows),
    }
    state["status"] = _status(state, any(cell["state"] in ("part", "waiting") for cell in cells))
    bad = state["problem"] or state["failed"] or state["left_out"]
    open_or_good = "good" if state["complete"] else "open"
    # The word that style sheets have for it.
    state["kind"] = "live" if state["live"] else "bad" if bad else open_or_good
    state["version"] = digest(json.dumps(state))[:16]
    return state


def _status(state: dict[str, Any], unfinished: bool) -> str:
    """Return where a run stands, in words."""
    if state["live"]:
        return "being written now" if state["writing"] == "now" else "on another machine"
    if state["problem"]:
        return "cannot be read"
    if state["writing"] == "stopped":
        return "stopped"
    if unfinished:
        return "not finished"
    counts = {"failed": state["failed"], "left out": len(state["left_out"])}
    bad = [f"{number} {what}" for what, number in counts.items() if number]
    finished = state["pieces"]["of"] or bad
    return ", ".join(["finished", *bad]) if finished else "nothing measured yet"


def _rows(run: Run, plan: Plan, live: bool) -> list[dict[str, Any]]:
    """Return a row for each observer that was measured, left out or planned, with its cells.

    ``seconds_left`` is None where there is no speed yet.
    """
    manifest, every = run.manifest, run.all_tests
    tests = {k: test for k, test in every.items() if k in manifest.tests or k in plan.tests}
    to_do = [test for name, test in tests.items() if name in plan.tests]
    planned = dict.fromkeys(  # in the order in which they are measured
        (observer, job.test.id, job.piece.name)
        for observer in plan.observers
        if observer not in manifest.left_out
        for job in jobs(observer, to_do, plan.scores_only)
    )
    recorded = {(e.observer, e.key): e for e in Ledger(run.folder).entries(read_only=True)}
    rows = {}
    answered = set()
    for observer in dict.fromkeys([*manifest.observers, *manifest.left_out, *plan.observers]):
        record = manifest.observers.get(observer)
        cells = {}
        for name, test in tests.items():
            # Entries of an observer or a test that has changed since do not count.
            keys = piece_keys(test, every, record) if record else {}
            known = {piece: recorded.get((observer, key)) for piece, key in keys.items()}
            entries = {piece: entry for piece, entry in known.items() if entry}
            answered |= {(observer, name, piece) for piece in entries}
            pieces = test.experiment.pieces()
            kinds = {piece.for_scores for piece in pieces if piece.name in entries}
            asked = [
                piece
                for piece in pieces
                if piece.for_scores in kinds
                or (kinds and piece.for_scores)
                or (observer, name, piece.name) in planned
            ]
            lacking = next(not_asked(observer, [test], record.lacks if record else []), "")
            cells[name] = _cell([] if lacking else asked, entries, lacking)
        images, seconds, shown, left = (
            sum(cell[what] for cell in cells.values())
            for what in ("images", "seconds", "work_done", "work_left")
        )
        rows[observer] = {
            "observer": observer,
            "cells": cells,
            "images": images,
            "seconds": seconds,
            "rate": images / seconds if seconds else None,
            "seconds_left": left * seconds / shown if shown else None if left else 0.0,
            "loading": False,
            "left_out": manifest.left_out.get(observer, ""),
        }
    for observer, name, piece in planned if live else ():
        cell = rows[observer]["cells"][name]
        begun = observer in manifest.observers and cell["state"] in ("part", "waiting")
        if begun and (observer, name, piece) not in answered:
            cell["now"] = True
            return list(rows.values())
    for observer in plan.observers if live else ():
        if observer not in (*manifest.observers, *manifest.left_out):
            rows[observer]["loading"] = True
            break
    return list(rows.values())


def _cell(asked: list[Piece], entries: dict[str, Entry], lacking: str) -> dict[str, Any]:
    """Return how far an observer is in a test.

    ``unasked`` is what nobody asked for, ``not asked`` a test that needs what the observer lacks.
    The rest of a test that failed is not tried.
    """
    failures = [each.message for each in entries.values() if each.status == "failed"]
    done = [p for p in asked if p.name in entries and entries[p.name].status == "done"]
    state = "done" if len(done) == len(asked) else "part" if done else "waiting"
    if lacking or failures or not asked:
        state = "not asked" if lacking else "failed" if failures else "unasked"
    work_done = sum(piece.work for piece in done)
    return {
        "state": state,
        "done": len(done),
        "of": len(asked),
        "message": lacking or next(reversed(failures), ""),
        "now": False,
        "images": sum(entries[piece.name].images for piece in done),
        "seconds": sum(entries[piece.name].seconds for piece in done),
        "work_done": work_done,
        "work_left": 0 if failures else sum(piece.work for piece in asked) - work_done,
    }


def number(value: float) -> str:
    """Return a number with three digits that count.

    Examples
    --------
    >>> number(0.0082435), number(123.4), number(14892)
    ('0.00824', '123', '14,892')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


FILTERS = {
    "duration": lambda seconds: str(timedelta(seconds=round(seconds))),
    "moment": lambda seconds: datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M"),
    "number": number,
}
