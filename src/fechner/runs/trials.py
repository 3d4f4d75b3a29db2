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

from fechner.errors import BudgetError, InvalidRepliesError
from fechner.experiments.presenter import Trace
from fechner.observers.questions import Answer, Question
from fechner.runs.store import database_errors

if TYPE_CHECKING:
    from fechner.observers.chat.batches import Batch

FILE = "trials.sqlite"

#: The first choice is kept when a reply is read again, for later trials were placed by it.
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
    cost REAL,
    second_reply TEXT NOT NULL,
    reader INTEGER,
    first_reader INTEGER,
    first_choice INTEGER,
    test TEXT NOT NULL,
    abscissa REAL,
    contrast REAL,
    prompt_number INTEGER,
    draw INTEGER,
    finish_reason TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS batches (
    name TEXT PRIMARY KEY,
    observer TEXT NOT NULL,
    number TEXT NOT NULL,
    requests TEXT NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0
);
"""
#: An observer is stopped when this many of its first replies are none of the options.
_MOST_INVALID, _FIRST = 20, 25
_LONGEST_EXAMPLE = 80


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
        again = f", {self.asked_again:,} asked again" if self.asked_again else ""
        odd = f", {self.invalid:,} of them none of the options" if self.invalid else ""
        price = "" if math.isnan(self.cost) else f", {self.cost:.2f} dollars"
        tokens = f"{self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        return f"{self.trials:,} answers in words{again}{odd}; {tokens}{price}"


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
        with self._open() as connection:
            rows = connection.execute(
                "SELECT key, choice, probabilities, mass, reply, finish_reason FROM trials "
                "WHERE key IN (SELECT value FROM json_each(?))",
                (json.dumps(list(keys)),),
            ).fetchall()
        found = {}
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
        if most is not None:
            if spent.trials >= most:
                raise BudgetError(
                    f"stopped after {spent.trials} answers, which are kept; run the same command "
                    "with a larger --max-trials to go on."
                )
            questions = min(questions, most - spent.trials)
        if dollars is None:
            return questions
        if spent.trials and math.isnan(spent.cost):
            raise BudgetError(
                f"the price of answers of '{self.observer}' is not known, so --max-cost cannot be "
                "kept: say it, as in NAME@price_in=0.15,price_out=0.60 (dollars per million "
                "tokens), or use --max-trials."
            )
        left = dollars - spent.cost
        own = self.spent(self.observer)
        if not own.trials:
            affordable = int(left > 0)  # one, to see what it costs
        elif not own.cost:
            affordable = questions  # models that are loaded here answer for nothing
        else:
            affordable = int(left / (own.cost / own.trials) + 1e-9)
        if spent.trials and affordable < 1:
            raise BudgetError(
                f"stopped at {spent.cost:.2f} of {dollars:.2f} dollars after {spent.trials} "
                "answers, which are kept: one more may cost too much. Run the same command with a "
                "larger --max-cost to go on."
            )
        # A price is only known once an answer is there, so money is spent in small steps.
        return min(questions, max(1, affordable))

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
            from fechner.observers.chat.reply_parser import answer_start

            cut = [each for each in invalid if each[1] == "length" or answer_start(each[0]) is None]
            unfinished = 2 * len(cut) > len(invalid)
            example = " ".join((cut if unfinished else invalid)[-1][0].split())
            remedy = (
                "replies end before the answer, so give them more room, as in NAME@max_tokens=4096"
                if unfinished
                else "word the question otherwise, with --prompts FILE"
            )
            raise InvalidRepliesError(
                f"stopped, since {len(invalid)} of the first {len(first)} replies are none of the "
                f"options, such as '{example[:_LONGEST_EXAMPLE]}': {remedy}; --accept-invalid goes "
                "on all the same. Answers are kept."
            )
        self._replies_are_usable = len(first) == _FIRST
        return sys.maxsize if self._replies_are_usable else _FIRST

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
            "cost": answer.usage.cost,  # SQLite keeps NaN as NULL
            "second_reply": answer.second_reply,
            "reader": answer.reader,
            "test": trace.test,
            "abscissa": trace.abscissa,
            "contrast": trace.contrast,
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
        rows = self._select(
            "count(*), ifnull(sum(choice IS NULL), 0), ifnull(sum(prompt_tokens), 0), "
            "ifnull(sum(completion_tokens), 0), ifnull(sum(cost), 0.0), "
            "ifnull(sum(second_reply != ''), 0), sum(cost IS NULL)",
            observer,
        )
        if not rows:
            return Spent()
        trials, invalid, taken, given, cost, again, unknown = rows[0]
        return Spent(trials, invalid, taken, given, math.nan if unknown else cost, again)

    def rows(self, observer: str | None = None) -> list[dict[str, Any]]:
        """Return all that is known of trials, by column, in the order in which they came."""
        return [dict(row) for row in self._select("*", observer)]

    def _select(self, columns: str, observer: str | None) -> list[sqlite3.Row]:
        """Return columns of all trials, or of those of one observer; nothing without a file."""
        if not self.path.exists() and self._connection is None:
            return []
        where, values = ("WHERE observer = ?", (observer,)) if observer is not None else ("", ())
        with self._open() as connection:
            cursor = connection.cursor()
            cursor.row_factory = sqlite3.Row
            cursor.execute(f"SELECT {columns} FROM trials {where} ORDER BY rowid", values)
            return cursor.fetchall()

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
        with database_errors(self.path, "questions are asked anew"):
            try:
                if self._connection is None:
                    self._connection = sqlite3.connect(self.path, timeout=30)
                    self._connection.executescript(
                        f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {_SCHEMA}"
                    )
                yield self._connection
            except sqlite3.DatabaseError:
                self.close()
                raise
