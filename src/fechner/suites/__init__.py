"""Which questions: published protocols as plain lists of tests."""

from fechner.errors import UnknownNameError
from fechner.suites import decalogue, encoders, metrics, recognition, verbal
from fechner.suites.prompts import Prompts, published_prompts, read_prompts
from fechner.suites.published import PRESETS, expand, preset, published_scores
from fechner.suites.suite import Asked, Mode, Options, Stimuli, Suite, Test

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (encoders.SUITE, metrics.SUITE, decalogue.SUITE, verbal.SUITE, recognition.SUITE)
}


def suite(name: str) -> Suite:
    """Return a suite by name.

    Examples
    --------
    >>> sum(test.by_default for test in suite("encoders").tests(Options()))
    9
    """
    try:
        return SUITES[name]
    except KeyError:
        raise UnknownNameError("suite", name, SUITES, "`fechner list suites` shows them") from None


__all__ = [
    "PRESETS",
    "SUITES",
    "Asked",
    "Mode",
    "Options",
    "Prompts",
    "Stimuli",
    "Suite",
    "Test",
    "expand",
    "preset",
    "published_prompts",
    "published_scores",
    "read_prompts",
    "suite",
]
