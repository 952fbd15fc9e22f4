"""Rows of values from a fitted model: draws, values of codes, and conditions on rows. Post-processing only.

The generator of NumPy is seeded by the operating system, so rows are unpredictable and cannot be drawn twice. The
privacy guarantee does not depend on it, because rows are computed from the released content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np

from tacit.arrays import Ints
from tacit.query.expressions import Value
from tacit.query.results.table import Table
from tacit.synthetic.domain import Domain
from tacit.synthetic.row_rules import RowRules
from tacit.synthetic.row_values import ColumnValues

_MOST_DRAWN, _PROBE, _DRAWS_A_ROW, _LEAST_DRAWS = 2**17, 2**16, 20, 50_000


class Model(Protocol):
    """A law of rows of codes that was fitted to a released content."""

    @property
    def total(self) -> float:
        """The estimated number of rows."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the fit."""

    def draw(self, n: int, generator: np.random.Generator, given: Mapping[int, int] | None = None) -> Ints:
        """Return n rows of codes; with `given`, rows that have these codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSource:
    """A model with the values of its codes and the conditions on its rows."""

    domain: Domain
    values: tuple[ColumnValues, ...]
    model: Model
    rules: RowRules | None
    most: int
    """The largest number of rows to draw if the caller gives none."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings about the model."""
        return tuple(getattr(self.model, "warnings", ()))

    def rows(self, n: int | None, codes: Mapping[int, int], given: Mapping[str, object]) -> tuple[Table, list[str]]:
        """Return n rows, or the estimated number of rows, and warnings.

        Args:
            n: the number of rows; None for the estimated number.
            codes: the codes that rows are to have, by the place of the column.
            given: the values that rows are to have, by the name of the column.
        """
        generator = np.random.default_rng()
        warnings = []
        if n is None:
            estimate = self._estimate(codes, generator)
            n = min(estimate, self.most)
            if not n:
                warnings.append("The estimated number of rows is 0, so no row was drawn. Give n for more.")
            if n < estimate:
                warnings.append(f"The estimated number of rows is {estimate:,}; {n:,} fit into memory and were drawn.")
        columns = self._satisfying(n, codes, given, generator)
        if len(columns[0]) < n:
            some = f"Only {len(columns[0]):,} of {n:,} rows were" if columns[0] else "No row was"
            warnings.append(f"{some} drawn, because few rows of the model satisfy the constraints.")
        kinds = tuple(each.kind for each in self.values)
        return Table(self.domain.names, kinds, tuple(map(tuple, columns))), warnings

    def _estimate(self, codes: Mapping[int, int], generator: np.random.Generator) -> int:
        """Return the estimated number of rows with given codes."""
        total = self.model.total
        if codes:
            probe = self.model.draw(_PROBE, generator, None)
            total *= float(np.all([probe[:, place] == code for place, code in codes.items()], axis=0).mean())
        return max(round(total), 0)

    def _satisfying(
        self, n: int, codes: Mapping[int, int], given: Mapping[str, object], generator: np.random.Generator
    ) -> list[list[Value]]:
        """Return columns of n rows that satisfy the conditions, or of fewer after a bounded number of draws."""
        if self.rules is None:
            return self._drawn(n, codes, given, generator)
        parts: list[list[list[Value]]] = []
        found = drawn = 0
        while found < n and drawn < _DRAWS_A_ROW * n + _LEAST_DRAWS:
            share = (found + 1) / (drawn + 1)
            number = min(max(1_000, round((n - found) / share * 1.1)), _MOST_DRAWN) if drawn else min(n, _MOST_DRAWN)
            columns = self._drawn(number, codes, given, generator)
            kept = np.flatnonzero(self.rules.satisfied(columns))[: n - found].tolist()
            parts.append([[column[place] for place in kept] for column in columns])
            found, drawn = found + len(kept), drawn + number
        parts = parts or [[[] for _ in self.values]]
        return [list(chain.from_iterable(some)) for some in zip(*parts, strict=True)]

    def _drawn(
        self, n: int, codes: Mapping[int, int], given: Mapping[str, object], generator: np.random.Generator
    ) -> list[list[Value]]:
        rows = self.model.draw(n, generator, codes or None)
        return [self._column(each, rows[:, place], given, generator) for place, each in enumerate(self.values)]

    @staticmethod
    def _column(
        values: ColumnValues, codes: Ints, given: Mapping[str, object], generator: np.random.Generator
    ) -> list[Value]:
        name = values.column.name
        if values.column.edges is not None and given.get(name) is not None:
            return [values.number(given[name])] * codes.size
        return values.draw(codes, generator)
