"""Answers on disk: never lost, never doubled, within a budget."""

import math
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fechner.errors import BudgetError, InvalidRepliesError, RunFolderError
from fechner.observers import Answer, Prompt, Question, Usage
from fechner.runs.trials import Budget, Spent, Trials

QUESTION = Question((0,), Prompt("Is there a pattern?"))


def answer(choice: int | None = 0, cost: float = 0.01) -> Answer:
    return Answer(3, choice, (0.75, 0.25), 0.9, "Yes.", Usage(200, 2, cost))


def test_an_answer_comes_back_as_it_was(tmp_path: Path) -> None:
    trials = Trials(tmp_path / "t.sqlite", "someone")
    trials.record("k1", QUESTION, answer())
    trials.record("k2", QUESTION, answer(None))
    found = Trials(tmp_path / "t.sqlite").known(["k1", "k2", "k3"])
    assert set(found) == {"k1", "k2"}
    assert found["k1"].choice == 0
    assert found["k1"].probabilities == (0.75, 0.25)
    assert found["k1"].mass == 0.9
    assert found["k1"].reply == "Yes."
    assert found["k2"].choice is None


def test_many_keys_at_once(tmp_path: Path) -> None:
    trials = Trials(tmp_path / "t.sqlite")
    for number in range(1203):
        trials.record(f"k{number}", QUESTION, Answer(0, number % 2))
    assert len(trials.known([f"k{number}" for number in range(2000)])) == 1203


def test_no_key_has_two_answers(tmp_path: Path) -> None:
    trials = Trials(tmp_path / "t.sqlite")
    trials.record("k", QUESTION, answer(0))
    trials.record("k", QUESTION, answer(1))
    assert trials.known(["k"])["k"].choice == 0
    assert trials.spent().trials == 1


