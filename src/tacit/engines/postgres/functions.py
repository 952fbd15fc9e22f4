"""The supported functions in PostgreSQL's SQL. `query.expressions.functions` defines what they mean.

`doubles` has the arithmetic of doubles. Text is compared by code point because every text has the collation "C" (see
`dialect`). Upper and lower case are translated character by character; for ASCII text the server's `lower` under "C"
gives the same result faster.

**Long texts.** No value may be larger than 1 GB, and `lower` takes up to 8 bytes for each byte. So a function that
returns a text gives NULL if one of its texts has more than 32 MB. A text can grow to at most 16 times that
(`query.expressions.text_length`), which is 512 MB, and 8 bytes for each of 32 MB are 256 MB. Functions that only read
a text accept any length.

**LIKE** is PostgreSQL's own. Its matcher continues from the first occurrence of each part between two %, and stops at
once if the text ends before the pattern does, so a match takes O(n·m) steps. A regular expression would need 8 bytes of
memory for each byte of a text and fail on long ones. The matcher recurses once for each %, and PostgreSQL fails if its
stack is full; with a stack of 100 kB, the smallest that a server can be set to, that needs more than 1,000 of them.
`query.expressions.like_patterns` allows fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.engines.postgres.doubles import added, divided, exponential, filled, left_over, multiplied, powered
from tacit.engines.sql.builder import SQL, call, cast, chain, infix, real, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.functions import (
    Form,
    common_forms,
    constant_at,
    function_form,
    lower_case_pairs,
    upper_case_pairs,
)
from tacit.engines.sql.time_functions import (
    add_months_form,
    date_at_form,
    ordinal_form,
    quotient_form,
    sum_of_intervals,
    timestamp_at_form,
)
from tacit.query.expressions import Call

_LONGEST = 2**31 - 1
_LONG = 2**25
_MOST_TEXTS = 1000
_MOST = 1e307


def postgres_forms(dialect: Dialect) -> dict[str, Form]:
    """Return the forms of all supported functions."""
    return {
        **common_forms(dialect),
        "add": _arithmetic(added, exp.Add),
        "subtract": _arithmetic(lambda a, b: added(a, filled("-b", b=b)), exp.Sub),
        "multiply": _arithmetic(multiplied, exp.Mul),
        "divide": Form(write=lambda _, arguments: divided(*arguments), repeats=(0, 1), makes_nan=True),
        "modulo": Form(write=_modulo, repeats=(0, 1), makes_nan=True),
        "round": Form(write=_rounded, repeats=(0,)),
        "exp": Form(write=lambda _, arguments: exponential(*arguments), repeats=(0,)),
        "power": Form(write=lambda _, arguments: powered(*arguments), repeats=(0, 1), nulls_nan=True),
        "lower": _case_form("LOWER", lower_case_pairs),
        "upper": _case_form("UPPER", upper_case_pairs),
        "substring": _cut("SUBSTRING"),
        "left": _cut("LEFT"),
        "right": _cut("RIGHT"),
        "trim": _short_form(lambda texts: filled("BTRIM(x, ' ')", x=texts[0])),
        "concat": _short_form(lambda texts: chain(exp.DPipe, texts)),
        "replace": _short_form(lambda texts: call("REPLACE", *texts)),
        "starts_with": function_form("STARTS_WITH"),
        "like": Form(write=lambda _, arguments: filled("x LIKE p ESCAPE ''", x=arguments[0], p=arguments[1])),
        **{part: _part(part) for part in ("year", "quarter", "month", "week", "isoyear", "day", "hour", "minute")},
        "weekday": _part("dow"),
        "yearday": _part("doy"),
        "second": Form(write=lambda _, arguments: _part_of("second", arguments[0])),
        "ordinal": ordinal_form(lambda day, since: cast(infix(exp.Sub, day, since), "BIGINT"), _part_of),
        "date_at": date_at_form(_days_later),
        "timestamp_at": timestamp_at_form(sum_of_intervals(dialect)),
        "add_months": add_months_form(_part_of),
        "quotient": quotient_form(dialect),
        "date_trunc": Form(write=_truncated),
    }


def _arithmetic(of_doubles: Callable[[SQL, SQL], SQL], operator: Callable[..., exp.Binary]) -> Form:
    """Return the form of an operation on two numbers; the result of integers is known to fit."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        return infix(operator, *arguments) if node.kind == "integer" else of_doubles(*arguments)

    return Form(write=write, repeats=(0, 1), makes_nan=True)


