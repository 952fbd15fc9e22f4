"""An engine that runs SQL statements: all of it except where its tables are and how it connects to them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tacit.engines.sql.basket_statement import BasketStatement, basket_statement
from tacit.engines.sql.builder import SQL, call, cast, column, literal
from tacit.engines.sql.coded_statement import CodedStatement, Words, coded_statement
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.discovered_groups import (
    SHOWN,
    OpenStatement,
    ShownStatement,
    open_statement,
    shown_statement,
    split_passes,
)
from tacit.engines.sql.distinct_statement import distinct_statement, is_distinct
from tacit.engines.sql.found_groups import FoundGroups
from tacit.engines.sql.histogram import BinStatement, bin_statement, is_binned, split
from tacit.engines.sql.joined_rows import joined_source
from tacit.engines.sql.joint_statement import JointStatement, is_joint, joined_parts, joint_statement
from tacit.engines.sql.public_tables import public_policy
from tacit.engines.sql.reading import NOT_READ, ReadingEngine
from tacit.engines.sql.runner import ResultRows, StatementRunner
from tacit.engines.sql.statement import SOURCE, Statement, integer_statement, statement, weighs
from tacit.engines.sql.statement_runs import MeasureStatement, Passes, Secret, integers_of, parameters_of
from tacit.engines.sql.unit_sizes import counts_sizes, size_statement
from tacit.engines.sql.weighted_statement import weighted_statement
from tacit.errors import ColumnNotFoundError
from tacit.guarantees.events import Neighbours
from tacit.query.basket_table import BasketSource
from tacit.query.coded_table import AbsorbCodes, CodedTable
from tacit.query.expressions import Kind, Value
from tacit.query.histograms import Absorb, Histograms
from tacit.query.key_tuples import KeyColumns
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.policy.engine_settings import EngineSettings
from tacit.query.pricing.partition_selection import Choose, DiscoveredGroups

NOT_OPENED = "The source could not be opened as a table."
CHECK_OPENING = (
    "Check that it exists, is complete and readable, has no column of a type that the engine does not know, and that "
    "no other program writes to it."
)

S = TypeVar("S", Statement, OpenStatement, BinStatement, ShownStatement, JointStatement)
T = TypeVar("T")


class StatementEngine(ReadingEngine):
    """One table, or several that can be joined, measured by SQL statements."""

    dialect: Dialect

    def __init__(
        self,
        name: str,
        views: Mapping[str, str],
        types: Mapping[str, Mapping[str, str]],
        settings: EngineSettings | None = None,
    ) -> None:
        """Store the tables: how each is written after FROM, and the types of its columns. `name` is the main table."""
        super().__init__(settings)
        self.name = name
        self._views = dict(views)
        self._tables = {table: dict(columns) for table, columns in types.items()}
        self._types = self._tables[name]
        self._last: tuple[Plan, Any] | None = None

    def schema(self, table: str | None = None) -> Mapping[str, Kind]:
        """Return the kinds of the supported columns; nested and binary columns are left out."""
        types = self._types if table is None else self._tables[table]
        kinds = {column: self.dialect.kind_of(type_name) for column, type_name in types.items()}
        return {column: kind for column, kind in kinds.items() if kind is not None}

    def unusable(self, table: str | None = None) -> tuple[str, ...]:
        """Return the columns whose types are not supported: nested, binary, and those with only NULL."""
        types = self._types if table is None else self._tables[table]
        return tuple(name for name, type_name in types.items() if self.dialect.kind_of(type_name) is None)

    def zoned(self, table: str | None = None) -> tuple[str, ...]:
        """Return the columns of instants, whose values are read in the policy's time zone."""
        types = self._types if table is None else self._tables[table]
        return tuple(name for name, type_name in types.items() if self.dialect.columns.is_zoned(type_name))

    def public(
        self,
        table: str,
        kinds: Mapping[str, Kind],
        neighbours: Neighbours = "add/remove",
        *,
        timezone: str | None = None,
    ) -> TablePolicy:
        """Read all of a public table, with its columns as these kinds, and return its policy."""

        def read(run: StatementRunner) -> TablePolicy:
            return public_policy(
                lambda sql: run(sql, {}),
                self.dialect,
                self._views[table],
                self._tables[table],
                kinds,
                name=table,
                neighbours=neighbours,
                timezone=timezone,
            )

        return self._read(read, NOT_OPENED, CHECK_OPENING)

    def public_rows(self, table: str, kinds: Mapping[str, Kind]) -> Sequence[Sequence[Value]]:
        """Return all rows of a public table, with these columns as these kinds; NaN is NULL."""
        types, dialect = self._tables[table], self.dialect
        items = []
        for index, (name, kind) in enumerate(kinds.items()):
            value = dialect.read(column(name), types[name], kind)
            value = dialect.without_nan(value) if dialect.may_be_nan(types[name], kind) else value
            items.append(f"{dialect.text(value)} AS c{index}")
        sql = f"SELECT {', '.join(items) or '1'} FROM {self._views[table]}"  # noqa: S608 - built here
        rows = self._read(lambda run: run(sql, {}), NOT_READ)
        return [tuple(row)[: len(kinds)] for row in rows]

    def check(self, plan: Plan) -> None:
        """Refuse a plan whose integers would not fit, without reading data."""
        if plan.open:
            self._prepared(plan, self._passes)
        else:
            self._prepared(plan, self._statements)

    def ready(self) -> None:
        """Raise, before anything is charged or read, if the source is gone or has changed since it was opened.

        An error here is free of charge, so it must not depend on any row. An engine that cannot check without reading
        rows does nothing.
        """

    def reads_every_row(self, table: str) -> bool:
        """Return whether a statement reads all rows of a table, whatever their values."""
        del table
        return True

    @property
    def located(self) -> str | None:
        """The table's name as a policy writes it; None if the policy needs no other name than the given one."""
        return None

    @property
    def keeps_state(self) -> bool:
        """True if all statements inside `one_state` see one state of the data, or it fails."""
        return True

    def measure(self, plan: Plan, absorb: Absorb | None = None) -> list[list[int]]:
        """Read the rows and return the plan's exact integers, with new random keys of the hash.

        With `absorb`, the integers of measures with bins are not returned: `absorb` takes them, some groups at a time,
        while the rows are read.
        """
        return self.measure_with(plan, (secrets.randbits(64), secrets.randbits(64)), absorb)

    def measure_with(self, plan: Plan, secret: Secret, absorb: Absorb | None = None) -> list[list[int]]:
        """Return the plan's exact integers under given keys of the hash; for tests that need the same choice twice."""
        count = sum(len(bundle.measures) for bundle in plan.bundles)
        answer: list[list[int]] = [[] for _ in range(count)]
        if plan.cells == 0 or not count:
            return answer
        statements = self._prepared(plan, self._statements)

        def read(run: StatementRunner) -> list[list[list[int]]]:
            self._recheck(run, plan)
            return [take(run, indices, each) for indices, each in statements]

        def take(run: StatementRunner, indices: tuple[int, ...], each: MeasureStatement) -> list[list[int]]:
            if absorb is None or isinstance(each, Statement):
                return integers_of(run, each, secret)
            batches = run.stream(each.sorted_sql, parameters_of(each, secret))
            if isinstance(each, BinStatement):
                absorb(indices, each.blocks(batches))
                return [[]]
            plain = each.zeros()
            absorb(indices[len(plain) :], each.blocks(batches, plain))
            return [*plain, []]

        for (indices, _), results in zip(statements, self._read(read), strict=True):
            shared = results[-1:] * (len(indices) - len(results))
            for index, integers in zip(indices, [*results, *shared], strict=True):
                answer[index] = integers
        return answer

    def find(self, plan: Plan, choose: Choose) -> DiscoveredGroups:
        """Read the rows and return the groups that `choose` selects, with new random keys of the hash."""
        return self.find_with(plan, choose, (secrets.randbits(64), secrets.randbits(64)))

    def find_with(self, plan: Plan, choose: Choose, secret: Secret) -> DiscoveredGroups:
        """Return the groups that `choose` selects under given keys of the hash; for tests, as above."""
        passes = self._prepared(plan, self._passes)

        def read(run: StatementRunner) -> DiscoveredGroups:
            self._recheck(run, plan)
            return self._discover(run, passes, secret, choose)

        return self._read(read)

    def check_codes(self, coded: CodedTable) -> None:
        """Raise InvalidError if the columns cannot be read as codes; read no row."""
        self._coded(coded)

    def read_codes(self, coded: CodedTable, absorb: AbsorbCodes) -> None:
        """Read the rows in one statement; `absorb` takes them some at a time, as codes by column and weights."""
        built = self._coded(coded)
        self._read(lambda run: self._absorb_codes(run, built, absorb))

    def _absorb_codes(self, run: StatementRunner, built: CodedStatement, absorb: AbsorbCodes) -> None:
        for batch in run.stream(built.sql, built.parameters):
            absorb(*built.unpacked(np.array([tuple(row) for row in batch], dtype=np.int64).T))

    def _coded(self, coded: CodedTable) -> CodedStatement:
        """Return the statement of coded rows over its table."""
        name = coded.table.name if len(self._views) > 1 else self.name
        built = coded_statement(coded, self._tables[name], self.dialect, self._words(coded))
        return replace(built, sql=self._over(name, built.sql))

    def _words(self, coded: CodedTable) -> Words:
        """Return the places of the columns whose codes a statement returns as one integer."""
        return coded.words

    def _over(self, name: str, sql: str) -> str:
        """Return a statement over one of the tables."""
        if self._views[name] == SOURCE:
            return sql
        table = f"{SOURCE} AS (SELECT * FROM {self._views[name]}),\n"  # noqa: S608 - built here
        return sql.replace("WITH ", f"WITH {table}", 1)

    def check_baskets(self, source: BasketSource) -> None:
        """Raise InvalidError if the columns cannot be read as baskets; read no row."""
        self._baskets(source)

    def read_baskets(self, source: BasketSource, absorb: Callable[[ResultRows], None]) -> None:
        """Read baskets in one statement, with new random keys of the hash; `absorb` takes rows some at a time."""
        self.read_baskets_with(source, absorb, (secrets.randbits(64), secrets.randbits(64)))

    def read_baskets_with(self, source: BasketSource, absorb: Callable[[ResultRows], None], secret: Secret) -> None:
        """Read baskets under given keys of the hash; for tests that need the same choice twice."""
        built = self._baskets(source)

        def read(run: StatementRunner) -> None:
            for batch in run.stream(built.sql, parameters_of(built, secret)):
                absorb(batch)

        self._read(read)

    def _baskets(self, source: BasketSource) -> BasketStatement:
        """Return the statement of baskets over their table."""
        name = source.table.name if len(self._views) > 1 else self.name
        built = basket_statement(source, self._tables[name], self.dialect)
        return replace(built, sql=self._over(name, built.sql))

    def _recheck(self, run: StatementRunner, plan: Plan) -> None:
        """Re-check, before measuring, any assumption of the plan that may have changed since the tables were opened.

        An engine that copies public tables when it opens them has nothing to check.
        """
        del run, plan

    def tally(self, columns: Sequence[str], *, different: str | None = None, table: str | None = None) -> ResultRows:
        """Return the number of rows for each combination of values in some columns: (values …, count). Not private.

        Different values stay different, except that NaN and the empty text become NULL. Dates and timestamps are
        returned as the engine's text: Python has no nanoseconds, no infinite date and no year 10,000, and would merge
        some of them. `Database` never calls this; it is for tables that are about to be published row by row.

        Args:
            columns: the columns to group by; an unknown or unsupported name is a ColumnNotFoundError.
            different: a column whose distinct values are counted instead of rows; NULL counts as a value.
            table: which of the tables; by default the main one.
        """
        types = self._types if table is None else self._tables[table]
        dialect, view = self.dialect, self._views[self.name if table is None else table]
        exact = {name: self._exact_column(name, types) for name in (*columns, *([different] if different else []))}
        values = [self._readable(exact[name], types[name]) for name in columns]
        items = ", ".join(f"{dialect.text(value)} AS c{index}" for index, value in enumerate(values))
        counted, inner = "COUNT(*)", items
        if different is not None:
            inner = f"{items}, {dialect.text(exact[different])} AS d"
            counted = "COUNT(DISTINCT d) + MAX(CASE WHEN d IS NULL THEN 1 ELSE 0 END)"
        by = ", ".join(f"c{index}" for index in range(len(columns)))
        sql = f"SELECT {by}, {counted} FROM (SELECT {inner} FROM {view}) AS held GROUP BY {by}"  # noqa: S608 - built here
        return self._read(lambda run: run(sql, {}), NOT_READ)

    def _readable(self, value: SQL, type_name: str) -> SQL:
        """Return a value in a type that Python can hold: each date or timestamp becomes its own text."""
        return cast(value, "TEXT") if self.dialect.kind_of(type_name) in {"date", "timestamp"} else value

    def _exact_column(self, name: str, types: Mapping[str, str]) -> SQL:
        kind = self.dialect.kind_of(types[name]) if name in types else None
        if kind is None:
            supported = [known for known, type_name in types.items() if self.dialect.kind_of(type_name)]
            raise ColumnNotFoundError(name, supported)
        if kind == "text":  # in other types of text, such as UUID, each value has a different text
            return call("NULLIF", self.dialect.read_exact_text(column(name), types[name]), literal("", "text"))
        return self.dialect.read_unit(column(name), types[name], kind)

    def _prepared(self, plan: Plan, build: Callable[[Plan], T]) -> T:
        """Return the statements of a plan; the last ones are kept, so that `check` and `measure` share them."""
        last = self._last
        if last is None or last[0] is not plan:
            last = self._last = (plan, build(plan))
        statements: T = last[1]
        return statements

    def _statement(self, plan: Plan, build: Callable[[Plan, Mapping[str, str], Dialect], S]) -> S:
        """Return a plan's statement over the table or the join that it names."""
        tables, types = joined_source(plan, self._views, self._tables, self.dialect)
        built = build(plan, types, self.dialect)
        return replace(built, sql=built.sql.replace("WITH ", f"WITH {tables},\n", 1)) if tables else built

    def _statements(self, plan: Plan) -> list[tuple[tuple[int, ...], MeasureStatement]]:
        """Return a plan's statements, each with the indices of its measures; equal measures share the last result.

        All statements choose the same cells, because they hash the same units and cells with the same keys.
        """
        return [(indices, self._built(part)) for indices, part in joined_parts(split(plan), self.dialect)]

    def _built(self, part: Plan) -> MeasureStatement:
        """Return the statement of one plan of `joined_parts`."""
        if is_joint(part, self.dialect):
            return self._statement(part, joint_statement)
        if is_binned(part):
            return self._statement(part, size_statement if counts_sizes(part) else bin_statement)
        if is_distinct(part):
            return self._statement(part, distinct_statement)
        if weighs(part, [measure for bundle in part.bundles for measure in bundle.measures]):
            return self._statement(part, weighted_statement)
        built = self._statement(part, statement)
        again = partial(self._statement, part, integer_statement)
        return replace(built, in_integers=again) if built.limits else built

    def _passes(self, plan: Plan) -> Passes:
        """Return the statements of a plan whose groups are discovered."""
        (indices, sums), others = split_passes(plan)
        return Passes(
            indices,
            tuple(key.expression.kind for key in plan.keys),
            self._statement(sums, open_statement),
            [(some, self._statement(part, shown_statement)) for some, part in others],
        )

    def _discover(self, run: StatementRunner, passes: Passes, secret: Secret, choose: Choose) -> DiscoveredGroups:
        """Return the chosen groups. Groups are read in batches, and only the chosen ones are kept in memory."""
        first, found, seen = passes.first, FoundGroups(passes.first), 0
        for batch in run.batches(first.sql, parameters_of(first, secret)):
            units = np.array([int(row[first.keys] or 0) for row in batch], dtype=np.int64)
            chosen = np.sort(choose(units))
            found.add([batch[place] for place in chosen.tolist()], chosen + seen)
            seen += len(batch)
        keys, places, sums = found.released()
        second = [(indices, self._measure_shown(run, each, passes, keys, secret)) for indices, each in passes.second]
        return passes.assemble(keys, places, sums, second)

    def _measure_shown(
        self,
        run: StatementRunner,
        second: ShownStatement,
        passes: Passes,
        shown: KeyColumns,
        secret: Secret,
    ) -> Histograms | list[int]:
        """Return a measure of the released groups, whose keys are passed as lists."""
        columns = [(f"s{index}", f"g{index}", kind) for index, kind in enumerate(passes.kinds)]
        table = f"{SHOWN} AS ({self.dialect.list_select(columns, 'place', len(shown))}),\n"
        keys = {f"s{index}": column.tolist() for index, column in enumerate(shown.columns)}
        rows = run(second.sql.replace("WITH ", f"WITH {table}", 1), {**parameters_of(second, secret), **keys})
        results = np.array([[int(value) for value in row] for row in rows], dtype=np.int64).reshape(-1, 4).T
        return second.read(dict(zip(("place", "bin", "low", "high"), results, strict=True)), len(shown))
