"""Your own program as a metric: what it is called with, and its score."""

import json
import math
import os
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from imageio_ffmpeg import get_ffmpeg_exe

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers import resolve
from fechner.observers.metrics.command import Command, Program
from fechner.stimuli import (
    OPPONENT,
    Clips,
    Display,
    Field,
    Flicker,
    Frames,
    Gabor,
    Layer,
    Stimulus,
    display,
    paint,
)

# A program as an observer: what it is given, and what its score becomes


FIELD = Field(32, 24, ppd=10.0)
DESK = display("metrics")

#: Prints the mean absolute difference of two of our PNGs, and notes what it was given.
METRIC = """
import json, pathlib, struct, sys, zlib
import numpy as np

def read(path):
    data = pathlib.Path(path).read_bytes()
    width, height, bits = struct.unpack(">IIB", data[16:25])
    size, = struct.unpack(">I", data[33:37])
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(height, -1)
    codes = rows[:, 1:].copy().view(">u2" if bits == 16 else "u1")
    return codes / (2**bits - 1)

test, reference, note, *rest = sys.argv[1:]
with open(note, "a") as file:
    print(json.dumps([test, reference, *rest]), file=file)
print("mean", np.abs(read(test) - read(reference)).mean())
"""


def stimulus(contrast: float, flicker: Flicker | None = None) -> Stimulus:
    modulation = OPPONENT.modulation_xyz("ach", 21.4)
    layer = Layer(Gabor(2.0, sigma_deg=0.5), modulation, contrast, flicker)
    return Stimulus(OPPONENT.background_xyz(21.4), (layer,))


def frames(*contrasts: float, light: str = "display") -> Frames:
    stimuli = [stimulus(contrast) for contrast in contrasts]
    return paint(stimuli, FIELD, DESK, light=light, dtype=torch.float64)


def clips(*stimuli: Stimulus) -> Clips:
    field = Field(32, 24, ppd=10.0, frames=3, fps=30.0)
    return Clips(stimuli, field, DESK, "display", torch.float64)


def python(tmp_path: Path, code: str, *arguments: str) -> str:
    """Return the command line of a script that is given a file to note things in."""
    script = tmp_path / "my metric.py"
    script.write_text(code)
    words = [f"'{sys.executable}'", f"'{script}'", "{test}", "{reference}", f"'{tmp_path}/note'"]
    return " ".join([*words, *arguments])


def noted(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "note").read_text().splitlines()]


def test_differences_of_pictures(tmp_path: Path) -> None:
    observer = resolve("cmd:" + python(tmp_path, METRIC))
    tests, reference = frames(0.0, 0.01, 0.3), frames(0.0)
    got = observer.difference(tests, observer.remember(reference), torch.zeros(3, dtype=torch.long))
    want = (tests.pixels - reference.pixels).abs().mean(dim=(1, 2, 3))
    assert got.shape == (3, 1, 1)
    assert got[0] == 0
    assert got.flatten().numpy() == pytest.approx(want.numpy(), abs=0.5 / 65535)
    assert "16-bit PNG files (one step at mid grey is a contrast of 6.6e-05)" in observer.about.fed


def test_each_test_goes_with_its_reference(tmp_path: Path) -> None:
    observer = resolve("cmd:" + python(tmp_path, METRIC))
    memory = observer.remember(frames(0.5, 0.0))
    got = observer.difference(frames(0.0, 0.5), memory, torch.tensor([1, 0]))
    assert got.flatten().tolist() == [0, 0]
    alone = observer.difference(frames(0.5), memory, torch.tensor([1]))
    assert alone.item() > 0.01


