"""`tc.open`: a database that answers privately. Question, charge, rows, noise, answer: in that order, always.

    db.plan(...)   parse and price: reads nothing, spends nothing
    db.sql(...)    parse, price, charge (committed), read exact integers, add noise

Whatever is refused is refused before the charge. What fails after it stays charged, and says one constant sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Self

import tacit
from tacit.engines import Engine
from tacit.engines.duckdb import Opened, open_duckdb, open_tables
from tacit.errors import InvalidError, SourceError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Exact, Number
from tacit.guarantees.filters import ApproxZCDP, Budget, limit
from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from tacit.ledger import Ledger
from tacit.ledger.memory import MemoryLedger
from tacit.query import policy_build, policy_file
from tacit.query.aggregates import STATISTICS
from tacit.query.expressions import Kind, Value
from tacit.query.intervals import read_confidence
from tacit.query.parse import parse
from tacit.query.plan import Noisy, Plan
from tacit.query.policy import TablePolicy, _Row
from tacit.query.price import Price, price
from tacit.query.refuse import refused
from tacit.query.release import Release, release

FAILED = (
    "The data source failed while it was read. The question stays charged, since reading had begun; no answer was lost "
    "that had been shown. Ask the data's steward to look at the source, then ask again."
)


@dataclass(frozen=True, slots=True)
class Planned:
    """A question before it is asked: what it would cost and how far off its answer would be."""

    plan: Plan
    price: Price
    confidence: float
    assume: int | None

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """What the whole question would cost."""
        return self.price.guarantee

    @property
    def error(self) -> dict[str, float]:
        """For every output that is one aggregate: how far off it will be at most, with the asked confidence.

        That of an average depends on how many units a group has, which is private: say how many to assume. Without
        that it is the width of the bounds.
        """
        found = {}
        for name, output in self.plan.outputs:
            if isinstance(output, Noisy):
                one = self.plan.aggregates[output.place]
                bundles = [self.plan.bundles[i] for i in one.bundles]
                noise = [self.price.noise[i] for i in one.bundles]
                found[name] = STATISTICS[one.ask.function].error(one.ask, bundles, noise, self.confidence, self.assume)
        return found

    @property
    def why(self) -> str:
        """Which noise, and why."""
        return self.price.why

    def __str__(self) -> str:
        """One line on the cost, one for each error."""
        lines = [f"{self.plan.sql}", f"costs {self.cost}. {self.why}"]
        share = f"{self.confidence:.0%}"
        lines += [f"{name}: off by at most {error:.6g} with {share} confidence" for name, error in self.error.items()]
        return "\n".join(lines)


class Database:
    """Private tables behind one budget; see `open`."""

    def __init__(
        self, tables: Mapping[str, tuple[TablePolicy, Engine]], ledger: Ledger, *, version: str, analyst: str = ""
    ) -> None:
        """Keep what `open` put together."""
        self._tables, self._ledger, self._version, self._analyst = dict(tables), ledger, version, analyst

    def plan(
        self,
        query: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        keys: Mapping[str, Sequence[Value]] | None = None,
        confidence: float = 0.95,
        assume: int | None = None,
    ) -> Planned:
        """Say what a question would cost and how far off its answer would be; nothing is read or spent.

        Args:
            query: the question, in SQL.
            epsilon: ε of the whole question.
            delta: δ of the whole question; with some, Gaussian noise is used where it errs less.
            rho: ρ instead of ε, for a budget in zCDP.
            keys: public values for what is grouped by, where the policy has none; by the name in the answer.
            confidence: how often the errors hold.
            assume: how many units a group is assumed to have, for the error of averages.
        """
        planned = self._price(query, keys, epsilon=epsilon, delta=delta, rho=rho)
        return Planned(*planned, read_confidence(confidence), _assumed(assume))

    def sql(
        self,
        query: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        keys: Mapping[str, Sequence[Value]] | None = None,
        confidence: float = 0.95,
        assume: int | None = None,
    ) -> Release:
        """Ask a question and pay for it; the arguments are those of `plan`."""
        planned = self.plan(
            query, epsilon=epsilon, delta=delta, rho=rho, keys=keys, confidence=confidence, assume=assume
        )
        _, engine = self._tables[planned.plan.table.name]
        number = self._ledger.charge(planned.plan.sql, planned.price.events, analyst=self._analyst)
        try:
            exact = engine.measure(planned.plan)
            answer = release(planned.plan, planned.price, exact, self._context(planned, number))
        except BaseException as error:
            self._ledger.close(number, "failed")
            if isinstance(error, Exception):
                raise SourceError(FAILED) from None
            raise
        self._ledger.close(number, "answered")
        return answer

    def _price(
        self,
        query: str,
        keys: Mapping[str, Sequence[Value]] | None,
        *,
        epsilon: Number | None,
        delta: Number | None,
        rho: Number | None,
    ) -> tuple[Plan, Price]:
        plan = parse(query, self.tables, keys=keys)
        if len({id(self._tables[name][1]) for name in (plan.table.name, *(join.table for join in plan.joins))}) > 1:
            raise refused("Tables of different engines cannot be joined", "Copy the public table to where the private is.")
        self._tables[plan.table.name][1].check(plan)
        return plan, price(plan, epsilon=epsilon, delta=0 if delta is None else delta, rho=rho)

    def _context(self, planned: Planned, number: int) -> dict[str, object]:
        return {
            "policy": policy_build.version(planned.plan.table),
            "policy_file": self._version,
            "ledger_entry": number,
            "software": f"tacit {tacit.__version__}",
        }

    @property
    def ledger(self) -> Ledger:
        """The budget's history."""
        return self._ledger

    @property
    def spent(self) -> Budget:
        """What has been spent."""
        found = self._ledger.spent
        return _as_budget(self._ledger.budget, found.loss, found.delta)

    @property
    def left(self) -> Budget:
        """What may still be spent."""
        most, found = limit(self._ledger.budget), self._ledger.spent
        return _as_budget(self._ledger.budget, most.loss - found.loss, most.delta - found.delta)

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """What is public about each table."""
        return {name: policy for name, (policy, _) in self._tables.items()}

    def close(self) -> None:
        """Let go of the sources."""
        for _, engine in self._tables.values():
            engine.close()

    def __enter__(self) -> Self:
        """Use as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the sources."""
        self.close()


