"""Who looks: every model under test, behind four small abilities."""

from fechner.observers.abilities import (
    Ability,
    Answer,
    Answers,
    Compares,
    Encodes,
    Observer,
    Question,
    Recognises,
    Wants,
    abilities,
)
from fechner.observers.catalogue import catalogue, families
from fechner.observers.entry import Entry, Family
from fechner.observers.functions import FunctionComparer, FunctionEncoder
from fechner.observers.lifts import LIFTS, ComparesFeatures, lift
from fechner.observers.names import resolve
from fechner.observers.readouts import READOUTS
from fechner.observers.yours import observe

__all__ = [
    "LIFTS",
    "READOUTS",
    "Ability",
    "Answer",
    "Answers",
    "Compares",
    "ComparesFeatures",
    "Encodes",
    "Entry",
    "Family",
    "FunctionComparer",
    "FunctionEncoder",
    "Observer",
    "Question",
    "Recognises",
    "Wants",
    "abilities",
    "catalogue",
    "families",
    "lift",
    "observe",
    "resolve",
]
