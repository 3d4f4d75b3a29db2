"""Experiments for people as folders: what is in them, and that scripts do what they say."""

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from recognised import CLASSES, LEVELS, Disc, Measured, experiment

from fechner.errors import FechnerError
from fechner.human.trials import read_all_trials
from fechner.report.trial_lists import export_trials
from fechner.report.trial_lists.plan import threshold_level


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("people")
    written = export_trials(Measured(place / "run"), "vgg", place / "out", people=3)
    assert (written.people, written.trials) == (3, 20)
    assert (
        str(written) == f"{place / 'out'}: 3 lists with 20 trials each, {written.pictures} pictures"
    )
    return written.folder


def lists(folder: Path) -> dict[str, list[dict[str, str]]]:
    return {
        path.stem.removeprefix("conditions_"): list(
            csv.DictReader(path.read_text("utf-8").splitlines())
        )
        for path in sorted(folder.glob("conditions_*.csv"))
    }


def page_data(folder: Path) -> dict:
    text = (folder / "trials.js").read_text("utf-8")
    return json.loads(re.fullmatch(r"const TRIALS = (.*);\n", text, re.DOTALL)[1])


def test_a_list_for_each_person(folder: Path) -> None:
    found = lists(folder)
    assert list(found) == ["person-01", "person-02", "person-03"]
    for rows in found.values():
        asked = Counter(row["test"] for row in rows)
        assert asked == dict.fromkeys(Measured.names, 5)
        assert max(Counter(row["class"] for row in rows).values()) == 1
        assert "class01" not in {row["class"] for row in rows}  # nobody could read its pictures
        for row in rows:
            right = row[f"option_{row['correct']}"]
            assert right == row["class"]
            pictured = row["task"] == "2afc"
            assert float(row["chance"]) == (1 / 2 if pictured else 1 / 3)
            assert bool(row["option_3"]) != pictured
            assert bool(row["option_1_image"]) == pictured
            assert float(row["level"]) in LEVELS
    assert {row["class"] for rows in found.values() for row in rows} & {"tabby", "garbage truck"}


def test_the_page_has_the_same_trials(folder: Path) -> None:
    page = page_data(folder)
    assert page["duration_ms"] == 50
    for person, rows in lists(folder).items():
        for row, item in zip(rows, page["people"][person], strict=True):
            assert int(row["correct"]) - 1 == item["correct"]
            for name in ("task", "test", "class", "image", "picture"):
                assert row[name] == str(item[name])
            assert float(row["level"]) == item["level"]  # to the bit
            for number, option in enumerate(item["options"], 1):
                assert row[f"option_{number}"] == option["class"]
                assert row[f"option_{number}_image"] == option["image"]
                assert bool(option["text"]) != bool(option["image"])


def test_pictures_are_what_the_observer_was_shown(folder: Path) -> None:
    shown = experiment("mafc-blur").scene.field
    for row in lists(folder)["person-02"]:
        names = {"tabby": "n02123045", "garbage truck": "garbage_truck"}
        label = CLASSES.index(names.get(row["class"], row["class"]))
        for file, level in ((row["image"], float(row["level"])), (None, 0.0)):
            file = file or row[f"option_{row['correct']}_image"]
            if file:
                pixels = Disc(label, int(row["picture"]), level).draw(shown, 8, "cpu")
                expected = pixels.mul(255).round().byte().permute(1, 2, 0).numpy()
                assert (np.asarray(Image.open(folder / file)) == expected).all()
    used = {row["image"] for rows in lists(folder).values() for row in rows}
    assert all((folder / name).is_file() for name in used)


def test_files_do_not_tell_what_they_show(folder: Path) -> None:
    for path in (folder / "images").iterdir():
        assert re.fullmatch(r"[0-9a-f]{16}\.png", path.name)