def test_files_are_gone_afterwards(tmp_path: Path) -> None:
    where = tmp_path / "temporary"
    where.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(where))
        good = Command(python(tmp_path, METRIC))
        good.difference(frames(0.1), good.remember(frames(0.0)), torch.tensor([0]))
        bad = Command(python(tmp_path, "raise SystemExit('no')"))
        with pytest.raises(FechnerError, match="status 1: no"):
            bad.difference(frames(0.1), bad.remember(frames(0.0)), torch.tensor([0]))
    ((test, reference),) = noted(tmp_path)
    assert Path(test).parent == Path(reference).parent
    assert Path(test).is_relative_to(where)
    assert list(where.iterdir()) == []


def test_what_the_program_is_told(tmp_path: Path) -> None:
    words = ("{width}x{height}", "{frames}", "{fps}", "{ppd}", "{peak}", "{black}", "{other}")
    observer = Command(python(tmp_path, METRIC, *words))
    wide = Frames(frames(0.1).pixels, FIELD, Display("d", 150.0, 0.15), "display")
    observer.difference(wide, observer.remember(wide), torch.tensor([0]))
    assert noted(tmp_path)[0][2:] == ["32x24", "1", "60", "10", "150", "0.15", "{other}"]


@pytest.mark.parametrize(
    ("higher_is_better", "best", "difference"),
    [(False, None, 0.75), (True, None, -0.75), (True, 1.0, 0.25), (False, -1.0, 1.75)],
)
def test_what_a_score_means(higher_is_better: bool, best: float | None, difference: float) -> None:
    observer = Command(
        "sh -c 'echo 0.75' {test} {reference}", higher_is_better=higher_is_better, best=best
    )
    got = observer.difference(frames(0.1), observer.remember(frames(0.0)), torch.tensor([0]))
    assert got.item() == difference
    assert observer.about.higher_is_better is higher_is_better


LOOK = """
import json, pathlib, sys
def look(path):
    path = pathlib.Path(path)
    if path.is_dir():
        return [[each.name, len(each.read_bytes())] for each in sorted(path.iterdir())]
    return [path.name, path.read_bytes()[:60].split(b"\\n")[0].decode("latin-1")]
test, reference, note, *rest = sys.argv[1:]
pathlib.Path(note).write_text(json.dumps([look(test), look(reference)]) + "\\n")
print(1)
"""


@pytest.mark.parametrize(
    ("settings", "name", "begins"),
    [
        ({}, "test.png", "\x89PNG"),
        ({"bits": 8}, "test.png", "\x89PNG"),
        ({"files": "exr"}, "test.exr", "v/1\x01\x02"),
        ({"light": "cdm2"}, "test.exr", "v/1\x01\x02"),
        ({"files": "y4m"}, "test.y4m", "YUV4MPEG2 W32 H24 F1:1 Ip A1:1 C444p16"),
        ({"files": "y4m", "bits": 10}, "test.y4m", "YUV4MPEG2 W32 H24 F1:1 Ip A1:1 C444p10"),
    ],
)
def test_files_of_pictures(
    tmp_path: Path, settings: dict[str, object], name: str, begins: str
) -> None:
    observer = Command(python(tmp_path, LOOK), **settings)
    shown = frames(0.1, light=observer.wants.light)
    observer.difference(shown, observer.remember(shown), torch.tensor([0]))
    ((test, _),) = noted(tmp_path)
    assert test[0] == name
    assert test[1].startswith(begins)


def test_a_video_is_one_file(tmp_path: Path) -> None:
    observer = Command(python(tmp_path, LOOK, "{frames}", "{fps}"), video=True)
    flickering, steady = clips(stimulus(0.5, Flicker(8.0))), clips(stimulus(0.0))
    got = observer.difference(flickering, observer.remember(steady), torch.tensor([0]))
    assert got.item() == 1
    ((test, reference),) = noted(tmp_path)
    assert (test[0], reference[0]) == ("test.y4m", "reference.y4m")
    assert test[1].startswith("YUV4MPEG2 W32 H24 F30:1 Ip A1:1 C444p16")


