"""`histogram(x)` and `histogram(x, [b1, b2, …])` as groups and counts.

In DuckDB the result is one MAP from values to counts. Here each entry is a row, so that it has an interval.
The call is rewritten before the query is checked:

    SELECT histogram(x) AS n FROM t                  SELECT x, count(*) AS n FROM t GROUP BY x
    SELECT g, histogram(x) FROM t GROUP BY g         SELECT g, x, count(*) AS "histogram(x)" FROM t GROUP BY g, x

With boundaries, as in DuckDB, the bin of a value is the first boundary that is not below it:

    histogram(x, [18, 65])      CASE WHEN x <= 18 THEN 18 WHEN x <= 65 THEN 65 END

A value above the last boundary is in no bin and is left out, as any value that is not listed. The rest of the query
sees the rewritten one: keys come from the policy, from `keys=`, from bounds, or are discovered with δ; under "change
one" the counts of all rows add up to the public number of rows.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.query.refusals import refused
from tacit.query.sql.item_expansions import move_positions
from tacit.query.sql.names import default_name, to_sql

_NAME = "histogram"
_FORM = "Write SELECT histogram(x) FROM t, or SELECT x, count(*) FROM t GROUP BY x."
_BINS = "Write the upper ends of the bins as constants: histogram(age, [17, 64, 120])."
_TWO = 2


def expand_histogram(select: exp.Select) -> None:
    """Rewrite the histogram of a select list as a group key and a count; raise RefusedError if it is elsewhere."""
    items = [item for item in select.expressions if _is_call(item.unalias())]
    calls = [node for node in select.find_all(exp.Anonymous) if _is_call(node)]
    if not calls:
        return
    if len(items) != 1 or len(calls) != 1:
        raise refused("histogram is supported once, as an item of the outermost SELECT", _FORM)
    (item,) = items
    call = item.unalias()
    if any(isinstance(node, exp.AggFunc) for node in select.find_all(exp.AggFunc)):
        raise refused(
            "histogram has a row for each bin, so it cannot be beside other aggregates",
            "Run one query with the histogram, and one with the other aggregates.",
        )
    value = _value(call)
    place = select.expressions.index(item)
    name = item.alias or default_name(call)
    count = exp.alias_(exp.Count(this=exp.Star(), big_int=True), name, quoted=True)
    key = exp.alias_(value.copy(), default_name(call.expressions[0]), quoted=True)
    move_positions(select, place + 1, 1)  # in ORDER BY the position of the histogram is that of its counts
    select.set("expressions", [*select.expressions[:place], key, count, *select.expressions[place + 1 :]])
    group = select.args.get("group") or exp.Group()
    group.append("expressions", value)
    select.set("group", group)


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.casefold() == _NAME


def _value(call: exp.Anonymous) -> exp.Expr:
    """Return the group key of a histogram: its value, or the upper end of the value's bin."""
    if len(call.expressions) not in (1, _TWO) or isinstance(call.expressions[0], (exp.Star, exp.Distinct)):
        raise refused("histogram takes one value, and the upper ends of its bins if they are not its values", _BINS)
    value, *ends = call.expressions
    if not ends:
        return value  # type: ignore[no-any-return]  # a node
    bins = ends[0].expressions if isinstance(ends[0], exp.Array) else []
    if not bins or not all(map(_is_constant, bins)):
        raise refused("histogram takes a list of constants as the upper ends of its bins", _BINS)
    ordered = sorted({to_sql(end): end for end in bins}.values(), key=_order)
    tests = [exp.If(this=exp.LTE(this=value.copy(), expression=end.copy()), true=end.copy()) for end in ordered]
    return exp.Case(ifs=tests)


def _is_constant(node: exp.Expr) -> bool:
    inner = node.this if isinstance(node, (exp.Neg, exp.Cast)) else node
    return isinstance(inner, exp.Literal)


def _order(end: exp.Expr) -> tuple[float, str]:
    """Return the order of a boundary: that of its number, or of its text."""
    literal = end.this if isinstance(end, (exp.Neg, exp.Cast)) else end
    if literal.is_string:
        return 0.0, str(literal.this)
    return float(literal.this) * (-1 if isinstance(end, exp.Neg) else 1), ""
