"""Suite verbal from end to end: simulated people behind an address, by PNG, in a run folder."""

import csv
import hashlib
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from asking import Simulated, weibull
from observers.chat.server import FakeServer, completion
from photographs import write_album

from fechner import FechnerError, evaluate
from fechner.errors import RunFolderError
from fechner.human import standard_spatial_observer
from fechner.observers.chat import requests
from fechner.observers.torchvision_fix import import_torchvision
from fechner.runs import Run, preview
from fechner.stimuli.patterns import DRAWN
from fechner.stimuli.pictures import picture_drawn
from fechner.suites import published_prompts, suite

import_torchvision()


def test_prompts_are_those_of_the_paper() -> None:
    prompts = published_prompts()
    assert len(prompts.questions) == len(set(prompts.questions)) == 25
    assert len(prompts.labels) == len(set(prompts.labels)) == 20
    assert all(prompt.text.endswith("? Respond just yes or no") for prompt in prompts.questions)
    assert {prompt.options for prompt in prompts.questions} == {("yes", "no")}
    assert sum(label.options[0] == "An image with a pattern" for label in prompts.labels) == 10
    assert sum(label.options[1] == "A flat image" for label in prompts.labels) == 11


def seen_by(picture: np.ndarray) -> tuple[float, float]:
    """Return the dominant frequency and the RMS contrast around it, of a picture of 64 ppd."""
    value = picture[..., 0] / 255
    light = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    power = np.abs(np.fft.fft2(light / light.mean() - 1)) ** 2 / light.size**2
    f = np.fft.fftfreq(len(light), 1 / 64)
    radius = np.hypot(f[:, None], f[None, :])
    centres = np.geomspace(0.5, 32, 10)
    rings = [(radius >= c / 2**0.5) & (radius <= c * 2**0.5) for c in centres]
    # Dither is white: its share of a ring is known from frequencies that no ring has.
    density = [power[ring].mean() for ring in rings]
    best = int(np.argmax(density))
    return float(centres[best]), float(np.sqrt(power[rings[best]].sum()))


def person(factor: float = 1.0, slope: float = 5.0):
    """Answer as people would whose thresholds are so many times those of the standard observer."""

    def decide(picture: np.ndarray, prompt: str, request: dict) -> str:
        frequency, contrast = seen_by(picture)
        threshold = factor / standard_spatial_observer(frequency) / 2**0.5
        yes = 1 - 0.5 ** ((contrast / threshold) ** slope)
        seed = hashlib.sha256(picture.tobytes() + prompt.encode()).digest()[:8]
        chance = np.random.default_rng(list(seed)).random()
        return "Yes." if chance < yes else "No."

    return decide


def asked(address: str, out: Path, **more) -> Run:
    return evaluate(
        address if "#" in address else f"{address}#person",
        suite="verbal",
        tests="detection",
        out=out,
        threads=1,
        progress=False,
        **{"trials": 48, "prompts": ["Is there a pattern?"], **more},
    )


