"""Lists of trials for people who are asked what observers were asked.

They are written as a folder: pictures, a page for browsers, a script for the laboratory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fechner
from fechner.arrays import pd
from fechner.errors import FechnerError
from fechner.experiments.item_tasks import Shown
from fechner.experiments.preferred_views import Item
from fechner.report.export import whole_folder
from fechner.report.html import as_file, templates
from fechner.report.trial_lists.plan import Condition, Task, Trial, plan_trials, read_conditions
from fechner.runs.people import class_places
from fechner.runs.progress import followed

if TYPE_CHECKING:
    from fechner.runs import Run

#: Frames that screens show in a second, for words only.
_FRAMES_PER_S = 60

#: What people are told before a block.
INSTRUCTIONS: dict[Task, str] = {
    "mafc": "What did the picture show? Press the number of its name.",
    "2afc": "Which of two pictures shows the same thing as the first? Press its number.",
}

#: Which pictures are shown, in words.
_SAMPLES = {
    "preferred": "the pictures of their class that the observer knows best",
    "drawn": "pictures of their class that were drawn by seed, as for all observers of the run",
}

#: Files that are written with what this experiment is, and those that are the same for all.
_FILLED = ("README.md", "experiment.py.in")
_AS_THEY_ARE = ("experiment.js", "index.html", "package.json")

#: Columns of a list of conditions, but for the choices.
_COLUMNS = ("trial", "task", "test", "class", "level", "picture", "chance", "image", "correct")

#: Draws a picture of a class at a level of a condition, and returns the name of its file.
_Draw = Callable[[Condition, int, int, float], str]


@dataclass(frozen=True)
class Exported:
    """What was written.

    Parameters
    ----------
    trials
        Of each person.
    pictures
        How many files with pictures there are.
    conditions
        The tests, with their levels.
    """

    folder: Path
    people: int
    trials: int
    pictures: int
    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return (
            f"{self.folder}: {self.people} lists with {self.trials} trials each, "
            f"{self.pictures} pictures"
        )


def export_trials(
    run: Run,
    observer: str,
    out: Path | str,
    *,
    people: int = 24,
    trials: int = 5,
    tests: Sequence[str] | None = None,
    levels: Mapping[str, float] | float | None = None,
    choices: int = 3,
    duration_ms: float = 50.0,
    seed: int = 0,
    repeat: bool = False,
    progress: bool = False,
) -> Exported:
    """Write an experiment for people, with the pictures that an observer was shown.

    Parameters
    ----------
    observer
        Whose preferred views are shown, and whose thresholds choose the levels.
    out
        A folder that is new or empty.
    people, trials
        How many lists, and trials of each test in a list.
    tests
        Their ids; all whose trials people can be asked if None.
    levels
        One for all tests, or by test; the nearest to the observer's threshold if left out.
    choices
        How many names people choose from; pictures are always two.
    duration_ms
        How long a sample is shown.
    repeat
        Whether classes may come again to a person where there are too few.
    progress
        Whether to show a progress bar on stderr.
    """
    if not 0 < duration_ms <= 60_000:
        raise FechnerError(f"a sample is shown for 1 to 60000 ms, not {duration_ms:g}.")
    conditions = read_conditions(run, observer, tests, levels)
    lists = plan_trials(conditions, people, trials, choices, seed, repeat)
    each = len(lists[0])
    with whole_folder(str(out), [run]) as folder:
        draw = _drawing(folder)
        every = [trial for own in lists for trial in own]
        rows = [_plain(trial, draw) for trial in followed(every, "drawing pictures", progress)]
        digits = max(2, len(str(people)))
        plain = {
            f"person-{number + 1:0{digits}}": rows[number * each : (number + 1) * each]
            for number in range(people)
        }
        for name, own in plain.items():
            text = _conditions_file(own, choices)
            (folder / f"conditions_{name}.csv").write_text(text, "utf-8", newline="")
        page = {
            "duration_ms": duration_ms,
            "instructions": INSTRUCTIONS,
            "observer": observer,
            "people": plain,
        }
        script = f"const TRIALS = {json.dumps(page, ensure_ascii=False, sort_keys=True)};\n"
        (folder / "trials.js").write_text(script, "utf-8")
        drawn = conditions[0].field
        _write_templates(
            folder,
            observer=observer,
            people=people,
            trials=each,
            seed=seed,
            repeat=repeat,
            run=run.folder,
            duration_ms=f"{duration_ms:g}",
            frames=max(1, round(duration_ms * _FRAMES_PER_S / 1000)),
            instructions=INSTRUCTIONS,
            samples=_SAMPLES[conditions[0].experiment.show],
            version=fechner.__version__,
            width_px=drawn.width_px,
            height_px=drawn.height_px,
            ppd=f"{drawn.ppd:.4g}",
            degrees=f"{drawn.width_px / drawn.ppd:.3g}",
            rows=[
                {
                    "test": own.test,
                    "task": own.task,
                    "choices": own.choices(choices),
                    "level": f"{own.level:.4g}",
                    "axis": f"{own.experiment.manipulation.axis}; threshold of the observer: "
                    f"{own.threshold}",
                }
                for own in conditions
            ],
        )
        pictures = len(list((folder / "images").iterdir()))
    return Exported(Path(out), people, each, pictures, tuple(conditions))


def _drawing(folder: Path) -> _Draw:
    """Return a function that draws each picture once; files are named after what is in them."""
    (folder / "images").mkdir()

    @cache
    def draw(condition: Condition, label: int, picture: int, level: float) -> str:
        shown = condition.experiment.picture(Shown(Item(label, picture), level, 0))
        pixels = shown.draw(condition.field, 8, "cpu").mul(255).round().byte().permute(1, 2, 0)
        content = as_file(pixels.numpy(), "PNG")
        name = f"images/{hashlib.sha256(content).hexdigest()[:16]}.png"
        (folder / name).write_bytes(content)
        return name

    return draw


def _plain(trial: Trial, draw: _Draw) -> dict[str, Any]:
    """Return a trial as plain values."""
    condition = trial.condition
    names, _ = class_places(condition.experiment.pictures.classes)
    pictured = condition.task == "2afc"
    return {
        "task": condition.task,
        "test": condition.test,
        "class": names[trial.label],
        "level": condition.level,
        "picture": trial.picture,
        "chance": trial.chance,
        "image": draw(condition, trial.label, trial.picture, condition.level),
        "options": [
            {
                "class": names[label] if pictured else condition.words[label],
                "text": "" if pictured else condition.words[label],
                "image": draw(condition, label, picture, 0.0) if pictured else "",
            }
            for label, picture in trial.options
        ],
        "correct": trial.answer,
    }


def _conditions_file(rows: Sequence[Mapping[str, Any]], choices: int) -> str:
    """Return a list of trials as a CSV that PsychoPy reads; answers are counted from 1."""
    options = [f"option_{n + 1}{end}" for n in range(max(choices, 2)) for end in ("", "_image")]
    cells = []
    for number, row in enumerate(rows, 1):
        cell = {**row, "trial": number, "correct": row["correct"] + 1}
        for place, option in enumerate(row["options"], 1):
            cell |= {f"option_{place}": option["class"], f"option_{place}_image": option["image"]}
        cells.append(cell)
    frame = pd.DataFrame(cells, columns=[*_COLUMNS, *options])
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text


def _write_templates(folder: Path, **words: Any) -> None:
    """Write the page, the script and what to do with them."""
    environment = templates("trial_lists/template", autoescape=False, keep_trailing_newline=True)
    for name in _FILLED:
        text = environment.get_template(name).render(words)
        (folder / name.removesuffix(".in")).write_text(text, "utf-8")
    for name in _AS_THEY_ARE:
        source = resources.files("fechner.report.trial_lists").joinpath("template", name)
        (folder / name).write_bytes(source.read_bytes())