def open(  # noqa: A001, PLR0913 - the name is the public surface's; a policy has many parts
    source: object,
    *,
    unit: str | _Row | None = None,
    max_groups: int | None = None,
    max_rows: int | None = None,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
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
) -> Database:
    """Open private data under a policy.

    Args:
        source: a policy file (.toml), Parquet or CSV files or a glob of them, a DuckDB file, or a pandas, polars or
            Arrow table.
        unit: the column whose values name the privacy units, or `tc.ROW`.
        max_groups: in how many groups of one answer a unit may count.
        max_rows: as how many rows a unit may count in one group.
        bounds: of number columns, the least and the largest value; public knowledge, never read from the data.
        keys: of columns to group by, their public values.
        hidden: columns that no question may name.
        types: kinds that are to hold instead of the source's.
        public: tables that are not private, by their names in SQL, to be joined: files or tables in memory, like
            `source`. They are read whole; their values are public keys, and their least and largest ones bounds.
        neighbours: "add/remove" (the default) or "change one".
        budget: what may be spent in all: PureDP, ApproxDP or ZCDP.
        ledger: where spending is recorded; in memory by default, and then for this process alone.
        name: the table's name in SQL; by default the file's.
        table: the table's name in a DuckDB file.
        analyst: who asks, for the ledger.
    """
    if isinstance(source, (str, PathLike)) and Path(source).suffix.lower() == ".toml":
        given = (unit, max_groups, max_rows, bounds, keys, types, public, neighbours, budget, name, table, *hidden)
        if any(part is not None for part in given):
            raise InvalidError("source", "a policy file and other arguments", "a policy file alone, which says it all")
        return _from_file(source, ledger, analyst or "")
    engine = open_duckdb(source, table=table)
    called = name or engine.name
    if public is not None:
        engine.close()
        engine = open_tables({called: Opened(source=source, table=table), **_public(public, called)})
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
    )
    book = _ledger(ledger, budget, policy.neighbours)
    tables: dict[str, tuple[TablePolicy, Engine]] = {called: (policy, engine)}
    for own in public or ():
        tables[own] = engine.public(own, engine.schema(own), policy.neighbours), engine
    return Database(tables, book, version=policy_build.version(policy), analyst=analyst or "")


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
            raise InvalidError("public", f"the name {show(name)}", f"names that differ, and not only by case, from {twin!r}")
    return {name: Opened(source=source, public=True) for name, source in public.items()}


def _from_file(source: str | PathLike[str], ledger: Ledger | str | PathLike[str] | None, analyst: str) -> Database:
    file = policy_file.load(source)
    listed = {**file.tables, **file.public}
    opened = {
        name: Opened(source=one.location(), table=one.table, written=one.source, public=name in file.public)
        for name, one in listed.items()
    }
    engine = open_tables(opened)
    tables: dict[str, tuple[TablePolicy, Engine]] = {}
    for name, one in listed.items():
        policy = one.build(engine.schema(name))
        if name in file.public:
            kinds = {column: said.kind for column, said in policy.columns.items()}
            policy = engine.public(name, kinds, file.neighbours)
        tables[name] = (policy, engine)
    book = _ledger(file.ledger_location() if ledger is None else ledger, file.budget, file.neighbours)
    return Database(tables, book, version=file.version, analyst=analyst)


def _ledger(given: Ledger | str | PathLike[str] | None, budget: Budget | None, neighbours: Neighbours) -> Ledger:
    if budget is None:
        raise InvalidError("budget", "none", "given: what may be spent in all, e.g. tacit.PureDP(epsilon=1)")
    if isinstance(budget, (GaussianDP, RenyiDP)):
        raise InvalidError("budget", show(budget), "a PureDP, an ApproxDP or a ZCDP")
    limit(budget)
    if given is None:
        return MemoryLedger(budget, neighbours)
    if isinstance(given, (str, PathLike)):
        from tacit.ledger.durable import open_ledger  # noqa: PLC0415 - SQLAlchemy is slow to import

        return open_ledger(given, budget, neighbours)
    if limit(given.budget) != limit(budget) or given.spent.neighbours not in (None, neighbours):
        raise InvalidError(
            "ledger", "one with another budget or relation", "one that was begun with this budget and relation"
        )
    return given


def _as_budget(budget: Budget, loss: object, delta: object) -> Budget:
    match budget:
        case PureDP():
            return PureDP(epsilon=Exact(loss))  # type: ignore[arg-type]
        case ApproxDP():
            return ApproxDP(epsilon=Exact(loss), delta=Exact(delta))  # type: ignore[arg-type]
        case ZCDP():
            return ZCDP(rho=Exact(loss))  # type: ignore[arg-type]
        case _:
            return ApproxZCDP(rho=Exact(loss), delta=Exact(delta))  # type: ignore[arg-type]


def _assumed(given: object) -> int | None:
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 1):
        return given
    raise InvalidError("assume", show(given), "a whole number ≥ 1, or left out")