def _modulo(node: Call, arguments: Sequence[SQL]) -> SQL:
    a, b = arguments
    if node.kind == "real":
        return left_over(a, b)
    return when((infix(exp.NEQ, b, whole(0)), infix(exp.Mod, a, b)))


def _rounded(node: Call, arguments: Sequence[SQL]) -> SQL:
    """Write ⌊x·10^d + ½⌋/10^d in doubles, step by step; only products and quotients of extreme numbers need a guard.

    With d < 0, a quotient below 1e-20 does not change the half, so that the result is 0.
    """
    digits = constant_at(node, 1) if len(arguments) > 1 else 0
    x, power = arguments[0], real(10.0 ** abs(digits))
    if digits >= 0:
        return filled(
            """CASE WHEN ABS(x) <= most THEN FLOOR(x * power + half) / power
            ELSE FLOOR(product + half) / power END""",
            x=x,
            power=power,
            most=real(_MOST / 10.0**digits),
            product=multiplied(x, power),
        )
    return filled(
        """CASE WHEN ABS(x) < least THEN zero WHEN ABS(x) <= most THEN FLOOR(x / power + half) * power
        ELSE product END""",
        x=x,
        power=power,
        least=real(10.0**-digits * 1e-20),
        most=real(_MOST),
        product=multiplied(filled("FLOOR(x / power + half)", x=x, power=power), power),
    )


def _case_form(name: str, pairs: Callable[[], tuple[str, str]]) -> Form:
    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        old, new = (exp.Literal.string(letters) for letters in pairs())
        template = f"""CASE WHEN OCTET_LENGTH(x) > {_LONG} THEN NULL
        WHEN OCTET_LENGTH(x) = LENGTH(x) THEN {name}(x) ELSE TRANSLATE(x, old, new) END"""
        return filled(template, x=arguments[0], old=old, new=new)

    return Form(write=write, repeats=(0,))


def _short_form(write: Callable[[Sequence[SQL]], SQL]) -> Form:
    """Return the form of a function that makes a text; it gives NULL if one of its texts is too long."""

    def guarded(_: Call, arguments: Sequence[SQL]) -> SQL:
        texts = [argument for argument in arguments if not isinstance(argument, exp.Literal)]
        short = [filled(f"OCTET_LENGTH(x) <= {_LONG}", x=text) for text in texts]
        return when((chain(exp.And, short), write(arguments))) if short else write(arguments)

    return Form(write=guarded, repeats=tuple(range(_MOST_TEXTS)))


def _cut(name: str) -> Form:
    """Return the form of a function that cuts a text at constant positions, which are capped at the longest text."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        numbers = [str(min(constant_at(node, index), _LONGEST)) for index in range(1, len(arguments))]
        return filled(f"{name}({', '.join(['x', *numbers])})", x=arguments[0])

    return Form(write=write)


def _part(name: str) -> Form:
    return Form(write=lambda _, arguments: filled(f"CAST(EXTRACT({name} FROM x) AS BIGINT)", x=arguments[0]))


def _part_of(name: str, moment: SQL) -> SQL:
    """Write a part of a moment; PostgreSQL's seconds have a fraction, its microseconds are those of the minute."""
    if name == "second":
        return filled("CAST(FLOOR(EXTRACT(second FROM x)) AS BIGINT)", x=moment)
    return filled(f"CAST(EXTRACT({name}{'s' * (name == 'microsecond')} FROM x) AS BIGINT)", x=moment)


def _days_later(day: SQL, count: SQL) -> SQL:
    return filled("CAST(d + n * INTERVAL '1 day' AS DATE)", d=day, n=count)


def _truncated(node: Call, arguments: Sequence[SQL]) -> SQL:
    """Write the start of the year, quarter, month or other period; a date becomes its midnight, without a zone."""
    unit, time = arguments
    start = exp.Anonymous(this="DATE_TRUNC", expressions=[unit.copy(), cast(time, "TIMESTAMP")])
    return cast(start, "DATE") if node.kind == "date" else start
