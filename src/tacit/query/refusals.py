"""The reasons for refusing a query, each with a hint for a query that works.

A refusal is a `RefusedError`: SQL that tacit understands but does not support. An unknown name is an `InvalidError`.
Two tables hold the refusals of the parsed tree: by argument of a node, and by class of a node. Neither reads data, so a
refusal reveals nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import exp

from tacit.errors import ColumnNotFoundError, InvalidError, RefusedError, nearest_name, show_name

_LONGEST = 60
_MOST_NAMES = 12
SOURCE_WORD = "source_word"
"""The key in a node's metadata for the word that the query uses for a function."""

_SPREADS = (
    *(exp.VariancePop, exp.Variance, exp.StddevPop, exp.Stddev, exp.StddevSamp),
    *(exp.CovarPop, exp.CovarSamp, exp.Corr),
)

_SIGNS = "add + subtract - multiply * divide / modulo % negate - concat || equal = not_equal <> less < less_equal <="
_KEYWORDS = "greater > greater_equal >= and AND or OR not NOT in IN like LIKE"
_PAIRS = f"{_SIGNS} {_KEYWORDS}".split()
_SQL_SPELLINGS = {**dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True)), "is_null": "IS NULL"}


def sql_spelling(name: str) -> str:
    """Return a listed function as SQL writes it.

    >>> sql_spelling("greater_equal"), sql_spelling("floor")
    ('>=', 'floor')
    """
    return _SQL_SPELLINGS.get(name, name)


def refused(reason: str, hint: str = "") -> RefusedError:
    """Return the error for a query that tacit does not support: the reason, without its period, and a hint.

    >>> print(refused("FETCH is not supported", "Use LIMIT."))
    FETCH is not supported. Use LIMIT.
    """
    return RefusedError(f"{reason}.", hint=hint or None)


def unknown_column(name: str, columns: Iterable[str], *, in_quotes: bool = False) -> ColumnNotFoundError:
    """Return the error for an unknown column; `in_quotes` if the query has the name in double quotes.

    >>> print(unknown_column("incme", ["income", "age"]))
    Unknown column 'incme'. Did you mean 'income'?
    >>> print(unknown_column("x", ["income", "age"]))
    Unknown column 'x'. The columns are: income, age. Text needs single quotes.
    """
    known = list(columns)
    return ColumnNotFoundError(
        name, known, argument="sql", hint=_name_hint("columns", name, known, in_quotes=in_quotes)
    )


def unknown_table(name: str, tables: Iterable[str]) -> InvalidError:
    """Return the error for an unknown table.

    >>> print(unknown_table("vists", ["visits"]))
    Unknown table 'vists'. Did you mean 'visits'?
    """
    hint = _name_hint("tables", name, list(tables), in_quotes=False)
    return InvalidError(f"Unknown table {show_name(name)}.", argument="sql", hint=hint)


def _name_hint(things: str, name: str, known: list[str], *, in_quotes: bool) -> str | None:
    """Return the hint for an unknown name: quotes that are missing, the nearest known name, or a list of names."""
    closest = nearest_name(name, known)
    cut = next((other for other in known if name.casefold() in re.split(r"\W+", other.casefold())[:-1]), None)
    if cut is not None:
        return f"A name with characters other than letters, digits and _ needs double quotes: {_as_sql(cut)}."
    if closest is not None:
        return f"Did you mean {_as_sql(closest) if _needs_quotes(closest) else show_name(closest)}?"
    if in_quotes:
        return f"Write text in single quotes: '{name[:_LONGEST]}'. Double quotes are for names."
    more = ", …" if len(known) > _MOST_NAMES else ""
    text = " Text needs single quotes." if things == "columns" else ""
    return f"The {things} are: {', '.join(map(_as_sql, known[:_MOST_NAMES]))}{more}.{text}" if known else None


def _needs_quotes(name: str) -> bool:
    return re.fullmatch(r"[^\W\d]\w*", name) is None


def _as_sql(name: str) -> str:
    """Return a name as SQL writes it, in double quotes if it has characters other than letters, digits and _."""
    return '"' + name.replace('"', '""') + '"' if _needs_quotes(name) else name


