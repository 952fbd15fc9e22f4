"""`tacit audit`: a function of a file or a module, on pairs that are typed or generated."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from cli_runs import run

CODE = """
import random

coin = random.Random(1)

def flip(bit):
    return bit if coin.random() < 0.9 else 1 - bit

def many(bit, n):
    return [flip(bit) for _ in range(n)]

def fails(bit):
    raise KeyError("secret row")

def pairs():
    yield 0, 0
    yield 0, 1

LIST = [(0, 1)]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mechanism.py").write_text(CODE)
    return tmp_path


def test_a_violation_ends_with_code_3_and_says_how_to_repeat_it(folder: Path) -> None:
    done = run(folder, "audit", "mechanism.py:flip", "--pair", "[0, 1]", "--epsilon", "1")
    assert done.returncode == 3
    assert done.stdout.startswith("The release violates ε = 1: ε ≥ 1.")
    assert "Event: value " in done.stdout
    command = done.stdout.partition("Reproduce: tacit ")[2].partition(" (")[0]
    assert run(folder, *shlex.split(command)).returncode == 3


def test_a_true_claim_ends_with_code_0(folder: Path) -> None:
    done = run(folder, "audit", "mechanism.py:flip", "--pair", "[0, 1]", "--epsilon", "2.5", "--samples", "20000")
    assert done.returncode == 0
    assert "No violation of ε = 2.5 was found. One of ε ≥ 2." in done.stdout


@pytest.mark.parametrize("source", ["mechanism.py:pairs", "mechanism.py:LIST"])
def test_pairs_from_python_in_json(folder: Path, source: str) -> None:
    words = ("--pairs", source, "--samples", "2000", "--seed", "1", "--json", "--batched")
    found = json.loads(run(folder, "audit", "mechanism.py:many", *words).stdout)
    assert found["verdict"] == "no claim"
    assert found["epsilon_lower"] > 1
    assert "--batched" in found["reproduce"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mechanism.py:flop", "--pair", "[0, 1]"), "mechanism.py has no 'flop'. Did you mean 'flip'?"),
        (("mechanism.py:LIST", "--pair", "[0, 1]"), "is not a function"),
        (("mechanism", "--pair", "[0, 1]"), "does not name a function. Write module:function"),
        (("absent.py:f", "--pair", "[0, 1]"), "There is no file 'absent.py'"),
        (("absent_module_x:f", "--pair", "[0, 1]"), "Cannot import 'absent_module_x'"),
        (("mechanism.py:flip",), "needs neighbouring inputs"),
        (("mechanism.py:flip", "--pair", "0, 1"), "--pair must be a JSON list of two inputs"),
        (("mechanism.py:flip", "--pair", "[0]"), "--pair must be a JSON list of two inputs"),
        (("mechanism.py:flip", "--pair", "[0, 1]", "--epsilon", "one"), "--epsilon must be a number"),
        (("mechanism.py:flip", "--pair", "[0, 1]", "--samples", "1"), "samples must be a whole number"),
        (("mechanism.py:fails", "--pair", "[0, 1]", "--samples", "100"), "Every run raised an exception"),
    ],
)
def test_mistakes_name_what_to_write(folder: Path, words: tuple[str, ...], message: str) -> None:
    done = run(folder, "audit", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "secret" not in done.stderr