@pytest.mark.parametrize("kind", ["png", "exr"])
def test_a_video_is_a_folder_of_frames(tmp_path: Path, kind: str) -> None:
    observer = Command(python(tmp_path, LOOK), video=True, files=kind)
    both = clips(stimulus(0.5, Flicker(8.0)))
    observer.difference(both, observer.remember(both), torch.tensor([0]))
    ((test, reference),) = noted(tmp_path)
    assert [name for name, _ in test] == [f"0000{number}.{kind}" for number in range(3)]
    assert test == reference


def test_frames_of_a_video_are_those_that_were_painted(tmp_path: Path) -> None:
    code = LOOK.replace("print(1)", "print(len(open(test, 'rb').read()))")
    observer = Command(python(tmp_path, code), video=True, best=0.0)
    both = clips(stimulus(0.5, Flicker(8.0)), stimulus(0.2))
    lengths = observer.difference(both, observer.remember(both), torch.tensor([0, 1]))
    head = len(b"YUV4MPEG2 W32 H24 F30:1 Ip A1:1 C444p16 XCOLORRANGE=LIMITED\n")
    assert lengths.flatten().tolist() == [head + 3 * (6 + 3 * 2 * 32 * 24)] * 2


def test_what_it_wants() -> None:
    observer = resolve(
        "cmd:sh -c 'echo 1' {test} {reference}@colour=no,video=yes,light=cdm2,files=exr"
    )
    assert (observer.wants.colour, observer.wants.video) == (False, True)
    assert observer.wants.light == "cdm2"
    assert observer.about.fed == "OpenEXR files of 32-bit floating point"


def test_names_with_spaces_braces_and_commas() -> None:
    spec = "cmd:sh -c 'echo {a,b} 0.5' {test} {reference}@read=echo|(0\\.\\d), higher_is_better=yes"
    observer = resolve(spec)
    assert observer.name == "cmd:sh -c 'echo {a,b} 0.5' {test} {reference}"
    assert observer.about.best == math.inf
    got = observer.difference(frames(0.1), observer.remember(frames(0.0)), torch.tensor([0]))
    assert got.item() == -0.5


def test_fingerprint(tmp_path: Path) -> None:
    line = python(tmp_path, METRIC)
    seen = {
        Command(line).fingerprint,
        Command(line, bits=8).fingerprint,
        Command(line, light="cdm2").fingerprint,
        Command(line, higher_is_better=True).fingerprint,
        Command(line, best=1.0).fingerprint,
        Command(line, read="json:score").fingerprint,
        Command(line, video=True).fingerprint,
        Command(line + " --more").fingerprint,
        Command(line, timeout=5.0).fingerprint,  # which changes no answer
        Command(python(tmp_path, METRIC + "\n# changed")).fingerprint,
    }
    assert len(seen) == 9


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("light=cdm2,files=png", "png files hold display-encoded values only; .* files=exr"),
        ("bits=10", "png files have one of 8, 16 bits, not 10"),
        ("files=jpg", "no files named 'jpg'; .*there are auto, png, y4m, exr"),
        ("colour=maybe", "setting 'colour' is yes or no"),
        ("depth=8", "no setting named 'depth'"),
    ],
)
def test_settings_that_do_not_go_together(settings: str, says: str) -> None:
    with pytest.raises((FechnerError, UnknownNameError), match=says):
        resolve(f"cmd:sh {{test}} {{reference}}@{settings}")


def test_scores_are_numbers_of_float64(tmp_path: Path) -> None:
    observer = Command("sh -c 'echo 0.1234567890123' {test} {reference}")
    got = observer.difference(frames(0.1), observer.remember(frames(0.0)), torch.tensor([0]))
    assert got.dtype == torch.float64
    assert got.item() == np.float64("0.1234567890123")