def found_in(run: Run) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return thresholds over human ones, where they were found, and the scores."""
    (observer,) = run.observers
    (test,) = run.tests
    data = run.data(observer, "detection").isel(layer=0, readout=0)
    measured = test.scorer.measured(data)
    ratio = measured.log10[:, 0] - np.log10(measured.human)
    return ratio, measured.censored[:, 0], {r.score.name: r.score for r in run.scores()}


def test_people_behind_an_address_are_recovered_from_png(tmp_path: Path) -> None:
    """Ten times less sensitive than people, so that grey levels are no limit."""
    with FakeServer(person(10.0)) as server:
        ratio, censored, scores = found_in(asked(server.address, tmp_path / "run"))
    usable = slice(0, 9)  # the last band does not fit
    assert (censored[usable] == "").all()
    assert np.median(np.abs(ratio[usable] - 1)) < 0.05
    assert scores["csf-correlation"].value > 0.99
    assert scores["csf-rmse-log10"].value == pytest.approx(1, abs=0.05)
    assert scores["invalid-replies"].value == 0


with (Path(__file__).parents[1] / "observers/chat/data/replies.csv").open(newline="") as _file:
    REPLIES = [row for row in csv.DictReader(_file) if row["options"] == "yes|no"]
STYLES = [
    s
    for s in dict.fromkeys(r["style"] for r in REPLIES)
    if any(r["expected"] for r in REPLIES if r["style"] == s)
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    with FakeServer(person(10.0)) as server:
        return asked(server.address, tmp_path_factory.mktemp("plain") / "run")


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_the_same_curve_is_recovered_whatever_the_style_of_replies(
    tmp_path: Path, style: str, plain: Run
) -> None:
    """In all languages; every reply is read as what a person reads, so nothing else changes."""
    mine = [row for row in REPLIES if row["style"] == style and row["expected"]]

    def decide(picture: np.ndarray, prompt: str, request: dict) -> str:
        word = {"Yes.": "yes", "No.": "no"}[person(10.0)(picture, prompt, request)]
        ways = [row["reply"] for row in mine if row["expected"] == word]
        return ways[int(picture.astype(int).sum()) % len(ways)]

    with FakeServer(decide) as server:
        run = asked(server.address, tmp_path / "run")
    ratio, censored, scores = found_in(run)
    error = np.abs(ratio[:9] - 1)
    invalid = scores["invalid-replies"].value
    assert invalid < 0.02
    assert (censored[:9] == "").all()
    assert np.median(error) < 0.05
    found, expected = (each.data(each.observers[0], "detection") for each in (run, plain))
    assert np.array_equal(found["yes"], expected["yes"], equal_nan=True)


def test_thresholds_below_a_grey_level_are_flagged(tmp_path: Path) -> None:
    with FakeServer(person()) as server:
        run = asked(server.address, tmp_path / "run", trials=40)
    _, censored, scores = found_in(run)
    human = 1 / standard_spatial_observer(np.geomspace(0.5, 32, 10)) / 2**0.5
    clear = (human < 0.01) | (human > 0.02)
    assert (censored[clear] == np.where(human < 0.01, "below", "")[clear]).all()
    assert "thresholds below one grey level (contrast 0.013)" in scores["csf-correlation"].note


def test_with_dither_they_are_recovered(tmp_path: Path) -> None:
    with FakeServer(person()) as server:
        ratio, censored, scores = found_in(asked(server.address, tmp_path / "run", dither=True))
    assert (censored[:8] == "").all()
    assert np.median(np.abs(ratio[:9])) < 0.05
    assert scores["csf-correlation"].value > 0.99


def test_thresholds_are_recovered_from_bands_of_photographs(tmp_path: Path) -> None:
    """By an observer that goes by RMS contrast alone, whatever the photograph."""
    album, threshold = write_album(tmp_path / "album"), 0.05

    def start(**more) -> Run:
        return evaluate(
            Simulated(weibull(threshold, 5.0)),
            suite="verbal",
            tests="detection",
            trials=32,
            prompts=["Is there a pattern?"],
            images=album,
            out=tmp_path / "run",
            threads=1,
            progress=False,
            **more,
        )

    start(stimuli="photographs")
    with pytest.raises(RunFolderError, match="--stimuli photographs, not --stimuli noise"):
        start()
    shutil.rmtree(album)  # what was measured can be scored without it
    run = Run(tmp_path / "run")
    ratio, censored, _ = found_in(run)
    human = 1 / standard_spatial_observer(np.geomspace(0.5, 32, 10)) / 2**0.5
    assert (censored[:9] == "").all()
    assert np.abs(ratio + np.log10(human / threshold))[:9].max() < 0.1
    (test,) = run.tests
    assert "One octave of the luminance of a photograph (of 6)" in test.experiment.method
    # To be looked at, what cannot be drawn any more is blank.
    picture_drawn.cache_clear()
    DRAWN.clear()
    shown = [sample.stimulus for row in test.experiment.samples() for sample in row]
    assert all(stimulus.layers == () for stimulus in shown)


def test_photographs_as_stimuli_need_some() -> None:
    with pytest.raises(FechnerError, match="made of some: give --images FOLDER"):
        evaluate("pixels", suite="verbal", stimuli="photographs")
    with pytest.raises(FechnerError, match="did you mean photographs"):
        evaluate("pixels", suite="verbal", stimuli="photograph")


PROMPTS = ["Is there a pattern?", "Anything?"]
KILLED = """
import os, signal, sys
from fechner import FechnerError, evaluate
from fechner.observers.chat import requests
from fechner.runs import trials

requests._FIRST_PAUSE_S = 0.01
record = trials.Trials.record
count = 0
def counting(self, *arguments):
    global count
    record(self, *arguments)
    count += 1
    if count == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
trials.Trials.record = counting
evaluate(sys.argv[1], suite="verbal", tests="detection", out=sys.argv[2], threads=1, trials=6,
         prompts=["Is there a pattern?", "Anything?"], progress=False)
