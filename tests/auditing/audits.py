"""The audit of a release path: a claim, pairs of neighbouring inputs, and many outputs on each.

A path draws a number of outputs at once, because that is cheaper: one SQL query over many groups that are copies of
each other, or one draw of a vector of noise. Each of the outputs on one side of a pair must be
independent of the others.

**False alarms.** Each audit looks once, and its bound is above the true ε with probability at most `ERROR` = 1e-12. The
files here have fewer than 500 audits in the short and the long form together. So some bound is above a claim that holds
with probability at most 5e-10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

import pytest

import tacit as tc
from auditing.likelihood import fitted
from tacit.auditing.report import AuditReport

Outputs: TypeAlias = Sequence[object]
Sides: TypeAlias = tuple[Outputs, Outputs]
"""The outputs on an input, and those on its neighbour."""

Record: TypeAlias = Callable[[str, object], None]
"""The fixture `record_property`."""

ERROR = Fraction(1, 10**12)
SHORT, LONG = 400, 4_800
"""Outputs on each side: 4,800 show noise of half the scale at ε = 2, and 400 show gross faults."""

EPSILONS = {SHORT: 1.0, LONG: 2.0}
"""The claims that so many outputs can refute."""


@dataclass(frozen=True, kw_only=True)
class Path:
    """A way by which something leaves tacit."""

    name: str
    draw: Callable[[int], Sequence[Sides]]
    """Return the sides of each pair, with this number of outputs each."""

    epsilon: float = 2.0
    delta: float = 0.0
    runs: int = SHORT

    def __str__(self) -> str:
        return self.name


def audit(path: Path) -> AuditReport:
    """Audit a path over all its pairs; a fifth of the outputs fits the number that `likelihood` puts before them."""
    fit = path.runs // 5
    sides: list[tuple[Iterator[object], Iterator[object]]] = []
    for one, other in path.draw(path.runs):
        shorter = fitted(one[:fit], other[:fit])
        sides.append((map(shorter, one[fit:]), map(shorter, other[fit:])))
    return tc.audit(
        lambda place, count: list(islice(sides[place[0]][place[1]], count)),
        pairs=[((pair, 0), (pair, 1)) for pair in range(len(sides))],
        delta=path.delta,
        samples=path.runs - fit,
        confidence=1 - ERROR,
        batched=True,
    )


def check(path: Path, record: Record) -> None:
    """Fail if a lower bound is above the claim; record the bound for the table at the end."""
    report = audit(path)
    numbers = {"claim": path.epsilon, "delta": path.delta, "bound": report.epsilon_lower}
    row = {name: float(value) for name, value in numbers.items()}  # parallel processes send no other kind of number
    record("audit", {"path": path.name, **row, "runs": report.samples // report.pairs, "pairs": report.pairs})
    assert report.epsilon_lower <= path.epsilon, f"{path.name}\n{report}"


def in_both_forms(*given: Path, long: int = LONG) -> pytest.MarkDecorator:
    """Run a test with every path, and again, as a long test, with more runs."""
    short = [pytest.param(path, id=f"short-{path}") for path in given]
    more = [pytest.param(replace(path, runs=long), id=f"long-{path}", marks=pytest.mark.long) for path in given]
    return pytest.mark.parametrize("path", [*short, *more])
