"""Who looks: every model under test, behind four small abilities."""

from fechner.observers.abilities import (
    Ability,
    Answers,
    Compares,
    Encodes,
    Observer,
    Recognises,
    Wants,
    abilities,
)
from fechner.observers.catalogue import catalogue, families
from fechner.observers.criterion import AnswersByCriterion
from fechner.observers.entry import Entry, Family
from fechner.observers.functions import FunctionComparer, FunctionEncoder
from fechner.observers.lifts import LIFTS, ComparesFeatures, lift
from fechner.observers.names import resolve
from fechner.observers.questions import Answer, Prompt, Question, Reads, Usage
from fechner.observers.readouts import READOUTS
from fechner.observers.yours import observe

__all__ = [
    "LIFTS",
    "READOUTS",
    "Ability",
    "Answer",
    "Answers",
    "AnswersByCriterion",
    "Compares",
    "ComparesFeatures",
    "Encodes",
    "Entry",
    "Family",
    "FunctionComparer",
    "FunctionEncoder",
    "Observer",
    "Prompt",
    "Question",
    "Reads",
    "Recognises",
    "Usage",
    "Wants",
    "abilities",
    "catalogue",
    "families",
    "lift",
    "observe",
    "resolve",
]