_GROUPINGS = "Run one query for each grouping."
_LIST = "Write x IN (1, 2)."
_TOP = "Write SELECT x, count(*) AS n FROM t GROUP BY x ORDER BY n DESC LIMIT 3."
_LEAVE = "Leave it out."
_COUNTED = "Write SELECT x, count(*) FROM t GROUP BY x, or count(DISTINCT x)."
_WINDOWS = (
    "Aggregate with GROUP BY in a subquery; window functions over its result are supported: SELECT x, rank() OVER "
    "(ORDER BY n DESC) FROM (SELECT x, count(*) AS n FROM t GROUP BY x)."
)
_CASE = "Write the condition inside: count(CASE WHEN … THEN 1 END), sum(CASE WHEN … THEN x END)."
_FUNCTIONS = "tacit runs only listed functions over rows, because another could fail on a row and so reveal it."
_POLICY_TABLES = "Query the tables of the policy."
_SUBQUERIES = (
    "Run the inner query first, and write its result as a constant. For a share of the total, write count(*) / "
    "sum(count(*)) OVER (). For conditions and computed columns, use a subquery in FROM; it may also aggregate the "
    "rows of each unit: GROUP BY the unit column there."
)
_PATTERNS = "Use LIKE, starts_with, left or substring."
_LOCAL_TIMES = "Columns and constants are local times in the policy's timezone; write constants without an offset."
_CLOCK = (
    "This function of the clock is not supported here",
    "Write current_date or now(), without arguments, or the date.",
)

_BY_ARGUMENT: dict[str, tuple[str, str]] = {
    "joins": ("A join in parentheses inside a join is not supported", "Write a JOIN b ON … JOIN c ON … instead."),
    "laterals": ("LATERAL is not supported", "Compute columns in a subquery in FROM."),
    "into": ("SELECT INTO is not supported, because it writes a table", _LEAVE),
    "distinct": ("SELECT DISTINCT is not supported", _COUNTED),
    "qualify": ("QUALIFY is not supported", "Filter released values with HAVING."),
    "windows": ("Window functions over rows are not supported", _WINDOWS),
    "sample": ("Sampling (TABLESAMPLE, USING SAMPLE) is not supported", _LEAVE),
    "pivots": ("PIVOT is not supported", "Use GROUP BY."),
    "hint": ("Hints are not supported", "Leave them out."),
    "hints": ("Hints are not supported", "Leave them out."),
    "locks": ("Row locks, such as FOR UPDATE, are not supported", "Leave them out."),
    "recursive": ("Recursive CTEs are not supported", "Write WITH without RECURSIVE."),
    "db": ("Names with a schema or a database are not supported", "Write the table or the column alone."),
    "when": ("Older versions of a table are not supported", _LEAVE),
    "unnest": ("IN (UNNEST …) is not supported", _LIST),
    "field": ("IN takes a list of values in parentheses", "Write x IN (1, 2)."),
    "all": ("GROUP BY ALL is not supported with *", "Name the columns."),
    "grouping_sets": ("GROUPING SETS are not supported", _GROUPINGS),
    "rollup": ("ROLLUP is not supported", _GROUPINGS),
    "cube": ("CUBE is not supported", _GROUPINGS),
    "totals": ("WITH TOTALS is not supported", _GROUPINGS),
    "limit_options": ("LIMIT takes only a number of rows", "Write LIMIT 10."),
    "symmetric": ("BETWEEN SYMMETRIC is not supported", "Put the lower end first."),
    "on": ("DISTINCT ON is not supported", _COUNTED),
    "position": ("Trimming one end of a text is not supported", "Use trim(x), which removes spaces at both ends."),
    "kind": ("SELECT AS STRUCT or VALUE is not supported", ""),
    "count": ("A list of the best values is not supported", _TOP),
    "ordinality": ("WITH ORDINALITY is not supported", ""),
}

