"""Fit a classifier on noisy sums: logistic regression by noisy residuals, or naive Bayes.

    1  counts by class, each column alike                                   1/4 of the cost
    2  the same counts, more precise in columns that predict                1/4
    3  residuals of the current model, in 2 to 6 rounds                     1/2

Steps 1 and 2 give the number of rows, the shares of the classes, and naive Bayes from rates that are shrunk by their
noise (`rates`). Each round of step 3 releases by how much the model misses in each cell, and moves the weights. The
noisy number of rows decides how: let x be the number of rows for each unit of noise and cell. More signal means more
rounds and a larger limit of a residual. Naive Bayes puts the other half of the cost into the counts instead; it is
chosen for more than two classes, and if x is below `_LEAST_PURE` with Laplace noise. Rounds of Laplace noise add up its
scale and not its square. So with it, step 2 is left out, and step 3 has `_PURE_ROUNDS` rounds.

Everything below works on released numbers alone, except the calls of `private_sums`. The constants follow trials on 40
generated tables of 3,000 to 60,000 rows and 4 to 13 correlated columns of 2 to 45 codes, with classes of 10 to 50 %, at
ε from 0.03 to 4, and on 24 of them for Laplace noise; not on any real table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt, log2
from typing import Literal, TypeAlias

import numpy as np

from tacit.arrays import Floats
from tacit.guarantees.events import Neighbours
from tacit.learn import private_sums
from tacit.learn.noise_budget import NoiseBudget, Schedule, approximate_budget
from tacit.learn.private_sums import GRID, LEAST, OFFSET, UNIT, Layout, Moved
from tacit.learn.rates import Tables, centred, column_shares, levelled, naive_bayes, pooled, shrunk, tables_of
from tacit.synthetic.coded_rows import CodedRows

Method: TypeAlias = Literal["naive Bayes", "logistic regression"]

TABLES, RESIDUALS = Fraction(1, 4), Fraction(1, 2)
"""The shares of the cost for each reading of the counts, and for the residuals."""
ROUNDS = range(2, 7)
_CLIP, _CLIP_SLOPE, _CLIPS = 0.5, 0.05, (0.4, 0.8)
_USUAL_ROUNDS, _ROUND_SLOPE = 3.0, 0.5
_PURE_ROUNDS, _LEAST_PURE = 2, 4.0
_START, _CAUTION, _DECAY, _DAMPING = 0.8, 4.0, 0.25, 0.25
_LARGEST_STEP = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The weights of all cells and the intercepts for each score, and how they were found."""

    weights: Floats
    intercepts: Floats
    method: Method
    tables: Tables
    right: tuple[float, float, float] | None = None
    """The noisy weights of rows that are predicted right and wrong, and the noise of each."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The public part of the rows: their weights, the neighbour relation and the layout of their cells."""

    layout: Layout
    scale: int
    reach: int
    neighbours: Neighbours

    @property
    def weight(self) -> int:
        """The largest weight of the rows of one unit together."""
        return self.reach * self.scale

    def counts(self, multipliers: Sequence[int] | None = None) -> Moved:
        """Return how far one unit moves the counts by class; without multipliers, in the first release of them."""
        some = [UNIT] * len(self.layout.sizes) if multipliers is None else multipliers
        return private_sums.counts_moved(some, self.weight, self.neighbours, self.layout.cells * self.layout.number)

    def residuals(self, clip: int, multipliers: Sequence[int]) -> Moved:
        """Return how far one unit moves the residuals."""
        return private_sums.residuals_moved(multipliers, clip, self.weight, self.neighbours, self.layout.cells + 1)

    def predictions(self) -> Moved:
        """Return how far one unit moves the counts of right and wrong predictions."""
        return private_sums.counts_moved([OFFSET], self.weight, self.neighbours, 2)

    def schedules(self, accuracy: Fraction) -> tuple[Schedule, ...]:
        """Return all schedules of draws that a fit may choose, each with the least sum that is drawn."""
        rest, number = 1 - accuracy, len(self.layout.sizes)
        test = [(accuracy, self.predictions())] if accuracy else []
        table, least = (TABLES * rest, self.counts()), self.counts([LEAST] * number)
        residuals = self.residuals(int(min(_CLIPS) * GRID), [LEAST] * number)
        found: list[Schedule] = [(table, (rest - TABLES * rest, least), *test)]
        for rounds in ROUNDS:
            each = (RESIDUALS * rest / rounds, residuals)
            found.append((table, (TABLES * rest, least), *[each] * rounds, *test))
        return tuple(found)

    def check(self, budget: NoiseBudget, accuracy: Fraction) -> None:
        """Raise RefusedError if a draw needs more noise than the samplers have; call it before the charge."""
        rest, most = 1 - accuracy, [UNIT * len(self.layout.sizes)] * len(self.layout.sizes)
        budget.check(self.residuals(GRID, most), RESIDUALS * rest / max(ROUNDS))
        budget.check(self.counts(most), TABLES * rest)
        if accuracy:
            budget.check(self.predictions(), accuracy)


