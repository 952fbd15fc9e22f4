"""Why a question is refused, and how to ask instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from sqlglot import exp

from tacit.errors import InvalidError, RefusedError

_LONGEST = 60
_MOST_NAMES = 12
WRITTEN = "written"
"""Where a node of the tree keeps the word that stands in the question."""

_SPREADS = (
    *(exp.VariancePop, exp.Variance, exp.StddevPop, exp.Stddev, exp.StddevSamp),
    *(exp.CovarPop, exp.CovarSamp, exp.Corr),
)


def quoted(name: str) -> str:
    """Return a name or a text of the question as a message shows it: in quotes, and cut if it is long."""
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")


_SIGNS = "add + subtract - multiply * divide / modulo % negate - concat || equal = not_equal <> less < less_equal <="
_WORDS = "greater > greater_equal >= and AND or OR not NOT in IN like LIKE"
_PAIRS = f"{_SIGNS} {_WORDS}".split()
_SPELLED = {**dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True)), "is_null": "IS NULL"}


def spelled(name: str) -> str:
    """Return a listed function as a question writes it.

    >>> spelled("greater_equal"), spelled("floor")
    ('>=', 'floor')
    """
    return _SPELLED.get(name, name)


def refused(reason: str, instead: str = "") -> RefusedError:
    """Return the error for a question that cannot be answered: why, that nothing was spent, and how to ask instead.

    >>> print(refused("Joins are not answered"))
    Joins are not answered; nothing was spent.
    """
    return RefusedError(f"{reason}; nothing was spent.{' ' if instead else ''}{instead}")


def unknown(what: str, name: str, names: Iterable[str], *, in_quotes: bool = False) -> InvalidError:
    """Return the error for a name that is not there, with the nearest that is, or some; `in_quotes`: in double ones.

    >>> print(unknown("column", "incme", ["income", "age"]))
    sql must be a question with known names (did you mean income?), but got the unknown column 'incme'; ...
    >>> print(unknown("column", "x", ["income", "age"]))
    sql must be a question with known names (there are: income, age), but got the unknown column 'x'; ...
    """
    listed = list(names)
    near = get_close_matches(name.casefold(), [known.casefold() for known in listed], n=1)
    meant = next((known for known in listed if near and known.casefold() == near[0]), None)
    split = next((known for known in listed if name.casefold() in re.split(r"\W+", known.casefold())[:-1]), None)
    more = ", …" if len(listed) > _MOST_NAMES else ""
    hint = f" (there are: {', '.join(map(_as_written, listed[:_MOST_NAMES]))}{more})" if listed else ""
    if meant is not None:
        hint = f" (did you mean {_as_written(meant)}?)"
    if split is not None:
        hint = f" (a name with other signs than letters, digits and _ needs double quotes: {_as_written(split)})"
    elif in_quotes and meant is None:
        hint = f" (texts stand in single quotes: '{name[:_LONGEST]}'; double quotes are for names)"
    got = f"the unknown {what} {quoted(name)}"
    return InvalidError("sql", got, f"a question with known names{hint}")


def _as_written(name: str) -> str:
    """Return a name as it must be written: in double quotes if it has other signs than letters, digits and _."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else '"' + name.replace('"', '""') + '"'


_ROWS = "Put conditions and computed columns there, and aggregate in the outermost SELECT."
_CASE = "Write the condition inside: count(CASE WHEN … THEN 1 END), sum(CASE WHEN … THEN x END)."
_FUNCTION = "Only listed functions run over rows, since others could fail on a row or tell of it."

