"""What a table is: how anonymous, how diverse, how close, and what an attacker may hope for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tacit import plots
from tacit.anonymity.classes import Classes, Spread, entropies, failing, group, spread, tops_and_tails
from tacit.anonymity.count_in_database import stays
from tacit.anonymity.distances import Ground, ground
from tacit.anonymity.exact import entropy_level
from tacit.anonymity.hierarchies import Quasi, rule
from tacit.anonymity.models import MODELS, KAnonymity, Model, say
from tacit.anonymity.risk import Risk, population_sizes, risk_of
from tacit.anonymity.tables import Column, Longs, Table, read
from tacit.arrays import Floats
from tacit.errors import ColumnNotFoundError, InvalidError, show
from tacit.safe_text import visible

if TYPE_CHECKING:
    import altair as alt

_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Diversity:
    """One sensitive column: the worst class by each measure.

    Attributes:
        distinct_l: different values in the class that has fewest.
        entropy_l: e^H of the class with the least entropy H.
        t: distance of the furthest class from the whole, all values equally far from each other.
        t_ordered: the same by steps in an order; None where the values have none.
        t_hierarchical: the same by a hierarchy of the values; None where none is given.
    """

    distinct_l: int
    entropy_l: float
    t: float
    t_ordered: float | None
    t_hierarchical: float | None
    spread: Spread = field(repr=False, compare=False)

    def recursive_c(self, l: int) -> float:  # noqa: E741 - the literature's letter
        """Return c₀: the column is recursively (c, l)-diverse for every c > c₀, and for no other.

        Raises:
            InvalidError: l is no whole number from 1 on.
        """
        if type(l) is not int or l < 1:
            raise InvalidError("l", show(l), "a whole number ≥ 1")
        most, tail = tops_and_tails(self.spread, l)
        return (
            inf
            if not tail.all()
            else max((float(Fraction(int(a), int(b))) for a, b in zip(most, tail, strict=True)), default=0.0)
        )


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What `check` found; `print` shows it.

    Attributes:
        rows: in the table.
        k: rows in the smallest class; with `unit=`, persons.
        classes: how many classes there are of each size.
        risk: of naming whose row it is.
        sensitive: the diversity of each sensitive column.
        reference: rows of the table that t is measured against; None where that is the table itself.
        notes: what a reader of these numbers should know.
    """

    rows: int
    k: int
    classes: dict[int, int]
    risk: Risk
    sensitive: dict[str, Diversity]
    quasi: tuple[str, ...]
    unit: str | None
    groups: Classes = field(repr=False, compare=False)
    persons: Longs | None = field(repr=False, compare=False)
    reference: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def distinct_l(self) -> int | None:
        """The least number of different sensitive values in a class, over all sensitive columns."""
        return min((one.distinct_l for one in self.sensitive.values()), default=None)

    @property
    def entropy_l(self) -> float | None:
        """The least e^H of a class, over all sensitive columns."""
        return min((one.entropy_l for one in self.sensitive.values()), default=None)

    @property
    def t(self) -> float | None:
        """The largest distance of a class from the whole, over all sensitive columns; equal ground distance."""
        return max((one.t for one in self.sensitive.values()), default=None)

    def failing(self, model: Model) -> int:
        """Return how many classes fail a requirement, decided exactly."""
        return int(self.fails(model).sum())

    def meets(self, *models: Model) -> bool:
        """Return whether every class meets every requirement, decided exactly."""
        return not any(self.failing(model) for model in models)

    def fails(self, model: Model) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which classes fail a requirement."""
        if not isinstance(model, MODELS):
            raise InvalidError("a requirement", show(model), "KAnonymity, LDiversity, TCloseness or NTCloseness")
        named = None if isinstance(model, KAnonymity) else model.column
        if named is not None and named not in self.sensitive:
            raise InvalidError(f"the column of {say(model)}", repr(named), "one of the sensitive columns")
        if not isinstance(model, KAnonymity) and not self.sensitive:
            raise InvalidError("sensitive", "none", f"given to `check`, since {say(model)} is about sensitive values")
        spreads = [one.spread for name, one in self.sensitive.items() if named in {None, name}]
        return failing(model, self.groups, spreads, self.persons)

    def plot(self) -> alt.LayerChart:
        """Draw how many rows stand in classes of each size."""
        sizes = sorted(self.classes)
        return plots.class_sizes(sizes, [size * self.classes[size] for size in sizes])

    def __str__(self) -> str:
        """Return the report as lines of text."""
        persons = f" persons by {self.unit}" if self.unit else ""
        lines = [
            f"{self.rows:,} rows in {sum(self.classes.values()):,} classes over {', '.join(self.quasi) or 'no column'}",
            f"k = {self.k}{persons}; {self.risk.unique:.2%} of rows unique",
            "risk: "
            + ", ".join(f"{of} {getattr(self.risk, of):.4g}" for of in ("prosecutor", "journalist", "marketer")),
        ]
        lines += [_line(name, one) for name, one in self.sensitive.items()]
        if self.reference is not None and self.sensitive:
            lines.append(f"t is measured against a reference of {self.reference:,} rows")
        return "\n".join(map(visible, [*lines, *(f"note: {note}" for note in self.notes)]))

    def __repr__(self) -> str:
        """Return the headline on one line."""
        told = (
            "" if self.t is None else f", distinct_l={self.distinct_l}, entropy_l={self.entropy_l:.4g}, t={self.t:.4g}"
        )
        return f"Report(rows={self.rows}, k={self.k}{told}, prosecutor={self.risk.prosecutor:.4g})"


def _line(name: str, one: Diversity) -> str:
    others = [("ordered", one.t_ordered), ("hierarchical", one.t_hierarchical)]
    more = "".join(f", {kind} {value:.4g}" for kind, value in others if value is not None)
    return f"{name}: distinct l = {one.distinct_l}, entropy l = {one.entropy_l:.4g}, t = {one.t:.4g}{more}"


def check(
    table: object,
    *,
    quasi: Sequence[str] | Mapping[str, object],
    sensitive: str | Sequence[str] | Mapping[str, Quasi | None] = (),
    unit: str | None = None,
    population: object = None,
    reference: object = None,
    sep: str | None = None,
    relation: str | None = None,
) -> Report:
    """Return how anonymous, diverse and close any table is, published or not.

    A missing value is a value of its own, in quasi-identifiers and in sensitive columns.

    >>> rows = {"zip": ["476**"] * 3 + ["4790*"] * 3, "disease": ["Heart"] * 3 + ["Flu", "Heart", "Cancer"]}
    >>> found = check(rows, quasi=["zip"], sensitive="disease")
    >>> found.k, found.distinct_l, found.entropy_l, round(found.t, 4)
    (3, 1, 1.0, 0.3333)

    Args:
        table: a frame, an Arrow table, columns by name, or the path of a CSV or Parquet file; or a table that stays
            where it is, and is counted there: a PostgreSQL URL, a Spark DataFrame or session, a DuckDB file.
        quasi: the columns by which others may know a person.
        sensitive: the columns that nobody may learn of a person; with a hierarchy (or an order) each, if given by name.
        unit: the column that names a person who may have several rows; k then counts persons.
        population: a table with the same quasi-identifiers, recoded alike, that holds the rows of this one, for the
            journalist and the marketer; with `unit`, it needs that column too, for its persons are counted.
        reference: the table that t is measured against, if not this one.
        sep: what separates the cells of a CSV file.
        relation: which table of a database.

    Raises:
        InvalidError: a column is missing or has two roles, or the population does not hold the table.
        SourceError: a database failed.
    """
    there = stays(table, relation)
    held = None if there else read(table, sep=sep)
    names, told = names_of(quasi, "quasi"), _sensitive(sensitive)
    if not names:
        raise InvalidError("quasi", "none", "at least one column by which others may know a person")
    rows = there.tallied(names, tuple(told), unit) if there else read(held)
    roles(rows, names, tuple(told), None if there else unit)
    columns = [rows.column(name) for name in names]
    groups = group([column.codes for column in columns], rows.rows, rows.weights)
    persons = None
    if unit is not None:
        persons = there.persons(columns, groups, unit) if there else spread(groups, rows.column(unit)).different
    whole = None if reference is None else read(reference, sep=sep, argument="reference")
    diversities = {
        name: _diversity(
            spread(groups, rows.column(name), None if whole is None else whole.column(name), rows.weights), groups, tree
        )
        for name, tree in told.items()
    }
    report = _report(rows, columns, groups, persons, diversities, unit, population, sep)
    return replace(report, reference=None if whole is None else whole.rows, notes=_notes(rows, (*names, *told)))


def _notes(rows: Table, names: Sequence[str]) -> tuple[str, ...]:
    empty = [name for name in names if rows.rows and rows.column(name).texts == (None,)]
    return tuple(f"every value of {name} is missing, so it tells nothing apart" for name in empty)


def _sensitive(given: str | Sequence[str] | Mapping[str, Quasi | None]) -> dict[str, Quasi | None]:
    return dict(given) if isinstance(given, Mapping) else dict.fromkeys(names_of(given, "sensitive"))


def names_of(given: object, argument: str) -> tuple[str, ...]:
    """Return the columns that an argument names: one, or a list of them.

    Raises:
        InvalidError: it is neither.
    """
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
        raise InvalidError(argument, show(given), "the name of a column, or a list of names")
    return tuple(given)


def roles(rows: Table, quasi: Sequence[str], sensitive: Sequence[str], unit: str | None) -> None:
    """Check that every column is there and has one role.

    Raises:
        InvalidError: it is not so.
    """
    if isinstance(quasi, str):
        raise InvalidError("quasi", repr(quasi), "a list of columns, or hierarchies by column")
    for name in (*quasi, *sensitive, *(() if unit is None else (unit,))):
        if name not in rows.names:
            raise ColumnNotFoundError(name, rows.names)
    both = [name for name in quasi if name in sensitive or name == unit] + [name for name in sensitive if name == unit]
    if both or len(set(quasi)) < len(quasi):
        twice = both[0] if both else next(name for name in quasi if list(quasi).count(name) > 1)
        raise InvalidError(
            "a column's role", f"{twice!r} in two of them", "one of quasi-identifying, sensitive and unit"
        )


def _report(
    rows: Table,
    columns: Sequence[Column],
    groups: Classes,
    persons: Longs | None,
    diversities: dict[str, Diversity],
    unit: str | None,
    population: object,
    sep: str | None,
) -> Report:
    sizes, many = np.unique(groups.sizes, return_counts=True)
    in_class = groups.sizes if persons is None else persons
    inside = np.asarray(in_class, dtype=np.int64)
    outside = inside
    if population is not None:
        outside = population_sizes(columns, groups, inside, read(population, sep=sep, argument="population"), unit)
    return Report(
        rows.stands_for,
        int(inside.min(initial=rows.stands_for)) if len(groups) else 0,
        {int(size): int(number) for size, number in zip(sizes, many, strict=True)},
        risk_of(groups.sizes, inside, outside),
        diversities,
        tuple(column.name for column in columns),
        unit,
        groups,
        persons,
    )


def _diversity(one: Spread, groups: Classes, tree: Quasi | None) -> Diversity:
    many = np.bincount(one.of, minlength=len(groups))
    if not len(groups):
        return Diversity(0, 0.0, 0.0, None, None, one)
    lowest = entropies(one, groups.sizes)
    ties = np.flatnonzero(lowest <= lowest.min() + _SLACK)[:100]
    return Diversity(
        int(many.min()),
        min(entropy_level(one.counts(int(which))) for which in ties),
        _furthest(one, ground("equal", one.values, None, one.name)),
        _furthest_ordered(one, tree),
        None if tree is None else _furthest(one, ground("hierarchical", one.values, rule(tree), one.name)),
        one,
    )


def _furthest_ordered(one: Spread, tree: Quasi | None) -> float | None:
    try:
        return _furthest(one, ground("ordered", one.values, None if tree is None else rule(tree), one.name))
    except InvalidError:
        return None


def _furthest(one: Spread, measure: Ground) -> float:
    """Return the largest distance of a class from the whole, the last step exactly."""
    furthest = Fraction(0)
    for low, high in one.blocks():
        table: Longs = one.dense(low, high)
        far: Floats = measure.emds(table, one.whole)
        ties = np.flatnonzero(far >= far.max() - _SLACK)[:100]
        furthest = max(furthest, *(measure.emd(table[which], one.whole) for which in ties))
    return float(furthest)
