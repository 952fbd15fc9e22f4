"""The names of `tc.anonymity`, and the modules that it loads."""

from __future__ import annotations

import subprocess
import sys

import tacit as tc


def test_completion_shows_public_names_only() -> None:
    assert dir(tc.anonymity) == sorted(tc.anonymity.__all__)
    assert all(hasattr(tc.anonymity, name) for name in tc.anonymity.__all__)


def test_import_loads_no_engine() -> None:
    code = "import sys, tacit.anonymity; print([name for name in sys.modules if name.startswith('tacit.engines')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - this interpreter
    assert done.stdout.strip() == "[]"