def test_the_folder_says_what_to_do(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")
    assert "npm install" in text
    assert "fechner people" in text
    assert "50 ms are 3 frames at 60 Hz" in text
    assert "| 2afc-blur | 2afc | 2 | 4 | standard deviation (px); threshold of" in text
    needed = set(json.loads((folder / "package.json").read_text("utf-8"))["dependencies"])
    page = (folder / "index.html").read_text("utf-8")
    loaded = set(re.findall(r"src=\"node_modules/((?:@jspsych/)?[\w-]+)/", page))
    assert loaded == needed
    for name in re.findall(r"src=\"(?!node_modules)([^\"]+)\"", page):
        assert (folder / name).is_file()
    assert not re.search(r"https?://", page + (folder / "experiment.js").read_text("utf-8"))


#: As much of PsychoPy as the script uses; pictures are looked at, and answered, by their file.
PSYCHOPY = """
import sys
from pathlib import Path

class Clock:
    def reset(self): pass

class core:
    Clock = Clock
    @staticmethod
    def quit(): sys.exit(0)

class visual:
    time = 0.0
    drawn, frames = [], []
    class Window:
        mouseVisible = True
        def __init__(self, **how): assert how["units"] == "pix"
        def flip(self):
            visual.frames.append(list(visual.drawn)); visual.drawn.clear()
            visual.time += 0.01
            return visual.time
        def callOnFlip(self, call): call()
        def close(self): pass
    class ImageStim:
        size = (64, 48)
        def __init__(self, window, image, pos=(0, 0)):
            assert Path(image).is_file(); self.image = image
        def draw(self): visual.drawn.append(self.image)
    class TextStim:
        def __init__(self, window, text, **how): self.text = text
        def draw(self): visual.drawn.append(self.text)

class event:
    asked = 0
    @staticmethod
    def clearEvents(): pass
    @staticmethod
    def waitKeys(keyList, timeStamped):
        if "space" in keyList: return [["space", 1.0]]
        event.asked += 1
        if event.asked > int(Path("stop").read_text()):
            return [["escape", 0.5]]
        cross, *sample, blank, options = visual.frames[-8:]
        assert cross == ["+"] and blank == [] and len(options) >= 4
        assert all(len(frame) == 1 and ".png" in frame[0] for frame in sample)
        return [[keyList[event.asked % 2], 0.5]]
"""


def test_the_script_for_the_laboratory(folder: Path, tmp_path: Path) -> None:
    """With a PsychoPy that shows nothing and answers 1 and 2 by turns; stopped after 7 trials."""
    (tmp_path / "psychopy.py").write_text(PSYCHOPY, "utf-8")

    def run(person: str, stop: int) -> subprocess.CompletedProcess[str]:
        (tmp_path / "stop").write_text(str(stop))
        return subprocess.run(
            [sys.executable, "-P", folder / "experiment.py", person],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path)},
        )

    refused = run("person-07", 0)
    assert refused.returncode == 1
    assert refused.stderr == "name a list: python experiment.py person-01, ... person-03\n"
    results = folder / "data" / "person-02.csv"
    try:
        for stop, rows in ((7, 7), (99, 20)):
            done = run("person-02", stop)
            assert done.returncode == 0, done.stderr
            assert len(results.read_text("utf-8").splitlines()) == 1 + rows
        found = read_all_trials([results])
        with results.open(encoding="utf-8", newline="") as file:
            times = [row["sample_ms"] for row in csv.DictReader(file)]
    finally:
        results.unlink()
        results.parent.rmdir()
    assert times == ["50.00"] * 20  # five frames at 100 Hz
    asked = lists(folder)["person-02"]
    for number, (row, trial) in enumerate(zip(asked, found.rows, strict=True)):
        chosen = 1 + (number + 1 if number < 7 else number - 7 + 1) % 2
        assert trial.response == row[f"option_{chosen}"]
        assert trial.correct == (str(chosen) == row["correct"])
        assert (trial.observer, trial.test) == ("person-02", row["test"])
        assert trial.level == float(row["level"])
        assert (trial.label, trial.picture) == (row["class"], row["picture"])


