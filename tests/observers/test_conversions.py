"""Every cell of the table of lifts, walked with an observer that has one ability only."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
import xarray as xr
from known import FlatSet
from photographs import PHOTOGRAPHS, path_of

from fechner.errors import ObserverError, UnknownNameError
from fechner.experiments import (
    AdaptiveLevels,
    Asking,
    BandRobustness,
    Curves,
    Experiment,
    NearThreshold,
    Piece,
    Presenter,
    Scene,
)
from fechner.observers import (
    LIFTS,
    Answer,
    ComparesFeatures,
    Question,
    Wants,
    abilities,
    lift,
)
from fechner.observers.abilities import ABILITIES, Tap, lacks
from fechner.observers.conversions import EncodesClassScores
from fechner.observers.readouts import read_out, row_sum
from fechner.stimuli import OPPONENT, Album, Field, Frames, Stimulus, display, paint
from fechner.stimuli.pictures import photograph
from fechner.suites import suites


def pooled(frames: Frames) -> torch.Tensor:
    """Three small features that see contrast: spreads, by channel."""
    return frames.pixels.std(dim=(2, 3)) + frames.pixels.mean(dim=(2, 3))


class Anyone:
    name = "minimal"
    wants = Wants(size_px=(128, 128))
    fingerprint = None


class OnlyCompares(Anyone):
    layers = ("class-scores",)
    readouts = ("angle",)

    def remember(self, reference: Frames) -> torch.Tensor:
        return pooled(reference)

    def difference(self, test: Frames, memory: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
        energy = row_sum(memory * memory)
        return read_out(pooled(test), memory, energy, which, ["angle"])[:, None]


class OnlyEncodes(Anyone):
    layers = ("early", "class-scores")

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        for layer, tap in taps.items():
            tap(pooled(frames) if layer == "class-scores" else frames.pixels)


class OnlyRecognises(Anyone):
    classes = ("red", "green", "blue")

    def class_scores(self, frames: Frames) -> torch.Tensor:
        return pooled(frames)


class OnlyAnswers(Anyone):
    reads = "questions"
    layers = ("class-scores",)
    readouts = ("angle",)

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        for index, question in enumerate(questions):
            seen = float(pooled(frames)[question.pictures[0]].mean())
            yield Answer(index, 0 if seen > 0.5 else 1)


OBSERVERS: dict[str, Callable[[], Anyone]] = {
    "compares": OnlyCompares,
    "encodes": OnlyEncodes,
    "recognises": OnlyRecognises,
    "answers": OnlyAnswers,
}
#: A test that no suite has unless there are photographs.
BANDS = BandRobustness(
    "bands",
    "Bands",
    "hernandez2025",
    Scene(Field(64, 64, 16.0), display("verbal"), OPPONENT),
    Album(
        OnlyRecognises.classes,
        tuple(
            photograph(path_of(name), label)
            for name, label in zip(PHOTOGRAPHS.values(), OnlyRecognises.classes, strict=False)
        ),
    ),
    bands_cpd=(1.0, 2.0),
    rmse=(0.02, 0.04),
    kind="noise",
)


def shortened(experiment: Experiment) -> Experiment:
    """Leave of tests in words a few contrasts and trials; show what small fields cut off."""
    if isinstance(experiment, NearThreshold):
        return replace(experiment, drop=False)
    if not isinstance(experiment, Asking):
        return experiment
    placement = experiment.placement
    few = placement.levels[:: len(placement.levels) // 4]
    name = "trials" if isinstance(placement, AdaptiveLevels) else "repeats"
    return replace(
        experiment,
        placement=replace(placement, levels=few, **{name: 8}),
        questions=experiment.questions[:2],
        labels=experiment.labels[:2],
    )


#: Pictures for suites that show some.
PICTURES = {
    "images": FlatSet("flat", OnlyRecognises.classes, (2,) * len(OnlyRecognises.classes)),
    "levels": 4,
}

TESTS = {
    f"{suite.name}/{mode}/{test.id}": (shortened(test.experiment), ("angle",))
    for suite in suites().values()
    for mode in ("default", "published")
    for test in suite.build(
        published=mode == "published", **(PICTURES if suite.name == "recognition" else {})
    )
    if test.by_default
} | {"photographs": (BANDS, ("angle",))}


def smallest_pieces(experiment: Experiment) -> list[Piece]:
    """Return one abscissa of each kind of piece; a piece that is one match is left whole."""
    pieces = experiment.pieces()
    kinds = [
        min((piece for piece in pieces if piece.for_scores == scored), key=lambda p: p.images)
        for scored in {piece.for_scores for piece in pieces}
    ]
    if len(pieces) == 1:
        return kinds
    return [replace(piece, stop=piece.start + 1) for piece in kinds]


@cache
def answers(
    test: str, ability: str, layers: tuple[str, ...] | None = ("output",)
) -> list[xr.Dataset]:
    experiment, readouts = TESTS[test]
    observer = lift(OBSERVERS[ability](), experiment.asks, readouts, layers)
    presenter = Presenter(observer, batch_size=64)
    return [experiment.measure(piece, presenter) for piece in smallest_pieces(experiment)]


def test_the_table_is_complete() -> None:
    assert set(LIFTS) == set(ABILITIES) == set(OBSERVERS)
    asked = {experiment.asks for experiment, _ in TESTS.values()}
    for row in LIFTS.values():
        assert asked <= set(row)
    for cell in (cell for row in LIFTS.values() for cell in row.values()):
        assert cell.kind in ("native", "lifted", "not applicable")
        assert bool(cell.how) == (cell.kind != "native")  # how it is lifted, or why it cannot be


@pytest.mark.parametrize("ability", OBSERVERS)
def test_minimal_observers_have_one_ability(ability: str) -> None:
    assert abilities(OBSERVERS[ability]()) == (ability,)


@pytest.mark.parametrize("ability", OBSERVERS)
@pytest.mark.parametrize("test", TESTS)
def test_every_cell(test: str, ability: str) -> None:
    experiment, readouts = TESTS[test]
    cell = LIFTS[ability][experiment.asks]
    if cell.kind == "not applicable":
        with pytest.raises(ObserverError, match=f"'minimal' cannot be asked this: .*{cell.how}"):
            lift(OBSERVERS[ability](), experiment.asks, readouts)
        return
    assert (cell.kind == "native") == (ability == experiment.asks)
    if "video" in experiment.needs:  # then observers of pictures are not asked
        assert "video" in lacks(OBSERVERS[ability]().wants)
        return
    for data in answers(test, ability):
        assert data["layer"].values.tolist() == ["class-scores"]
        # A classifier's choice is not read out by a distance.
        own = experiment.asks == ability == "recognises"
        assert data["readout"].values.tolist() == (["choice"] if own else list(readouts))
        if "right" in data:
            assert set(np.unique(data["right"].values)) <= {0.0, 1.0}
        if "chosen" in data:
            assert (data["chosen"].values >= 0).all()
        for name in ("response", "reference_response", "surface"):
            if name in data:
                values = data[name].values
                if "dropped" in data:  # what cannot be shown is missing
                    values = values[np.isfinite(values)]
                if isinstance(experiment, Curves):  # some responses have a sign
                    values = np.abs(values)
                assert values.size
                assert np.isfinite(values).all()
                assert (values >= 0).all()
                assert np.ptp(values) > 0


@pytest.mark.parametrize(
    "test",
    [
        name
        for name, (experiment, _) in TESTS.items()
        if "video" not in experiment.needs and LIFTS["compares"][experiment.asks].make
    ],
)
def test_lifting_and_comparing_by_oneself_give_the_same_answers(test: str) -> None:
    # The three observers have the same features, so it must not matter who takes the angle.
    for native, encoded, recognised in zip(
        *(answers(test, ability) for ability in ("compares", "encodes", "recognises")), strict=True
    ):
        xr.testing.assert_identical(native, encoded)
        xr.testing.assert_identical(native, recognised)


@pytest.mark.parametrize("test", [name for name in TESTS if "frequency-ach" in name])
def test_every_stage_is_measured_and_the_last_is_the_natural_read_out(test: str) -> None:
    for stages, output in zip(
        answers(test, "encodes", None), answers(test, "encodes"), strict=True
    ):
        assert stages["layer"].values.tolist() == ["early", "class-scores"]
        xr.testing.assert_identical(stages.isel(layer=[-1]), output)
        response = stages["response" if "response" in stages else "surface"]
        assert (response.isel(layer=0).values != response.isel(layer=1).values).any()


def frames(n: int = 3) -> Frames:
    stimuli = [Stimulus((k * 9.5, k * 10.0, k * 11.0)) for k in range(1, n + 1)]
    return paint(stimuli, Field.of(pixels=8, ppd=60), display("encoders"))


def test_an_ability_that_needs_no_lift_goes_first() -> None:
    class Both(OnlyCompares, OnlyRecognises, OnlyAnswers):
        pass

    both = Both()
    assert abilities(both) == ("compares", "recognises", "answers")
    assert lift(both, "compares", ("angle",)) is both


def test_an_ability_that_can_be_lifted_goes_before_one_that_cannot() -> None:
    class Both(OnlyAnswers, OnlyRecognises):
        pass

    assert isinstance(lift(Both(), "compares", ("angle",)), ComparesFeatures)


def test_without_any_ability() -> None:
    assert abilities(Anyone()) == ()
    with pytest.raises(ObserverError, match="'minimal' cannot be asked this: it has none of the"):
        lift(Anyone(), "compares", ("angle",))


def test_layers_and_read_outs_are_served_by_one_look() -> None:
    class Counting(OnlyEncodes):
        looks = 0

        def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
            self.looks += 1
            super().features(frames, taps)

    encoder = Counting()
    comparer = ComparesFeatures(encoder, ("l2", "l1"), layers=("class-scores", "early"))
    assert comparer.layers == ("early", "class-scores")  # in the order of the encoder
    shown = frames()
    memory = comparer.remember(shown)
    answer = comparer.difference(shown, memory, torch.tensor([2, 1, 0]))
    assert encoder.looks == 2
    assert answer.shape == (3, 2, 2)
    assert (answer[1] == 0).all()
    for layer, values in enumerate((shown.pixels, pooled(shown))):
        difference = (values[0].double() - values[2].double()).numpy()
        assert answer[0, layer, 0].item() == pytest.approx(np.sqrt((difference**2).sum()), rel=1e-5)
        assert answer[0, layer, 1].item() == pytest.approx(np.abs(difference).sum(), rel=1e-5)
    torch.testing.assert_close(answer[0], answer[2])


def test_natural_stages_are_the_default_and_the_last_is_the_natural_read_out() -> None:
    assert ComparesFeatures(OnlyEncodes()).layers == ("early", "class-scores")
    assert ComparesFeatures(OnlyEncodes(), layers=("output",)).layers == ("class-scores",)
    assert lift(OnlyEncodes(), "compares", ("l2",)).layers == ("early", "class-scores")
    assert lift(OnlyEncodes(), "compares", ("l2",), ("early",)).layers == ("early",)


def test_class_scores_are_a_layer() -> None:
    assert EncodesClassScores(OnlyRecognises()).layers == ("class-scores",)
    for layers in (None, ("output",), ("class-scores",)):
        assert lift(OnlyRecognises(), "compares", ("l2",), layers).layers == ("class-scores",)


def test_unknown_layer() -> None:
    with pytest.raises(UnknownNameError, match=r"no layer named 'erly'; did you mean 'early'\?"):
        lift(OnlyEncodes(), "compares", ("angle",), ("erly",))


def test_features_are_compared_rather_than_class_scores_where_there_are_both() -> None:
    class Both(OnlyRecognises, OnlyEncodes):
        pass

    both = Both()
    assert abilities(both) == ("encodes", "recognises")
    assert lift(both, "compares", ("angle",)).encoder is both


def test_what_is_remembered_is_a_copy() -> None:
    class Overwriting(OnlyEncodes):
        def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
            work = frames.pixels.clone()
            taps["early"](work)
            work.zero_()  # as in-place operations do

    shown = frames()
    comparer = ComparesFeatures(Overwriting(), ("l2",), layers=("early",))
    memory = comparer.remember(shown)
    rows, energy = memory["early"]
    assert torch.equal(rows, shown.pixels.flatten(1))
    np.testing.assert_allclose(energy, (rows.double().numpy() ** 2).sum(axis=1), rtol=1e-6)
    assert (comparer.difference(shown, memory, torch.arange(3)) == 0).all()


def test_unknown_read_out() -> None:
    with pytest.raises(UnknownNameError, match="no read-out named 'cosine'"):
        lift(OnlyEncodes(), "compares", ("cosine",))


def test_the_fingerprint_of_a_lift_names_what_answers_depend_on() -> None:
    class Known(OnlyEncodes):
        fingerprint = "known/1"

    base = ComparesFeatures(Known()).fingerprint
    assert base is not None
    others = {
        ComparesFeatures(Known(), ("l2",)).fingerprint,
        ComparesFeatures(Known(), layers=("early",)).fingerprint,
        ComparesFeatures(Known(), layers=("output",)).fingerprint,
    }
    assert base.startswith("known/1")
    assert len({base} | others) == 4
    # The same layers under other names.
    assert ComparesFeatures(Known(), layers=("**",)).fingerprint == base
    assert ComparesFeatures(OnlyEncodes()).fingerprint is None
