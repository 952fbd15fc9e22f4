"""Systems that a textbook or a product in a hurry would build, each with a fault that an attack finds.

The attacks in `tests/attacks/` run on tacit and on these. An attack that none of these falls to would show nothing.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import copysign, log
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats, Ints

Bits = npt.NDArray[np.bool_]


class StickyNoise:
    """Answer counts with noise that depends on the text of a question, and charge nothing.

    The same text has the same answer, so repeating it is useless; another spelling of it has other noise.
    """

    def __init__(self, members: Iterable[int], epsilon: float, salt: int) -> None:
        self._members, self._epsilon, self._salt = frozenset(members), epsilon, salt
        self.spent = 0.0

    def count(self, text: str, excluded: Iterable[int] = ()) -> int:
        """Return a noisy count of all members but some."""
        digest = sha256(f"{self._salt}\n{text}".encode()).digest()
        place = (int.from_bytes(digest[:8], "little") + 0.5) / 2**64 - 0.5
        noise = -copysign(log(1 - 2 * abs(place)), place) / self._epsilon
        return len(self._members - set(excluded)) + round(noise)


class BudgetPerQuestion:
    """Answer each question with ε-DP, as often as somebody asks: no total is kept."""

    def __init__(self, members: Iterable[int], epsilon: float) -> None:
        self._members, self._epsilon = frozenset(members), epsilon
        self._noise = np.random.default_rng()

    def count(self, _text: str, excluded: Iterable[int] = ()) -> int:
        """Return a noisy count of all members but some, with fresh noise."""
        return len(self._members - set(excluded)) + round(self._noise.laplace(scale=1 / self._epsilon))


class PlansFromData:
    """Explain a count before it is charged, with the number of rows that the database expects."""

    def __init__(self, rows: Sequence[Mapping[str, object]]) -> None:
        self._rows = rows

    def plan(self, column: str, value: object) -> str:
        """Return the plan as text."""
        matching = sum(row[column] == value for row in self._rows)
        return f"filter {column} = {value!r}: expects {matching} rows; cost ε = 1"


class RawBesideNoise:
    """A noisy answer that still holds the exact number, to print an error later."""

    def __init__(self, exact: int, epsilon: float) -> None:
        self.value = exact + round(np.random.default_rng().laplace(scale=1 / epsilon))
        self._details = {"n": exact}


class SpreadOfData:
    """A noisy mean whose interval is the standard error of the rows, without noise."""

    def __init__(self, values: Sequence[float], noisy: float) -> None:
        self._values, self._noisy = np.asarray(values, dtype=float), noisy

    def interval(self) -> tuple[float, float]:
        """Return the interval at 95 %."""
        half = 1.96 * float(self._values.std()) / len(self._values) ** 0.5
        return self._noisy - half, self._noisy + half


def disjoint_by_text(first: str, second: str) -> bool:
    """Say that two conditions are disjoint if they compare one column by = with other texts."""
    left, right = (text.partition("=") for text in (first, second))
    return left[0].strip() == right[0].strip() and left[2].strip() != right[2].strip() and bool(left[1] and right[1])


# --- ledgers ---------------------------------------------------------------------------------------------------------


class JsonLedger:
    """A budget in a JSON file: read, compare, answer, write. Nothing is locked or chained, and answers come first."""

    def __init__(self, path: Path, budget: float) -> None:
        self._path, self._budget = path, budget

    @property
    def spent(self) -> float:
        """The total in the file, or 0 without a file."""
        return float(json.loads(self._path.read_text())["spent"]) if self._path.exists() else 0.0

    def ask(self, epsilon: float, answer: Callable[[], object] = lambda: None) -> bool:
        """Answer a question if the budget has room, then write the charge; return whether it was answered."""
        spent = self.spent
        if spent + epsilon > self._budget * (1 + 1e-9):
            return False
        answer()
        self._path.write_text(json.dumps({"spent": spent + epsilon}))
        return True


class BudgetByDay:
    """A budget that starts again each day, by the clock of the machine."""

    def __init__(self, budget: float, clock: Callable[[], float]) -> None:
        self._budget, self._clock = budget, clock
        self._day, self._spent = clock() // 86_400, 0.0

    def ask(self, epsilon: float) -> bool:
        """Charge a question if today's budget has room; return whether it was answered."""
        today = self._clock() // 86_400
        if today != self._day:
            self._day, self._spent = today, 0.0
        if self._spent + epsilon > self._budget * (1 + 1e-9):
            return False
        self._spent += epsilon
        return True


# --- releases of rows and models -------------------------------------------------------------------------------------


def copied_rows(rows: Sequence[tuple[Hashable, ...]], n: int) -> list[tuple[Hashable, ...]]:
    """Return n "synthetic" rows that are rows of the data, drawn with replacement."""
    return random.choices(rows, k=n) if rows else []  # noqa: S311 - a planted fault


def exact_counts(rows: Sequence[tuple[Hashable, ...]]) -> Counter[tuple[Hashable, ...]]:
    """Return an exact marginal."""
    return Counter(rows)


def noisy_existing_groups(rows: Sequence[tuple[Hashable, ...]], epsilon: float) -> dict[tuple[Hashable, ...], float]:
    """Return noisy counts of the groups that exist: a group of one row shows by being there."""
    noise = np.random.default_rng()
    return {group: n + noise.laplace(scale=1 / epsilon) for group, n in Counter(rows).items()}


def fitted_table(rows: Sequence[tuple[Hashable, ...]]) -> Callable[[tuple[Hashable, ...]], float]:
    """Return a classifier that has learned its rows by heart: the share of the last column's value at the others."""
    seen, right = Counter(row[:-1] for row in rows), Counter(rows)
    return lambda row: right[row] / seen[row[:-1]] if seen[row[:-1]] else 0.5


# --- local reports ---------------------------------------------------------------------------------------------------


class TrustingTally:
    """Sum the bits that devices send as numbers, and believe every number and every length."""

    def __init__(self, size: int, keep: float, flip: float) -> None:
        self._sums: Floats = np.zeros(size)
        self._keep, self._flip, self.n = keep, flip, 0

    def add(self, message: str) -> None:
        """Add one report, a JSON list of numbers."""
        self._sums += np.array(json.loads(message), dtype=float)
        self.n += 1

    def counts(self) -> Floats:
        """Return the estimated counts."""
        estimates: Floats = (self._sums - self.n * self._flip) / (self._keep - self._flip)
        return estimates


# --- microdata -------------------------------------------------------------------------------------------------------


def fitted_ranges(values: Ints, k: int) -> list[str]:
    """Return for each value the range of its class: classes of at least k values in order, from least to largest."""
    order = np.argsort(values, kind="stable")
    classes = np.array_split(order, max(1, len(values) // k))
    labels = [""] * len(values)
    for members in classes:
        label = f"{values[members].min()}-{values[members].max()}"
        for member in members:
            labels[member] = label
    return labels
