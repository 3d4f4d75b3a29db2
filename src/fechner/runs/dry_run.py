"""What a run would show and ask, without doing it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fechner.experiments import Experiment
from fechner.experiments.base import question_size, read_by
from fechner.observers import catalogue
from fechner.observers.conversions import LIFTS
from fechner.observers.names import reads_of, settings_of, take_apart
from fechner.runs.evaluation import prepare
from fechner.runs.trials import FILE, Trials


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
    cost, most
        In US dollars, if every question is asked: an estimate with replies of a few words, and one
        with replies as long as they may be; NaN where no price is given. See `cost_of_questions`.
    """

    observer: str
    test: str
    pictures: int
    questions: int
    answered: int
    cost: float = math.nan
    most: float = math.nan


def preview(
    *observers: str, out: Path | str | None = None, scores_only: bool = False, **given: Any
) -> list[Preview]:
    """Say what a run would show and ask of each observer; nothing is loaded, shown or stored.

    Takes what `evaluate` takes, and refuses a run folder that `evaluate` would refuse.

    Examples
    --------
    >>> [plan] = preview("openai/any", suite="verbal", tests="detection", published=True)
    >>> plan.pictures, plan.questions
    (16000, 400000)
    """
    prepared = prepare(observers, out=out, **given)
    if out is not None:
        prepared.manifest(Path(out))
    trials = Trials(Path(out or ".") / FILE)
    found = []
    for name, given in prepared.observers.items():
        answered = trials.spent(name).trials if out is not None else 0
        entry = catalogue().get(take_apart(name)[0])
        reads = reads_of(given) if isinstance(given, str) else None
        for test in prepared.tests:
            experiment = read_by(test.experiment, reads)
            if entry is not None and not any(
                LIFTS[has][experiment.asks].make for has in entry.abilities
            ):
                continue  # it cannot be asked
            pieces = [p for p in experiment.pieces() if p.for_scores or not scores_only]
            pictures, questions = sum(p.images for p in pieces), sum(p.questions for p in pieces)
            questions = 0 if reads == "nothing" else questions
            costs = cost_of_questions(given, experiment, questions)
            found.append(Preview(name, test.id, pictures, questions, answered, *costs))
    return found


def cost_of_questions(observer: Any, experiment: Experiment, questions: int) -> tuple[float, float]:
    """Estimate what questions cost, in US dollars, if replies are short, and if they are not.

    A word is 4/3 tokens. A picture is 85, and 170 more for each 512 x 512 pixels that it takes, as
    those of GPT-4o are (85 at ``detail=low``); other models count otherwise. A short reply is
    5 tokens, a long one ``max_tokens``, twice if a second question may follow. NaN without
    ``price_in`` and ``price_out``.

    Examples
    --------
    >>> from fechner.suites import suite
    >>> test = suite("verbal").build(published=True)[0].experiment
    >>> cost, most = cost_of_questions("openai/any@price_in=0.15,price_out=0.6", test, 400_000)
    >>> round(cost, 2), round(most, 2)
    (17.51, 47.03)
    """
    settings = settings_of(observer) if isinstance(observer, str) else {}
    price_in, price_out = (settings.get(f"price_{way}", math.nan) for way in ("in", "out"))
    if math.isnan(price_in) or math.isnan(price_out):
        return math.nan, math.nan
    field = experiment.scene.field
    tiles = math.ceil(field.width_px / 512) * math.ceil(field.height_px / 512)
    picture = 85 if settings.get("detail") == "low" else 85 + 170 * tiles
    pictures, words = question_size(experiment)
    words += len(settings.get("system", "").split())
    asked = questions * (picture * pictures + words * 4 / 3)
    longest = max(settings.get("max_completion_tokens", 0) or settings.get("max_tokens", 0), 5)
    cost, most = ((asked * price_in + questions * n * price_out) / 1e6 for n in (5, longest))
    return cost, most * (1 + settings.get("second_question", False))