def test_what_was_spent(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    assert Trials(path).spent() == Spent()
    assert not path.exists()
    Trials(path, "a").record("k1", QUESTION, answer())
    Trials(path, "b").record("k2", QUESTION, answer(None, cost=0.02))
    assert Trials(path).spent("a") == Spent(1, 0, 200, 2, 0.01)
    assert Trials(path).spent() == Spent(2, 1, 400, 4, 0.03)
    assert "0.03 dollars" in str(Trials(path).spent())
    again = Answer(0, 1, reply="Well.", second_reply="No", usage=Usage(200, 2, 0.0), reader=2)
    Trials(path, "d").record("k4", QUESTION, again)
    assert Trials(path).spent("d").asked_again == 1
    assert "1 asked again" in str(Trials(path).spent())
    Trials(path, "c").record("k3", QUESTION, answer(cost=math.nan))
    assert math.isnan(Trials(path).spent().cost)


def test_a_number_of_trials_is_kept(tmp_path: Path) -> None:
    trials = Trials(tmp_path / "t.sqlite", budget=Budget(max_trials=3))
    assert trials.allow(10) == 3
    for number in range(3):
        trials.record(f"k{number}", QUESTION, answer())
    with pytest.raises(BudgetError, match=r"after 3 answers.*larger --max-trials"):
        trials.allow(1)
    assert Trials(tmp_path / "t.sqlite", budget=Budget(max_trials=5)).allow(10) == 2


def test_money_is_kept(tmp_path: Path) -> None:
    trials = Trials(tmp_path / "t.sqlite", budget=Budget(max_cost=0.05))
    assert trials.allow(100) == 1  # what an answer costs is not known yet
    trials.record("k0", QUESTION, answer())
    assert trials.allow(100) == 4
    for number in range(1, 5):
        trials.record(f"k{number}", QUESTION, answer())
    with pytest.raises(BudgetError, match=r"stopped at 0.05 of 0.05 dollars"):
        trials.allow(1)
    # It stops before it spends more, as far as the mean price tells.
    with pytest.raises(BudgetError, match=r"stopped at 0.05 of 0.06 dollars"):
        Trials(tmp_path / "t.sqlite", budget=Budget(max_cost=0.0599)).allow(1)


def test_answers_for_nothing_are_no_measure_of_what_others_cost(tmp_path: Path) -> None:
    def trials(observer: str) -> Trials:
        budget = Budget(max_cost=0.05, accept_invalid=True)
        return Trials(tmp_path / "t.sqlite", observer, budget)

    assert trials("free").allow(100) == 1
    trials("free").record("k0", QUESTION, answer(cost=0.0))
    assert trials("free").allow(100) == 100
    assert trials("paid").allow(100) == 1
    trials("paid").record("k1", QUESTION, answer())
    assert trials("paid").allow(100) == 4
    for number in range(2, 6):
        trials("paid").record(f"k{number}", QUESTION, answer())
    assert trials("free").allow(100) == 100
    with pytest.raises(BudgetError, match=r"stopped at 0.05 of 0.05 dollars"):
        trials("another").allow(100)


def test_a_budget_of_money_needs_a_price(tmp_path: Path) -> None:
    trials = Trials(tmp_path / "t.sqlite", "someone", Budget(max_cost=1.0))
    trials.record("k0", QUESTION, answer(cost=math.nan))
    with pytest.raises(BudgetError, match="price of answers of 'someone' is not known"):
        trials.allow(1)


@pytest.mark.parametrize(
    ("reply", "finish", "remedy"),
    [
        ("<think>The image", "length", "@max_tokens=4096"),
        ("<think>The image", "", "@max_tokens=4096"),
        ("A nice picture.", "stop", "--prompts FILE"),
    ],
)
def test_replies_that_are_no_answers_stop_an_observer(
    tmp_path: Path, reply: str, finish: str, remedy: str
) -> None:
    trials = Trials(tmp_path / "t.sqlite", "someone")
    assert trials.allow(1000) == 25  # before there are so many replies, nobody can tell
    for number in range(19):
        trials.record(f"k{number}", QUESTION, Answer(0, None, reply=reply, finish=finish))
    assert trials.allow(1000) == 25
    trials.record("k19", QUESTION, Answer(0, None, reply=reply, finish=finish))
    with pytest.raises(InvalidRepliesError, match=f"20 of the first 20 .*'{reply}': .*{remedy}"):
        trials.allow(1)
    # Others go on, and so does this one if that is wanted.
    assert Trials(tmp_path / "t.sqlite", "another").allow(1000) == 25
    assert Trials(tmp_path / "t.sqlite", "someone", Budget(accept_invalid=True)).allow(99) == 99


def test_some_replies_that_are_no_answers_stop_nobody(tmp_path: Path) -> None:
    trials = Trials(tmp_path / "t.sqlite", "someone")
    for number in range(30):
        trials.record(f"k{number}", QUESTION, answer(None if number > 5 else 0))
    assert trials.allow(1000) == 1000  # 19 of the first 25


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(RunFolderError, match=r"t\.sqlite cannot be used .* delete that file"):
        Trials(tmp_path / "t.sqlite").known(["k"])


KILLED = """
import os, signal, sys
from pathlib import Path
from fechner.observers import Answer, Prompt, Question
from fechner.runs.trials import Trials
trials = Trials(Path(sys.argv[1]))
for number in range(100):
    trials.record(f"k{number}", Question((0,), Prompt("?")), Answer(0, 0))
    if number == 41:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_in_the_middle_every_answer_is_there(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert Trials(path).spent().trials == 42


def test_it_is_a_plain_table(tmp_path: Path) -> None:
    trials = Trials(tmp_path / "t.sqlite", "someone")
    trials.record("k", QUESTION, answer())
    trials.close()
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        row = connection.execute("SELECT observer, prompt, options, reply FROM trials").fetchone()
    connection.close()
    assert row == ("someone", "Is there a pattern?", '["yes", "no"]', "Yes.")
