"""Plans that use the number of rows or units, where that number is public.

**The relation.** Under "change one", neighbours differ in one unit, whose rows are other rows. If each row is a unit,
that row stays one row of its table. If a column names the unit, the unit has at least one row before and after, in one
of the private tables of the ledger. So these numbers are the same in neighbouring databases, and need no noise:

* the rows of a table in which each row is a unit;
* the units over all private tables together. One table alone can gain or lose a unit, so it is used only if there is
  one private table.

**Whole.** A plan reads all rows, each once, if it has no WHERE (conditions inside subqueries and CTEs are part of it)
and joins public tables by LEFT JOIN only. If each row is a unit, `join_clauses` admits only joins on a column of the
public table that has no value twice, so a LEFT JOIN keeps each row exactly once. For units a LEFT JOIN keeps every
unit. HAVING of the outer query chooses among released values, so it changes nothing. A subquery that groups by the unit
has a row for each unit if it has neither WHERE nor HAVING, and only such joins (`UnitTable.is_whole`).

**Used for**, if each row is a unit: the aggregates of `sized_moments` without groups, and tables of counts that add up
(`aggregates.margins`). A table of counts adds up if every row is in one of its cells:

* the query itself names all values of a key, such as a CASE with an ELSE, and lists them all; or
* the key is a required column with keys. Rows with other values count under the first key, which is also the constant
  for NULL; or
* the key is a column of a public table that a LEFT JOIN adds, or several keys are: rows without a match have NULL, and
  rows with other values, which a public table can have only if it has changed, count there too; or
* the keys are required columns whose tuples are listed: rows with other tuples count under the tuple of the constants
  for NULL, if it is listed; or
* a histogram or a crosstab has NULL among a key's values: rows with other values count there; or
* a histogram or a crosstab shows one more row, with NULL as its keys, for the rows in no other cell.

Sums and averages of groups do not use n, because the number of rows of a group is private.

If a column names the unit, without groups: `count(DISTINCT unit)`. If max_rows is 1 and there is no reach, each unit
counts as exactly one row; then also `count(*)`, `sum` and `avg`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tacit.errors import InternalError
from tacit.query.aggregates.count import is_unit_count
from tacit.query.aggregates.margins import as_table_count
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.aggregates.sized_moments import sized
from tacit.query.expressions import Value, columns
from tacit.query.expressions.presence import is_always_present
from tacit.query.key_tuples import KeyTuples
from tacit.query.plan import Aggregate, Ask, Bundle, Key, Measure, Plan
from tacit.query.sql.key_values import own_column, possible_values

_SUMS = frozenset({"sum", "avg"})
_MOMENTS = _SUMS | frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp", "covar_pop", "covar_samp"})
_QUANTILES = ("quantile", "quantile_disc", "min", "max")
_OF_ALL_ROWS = _MOMENTS | frozenset({*_QUANTILES, *(f"drawn_{name}" for name in _QUANTILES)})
_OF_A_SAMPLE = frozenset({"var_samp", "stddev_samp", "covar_samp"})
_TABLE = "table_count"


def has_public_size(plan: Plan, *, alone: bool) -> bool:
    """Return whether the number of rows or units that a plan reads is public.

    Args:
        plan: the plan.
        alone: whether its private table is the only one whose units the ledger protects.
    """
    left = all(join.kind == "left" and not join.private for join in plan.joins)
    whole = plan.where is None and not plan.within and left and (plan.units is None or plan.units.is_whole)
    return plan.table.neighbours == "change one" and whole and (plan.unit is None or alone)


def uses_size(plan: Plan) -> bool:
    """Return whether a plan with a public size has a use for it."""
    if plan.cap is not None:
        return False
    if plan.keys:
        return _completed(plan) is not None
    return any(_is_sized(aggregate.ask, plan, 2) for aggregate in plan.aggregates)


def size_plan(plan: Plan) -> Plan:
    """Return the plan that counts the rows or units of a plan's table; its only integer is the public size."""
    measure = Measure(value=None, per="row" if plan.table.unit is None else "unit")
    bundle = Bundle(measures=(measure,), contribution=1, nonnegative=True)
    table = replace(plan.table, max_groups=1, max_rows=1, reach=None)
    return Plan(
        sql="SELECT count(*)",
        table=table,
        where=None,
        keys=(),
        bundles=(bundle,),
        aggregates=(),
        outputs=(),
        units=plan.units,
    )


