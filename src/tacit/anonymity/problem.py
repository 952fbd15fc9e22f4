"""What a search is given: coded rows, hierarchies, requirements, and what a generalised value costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.distances import Ground, ground
from tacit.anonymity.hierarchies import Hierarchy, Rule
from tacit.anonymity.models import KAnonymity, LDiversity, Model, TCloseness
from tacit.anonymity.numerals import number
from tacit.anonymity.tables import Column, Longs
from tacit.arrays import Codes, Floats
from tacit.errors import InvalidError

Objective: TypeAlias = Literal["loss", "ncp", "precision"]
Mean: TypeAlias = Literal["arithmetic", "geometric"]
OBJECTIVES, MEANS = ("loss", "ncp", "precision"), ("arithmetic", "geometric")
_MOST = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A table to be recoded: row i has the raw value codes[j][i] of the hierarchy trees[j]."""

    names: tuple[str, ...]
    trees: tuple[Hierarchy, ...]
    codes: tuple[Codes, ...]
    rows: int
    require: tuple[Model, ...]
    sensitive: tuple[Column, ...]
    unit: Column | None
    objective: Objective
    mean: Mean

    def costs(self, j: int, level: int) -> Floats:
        """Return what a group of a level of column j costs, from 0 (one raw value) to 1 (all of them)."""
        tree = self.trees[j]
        if self.objective == "precision":
            return np.full(len(tree.labels(level)), level / max(1, tree.height - 1))
        if self.objective == "ncp":
            return ncp_costs(tree, level)
        return loss_costs(tree.shares(level), len(tree.rows))

    @property
    def k(self) -> int:
        """The largest k that is required of rows; 1 where persons are counted instead."""
        return 1 if self.unit else max((model.k for model in self.require if isinstance(model, KAnonymity)), default=1)

    def speaks_of(self, model: Model) -> tuple[Column, ...]:
        """Return the sensitive columns that a requirement speaks of."""
        named = None if isinstance(model, KAnonymity) else model.column
        return tuple(column for column in self.sensitive if named in {None, column.name})


def loss_costs(shares: Floats, values: int) -> Floats:
    """Return (share - 1/m)/(1 - 1/m), or 0 where there is but one value."""
    return np.asarray((shares - 1 / values) / (1 - 1 / values)) if values > 1 else np.zeros_like(shares)


def ncp_costs(tree: Hierarchy, level: int) -> Floats:
    """Return the normalised certainty penalty: of numbers, the range of a group over the range of all; else its share.

    A missing value has no range: it costs 0 alone, and a group with it and others costs 1.
    """
    groups, sizes = tree.groups(level), np.bincount(tree.groups(level))
    try:
        numbers = scaled(tree)
    except InvalidError:
        return np.where(sizes > 1, sizes / len(tree.rows), 0.0)
    spans = np.array([np.ptp(numbers[groups == one]) if sizes[one] > 1 else 0.0 for one in range(len(sizes))])
    return np.where(np.isnan(spans), 1.0, spans)


def scaled(tree: Hierarchy) -> Floats:
    """Return the raw values of a hierarchy of numbers from 0, the least, to 1, the largest; NaN is missing.

    Raises:
        InvalidError: one is no number.
    """
    numbers = [None if value is None else number(value, tree.column) for value in tree.values]
    known = [x for x in numbers if x is not None] or [Fraction(0)]
    low, reach = min(known), max(known) - min(known) or Fraction(1)
    return np.array([np.nan if x is None else float((x - low) / reach) for x in numbers])


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Requirements on sensitive values as arrays, as the compiled loops take them."""

    columns: tuple[Column, ...]
    sizes: Longs
    kinds: Longs
    of: Longs
    numbers: Longs
    wholes: Longs
    families: Codes
    parts: Longs
    divisors: Longs

    @property
    def room(self) -> int:
        """How much the compiled loops need to add up in: for all values, and for all parts of every distance."""
        return int(max(self.wholes.shape[1], self.families.max(initial=0) + 1, self.parts.max(initial=0), 1)) + 1

    def arrays(self) -> tuple[Longs | Codes, ...] | None:
        """Return them in the order in which compiled loops take them; None where only rows are counted."""
        if not len(self.kinds):
            return None
        return (self.sizes, self.kinds, self.of, self.numbers, self.wholes, self.families, self.parts, self.divisors)


def coded_requirements(problem: Problem) -> Coded:
    """Return the requirements beyond k on rows; (n, t)-closeness, which looks beyond a class, is not among them."""
    items: list[tuple[int, Column, tuple[int, int, int], Ground | None]] = []
    for model in problem.require:
        match model:
            case KAnonymity(k=k) if problem.unit is not None:
                items.append((1, problem.unit, (k, 0, 1), None))
            case LDiversity() | TCloseness():
                items += [_item(model, column) for column in problem.speaks_of(model)]
            case _:
                pass
    columns = tuple({column.name: column for _, column, _, _ in items}.values())
    return _arrays(items, columns, problem.rows)


def _item(model: LDiversity | TCloseness, column: Column) -> tuple[int, Column, tuple[int, int, int], Ground | None]:
    if isinstance(model, TCloseness):
        measure = ground(model.distance, column.texts, model.hierarchy, column.name)
        return 4, column, (0, model.bound.numerator, model.bound.denominator), measure
    kind = {"distinct": 1, "entropy": 2, "recursive": 3}[model.kind]
    exact = model.level if model.kind == "entropy" else model.share
    return kind, column, (int(model.l), exact.numerator, exact.denominator), None


def _arrays(
    items: Sequence[tuple[int, Column, tuple[int, int, int], Ground | None]], columns: tuple[Column, ...], rows: int
) -> Coded:
    place = {column.name: at for at, column in enumerate(columns)}
    most = max((len(column.texts) for column in columns), default=1)
    deep = max((len(measure.families) for *_, measure in items if measure), default=1)
    wholes = np.zeros((max(1, len(columns)), most), dtype=np.int64)
    for at, column in enumerate(columns):
        wholes[at, : len(column.texts)] = np.bincount(column.codes, minlength=len(column.texts))
    families, parts = np.zeros((len(items), deep, most), dtype=np.int32), np.zeros((len(items), deep), dtype=np.int64)
    divisors = np.ones(len(items), dtype=np.int64)
    for at, (_, column, (_, p, q), measure) in enumerate(items):
        scale = max(p, q) * (measure.divisor if measure else 1)
        if max(scale, rows * rows * (measure.divisor if measure else 1)) >= _MOST:
            raise InvalidError(
                f"a requirement on {column.name}", "numbers beyond 62 bits", "one with fewer digits or rows"
            )
        if measure:
            divisors[at] = -measure.divisor if measure.ordered else measure.divisor
            for depth, family in enumerate(measure.families):
                families[at, depth, : len(family)], parts[at, depth] = family, family.max() + 1
    return Coded(
        columns,
        np.array([len(column.texts) for column in columns], dtype=np.int64),
        np.array([kind for kind, *_ in items], dtype=np.int64),
        np.array([place[column.name] for _, column, _, _ in items], dtype=np.int64),
        np.array([numbers for *_, numbers, _ in items], dtype=np.int64).reshape(len(items), 3),
        wholes,
        families,
        parts,
        divisors,
    )


def chosen(given: object, allowed: Sequence[str], argument: str) -> str:
    """Return a choice that is among the allowed ones."""
    if given not in allowed:
        raise InvalidError(argument, repr(given), f"one of {', '.join(allowed)}")
    return str(given)


Trees: TypeAlias = Mapping[str, Rule]
