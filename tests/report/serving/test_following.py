"""A run is followed while another process makes it, and is known to have stopped when that dies."""

import json
import re
import subprocess
from pathlib import Path

from processes import FECHNER, running

# Says on the bare stdout, which is not the log, what it was shown; then waits for ever.
OBSERVER = """
import os
import threading

shown = 0

def stuck(test, reference):
    global shown
    shown += len(test)
    if shown > 150:
        print("a lamp <b>flickers</b>")
        os.write(1, b"stuck\\n")
        threading.Event().wait()
    os.write(1, b"shown\\n")
    return (test - reference).abs().mean(dim=(1, 2, 3))
"""


def test_run_is_followed_until_it_is_killed(serve, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(OBSERVER)
    served = serve(tmp_path / "runs")
    assert "runs/live" not in served.get("/").text
    command = [
        *FECHNER, "run", "model.py:stuck", "pixels", "--tests", "area,luminance", "--scores-only",
        "--out", "runs/live", "--threads", "1",
    ]  # fmt: skip
    seen: list[dict] = []
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with running(command, cwd=tmp_path, **pipes) as process:
        assert process.stdout is not None
        for line in process.stdout:
            listed = served.get("/")
            (id,) = re.findall(r'<a href="/runs/([^"/]+)">runs/live</a>', listed.text)
            page = served.get(f"/runs/{id}")
            answer = served.get(f"/runs/{id}/state.json")
            assert (listed.status, page.status, answer.status) == (200, 200, 200)
            seen.append(json.loads(answer.body))
            if line == b"stuck\n":
                break
        assert process.poll() is None
        process.kill()
    assert len(seen) > 10
    assert all(state["live"] and not state["problem"] for state in seen)
    done = [state["pieces"]["done"] for state in seen]
    assert (done[0], done[-1], done) == (0, 1, sorted(done))
    last = seen[-1]
    assert last["status"] == "being written now"
    assert last["pieces"] == {"done": 1, "of": 8}
    assert last["images"] > 90
    assert last["seconds_left"] > 0
    assert last["observers_of_unknown_speed"] == 1
    assert last["log"] == ["model.py:stuck: a lamp <b>flickers</b>"]
    stuck, waiting = last["observers"]
    assert [(cell["state"], cell["now"]) for cell in stuck["cells"].values()] == [
        ("part", True),
        ("waiting", False),
    ]
    assert (waiting["observer"], waiting["cells"]["area"]["state"]) == ("pixels", "waiting")
    assert "1/2" in page.text
    assert "a lamp &lt;b&gt;flickers&lt;/b&gt;" in page.text

    after = json.loads(served.get(f"/runs/{id}/state.json").body)
    assert (after["status"], after["live"]) == ("stopped", False)
    assert after["pieces"] == {"done": 1, "of": 8}
    assert not any(cell["now"] for row in after["observers"] for cell in row["cells"].values())
    assert "run the same command again to go on" in served.get(f"/runs/{id}").text