_BY_NODE: dict[str, tuple[str, str]] = {
    "Union": ("Set operations (UNION, INTERSECT, EXCEPT) are not supported", "Run one query for each part."),
    "Intersect": ("Set operations (UNION, INTERSECT, EXCEPT) are not supported", "Run one query for each part."),
    "Except": ("Set operations (UNION, INTERSECT, EXCEPT) are not supported", "Run one query for each part."),
    "Window": ("Window functions over rows are not supported", _WINDOWS),
    "Filter": ("FILTER is supported only for count, sum, avg, min, max, bool_or and bool_and of one value", _CASE),
    "CountIf": ("count_if takes one condition", _CASE),
    "WithinGroup": ("WITHIN GROUP is not supported", ""),
    "Order": ("ORDER BY inside an aggregate is not supported", _LEAVE),
    "IgnoreNulls": ("IGNORE NULLS and functions that need it are not supported", ""),
    "RespectNulls": ("RESPECT NULLS is not supported", _LEAVE),
    "Exists": ("EXISTS over released values is not supported", "Put the condition into WHERE."),
    "Any": ("ANY and ALL over subqueries are not supported", "Compare with a constant, or write x IN (1, 2)."),
    "All": ("ANY and ALL over subqueries are not supported", "Compare with a constant, or write x IN (1, 2)."),
    "Subquery": ("Subqueries inside expressions are not supported", _SUBQUERIES),
    "Select": ("Subqueries inside expressions are not supported", _SUBQUERIES),
    "Values": ("VALUES is not supported", _POLICY_TABLES),
    "Unnest": ("UNNEST is not supported", _POLICY_TABLES),
    "Lateral": ("LATERAL is not supported", "Compute columns in a subquery in FROM."),
    "Pivot": ("PIVOT is not supported", "Use GROUP BY."),
    "Rollup": ("ROLLUP is not supported", _GROUPINGS),
    "Cube": ("CUBE is not supported", _GROUPINGS),
    "GroupingSets": ("GROUPING SETS are not supported", _GROUPINGS),
    "Tuple": ("Rows of several values, (a, b), are not supported", "Name the columns one by one."),
    "Placeholder": ("A parameter has no value", "Pass the values of parameters with params= or --param."),
    "Parameter": ("Parameters are not supported", "Write the value into the query."),
    "SessionParameter": ("Parameters are not supported", "Write the value into the query."),
    "Lambda": ("Lambda functions are not supported", _FUNCTIONS),
    "Dot": ("Fields and functions named with a dot are not supported", _FUNCTIONS),
    "Bracket": (
        "Elements and fields, x[…], are not supported",
        "For the characters of a text, use substring(x, 1, 1).",
    ),
    "Struct": ("Structs, lists and maps are not supported", "Name the columns one by one."),
    "Array": ("Structs, lists and maps are not supported", "Name the columns one by one."),
    "ToMap": ("Structs, lists and maps are not supported", "Name the columns one by one."),
    "Map": ("Structs, lists and maps are not supported", "Name the columns one by one."),
    "Columns": ("COLUMNS(…) is not supported", "Name the columns."),
    "Aliases": ("Several aliases for one column are not supported", ""),
    "Star": ("* stands for rows, which are never released", "Name one column, or write count(*)."),
    "Collate": ("COLLATE is not supported", "Compare lower(x)."),
    "Escape": ("ESCAPE is not supported", "To find a literal %, write replace(x, '%', '') <> x."),
    "RegexpLike": ("Regular expressions are not supported", _PATTERNS),
    "RegexpFullMatch": ("Regular expressions are not supported", _PATTERNS),
    "SimilarTo": ("Regular expressions are not supported", _PATTERNS),
    "Glob": ("GLOB is not supported", "Use LIKE."),
    "Interval": ("An interval of time alone is not supported", "Add it to a date: day + INTERVAL 30 DAY."),
    "AtTimeZone": ("AT TIME ZONE is not supported", _LOCAL_TIMES),
    "Rand": ("Random functions are not supported", ""),
    "CurrentDate": _CLOCK,
    "CurrentTimestamp": _CLOCK,
    "Localtimestamp": _CLOCK,
    "CurrentDatetime": _CLOCK,
    "CurrentTime": ("The time of day alone is not supported", "Use now(), or hour(now())."),
    "Try": ("TRY is not supported", "No expression fails: x / 0 and bad casts are NULL."),
    "Fetch": ("FETCH is not supported", "Use LIMIT."),
}


_ROWS = "It would show rows. Write SELECT x, count(*) FROM t GROUP BY x."
_TAILS = "Its noise would be larger than its value. Compare quantile_cont(x, 0.01) and quantile_cont(x, 0.99)."
_INSTEAD = {
    **dict.fromkeys(("list", "array_agg", "string_agg", "group_concat", "first", "last", "arbitrary"), _ROWS),
    **dict.fromkeys(("kurtosis", "kurtosis_pop"), _TAILS),
    "approx_quantile": "Write quantile_cont(x, 0.5).",
    "approx_top_k": _TOP,
    "entropy": "Write SELECT x, count(*) FROM t GROUP BY x, and compute it from the counts.",
    "every": "Write bool_and(c).",
    "geomean": "Write exp(avg(clamp(ln(x), low, high))) with public bounds.",
    "geometric_mean": "Write exp(avg(clamp(ln(x), low, high))) with public bounds.",
    "mad": "Write median(abs(x - 10)), with a median that was released before in place of 10.",
    "product": "Write exp(sum(clamp(ln(x), low, high))) with public bounds.",
    "regr_sxx": "Write regr_count(y, x) * var_pop(x).",
    "regr_sxy": "Write regr_count(y, x) * covar_pop(y, x).",
    "regr_syy": "Write regr_count(y, x) * var_pop(y).",
    "sem": "Write stddev_samp(x) / sqrt(count(x)).",
    "skewness_pop": "Write skewness(x), the skewness of a sample.",
}
"""Aggregates that are not supported, with what to write instead."""

