"""Runs that add to one tally at the same time lose nothing, and leave nothing behind."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from children import ended, forked
from cli_runs import run
from tacit.cli.output_files import locked
from tacit.errors import SourceError
from tacit.local import GRR, Aggregator

ROUNDS, PEOPLE = 25, 40
ADD = """
import sys, time
from pathlib import Path
from tacit.cli.local_commands import local_app
Path(f"ready{sys.argv[1]}").touch()
while not Path("go").exists():
    time.sleep(0.001)
for _ in range(int(sys.argv[2])):
    local_app(["aggregate", "survey.json", "day.jsonl", "--tally", "all.npz", "--json"], standalone_mode=False)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    oracle = GRR(epsilon=2, domain=["tea", "mate"])
    (tmp_path / "survey.json").write_text(oracle.parameters(), encoding="utf-8")
    reports = oracle.randomize(["tea", "mate"] * (PEOPLE // 2))
    (tmp_path / "day.jsonl").write_text(reports.to_json_lines(), encoding="utf-8")
    return tmp_path


def add(folder: Path, *more: str, tally: str = "all.npz") -> str:
    """Add the day to the tally and return the text on stderr."""
    done = run(folder, "local", "aggregate", "survey.json", "day.jsonl", "--tally", tally, *more)
    assert done.returncode == 0, done.stderr
    return done.stderr


def reports(folder: Path, tally: str = "all.npz") -> int:
    return Aggregator.load(folder / tally).n


def left_over(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name.startswith("."))


def test_two_runs_at_a_time_lose_nothing(folder: Path) -> None:
    command = [sys.executable, "-c", ADD]
    runs = [
        subprocess.Popen([*command, name, str(ROUNDS)], cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
        for name in ("a", "b")
    ]
    until = time.monotonic() + 60
    while not all((folder / f"ready{name}").exists() for name in ("a", "b")):
        assert time.monotonic() < until
        time.sleep(0.01)
    (folder / "go").touch()
    assert [process.wait(timeout=120) for process in runs] == [0, 0]
    assert reports(folder) == 2 * ROUNDS * PEOPLE
    assert left_over(folder) == []


def test_one_at_a_time_has_the_lock_however_many_want_it(tmp_path: Path) -> None:
    crowd, rounds = 4, 100
    counter = tmp_path / "counter"
    counter.write_text("0", encoding="utf-8")

    def count() -> None:
        for _ in range(rounds):
            with locked(str(counter)):
                seen = int(counter.read_text(encoding="utf-8"))
                time.sleep(0)
                counter.write_text(str(seen + 1), encoding="utf-8")

    children = [forked(count) for _ in range(crowd)]
    assert [ended(child) for child in children] == [0] * crowd
    assert counter.read_text(encoding="utf-8") == str(crowd * rounds)
    assert left_over(tmp_path) == []


def _wait_for(file: Path) -> None:
    """Wait until another run has made a file."""
    until = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < until
        time.sleep(0.005)


def held_for(folder: Path, seconds: float) -> Thread:
    """Start another run that reads the tally, waits for these seconds, and saves it with one more day."""
    taken = folder / "taken"

    def hold() -> None:
        with locked(str(folder / "all.npz")):
            total, day = (Aggregator.load(folder / "all.npz") for _ in range(2))
            taken.touch()
            time.sleep(seconds)
            total.merge(day)
            total.save(folder / "all.npz")

    thread = Thread(target=hold)
    thread.start()
    _wait_for(taken)
    return thread


@pytest.mark.parametrize(("more", "messages"), [((), 1), (("--json",), 0)])
def test_a_run_that_waits_for_a_second_says_so_and_adds_to_the_newest_tally(
    folder: Path, more: tuple[str, ...], messages: int
) -> None:
    assert "Another run" not in add(folder)
    thread = held_for(folder, 1.4)
    text = add(folder, *more)
    thread.join()
    assert text.count("Another run is adding to 'all.npz'") == messages
    assert reports(folder) == 3 * PEOPLE
    assert left_over(folder) == []


def test_a_short_wait_is_not_reported(folder: Path) -> None:
    add(folder)
    thread = held_for(folder, 0.2)
    assert "Another run" not in add(folder)
    thread.join()
    assert reports(folder) == 3 * PEOPLE


def test_a_killed_run_does_not_block_others(folder: Path) -> None:
    def hold() -> None:
        with locked(str(folder / "all.npz")):
            (folder / "taken").touch()
            time.sleep(60)

    child = forked(hold)
    _wait_for(folder / "taken")
    os.kill(child, signal.SIGKILL)
    assert ended(child) == -signal.SIGKILL
    assert left_over(folder) == [".all.npz.lock"]
    assert "Another run" not in add(folder)
    assert left_over(folder) == []


def test_a_failed_run_releases_the_lock_and_reading_takes_none(folder: Path) -> None:
    add(folder)
    failed = run(folder, "local", "aggregate", "survey.json", "missing.jsonl", "--tally", "all.npz")
    assert failed.returncode == 4
    assert left_over(folder) == []
    with locked(str(folder / "all.npz")):
        looked = run(folder, "local", "aggregate", "survey.json", "--tally", "all.npz")
    assert (looked.returncode, "Another run" in looked.stderr) == (0, False)


def test_a_link_and_its_file_have_one_lock_and_the_link_stays(folder: Path) -> None:
    (folder / "far").mkdir()
    (folder / "link.npz").symlink_to(folder / "far" / "all.npz")
    add(folder, tally="link.npz")
    add(folder, tally="far/all.npz")
    assert (folder / "link.npz").is_symlink()
    assert reports(folder, "far/all.npz") == 2 * PEOPLE
    with locked(str(folder / "link.npz")):
        assert left_over(folder / "far") == [".all.npz.lock"]


def test_a_disk_without_locks_is_an_error_and_nothing_is_added(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    add(folder)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(SourceError, match="Nothing was added"), locked(str(folder / "all.npz")):
        raise AssertionError
    done = run(folder, "local", "aggregate", "survey.json", "day.jsonl", "--tally", "all.npz")
    assert (done.returncode, "locked against other runs" in done.stderr) == (4, True)
    monkeypatch.undo()
    assert reports(folder) == PEOPLE
