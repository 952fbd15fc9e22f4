"""The listed functions in PostgreSQL's SQL; what they mean is said in `query.expressions.functions`.

Arithmetic of doubles is that of `postgres_doubles`. Text is compared by code point because every text carries the
collation "C" (see `postgres_dialect`). Small and capital letters are translated one to one; where a text is ASCII, the
server's own `lower` under "C" does the same, and faster.

**Long texts.** No value may be larger than 1 GB, and `lower` takes up to 8 bytes for each byte. So a function that
makes a text is NULL where a text that it is made of has more than 32 MB: 16 times as much, which is the most that a
text can grow (`query.expressions.text_length`), and 8 times as much are 512 MB and less. What only looks at a text
takes all.

**LIKE** is PostgreSQL's own. Its matcher goes on from the first occurrence of each part between two %, and ends at once
if the text ends before the pattern does, so a match takes O(n·m) steps. A regular expression would need 8 bytes of
memory for each byte of a text and fail on long ones. The matcher descends once for each %, and PostgreSQL raises where
its stack is full; at 100 kB, the least that a server can be set to, that is beyond 1,000.
`query.expressions.like_patterns` allows fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.engines.postgres.doubles import added, divided, exponential, filled, left_over, multiplied, powered
from tacit.engines.sql.builder import SQL, call, cast, chain, infix, real, when, whole
from tacit.engines.sql.case_mapping import to_capital, to_small
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.functions import Form, common_forms, constant_at, function_form
from tacit.query.expressions import Call

_LONGEST = 2**31 - 1
_LONG = 2**25
_MOST_TEXTS = 1000
_MOST = 1e307


def postgres_forms(dialect: Dialect) -> dict[str, Form]:
    """Return every listed function."""
    return {
        **common_forms(dialect),
        "add": _arithmetic(added, exp.Add),
        "subtract": _arithmetic(lambda a, b: added(a, filled("-b", b=b)), exp.Sub),
        "multiply": _arithmetic(multiplied, exp.Mul),
        "divide": Form(write=lambda _, arguments: divided(*arguments), twice=(0, 1), makes=True),
        "modulo": Form(write=_modulo, twice=(0, 1), makes=True),
        "round": Form(write=_rounded, twice=(0,)),
        "exp": Form(write=lambda _, arguments: exponential(*arguments), twice=(0,)),
        "power": Form(write=lambda _, arguments: powered(*arguments), twice=(0, 1), looks=True),
        "lower": _letters("LOWER", to_small),
        "upper": _letters("UPPER", to_capital),
        "substring": _cut("SUBSTRING"),
        "left": _cut("LEFT"),
        "right": _cut("RIGHT"),
        "trim": _of_short(lambda texts: filled("BTRIM(x, ' ')", x=texts[0])),
        "concat": _of_short(lambda texts: chain(exp.DPipe, texts)),
        "replace": _of_short(lambda texts: call("REPLACE", *texts)),
        "starts_with": function_form("STARTS_WITH"),
        "like": Form(write=lambda _, arguments: filled("x LIKE p ESCAPE ''", x=arguments[0], p=arguments[1])),
        **{part: _part(part) for part in ("year", "quarter", "month", "day", "hour", "minute")},
        "weekday": _part("dow"),
        "date_trunc": Form(write=_truncated),
    }


def _arithmetic(of_doubles: Callable[[SQL, SQL], SQL], operator: Callable[..., exp.Binary]) -> Form:
    """An operation on two numbers; that of whole ones is known to fit."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        return infix(operator, *arguments) if node.kind == "integer" else of_doubles(*arguments)

    return Form(write=write, twice=(0, 1), makes=True)


def _modulo(node: Call, arguments: Sequence[SQL]) -> SQL:
    a, b = arguments
    if node.kind == "real":
        return left_over(a, b)
    return when((infix(exp.NEQ, b, whole(0)), infix(exp.Mod, a, b)))


def _rounded(node: Call, arguments: Sequence[SQL]) -> SQL:
    """⌊x·10^d + ½⌋/10^d in doubles, step by step: only products and quotients of extreme numbers need care.

    With d < 0 a quotient below 1e-20 leaves the half as it is, so that the result is 0.
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


def _letters(name: str, pairs: Callable[[], tuple[str, str]]) -> Form:
    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        old, new = (exp.Literal.string(letters) for letters in pairs())
        template = f"""CASE WHEN OCTET_LENGTH(x) > {_LONG} THEN NULL
        WHEN OCTET_LENGTH(x) = LENGTH(x) THEN {name}(x) ELSE TRANSLATE(x, old, new) END"""
        return filled(template, x=arguments[0], old=old, new=new)

    return Form(write=write, twice=(0,))


def _of_short(write: Callable[[Sequence[SQL]], SQL]) -> Form:
    """A text made of texts none of which is too long; NULL otherwise."""

    def guarded(_: Call, arguments: Sequence[SQL]) -> SQL:
        texts = [one for one in arguments if not isinstance(one, exp.Literal)]
        short = [filled(f"OCTET_LENGTH(x) <= {_LONG}", x=one) for one in texts]
        return when((chain(exp.And, short), write(arguments))) if short else write(arguments)

    return Form(write=guarded, twice=tuple(range(_MOST_TEXTS)))


def _cut(name: str) -> Form:
    """Characters at constant places; a place past every text's end is as good as the last."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        numbers = [str(min(constant_at(node, place), _LONGEST)) for place in range(1, len(arguments))]
        return filled(f"{name}({', '.join(['x', *numbers])})", x=arguments[0])

    return Form(write=write)


def _part(name: str) -> Form:
    return Form(write=lambda _, arguments: filled(f"CAST(EXTRACT({name} FROM x) AS BIGINT)", x=arguments[0]))


def _truncated(node: Call, arguments: Sequence[SQL]) -> SQL:
    """The beginning of a moment's year, quarter, month and so on; of a date by its midnight, which has no zone."""
    unit, moment = arguments
    cut = exp.Anonymous(this="DATE_TRUNC", expressions=[unit.copy(), cast(moment, "TIMESTAMP")])
    return cast(cut, "DATE") if node.kind == "date" else cut