@lru_cache(maxsize=64)
def budget_for(setting: Setting, epsilon: Fraction, delta: Fraction, accuracy: Fraction) -> NoiseBudget:
    """Return the budget of (ε, δ)-DP for δ > 0."""
    return approximate_budget(epsilon, delta, setting.schedules(accuracy))


def fit(
    rows: CodedRows, setting: Setting, budget: NoiseBudget, *, method: Method | None = None, accuracy: Fraction
) -> Fit:
    """Fit a classifier within a budget.

    Args:
        rows: the coded rows.
        setting: what is public about them.
        budget: the cost of all draws together.
        method: the method, or None to choose by the noisy number of rows.
        accuracy: the share of the cost for counting right predictions; 0 counts none.
    """
    fitted = _Fitting(rows, setting, budget, 1 - accuracy).run(method)
    if not accuracy:
        return fitted
    exact = private_sums.prediction_counts(rows, setting.layout, fitted.weights, fitted.intercepts)
    noisy, noise = budget.noisy(exact, setting.predictions(), accuracy)
    unit = setting.scale * OFFSET
    right = (float(noisy[0]) / unit, float(noisy[1]) / unit, noise / unit)
    return Fit(fitted.weights, fitted.intercepts, fitted.method, fitted.tables, right)


@dataclass(frozen=True, slots=True)
class _Fitting:
    rows: CodedRows
    setting: Setting
    budget: NoiseBudget
    rest: Fraction
    """The share of the cost that the fit may use."""

    @property
    def layout(self) -> Layout:
        return self.setting.layout

    def run(self, method: Method | None) -> Fit:
        plain = [UNIT] * len(self.layout.sizes)
        if self.layout.number > 2:  # noqa: PLR2004 - residuals are those of two classes
            method = "naive Bayes"
        if self.budget.law == "laplace" and method == "naive Bayes":
            return self._naive_bayes(self._counts(plain, self.rest))
        share = RESIDUALS if self.budget.law == "laplace" else TABLES
        tables = self._counts(plain, share * self.rest)
        signal = self._signal(tables)
        if method is None:
            poor = self.budget.law == "laplace" and signal < _LEAST_PURE
            method = "naive Bayes" if poor else "logistic regression"
        rest = self.rest - share * self.rest
        if method == "naive Bayes":
            return self._naive_bayes(self._again(tables, rest, rest))
        if self.budget.law == "gaussian":
            tables = self._again(tables, TABLES * self.rest, rest)
        return self._descend(tables, self._signal(tables))

    def _signal(self, tables: Tables) -> float:
        """Return x: the rows of a cell for each unit of noise that the whole cost would give the counts."""
        moved = self.setting.counts([UNIT] * len(self.layout.sizes))
        noise = self.budget.deviation(moved, self.rest) / (self.setting.scale * UNIT)
        return tables.size / (noise * self.layout.cells)

    def _counts(self, multipliers: Sequence[int], share: Fraction) -> Tables:
        """Return the noisy counts by class, in rows."""
        exact = private_sums.class_counts(self.rows, self.layout, multipliers)
        noisy, noise = self.budget.noisy(exact, self.setting.counts(multipliers), share)
        unit = np.repeat(np.array(multipliers, dtype=np.float64) * self.setting.scale, self.layout.sizes)
        return tables_of(noisy / unit, noise / unit, self.layout)

    def _again(self, tables: Tables, share: Fraction, left: Fraction) -> Tables:
        """Return the counts with a second reading that favours useful columns; `left` is the cost that is left."""
        return pooled(tables, self._counts(self._multipliers(tables, left), share), self.layout)

    def _multipliers(self, tables: Tables, left: Fraction) -> list[int]:
        """Return multipliers, LEAST or more, that spend about as much as UNIT in each column."""
        moved = self.setting.counts([UNIT] * len(self.layout.sizes))
        noise = self.budget.deviation(moved, left) / (self.setting.scale * UNIT)
        shares = column_shares(shrunk(tables, self.layout)[1], tables, noise, self.layout)
        if self.budget.law == "laplace":
            shares = (np.sqrt(shares) / np.sqrt(shares).mean()) ** 2
        return [max(LEAST, isqrt(int(UNIT**2 * share))) for share in shares]

    def _naive_bayes(self, tables: Tables) -> Fit:
        weights, intercepts = naive_bayes(shrunk(tables, self.layout)[0], tables)
        return Fit(weights, intercepts, "naive Bayes", tables)

    def _descend(self, tables: Tables, signal: float) -> Fit:
        """Move the weights along noisy residuals, each cell's step shrunk by the noise in it.

        A cell with curvature h = n·p(1-p), noise s and prior variance τ² moves by g·h/(h² + c·s²/(rounds·τ²)): a Newton
        step where the noise is small, and nothing where it is large.
        """
        layout, strength = self.layout, log2(max(signal, 2.0**-20))
        rates, spreads = shrunk(tables, layout)
        (weights,), (intercept,) = naive_bayes(rates, tables)
        weights, _ = centred(weights, tables.cells, layout)
        weights, p, size, cells = _START * weights, float(tables.shares[1]), tables.size, tables.cells
        clip = int(GRID * min(max(_CLIP + _CLIP_SLOPE * strength, _CLIPS[0]), _CLIPS[1]))
        rounds = min(max(round(_USUAL_ROUNDS + _ROUND_SLOPE * strength), ROUNDS[0]), ROUNDS[-1])
        if self.budget.law == "laplace":
            rounds = _PURE_ROUNDS
        multipliers = self._multipliers(tables, RESIDUALS * self.rest)
        moved, share = self.setting.residuals(clip, multipliers), RESIDUALS * self.rest / rounds
        every = np.repeat(np.array(multipliers, dtype=np.float64), layout.sizes) * self.setting.scale * GRID
        noise, alone = self.budget.deviation(moved, share) / every, self.setting.scale * GRID * OFFSET
        slack = self.budget.deviation(moved, share) / alone
        curvature, prior = cells * p * (1 - p), np.repeat(spreads, layout.sizes) / (p * (1 - p)) ** 2
        gain = curvature / (curvature**2 + _CAUTION * noise**2 / (prior * rounds) + 1) / len(layout.sizes) ** _DAMPING
        whole = size * p * (1 - p)
        for step in range(rounds):
            exact = private_sums.residual_sums(self.rows, layout, multipliers, weights, intercept, clip)
            released, _ = self.budget.noisy(exact, moved, share)
            level, total, _ = levelled(released[:-1] / every, noise, layout)
            rate = (1 + step) ** -_DECAY
            weights = weights + rate * gain * (level - total * cells / size)
            missed = released[-1] / alone * whole / (whole**2 + _CAUTION * slack**2 / rounds)
            weights, moved_mean = centred(weights, cells, layout)
            intercept += moved_mean + rate * float(np.clip(missed, -_LARGEST_STEP, _LARGEST_STEP))
        return Fit(weights[None], np.array([intercept]), "logistic regression", tables)


def noise_of_counts(setting: Setting, budget: NoiseBudget) -> float:
    """Return the standard deviation of a cell if the whole cost measured the counts once: for plans."""
    number = len(setting.layout.sizes)
    return budget.deviation(setting.counts([UNIT] * number), Fraction(1)) / (setting.scale * UNIT)
