"""Run folders are found wherever they are, and nothing outside is."""

import os
from pathlib import Path

import pytest

from fechner.report.serving import runs
from fechner.report.serving.runs import find_runs, last_lines, size_and_change


def make_run(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names or ("manifest.json", "ledger.sqlite", ".lock"):
        (folder / name).touch()
    return folder


def labels(*roots: Path) -> list[str]:
    return [run.label for run in find_runs(roots)]


def test_runs_are_found_below_and_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "runs" / "a")
    make_run(tmp_path / "runs" / "deep" / "er" / "b")
    make_run(tmp_path / "runs" / "a" / "inside")  # part of a run, not a run
    make_run(tmp_path / "runs" / ".hidden" / "c")
    monkeypatch.chdir(tmp_path)
    assert labels(Path("runs")) == ["runs/a", "runs/deep/er/b"]
    assert labels(Path("runs/a")) == ["runs/a"]
    assert labels(Path("runs"), Path("runs/a")) == ["runs/a", "runs/deep/er/b"]
    assert labels(Path("nowhere")) == []
    monkeypatch.chdir(tmp_path / "runs")
    assert labels(Path()) == ["runs/a", "runs/deep/er/b"]
    assert labels(Path("..") / "runs") == ["runs/a", "runs/deep/er/b"]


def test_labels_do_not_say_where_the_disk_is(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a")
    assert labels(tmp_path / "runs") == ["runs/a"]


def test_begun_and_damaged_folders_are_found_and_others_are_not(tmp_path: Path) -> None:
    make_run(tmp_path / "begun", ".lock")
    make_run(tmp_path / "killed", ".lock", ".manifest.json.1.tmp")
    make_run(tmp_path / "no-manifest", "ledger.sqlite")
    make_run(tmp_path / "web-site", "manifest.json", "index.html")
    make_run(tmp_path / "other-lock", ".lock", "Cargo.toml")
    given = make_run(tmp_path / "given", "manifest.json")
    assert labels(tmp_path) == [
        f"{tmp_path.name}/{name}" for name in ("begun", "killed", "no-manifest")
    ]
    assert labels(given) == ["given"]


def test_search_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path.joinpath(*("x" * runs.DEPTH))
    make_run(deep)
    make_run(tmp_path.joinpath(*("y" * (runs.DEPTH + 1))))
    assert [run.folder for run in find_runs([tmp_path])] == [deep]
    monkeypatch.setattr(runs, "MOST_FOLDERS", 3)
    assert find_runs([tmp_path]) == []


def test_links_do_not_lead_out_or_round(tmp_path: Path) -> None:
    make_run(tmp_path / "outside" / "secret")
    inside = make_run(tmp_path / "runs" / "a")
    (tmp_path / "runs" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "runs" / "up").symlink_to(tmp_path)
    (tmp_path / "runs" / "round").symlink_to(tmp_path / "runs")
    (tmp_path / "runs" / "again").symlink_to(inside)
    (tmp_path / "runs" / "nowhere").symlink_to(tmp_path / "missing")
    found = find_runs([tmp_path / "runs"])
    assert [os.path.realpath(run.folder) for run in found] == [str(inside)]


def test_a_link_given_by_name_is_followed(tmp_path: Path) -> None:
    make_run(tmp_path / "elsewhere" / "a")
    (tmp_path / "runs").symlink_to(tmp_path / "elsewhere")
    assert labels(tmp_path / "runs") == ["runs/a"]


def test_ids_are_plain_distinct_and_stay(tmp_path: Path) -> None:
    hostile = ["a b", "a?b", "<b>", "a..a", "ü", "x" * 200]
    for name in hostile:
        make_run(tmp_path / name)
    make_run(tmp_path / os.fsdecode(b"\xff\xfe"))
    found = find_runs([tmp_path])
    ids = [run.id for run in found]
    assert len(set(ids)) == len(hostile) + 1
    assert all(set(id) <= set("abcdefghijklmnopqrstuvwxyz0123456789-._") for id in ids)
    assert not any(id.startswith(".") for id in ids)
    assert ids == [run.id for run in find_runs([tmp_path])]
    assert f"{tmp_path.name}/��" in [run.label for run in found]


def test_end_of_the_log(tmp_path: Path) -> None:
    assert last_lines(tmp_path) == []
    lines = [f"line {number}" for number in range(10_000)]
    (tmp_path / "log.txt").write_text("\n".join(lines))
    assert last_lines(tmp_path, 3) == lines[-3:]
    (tmp_path / "log.txt").write_bytes(b"\x1b[31mred\x1b[0m\n\xff\ta\x00b\n")
    assert last_lines(tmp_path) == ["red", "�   a�b"]
    (tmp_path / "log.txt").write_bytes(b"x" * (1 << 20))  # one endless line
    assert sum(map(len, last_lines(tmp_path))) < 1 << 16


def test_size_counts_no_links(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a").write_bytes(b"x" * 1000)
    (tmp_path / "results" / "b").symlink_to("/dev/zero")
    assert 1000 <= size_and_change(tmp_path)[0] < 1100
