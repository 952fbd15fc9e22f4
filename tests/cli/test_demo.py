from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli import demo
from tacit.cli.main import app


def test_the_demo_shows_plan_answer_intervals_and_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    demo.run(json=False)
    out, err = capsys.readouterr()
    assert "north" in out
    assert "95% interval" in out
    assert "answers: ± 20" in err  # a sum of three noises of scale 4, shared with the average
    assert "Left to spend: ε = 0.5" in err
    assert "SELECT" not in out


def test_the_demo_speaks_json() -> None:
    result = CliRunner().invoke(app, ["demo", "--json"])
    answer = json.loads(result.stdout)
    assert answer["schema"] == 1
    assert [row["region"] for row in answer["rows"]] == list(demo.REGIONS)
    assert answer["cost"] == {"epsilon": 0.5}
    assert answer["left"] == {"epsilon": 0.5}
    assert abs(sum(row["answers"] for row in answer["rows"]) - 7230) < 2000  # beyond with probability e^-60


def test_the_demo_draws_a_chart(tmp_path: Path) -> None:
    demo.run(json=True, chart=str(tmp_path / "chart.svg"))
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")


def test_the_survey_is_always_the_same(tmp_path: Path) -> None:
    once, again = (demo.write_survey(_folder(tmp_path / name)).read_bytes() for name in ("a", "b"))
    assert once == again


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_the_version_is_said() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == tacit.__version__


def test_usage_errors_exit_with_two() -> None:
    done = subprocess.run([sys.executable, "-m", "tacit", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No such command" in done.stderr
