"""`tc.open`: private data, their policy and their ledger, put together into a database that answers."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from os import PathLike
from pathlib import Path

from tacit.database import Database
from tacit.engines import Engine
from tacit.engines.opened import Opened
from tacit.engines.sources import home_of, is_database, open_source, open_sources, placed
from tacit.engines.sql.engine import StatementEngine
from tacit.errors import InvalidError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Number
from tacit.guarantees.filters import Budget, limit
from tacit.guarantees.values import GaussianDP, RenyiDP
from tacit.ledger import Ledger
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.policies import Promise
from tacit.query.expressions import Kind, Value
from tacit.query.policy import TablePolicy, _Row
from tacit.query.policy import build as policy_build
from tacit.query.policy import file as policy_file
from tacit.query.policy.locations import fill, scheme
from tacit.query.policy.toml_lines import spell

_PAIR = 2


def open(  # noqa: A001, PLR0913 - the name is the public surface's; a policy has many parts
    source: object,
    *,
    unit: str | _Row | None = None,
    max_groups: int | None = None,
    max_rows: int | None = None,
    bounds: Mapping[str, tuple[Number, Number] | tuple[date, date]] | None = None,
    keys: Mapping[str, Sequence[Value]] | None = None,
    hidden: Collection[str] = (),
    types: Mapping[str, Kind] | None = None,
    public: Mapping[str, object] | None = None,
    neighbours: Neighbours | None = None,
    budget: Budget | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    name: str | None = None,
    table: str | None = None,
    analyst: str | None = None,
    analysts: Mapping[str, Budget] | None = None,
    data_version: str | None = None,
    accept: bool = False,
) -> Database:
    """Open private data under a policy.

    Args:
        source: a policy file (.toml); Parquet or CSV files or a glob of them, a DuckDB file, or a pandas, polars or
            Arrow table; a PostgreSQL URL and a table; a Spark DataFrame, a SparkSession and a table, `spark:table`, or
            a Spark Connect URL (`sc://host`) and a table. `${NAME}` in a path or URL stands for an environment
            variable, whose value no message shows.
        unit: the column whose values name the privacy units, or `tc.ROW`.
        max_groups: in how many groups of one answer a unit may count.
        max_rows: as how many rows a unit may count in one group.
        bounds: of number columns, the least and the largest value; of dates, the first and the last day to group by;
            public knowledge, never read from the data.
        keys: of columns to group by, their public values.
        hidden: columns that no question may name.
        types: kinds that are to hold instead of the source's.
        public: tables that are not private, by their names in SQL, to be joined: sources like `source`. Of a database
            the table of that name is meant, or another one by a pair of source and table:
            `public={"regions": (url, "geo.regions")}`. They are read whole; their values are public keys, and their
            least and largest ones bounds.
        neighbours: "add/remove" (the default) or "change one".
        budget: what may be spent in all: PureDP, ApproxDP or ZCDP.
        ledger: where spending is recorded; in memory by default, and then for this process alone.
        name: the table's name in SQL; by default the file's.
        table: the table's name in a DuckDB file, in PostgreSQL or in Spark; it may be left out where there is only one.
        analyst: who asks, for the ledger.
        analysts: what some analysts may spend, under the budget of all.
        data_version: a name for this version of the data; under it a question asked again is answered from the
            ledger, at no cost.
        accept: whether bounds, a budget or an analyst's limit that changed since the ledger's last charge are meant to.
    """
    if isinstance(source, (str, PathLike)) and _is_policy(source):
        said = (unit, max_groups, max_rows, bounds, keys, types, public, neighbours, budget, name, table, *hidden)
        if any(part is not None for part in (*said, analysts, data_version)):
            raise InvalidError("source", "a policy file and other arguments", "a policy file alone, which says it all")
        return _from_file(source, ledger, analyst or "", accept=accept)
    main = filled(source, table)
    engine = open_source(main.source, table=table, written=main.written)
    called = name or own_name(engine.name, main)
    engines = {called: engine}
    places = {one: f"public[{one!r}]" for one in public} if isinstance(public, Mapping) else {}
    if public is not None:
        engine.close()
        main = _found_alone(main, engine.name)
        engines = open_sources({called: main, **_public(public, called)}, places)
        engine = engines[called]
    policy = policy_build.build(
        called,
        engine.schema(),
        unit=unit,
        max_groups=max_groups,
        max_rows=max_rows,
        bounds=bounds,
        keys=keys,
        hidden=hidden,
        types=types,
        neighbours=neighbours or "add/remove",
        unusable=engine.unusable(),
    )
    terms = Terms(analysts=analysts or {}, version=data_version, accept=accept)
    book = _ledger(ledger, budget, [policy], terms)
    tables: dict[str, tuple[TablePolicy, Engine]] = {called: (policy, engine)}
    for own in public or ():
        with placed(places[own]):
            tables[own] = engines[own].public(own, engines[own].schema(own), policy.neighbours), engines[own]
    version = policy_build.version(policy)
    return Database(tables, book, version=version, analyst=analyst or "", data_version=data_version or "")


def _is_policy(source: str | PathLike[str]) -> bool:
    """Whether a source is a policy file: one by its ending, unless a scheme such as spark: says what it is."""
    return Path(source).suffix.lower() == ".toml" and scheme(str(source)) is None


def _found_alone(one: Opened, name: str) -> Opened:
    """Return a source with the table that was found there by itself, whatever it is called here.

    Beside others a table of Spark is looked for by its name in SQL; a server of PostgreSQL finds its only one again.
    """
    if one.table is not None or home_of(one.source) != "spark" or not is_database(one.source):
        return one
    return replace(one, table=f"`{name.replace('`', '``')}`")


def _public(public: object, called: str) -> dict[str, Opened]:
    """Return the public tables' sources by their names, or raise InvalidError."""
    if not isinstance(public, Mapping):
        raise InvalidError("public", show(public), "a mapping from names to tables")
    taken = {called.casefold(): called}
    for name in public:
        if not policy_build.is_name(name):
            raise InvalidError("public", f"the name {show(name)}", "a mapping from names that can be printed")
        twin = taken.setdefault(name.casefold(), name)
        if twin != name or name == called:
            raise InvalidError(
                "public", f"the name {show(name)}", f"names that differ, and not only by case, from {twin!r}"
            )
    return {name: _public_one(name, given) for name, given in public.items()}


