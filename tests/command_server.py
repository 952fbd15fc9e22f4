"""Commands in separate processes, each a child of one process that has imported tacit, which takes a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from cli_runs import Done

_LOOP = """
import json, os, sys, traceback
from tacit.cli import main

for line in sys.stdin:
    folder, words, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.chdir(folder)
            for number, path in ((0, os.devnull), (1, out), (2, err)):
                os.dup2(os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT), number)
            sys.argv = ["tacit", *words]
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class CommandServer:
    """Runs one command after another, each in a new child that has run nothing before."""

    def __init__(self) -> None:
        """Start the process that imports tacit."""
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "200"}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", _LOOP], env=environment, stdin=pipe, stdout=pipe, text=True
        )

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the process."""
        self._process.communicate()

    def run(self, folder: Path, *words: str) -> Done:
        """Run a command in a folder."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with TemporaryDirectory() as place:
            out, err = Path(place) / "out", Path(place) / "err"
            print(json.dumps([str(folder), words, str(out), str(err)]), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            return Done(code, out.read_bytes().decode("utf-8"), err.read_bytes().decode("utf-8"))