_BY_ARGUMENT: dict[str, tuple[str, str]] = {
    "joins": ("Joins inside a join are not answered", "Write them in a row: a JOIN b ON … JOIN c ON …."),
    "laterals": ("LATERAL is not answered", ""),
    "into": ("SELECT INTO, which writes a table, is not answered", ""),
    "distinct": ("SELECT DISTINCT is not answered", "Use GROUP BY: its groups are the public keys."),
    "qualify": ("QUALIFY is not answered", "Filter released values with HAVING."),
    "windows": ("Window functions are not answered", ""),
    "sample": ("Sampling (TABLESAMPLE, USING SAMPLE) is not answered", ""),
    "pivots": ("PIVOT is not answered", "Use GROUP BY."),
    "hint": ("Hints are not answered", ""),
    "hints": ("Hints are not answered", ""),
    "locks": ("FOR UPDATE and its kin are not answered", ""),
    "recursive": ("Recursive CTEs are not answered", ""),
    "db": ("Names with a schema or a database are not answered", "Name the table and the column alone."),
    "when": ("Older versions of a table are not answered", ""),
    "query": ("IN (SELECT …) is not answered, since it would join rows of different units", "List the values."),
    "unnest": ("IN (UNNEST …) is not answered", "List the values."),
    "field": ("IN takes a list of values in parentheses", ""),
    "all": ("GROUP BY ALL is not answered", "Name the columns to group by."),
    "grouping_sets": ("GROUPING SETS are not answered", "Ask one question for each grouping."),
    "rollup": ("ROLLUP is not answered", "Ask one question for each grouping."),
    "cube": ("CUBE is not answered", "Ask one question for each grouping."),
    "totals": ("WITH TOTALS is not answered", "Ask one question for each grouping."),
    "limit_options": ("LIMIT takes a number of rows alone", ""),
    "symmetric": ("BETWEEN SYMMETRIC is not answered", "Put the lower end first."),
    "on": ("DISTINCT ON is not answered", ""),
    "position": ("Of the trims only trim(x), which takes away spaces, is answered", ""),
    "kind": ("SELECT AS STRUCT or VALUE is not answered", ""),
    "ordinality": ("WITH ORDINALITY is not answered", ""),
}

_BY_NODE: dict[str, tuple[str, str]] = {
    "Union": ("Set operations (UNION, INTERSECT, EXCEPT) are not answered", "Ask one question for each part."),
    "Intersect": ("Set operations (UNION, INTERSECT, EXCEPT) are not answered", ""),
    "Except": ("Set operations (UNION, INTERSECT, EXCEPT) are not answered", ""),
    "Window": ("Window functions are not answered", "Aggregate with GROUP BY."),
    "Filter": ("FILTER is answered for count, sum and avg of a value alone", _CASE),
    "CountIf": ("count_if takes one condition", _CASE),
    "WithinGroup": ("WITHIN GROUP is not answered", ""),
    "Order": ("ORDER BY inside an aggregate is not answered", ""),
    "IgnoreNulls": ("IGNORE NULLS and functions that need it are not answered", ""),
    "RespectNulls": ("RESPECT NULLS is not answered", ""),
    "Exists": ("EXISTS is not answered, since it would join rows of different units", ""),
    "Any": ("ANY and ALL over subqueries are not answered", "List the values with IN."),
    "All": ("ANY and ALL over subqueries are not answered", "List the values with IN."),
    "Subquery": ("Subqueries inside expressions are not answered", f"A subquery may stand in FROM. {_ROWS}"),
    "Select": ("Subqueries inside expressions are not answered", f"A subquery may stand in FROM. {_ROWS}"),
    "Values": ("VALUES is not answered", "Only tables of the policy can be asked."),
    "Unnest": ("UNNEST is not answered", "Only tables of the policy can be asked."),
    "Lateral": ("LATERAL is not answered", ""),
    "Pivot": ("PIVOT is not answered", "Use GROUP BY."),
    "Rollup": ("ROLLUP is not answered", "Ask one question for each grouping."),
    "Cube": ("CUBE is not answered", "Ask one question for each grouping."),
    "GroupingSets": ("GROUPING SETS are not answered", "Ask one question for each grouping."),
    "Tuple": ("Rows of several values, (a, b), are not answered", "Name the columns one by one."),
    "Placeholder": ("Parameters are not answered", "Write the value into the question."),
    "Parameter": ("Parameters are not answered", "Write the value into the question."),
    "SessionParameter": ("Parameters are not answered", "Write the value into the question."),
    "Lambda": ("Lambda functions are not answered", _FUNCTION),
    "Dot": ("Fields and functions named with a dot are not answered", _FUNCTION),
    "Bracket": ("Elements and fields, x[…], are not answered", ""),
    "Struct": ("Structs, lists and maps are not answered", ""),
    "Array": ("Structs, lists and maps are not answered", ""),
    "ToMap": ("Structs, lists and maps are not answered", ""),
    "Map": ("Structs, lists and maps are not answered", ""),
    "Columns": ("COLUMNS(…) is not answered", "Name the columns."),
    "Aliases": ("Several aliases for one column are not answered", ""),
    "Star": ("* stands for rows", "Name one column, or write count(*)."),
    "Collate": ("COLLATE is not answered", "Compare lower(x)."),
    "Escape": ("ESCAPE is not supported", "To find a literal %, write replace(x, '%', '') <> x."),
    "RegexpLike": ("Regular expressions are not answered", "Use LIKE, starts_with, left or substring."),
    "RegexpFullMatch": ("Regular expressions are not answered", "Use LIKE, starts_with, left or substring."),
    "SimilarTo": ("Regular expressions are not answered", "Use LIKE, starts_with, left or substring."),
    "Glob": ("GLOB is not answered", "Use LIKE."),
    "Interval": ("Intervals of time are not answered", "Compare with a date, or use date_trunc, year or month."),
    "Rand": ("Functions that are not the same each time are not answered", ""),
    "CurrentDate": ("The clock is not asked", "Write the date into the question."),
    "CurrentTimestamp": ("The clock is not asked", "Write the date into the question."),
    "Try": ("TRY is not needed", "No expression can fail: x / 0 and bad casts are NULL."),
    "Fetch": ("FETCH is not answered", "Use LIMIT."),
}


