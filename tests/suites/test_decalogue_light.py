"""Figure 16 of the decalogue: who adapts to lights and enhances contrast in fog passes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import xarray as xr

from fechner import human
from fechner.experiments import Presenter
from fechner.observers.abilities import Wants
from fechner.stimuli import ATD, Stimulus
from fechner.suites import suite

TESTS = {
    test.id: test for test in suite("decalogue").build() if test.id.endswith(("-light", "-fog"))
}

Respond = Callable[[Stimulus], float]


@dataclass
class Formula:
    """Compares recipes instead of pictures."""

    respond: Respond

    name, wants = "formula", Wants()
    layers, readouts = ("formula",), ("response",)

    def remember(self, references) -> None: ...

    def difference(self, tests, memory, which) -> torch.Tensor:
        found = [float(self.respond(test)) for test in tests]
        return torch.tensor(found, dtype=torch.float64)[:, None, None]


class Recipes(Presenter):
    """Shows recipes instead of pictures."""

    def paint(self, stimuli, scene, part=None):
        return stimuli


def scores_of(id: str, respond: Respond) -> dict[str, float]:
    experiment = TESTS[id].experiment
    shown_by = Recipes(Formula(respond), batch_size=64)
    pieces = [experiment.measure(piece, shown_by) for piece in experiment.pieces()]
    data = xr.concat(pieces, "curve", data_vars="minimal") if len(pieces) > 1 else pieces[0]
    return {score.name: score.value for score in TESTS[id].scorer(data)}


def seen(stimulus: Stimulus, adapts: bool) -> tuple[float, float, str]:
    """Return frequency, contrast and channel of a test, with or without von Kries's gains."""
    *_, target = stimulus.layers
    added = np.array(target.modulation_xyz)
    light = np.array(stimulus.background_xyz)
    channel = (
        "ach"
        if np.allclose(added, light)
        else ATD.directions[int(np.argmax(np.abs(np.array(ATD.axes) @ added)))]
    )
    # T and D over luminance in Mullen's contrast.
    gain = {"ach": 1.0, "rg": 1.20999, "yb": 2.52653}[channel]
    if adapts:
        gain *= human.von_kries_gain(channel, tuple(light / light[1]))
    return target.pattern.frequency_cpd, gain * target.contrast, channel


def sensitivity(adapts: bool) -> Respond:
    csf = {
        "ach": human.standard_spatial_observer,
        "rg": human.chromatic_rg_csf,
        "yb": human.chromatic_yb_csf,
    }

    def respond(stimulus: Stimulus) -> float:
        frequency, contrast, channel = seen(stimulus, adapts)
        return float(contrast * csf[channel](frequency))

    return respond


def response(adapts: bool) -> Respond:
    def respond(stimulus: Stimulus) -> float:
        frequency, contrast, channel = seen(stimulus, adapts)
        return float(human.contrast_response(contrast, frequency, channel))

    return respond


@pytest.mark.parametrize(
    ("id", "person"), [("sensitivity-light", sensitivity), ("contrast-light", response)]
)
def test_who_adapts_to_light_passes_and_who_does_not_fails(id: str, person) -> None:
    adapted = scores_of(id, person(True))
    assert adapted["agreement"] > 0.999
    assert adapted["check-discounts-light"] == 1
    linear = scores_of(id, person(False))
    assert linear["check-discounts-light"] == 0
    assert linear["agreement"] < adapted["agreement"]


def masked(stimulus: Stimulus) -> float:
    """People's formula with the mask as it is shown."""
    mask, target = stimulus.layers
    return float(
        human.contrast_response(
            target.contrast,
            target.pattern.frequency_cpd,
            mask_frequency_cpd=mask.pattern.frequency_cpd,
            mask_contrast=mask.contrast,
            mask_angle_deg=mask.pattern.orientation_deg - target.pattern.orientation_deg,
        )
    )


def test_people_enhance_contrast_in_fog_and_a_linear_observer_does_not() -> None:
    people = scores_of("contrast-fog", masked)
    assert people["agreement"] > 0.999
    assert people["check-enhances"] == people["check-ordered"] == 1
    linear = scores_of("contrast-fog", lambda stimulus: stimulus.layers[-1].contrast)
    assert linear["check-enhances"] == 0
    assert linear["check-ordered"] == 1


def test_fog_and_light_are_in_what_is_shown() -> None:
    task = TESTS["contrast-fog"].experiment.task
    mask, test = task.shown(3, 0.2, 0, ATD).test.layers
    assert (mask.contrast, test.contrast) == pytest.approx((0.05, 0.05))
    lit = TESTS["sensitivity-light"].experiment.task
    by_name = {(c.group, c.channel): k for k, c in enumerate(lit.conditions)}
    white, warm, cool = (
        lit.shown(by_name[light, "yb"], 4.0, 0, ATD).test
        for light in ("white-light", "warm-light", "cool-light")
    )
    assert [each.background_xyz[1] for each in (white, warm, cool)] == pytest.approx([40.0] * 3)
    assert warm.background_xyz[2] < white.background_xyz[2] < cool.background_xyz[2]
    # The same is added to each light.
    assert white.layers == warm.layers == cool.layers
    achromatic = lit.shown(by_name["warm-light", "ach"], 4.0, 0, ATD).test
    assert achromatic.layers[0].modulation_xyz == achromatic.background_xyz


def test_they_are_measured_only_if_named() -> None:
    assert set(TESTS) == {"sensitivity-light", "contrast-light", "contrast-fog"}
