"""Answers in words, each on disk the moment it arrives; a budget for what may still be asked.

One SQLite file in the run folder, in write-ahead mode: a process that is killed loses the questions
under way and nothing else. Errors are never kept, and no key has two answers. The file holds
prompts and replies, but no picture, address or key.
"""

from __future__ import annotations

import json
import math
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.errors import BudgetError, InvalidRepliesError, RunFolderError
from fechner.experiments.presenter import Trace
from fechner.observers.questions import Answer, Question
from fechner.runs.store import full_disk

if TYPE_CHECKING:
    from fechner.observers.chat.batches import Batch

FILE = "trials.sqlite"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trials (
    key TEXT PRIMARY KEY,
    observer TEXT NOT NULL,
    prompt TEXT NOT NULL,
    options TEXT NOT NULL,
    choice INTEGER,
    probabilities TEXT,
    mass REAL,
    reply TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost REAL
)
"""
_BATCHES = """
CREATE TABLE IF NOT EXISTS batches (
    name TEXT PRIMARY KEY,
    observer TEXT NOT NULL,
    number TEXT NOT NULL,
    requests TEXT NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0
)
"""
#: Columns that files of earlier versions lack. The first choice is kept when a reply is read again,
#: for later trials were placed by it.
_LATER = {
    "second_reply": "TEXT NOT NULL DEFAULT ''",
    "reader": "INTEGER DEFAULT 1",
    "first_reader": "INTEGER",
    "first_choice": "INTEGER",
    "test": "TEXT NOT NULL DEFAULT ''",
    "abscissa": "REAL",
    "contrast": "REAL",
    "prompt_number": "INTEGER",
    "draw": "INTEGER",
    "finish_reason": "TEXT NOT NULL DEFAULT ''",
}
#: An observer is stopped when this many of its first replies are none of the options.
_MOST_INVALID, _FIRST = 20, 25
_LONGEST_EXAMPLE = 80
#: SQLite takes so many values in one statement.
_AT_ONCE = 500


@dataclass(frozen=True)
class Budget:
    """What a run may take altogether, earlier starts included; None is as much as it needs.

    Parameters
    ----------
    max_cost
        In US dollars.
    accept_invalid
        Whether an observer goes on whose first replies are none of the options.
    """

    max_trials: int | None = None
    max_cost: float | None = None
    accept_invalid: bool = False


@dataclass(frozen=True)
class Spent:
    """What an observer, or a run, has taken so far.

    Parameters
    ----------
    invalid
        Replies that were none of the options.
    cost
        In US dollars; NaN where the price of an answer is not known.
    asked_again
        Answers for which a second question was asked.
    """

    trials: int = 0
    invalid: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    asked_again: int = 0

    def __str__(self) -> str:
        tokens = f"{self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        price = "" if math.isnan(self.cost) else f", {self.cost:.2f} dollars"
        odd = f", {self.invalid:,} of them none of the options" if self.invalid else ""
        answers = "answer" if self.trials == 1 else "answers"
        again = f", {self.asked_again:,} asked again" if self.asked_again else ""
        return f"{self.trials:,} {answers} in words{again}{odd}; {tokens}{price}"


class Trials:
    """The trials of a run; one process writes.

    Parameters
    ----------
    observer
        Whose answers are recorded, for people who look into the file.
    """

    def __init__(self, path: Path, observer: str = "", budget: Budget | None = None) -> None:
        self.path = path
        self.observer = observer
        self.budget = budget or Budget()
        self._connection: sqlite3.Connection | None = None
        self._replies_are_usable = False

    def known(self, keys: Sequence[str]) -> Mapping[str, Answer]:
        """Return the answers that are there already."""
        found: dict[str, Answer] = {}
        with self._open() as connection:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = connection.execute(
                    "SELECT key, choice, probabilities, mass, reply, finish_reason FROM trials "
                    f"WHERE key IN ({marks})",
                    some,
                )
                for key, choice, probabilities, mass, reply, finish in rows:
                    graded = tuple(json.loads(probabilities)) if probabilities else None
                    found[key] = Answer(0, choice, graded, mass, reply, finish=finish)
        return found

    def allow(self, questions: int) -> int:
        """Return how many of n questions may be asked; raises if none may."""
        if not self._replies_are_usable and not self.budget.accept_invalid:
            questions = min(questions, self._check_first_replies())
        most, dollars = self.budget.max_trials, self.budget.max_cost
        if most is None and dollars is None:
            return questions
        spent = self.spent()
        if dollars is not None and spent.trials and math.isnan(spent.cost):
            raise BudgetError(
                f"the price of answers of '{self.observer}' is not known, so --max-cost cannot be "
                "kept: say it, as in NAME@price_in=0.15,price_out=0.60 (dollars per million "
                "tokens), or use --max-trials."
            )
        if dollars is not None and spent.trials and self._affordable(spent) < 1:
            raise BudgetError(
                f"stopped at {spent.cost:.2f} of {dollars:.2f} dollars after {spent.trials} "
                "answers, which are kept: one more may cost too much. Run the same command with a "
                "larger --max-cost to go on."
            )
        if most is not None and spent.trials >= most:
            raise BudgetError(
                f"stopped after {spent.trials} answers, which are kept; run the same command with "
                "a larger --max-trials to go on."
            )
        allowed = questions if most is None else min(questions, most - spent.trials)
        # A price is only known once an answer is there, so money is spent in small steps.
        return allowed if dollars is None else min(allowed, max(1, self._affordable(spent)))

    def _check_first_replies(self) -> int:
        """Return how many may be under way before it is known whether replies can be used.

        Raises if most of the first are none of the options.
        """
        with self._open() as connection:
            first = connection.execute(
                "SELECT choice, reply, finish_reason FROM trials WHERE observer = ? "
                "ORDER BY rowid LIMIT ?",
                (self.observer, _FIRST),
            ).fetchall()
        invalid = [(reply, finish) for choice, reply, finish in first if choice is None]
        if len(invalid) >= _MOST_INVALID:
            raise InvalidRepliesError(_what_to_do(invalid, len(first)))
        self._replies_are_usable = len(first) == _FIRST
        return sys.maxsize if self._replies_are_usable else _FIRST

    def _affordable(self, spent: Spent) -> int:
        """Return how many answers of this observer what is left will pay for."""
        assert self.budget.max_cost is not None
        left = self.budget.max_cost - spent.cost
        own = self.spent(self.observer)
        if not own.trials:
            return int(left > 0)  # one, to see what it costs
        if not own.cost:
            return sys.maxsize  # models that are loaded here answer for nothing
        return int(left / (own.cost / own.trials) + 1e-9)

    def record(
        self, key: str, question: Question, answer: Answer, trace: Trace | None = None
    ) -> None:
        """Keep an answer; it is on disk when this returns."""
        trace = trace or Trace()
        values = {
            "key": key,
            "observer": self.observer,
            "prompt": question.prompt.text,
            "options": json.dumps(question.prompt.options),
            "choice": answer.choice,
            "probabilities": answer.probabilities and json.dumps(answer.probabilities),
            "mass": answer.mass,
            "reply": answer.reply,
            "prompt_tokens": answer.usage.prompt_tokens,
            "completion_tokens": answer.usage.completion_tokens,
            "cost": _or_null(answer.usage.cost),
            "second_reply": answer.second_reply,
            "reader": answer.reader,
            "test": trace.test,
            "abscissa": _or_null(trace.abscissa),
            "contrast": _or_null(trace.contrast),
            "prompt_number": trace.prompt if trace.prompt >= 0 else None,
            "draw": trace.draw if trace.draw >= 0 else None,
            "finish_reason": answer.finish,
        }
        marks = ", ".join("?" * len(values))
        with self._open() as connection, connection:
            connection.execute(
                f"INSERT OR IGNORE INTO trials ({', '.join(values)}) VALUES ({marks})",
                tuple(values.values()),
            )

    def reread(self, choices: Mapping[str, int | None], reader: int, keys: Sequence[str]) -> None:
        """Write what a reader made of replies, all at once.

        Parameters
        ----------
        choices
            Of those that changed, by key.
        keys
            Of all that were read.
        """
        with self._open() as connection, connection:
            connection.executemany(
                "UPDATE trials SET first_reader = reader, first_choice = choice "
                "WHERE key = ? AND first_reader IS NULL",
                [(key,) for key in choices],
            )
            connection.executemany(
                "UPDATE trials SET choice = ? WHERE key = ?",
                [(choice, key) for key, choice in choices.items()],
            )
            connection.executemany(
                "UPDATE trials SET reader = ? WHERE key = ?", [(reader, key) for key in keys]
            )

    def spent(self, observer: str | None = None) -> Spent:
        """Return what was taken by all observers, or by one."""
        if not self.path.exists() and self._connection is None:
            return Spent()
        where, values = ("WHERE observer = ?", (observer,)) if observer is not None else ("", ())
        with self._open() as connection:
            n, invalid, taken, given, cost, unknown, again = connection.execute(
                "SELECT count(*), sum(choice IS NULL), sum(prompt_tokens), "
                f"sum(completion_tokens), sum(cost), sum(cost IS NULL), "
                f"sum(second_reply != '') FROM trials {where}",
                values,
            ).fetchone()
        price = math.nan if unknown else cost or 0.0
        return Spent(n, invalid or 0, taken or 0, given or 0, price, again or 0)

    def rows(self, observer: str | None = None) -> list[dict[str, Any]]:
        """Return all that is known of trials, by column, in the order in which they came."""
        if not self.path.exists() and self._connection is None:
            return []
        where, values = ("WHERE observer = ?", (observer,)) if observer is not None else ("", ())
        with self._open() as connection:
            found = connection.execute(f"SELECT * FROM trials {where} ORDER BY rowid", values)
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found]

    def open_batches(self) -> Sequence[Batch]:
        """Return batches of this observer whose answers are not all kept."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT name, requests, number FROM batches WHERE observer = ? AND NOT closed "
                "ORDER BY rowid",
                (self.observer,),
            ).fetchall()
        from fechner.observers.chat.batches import Batch

        return [Batch(name, tuple(json.loads(requests)), number) for name, requests, number in rows]

    def write_batch(self, batch: Batch) -> None:
        """Write a batch down, before it is submitted and after; it is on disk when this returns."""
        values = (batch.name, self.observer, batch.number, json.dumps(batch.requests))
        with self._open() as connection, connection:
            connection.execute(
                "INSERT OR REPLACE INTO batches (name, observer, number, requests) "
                "VALUES (?, ?, ?, ?)",
                values,
            )

    def close_batch(self, name: str) -> None:
        """Note that all answers of a batch are kept."""
        with self._open() as connection, connection:
            connection.execute("UPDATE batches SET closed = 1 WHERE name = ?", (name,))

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            if self._connection is None:
                self._connection = sqlite3.connect(self.path, timeout=30)
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=FULL")
                self._connection.execute(_SCHEMA)
                self._connection.execute(_BATCHES)
                _add_later_columns(self._connection)
            yield self._connection
        except sqlite3.DatabaseError as error:
            self.close()
            code = getattr(error, "sqlite_errorcode", None)
            if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise full_disk(self.path) from error
            raise RunFolderError(
                f"the trials in {self.path} cannot be used ({error}); delete that file and run the "
                "same command again: questions are asked anew."
            ) from error


def _what_to_do(invalid: Sequence[tuple[str, str]], of: int) -> str:
    """Say what is wrong with replies that are none of the options, and what may help."""
    from fechner.observers.chat.reading import answer_start

    cut = [each for each in invalid if each[1] == "length" or answer_start(each[0]) is None]
    unfinished = 2 * len(cut) > len(invalid)
    text = " ".join((cut if unfinished else invalid)[-1][0].split())
    shown = text if len(text) <= _LONGEST_EXAMPLE else text[: _LONGEST_EXAMPLE - 1] + "…"
    remedy = (
        "replies end before the answer, so give them more room, as in NAME@max_tokens=4096"
        if unfinished
        else "word the question otherwise, with --prompts FILE"
    )
    return (
        f"stopped, since {len(invalid)} of the first {of} replies are none of the options, such as "
        f"'{shown}': {remedy}; --accept-invalid goes on all the same. Answers are kept."
    )


def _add_later_columns(connection: sqlite3.Connection) -> None:
    there = {row[1] for row in connection.execute("PRAGMA table_info(trials)")}
    for name, kind in _LATER.items():
        if name not in there:
            with connection:
                connection.execute(f"ALTER TABLE trials ADD COLUMN {name} {kind}")


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value
