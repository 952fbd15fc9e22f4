"""Run the accountants in turns, and record the result and the time of each."""

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

CAP = 60.0  # seconds per call


@dataclass(frozen=True, slots=True)
class Entry:
    """The worker to call in a race, and its settings."""

    worker: str
    manner: dict[str, object]


@dataclass(slots=True)
class Race:
    """One case, its entries by name, and their last answers. An entry that exceeds a limit is not called again."""

    request: dict[str, object]
    entries: Mapping[str, Entry]
    task: str = "epsilon"
    answers: dict[str, Answer] = field(default_factory=dict)
    failures: dict[str, Missing] = field(default_factory=dict)

    def run_session(self, workers: Mapping[str, Contestant], rounds: int) -> Rounds:
        """Run all entries in turns."""
        return interleave({name: partial(self.ask, workers, name) for name in self.entries}, rounds)

    def ask(self, workers: Mapping[str, Contestant], name: str) -> float:
        """Return the seconds of one entry, and store its answer."""
        if name in self.failures:
            raise self.failures[name]
        entry = self.entries[name]
        try:
            reply = workers[entry.worker].ask(self.task, **self.request, manner=entry.manner, cap=CAP)
        except Missing as missing:
            self.failures[name] = missing
            raise
        self.answers[name] = cast("Answer", reply)  # accounting workers reply with these fields
        return self.answers[name]["seconds"]


def seconds(times: Rounds, name: str) -> str:
    """Return the best time of a contestant, or the reason why it is missing."""
    return times.cell(name, lambda values: short(min(values)))


def times_as_long(times: Rounds, slow: str, fast: str) -> tuple[str, float | None]:
    """Return the ratio of two times as text and as a number, or a bound on it if one of the two exceeded the limit."""
    ratio = times.ratio(slow, fast)
    if isinstance(ratio, Ratio):
        return str(ratio), ratio.value
    timed_out = {name for name, why in times.missing.items() if why == f"more than {CAP:g} s"}
    if slow in timed_out and fast in times.numbers:
        least = CAP / _median(times, fast)
        return f"more than {short(least)}", least
    if fast in timed_out and slow in times.numbers:
        most = _median(times, slow) / CAP
        return f"less than {short(most)}", most
    return ratio, None


def _median(times: Rounds, name: str) -> float:
    return median(chain(*times.numbers[name]))
