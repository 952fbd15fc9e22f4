"""Run tacit with a reach that it chooses, and compare with the best fixed reach and with other libraries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from limits_model import Model, Reals, models
from limits_serve import HIGH, LOW, SHARE, Statistic

import tacit as tc
from tacit.database import Database
from tacit.quotes import ChoosingQuote

EPSILONS = (0.1, 1.0)
TIMES = 20
_LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)


@dataclass(frozen=True, slots=True)
class Errors:
    """The mean error of releases, its standard error, and the limits that they chose."""

    mean: float
    deviation: float
    limits: Sequence[float]


def errors(values: Sequence[Sequence[float]], truth: Reals, limits: Sequence[float]) -> Errors:
    """Return the error of releases: the mean over groups of |answer - true answer|."""
    each = np.abs(np.array(values, dtype=float) - truth).mean(axis=1)
    return Errors(float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))), limits)


@dataclass(slots=True)
class Case:
    """One question at one ε, with the errors of tacit and of the other libraries."""

    table: str
    statistic: Statistic
    grouped: bool
    epsilon: float
    model: Model
    best_reach: int
    best: float
    released: Errors
    expected: float
    others: dict[str, Errors] = field(default_factory=dict)
    computed: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The error of a chosen reach over that of the best fixed one: as released or as expected, the larger."""
        return max(self.released.mean, self.expected) / self.best

    def with_known_rows(self, max_groups: Sequence[float]) -> float:
        """Return the least expected error of max_groups that were drawn, if the best max_rows were known."""
        return min(self.with_rows(max_groups, max_rows) for max_rows in _LADDER)

    def with_rows(self, max_groups: Sequence[float], max_rows: int) -> float:
        """Return the expected error of max_groups that were drawn, and a given max_rows."""
        rest = (1 - SHARE) * self.epsilon
        return float(np.mean([self.model.box(int(limit), max_rows, rest) for limit in max_groups]))


def sql(statistic: Statistic, *, grouped: bool) -> str:
    """Return the query of a question."""
    aggregate = "count(*)" if statistic == "count" else "sum(x)"
    if grouped:
        return f"SELECT key, {aggregate} AS answer FROM t GROUP BY key"  # noqa: S608 - fixed text
    return f"SELECT {aggregate} AS answer FROM t"  # noqa: S608 - fixed text


def database(path: Path, keys: list[str]) -> Database:
    """Open a table, with a budget for all releases of the bench."""
    return tc.open(
        str(path),
        unit="unit",
        bounds={"x": (LOW, HIGH)},
        keys={"key": keys},
        budget=tc.PureDP(epsilon=10_000),
        name="t",
    )


def release(db: Database, query: str, keys: list[str], epsilon: float) -> tuple[list[float], float]:
    """Return the answers of one release with a chosen reach, in the order of the keys, and that reach."""
    answer = db.sql(query, epsilon=epsilon, reach="auto")
    rows = {row[0] if len(row) > 1 else "": float(row[-1]) for row in answer.rows()}  # type: ignore[arg-type]  # numbers
    chosen = answer.context["limits_chosen"]["reach"]  # type: ignore[index]  # a record of the choice
    return ([rows[key] for key in keys] if len(rows) > 1 else list(rows.values())), float(chosen)


def cases(table: str, path: Path, keys: list[str]) -> Iterator[Case]:
    """Yield all questions on a table, with the errors of tacit."""
    db = database(path, keys)
    for (statistic, grouped), model in models(path, keys).items():
        query = sql(statistic, grouped=grouped)
        for epsilon in EPSILONS:
            print(f"tacit: {table}, {query}, ε = {epsilon:g} …", flush=True)
            releases = [release(db, query, keys, epsilon) for _ in range(TIMES)]
            quote = db.plan(query, epsilon=epsilon, reach="auto")
            if not isinstance(quote, ChoosingQuote) or quote.choice is None:
                raise TypeError("a reach is chosen for a table with units")
            expected = model.automatic(quote.choice, epsilon)
            reach, best = model.best(epsilon)
            released = errors([v for v, _ in releases], model.truth, [limit for _, limit in releases])
            yield Case(table, statistic, grouped, epsilon, model, reach, best, released, expected)
