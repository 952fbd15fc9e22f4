"""Run commands as a user does, in this process and without a terminal."""

from __future__ import annotations

import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from tacit.cli import main


@dataclass
class Done:
    """The exit code and the output of a command."""

    returncode: int
    stdout: str
    stderr: str


def run(folder: Path, *arguments: str, **environment: str) -> Done:
    """Run a command in a folder."""
    out, err = StringIO(), StringIO()
    code: object = 0
    argv = patch.object(sys, "argv", ["tacit", *arguments])
    with argv, patch.dict(os.environ, environment), chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(code, int)
    return Done(code, out.getvalue(), err.getvalue())