def test_the_same_again_and_another_seed(folder: Path, tmp_path: Path) -> None:
    run = Measured(tmp_path / "run")
    for name, seed in (("again", 0), ("other", 1)):
        export_trials(run, "vgg", tmp_path / name, people=2, seed=seed)
    again, other = (lists(tmp_path / name)["person-02"] for name in ("again", "other"))
    assert again == lists(folder)["person-02"]
    assert other != again


def test_levels_are_chosen_or_given(tmp_path: Path) -> None:
    run = Measured(tmp_path / "run")
    written = export_trials(
        run, "alex", tmp_path / "a", people=1, tests=["mafc-blur"], choices=5, duration_ms=100
    )
    (asked,) = written.conditions
    assert asked.level == pytest.approx(8.0, rel=0.5)
    assert "| mafc-blur | mafc | 5 |" in (tmp_path / "a" / "README.md").read_text("utf-8")
    given = export_trials(run, "vgg", tmp_path / "b", people=1, levels={"mafc-blur": 2.5}, trials=2)
    assert [each.level == 2.5 for each in given.conditions] == [True, False, False, False]
    for number, levels in enumerate((1.0, 0.0)):
        every = export_trials(run, "vgg", tmp_path / f"c{number}", people=1, levels=levels)
        assert {each.level for each in every.conditions} == {levels}


def test_thresholds_beyond_what_was_shown() -> None:
    data = Measured(Path()).data("vgg", "mafc-blur")
    shown = data.isel(trial=np.flatnonzero(data["problem"].values == 0))
    level, words = threshold_level(shown)
    assert level == pytest.approx(4.0)
    assert float(words) == pytest.approx(4.0, rel=0.2)
    never = shown.assign(right=shown["right"] * 0 + 1)
    assert threshold_level(never) == (LEVELS[-1], "above 32")  # to the bit
    always = shown.assign(right=(shown["right"] * 0 + (shown["level"] == 0)))
    assert threshold_level(always) == (LEVELS[1], "below 0.5")
    guessing = shown.assign(right=shown["right"] * 0)
    level, words = threshold_level(guessing)
    assert words == "none, since its answers are near chance throughout"
    assert level in LEVELS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tests": ["mafc-blurr"]}, "no test named 'mafc-blurr'; did you mean 'mafc-blur'"),
        ({"tests": ["views"]}, "no test named 'views'"),
        ({"levels": {"mafc-nois": 1.0}}, "did you mean 'mafc-noise'"),
        ({"levels": -1.0}, "a level is 0 or above, not -1"),
        ({"duration_ms": 0.0}, "shown for 1 to 60000 ms, not 0"),
        ({"trials": 20}, "80 trials, but there are 39 classes"),
    ],
)
def test_mistakes_are_sentences(tmp_path: Path, change: dict, said: str) -> None:
    with pytest.raises(FechnerError, match=said):
        export_trials(Measured(tmp_path / "run"), "vgg", tmp_path / "out", people=1, **change)
    assert not (tmp_path / "out").exists()


def test_answers_that_are_not_there_and_folders_that_are(tmp_path: Path) -> None:
    run = Measured(tmp_path / "run")
    with pytest.raises(FechnerError, match="alex has no answers to 2afc-noise: it is not finished"):
        export_trials(run, "alex", tmp_path / "out")
    with pytest.raises(FechnerError, match="no observer named 'vg'; did you mean 'vgg'"):
        export_trials(run, "vg", tmp_path / "out")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(FechnerError, match=r"holds other things .mine.txt.; choose a folder"):
        export_trials(run, "vgg", tmp_path / "out", people=1)
    (tmp_path / "out" / "mine.txt").unlink()
    export_trials(run, "vgg", tmp_path / "out", people=1)
    assert (tmp_path / "out" / "index.html").is_file()
    assert not list(tmp_path.glob(".*"))
