"""What tests of observers that answer share: torchvision first, a few pictures, no environment."""

import pytest

from fechner.observers.chat import requests
from fechner.observers.torchvision_fix import import_torchvision
from fechner.stimuli import OPPONENT, Field, Frames, Layer, OctaveNoise, Stimulus, display, paint

import_torchvision()

#: RMS contrasts of the pictures.
CONTRASTS = (0.0, 0.02, 0.1, 0.2)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of whoever runs the tests is used or sent."""
    names = ("API_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID", "ADMIN_KEY", "CUSTOM_HEADERS", "LOG")
    for name in names:
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are short."""
    monkeypatch.setattr(requests, "_FIRST_PAUSE_S", 0.002)
    monkeypatch.setattr(requests, "_LONGEST_PAUSE_S", 0.02)
    monkeypatch.setattr(requests, "_GONE_S", 0.05)


@pytest.fixture(scope="session")
def frames() -> Frames:
    """Noise of four contrasts on grey, the first of which is nothing."""
    grey, along = OPPONENT.background_xyz(40.0), OPPONENT.modulation_xyz("ach", 40.0)
    noise = OctaveNoise(4.0, seed=1)
    return paint(
        [Stimulus(grey, (Layer(noise, along, contrast),)) for contrast in CONTRASTS],
        Field(64, 64, 64.0),
        display("encoders"),
    )
