"""Compute expected errors against the uncut table: the cut is exact, and the noise has its law.

Let b be the scale of Laplace noise, and c the part of a group's true answer that the limits cut. The error of the group
is |noise - c|, with expectation c + b·exp(-c/b). The noise of tacit is discrete, on so fine a grid that the difference
is not visible.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from limits_serve import HIGH, SHARE, Statistic

from tacit.query.unit_sizes import EDGES, SHARE_BITS

Reals: TypeAlias = npt.NDArray[np.float64]
_STEP = 1.05


class Choice(Protocol):
    """The private choice of a reach; `tacit.query.pricing.reach_choice.ReachChoice` is one."""

    @property
    def candidates(self) -> tuple[int, ...]:
        """The reaches that can be chosen."""

    def exponents(self, sizes: list[int]) -> list[Fraction]:
        """Return the logarithm of each candidate's probability, up to a constant."""


@dataclass(frozen=True)
class Model:
    """One question on one table: the rows and the true amount of every unit in every group.

    `unit`, `group`, `rows` and `amount` have an entry for each pair of a unit and a group that has rows.
    """

    statistic: Statistic
    groups: int
    unit: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    rows: Reals
    amount: Reals

    @property
    def most(self) -> int:
        """The most that one row can add."""
        return 1 if self.statistic == "count" else HIGH

    @cached_property
    def size(self) -> Reals:
        """The number of rows of each unit."""
        return np.bincount(self.unit, self.rows).astype(float)

    @cached_property
    def truth(self) -> Reals:
        """The true answer of each group."""
        return np.bincount(self.group, self.amount, self.groups).astype(float)

    def error(self, reach: int, epsilon: float) -> float:
        """Return the expected error, averaged over groups, of tacit with a fixed reach."""
        weight = np.minimum(1.0, reach / self.size)[self.unit]
        return self._error(weight, reach * self.most / epsilon)

    def best(self, epsilon: float) -> tuple[int, float]:
        """Return the reach whose expected error is least, and that error, from reaches in steps of at most 5 %."""
        ladder = sorted({round(_STEP**k) for k in range(int(np.log(self.size.max()) / np.log(_STEP)) + 2)})
        errors = [self.error(reach, epsilon) for reach in ladder]
        index = int(np.argmin(errors))
        return ladder[index], errors[index]

    def chosen(self, choice: Choice) -> dict[int, float]:
        """Return the probability of each reach that tacit can choose."""
        exponents = np.array([float(x) for x in choice.exponents(self._sizes(shares=self.statistic == "sum"))])
        weights = np.exp(exponents - exponents.max())
        return dict(zip(choice.candidates, (weights / weights.sum()).tolist(), strict=True))

    def automatic(self, choice: Choice, epsilon: float) -> float:
        """Return the expected error of tacit with a reach that it chooses, over the law of the choice."""
        chances = self.chosen(choice)
        rest = (1 - SHARE) * epsilon
        return sum(chance * self.error(reach, rest) for reach, chance in chances.items() if chance)

    def box(self, max_groups: int, max_rows: int, epsilon: float) -> float:
        """Return the expected error with `max_groups` groups of a unit and `max_rows` rows in each, chosen at random.

        The cut is taken at its expectation.
        """
        present = np.bincount(self.unit)[self.unit]
        weight = np.minimum(1.0, max_groups / present) * np.minimum(1.0, max_rows / self.rows)
        return self._error(weight, max_groups * max_rows * self.most / epsilon)

    def _error(self, weight: Reals, scale: float) -> float:
        cut = self.truth - np.bincount(self.group, self.amount * weight, self.groups)
        return float(np.mean(cut + scale * np.exp(-cut / scale)))

    def _sizes(self, *, shares: bool) -> list[int]:
        """Return the integers of the histogram from which tacit chooses."""
        bins = np.searchsorted(EDGES, self.size)
        added = np.ones_like(self.size)
        if shares:
            total = np.bincount(self.unit, self.amount)
            added = np.floor(total / (self.size * self.most) * (1 << SHARE_BITS))
        return [int(x) for x in np.bincount(bins, added, len(EDGES) + 1)]


def models(path: Path, keys: list[str]) -> dict[tuple[Statistic, bool], Model]:
    """Return the four questions on a table: count and sum, of every group (True) or of all rows (False)."""
    frame = pd.read_parquet(path)
    frame["unit"] = pd.factorize(frame["unit"])[0]
    frame["key"] = pd.Categorical(frame["key"], keys).codes
    results: dict[tuple[Statistic, bool], Model] = {}
    for grouped in (True, False):
        cells = frame.assign(key=frame["key"] if grouped else 0).groupby(["unit", "key"])["x"].agg(["size", "sum"])
        unit, group = (cells.index.get_level_values(level).to_numpy(np.int64) for level in (0, 1))
        rows, total = cells["size"].to_numpy(float), cells["sum"].to_numpy(float)
        amounts: dict[Statistic, Reals] = {"count": rows, "sum": total}
        for statistic, amount in amounts.items():
            groups = len(keys) if grouped else 1
            results[statistic, grouped] = Model(statistic, groups, unit, group, rows, amount)
    return results
