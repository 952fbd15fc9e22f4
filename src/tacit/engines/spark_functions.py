"""The listed functions in Spark's SQL; what they mean is said in `query.functions`.

Spark's FLOOR and CEIL of a double give 64 bits, so larger ones are left as they are: they are whole. Small and capital
letters are translated one to one, since Spark's own mappings are of whole words. A power of ±1 to ±inf is 1, which Java
calls undefined. LN, EXP and POWER are those of Java's StrictMath: their last bit may differ from other engines'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.engines.statements.dialect import Dialect
from tacit.engines.statements.forms import (
    Form,
    chain_form,
    common_forms,
    constant_at,
    cut_form,
    date_truncated,
    function_form,
    integer_form,
)
from tacit.engines.statements.letters import to_capital, to_small
from tacit.engines.statements.words import SQL, call, cast, chain, infinity, infix, real, when, whole
from tacit.errors import InvalidError
from tacit.query.expressions import Call, Constant

_WHOLE = real(2.0**52)
"""From here on every double is a whole number."""


def _as_whole(name: str, value: SQL) -> SQL:
    """Return the floor or ceiling of a double as a double; NaN passes, being larger than any."""
    near = infix(exp.LT, call("ABS", value), _WHOLE)
    return when((near, cast(call(name, value), "DOUBLE")), otherwise=value)


def _whole_form(name: str) -> Form:
    return Form(write=lambda _, arguments: _as_whole(name, arguments[0]), twice=(0,))


def _rounded(node: Call, arguments: Sequence[SQL]) -> SQL:
    """⌊x·10^d + ½⌋/10^d in doubles, step by step."""
    digits = constant_at(node, 1) if len(arguments) > 1 else 0
    power = real(10.0 ** abs(digits))
    up, down = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
    return infix(down, _as_whole("FLOOR", infix(exp.Add, infix(up, arguments[0], power), real(0.5))), power)


def _power(dialect: Dialect) -> Form:
    """A power: NULL unless it is finite; C says that 1^±inf and (-1)^±inf are 1."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        base, exponent = arguments
        found = call("POWER", base, exponent)
        one = infix(exp.EQ, call("ABS", base), real(1.0))
        endless = infix(exp.EQ, call("ABS", exponent), infinity())
        return when((chain(exp.And, [one, endless]), real(1.0)), (dialect.finite(found), found))

    return Form(write=write, twice=(0, 1), looks=True)


def _extreme(name: str) -> Form:
    """LEAST or GREATEST, which Spark has of two values or more."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return call(name, *arguments) if len(arguments) > 1 else arguments[0]

    return Form(write=write, looks=True)


def _translated(letters: Callable[[], tuple[str, str]]) -> Form:
    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return call("TRANSLATE", arguments[0], *(exp.Literal.string(listed) for listed in letters()))

    return Form(write=write)


def _like(node: Call, arguments: Sequence[SQL]) -> SQL:
    """Whether a pattern fits, by an expression of Java that neither tries again nor descends for every letter.

    Spark's own LIKE makes `.*?` of each %, of which Java tries all combinations where the text does not fit: a row
    could hold up the answer for hours. And it descends once for each `_`, until the stack is gone and Java with it.
    """
    pattern = node.arguments[1]
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        return infix(exp.Like, arguments[0], arguments[1])  # NULL
    return call("RLIKE", arguments[0], exp.Literal.string(like_expression(pattern.value)))


def like_expression(pattern: str) -> str:
    r"""Return an expression of Java that finds itself just in the texts that a pattern fits.

    What stands between two % is looked for from the left, and the first place is as good as any later one, since all
    that may follow it may follow the later one too. So each is an atomic group, (?>.*?…), which Java does not enter
    again: on n letters a pattern of m takes O(n·m) steps. The last part stands at the end. Runs of _ are one node,
    `.{n}`, and runs of letters another, so Java descends as deep as there are runs; more than fit its stack are
    refused.

    >>> like_expression("n%_o__%"), like_expression("a_%%b"), like_expression("a.b")
    ('(?s)\\An(?>.*?.{1}o.{2})', '(?s)\\Aa.{1}.*b\\z', '(?s)\\Aa\\.b\\z')
    """
    runs = len(re.findall("%+|_+|[^%_]+", pattern))
    if runs > _MOST_RUNS:
        raise InvalidError(
            "sql",
            f"a pattern in which letters and wildcards alternate {runs} times",
            f"one of at most {_MOST_RUNS} runs",
        )
    first, *rest = map(_part, re.split("%+", pattern))
    if not rest:
        return rf"(?s)\A{first}\z"
    *middle, last = rest
    found = "".join(f"(?>.*?{part})" for part in middle)
    return rf"(?s)\A{first}{found}" + (rf".*{last}\z" if last else "")


_MOST_RUNS = 500


def _part(part: str) -> str:
    """Return what stands between two %, with letters quoted and runs of _ counted."""
    runs = re.findall("_+|[^_]+", part)
    return "".join(f".{{{len(run)}}}" if run[0] == "_" else _quoted(run) for run in runs)


def _quoted(letters: str) -> str:
    """Return letters so that each stands for itself."""
    return "".join(letter if letter.isalnum() or ord(letter) > _ASCII else f"\\{letter}" for letter in letters)


_ASCII = 127


def _weekday(_: Call, arguments: Sequence[SQL]) -> SQL:
    """0 for Sunday; Spark begins with 1."""
    return infix(exp.Sub, cast(call("DAYOFWEEK", arguments[0]), "BIGINT"), whole(1))


def spark_forms(dialect: Dialect) -> dict[str, Form]:
    """Return every listed function."""
    return {
        **common_forms(dialect),
        "floor": _whole_form("FLOOR"),
        "ceil": _whole_form("CEIL"),
        "round": Form(write=_rounded, twice=(0,)),
        "power": _power(dialect),
        "least": _extreme("LEAST"),
        "greatest": _extreme("GREATEST"),
        "lower": _translated(to_small),
        "upper": _translated(to_capital),
        "substring": cut_form("SUBSTRING"),
        "left": cut_form("LEFT"),
        "right": cut_form("RIGHT"),
        "trim": Form(write=lambda _, arguments: call("BTRIM", arguments[0], exp.Literal.string(" "))),
        "concat": chain_form(exp.DPipe),
        "starts_with": function_form("STARTSWITH"),
        "like": Form(write=_like),
        "year": integer_form("YEAR"),
        "quarter": integer_form("QUARTER"),
        "month": integer_form("MONTH"),
        "day": integer_form("DAY"),
        "weekday": Form(write=_weekday),
        "hour": integer_form("HOUR"),
        "minute": integer_form("MINUTE"),
        "date_trunc": Form(write=date_truncated),
    }