_CLOCKS = ("now", "today", "get_current_timestamp", "transaction_timestamp")


def refused_argument(node: exp.Expr, argument: str) -> RefusedError:
    """Return the error for a node that has an argument which is not listed."""
    if isinstance(node, exp.Count) and argument == "expressions":
        return refused("count takes one column", "Use count(*) or count(x).")
    if isinstance(node, exp.DataType):
        kinds = "INTEGER, BIGINT, DOUBLE, TEXT, BOOLEAN, DATE and TIMESTAMP"
        return refused(f"A cast to {node.this.name} is not answered", f"Cast to one of {kinds}, and round.")
    if isinstance(node, exp.Order):
        return refused("ORDER BY inside an aggregate is not answered")
    reason, instead = _BY_ARGUMENT.get(argument, (f"{_name(node)} with {argument.strip('_')} is not answered", ""))
    return refused(reason, instead)


def refused_node(node: exp.Expr) -> RefusedError:
    """Return the error for a node that is not listed."""
    kind = type(node).__name__
    if isinstance(node.parent, exp.Table):
        return refused("Functions that give tables are not answered", "Only tables of the policy can be asked.")
    if kind == "Array" and isinstance(node.parent, (exp.PercentileCont, exp.PercentileDisc, exp.Quantile)):
        return refused(
            "A list of quantiles is not answered",
            "Write one after the other: quantile_cont(x, 0.25), quantile_cont(x, 0.75); they have one price together.",
        )
    if kind in _BY_NODE:
        return refused(*_BY_NODE[kind])
    if isinstance(node, (exp.Count, exp.Sum, exp.Avg, exp.Anonymous, *_SPREADS)):
        instead = "WHERE and GROUP BY see one row at a time; filter released values with HAVING."
        return refused("An aggregate stands where the value of one row is wanted", instead)
    if isinstance(node, exp.AggFunc):
        answered = "count, sum, avg, median, min, max and some more are."
        return refused(f"The aggregate {_name(node)} is not answered", answered)
    what = "The function " if isinstance(node, exp.Func) else ""
    listed = "Only what is listed is: SELECT, WHERE, GROUP BY, count, sum, avg."
    return refused(f"{what}{_name(node)} is not answered", _FUNCTION if what else listed)


def refused_function(name: str, known: Iterable[str]) -> RefusedError:
    """Return the error for a function that is not listed, with the nearest one that is."""
    if name.casefold() in _CLOCKS:
        return refused(*_BY_NODE["CurrentDate"])
    near = get_close_matches(name.casefold(), list(known), n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return refused(f"The function {quoted(name)} is not answered", _FUNCTION + hint)


def _name(node: exp.Expr) -> str:
    """Return what a node is called in the question, or by the parser if that is not known."""
    written = node.meta.get(WRITTEN)
    if isinstance(written, str) and written.isidentifier():
        return written[:_LONGEST]
    return str(node.sql_name()).lower() if isinstance(node, exp.Func) else type(node).__name__.upper()