"""


def test_killed_and_resumed_amid_faults_nothing_is_lost_or_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_FIRST_PAUSE_S", 0.01)
    arguments = {"prompts": PROMPTS, "trials": 6}
    with FakeServer(person(10.0)) as server:
        whole = asked(server.address, tmp_path / "whole", **arguments)
        expected = whole.data(whole.observers[0], "detection")
    with FakeServer(person(10.0), faults=0.3, hold_s=4.0, seed=4) as server:
        name = f"{server.address}#person@timeout_s=2,tries=20"
        for stop in (17, 30):
            done = subprocess.run(
                [sys.executable, "-c", KILLED, name, str(tmp_path / "run"), str(stop)],
                check=False,
                capture_output=True,
                text=True,
            )
            assert done.returncode == -signal.SIGKILL, done.stderr
        run = evaluate(
            name,
            suite="verbal",
            tests="detection",
            out=tmp_path / "run",
            threads=1,
            progress=False,
            **arguments,
        )
        failed = sum(request.fault is not None for request in server.requests)
    assert failed > 20
    spent = run.spent()
    assert spent.invalid == 0
    # Answers, and the same ones as without faults; every question has exactly one.
    data = run.data(run.observers[0], "detection")
    assert np.array_equal(data["level"].values, expected["level"].values)
    assert np.array_equal(data["yes"].values, expected["yes"].values)
    assert spent.trials == 2 * (5 * 10 + 1)  # of each prompt, and one blank at all frequencies
    # What was under way at a kill, and two questions of each first look, are asked beside them.
    assert len(server.answered) <= spent.trials + 2 * 8 + 3 * 2


def test_a_budget_stops_the_run_and_more_goes_on(tmp_path: Path) -> None:
    with FakeServer(person(10.0)) as server:
        short = asked(server.address, tmp_path / "run", trials=4, max_trials=15)
        assert short.spent().trials == 15
        assert short.scores() == []
        _, problems = short.assess()
        assert problems
        run = asked(server.address, tmp_path / "run", trials=4)
    assert run.assess()[1] == []


def test_how_many_are_asked_at_once_changes_no_byte(tmp_path: Path) -> None:
    def files(at_once: int) -> dict[str, bytes]:
        out = tmp_path / str(at_once)
        asked(f"{server.address}#person@at_once={at_once}", out, trials=4)
        return {path.name: path.read_bytes() for path in sorted(out.rglob("*.nc"))}

    answer = person(10.0)

    def slow(picture: np.ndarray, prompt: str, request: dict) -> str:
        threading.Event().wait(0.1)
        return answer(picture, prompt, request)

    with FakeServer(slow) as server:
        one = files(1)
        assert server.most == 1
        assert files(16) == one
        assert len(one) == 10
        assert server.most > 2  # ten chains, as far as painting them leaves room


def test_replies_that_are_no_answers_are_not_paid_to_the_end(tmp_path: Path) -> None:
    def decide(picture: np.ndarray, prompt: str, request: dict):
        if request["model"] == "thinker":
            return completion("<think>Let me see", finish="length")
        return person(10.0)(picture, prompt, request)

    def start(**more) -> Run:
        names = [f"{server.address}#{each}" for each in ("thinker", "person")]
        return evaluate(*names, out=tmp_path / "run", **settings, **more)

    settings = {
        "suite": "verbal",
        "tests": "detection",
        "trials": 4,
        "prompts": ["Is there a pattern?"],
        "threads": 1,
        "progress": False,
    }
    with FakeServer(decide) as server:
        run = start()
        thinker, other = run.observers
        assert 20 <= run.spent(thinker).invalid < 20 + 8  # and what was under way
        (problem,) = run.assess()[1]
        assert problem.startswith(f"{thinker} detection: stopped, since 2")
        assert "<think>Let me see" in problem
        assert "@max_tokens=4096" in problem
        assert run.data(other, "detection") is not None
        before = len(server.requests)
        start()
        assert len(server.requests) == before  # it is stopped again before anything is asked
        run = start(accept_invalid=True)
        assert run.spent(thinker).trials == 31
        assert run.assess()[1] == []


def steps_at(contrast: float) -> Simulated:
    return Simulated(lambda seen: np.where(seen > contrast, 1.0, 0.0), bits=8)


@pytest.mark.parametrize(("threshold", "d_prime"), [(0.05, "positive"), (9.0, "zero")])
def test_blanks_are_one_trial_of_those_who_answer_alike(
    tmp_path: Path, threshold: float, d_prime: str
) -> None:
    """Of an observer that never sees a blank, and of one that never sees anything."""
    observer = steps_at(threshold)
    run = evaluate(
        observer,
        suite="verbal",
        tests="detection",
        adaptive=False,
        trials=2,
        prompts=["Is there a pattern?", "Anything?"],
        out=tmp_path / "run",
        threads=1,
        progress=False,
    )
    scores = {result.score.name: result.score for result in run.scores()}
    assert scores["false-alarms"].value == 0
    assert scores["false-alarms"].n == 2  # one of each prompt
    found = [score for name, score in scores.items() if name.startswith("d-prime")]
    assert len(found) > 5
    if d_prime == "zero":
        assert all(score.value == pytest.approx(0, abs=1e-9) for score in found)
    else:
        assert all(score.value > 2 for score in found)
        assert found[0].value == pytest.approx(found[0].best)


def test_how_a_model_is_reached_is_no_part_of_what_it_is(tmp_path: Path) -> None:
    with FakeServer(person(10.0)) as server:
        short = reached(server, tmp_path, "tries=3,rpm=60000", max_trials=15)
        (name,) = short.observers
        assert name == f"{server.address}#person@seed=1"
        before = len(server.requests)
        (plan,) = preview(
            f"{server.address}#person@seed=1,tries=5",
            suite="verbal",
            tests="detection",
            out=tmp_path,
            prompts=["Is there a pattern?"],
            trials=4,
        )
        assert (plan.observer, plan.answered) == (name, 15)
        run = reached(server, tmp_path, "tries=5,at_once=2,timeout_s=60")
        assert run.observers == [name]
        assert run.assess()[1] == []
        # Of 31 questions the first 15 were not asked again, nor the two of the first look.
        assert len(server.requests) - before == 16
        other = reached(server, tmp_path, "temperature=0.5")
        assert other.observers == [name, f"{name},temperature=0.5"]
    with pytest.raises(FechnerError, match="two observers have results as 'http://h/v1#m'"):
        evaluate("http://h/v1#m@tries=2", "http://h/v1#m@tries=3", suite="verbal")


def reached(server: FakeServer, out: Path, how: str, **more) -> Run:
    return evaluate(
        f"{server.address}#person@seed=1,{how}",
        suite="verbal",
        tests="detection",
        out=out,
        threads=1,
        progress=False,
        prompts=["Is there a pattern?"],
        trials=4,
        **more,
    )


def test_a_server_that_refuses_is_told_of_where_that_helps(tmp_path: Path) -> None:
    with FakeServer(person(10.0), faults=["401"] * 99) as server:
        (line,) = asked(server.address, tmp_path / "first", trials=4).left_out
        # Nothing was answered, so there is nothing to go on with.
        assert line.endswith("name that after the model, as in @key=NAME.")
    with FakeServer(person(10.0), faults=[None] * 7 + ["401"] * 99) as server:
        run = asked(server.address, tmp_path / "later", trials=4)
        (problem,) = run.assess()[1]
        assert problem.endswith("; answers are kept, and the same command asks the rest.")
        server.faults = 0.0
        assert asked(server.address, tmp_path / "later", trials=4).assess()[1] == []


def test_a_dry_run_refuses_what_the_run_would_refuse(tmp_path: Path) -> None:
    with FakeServer(person(10.0)) as server:
        asked(server.address, tmp_path / "run", trials=2)
        settings = {"suite": "verbal", "tests": "detection", "out": tmp_path / "run"}
        for more, told in (
            (
                {"trials": 3, "adaptive": False, "prompts": ["Is there a pattern?"]},
                "(without --adaptive or --constant, not --constant; --trials 2, not --trials 3)",
            ),
            (
                {"trials": 2, "prompts": ["Is there something?"]},
                "(--prompts 1 of your own, with other content)",
            ),
            ({"trials": 2, "dither": True}, "without --prompts; without --dither, not --dither)"),
            (
                {"trials": 2, "prompts": ["Is there a pattern?"], "threads": 2},
                "holds another run (--threads 1, not --threads 2); give the same options",
            ),
        ):
            sentences = []
            for start in (preview, evaluate):
                with pytest.raises(RunFolderError) as error:
                    start(f"{server.address}#person", **settings, **more)
                sentences.append(str(error.value))
            assert sentences[0] == sentences[1]
            assert told in sentences[0]
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(RunFolderError, match="is not a run folder"):
        preview("pixels", suite="verbal", out=tmp_path)


def test_prompts_of_the_wrong_kind_are_not_replaced_by_others(tmp_path: Path) -> None:
    with FakeServer(person()) as server:
        run = asked(server.address, tmp_path / "run", prompts=["noise | nothing"], trials=2)
        (problem,) = run.assess()[1]
        assert "reads questions, and there are none among the prompts" in problem
        assert len(server.requests) <= 2  # the first look
    lifted = evaluate(
        "pixels",
        suite="verbal",
        tests="detection",
        prompts=["noise | nothing"],
        trials=16,
        threads=1,
        progress=False,
    )
    main = lifted.scores()[0].score
    assert np.isnan(main.value)
    assert "as sensitive to every frequency" in main.note
    assert "peak" not in main.note


def test_photographs_are_asked_for_by_name() -> None:
    with pytest.raises(FechnerError, match="'bands-noise' of verbal needs --images FOLDER"):
        evaluate("pixels", suite="verbal", tests="bands-noise")


def test_what_a_run_would_ask() -> None:
    (plan,) = preview("openai/any", suite="verbal", tests="detection", published=True)
    assert (plan.pictures, plan.questions) == (16_000, 400_000)
    (plan,) = preview("openai/any", suite="verbal", tests="detection", trials=32)
    assert plan.questions == 10 * 25 * 32
    (plan,) = preview("openai/any", suite="verbal", tests="detection", trials=32, prompts=PROMPTS)
    assert plan.questions == 10 * 2 * 32
    (plan,) = preview("pixels", suite="verbal", tests="detection")
    assert plan.questions == 0
    # By what an observer reads: 25 questions, 20 pairs of labels, one question about two pictures.
    (plan,) = preview("open_clip/ViT-B-32/laion2b_s34b_b79k", suite="verbal", published=True)
    assert (plan.test, plan.questions) == ("detection", 320_000)
    plans = preview("openai/any", suite="verbal")
    assert {p.test: p.questions for p in plans} == {"detection": 16_000, "detection-2afc": 640}
    assert {p.test: p.pictures for p in plans} == {"detection": 16_000, "detection-2afc": 640}
    # Observers that read no words are asked one question.
    (few,) = preview("pixels", suite="verbal", tests="detection", trials=12)
    assert (few.pictures, few.questions) == (120, 0)


def test_what_a_run_would_cost() -> None:
    settings = {"suite": "verbal", "tests": "detection", "prompts": ["Is it there?"], "trials": 10}
    (plan,) = preview("openai/any@price_in=1,price_out=10,max_tokens=105", **settings)
    assert plan.questions == 100
    # 3 words of 4/3 tokens, a picture of 85 + 170, and replies of 5 or 105 tokens.
    assert plan.cost == pytest.approx(100 * (259 * 1 + 5 * 10) / 1e6)
    assert plan.most == pytest.approx(100 * (259 * 1 + 105 * 10) / 1e6)
    (low,) = preview("openai/any@price_in=1,price_out=10,detail=low", **settings)
    assert low.cost == pytest.approx(100 * (89 * 1 + 5 * 10) / 1e6)
    for name in ("openai/any", "pixels"):
        (plan,) = preview(name, **settings)
        assert np.isnan(plan.cost)
        assert np.isnan(plan.most)


def test_metrics_and_encoders_have_sensitivity_curves(tmp_path: Path) -> None:
    run = evaluate(
        "standard-observer",
        suite="verbal",
        tests="detection",
        out=tmp_path / "run",
        threads=1,
        progress=False,
    )
    scores = {r.score.name: r.score for r in run.scores()}
    assert scores["csf-correlation"].value == pytest.approx(0.97, abs=0.02)
    assert "prompt-entropy" not in scores
    assert not (tmp_path / "run" / "trials.sqlite").exists()


def test_modes() -> None:
    default, published = (
        {test.id: test for test in suite("verbal").build(published=mode == "published")}
        for mode in ("default", "published")
    )
    assert list(default) == ["detection", "detection-2afc"]
    assert list(published) == ["detection"]  # no paper shows two pictures
    assert default["detection"].scorer.published is False
    assert published["detection"].scorer.published is True
    own = suite("verbal").build(dither=True)[0].experiment
    assert own.scene.display.dither
