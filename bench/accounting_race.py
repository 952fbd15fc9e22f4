"""Accountants in turns: what each answers, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from statistics import median
from typing import cast

from accounting_serve import Answer
from peers import Contestant
from rounds import Ratio, Rounds, interleave, short
from serve import Missing

CAP = 60.0  # seconds a call


@dataclass(frozen=True, slots=True)
class Entry:
    """Who is asked in a race, and in which manner."""

    worker: str
    manner: dict[str, object]


@dataclass(slots=True)
class Race:
    """One case: its entries by name, and what they answered last; who was too slow once is not asked again."""

    request: dict[str, object]
    entries: Mapping[str, Entry]
    task: str = "epsilon"
    answers: dict[str, Answer] = field(default_factory=dict)
    gone: dict[str, Missing] = field(default_factory=dict)

    def sit(self, workers: Mapping[str, Contestant], rounds: int) -> Rounds:
        """Run all entries in turns."""
        return interleave({name: partial(self.ask, workers, name) for name in self.entries}, rounds)

    def ask(self, workers: Mapping[str, Contestant], name: str) -> float:
        """Return the seconds of one entry, and remember its answer."""
        if name in self.gone:
            raise self.gone[name]
        entry = self.entries[name]
        try:
            reply = workers[entry.worker].ask(self.task, **self.request, manner=entry.manner, cap=CAP)
        except Missing as missing:
            self.gone[name] = missing
            raise
        self.answers[name] = cast("Answer", reply)  # a worker's reply has the fields of its own protocol
        return self.answers[name]["seconds"]


def seconds(times: Rounds, name: str) -> str:
    """Return a contestant's best time, or why there is none."""
    return times.cell(name, lambda found: short(min(found)))


def times_as_long(times: Rounds, slow: str, fast: str) -> tuple[str, float | None]:
    """Return how many times as long one takes as another, as text and as a number; a bound if one ran out of time."""
    ratio = times.ratio(slow, fast)
    if isinstance(ratio, Ratio):
        return str(ratio), ratio.value
    late = {name for name, why in times.missing.items() if why == f"more than {CAP:g} s"}
    if slow in late and fast in times.numbers:
        least = CAP / _median(times, fast)
        return f"more than {short(least)}", least
    if fast in late and slow in times.numbers:
        most = _median(times, slow) / CAP
        return f"less than {short(most)}", most
    return ratio, None


def _median(times: Rounds, name: str) -> float:
    return median(chain(*times.numbers[name]))
