"""Lists of trials for people who are asked what observers were asked.

They are written as a folder: pictures, a page for browsers, a script for the laboratory.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fechner
from fechner.errors import FechnerError
from fechner.experiments.item_tasks import Shown
from fechner.experiments.preferred_views import Item
from fechner.report.export import whole_folder
from fechner.report.html import as_file, templates
from fechner.report.trial_lists.plan import Asked, Task, Trial, plan_trials, read_conditions
from fechner.runs.people import class_places
from fechner.runs.progress import followed

if TYPE_CHECKING:
    from fechner.runs import Run
    from fechner.stimuli import Field, Picture

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


@dataclass(frozen=True)
class Exported:
    """What was written.

    Parameters
    ----------
    trials
        Of each person.
    pictures
        How many files with pictures there are.
    asked
        The tests, with their levels.
    """

    folder: Path
    people: int
    trials: int
    pictures: int
    asked: tuple[Asked, ...]

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
    asked = read_conditions(run, observer, tests, levels)
    conditions = [each.condition for each in asked]
    lists = plan_trials(conditions, people, trials, choices, seed, repeat)
    by_test = {each.condition.test: each for each in asked}
    digits = max(2, len(str(people)))
    names = [f"person-{number + 1:0{digits}}" for number in range(people)]
    with whole_folder(str(out), [run]) as folder:
        writer = _Writer(folder, by_test)
        every = [trial for each in lists for trial in each]
        shown = followed(every, "drawing pictures") if progress else every
        rows = iter([writer.plain(trial) for trial in shown])
        plain = {name: list(itertools.islice(rows, len(lists[0]))) for name in names}
        for name, own in plain.items():
            text = _conditions(own, choices)
            (folder / f"conditions_{name}.csv").write_text(text, "utf-8", newline="")
        page = {
            "duration_ms": duration_ms,
            "instructions": INSTRUCTIONS,
            "observer": observer,
            "people": plain,
        }
        script = f"const TRIALS = {json.dumps(page, ensure_ascii=False, sort_keys=True)};\n"
        (folder / "trials.js").write_text(script, "utf-8")
        about = {
            "observer": observer,
            "people": people,
            "trials": len(lists[0]),
            "seed": seed,
            "repeat": repeat,
            "choices": choices,
            "duration_ms": duration_ms,
            "run": run.folder,
        }
        _write_templates(folder, about, asked)
    return Exported(Path(out), people, len(lists[0]), len(set(writer.files.values())), tuple(asked))


@dataclass
class _Writer:
    """Draws what is shown, each picture once, and says where it is.

    Files are named after what is in them, which tells people nothing.
    """

    folder: Path
    asked: Mapping[str, Asked]
    files: dict[tuple[str, int, int, float], str] = field(default_factory=dict)

    def _file(self, trial: Trial, label: int, picture: int, level: float) -> str:
        asked = self.asked[trial.condition.test]
        # Originals are the same in all tests.
        key = (trial.condition.test if level else "", label, picture, level)
        if key not in self.files:
            shown = Shown(Item(label, picture), level, 0)
            content = _png(asked.experiment.picture(shown), asked.field)
            name = f"images/{hashlib.sha256(content).hexdigest()[:16]}.png"
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            self.files[key] = name
        return self.files[key]

    def plain(self, trial: Trial) -> dict[str, Any]:
        """Return a trial as plain values."""
        condition = trial.condition
        names, _ = class_places(self.asked[condition.test].experiment.pictures.classes)
        pictured = condition.task == "2afc"
        return {
            "task": condition.task,
            "test": condition.test,
            "class": names[trial.label],
            "level": condition.level,
            "picture": trial.picture,
            "chance": trial.chance,
            "image": self._file(trial, trial.label, trial.picture, condition.level),
            "options": [
                {
                    "class": names[label] if pictured else condition.words[label],
                    "text": "" if pictured else condition.words[label],
                    "image": self._file(trial, label, picture, 0.0) if pictured else "",
                }
                for label, picture in trial.options
            ],
            "correct": trial.answer,
        }


def _png(picture: Picture, field: Field) -> bytes:
    """Draw a picture as a file of 8 bits."""
    pixels = picture.draw(field, 8, "cpu").mul(255).round().byte().permute(1, 2, 0).numpy()
    return as_file(pixels, "PNG")


def _conditions(rows: Sequence[Mapping[str, Any]], choices: int) -> str:
    """Return a list of trials as a CSV that PsychoPy reads; answers are counted from 1."""
    import pandas as pd

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


def _write_templates(folder: Path, about: Mapping[str, Any], asked: Sequence[Asked]) -> None:
    """Write the page, the script and what to do with them."""
    environment = templates("trial_lists/template", autoescape=False, keep_trailing_newline=True)
    shown = asked[0].field
    rows = [
        {
            "test": each.condition.test,
            "task": each.condition.task,
            "choices": about["choices"] if each.condition.task == "mafc" else 2,
            "level": f"{each.condition.level:.4g}",
            "axis": f"{each.experiment.manipulation.axis}; threshold of the observer: "
            f"{each.threshold}",
        }
        for each in asked
    ]
    words = {
        **about,
        "duration_ms": f"{about['duration_ms']:g}",
        "version": fechner.__version__,
        "instructions": INSTRUCTIONS,
        "rows": rows,
        "width_px": shown.width_px,
        "height_px": shown.height_px,
        "ppd": f"{shown.ppd:.4g}",
        "degrees": f"{shown.width_px / shown.ppd:.3g}",
        "samples": _SAMPLES[asked[0].experiment.show],
        "frames": max(1, round(about["duration_ms"] * _FRAMES_PER_S / 1000)),
    }
    for name in _FILLED:
        text = environment.get_template(name).render(words)
        (folder / name.removesuffix(".in")).write_text(text, "utf-8")
    for name in _AS_THEY_ARE:
        source = resources.files("fechner.report.trial_lists").joinpath("template", name)
        (folder / name).write_bytes(source.read_bytes())