def _public_one(name: str, given: object) -> Opened:
    """Return one public table's source, alone or in a pair with the table's name there."""
    source, table = given if isinstance(given, tuple) and len(given) == _PAIR else (given, None)
    if isinstance(source, tuple) or not (table is None or (isinstance(table, str) and table)):
        want = 'a source, or a pair of a source and a table\'s name, such as (url, "regions")'
        raise InvalidError(f"public[{name!r}]", "another tuple", want)
    return replace(filled(source, table), public=True)


def filled(source: object, table: str | None) -> Opened:
    """Return a source with its environment variables filled in; what was written is kept for messages.

    Raises:
        InvalidError: a variable is not set.
    """
    written = str(source) if isinstance(source, (str, PathLike)) else ""
    if "${" not in written:
        return Opened(source=source, table=table)
    return Opened(source=fill(written, os.environ), table=table, written=written)


def own_name(name: str, one: Opened) -> str:
    """Return a table's own name, or "data" for one that is the value of a variable, which is not shown."""
    if one.written is None or one.table is not None or home_of(one.source) == "postgres":
        return name
    return "data" if name in str(one.source) and name not in one.written else name


def _from_file(
    source: str | PathLike[str], ledger: Ledger | str | PathLike[str] | None, analyst: str, *, accept: bool
) -> Database:
    file = policy_file.load(source)
    listed = {**file.tables, **file.public}
    opened = {
        name: Opened(source=one.location(), table=one.table, written=one.source, public=name in file.public)
        for name, one in listed.items()
    }
    places = {name: spell((one.section, name)) for name, one in listed.items()}
    engines: Mapping[str, StatementEngine] = open_sources(opened, places)
    tables: dict[str, tuple[TablePolicy, Engine]] = {}
    for name, one in listed.items():
        engine = engines[name]
        with placed(places[name]):
            schema = engine.schema(name)
        policy = one.build(schema, engine.unusable(name))
        if name in file.public:
            kinds = {column: said.kind for column, said in policy.columns.items()}
            with placed(places[name]):
                policy = engine.public(name, kinds, file.neighbours)
        tables[name] = (policy, engine)
    place = file.ledger_location() if ledger is None else ledger
    terms = Terms(analysts=file.analysts, version=file.data_version or None, accept=accept)
    book = _ledger(place, file.budget, [policy for name, (policy, _) in tables.items() if name in file.tables], terms)
    return Database(tables, book, version=file.version, analyst=analyst, data_version=file.data_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is said of a ledger beside its budget."""

    analysts: Mapping[str, Budget]
    version: str | None
    accept: bool


def _ledger(
    given: Ledger | str | PathLike[str] | None, budget: Budget | None, policies: Sequence[TablePolicy], terms: Terms
) -> Ledger:
    neighbours = policies[0].neighbours
    if budget is None:
        raise InvalidError("budget", "none", "given: what may be spent in all, e.g. tacit.PureDP(epsilon=1)")
    if isinstance(budget, (GaussianDP, RenyiDP)):
        raise InvalidError("budget", show(budget), "a PureDP, an ApproxDP or a ZCDP")
    limit(budget)
    if given is None:
        return MemoryLedger(budget, neighbours, terms.analysts)
    if isinstance(given, (str, PathLike)):
        from tacit.ledger.open_ledger import open_ledger  # noqa: PLC0415 - SQLAlchemy is slow to import

        promises = {policy.name: _promise(policy) for policy in policies}
        return open_ledger(
            given,
            budget,
            neighbours,
            policies=promises,
            analysts=terms.analysts,
            version=terms.version,
            accept=terms.accept,
        )
    if limit(given.budget) != limit(budget) or given.spent.neighbours not in (None, neighbours):
        raise InvalidError(
            "ledger", "one with another budget or relation", "one that was begun with this budget and relation"
        )
    if terms.analysts:
        raise InvalidError("analysts", "some, beside a ledger that is open", "said when that ledger is opened")
    return given


def _promise(policy: TablePolicy) -> Promise:
    """Return what a ledger records of a policy."""
    bounded = {name: column.bounds for name, column in policy.columns.items() if column.bounds is not None}
    return Promise(
        unit=policy.unit,
        neighbours=policy.neighbours,
        bounds={name: f"{low} to {high}" for name, (low, high) in bounded.items()},
        columns=frozenset(policy.columns) | policy.unusable,
    )
