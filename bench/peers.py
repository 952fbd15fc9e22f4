"""Run other libraries: an environment for each, and a worker process in it.

The environments are in `bench/.env-<name>/` and are created on first use, so that they never change the environment of
the project. A worker is a script in `bench/workers/` that reads and writes JSON lines. It times its calls, so that
several workers can run in turns within one run.
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
    """A library to compare with, and its requirements for pip. The library itself is the first."""

    name: str
    requirements: tuple[str, ...]

    def python(self) -> str:
        """Return the interpreter of this library's environment, and create the environment if it is missing.

        Raise Missing if that fails; later calls in the same run then raise it again.
        """
        if self in _FAILED:
            raise _FAILED[self]
        folder = HERE / f".env-{self.name}"
        stamp = folder / "installed.txt"
        requirements = "\n".join(self.requirements)
        if not stamp.exists() or stamp.read_text() != requirements:
            shutil.rmtree(folder, ignore_errors=True)
            print(f"creating an environment for {self.requirements[0]} …", flush=True)
            self._make(folder)
            stamp.write_text(requirements)
        return str(folder / "bin" / "python")

    def _make(self, folder: Path) -> None:
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run([*pip, *self.requirements], check=True)
        except subprocess.CalledProcessError as error:
            _FAILED[self] = Missing("could not be installed")
            raise _FAILED[self] from error


_FAILED: dict[Peer, Missing] = {}


def single_threaded() -> dict[str, str]:
    """Return the environment variables of this process, with all known thread pools set to one thread."""
    return os.environ | _ONE_THREAD


class Contestant(Protocol):
    """An object that replies to the tasks of `serve`."""

    def ask(self, task: str, **request: object) -> Reply:
        """Return the reply to one request; raise Missing if the contestant does not support it."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A contestant whose installation failed."""

    why: str

    def ask(self, task: str, **request: object) -> Reply:
        """Raise Missing with the reason."""
        del task, request
        raise Missing(self.why)


class Worker:
    """The process of a contestant. It handles one request at a time."""

    def __init__(self, script: str, python: str = sys.executable) -> None:
        """Start `workers/<script>.py` with an interpreter."""
        self._process = subprocess.Popen(
            [python, str(HERE / "workers" / f"{script}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=single_threaded() | {"PYTHONPATH": str(HERE)},  # for `serve`
        )

    def ask(self, task: str, **request: object) -> Reply:
        """Return the reply to one request; raise Missing if the contestant does not support it."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the worker was started without pipes")
        self._process.stdin.write(json.dumps({"task": task, **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a worker ended before it answered {task!r}; see its error above")
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
    """Return the worker of a library, which the stack closes, or an `Absent` with the reason."""
    try:
        return stack.enter_context(Worker(script, peer.python()))
    except Missing as missing:
        return Absent(str(missing))