def with_public_size(plan: Plan, size: int) -> Plan:
    """Return a plan that uses the public size where it can.

    Args:
        plan: a plan for which `has_public_size` and `uses_size` are true.
        size: the number of rows or units of its table.
    """
    if plan.table.neighbours != "change one":
        raise InternalError("the size of a table is public only if neighbours change one unit.")
    if plan.keys:
        return _table(plan, size)
    asks = [
        sized(_counted(aggregate.ask), size) if _is_sized(aggregate.ask, plan, size) else aggregate.ask
        for aggregate in plan.aggregates
    ]
    bundles, indices = arrange(asks, plan.table)
    aggregates = tuple(
        replace(aggregate, ask=ask, bundles=needed)
        for aggregate, ask, needed in zip(plan.aggregates, asks, indices, strict=True)
    )
    return replace(plan, bundles=bundles, aggregates=aggregates, size=size)


def _is_sized(ask: Ask, plan: Plan, size: int) -> bool:
    """Return whether an aggregate of all rows can use the public size."""
    present = all(map(is_always_present, ask.values))
    if plan.table.unit is not None:
        one = plan.table.max_rows == 1 and plan.table.reach is None
        return is_unit_count(ask, plan.table) or (one and present and ask.function in _SUMS and size > 0)
    if ask.function == "count":
        return present
    return ask.function in _MOMENTS and present and size > (ask.function in _OF_A_SAMPLE)


def _counted(ask: Ask) -> Ask:
    """Return any count of all rows or units as the same count."""
    return replace(ask, function="count", values=()) if ask.function in ("count", "count_units") else ask


def could_be_free(plan: Plan) -> bool:
    """Return whether a plan would have no noise if the public number of rows were used."""
    counts = all(each.ask.function == "count" and _is_sized(each.ask, plan, 2) for each in plan.aggregates)
    return counts and not plan.keys and plan.table.unit is None and has_public_size(plan, alone=False)


def could_use_size(plan: Plan) -> list[Aggregate]:
    """Return the aggregates of all rows that would use the public size if their columns were required."""
    if plan.keys or plan.table.unit is not None:
        return []
    return [each for each in plan.aggregates if each.ask.function in _MOMENTS and not _is_sized(each.ask, plan, 2)]


def unrequired_columns(plan: Plan, aggregates: Iterable[Aggregate]) -> list[str]:
    """Return the columns of aggregates of all rows that would have to be required for them to have all rows.

    It is empty if the number of rows is not public, or if there are groups.
    """
    if plan.keys or plan.table.unit is not None or not has_public_size(plan, alone=False):
        return []
    asked = [each for each in aggregates if each.ask.function in _OF_ALL_ROWS]
    names = sorted({name for each in asked for value in each.ask.values for name in columns(value)})
    return [name for name in names if not plan.table.columns[name].required]


def public_rows(plan: Plan) -> bool:
    """Return whether the rows of every aggregate are all rows of the table, whose number is public."""
    rows = all(is_always_present(value) for each in plan.aggregates for value in each.ask.values)
    return rows and not plan.keys and plan.table.unit is None and has_public_size(plan, alone=False)


def _table(plan: Plan, size: int) -> Plan:
    """Return a count by listed keys as a table that adds up to the public size."""
    completed = _completed(plan)
    if completed is None:
        raise InternalError("the cells of the plan do not add up.")
    keys, tuples = completed
    rest = any(each is None for each in (*keys, *tuples))
    listed = tuple(own if key is None else key for own, key in zip(plan.keys, keys, strict=True))
    joint = tuple(own if each is None else each for own, each in zip(plan.tuples, tuples, strict=True))
    counted = plan if _is_table(plan) else as_table_count(plan)
    (aggregate,) = counted.aggregates
    function = _TABLE if _is_table(plan) else "sized_group_count"
    ask = replace(aggregate.ask, function=function, size=size, rest=rest)
    bundles, _ = arrange([ask], plan.table)
    table = replace(counted, keys=listed, tuples=joint, bundles=bundles, size=size, rest=rest)
    return replace(table, aggregates=(replace(aggregate, ask=ask, bundles=(0,)),))


