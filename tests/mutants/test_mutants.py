"""Each planted fault still applies: its old text occurs once, and its new text compiles if it is Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from plant_faults import Mutant, mutants  # noqa: E402 - a script beside the tests, not a package

ALL = list(mutants())


def test_there_are_at_least_sixty_faults_with_different_names() -> None:
    assert len({mutant.name for mutant in ALL}) == len(ALL) >= 60


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_the_fault_applies_and_compiles(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text("utf-8")
    assert text.count(mutant.old) == 1
    if mutant.file.endswith(".py"):
        compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")
    assert all((ROOT / path).exists() for path in mutant.tests)
