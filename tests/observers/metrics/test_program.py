"""Programs are run without a shell, and whatever goes wrong is said in one sentence."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from fechner.errors import FechnerError, ObserverError
from fechner.observers.metrics.program import Program

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
    line = f"'{sys.executable}' -c 'import sys; print(*map(repr, sys.argv[1:]), 7)'"
    made = Program.of(line + " {test} --to={reference} {ppd} '{print}' {} '{test} {ppd}'")
    values = {"test": "a b;rm.png", "reference": "$HOME", "ppd": "60"}
    words = re.findall(r"'([^']*)'", made._run([made._put_in(w, values) for w in made.words])[0])
    assert words == ["a b;rm.png", "--to=$HOME", "60", "{print}", "{}", "a b;rm.png 60"]
    assert made.run(values) == 7


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
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL: "),
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
    assert not child.exists() or "State:\tZ" in child.read_text()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no-such-program {test} {reference}", "there is no program 'no-such-program'"),
        ("./nothing.sh {test} {reference}", "there is no program './nothing.sh'"),
        ("./plain.sh {test} {reference}", "may not be run: allow it with chmod +x ./plain.sh"),
        ("ready.sh {test} {reference}", "is not on the path: write ./ready.sh"),
        ("./folder {test} {reference}", "program './folder' is a folder"),
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