def _is_table(plan: Plan) -> bool:
    """Return whether a plan is a histogram or a crosstab, which may have one more row."""
    return [aggregate.ask.function for aggregate in plan.aggregates] == [_TABLE]


def _completed(plan: Plan) -> tuple[Sequence[Key | None], Sequence[KeyTuples | None]] | None:
    """Return the keys and the tuples with their defaults, None for those without one; None if cells cannot add up.

    Only one count of all rows by listed keys is a table. A table of one cell is not: its count would be n, but then
    tables of one key and of several would differ.
    """
    counts = [aggregate.ask for aggregate in plan.aggregates if aggregate.ask.function in ("count", _TABLE)]
    if plan.table.unit is not None or plan.open or len(counts) != 1 or len(plan.aggregates) != 1:
        return None
    if not all(map(is_always_present, counts[0].values)):
        return None
    joint = {place for each in plan.tuples for place in each.places}
    keys = [key if place in joint else _with_default(key, plan) for place, key in enumerate(plan.keys)]
    tuples = [_with_default_tuple(each, plan) for each in plan.tuples]
    missing = any(each is None for each in (*keys, *tuples))
    adds_up = (not missing or _is_table(plan)) and plan.listed + missing >= 2  # noqa: PLR2004 - cells
    return (keys, tuples) if adds_up else None


def _with_default_tuple(tuples: KeyTuples, plan: Plan) -> KeyTuples | None:
    """Return tuples of keys under which all rows count; None if rows can have other tuples."""
    rows = list(tuples.rows())
    nulls: tuple[Value, ...] = (None,) * len(tuples.places)
    if (tuples.complete or _is_table(plan)) and nulls in rows:
        return replace(tuples, default=rows.index(nulls))
    owners = [own_column(plan.keys[place].expression, plan.table) for place in tuples.places]
    policies = [None if owner is None else plan.table.columns[owner.name] for owner in owners]
    required = [policy is not None and policy.required and policy.keys is not None for policy in policies]
    names = [owner.name for owner in owners if owner is not None]
    if not tuples.complete and not (all(required) and _lists_all(rows, names, plan)):
        return None
    constants = tuple(
        policy.stand_in if policy is not None and known else None
        for policy, known in zip(policies, required, strict=True)
    )
    return replace(tuples, default=rows.index(constants)) if constants in rows else None


def _lists_all(rows: Sequence[tuple[Value, ...]], names: Sequence[str], plan: Plan) -> bool:
    """Return whether some tuples are all that the policy lists for these columns, so that the query leaves none out."""
    for each in plan.table.key_tuples:
        if set(names) <= set(each.columns):
            places = [each.columns.index(name) for name in names]
            return {tuple(row[place] for place in places) for row in each.rows} <= set(rows)
    return False


def _with_default(key: Key, plan: Plan) -> Key | None:
    """Return a key under whose values all rows count; None if rows can have other values.

    A key whose values are all listed has a default too, so that no row can be in no cell: for a row that falsified the
    proof, the answer would fail after the charge, and reveal that row.
    """
    column, possible = own_column(key.expression, plan.table), possible_values(key.expression)
    if possible is not None and possible <= set(key.listed):
        return replace(key, default=0)
    policy = None if column is None else plan.table.columns[column.name]
    if policy is not None and policy.required and policy.keys is not None and set(policy.keys) <= set(key.listed):
        return replace(key, default=key.listed.index(policy.stand_in))
    if policy is not None and policy.keys is not None and set(policy.keys) <= set(key.listed):
        left = {name for join in plan.joins if join.kind == "left" and not join.private for name, _ in join.columns}
        if column is not None and column.name in left:
            return replace(key, default=key.listed.index(None))
    if _is_table(plan) and None in key.listed:
        return replace(key, default=key.listed.index(None))
    return None
