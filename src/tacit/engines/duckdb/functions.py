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

from tacit.engines.sql.builder import SQL, call, cast, infix, whole
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
from tacit.engines.sql.time_functions import (
    add_months_form,
    date_at_form,
    ordinal_form,
    quotient_form,
    timestamp_at_form,
)
from tacit.query.expressions.time import EPOCH


def _days(day: SQL, since: SQL) -> SQL:
    return cast(infix(exp.Sub, day, since), "BIGINT")


def _part(name: str, moment: SQL) -> SQL:
    return cast(call(name.upper(), moment), "BIGINT")


def _timestamp(number: SQL) -> SQL:
    """Write the timestamp of an ordinal; DuckDB multiplies an interval by 32 bits only."""
    return call("MAKE_TIMESTAMP", infix(exp.Sub, number, whole(EPOCH)))


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
        "week": integer_form("WEEK"),
        "isoyear": integer_form("ISOYEAR"),
        "yearday": integer_form("DAYOFYEAR"),
        "hour": integer_form("HOUR"),
        "minute": integer_form("MINUTE"),
        "second": integer_form("SECOND"),
        "ordinal": ordinal_form(_days, _part),
        "date_at": date_at_form(lambda day, count: infix(exp.Add, day, cast(count, "INTEGER"))),
        "timestamp_at": timestamp_at_form(_timestamp),
        "add_months": add_months_form(_part),
        "quotient": quotient_form(dialect),
        "date_trunc": Form(write=date_truncated),
    }