_FUNCTIONS_INSTEAD = {
    "date_format": "Write strftime(day, '%Y-%m').",
    "isnull": "Write coalesce(x, 0).",
    "to_date": "Write CAST(x AS DATE).",
}
"""Functions of other databases, with what to write instead."""

_CLOCK_NAMES = ("now", "today", "get_current_timestamp", "transaction_timestamp")


def refused_argument(node: exp.Expr, argument: str) -> RefusedError:
    """Return the error for an argument of a node that is not listed."""
    if isinstance(node, exp.Count) and argument == "expressions":
        return refused("count takes one column", "Use count(*) or count(x).")
    if isinstance(node, exp.DataType):
        return refused_cast(node.this.name, "For decimals, cast to DOUBLE and round.")
    if isinstance(node, exp.Order):
        return refused("ORDER BY inside an aggregate is not supported", _LEAVE)
    unlisted = (f"{source_word(node)} with {argument.strip('_')} is not supported", "")
    return refused(*_BY_ARGUMENT.get(argument, unlisted))


def refused_cast(type_name: str, more: str = "") -> RefusedError:
    """Return the error for a cast to a type that is not listed."""
    if type_name.upper() in ("TIMESTAMPTZ", "TIMESTAMPLTZ"):
        return refused(f"A cast to {type_name} is not supported", _LOCAL_TIMES)
    hint = "Cast to INTEGER, BIGINT, DOUBLE, TEXT, BOOLEAN, DATE or TIMESTAMP."
    return refused(f"A cast to {type_name} is not supported", f"{hint} {more}".rstrip())


def refused_table_function() -> RefusedError:
    """Return the error for a function in FROM."""
    return refused("Table functions are not supported", _POLICY_TABLES)


def refused_node(node: exp.Expr) -> RefusedError:
    """Return the error for a node that is not listed."""
    kind = type(node).__name__
    if isinstance(node.parent, exp.Table):
        return refused_table_function()
    if kind == "Array" and isinstance(node.parent, (exp.PercentileCont, exp.PercentileDisc, exp.Quantile)):
        return refused(
            "A list of quantiles is supported only as an item of the outermost SELECT",
            "Write quantile_cont(x, 0.25), quantile_cont(x, 0.75); together they cost as much as one.",
        )
    if kind in _BY_NODE:
        return refused(*_BY_NODE[kind])
    if isinstance(node, (exp.Count, exp.Sum, exp.Avg, exp.Anonymous, *_SPREADS)):
        hint = "WHERE and GROUP BY see one row at a time; filter released values with HAVING."
        return refused("An aggregate is not supported where the value of one row is needed", hint)
    return _unlisted(node)


def _unlisted(node: exp.Expr) -> RefusedError:
    """Return the error for a node that no table mentions."""
    if isinstance(node, exp.AggFunc):
        word = source_word(node).casefold()
        every = "Supported are count, sum, avg, median, min, max, and others that the SQL reference lists."
        return refused(f"The aggregate {source_word(node)} is not supported", _INSTEAD.get(word, every))
    if isinstance(node, exp.Func):
        return refused(f"The function {source_word(node)} is not supported", _FUNCTIONS)
    return refused(f"{source_word(node)} is not supported", "The SQL reference lists what is supported.")


def refused_function(name: str, known: Iterable[str]) -> RefusedError:
    """Return the error for a function that is not listed, with the nearest one that is."""
    if name.casefold() in _CLOCK_NAMES:
        return refused(*_CLOCK)
    if name.casefold() in _INSTEAD:
        return refused(f"The aggregate {name.casefold()} is not supported", _INSTEAD[name.casefold()])
    if name.casefold() in _FUNCTIONS_INSTEAD:
        return refused(f"The function {show_name(name)} is not supported", _FUNCTIONS_INSTEAD[name.casefold()])
    near = nearest_name(name, known)
    hint = "" if near is None else f" Did you mean {near}?"
    return refused(f"The function {show_name(name)} is not supported", _FUNCTIONS + hint)


def source_word(node: exp.Expr) -> str:
    """Return the word that the query uses for a node, or the parser's name if that word is not known."""
    word = node.meta.get(SOURCE_WORD)
    if isinstance(word, str) and word.isidentifier():
        return word[:_LONGEST]
    if isinstance(node, exp.GroupConcat):  # the parser gives no place for it
        return "string_agg"
    return str(node.sql_name()).lower() if isinstance(node, exp.Func) else type(node).__name__.upper()
