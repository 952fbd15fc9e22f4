"""An engine that runs statements: everything but where its tables are and how it is spoken to."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tacit.engines.sql.builder import SQL, call, cast, column, literal
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.discovered_groups import OpenStatement, open_statement
from tacit.engines.sql.distinct import distinct_statement, is_distinct
from tacit.engines.sql.histogram import BinStatement, bin_statement, is_binned, split
from tacit.engines.sql.joins import before
from tacit.engines.sql.public_tables import public_policy
from tacit.engines.sql.shown_groups import SHOWN, ShownStatement, apart, shown_statement
from tacit.engines.sql.statement import Statement, statement
from tacit.errors import InvalidError, SourceError, TacitError
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Kind, Value
from tacit.query.histograms import Histograms
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.partition_selection import Choose, DiscoveredGroups

FAILED = (
    "The engine failed while it read the data; what was charged stays charged. What it said is not shown, "
    "since it could tell of the data. Check that the source is still there and unchanged, and that there is memory."
)
NOT_OPENED = (
    "The source could not be opened as a table; nothing was read or spent. Check that it exists, is complete, can be "
    "read, has no column of a type that the engine does not know, and that no other program is writing to it."
)

NOT_READ = (
    "The engine failed while it read the data; nothing was changed and nothing is shown. Check that the source is "
    "still there and unchanged, that it can be read, and that there is memory."
)

S = TypeVar("S", Statement, OpenStatement, BinStatement, ShownStatement)

Secret: TypeAlias = tuple[int, int]
"""The key of the hash that chooses cells: twice 64 bits."""

Parameters: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Sequence[Any]]
Run: TypeAlias = Callable[[str, Parameters], Rows]
"""Runs a statement with parameters (lists of values, and the hash's keys as integers) and returns its rows."""


class StatementEngine(ABC):
    """One table, or several that can be joined, measured by statements of SQL."""

    dialect: Dialect

    def __init__(self, name: str, views: Mapping[str, str], types: Mapping[str, Mapping[str, str]]) -> None:
        """Take the tables: how each is written after FROM, and the types of its columns. The first is the engine's."""
        self.name = name
        self._lock = Lock()
        self._views = dict(views)
        self._tables = {table: dict(columns) for table, columns in types.items()}
        self._types = self._tables[name]

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """Return a context in which statements see one state of the data.

        Whatever goes wrong in it is raised as it comes; callers turn it into a constant text.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the source."""

    def schema(self, table: str | None = None) -> Mapping[str, Kind]:
        """Return the kinds of the columns that can be used; nested and binary ones are left out."""
        types = self._types if table is None else self._tables[table]
        kinds = {column: self.dialect.kind_of(type_name) for column, type_name in types.items()}
        return {column: kind for column, kind in kinds.items() if kind is not None}

    def unusable(self, table: str | None = None) -> tuple[str, ...]:
        """Return the columns whose types cannot be used: nested ones, binary ones, and those of nothing but NULL."""
        types = self._types if table is None else self._tables[table]
        return tuple(name for name, type_name in types.items() if self.dialect.kind_of(type_name) is None)

    def public(self, table: str, kinds: Mapping[str, Kind], neighbours: Neighbours = "add/remove") -> TablePolicy:
        """Read all of a public table, with its columns as these kinds, and return its policy."""

        def ask(run: Run) -> TablePolicy:
            return public_policy(
                lambda sql: run(sql, {}),
                self.dialect,
                self._views[table],
                self._tables[table],
                kinds,
                name=table,
                neighbours=neighbours,
            )

        return self._asked(ask, NOT_OPENED)

    def check(self, plan: Plan) -> None:
        """Refuse, without reading, a plan whose integers would not fit."""
        if plan.open:
            self._looks(plan)
        else:
            self._parts(plan)

    def ready(self) -> None:  # noqa: B027 - an engine that can tell nothing has nothing to do
        """Raise, before anything is charged or read, if the source is known to be gone or is not what was opened.

        What raises here must not depend on any row: only then may it be free. An engine that cannot tell without
        reading does nothing.
        """

    @property
    def located(self) -> str | None:
        """How a policy names the table in its source; None where that is as it was asked for, or not needed."""
        return None

    def measure(self, plan: Plan) -> list[list[int]]:
        """Read the rows and return the plan's exact integers, the hash keyed afresh."""
        return self.measure_with(plan, (secrets.randbits(64), secrets.randbits(64)))

    def measure_with(self, plan: Plan, secret: Secret) -> list[list[int]]:
        """Return the plan's exact integers under a key of the hash; for tests, which need the same choice twice."""
        asked = sum(len(bundle.measures) for bundle in plan.bundles)
        answer: list[list[int]] = [[] for _ in range(asked)]
        if plan.cells == 0 or not asked:
            return answer
        made = self._parts(plan)

        def ask(run: Run) -> list[list[list[int]]]:
            self._look_again(run, plan)
            return [one.read(run(one.sql, keyed(one, secret))) for _, one in made]

        for (places, _), read in zip(made, self._asked(ask), strict=True):
            for place, integers in zip(places, read * len(places) if len(read) == 1 else read, strict=True):
                answer[place] = integers
        return answer

    def find(self, plan: Plan, choose: Choose) -> DiscoveredGroups:
        """Read the rows and return the groups that are chosen, the hash keyed afresh."""
        return self.find_with(plan, choose, (secrets.randbits(64), secrets.randbits(64)))

    def find_with(self, plan: Plan, choose: Choose, secret: Secret) -> DiscoveredGroups:
        """Return the groups that are chosen, under a key of the hash; for tests, as above."""
        made = self._looks(plan)

        def ask(run: Run) -> DiscoveredGroups:
            self._look_again(run, plan)
            return self._found(run, made, secret, choose)

        return self._asked(ask)

    def _look_again(self, run: Run, plan: Plan) -> None:
        """Raise if what a plan relies on may have changed since the tables were opened, and did; before it is measured.

        An engine that keeps public tables as they were has nothing to look at.
        """
        del run, plan

    def tally(self, columns: Sequence[str], *, different: str | None = None, table: str | None = None) -> Rows:
        """Return how many rows share their values in some columns: rows (values …, count). Exact, not private.

        Values are the very values, so that none are taken for each other, but for NaN, which is NULL, and the empty
        text, which is NULL too. Days and moments come as the engine writes them: Python has no nanoseconds, no infinite
        day and no year 10,000, and would take some for each other. No session asks this; it is for tables that are
        about to be published row by row.

        Args:
            columns: what rows share; a name that is no usable column is an InvalidError.
            different: a column whose different values are counted in place of rows, NULL being one.
            table: which of the tables; the engine's own by default.
        """
        types = self._types if table is None else self._tables[table]
        dialect, view = self.dialect, self._views[self.name if table is None else table]
        read = {name: self._as_it_is(name, types) for name in (*columns, *([different] if different else []))}
        told = [self._told(read[name], types[name]) for name in columns]
        named = ", ".join(f"{dialect.text(value)} AS c{place}" for place, value in enumerate(told))
        counted, inner = "COUNT(*)", named
        if different is not None:
            inner = f"{named}, {dialect.text(read[different])} AS d"
            counted = "COUNT(DISTINCT d) + MAX(CASE WHEN d IS NULL THEN 1 ELSE 0 END)"
        by = ", ".join(f"c{place}" for place in range(len(columns)))
        sql = f"SELECT {by}, {counted} FROM (SELECT {inner} FROM {view}) AS held GROUP BY {by}"  # noqa: S608 - all of it is ours
        return self._asked(lambda run: run(sql, {}), NOT_READ)

    def _told(self, value: SQL, type_name: str) -> SQL:
        """Return a value as one that Python can hold: a day or a moment is text, one for each."""
        return cast(value, "TEXT") if self.dialect.kind_of(type_name) in {"date", "timestamp"} else value

    def _as_it_is(self, name: str, types: Mapping[str, str]) -> SQL:
        kind = self.dialect.kind_of(types[name]) if name in types else None
        if kind is None:
            usable = ", ".join(repr(one) for one, type_name in types.items() if self.dialect.kind_of(type_name))
            raise InvalidError("a column", repr(name), f"one of the table's that can be used: {usable}")
        if kind == "text":  # of other types, such as UUID, each value has a text of its own
            return call("NULLIF", self.dialect.told_apart(column(name), types[name]), literal("", "text"))
        return self.dialect.read_unit(column(name), types[name], kind)

    def _asked(self, ask: Callable[[Run], T], failed: str = FAILED) -> T:
        """Return what is asked within one reading; whatever an engine says becomes one text."""
        found: list[T] = []
        try:
            with self._lock, self._reading() as run:
                found.append(ask(run))
        except TacitError:
            raise
        except Exception:  # noqa: BLE001 - whatever it says could tell of the data
            found.clear()  # it may have failed at the very end, with the answer in hand
        if not found:  # outside of `except`, so that not even the context carries the engine's text
            raise SourceError(failed)
        return found[0]

    def _made(self, plan: Plan, make: Callable[[Plan, Mapping[str, str], Dialect], S]) -> S:
        """Return a plan's statement, over the table or the join that it names."""
        parts, types = before(plan, self._views, self._tables, self.dialect)
        made = make(plan, types, self.dialect)
        return replace(made, sql=made.sql.replace("WITH ", f"WITH {parts},\n", 1)) if parts else made

    def _parts(self, plan: Plan) -> list[tuple[tuple[int, ...], Statement | BinStatement]]:
        """Return a plan's statements, each with the places of the measures that it answers: all, or one several times.

        They choose the same cells, since they hash the same units and cells with the same keys.
        """
        return [
            (places, self._made(part, bin_statement) if is_binned(part) else self._made(part, _maker(part)))
            for places, part in split(plan)
        ]

    def _looks(self, plan: Plan) -> Looks:
        """Return the statements of a plan whose groups are found, each with the places of its measures."""
        (own, plain), later = apart(plan)
        return Looks(
            own,
            tuple(key.expression.kind for key in plan.keys),
            self._made(plain, open_statement),
            [(places, self._made(part, shown_statement)) for places, part in later],
        )

    def _found(self, run: Run, made: Looks, secret: Secret, choose: Choose) -> DiscoveredGroups:
        """Return the groups that are chosen: all groups are held in memory, and only while this runs.

        They stand in the order of their keys, which is not the order of any rows, before anything is chosen.
        """
        first, size = made.first, made.first.keys
        groups = sorted(map(tuple, run(first.sql, keyed(first, secret))), key=lambda row: order_of(row[:size]))
        units = np.array([int(row[size] or 0) for row in groups], dtype=np.int64)
        places = [int(place) for place in choose(units)]
        places.sort()
        shown = [groups[place] for place in places]
        later = [(own, self._shown(run, one, made, shown, secret)) for own, one in made.later]
        return made.put_together(shown, places, later)

    def _shown(
        self, run: Run, one: ShownStatement, made: Looks, shown: Sequence[Sequence[Value]], secret: Secret
    ) -> Histograms | list[int]:
        """Return what is measured of shown groups, whose keys are public by now, given as lists."""
        listed = [(f"s{place}", f"g{place}", kind) for place, kind in enumerate(made.kinds)]
        table = f"{SHOWN} AS ({self.dialect.listed(listed, 'place', len(shown))}),\n"
        keys = {f"s{place}": [row[place] for row in shown] for place in range(len(made.kinds))}
        rows = run(one.sql.replace("WITH ", f"WITH {table}", 1), {**keyed(one, secret), **keys})
        columns = np.array([[int(value) for value in row] for row in rows], dtype=np.int64).reshape(-1, 4).T
        return one.read(dict(zip(("place", "bin", "low", "high"), columns, strict=True)), len(shown))


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Looks:
    """How groups are found and measured: first with plain sums, then with all else, of those that are shown."""

    places: tuple[int, ...]
    kinds: tuple[Kind, ...]
    first: OpenStatement
    later: list[tuple[tuple[int, ...], ShownStatement]]

    def put_together(
        self,
        shown: Sequence[tuple[Any, ...]],
        places: Sequence[int],
        later: Sequence[tuple[tuple[int, ...], list[int] | Histograms]],
    ) -> DiscoveredGroups:
        """Return the groups that are shown: their rows of the first look, their places in it, and what came later."""
        integers = dict[int, list[int] | Histograms](zip(self.places, self.first.read(shown), strict=True))
        integers |= {place: own for own_places, own in later for place in own_places}
        keys = [row[: self.first.keys] for row in shown]
        return DiscoveredGroups(keys, list(places), [integers[place] for place in range(len(integers))])


def order_of(keys: Sequence[Any]) -> tuple[tuple[bool, Any], ...]:
    """Return what orders groups: by their keys, NULL last."""
    return tuple((key is None, 0 if key is None else key) for key in keys)


def keyed(one: Statement | BinStatement | OpenStatement | ShownStatement, secret: Secret) -> dict[str, Any]:
    """Return a statement's parameters, with the hash's keys where it draws."""
    return {**one.parameters, **(dict(zip(("h0", "h1"), secret, strict=True)) if one.draws else {})}


def _maker(plan: Plan) -> Callable[[Plan, Mapping[str, str], Dialect], Statement]:
    return distinct_statement if is_distinct(plan) else statement
