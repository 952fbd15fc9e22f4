"""Time contestants fairly on a noisy machine: in turns, in rounds, in several sessions.

A slow period of the machine affects all contestants of a round. A ratio within one round is therefore more reliable
than two times from different minutes. The memory layout of a process can fix its speed when it starts. Each session
therefore has fresh processes, and the reported range is that of the medians of the sessions.
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
    """Return a number with three significant digits, without an exponent if it is large."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of the ratios within rounds, and the lowest and the highest median of a session."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the median with the range of the sessions in parentheses."""
        return f"{short(self.value)} ({short(self.low)}–{short(self.high)})"


@dataclass(frozen=True, slots=True)
class Rounds:
    """The numbers of each contestant, by session and round, and the reason for each missing contestant."""

    numbers: dict[str, list[list[float]]]
    missing: dict[str, str]

    def cell(self, name: str, show: Callable[[Sequence[float]], str]) -> str:
        """Return the numbers of a contestant as a table cell, or the reason why they are missing."""
        return show(list(chain(*self.numbers[name]))) if name in self.numbers else self.missing[name]

    def ratio(self, above: str, below: str) -> Ratio | str:
        """Return the ratio of the numbers of two contestants, by round, or the reason why it is missing."""
        for name in (above, below):
            if name in self.missing:
                return self.missing[name]
        sessions = [
            [a / b for a, b in zip(*pair, strict=True)]
            for pair in zip(self.numbers[above], self.numbers[below], strict=True)
        ]
        medians = [median(ratios) for ratios in sessions]
        return Ratio(median(chain(*sessions)), min(medians), max(medians))


def interleave(contestants: Mapping[str, Callable[[], float]], rounds: int) -> Rounds:
    """Run every contestant once unmeasured, then once per round. Each round starts with the next contestant.

    A contestant that raises Missing in the unmeasured run is listed as missing, with the reason.
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


def join(sessions: Sequence[Mapping[K, Rounds]]) -> dict[K, Rounds]:
    """Return the rounds of all sessions by race. A contestant that is missing in one session is missing in all."""
    return {race: _join([session[race] for session in sessions]) for race in sessions[0]}


def _join(rounds: Sequence[Rounds]) -> Rounds:
    missing = {name: why for part in rounds for name, why in part.missing.items()}
    names = [name for name in rounds[0].numbers if name not in missing]
    return Rounds({name: list(chain(*(part.numbers[name] for part in rounds))) for name in names}, missing)
