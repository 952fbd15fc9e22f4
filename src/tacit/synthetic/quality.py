"""Synthetic rows of high quality: noisy tables of columns, pairs and chosen triples, and a latent-class model of them.

1. The tables of single columns are measured. They give a noisy number of rows.
2. Pairs are measured: all of them, or those that differ most from independent columns. With a target, a
   separate part of ρ measures its pairs again.
3. If the noise is small enough, triples are measured: all of them, or those that differ most from a fit so far.
4. A model is fitted to all tables (`latent_fit`); rows are drawn from it (`latent_rows`).

`quality_noise` has the sensitivities and the prices of steps 1 to 3. Fits and rows are post-processing.

**Time.** A limit of time becomes a limit on the steps of the fits, computed from public numbers and a fixed speed. So
it never changes what is charged, and no clock that could depend on rows decides anything.

The constants of `quality_plan` and `latent_fit` were chosen on generated tables: Bayesian networks and latent classes
of 8 to 14 columns, and 4,800 to 120,000 rows (`bench/high_dimensional_quality.py` has similar generators). Adult was
looked up about four times meanwhile. After one of these looks, pairs with the target got a separate part of ρ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from tacit.arrays import Ints
from tacit.guarantees.events import Neighbours
from tacit.synthetic import quality_plan as plan
from tacit.synthetic.coded_rows import CodedRows
from tacit.synthetic.latent_fit import NoisyTable
from tacit.synthetic.latent_model import LatentModel
from tacit.synthetic.latent_rows import draw_rows
from tacit.synthetic.quality_fit import fitted, total_of
from tacit.synthetic.quality_noise import Columns, Measured, Purse, score, usual_distance, whole_counts

Progress = Callable[[float, str], None]

_FAINT = 0.01
"""Nats of information below which columns are called independent."""


def quality_content(
    rows: CodedRows,
    sizes: tuple[int, ...],
    *,
    rho: Fraction,
    neighbours: Neighbours,
    target: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Mapping[str, object]:
    """Return noisy tables for at most ρ, as JSON; the caller has charged ρ."""
    purse = Purse(rows, neighbours, rho)
    release = _Release(purse, sizes, target, seconds, progress or _silent)
    release.measure_columns(plan.FIRST * rho)
    release.measure_pairs_and_triples()
    return {
        "tables": [
            {"columns": list(each.columns), "values": list(each.values), "variance": str(each.variance)}
            for each in purse.measured
        ],
        "scale": rows.scale,
        "spent": str(rho - purse.left),
        "seconds": seconds,
    }


def _silent(_: float, __: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class _Release:
    """One release in progress."""

    purse: Purse
    sizes: tuple[int, ...]
    target: int | None
    seconds: float | None
    progress: Progress

    @property
    def varied(self) -> list[int]:
        """The columns with at least two codes, or the first column if no column has two."""
        return [column for column, size in enumerate(self.sizes) if size > 1] or [0]

    @property
    def tables(self) -> list[NoisyTable]:
        """The measured tables, in rows."""
        return _in_rows(self.purse.measured, self.purse.rows.scale)

    def measure_columns(self, rho: Fraction) -> None:
        """Measure the table of each column."""
        for column in self.varied:
            self.purse.measure((column,), rho / len(self.varied))

    def measure_pairs_and_triples(self) -> None:
        """Split the rest of ρ by the noisy number of rows, and spend it."""
        if not self.purse.measured:
            return
        self.progress(0.1, "columns")
        precision = total_of(self.tables) * sqrt(2 * float(self.purse.rho))
        target = self.target if self.target in self.varied else None
        shares = plan.shares_of(precision, len(self.varied), target=target is not None)
        rho = self.purse.rho
        if shares.columns:
            self.measure_columns(shares.columns * rho)
        pairs = plan.pairs_of(self.sizes, target)
        if not pairs:
            return
        of_target = [pair for pair in pairs if target in pair]
        if of_target:
            self._measure(of_target, shares.target * rho)
        self._measure_chosen(pairs, plan.number_of_pairs(len(pairs), len(self.varied)), shares.pairs * rho)
        self.progress(0.3, "pairs")
        triples = plan.triples_of(self.sizes, target)
        if shares.triples and triples:
            number = plan.number_of_triples(len(triples), len(self.varied))
            self._measure_chosen(triples, number, shares.triples * rho)
        self.progress(1.0, "triples")

    def _measure_chosen(self, tables: list[Columns], number: int, rho: Fraction) -> None:
        """Measure some tables for a part of ρ: all, or a number of them that are chosen by their distance to a fit."""
        if number < len(tables):
            if not plan.may_choose(rho / len(tables)):
                return
            tables = self._chosen(tables, number, plan.CHOICES * rho)
            rho -= plan.CHOICES * rho
        self._measure(tables, rho)

    def _measure(self, tables: list[Columns], rho: Fraction) -> None:
        for table, part in zip(tables, plan.parts_by_size(tables, self.sizes, rho), strict=True):
            self.purse.measure(table, part)

    def _chosen(self, tables: list[Columns], number: int, rho: Fraction) -> list[Columns]:
        """Choose tables whose counts differ most from a fit to what is measured, beyond their noise."""
        model, total = fitted(self.tables, self.sizes, self.seconds), total_of(self.tables)
        rows, found = self.purse.rows, list[Columns]()
        scores = []
        for table in tables:
            predicted = whole_counts(model.table(table), total, rows.scale)
            scores.append(score(rows.counts(table), predicted, usual_distance(predicted, rows.scale)))
        left = list(range(len(tables)))
        for _ in range(number):
            place = self.purse.choose([scores[each] for each in left], rho / number)
            found.append(tables[left.pop(place)])
        return sorted(found)


def _in_rows(measured: list[Measured], scale: int) -> list[NoisyTable]:
    return [
        NoisyTable(each.columns, np.array(each.values, dtype=np.float64) / scale, float(each.variance) / scale**2)
        for each in measured
    ]


@dataclass(frozen=True, slots=True)
class QualityModel:
    """A fitted model: what `db.synthesize` draws from."""

    latent: LatentModel
    total: float
    """The estimated number of rows."""
    notes: tuple[str, ...]

    def draw(self, n: int, generator: np.random.Generator, given: Mapping[int, int] | None = None) -> Ints:
        """Return n rows of codes; with `given`, rows with these codes.

        If the model gives these codes no probability, the other columns are drawn without them.
        """
        return draw_rows(self.latent.given(given) if given else self.latent, n, generator)


def quality_model(content: Mapping[str, Any], sizes: tuple[int, ...]) -> QualityModel:
    """Fit the model to a released content."""
    scale = int(content["scale"])
    measured = [
        Measured(tuple(each["columns"]), tuple(each["values"]), Fraction(each["variance"]))
        for each in content["tables"]
    ]
    tables = _in_rows(measured, scale)
    model, total = fitted(tables, sizes, content["seconds"], final=True), max(total_of(tables), 0.0)
    notes = []
    if sum(size > 1 for size in sizes) > 1 and model.information < _FAINT:
        notes.append("The noise hides the dependences of columns, so they are drawn independently or nearly so.")
    return QualityModel(model, total, tuple(notes))
