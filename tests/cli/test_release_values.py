"""`tacit release`: noise on numbers that are typed or piped."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import tacit as tc
from cli_runs import run
from tacit.cli.numbers import parsed


def test_the_first_example_of_the_notes_is_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "release", "337", "--sensitivity", "1", "--epsilon", "0.1")
    assert done.returncode == 0
    assert abs(int(done.stdout) - 337) < 400  # beyond with probability 1e-17
    assert "Within ± 30 of the true number with probability 95%." in done.stderr
    assert "discrete Laplace noise of scale 10" in done.stderr
    assert "standard deviation is 14.1362" in done.stderr  # √(2r)/(1-r), r = e^-0.1
    assert "Guarantee: ε = 0.1, if one unit moves the number by at most 1." in done.stderr
    assert "history of your shell" in done.stderr
    assert "337" not in done.stderr


def test_json_has_the_release_its_error_and_its_law(tmp_path: Path) -> None:
    done = run(tmp_path, "release", "337", "338", "--sensitivity", "2", "--epsilon", "0.5", "--json")
    found = json.loads(done.stdout)
    mechanism = tc.Laplace(sensitivity=2, epsilon=0.5)
    assert [type(number) for number in found["released"]] == [int, int]
    assert found["error"] == mechanism.error(confidence=0.95, outputs=2)
    assert found["law"] == {"name": "discrete Laplace", "scale": 4.0, "std": mechanism.std, "granularity": 1.0}
    assert found["guarantee"] == {"epsilon": 0.5}
    assert found["mechanism"] == "Laplace(sensitivity=2, epsilon=0.5)"
    assert len(found["warnings"]) == 2
    assert done.stderr == ""


def test_gaussian_noise_on_reals(tmp_path: Path) -> None:
    words = ("--sensitivity", "2.5", "--mechanism", "gaussian", "--epsilon", "0.5", "--delta", "1e-6")
    done = run(tmp_path, "release", "3.5", "4", *words, "--confidence", "0.99", "--json")
    found = json.loads(done.stdout)
    mechanism = tc.Gaussian(sensitivity=2.5, epsilon=0.5, delta=1e-6, outputs=2)
    assert found["error"] == mechanism.error(confidence=0.99)
    assert found["law"]["sigma"] == mechanism.sigma
    assert found["guarantee"] == {"epsilon": 0.5, "delta": 1e-6}
    assert [type(number) for number in found["released"]] == [float, float]
    text = run(tmp_path, "release", "3.5", "4", *words).stderr
    assert "all 2 at once" in text
    assert "by at most 2.5 in L2" in text


def test_other_parameters_fix_the_noise(tmp_path: Path) -> None:
    by_scale = run(tmp_path, "release", "5", "--sensitivity", "1", "--scale", "10", "--json")
    assert json.loads(by_scale.stdout)["guarantee"] == {"epsilon": 0.1}
    gaussian = ("release", "5", "--sensitivity", "1", "--mechanism", "gaussian", "--json")
    assert json.loads(run(tmp_path, *gaussian, "--rho", "0.005").stdout)["guarantee"] == {"rho": 0.005}
    assert json.loads(run(tmp_path, *gaussian, "--sigma", "10").stdout)["guarantee"] == {"rho": 0.005}


def test_numbers_from_a_pipe_are_not_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("337\n1_000\n-4\n"))
    done = run(tmp_path, "release", "-", "--sensitivity", "1", "--epsilon", "50")
    assert [int(line) for line in done.stdout.split()] == [337, 1000, -4]  # noise has probability 1e-21
    assert "history" not in done.stderr
    assert "No ledger was charged" in done.stderr


def test_a_negative_number_follows_two_dashes(tmp_path: Path) -> None:
    done = run(tmp_path, "release", "--sensitivity", "1", "--epsilon", "60", "--", "-5")
    assert done.stdout == "-5\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["secret", "--sensitivity", "1", "--epsilon", "1"], "Value 1 is not a number"),
        (["3", "nan", "--sensitivity", "1", "--epsilon", "1"], "Value 2 is not a number"),
        (["inf", "--sensitivity", "1", "--epsilon", "1"], "Value 1 is not a number"),
        (["31415.5", "--sensitivity", "1", "--epsilon", "1"], "Write --sensitivity 1.0 for reals"),
        (["3", "--sensitivity", "one", "--epsilon", "1"], "--sensitivity must be a number"),
        (["3", "--sensitivity", "0", "--epsilon", "1"], "sensitivity must be"),
        (["3", "--sensitivity", "1", "--epsilon", "-1"], "epsilon must be"),
        (
            ["3", "--sensitivity", "1"],
            "Error: --epsilon or --scale is missing. Pass exactly one of --epsilon, --scale.",
        ),
        (["3", "--epsilon", "1"], "--sensitivity is missing. It is how far one unit moves the number. For a count"),
        (["3", "--sensitivity", "1", "--epsilon", "1", "--scale", "1"], "--epsilon and --scale exclude"),
        (["3", "--sensitivity", "1", "--epsilon", "1", "--delta", "1e-6"], "--delta has no effect"),
        (
            ["3", "--sensitivity", "1", "--mechanism", "gaussian", "--epsilon", "1"],
            "--delta is missing: --epsilon needs it",
        ),
        (["3", "--sensitivity", "1", "--mechanism", "gaussian"], "--epsilon or --rho or --sigma is missing"),
        (["3", "--sensitivity", "1", "--mechanism", "gaussian", "--scale", "1"], "--scale has no effect"),
        (["3", "--sensitivity", "1", "--mechanism", "lapace", "--epsilon", "1"], "Did you mean 'laplace'?"),
        (["3", "--sensitivity", "1", "--epsilon", "1", "--confidence", "1"], "confidence must be"),
        (["9" * 30, "--sensitivity", "1", "--epsilon", "1"], "value"),
    ],
)
def test_bad_input_is_refused_and_never_repeated(tmp_path: Path, words: list[str], message: str) -> None:
    done = run(tmp_path, "release", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert not any(secret in done.stderr for secret in ("secret", "31415", "9" * 9))


def test_empty_input_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(" \n"))
    done = run(tmp_path, "release", "-", "--sensitivity", "1", "--epsilon", "1")
    assert done.returncode == 2
    assert "from 1 to 1,000,000 numbers" in done.stderr


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.1", 0.1), ("+7", 7), ("1_0", 10), (".5", 0.5), ("5.", 5.0), ("1e5", 1e5), ("", None), ("_1", None),
     ("1_", None), ("0x10", None), ("٣", None), ("1e999", None), ("-inf", None), ("1,5", None), ("9" * 500, None)],
)  # fmt: skip
def test_numbers(text: str, number: float | None) -> None:
    assert parsed(text) == number
    assert type(parsed(text)) is type(number)
