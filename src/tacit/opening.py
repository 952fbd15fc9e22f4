"""`tc.open`: a database to query, from a policy, its sources and its ledger.

The arguments of `tc.open` and a policy file become one `Policy`. Each source is opened once. Its schema turns the
declaration of a table into its `TablePolicy`.

A source is a path of Parquet or CSV files or a glob of them; a DuckDB file; a pandas, polars or Arrow table; a polars
LazyFrame, which is collected when it is opened; a mapping of columns; a PostgreSQL URL and a table; a Spark DataFrame,
a SparkSession and a table, `spark:table`, or a Spark Connect URL (`sc://host`) and a table. A public table of a
database is found by its name in SQL, or by a pair of source and table:
`public={"regions": (url, "geo.regions")}`. Public
tables are read whole. Their values are public keys, and their smallest and largest values are bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tacit.database import Database
from tacit.engines import Engine
from tacit.engines.source import Source, declared_at
from tacit.engines.sources import open_sources
from tacit.engines.sql.engine import StatementEngine
from tacit.errors import InvalidError, NoLedgerError, bad_value
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Number
from tacit.guarantees.filters import Budget, limit
from tacit.guarantees.values import GaussianDP, RenyiDP
from tacit.ledger import Ledger
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.policies import Promise, check_population
from tacit.ledger.records import UNLISTED
from tacit.query.expressions import Kind, Value
from tacit.query.policy import TablePolicy, _Row
from tacit.query.policy.arguments import check_names, declare, read_arguments
from tacit.query.policy.build import build, version
from tacit.query.policy.declaration import ANYBODY, Policy, TableDeclaration
from tacit.query.policy.engine_settings import SETTINGS, EngineSettings
from tacit.query.policy.file import load
from tacit.query.policy.locations import scheme

_NOT_DECLARED = ("ledger", "analyst", "accept", *SETTINGS)


DeclaredKeys: TypeAlias = (
    Mapping[str, Sequence[Value]]
    | Mapping[tuple[str, str], object]
    | Mapping[tuple[str, ...], object]
    | Mapping[str | tuple[str, ...], object]
)
"""Public keys by columns, or by tuples of columns."""


def open(  # noqa: A001, PLR0913 - the name is the public surface's; a policy has many parts
    source: object,
    *,
    unit: str | _Row | None = None,
    max_groups: int | None = None,
    max_rows: int | None = None,
    reach: int | None = None,
    bounds: Mapping[str, tuple[Number, Number] | tuple[date, date]] | None = None,
    keys: DeclaredKeys | None = None,
    hidden: Collection[str] = (),
    required: Collection[str] = (),
    types: Mapping[str, Kind] | None = None,
    public: Mapping[str, object] | None = None,
    neighbours: Neighbours | None = None,
    timezone: str | None = None,
    budget: Budget | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    name: str | None = None,
    table: str | None = None,
    analyst: str | None = None,
    analysts: Mapping[str, Budget] | None = None,
    data_version: str | None = None,
    accept: bool = False,
    timeout: float | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    temporary: str | PathLike[str] | None = None,
) -> Database:
    """Open private data under a policy, which is in these arguments or in a policy file.

    Args:
        source: a policy file (.toml), data files or a glob, a DuckDB file, a data frame, a mapping of columns, or a
            PostgreSQL or Spark source; `${NAME}` in a path or URL is replaced by an environment variable, whose value
            no message shows.
        unit: the column whose values name the privacy units, or `tc.ROW`.
        max_groups: the largest number of groups of one answer in which a unit counts.
        max_rows: the most rows of one unit that one group counts.
        reach: the most rows of one unit that one answer counts, in whichever groups they are. A unit
            with more rows has all of them scaled down together.
        bounds: the smallest and largest value of numbers, the first and last day of dates; never read from the data.
        keys: the public values of columns to group by. Under a tuple of columns: a list of tuples of values, or a data
            frame with these columns; then the groups of these columns are the listed tuples.
        hidden: columns that a query must not use.
        required: columns without missing values; a missing value is read as a public constant (the first key, FALSE, or
            0 clipped to the bounds). With neighbours="change one" their averages and variances have less noise.
        types: kinds that replace those of the source.
        public: public tables to join, by their names in SQL: sources, or pairs of a source and a table there.
        neighbours: "add/remove" (the default) or "change one".
        timezone: the time zone in which timestamps with a time zone are read, such as "Europe/Zurich". Without it a
            query cannot use such columns.
        budget: the budget for all queries: PureDP, ApproxDP or ZCDP.
        ledger: a file, a PostgreSQL URL or a ledger that records spending; by default the memory of this process.
        name: the table's name in SQL; by default its name in the source.
        table: the table's name in a DuckDB file, in PostgreSQL or in Spark; needed if there are several.
        analyst: the name of the analyst, for the ledger.
        analysts: budgets of single analysts, under the budget for all. "*" stands for each analyst who is not listed.
            A budget of 0, such as `tc.PureDP(epsilon=0)`, refuses every query of that analyst.
        data_version: a name for this version of the data; the ledger answers a repeated query under it at no cost.
        accept: whether to accept bounds, a budget or an analyst's limit that changed since the last charge.
        timeout: the longest time in seconds that the engine may read for one query; by default an hour. A query that is
            stopped stays charged. This and the next three can also be set in the environment and in a policy file.
        memory: the memory that the engine may use, such as "8GB", "8GiB" or a number of bytes.
        threads: the number of threads that the engine may use.
        temporary: a directory for data that does not fit memory; without it, DuckDB writes no file.
    """
    arguments = locals()
    declared = {key: value for key, value in arguments.items() if key not in _NOT_DECLARED}
    policy = _load(**declared) if _is_policy_file(source) else read_arguments(**declared)
    settings = policy.engine_settings({name: arguments[name] for name in SETTINGS})
    return _open(policy, settings, ledger, analyst or "", accept=accept)


def open_to_plan(
    source: str,
    *,
    ledger: str | None = None,
    analyst: str | None = None,
    settings: Mapping[str, object] = MappingProxyType({}),
) -> tuple[Database, bool]:
    """Open a policy file as `open` does, but create no ledger; return whether its ledger exists.

    If it does not exist yet, the whole budget is left, and what is planned stays in memory. `settings` has the timeout,
    the memory, the threads and the temporary directory.
    """
    policy = load(source)
    engine_settings = policy.engine_settings(settings)
    location = policy.ledger_location() if ledger is None else ledger
    try:
        if location is not None:
            from tacit.ledger.open_ledger import require_ledger  # noqa: PLC0415 - SQLAlchemy is slow to import

            require_ledger(location)
    except NoLedgerError:
        unrecorded = replace(policy, ledger=None)
        return _open(unrecorded, engine_settings, None, analyst or "", accept=False), False
    return _open(policy, engine_settings, ledger, analyst or "", accept=False), True


def open_policy(policy: Policy, *, accept: bool = False, recorded: bool = True) -> Database:
    """Open a policy that was read before; without `recorded` no ledger is opened, and what is planned stays in memory.

    Args:
        policy: the policy.
        accept: whether to accept bounds, a budget or an analyst's limit that changed since the last charge.
        recorded: whether to open the ledger of the policy.
    """
    opened = policy if recorded else replace(policy, ledger=None)
    return _open(opened, policy.engine_settings({}), None, "", accept=accept)


def _is_policy_file(source: object) -> bool:
    """Return whether a source is a policy file by its suffix; a scheme such as spark: makes it another source."""
    return (
        isinstance(source, (str, PathLike)) and Path(source).suffix.lower() == ".toml" and scheme(str(source)) is None
    )


def _load(
    source: str | PathLike[str], *, hidden: Collection[str], required: Collection[str], **others: object
) -> Policy:
    """Read a policy file, or raise InvalidError if other arguments declare something too."""
    names = [name for name, value in others.items() if value is not None]
    names += ["hidden"] * bool(tuple(hidden)) + ["required"] * bool(tuple(required))
    if names:
        raise InvalidError(
            f"A policy file cannot be combined with other declarations: {', '.join(names)}.",
            argument="source",
            hint="Write them into the file.",
        )
    return load(source)


def _open(
    policy: Policy,
    settings: EngineSettings,
    ledger: Ledger | str | PathLike[str] | None,
    analyst: str,
    *,
    accept: bool,
) -> Database:
    """Open every source of a policy once, build the policies of its tables, and open its ledger."""
    declared = (*policy.tables.items(), *policy.public.items())
    engines = open_sources({name: _source(table) for name, table in declared}, settings)
    try:
        tables = _build_tables(policy, engines)
        private = [table for table, _ in tables.values() if not table.public]
        book = _open_ledger(policy.ledger_location() if ledger is None else ledger, policy, private, accept=accept)
    except BaseException:
        for engine in engines.values():
            engine.close()
        raise
    digest = policy.version or version(private[0])
    return Database(
        tables,
        book,
        version=digest,
        analyst=analyst,
        data_version=policy.data_version,
        owns_ledger=book is not ledger,
    )


def _source(table: TableDeclaration) -> Source:
    """Return the source of a table with its variables filled in.

    If a database has several tables, a table of a file, and every public table, is found by its name in SQL. The source
    that is the first argument of `tc.open` is not: `name` there may be any name.
    """
    with declared_at(table.where):
        location = table.location()
    return Source(
        source=location,
        table=table.table,
        fallback=None if table.where is None else str(table.name),
        written=table.written,
        public=table.public,
        where=table.where,
    )


def filled(source: object, table: str | None) -> Source:
    """Return a source with its environment variables filled in, or raise InvalidError if a variable is not set."""
    return _source(declare(source, table, name=None))


def _build_tables(
    policy: Policy, engines: Mapping[str | None, StatementEngine]
) -> dict[str, tuple[TablePolicy, Engine]]:
    """Return the policy and the engine of each table. Public tables are read."""
    tables: dict[str, tuple[TablePolicy, Engine]] = {}
    for key, declaration in policy.tables.items():
        engine = engines[key]
        name = engine.name if key is None else key
        if key is None:
            check_names(policy.public, name)
        with declared_at(declaration.where):
            schema, unusable, zoned = engine.schema(name), engine.unusable(name), engine.zoned(name)
        tables[name] = build(replace(declaration, name=declaration.name or name), schema, unusable, zoned), engine
    neighbours = next(iter(tables.values()))[0].neighbours
    for name, declaration in policy.public.items():
        engine = engines[name]
        with declared_at(declaration.where):
            kinds, unusable = engine.schema(name), engine.unusable(name)
        if declaration.types is not None:  # a file declares types of public tables, arguments do not
            kinds = {column: facts.kind for column, facts in build(declaration, kinds, unusable).columns.items()}
        zone = declaration.timezone if isinstance(declaration.timezone, str) else None
        with declared_at(declaration.where):
            tables[name] = engine.public(name, kinds, neighbours, timezone=zone), engine
    return tables


def _open_ledger(
    ledger: Ledger | str | PathLike[str] | None, policy: Policy, tables: Sequence[TablePolicy], *, accept: bool
) -> Ledger:
    """Return an open ledger if it fits the policy, or open the ledger at a path or URL; without one, use memory."""
    budget, neighbours = policy.budget, tables[0].neighbours
    if budget is None:
        raise InvalidError(
            "A budget is required.",
            argument="budget",
            hint="Pass the budget of all queries, such as tacit.PureDP(epsilon=1).",
        )
    if isinstance(budget, (GaussianDP, RenyiDP)):
        raise bad_value("budget", budget, "a PureDP, an ApproxDP or a ZCDP")
    limit(budget)
    if ledger is None:
        return MemoryLedger(budget, neighbours, _accounts(policy.analysts))
    if isinstance(ledger, (str, PathLike)):
        from tacit.ledger.open_ledger import open_ledger  # noqa: PLC0415 - SQLAlchemy is slow to import

        return open_ledger(
            ledger,
            budget,
            neighbours,
            policies={table.name: promise_of(table) for table in tables},
            analysts=_accounts(policy.analysts),
            version=policy.data_version or None,
            accept=accept,
        )
    if limit(ledger.budget) != limit(budget) or ledger.spent.neighbours not in (None, neighbours):
        raise InvalidError(
            "The ledger has another budget or another neighbour relation than the policy.",
            argument="ledger",
            hint="Pass a ledger that was created with this budget and this relation.",
        )
    if neighbours == "change one":
        check_population(ledger.tables, [table.name for table in tables if table.unit is not None])
    if policy.analysts:
        raise InvalidError(
            "The budgets of analysts cannot be changed in a ledger that is open.",
            argument="analysts",
            hint="Pass them when you open that ledger.",
        )
    return ledger


def _accounts(analysts: Mapping[str, Budget]) -> dict[str, Budget]:
    """Return the limits of analysts by the accounts of the ledger; "*" stands for each analyst who is not listed."""
    return {UNLISTED if name == ANYBODY else name: own_limit for name, own_limit in analysts.items()}


def promise_of(policy: TablePolicy) -> Promise:
    """Return the part of a policy that the ledger records."""
    bounded = {name: column.bounds for name, column in policy.columns.items() if column.bounds is not None}
    return Promise(
        unit=policy.unit,
        neighbours=policy.neighbours,
        bounds={name: f"{low} to {high}" for name, (low, high) in bounded.items()},
        timezone=next((column.timezone for column in policy.columns.values() if column.timezone), None),
        columns=frozenset(policy.columns) | policy.unusable,
    )
