"""The sensitivity of any function, by brute force over all small tables.

The tables are all lists of rows from a finite domain: under "change one" those of n rows, under "add/remove" those of
at most n rows. Two of them are neighbours if one row has another value, or if one row was inserted or left out, at any
place. For a norm ‖·‖,

    local      LS(x)  = max ‖f(x) - f(y)‖ over neighbours y of x,
    global     Δ      = max LS(x) over all tables x,
    smooth     S_β(x) = max LS(y)·e^(-β·d(x,y)) over all tables y, d the number of steps from x to y

(Nissim, Raskhodnikova and Smith, STOC 2007, definitions 1.5 and 2.2). S_β is at least LS and changes by at most e^β
between neighbours: d(x',y) ≤ d(x,y) + 1 for neighbours x and x'.

**Scope.** The numbers are exact for this domain and these tables, and for no others. Under "add/remove" a table of more
than n rows is not covered. A local or a smooth sensitivity is private: it depends on the data.

**Symmetric functions.** If the order of the rows does not matter, multisets suffice, and there are far fewer of them.
Two lists are neighbours in some order exactly if their multisets are neighbours, so all three numbers are the same.
The caller states it (`symmetric=True`), and f is also called with the rows of each table in reverse.

**On real bits.** Results of f are compared as rationals: integers and fractions exactly, a float as the decimal that
Python prints. A float has the rounding errors of f; return a `Fraction` to avoid them. S_β is rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, log1p
from typing import cast, get_args

import numpy as np

from tacit.errors import InvalidError, bad_value, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Exact, Number, positive, round_up, to_fraction, whole
from tacit.mechanisms.sensitivity import Sensitivity
from tacit.mechanisms.small_tables import COUNTLESS, Evaluations, Function, Table, Tables
from tacit.mechanisms.validation import flag, one_of, probability
from tacit.notebook import ShownAsLines

_MOST_ROWS = 1000
_MOST_TABLES = 10**7
_UP = 1 + 2.0**-40


@dataclass(frozen=True, slots=True)
class _Distances:
    """The norms of differences, and whether every value is an integer."""

    evaluations: Evaluations

    def largest(self, pairs: Iterable[tuple[Table, Table]]) -> Sensitivity:
        """Return the largest distance of pairs of tables in each norm."""
        l1 = squared = linf = cast("Fraction", 0)  # integers are compared as such, which is faster
        integral = True
        for one, other in pairs:
            first, second = self.evaluations.evaluate(one), self.evaluations.evaluate(other)
            gaps = cast("list[Fraction]", [abs(a - b) for a, b in zip(first, second, strict=True)])
            integral = integral and all(isinstance(x, int) for x in (*first, *second))
            l1, linf = max(l1, sum(gaps[1:], gaps[0])), max(linf, *gaps)
            squared = max(squared, sum((gap * gap for gap in gaps[1:]), gaps[0] ** 2))
        sizes = tuple(map(Fraction, (l1, squared, linf)))
        return Sensitivity(*(int(size) for size in sizes)) if integral else Sensitivity(*map(Exact, sizes))


class FunctionSensitivity(ShownAsLines):
    """The sensitivity of a function over all small tables; see the module.

    Attributes:
        neighbours: the relation that was asked for; None for both.
        tables: the number of tables on which the function was evaluated.
    """

    def __init__(
        self,
        function: Function,
        domain: Iterable[object],
        n: int,
        neighbours: Neighbours | None,
        symmetric: bool,  # noqa: FBT001 - `of` has keywords
        limit: int,
    ) -> None:
        """Check the arguments and evaluate the function on all tables."""
        values, rows = _read_domain(domain), _read_rows(n)
        if neighbours is not None and neighbours not in get_args(Neighbours):
            raise bad_value("neighbours", neighbours, "'add/remove', 'change one' or None")
        if not callable(function):
            raise bad_value("f", function, "a function of a list of rows")
        self.neighbours = neighbours
        self._evaluations = Evaluations(function, values, flag(symmetric, "symmetric"))
        self._relations: dict[Neighbours, Tables] = {}
        self._sizes: dict[Neighbours, Sensitivity | InvalidError] = {}
        wanted: tuple[Neighbours, ...] = ("change one", "add/remove") if neighbours is None else (neighbours,)
        for relation in wanted:
            self._relations[relation] = Tables(len(values), rows, relation, symmetric)
            _check_number(self._relations[relation], limit)
        for relation in wanted:
            self._sizes[relation] = self._global(relation)
        self.tables = len(self._evaluations.known)
        if len(wanted) == 1 or all(isinstance(size, InvalidError) for size in self._sizes.values()):
            self._size(wanted[0])

    def _global(self, relation: Neighbours) -> Sensitivity | InvalidError:
        tables = self._relations[relation]
        every = (table for size in tables.sizes for table in tables.of_size(size))
        pairs = ((table, other) for table in every for other in tables.smaller(table) or {table})
        try:
            return _Distances(self._evaluations).largest(pairs)
        except InvalidError as error:
            return error

    def _size(self, relation: Neighbours) -> Sensitivity:
        if relation not in self._sizes:
            message = f"This sensitivity was computed for neighbours={self.neighbours!r} alone."
            raise InvalidError(message, argument="neighbours", hint="Call tc.sensitivity.of again for the other one.")
        size = self._sizes[relation]
        if isinstance(size, InvalidError):
            raise size
        return size

    @property
    def change_one(self) -> Sensitivity:
        """The global sensitivity if one row changes its value."""
        return self._size("change one")

    @property
    def add_remove(self) -> Sensitivity:
        """The global sensitivity if one row is added or removed."""
        return self._size("add/remove")

    @property
    def l1(self) -> int | Exact:
        """The largest L1 distance, of the relation that was asked for, or of both."""
        return max(self._size(relation).l1 for relation in self._sizes)

    @property
    def l2_squared(self) -> int | Exact:
        """The largest squared L2 distance."""
        return max(self._size(relation).l2_squared for relation in self._sizes)

    @property
    def l2(self) -> float:
        """The largest L2 distance, rounded up."""
        return max(self._size(relation).l2 for relation in self._sizes)

    @property
    def linf(self) -> int | Exact:
        """The largest distance in one output."""
        return max(self._size(relation).linf for relation in self._sizes)

    def local(self, data: object, *, neighbours: Neighbours | None = None) -> Sensitivity:
        """Return the local sensitivity at a table: the largest distance to its neighbours. It is private.

        Args:
            data: the rows, each a value of the domain.
            neighbours: the relation, if the sensitivity was computed for both.
        """
        tables = self._tables(neighbours)
        table = self._read_table(data, tables)
        pairs = ((table, other) for other in tables.neighbours(table) or {table})
        return _Distances(self._evaluations).largest(pairs)

    def smooth(
        self,
        data: object,
        *,
        beta: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        neighbours: Neighbours | None = None,
    ) -> float:
        """Return the β-smooth sensitivity in L1 at a table, rounded up. It is private.

        With ε and δ, β = ln(1 + ε/(2·ln(2/δ))): discrete Laplace noise of scale 2S/ε on one number is then (ε,δ)-DP,
        as the module of `SmoothMedian` proves. For vectors, pass β.

        Args:
            data: the rows, each a value of the domain.
            beta: β > 0; or
            epsilon: ε, with
            delta: δ.
            neighbours: the relation, if the sensitivity was computed for both.
        """
        tables = self._tables(neighbours)
        rate = self._rate(beta, epsilon, delta)
        best, decay = 0.0, 1.0
        distances = _Distances(self._evaluations)
        for step, layer in enumerate(_layers(tables, self._read_table(data, tables))):
            decay = exp(-rate * step) * _UP
            pairs = ((table, other) for table in layer for other in tables.neighbours(table) or {table})
            best = max(best, round_up(to_fraction(distances.largest(pairs).l1, "l1")) * decay)
        return best * _UP if decay < 1 else best

    def _rate(self, beta: Number | None, epsilon: Number | None, delta: Number | None) -> float:
        """Return β, rounded down."""
        if one_of(beta=beta, epsilon=epsilon) == "beta":
            if delta is not None:
                raise InvalidError("delta has no effect with beta.", argument="delta", hint="Remove it.")
            return float(positive(beta, "beta")) / _UP
        if self._evaluations.outputs != 1:
            raise InvalidError("For a vector, ε and δ do not fix β.", argument="epsilon", hint="Pass beta.")
        if delta is None:
            raise InvalidError("delta is missing: epsilon needs it.", argument="delta", hint="Pass delta with epsilon.")
        return log1p(float(positive(epsilon, "epsilon")) / (2 * log(2 / probability(delta, "delta")))) / _UP

    def _tables(self, neighbours: Neighbours | None) -> Tables:
        if neighbours is None and len(self._relations) > 1:
            hint = "Pass neighbours='add/remove' or neighbours='change one'."
            raise InvalidError("The neighbour relation is missing.", argument="neighbours", hint=hint)
        relation = next(iter(self._relations)) if neighbours is None else neighbours
        self._size(relation)
        return self._relations[relation]

    def _read_table(self, data: object, tables: Tables) -> Table:
        rows = None if isinstance(data, (str, bytes)) or not isinstance(data, Iterable) else list(data)
        if rows is None or len(rows) not in tables.sizes:
            sizes = tables.sizes
            most = f"{sizes[0]} rows" if len(sizes) == 1 else f"at most {sizes[-1]} rows"
            raise InvalidError(f"data must be a list of {most}.", argument="data")
        domain = self._evaluations.domain
        places = [next((i for i, value in enumerate(domain) if _equal(value, row)), None) for row in rows]
        if None in places:
            raise InvalidError("A row of data is not in the domain.", argument="data")
        found = tuple(place for place in places if place is not None)
        return tuple(sorted(found)) if tables.symmetric else found

    def __repr__(self) -> str:
        """Return one line for each relation."""
        lines = [f"Sensitivity over {self.tables:,} tables"]
        for relation, size in self._sizes.items():
            lines.append(f"{relation}: {size.message if isinstance(size, InvalidError) else size}")
        return "\n".join(lines)


def _layers(tables: Tables, start: Table) -> Iterator[set[Table]]:
    """Return the tables at each number of steps from the first one."""
    seen, layer = {start}, {start}
    while layer:
        yield layer
        layer = {other for table in layer for other in tables.neighbours(table)} - seen
        seen |= layer


def _read_domain(domain: object) -> tuple[object, ...]:
    if isinstance(domain, (str, bytes)) or not isinstance(domain, Iterable) or not isinstance(domain, Sized):
        raise bad_value("domain", domain, "a list of the values that a row may have")
    if not 1 <= len(domain) <= _MOST_TABLES:
        raise InvalidError(f"domain must hold from 1 to {_MOST_TABLES:,} values.", argument="domain")
    values = tuple(domain.tolist() if isinstance(domain, np.ndarray) else domain)
    if any(not _equal(value, value) for value in values):
        raise InvalidError("domain must not hold NaN or NA.", argument="domain")
    if len(values) <= _MOST_ROWS and any(_equal(a, b) for i, a in enumerate(values) for b in values[:i]):
        raise InvalidError("domain holds a value twice.", argument="domain", hint="Remove one of them.")
    return values


def _equal(one: object, other: object) -> bool:
    """Return True if two values are equal; NaN and pandas.NA are not equal to themselves."""
    try:
        if isinstance(one, np.ndarray) and one.shape != np.asarray(other).shape:
            return False
        return bool(np.all(one == other))
    except (TypeError, ValueError):
        return False


def _read_rows(n: object) -> int:
    number = whole(n)
    if number is None or not 1 <= number <= _MOST_ROWS:
        raise bad_value("n", n, f"a whole number from 1 to {_MOST_ROWS:,}")
    return number


def _check_number(tables: Tables, limit: object) -> None:
    most = whole(limit)
    if most is None or not 1 <= most <= _MOST_TABLES:
        raise bad_value("limit", limit, f"a whole number from 1 to {_MOST_TABLES:,}")
    number = tables.number()
    if number <= most:
        return
    many = f"{number:,}" if number < COUNTLESS else "more than 10^18"
    size = f"{tables.rows} rows" if tables.relation == "change one" else f"at most {tables.rows} rows"
    hint = "Use fewer rows or values, or a larger limit."
    if not tables.symmetric:
        hint += " If the order of the rows does not matter, symmetric=True needs far fewer tables."
    message = f"There are {many} tables of {size} over {show(tables.values)} values, and the limit is {most:,}."
    raise InvalidError(message, argument="limit", hint=hint)
