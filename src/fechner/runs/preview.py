"""What a run would show and ask, without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fechner.experiments import Asking
from fechner.observers import catalogue
from fechner.observers.abilities import Dtype
from fechner.observers.devices import best_device, check_device
from fechner.observers.lifts import LIFTS
from fechner.observers.names import take_apart
from fechner.observers.readouts import check_readouts
from fechner.runs.choice import choose_tests
from fechner.runs.folder import refuse_other_things, settled
from fechner.runs.options import choose_options
from fechner.runs.start import named_observers
from fechner.runs.trials import FILE, Trials
from fechner.suites import expand


@dataclass(frozen=True)
class Preview:
    """What a test would show an observer and ask it, at most.

    Parameters
    ----------
    pictures, questions
        Numbers of pictures, and of questions in words about them, none of observers that are known
        to read no words.
    answered
        How many answers of the observer, to any test, are in the run folder already.
    """

    observer: str
    test: str
    pictures: int
    questions: int
    answered: int


def preview(
    *observers: str,
    suite: str = "encoders",
    tests: str | Sequence[str] | None = None,
    published: bool = False,
    scores_only: bool = False,
    out: Path | str | None = None,
    device: str | None = None,
    threads: int | None = None,
    batch_size: int | None = None,
    readouts: Sequence[str] | None = None,
    layers: Sequence[str] | None = None,
    weights: Path | str | None = None,
    dtype: Dtype | None = None,
    **asked: Any,
) -> list[Preview]:
    """Say what a run would show and ask of each observer; nothing is loaded, shown or stored.

    Takes the options of `evaluate`, and refuses a run folder that `evaluate` would refuse.

    Examples
    --------
    >>> [plan] = preview("openai/any", suite="verbal", tests="detection", published=True)
    >>> plan.pictures, plan.questions
    (16000, 400000)
    """
    options = choose_options(suite, published=published, **asked)
    chosen = choose_tests(suite, options, tests)
    readouts = check_readouts(readouts or ())
    place = check_device(device) if device else None
    names = named_observers(expand(observers), place or best_device(), weights, dtype)
    if out is not None:
        refuse_other_things(Path(out))
        patterns = list(layers) if layers else None
        settled(Path(out), suite, options, readouts, patterns, place, threads, batch_size)
    trials = Trials(Path(out or ".") / FILE)
    found = []
    for name in names:
        answered = trials.spent(name).trials if out is not None else 0
        entry = catalogue().get(take_apart(name)[0])
        silent = entry is not None and entry.ability != "answers"
        for test in chosen:
            experiment = test.experiment
            if entry is not None and not any(
                LIFTS[has][experiment.asks].make for has in entry.abilities
            ):
                continue  # it cannot be asked
            if silent and isinstance(experiment, Asking):
                experiment = experiment.without_words()
            pieces = [p for p in experiment.pieces() if p.for_scores or not scores_only]
            pictures, questions = sum(p.images for p in pieces), sum(p.questions for p in pieces)
            found.append(Preview(name, test.id, pictures, 0 if silent else questions, answered))
    return found
