"""The report on a table: how anonymous, diverse and close its classes are, and the risks of identification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tacit import plots
from tacit.anonymity.classes import (
    ClassCounts,
    Classes,
    count_values,
    entropies,
    entropy_level,
    failing,
    group,
    tops_and_tails,
)
from tacit.anonymity.count_in_database import RemoteTable, open_remote
from tacit.anonymity.distances import GroundDistance, ground_distance
from tacit.anonymity.hierarchies import HierarchyRule, HierarchySource, to_rule
from tacit.anonymity.privacy_models import KAnonymity, Model, column_of, describe, require_model
from tacit.anonymity.roles import check_roles, column_names
from tacit.anonymity.tables import CodedColumn, CodedTable, read
from tacit.arrays import Bools, Floats, Ints
from tacit.errors import InvalidError, UnusedOptionError, bad_value
from tacit.notebook import ShownAsLines
from tacit.safe_text import visible

if TYPE_CHECKING:
    import altair as alt

_SAFE, _SLACK = 5, 1e-9


@dataclass(frozen=True, slots=True)
class Risk:
    """The probability that an attacker identifies the person of a row.

    Attributes:
        prosecutor: for an attacker who knows that a person is in the table: 1 / size of the smallest class.
        journalist: for one who knows only a population that includes the table: 1 / size of the smallest class there.
        marketer: the expected share of rows that are identified by a guess for each of them.
        unique: the share of rows that are alone in their class.
        at_risk: the share of rows with a probability above 0.2.

    The size of a class is its number of rows; with a unit, its number of persons, in the population too.
    """

    prosecutor: float
    journalist: float
    marketer: float
    unique: float
    at_risk: float


@dataclass(frozen=True, slots=True)
class Diversity:
    """One sensitive column: the worst class by each measure.

    Attributes:
        distinct_l: the least number of different values in a class.
        entropy_l: e^H of the class with the least entropy H.
        t: the largest distance of a class from the whole, by the equal distance.
        t_ordered: the same by the ordered distance; None if the values have no order.
        t_hierarchical: the same by the hierarchical distance; None without a hierarchy.
    """

    distinct_l: int
    entropy_l: float
    t: float
    t_ordered: float | None
    t_hierarchical: float | None
    counts: ClassCounts = field(repr=False, compare=False)

    def recursive_c(self, l: int) -> float:  # noqa: E741 - the literature's letter
        """Return c₀: the column is recursively (c, l)-diverse for every c > c₀, and for no other c.

        Raises:
            InvalidError: l is not a whole number ≥ 1.
        """
        if type(l) is not int or l < 1:
            raise bad_value("l", l, "a whole number ≥ 1")
        most, tail = tops_and_tails(self.counts, l)
        return (
            inf
            if not tail.all()
            else max((float(Fraction(int(a), int(b))) for a, b in zip(most, tail, strict=True)), default=0.0)
        )


@dataclass(frozen=True, slots=True, repr=False)
class Report(ShownAsLines):
    """The result of `check`; `print` shows it.

    Attributes:
        rows: in the table.
        k: rows in the smallest class; with `unit=`, persons.
        classes: the number of classes of each size.
        risk: of identifying the person of a row.
        sensitive: the diversity of each sensitive column.
        reference: rows of the table that t is measured against; None if that is the table itself.
        notes: facts that change the meaning of these numbers.
        quasi: the quasi-identifiers.
        unit: the column of persons, if there is one.
        groups: the classes of the rows.
        persons: the number of persons of each class, with `unit=`.
    """

    rows: int
    k: int
    classes: dict[int, int]
    risk: Risk
    sensitive: dict[str, Diversity]
    quasi: tuple[str, ...]
    unit: str | None
    groups: Classes = field(repr=False, compare=False)
    persons: Ints | None = field(repr=False, compare=False)
    reference: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def distinct_l(self) -> int | None:
        """The least number of different sensitive values in a class, over all sensitive columns."""
        return min((column.distinct_l for column in self.sensitive.values()), default=None)

    @property
    def entropy_l(self) -> float | None:
        """The least e^H of a class, over all sensitive columns."""
        return min((column.entropy_l for column in self.sensitive.values()), default=None)

    @property
    def t(self) -> float | None:
        """The largest distance of a class from the whole, over all sensitive columns, by the equal distance."""
        return max((column.t for column in self.sensitive.values()), default=None)

    def failing(self, model: Model) -> int:
        """Return the number of classes that fail a requirement, decided exactly.

        Args:
            model: a requirement, such as `tc.KAnonymity(5)`.
        """
        return int(self.fails(model).sum())

    def meets(self, *models: Model) -> bool:
        """Return whether every class meets every requirement, decided exactly.

        Args:
            models: requirements, such as `tc.KAnonymity(5)`.
        """
        return not any(self.failing(model) for model in models)

    def fails(self, model: Model) -> Bools:
        """Return which classes fail a requirement.

        Args:
            model: a requirement, such as `tc.KAnonymity(5)`.
        """
        require_model(model)
        named = column_of(model)
        if named is not None and named not in self.sensitive:
            raise InvalidError(
                f"{describe(model)} is about {named!r}, which is not one of the sensitive columns.",
                argument=f"the column of {describe(model)}",
            )
        if not isinstance(model, KAnonymity) and not self.sensitive:
            raise InvalidError(
                f"{describe(model)} needs a sensitive column.", argument="sensitive", hint="Give sensitive= to `check`."
            )
        counts = [column.counts for name, column in self.sensitive.items() if named in {None, name}]
        return failing(model, self.groups, counts, self.persons)

    def plot(self) -> alt.LayerChart:
        """Draw the number of rows in classes of each size."""
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
        lines += [_line(name, column) for name, column in self.sensitive.items()]
        if self.reference is not None and self.sensitive:
            lines.append(f"t is measured against a reference of {self.reference:,} rows")
        return "\n".join(map(visible, [*lines, *(f"note: {note}" for note in self.notes)]))

    def __repr__(self) -> str:
        """Return the headline on one line."""
        diversity = (
            "" if self.t is None else f", distinct_l={self.distinct_l}, entropy_l={self.entropy_l:.4g}, t={self.t:.4g}"
        )
        return f"Report(rows={self.rows}, k={self.k}{diversity}, prosecutor={self.risk.prosecutor:.4g})"


def _line(name: str, column: Diversity) -> str:
    others = [("ordered", column.t_ordered), ("hierarchical", column.t_hierarchical)]
    more = "".join(f", {kind} {value:.4g}" for kind, value in others if value is not None)
    return f"{name}: distinct l = {column.distinct_l}, entropy l = {column.entropy_l:.4g}, t = {column.t:.4g}{more}"


def check(
    table: object,
    *,
    quasi: Sequence[str] | Mapping[str, object],
    sensitive: str | Sequence[str] | Mapping[str, HierarchySource | None] | None = None,
    unit: str | None = None,
    population: object = None,
    reference: object = None,
    sep: str | None = None,
    relation: str | None = None,
) -> Report:
    """Return how anonymous, diverse and close any table is, published or not.

    A missing value is a separate value, in quasi-identifiers and in sensitive columns.

    >>> rows = {"zip": ["476**"] * 3 + ["4790*"] * 3, "disease": ["Heart"] * 3 + ["Flu", "Heart", "Cancer"]}
    >>> report = check(rows, quasi=["zip"], sensitive="disease")
    >>> report.k, report.distinct_l, report.entropy_l, round(report.t, 4)
    (3, 1, 1.0, 0.3333)

    Args:
        table: a frame, an Arrow table, columns by name, or the path of a CSV or Parquet file; or a table in a database,
            which counts its rows: a PostgreSQL URL, a Spark DataFrame or session, a DuckDB file.
        quasi: the columns by which others may know a person.
        sensitive: the columns that nobody may learn about a person; as a mapping, each with a hierarchy or an order.
        unit: the column that identifies a person who may have several rows; k then counts persons.
        population: a table that includes the rows of this one, with the same quasi-identifiers, recoded alike, and with
            the column of `unit`, for the risks of the journalist and the marketer.
        reference: the table that t is measured against, if not this one; it needs a sensitive column.
        sep: the separator of the cells of a CSV file.
        relation: the name of the table in a database.

    Raises:
        InvalidError: a column does not exist or has two roles, or the population does not include the table.
        SourceError: a database failed.
    """
    source = open_remote(table, relation) or read(table, sep=sep)
    columns = dict(sensitive) if isinstance(sensitive, Mapping) else dict.fromkeys(column_names(sensitive, "sensitive"))
    if reference is not None and not columns:
        raise UnusedOptionError("reference", "without sensitive=", hint="Remove it, or name a sensitive column.")
    counted = _count_classes(source, column_names(quasi, "quasi"), tuple(columns), unit)
    whole = None if reference is None else read(reference, sep=sep, argument="reference")
    diversities = {name: _diversity(_counts(counted, name, whole), counted.classes, columns[name]) for name in columns}
    report = _report(counted, diversities, unit, population, sep)
    return replace(
        report, reference=None if whole is None else whole.rows, notes=_notes(counted.rows, diversities, counted.quasi)
    )


@dataclass(frozen=True, slots=True)
class _CountedTable:
    """A table with its quasi-identifiers, its classes, and the persons in each class."""

    rows: CodedTable
    quasi: tuple[CodedColumn, ...]
    classes: Classes
    persons: Ints | None


def _count_classes(
    source: RemoteTable | CodedTable, quasi: tuple[str, ...], sensitive: tuple[str, ...], unit: str | None
) -> _CountedTable:
    """Return the classes of a table, which the database counts if the table is in one."""
    if not quasi:
        raise InvalidError(
            "quasi is empty.",
            argument="quasi",
            hint="Name at least one column by which others may know a person, with quasi= or --quasi.",
        )
    remote = source if isinstance(source, RemoteTable) else None
    rows = remote.count_rows(quasi, sensitive, unit) if remote else read(source)
    check_roles(rows, quasi, sensitive, None if remote else unit)
    columns = tuple(rows.column(name) for name in quasi)
    classes = group([column.codes for column in columns], rows.rows, rows.weights)
    persons = None
    if unit is not None:
        persons = remote.count_persons(columns, classes, unit) if remote else _persons(rows, classes, unit)
    return _CountedTable(rows, columns, classes, persons)


def _persons(rows: CodedTable, classes: Classes, unit: str) -> Ints:
    return count_values(classes, rows.column(unit)).different


def _counts(counted: _CountedTable, name: str, whole: CodedTable | None) -> ClassCounts:
    reference = None if whole is None else whole.column(name)
    return count_values(counted.classes, counted.rows.column(name), reference, counted.rows.weights)


def _notes(rows: CodedTable, sensitive: Iterable[str], quasi: Sequence[CodedColumn]) -> tuple[str, ...]:
    names = (*(column.name for column in quasi), *sensitive)
    empty = [name for name in names if rows.rows and rows.column(name).texts == (None,)]
    return tuple(f"every value of {name} is missing, so it does not distinguish any rows" for name in empty)


def _report(
    counted: _CountedTable, diversities: dict[str, Diversity], unit: str | None, population: object, sep: str | None
) -> Report:
    classes, total = counted.classes, counted.rows.total
    sizes, many = np.unique(classes.sizes, return_counts=True)
    inside = np.asarray(classes.sizes if counted.persons is None else counted.persons, dtype=np.int64)
    outside = inside
    if population is not None:
        whole = read(population, sep=sep, argument="population")
        outside = _population_sizes(counted.quasi, classes, inside, whole, unit)
    return Report(
        total,
        int(inside.min(initial=total)) if len(classes) else 0,
        {int(size): int(number) for size, number in zip(sizes, many, strict=True)},
        _risk(classes.sizes, inside, outside),
        diversities,
        tuple(column.name for column in counted.quasi),
        unit,
        classes,
        counted.persons,
    )


def _diversity(counts: ClassCounts, classes: Classes, source: HierarchySource | None) -> Diversity:
    if not len(classes):
        return Diversity(0, 0.0, 0.0, None, None, counts)
    rule = None if source is None else to_rule(source)
    lowest = entropies(counts, classes.sizes)
    ties = np.flatnonzero(lowest <= lowest.min() + _SLACK)[:100]
    t_hierarchical = None
    if rule is not None:
        t_hierarchical = _furthest(counts, ground_distance("hierarchical", counts.values, rule, counts.name))
    return Diversity(
        int(counts.different.min()),
        min(entropy_level(counts.of_class(int(which))) for which in ties),
        _furthest(counts, ground_distance("equal", counts.values, None, counts.name)),
        _furthest_ordered(counts, rule),
        t_hierarchical,
        counts,
    )


def _furthest_ordered(counts: ClassCounts, rule: HierarchyRule | None) -> float | None:
    try:
        return _furthest(counts, ground_distance("ordered", counts.values, rule, counts.name))
    except InvalidError:  # the values have no order
        return None


def _furthest(counts: ClassCounts, distance: GroundDistance) -> float:
    """Return the largest distance of a class from the whole; exact among the classes near the largest."""
    furthest = Fraction(0)
    for low, high in counts.blocks():
        table: Ints = counts.dense(low, high)
        far: Floats = distance.emds(table, counts.whole)
        ties = np.flatnonzero(far >= far.max() - _SLACK)[:100]
        furthest = max(furthest, *(distance.emd(table[which], counts.whole) for which in ties))
    return float(furthest)


def _population_sizes(
    columns: Sequence[CodedColumn], classes: Classes, inside: Ints, population: CodedTable, unit: str | None
) -> Ints:
    """Return the size of every class in the population: its rows, or its persons.

    Raises:
        InvalidError: the population lacks a column, or a class is smaller there than in the table.
    """
    codes = []
    for column in columns:
        other = population.column(column.name)
        code_of = {value: code for code, value in enumerate(column.texts)}
        own_codes = np.array([code_of.get(value, -1) for value in other.texts] or [0], dtype=np.int64)
        codes.append(own_codes[other.codes] + 1)
    both = [np.concatenate([column, classes.shared[:, at] + 1]) for at, column in enumerate(codes)]
    joint = group(both, population.rows + len(classes))
    ids = joint.ids[: population.rows]
    if unit is not None:
        if unit not in population.names:
            raise InvalidError(
                f"The population has no column {unit!r}, so its persons cannot be counted.", argument="population"
            )
        ids = group([ids, population.column(unit).codes], population.rows).shared[:, 0]
    sizes = np.bincount(ids, minlength=len(joint))[joint.ids[population.rows :]]
    smaller = int((sizes < inside).sum())
    if smaller:
        raise InvalidError(
            f"{smaller:,} of the table's {len(inside):,} classes are absent or smaller in the population.",
            argument="population",
            hint="Give a population that includes every row of the table, with quasi-identifiers recoded alike.",
        )
    return np.asarray(sizes, dtype=np.int64)


def _risk(sizes: Ints, persons: Ints, outside: Ints) -> Risk:
    """Return the risks, given the rows, the persons, and the persons of the population in every class."""
    if not len(sizes):
        return Risk(0.0, 0.0, 0.0, 0.0, 0.0)
    rows = sizes.sum()
    return Risk(
        float(1 / persons.min()),
        float(1 / outside.min()),
        float((sizes / outside).sum() / rows),
        float(sizes[persons == 1].sum() / rows),
        float(sizes[persons < _SAFE].sum() / rows),
    )
