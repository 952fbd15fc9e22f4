from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli import demo
from tacit.cli.main import app


def test_the_demo_shows_both_budgets_with_their_errors(capsys: pytest.CaptureFixture[str]) -> None:
    demo.run(json=False)
    out, err = capsys.readouterr()
    assert "± 30" in out
    assert "± 3 " in out
    assert "rural units" in err
    assert "How many" not in out


def test_the_demo_speaks_json() -> None:
    result = CliRunner().invoke(app, ["demo", "--json"])
    answers = json.loads(result.stdout)["answers"]
    assert [a["epsilon"] for a in answers] == [0.1, 1.0]
    assert [a["error"] for a in answers] == [30, 3]
    assert all(abs(a["count"] - 337) < 1000 for a in answers)  # beyond with probability e^-100


def test_the_version_is_said() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == tacit.__version__


def test_usage_errors_exit_with_two() -> None:
    done = subprocess.run([sys.executable, "-m", "tacit", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No such command" in done.stderr
