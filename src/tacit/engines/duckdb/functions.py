"""The supported functions in DuckDB's SQL. `query.expressions.functions` defines what they mean.

DuckDB fails if an integer overflows (the plan's ranges exclude it), if a divisor is 0 (`engines.sql.functions` guards
it) and if a cast fails (see `casts`). Doubles follow IEEE 754: an operation may give NaN, which counts as a second NULL
until an operation would tell the two apart.

LIKE of DuckDB below 2.0 tries all combinations of several % if the pattern also has `_`. So LIKE becomes a regular
expression of RE2 unless the pattern is plain (`query.expressions.like_patterns`). REGEXP_MATCHES is not an alternative,
because DuckDB's optimiser turns it back into LIKE.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.engines.sql.builder import call
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.functions import (
    Form,
    automaton_expression,
    chain_form,
    common_forms,
    cut_form,
    date_truncated,
    function_form,
    integer_form,
    like_form,
)


def duckdb_forms(dialect: Dialect) -> dict[str, Form]:
    """Return the forms of all supported functions."""
    return {
        **common_forms(dialect),
        "lower": function_form("LOWER"),
        "upper": function_form("UPPER"),
        "substring": cut_form("SUBSTRING"),
        "left": cut_form("LEFT"),
        "right": cut_form("RIGHT"),
        "trim": Form(write=lambda _, arguments: call("TRIM", arguments[0], exp.Literal.string(" "))),
        "concat": chain_form(exp.DPipe),
        "starts_with": function_form("STARTS_WITH"),
        "like": like_form("REGEXP_FULL_MATCH", automaton_expression, plain=True),
        "year": integer_form("YEAR"),
        "quarter": integer_form("QUARTER"),
        "month": integer_form("MONTH"),
        "day": integer_form("DAY"),
        "weekday": integer_form("DAYOFWEEK"),
        "hour": integer_form("HOUR"),
        "minute": integer_form("MINUTE"),
        "date_trunc": Form(write=date_truncated),
    }
