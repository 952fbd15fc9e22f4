"""Fair timing on a noisy machine: contestants in turns, in rounds, in several sittings.

Whatever slows the machine down for a while slows all contestants of that round, so a ratio within one round
says more than two times from different minutes. Some speeds are settled when a process starts, by how its
memory happens to be laid out; so each sitting has fresh processes, and the spread shown is that of the
sittings' medians, not that of rounds within one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import TypeVar

from serve import Missing

K = TypeVar("K")


def short(x: float) -> str:
    """Return a number with three digits that mean something, and no exponent where it is large."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of the ratios within rounds, and the least and the greatest median of a sitting."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write the median with the sittings' range behind it."""
        return f"{short(self.value)} ({short(self.low)}–{short(self.high)})"


@dataclass(frozen=True, slots=True)
class Rounds:
    """Each contestant's numbers, a list of rounds for each sitting, and why some have none."""

    numbers: dict[str, list[list[float]]]
    missing: dict[str, str]

    def cell(self, name: str, show: Callable[[Sequence[float]], str]) -> str:
        """Return all of a contestant's numbers as a table's cell, or why there are none."""
        return show(list(chain(*self.numbers[name]))) if name in self.numbers else self.missing[name]

    def ratio(self, above: str, below: str) -> Ratio | str:
        """Return the ratio of two contestants' numbers, round by round, or why there is none."""
        for name in (above, below):
            if name in self.missing:
                return self.missing[name]
        sittings = [
            [a / b for a, b in zip(*pair, strict=True)]
            for pair in zip(self.numbers[above], self.numbers[below], strict=True)
        ]
        medians = [median(ratios) for ratios in sittings]
        return Ratio(median(chain(*sittings)), min(medians), max(medians))


def interleave(contestants: Mapping[str, Callable[[], float]], rounds: int) -> Rounds:
    """Run every contestant once unmeasured, then once a round, each round starting one place further.

    A contestant that is Missing in the first, unmeasured round has no numbers but a reason.
    """
    missing = {name: why for name, run in contestants.items() if (why := _why_missing(run))}
    ready = [name for name in contestants if name not in missing]
    numbers: dict[str, list[float]] = {name: [] for name in ready}
    for i in range(rounds if ready else 0):
        first = i % len(ready)
        for name in ready[first:] + ready[:first]:
            numbers[name].append(contestants[name]())
    return Rounds({name: [values] for name, values in numbers.items()}, missing)


def _why_missing(run: Callable[[], float]) -> str:
    try:
        run()
    except Missing as missing:
        return str(missing)
    return ""


def join(sittings: Sequence[Mapping[K, Rounds]]) -> dict[K, Rounds]:
    """Return the sittings' rounds as one, race by race; who is missing in any sitting is missing."""
    return {race: _join([sitting[race] for sitting in sittings]) for race in sittings[0]}


def _join(rounds: Sequence[Rounds]) -> Rounds:
    missing = {name: why for part in rounds for name, why in part.missing.items()}
    names = [name for name in rounds[0].numbers if name not in missing]
    return Rounds({name: list(chain(*(part.numbers[name] for part in rounds))) for name in names}, missing)
