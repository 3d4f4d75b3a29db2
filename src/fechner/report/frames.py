"""Scores and raw answers as tidy pandas frames.

Raw answers are laid out by what their dataset says of itself: every variable over layers and
read-outs is a quantity with a row for each of its cells, beside the values of everything that
varies along the same dimensions. Nothing is known here of any experiment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from fechner.arrays import pd, xr
from fechner.errors import check_names
from fechner.report.contenders import Contender, contenders
from fechner.report.score_tables import COLUMNS, records
from fechner.report.tables import Schema

if TYPE_CHECKING:
    from fechner.runs import Result, Run
    from fechner.suites import Test

What = Literal["scores", "responses", "surfaces", "trials"]

#: Whether a kind takes the pieces that scores need, or those for figures; all if it is not here.
FOR_SCORES: dict[str, bool] = {"responses": True, "surfaces": False}

_OBSERVER = dict.fromkeys(("observer", "suite", "mode", "test"), "str")

#: Columns of scores with their types: those of the CSV, then whatever else is known.
OF_SCORES: Schema = dict.fromkeys(COLUMNS, "str") | {
    **dict.fromkeys(("value", "low", "high", "published"), "float64"),
    "higher_is_better": "boolean",
    **dict.fromkeys(("best", "chance"), "float64"),
    "resampled": "str",
    "n": "int64",
    **dict.fromkeys(("human_low", "human_high"), "float64"),
    **dict.fromkeys(("main", "last"), "bool"),
}

#: Columns that all raw answers have.
OF_ANSWERS: Schema = {
    **_OBSERVER,
    **dict.fromkeys(("layer", "readout", "quantity"), "str"),
    "value": "float64",
}

#: Columns of answers in words; the contrast is that which was shown, and blanks have no abscissa.
OF_TRIALS: Schema = {
    **_OBSERVER,
    **dict.fromkeys(("abscissa", "contrast"), "float64"),
    "prompt_number": "Int64",
    "prompt": "str",
    "draw": "Int64",
    **dict.fromkeys(("choice", "reply", "finish_reason"), "str"),
    **dict.fromkeys(("probability", "mass"), "float64"),
    **dict.fromkeys(("prompt_tokens", "completion_tokens"), "Int64"),
    "cost": "float64",
}

#: Types of columns, each able to hold what those before it hold.
_KINDS = ("bool", "boolean", "int64", "Int64", "float64", "str")

#: Dimensions of an answer; whatever lacks one of them was set by the experiment.
_PLACES = ("layer", "readout")

#: Names that no other column may have.
_RESERVED = (*OF_ANSWERS, "text", "run")

#: Attributes that say what numbers stand for, and what is between their words.
_SPELT_OUT = {"meanings": None, "names": "|"}

#: Attributes that say what a variable's numbers are.
_TOLD = ("name", "unit")


def to_dataframe(run: Run, what: What = "scores") -> pd.DataFrame:
    """Return what is complete of a run as one frame; see `fechner.Run.to_dataframe`."""
    check_names("frame", [what], get_args(What))
    if what == "scores":
        return scores_frame(run.scores())
    if what == "trials":
        return trials_frame(run)
    run.entries()  # a damaged ledger is told, and does not leave everything out
    return together(
        [
            answers_frame(each, test, data)
            for each in contenders([run])
            for test in run.tests
            if (data := each.read(test, [], FOR_SCORES.get(what))) is not None
        ]
    )


def scores_frame(results: Sequence[Result]) -> pd.DataFrame:
    """Return scores with everything that is known of each, one per row."""
    return _framed(OF_SCORES, records(results))


def trials_frame(
    run: Run, observers: Sequence[str] | None = None, tests: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return answers in words, one per row.

    The choice is the option that was chosen, ``invalid`` if none was; the probability is that of
    the first option.
    """
    manifest = run.manifest
    rows = [
        {
            **row,
            "suite": manifest.suite,
            "mode": manifest.mode,
            "choice": "invalid"
            if row["choice"] is None
            else json.loads(row["options"])[row["choice"]],
            "probability": json.loads(row["probabilities"] or "[null]")[0],
        }
        for row in run.trials()
        if (observers is None or row["observer"] in observers)
        and (tests is None or row["test"] in tests)
    ]
    return _framed(OF_TRIALS, rows)


def _framed(columns: Schema, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        {name: _typed([row[name] for row in rows], kind) for name, kind in columns.items()}
    )


def answers_frame(contender: Contender, test: Test, data: xr.Dataset) -> pd.DataFrame:
    """Return the raw answers of an observer in a test, one per row."""
    manifest = contender.run.manifest
    whose = {"observer": contender.observer, "suite": manifest.suite, "mode": manifest.mode}
    return tidy(data, whose | {"test": test.id})