def test_the_documented_line_of_ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of other people, as the how-to runs it, gives what its library gives."""
    (tmp_path / "ffmpeg").symlink_to(get_ffmpeg_exe())
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    page = Path(__file__).parents[3] / "docs" / "howto" / "external-metric.md"
    (line,) = re.findall(r"'(cmd:ffmpeg [^']+)'", page.read_text("utf-8"))
    program, library = resolve(line), resolve("vmaf@engine=libvmaf")
    field = Field(96, 64, ppd=20.0)
    still = paint([stimulus(c) for c in (0.0, 0.02, 0.5)], field, DESK, dtype=torch.float64)
    video = [
        Clips((each,), replace(field, frames=3), DESK, "display", torch.float64)
        for each in (stimulus(0.5, Flicker(8.0)), stimulus(0.0))
    ]
    for test, reference in ((still, replace(still, pixels=still.pixels[:1])), video):
        which = torch.zeros(len(test), dtype=torch.long)
        got, want = (
            each.difference(test, each.remember(reference), which) for each in (program, library)
        )
        assert got.numpy() == pytest.approx(want.numpy(), abs=1e-6)
        assert want.max() > 0.001


# Programs are run without a shell, and whatever goes wrong is said in one sentence


FILES = {"test": "t.png", "reference": "r.png"}


def program(tmp_path: Path, code: str) -> Program:
    """Return a Python script as a program."""
    script = tmp_path / "metric.py"
    script.write_text(code)
    return Program.of(f"'{sys.executable}' '{script}' {{test}} {{reference}}")


@pytest.mark.parametrize(
    ("read", "printed", "score"),
    [
        ("last-number", "0.25", 0.25),
        ("last-number", "comparing t.png with r2.png\nscore: -1.5e-3\n", -0.0015),
        ("last-number", "VMAF v0.6.1\n97.4 %\n", 97.4),
        ("last-number", "psnr = 41.25dB, done.", 41.25),
        ("last-number", "1 of 2 done\n.5", 0.5),
        ("last-number", "psnr 30\nssim inf\n", float("inf")),
        ("json:score", '{"score": 3, "n": 1}', 3.0),
        ("json:pooled.vmaf.mean", '{"pooled": {"vmaf": {"mean": 0.5}}}', 0.5),
        ("json:0.score", '[{"score": 0.75}]', 0.75),
        ("json:score", 'loading...\n{"score": 0.1}\n{"score": 0.2}\ndone', 0.2),
        ("json:score", '{"score": "0.5"}', 0.5),
        (
            "json:mean.score",
            json.dumps({"mean": {"score": 7}, "frames": [{"score": 1}]}, indent=2),
            7,
        ),
        (
            "json:score",
            "v1.0 [ok]\n" + json.dumps({"all": [{"score": 1}], "score": 2}, indent=4),
            2,
        ),
        ("json:score", '{\n  "score": 3\n}\nwritten to [log]\n', 3),
        (r"score=(\S+)", "score=1 n=7\nscore=2 n=9", 2.0),
        (r"\d+\.\d+", "1.5 and 7", 1.5),
        (r"^mean (\d+), max", "mean 4, max 9", 4.0),
    ],
)
def test_where_the_score_is(read: str, printed: str, score: float) -> None:
    assert Program(("metric",), read).score(printed) == score


@pytest.mark.parametrize(
    ("read", "printed", "says"),
    [
        ("last-number", "usage:\n\n a\n b\n c\n", "printed no number; it began: usage: /  a /  b"),
        ("last-number", "", "printed no number; it printed nothing"),
        ("json:score", '{"scores": 1}', "printed no 'score' in JSON; it began"),
        ("json:score", '{"score": [1]}', r"printed '\[1\]', not a number, as the 'score' in JSON"),
        ("json:score.deep", '{"score": 1}', "no 'score.deep' in JSON"),
        ("score=(.*)", "score=good", "printed 'good', not a number, as the match of"),
    ],
)
def test_no_score(read: str, printed: str, says: str) -> None:
    with pytest.raises(ObserverError, match=f"program 'metric' {says}|{says}"):
        Program(("metric",), read).score(printed)


def test_values_are_put_in(tmp_path: Path) -> None:
    """Each stays one word, whatever is in it; braces around other words are left alone."""
    code = f'import sys; open("{tmp_path}/words", "w").write(str(sys.argv[1:])); print(7)'
    line = f"'{sys.executable}' -c '{code}'"
    made = Program.of(line + " {test} --to={reference} {ppd} '{print}' {} '{test} {ppd}'")
    values = {"test": "a b;rm.png", "reference": "$HOME", "ppd": "60"}
    assert made.run(values) == 7
    assert (tmp_path / "words").read_text() == (
        "['a b;rm.png', '--to=$HOME', '60', '{print}', '{}', 'a b;rm.png 60']"
    )


def test_it_is_given_no_input_and_no_open_files(tmp_path: Path) -> None:
    code = "import os, sys; print(len(sys.stdin.read()), len(os.listdir('/proc/self/fd')))"
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        # Standard input, output and error, and the listing itself.
        assert program(tmp_path, code).run(FILES) == 4


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import sys; print(3); sys.exit('cannot read t.png')", "status 1: cannot read t.png"),
        ("import sys; print('no licence'); sys.exit(3)", "ended with status 3: no licence"),
        ("raise SystemExit(2)", "ended with status 2: it said nothing"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended with status -9: "),
    ],
)
def test_a_program_that_fails(tmp_path: Path, code: str, says: str) -> None:
    with pytest.raises(ObserverError, match=re.escape(says)):
        program(tmp_path, code).run(FILES)


def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    # The child would hold the output open for as long as it lives.
    shell = "sleep 600 & echo $! > child; wait"
    slow = Program.of(f"sh -c 'cd {tmp_path}; {shell}' {{test}} {{reference}}", timeout_s=1)
    with pytest.raises(ObserverError, match=r"was not done after 1 s; .* timeout=SECONDS"):
        slow.run(FILES)
    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/status")
    deadline = time.monotonic() + 10  # the system takes a moment to end what was killed
    while child.exists() and "State:\tZ" not in child.read_text():
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no-such-program {test} {reference}", "there is no program 'no-such-program'"),
        ("./nothing.sh {test} {reference}", "there is no program './nothing.sh'"),
        ("./plain.sh {test} {reference}", "program './plain.sh' cannot be run as it is"),
        ("ready.sh {test} {reference}", "write ./ready.sh"),
        ("./folder {test} {reference}", "there is no program './folder'"),
        ("sh {test}", "does not say where {reference} goes"),
        ("sh {refrence} {test}", "does not say where {reference} goes"),
        ("sh 'a {test} {reference}", "cannot be split into words: No closing quotation"),
    ],
)
def test_what_cannot_be_run_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain.sh").write_text("echo 1")
    (tmp_path / "ready.sh").write_text("echo 1")
    (tmp_path / "ready.sh").chmod(0o755)
    with pytest.raises(ObserverError, match=re.escape(says)):
        Program.of(line)


def test_what_is_no_program(tmp_path: Path) -> None:
    file = tmp_path / "garbage"
    file.write_bytes(b"\x7fELF nothing")
    file.chmod(0o755)
    with pytest.raises(ObserverError, match="could not be started: Exec format error"):
        Program.of(f"'{file}' {{test}} {{reference}}").run(FILES)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(FechnerError, match=r"'\(' is none"):
        Program.of("sh {test} {reference}", read="(")
    with pytest.raises(FechnerError, match="'timeout' is a number of seconds, not 0"):
        Program.of("sh {test} {reference}", timeout_s=0)


def test_hashes_follow_program_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("metric.py", "model.bin"):
        (tmp_path / name).write_text("1")
    made = Program.of("python3 metric.py --model=model.bin {test} {reference}")
    seen = {made.hashes()}
    assert made.hashes() in seen
    for name in ("metric.py", "model.bin"):
        (tmp_path / name).write_text("2")
        seen.add(made.hashes())
    seen.add(Program.of("sh metric.py --model=model.bin {test} {reference}").hashes())
    assert len(seen) == 4
