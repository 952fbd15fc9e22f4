"""Units by their number of rows or of groups, as a statement (see `query.unit_sizes`).

    located  as in `statement`: the rows that count
    sizes    by unit: n, the number of its rows, or of its groups; with a value also the number of rows that have one
             and the sum of d
    answer   by bin of n: the number of units, or the sum of their integers

**A unit's integer** is 1, or with a value |V|·2^fraction_bits // (n·M), where V is the sum of its v, M = max|v|, and
`//` truncates. All v have one sign, so |V| ≤ n·M and the integer is at most 2^fraction_bits. Rows without a value add
nothing to V.

**Nothing overflows.** n < 2^63 and M·2^fraction_bits ≤ 2^62 (`measures.check`), so |V|·2^fraction_bits < 2^125 and
n·M < 2^125 fit 128 bits.
"""
# ruff: noqa: S608 - these texts are built here from checked expressions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from tacit.engines.sql import measures
from tacit.engines.sql.builder import SQL, call, cast, column, infix, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.histogram import BinStatement
from tacit.engines.sql.key_lists import key_lists
from tacit.engines.sql.measures import Tally, largest, product_by, sum_of_values
from tacit.engines.sql.statement import located_rows, measure_columns, sums_by, with_clause
from tacit.errors import InternalError
from tacit.query.plan import Measure, Plan
from tacit.query.unit_sizes import edges_of

_WIDE = "HUGEINT"


def counts_sizes(plan: Plan) -> bool:
    """Return whether a plan of `split` is a histogram of units by their number of rows."""
    return plan.bundles[0].measures[0].per in ("size", "groups")


def size_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> BinStatement:
    """Return the statement of a plan with one measure of sizes."""
    measure = plan.bundles[0].measures[0]
    if plan.table.unit is None or plan.keys:
        raise InternalError("sizes are those of units in the whole answer.")
    if measure.per == "groups":
        plan = replace(plan, keys=plan.within, within=())
    measures.check(measure, 1)
    needed = measure_columns([measure])
    tables = located_rows(plan, types, needed, dialect, coded=True)
    sizes = sums_by(["u"], needed, [measure], "located", dialect, counted=True)
    if measure.per == "groups":
        sizes = "SELECT u, COUNT(DISTINCT cell) AS n FROM located GROUP BY u"
    counted, summed = needed.names(measure)
    tally = Tally(column("n"), column(f"n{counted or ''}"), None if summed is None else column(f"s{summed}"))
    total = dialect.text(dialect.bounded(_integer(measure, tally, dialect), 1 << measure.fraction_bits))
    sized = f"SELECT {dialect.text(_bin(edges_of(measure)))} AS d0, sizes.* FROM sizes"
    tables = [*tables, ("sizes", "", sizes), ("sized", "", sized)]
    sql = f"WITH {with_clause(tables)}\nSELECT 0 AS cell, d0, {total} FROM sized GROUP BY d0"
    return BinStatement(sql, key_lists(plan), 1, measure.bins, 1, draws=False)


def _bin(edges: Sequence[int], first: int = 0, last: int | None = None) -> SQL:
    """Return the number of the bin of n, which is from `first` to `last`: a search by halving."""
    last = len(edges) if last is None else last
    if first == last:
        return whole(first)
    middle = (first + last) // 2
    lower, upper = _bin(edges, first, middle), _bin(edges, middle + 1, last)
    return when((infix(exp.LTE, column("n"), whole(edges[middle])), lower), otherwise=upper)


def _integer(measure: Measure, tally: Tally, dialect: Dialect) -> SQL:
    """Return the integer that a unit adds to its bin."""
    if measure.value is None:
        return whole(1)
    total = call("ABS", sum_of_values(measure, tally, _WIDE))
    most = product_by(cast(tally.rows, _WIDE), largest(measure), _WIDE)
    share = dialect.quotient(product_by(total, 1 << measure.fraction_bits, _WIDE), most, _WIDE)
    return cast(call("COALESCE", share, whole(0, _WIDE)), "BIGINT")