def tidy(data: xr.Dataset, whose: Mapping[str, str]) -> pd.DataFrame:
    """Return a dataset with a row for each cell of each quantity.

    Quantities are the variables over layers and read-outs, and those that vary along dimensions
    which no such variable has, as what people did may: they have no layer or read-out. Dimensions
    without values of their own are numbered. Flags and classes are words, as their attributes
    ``meanings`` and ``names`` have them. Text among answers stands in a column ``text`` instead of
    ``value``.
    """
    wide = {name: set(data[name].dims) for name in map(str, data.variables)}
    own = [name for name, dims in wide.items() if dims.issuperset(_PLACES)]
    others = [name for name in wide if name not in own and name not in data.dims]
    apart = [name for name in others if not any(wide[name] <= wide[answer] for answer in own)]
    alone = [name for name in apart if not any(wide[name] < wide[other] for other in apart)]
    beside = [name for name in wide if name not in (*own, *alone)]
    return together([_of_quantity(data, name, beside, whose) for name in (*own, *alone)])


def _of_quantity(
    data: xr.Dataset, quantity: str, beside: Sequence[str], whose: Mapping[str, str]
) -> pd.DataFrame:
    answer = data[quantity].variable
    columns: dict[str, Any] = {**whose, "layer": "", "readout": "", "quantity": quantity}
    columns["value"], words = answer, _words(answer)
    if _kind(answer) == "str":
        columns |= {"value": np.nan, "text": answer}
    elif words is not None:
        columns["text"] = words
    sizes = answer.sizes
    others = {
        str(dim): xr.Variable((dim,), np.arange(n))
        for dim, n in sizes.items()
        if dim not in data.variables
    }
    others |= {name: data[name].variable for name in beside if set(data[name].dims) <= set(sizes)}
    for name, variable in [("value", answer), *others.items()]:
        words = _words(variable)
        added: dict[str, Any] = (
            {} if variable is answer else {name: variable if words is None else words}
        )
        units = {f"{name}_{each}": variable.attrs.get(each) for each in _TOLD}
        added |= {key: text for key, text in units.items() if isinstance(text, str)}
        for key, column in added.items():
            taken = key not in _PLACES and (key in columns or key in _RESERVED)
            columns[f"{key}_" if taken else key] = column

    def spread(column: Any) -> Any:
        if not isinstance(column, xr.Variable):
            column = xr.Variable((), np.array(column, dtype=object))  # numpy's own text is copied
        return column.set_dims(sizes).values.ravel()

    return pd.DataFrame(
        {
            name: _typed(spread(column), OF_ANSWERS.get(name) or _kind(column))
            for name, column in columns.items()
        }
    )


def _words(variable: xr.Variable) -> xr.Variable | None:
    """Return numbers that stand for words as these, None if they do not."""
    if variable.dtype.kind not in "iu":
        return None
    for attribute, sign in _SPELT_OUT.items():
        if isinstance(variable.attrs.get(attribute), str):
            words = [*variable.attrs[attribute].split(sign), ""]  # nothing for what is below 0
            return variable.copy(
                data=np.array(words, dtype=object)[np.maximum(variable.values, -1)]
            )
    return None


def _kind(values: Any) -> str:
    """Return the type of a column, by that of an array or variable; text otherwise."""
    letter = getattr(getattr(values, "dtype", None), "kind", "")
    return {"b": "boolean", "i": "Int64", "u": "Int64", "f": "float64"}.get(letter, "str")


def _typed(values: Any, kind: str) -> Any:
    """Return values as a pandas array of a kind; empty text is missing, as it is in a CSV."""
    if kind == "str":
        values = pd.Series(values, dtype="str")
        return values.where(values != "")
    return pd.Series(values, dtype=kind)


def schema(frame: pd.DataFrame) -> Schema:
    """Return the types of a frame's columns."""
    return {
        str(name): "str" if str(kind) == "object" else str(kind)  # pandas 2 has text as objects
        for name, kind in frame.dtypes.items()
    }


def merged(schemas: Iterable[Schema]) -> Schema:
    """Return the columns of all, with types that hold what any of them holds.

    Examples
    --------
    >>> merged([{"a": "Int64"}, {"a": "float64", "b": "str"}])
    {'a': 'float64', 'b': 'str'}
    """
    found: Schema = {}
    for each in schemas:
        for name, kind in each.items():
            found[name] = max(found.get(name, kind), kind, key=_KINDS.index)
    return found


def fitted(frame: pd.DataFrame, columns: Schema) -> pd.DataFrame:
    """Return a frame with the columns and types of a schema; what it lacks is missing."""
    own = schema(frame)
    found: dict[str, Any] = {}
    for name, kind in columns.items():
        if name not in own:
            missing = pd.NA if kind in ("boolean", "Int64") else np.nan
            found[name] = pd.Series(missing, frame.index, kind)
        elif own[name] == kind:
            found[name] = frame[name]
        elif kind == "str":  # numbers keep every digit
            texts = frame[name].astype(object).map(str).where(frame[name].notna(), "")
            found[name] = _typed(texts, kind)
        else:
            found[name] = frame[name].astype(kind)
    return pd.DataFrame(found)


def together(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return frames of answers below each other, with the columns of all."""
    columns = merged([OF_ANSWERS, *map(schema, frames)])
    if not frames:
        return _framed(columns, [])
    return pd.concat([fitted(each, columns) for each in frames], ignore_index=True)
