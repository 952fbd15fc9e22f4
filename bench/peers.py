"""Contestants: an environment for each peer library, and a worker process that answers in it.

Peers live in `bench/.env-<name>/`, made here when absent, so that they never touch the project's own
environment. A worker is a script of `bench/workers/` that speaks JSON over its input and output: it times
itself, and many workers can be asked in turns within one run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from serve import Missing, Reply

HERE = Path(__file__).parent

_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)


@dataclass(frozen=True, slots=True)
class Peer:
    """A library beside which we run, and the requirements that install it, its own first."""

    name: str
    requirements: tuple[str, ...]

    def python(self) -> str:
        """Return the interpreter of this peer's environment, made first if absent; Missing if that fails.

        A failure is remembered for the rest of the run.
        """
        if self in _FAILED:
            raise _FAILED[self]
        place = HERE / f".env-{self.name}"
        stamp = place / "installed.txt"
        wanted = "\n".join(self.requirements)
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(place, ignore_errors=True)
            print(f"making an environment for {self.requirements[0]} …", flush=True)
            self._make(place)
            stamp.write_text(wanted)
        return str(place / "bin" / "python")

    def _make(self, place: Path) -> None:
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try:
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
            subprocess.run([*pip, *self.requirements], check=True)
        except subprocess.CalledProcessError as error:
            _FAILED[self] = Missing("could not be installed")
            raise _FAILED[self] from error


_FAILED: dict[Peer, Missing] = {}


def single_threaded() -> dict[str, str]:
    """Return this process's environment variables with every thread pool we know of set to one thread."""
    return os.environ | _ONE_THREAD


class Contestant(Protocol):
    """Whatever answers the tasks of `serve`."""

    def ask(self, task: str, **request: object) -> Reply:
        """Return the answer to one request; Missing if this contestant does not offer it."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A contestant that could not be installed."""

    why: str

    def ask(self, task: str, **request: object) -> Reply:
        """Say why there is no answer."""
        del task, request
        raise Missing(self.why)


class Worker:
    """A contestant's process: ask it, one question at a time."""

    def __init__(self, script: str, python: str = sys.executable) -> None:
        """Start `workers/<script>.py` under an interpreter."""
        self._process = subprocess.Popen(
            [python, str(HERE / "workers" / f"{script}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=single_threaded() | {"PYTHONPATH": str(HERE)},  # for `serve`
        )

    def ask(self, task: str, **request: object) -> Reply:
        """Return the answer to one request; Missing if this contestant does not offer it."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the worker was started without pipes")
        self._process.stdin.write(json.dumps({"task": task, **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a worker ended before it answered {task!r}; its error stands above")
        reply: Reply = json.loads(line)
        if "missing" in reply:
            raise Missing(reply["missing"])
        return reply

    def __enter__(self) -> Self:
        """Return the worker."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process by closing its input."""
        self._process.communicate()


def start(peer: Peer, script: str, stack: ExitStack) -> Contestant:
    """Return a peer's worker, which ends with the stack, or the reason why there is none."""
    try:
        return stack.enter_context(Worker(script, peer.python()))
    except Missing as missing:
        return Absent(str(missing))
