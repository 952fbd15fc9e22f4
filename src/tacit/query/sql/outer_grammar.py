"""The SQL that an outer query may contain: it computes with released and public tables, after the charge.

The list is not what keeps the sandbox closed (`engines.duckdb.sandbox` is), but a second wall: no table functions but
those that make numbers, no names with a schema, and no function that reads the clock, a setting, a file or a random
number, so that an answer that is computed again is the same.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from tacit.query.refusals import SOURCE_WORD, refused, refused_argument, refused_table_function

_MOST_NODES = 20_000
_SHAPES: Final = (
    *(exp.Select, exp.Subquery, exp.With, exp.CTE, exp.From, exp.Where, exp.Having, exp.Qualify, exp.Table, exp.Join),
    *(exp.TableAlias, exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Order, exp.Ordered, exp.Limit),
    *(exp.Offset, exp.Star, exp.Column, exp.Identifier, exp.Alias, exp.Literal, exp.Null, exp.Boolean, exp.Var),
    *(exp.Paren, exp.Union, exp.Except, exp.Intersect, exp.Distinct, exp.Window, exp.WindowSpec, exp.Filter, exp.Pivot),
    *(exp.PivotAlias, exp.PivotAny, exp.UnpivotColumns, exp.Values, exp.Unnest, exp.Interval, exp.DataType),
    *(exp.DataTypeParam, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Exists, exp.In, exp.Between, exp.If),
    *(exp.Case, exp.Array, exp.Any, exp.All, exp.Columns, exp.Lateral),
)
OPERATORS: Final = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Neg, exp.Not, exp.And, exp.Or, exp.Is),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Like, exp.ILike),
    *(exp.DPipe, exp.Cast, exp.TryCast),
)
SCALARS: Final = (
    *(exp.Coalesce, exp.Nullif, exp.Least, exp.Greatest, exp.Abs, exp.Sign, exp.Floor, exp.Ceil, exp.Trunc, exp.Round),
    *(exp.Sqrt, exp.Cbrt, exp.Ln, exp.Log, exp.Exp, exp.IsNan, exp.Lower, exp.Upper, exp.Length, exp.Trim),
    *(exp.Substring, exp.Left, exp.Right, exp.Concat, exp.ConcatWs, exp.Replace, exp.StartsWith, exp.EndsWith),
    *(exp.Contains, exp.StrPosition, exp.SplitPart, exp.Extract, exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day),
    *(exp.DayOfMonth, exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfYear, exp.WeekOfYear, exp.Hour, exp.Minute, exp.Second),
    *(exp.Date, exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff, exp.DateAdd, exp.DateSub, exp.DateFromParts),
    *(exp.LastDay, exp.Monthname, exp.Dayname, exp.TimeToStr, exp.Grouping, exp.GenerateSeries),
)
AGGREGATES: Final = (
    *(exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Mode, exp.Quantile),
    *(exp.PercentileCont, exp.PercentileDisc, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop),
    *(exp.StddevSamp, exp.Corr, exp.CovarPop, exp.CovarSamp, exp.First, exp.Last, exp.AnyValue, exp.ArgMax, exp.ArgMin),
    *(exp.LogicalAnd, exp.LogicalOr, exp.GroupConcat, exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank),
    *(exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue),
)
ALLOWED: Final = frozenset((*_SHAPES, *OPERATORS, *SCALARS, *AGGREGATES))
_NAMES: Final = frozenset(("mean", "count_star", "product", "geomean", "weekday", "isoyear", "date_part"))
_SELECT: Final = frozenset(
    [
        "with_",
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
        "distinct",
        "qualify",
        "windows",
        "laterals",
    ]
)
_TABLE: Final = frozenset(("this", "alias", "pivots", "joins"))


def check_outer(tree: exp.Expr) -> None:
    """Raise RefusedError if an outer query contains SQL that is not listed."""
    for count, node in enumerate(tree.walk()):
        if count >= _MOST_NODES:
            raise refused("The query is too long", "Split it into several queries.")
        if isinstance(node, exp.Anonymous) and node.name.casefold() in _NAMES:
            continue
        if type(node) not in ALLOWED:
            raise _refused(node)
        _check_arguments(node)


def _check_arguments(node: exp.Expr) -> None:
    """Check the clauses of a SELECT and the parts of a table's name."""
    listed = _SELECT if isinstance(node, exp.Select) else _TABLE if isinstance(node, exp.Table) else None
    given = [name for name, value in node.args.items() if value not in (None, False, [])]
    for name in given:
        if (listed is not None and name not in listed) or name in ("recursive", "sample", "into"):
            raise refused_argument(node, name)
    if isinstance(node, exp.Table) and not isinstance(node.this, (exp.Identifier, exp.GenerateSeries)):
        raise refused_table_function()
    if isinstance(node, exp.Literal) and not node.is_string and not node.name.isascii():
        raise refused("A number must have ASCII digits")


def _refused(node: exp.Expr) -> Exception:
    if isinstance(node.parent, exp.Table):
        return refused_table_function()
    word = node.meta.get(SOURCE_WORD) or (node.name if isinstance(node, exp.Anonymous) else type(node).__name__)
    reason = f"{str(word)[:60]} is not supported in a computation with released tables"
    return refused(reason, "The SQL reference lists what is supported.")
