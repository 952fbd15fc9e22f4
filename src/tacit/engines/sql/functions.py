r"""The supported functions as SQL, where engines agree. `query.expressions.functions` defines what they mean.

**Upper and lower case.** `query.expressions.text` defines `lower` and `upper` by Unicode's mapping of characters,
the same under every locale. Engines that map with a locale, or one letter to two, translate by the lists that
`lower_case_pairs` and `upper_case_pairs` return.

**LIKE patterns** become regular expressions without backtracking: O(n·m) steps for n characters and a pattern of m.
Both forms escape every ASCII character that is not a letter or a digit, and write a run of k `_` as `.{k}`.

* `atomic_expression` is for Java. Each part between two % is an atomic group, (?>.*?…), which Java does not enter again
  after its first match. No quantifier contains another, and Java recurses once for each run. There are at most
  `like_patterns.MOST_RUNS` runs.
* `automaton_expression` is for RE2, which runs an automaton over the text and never backtracks. RE2 repeats at most
  1,000 times, and `like_patterns.MOST_CHARACTERS` keeps runs and automata below its limits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from sqlglot import exp

from tacit.engines.sql.builder import SQL, TYPES, call, cast, chain, infinity, infix, is_null, real, when, whole
from tacit.engines.sql.column_types import TIMESTAMP_RANGE, within
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.measures import FARTHEST, MeasureGrid, on_grid
from tacit.errors import InternalError, InvalidError
from tacit.query.expressions import Call, Constant
from tacit.query.expressions import text as text_functions
from tacit.query.expressions.like_patterns import is_plain, split_part, split_pattern
from tacit.query.expressions.time import MOST_SECONDS

Write: TypeAlias = Callable[[Call, Sequence[SQL]], SQL]

_MOST_STEPS = 2**62
_LONGEST = 2**31 - 1  # of a text; DuckDB refuses larger positions and lengths
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF
_ASCII = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The SQL form of a function.

    The arguments with the indices in `repeats` are written more than once, so they must be columns or constants. With
    `nulls_nan`, NaN in an argument would change the result and becomes NULL first; otherwise it passes to the result.
    With `makes_nan`, a real result may be NaN even if no argument is.
    """

    write: Write
    repeats: tuple[int, ...] = ()
    nulls_nan: bool = False
    makes_nan: bool = False


def operator_form(operator: Callable[..., exp.Binary], *, nulls_nan: bool = False, makes_nan: bool = False) -> Form:
    """Return the form of an operator between two values."""
    return Form(write=lambda _, arguments: infix(operator, *arguments), nulls_nan=nulls_nan, makes_nan=makes_nan)


def function_form(name: str, *, nulls_nan: bool = False) -> Form:
    """Return the form of a function that the engine has."""
    return Form(write=lambda _, arguments: call(name, *arguments), nulls_nan=nulls_nan)


def integer_form(name: str, *, nulls_nan: bool = False) -> Form:
    """Return the form of a function of the engine whose result is an integer."""
    return Form(write=lambda _, arguments: cast(call(name, *arguments), "BIGINT"), nulls_nan=nulls_nan)


def chain_form(operator: Callable[..., exp.Binary]) -> Form:
    """Return the form of an operator between many values."""
    return Form(write=lambda _, arguments: chain(operator, arguments))


def guarded_form(operator: Callable[..., exp.Binary]) -> Form:
    """Return the form of a division; it gives NULL if the divisor is 0."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        dividend, divisor = arguments
        return when((infix(exp.NEQ, divisor, whole(0, "TINYINT")), infix(operator, dividend, divisor)))

    return Form(write=write, repeats=(1,), makes_nan=True)


def positive_form(comparison: Callable[..., exp.Binary], name: str) -> Form:
    """Return the form of a function of numbers above 0; it gives NULL for others."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        return when((infix(comparison, arguments[0], real(0.0)), call(name, arguments[0])))

    return Form(write=write, repeats=(0,))


def power_form(dialect: Dialect) -> Form:
    """Return the form of a power; it gives NULL unless the result is finite."""

    def write(_: Call, arguments: Sequence[SQL]) -> SQL:
        power = call("POWER", *arguments)
        return when((dialect.finite(power), power))

    return Form(write=write, repeats=(0, 1), nulls_nan=True)


def rounded(node: Call, arguments: Sequence[SQL]) -> SQL:
    """Write ⌊x·10^d + ½⌋/10^d in doubles, step by step."""
    digits = constant_at(node, 1) if len(arguments) > 1 else 0
    power, half = real(10.0 ** abs(digits)), real(0.5)
    up, down = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
    return infix(down, call("FLOOR", infix(exp.Add, infix(up, arguments[0], power), half)), power)


def _clamp(_: Call, arguments: Sequence[SQL]) -> SQL:
    value, low, high = arguments
    over = infix(exp.GT, value, high)  # not ELSE, which would include NULL
    return when((infix(exp.LT, value, low), low), (infix(exp.LTE, value, high), value), (over, high))


def _nullif(_: Call, arguments: Sequence[SQL]) -> SQL:
    value, other = arguments
    return when((infix(exp.EQ, value, other), exp.Null()), otherwise=value)


def _is_null(node: Call, arguments: Sequence[SQL]) -> SQL:
    value = arguments[0]
    if node.arguments[0].kind != "real":
        return is_null(value)
    present = call("COALESCE", infix(exp.LTE, value, infinity()), exp.false())
    return exp.Paren(this=exp.Not(this=present))


def _in(_: Call, arguments: Sequence[SQL]) -> SQL:
    return exp.Paren(this=exp.In(this=arguments[0].copy(), expressions=[option.copy() for option in arguments[1:]]))


def cut_form(name: str) -> Form:
    """Return the form of a function that cuts a text at constant positions, which are capped at the longest text."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        numbers = [min(constant_at(node, index), _LONGEST) for index in range(1, len(arguments))]
        return call(name, arguments[0], *(whole(number) for number in numbers))

    return Form(write=write)


def date_truncated(node: Call, arguments: Sequence[SQL]) -> SQL:
    """Write the start of the year, quarter, month or other period of a date or timestamp."""
    return cast(call("DATE_TRUNC", *arguments), TYPES[node.kind])


def steps_form(dialect: Dialect) -> Form:
    """Return the form of `steps`, the index on a grid.

    The ends are within the range for which `on_grid` is exact, and every index fits 64 bits.
    """

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        exponent, low, high = (constant_at(node, index) for index in (1, 2, 3))
        if not 0 <= high - low <= _MOST_STEPS or max(abs(low), abs(high)) > FARTHEST:
            raise InvalidError(
                "The range of steps is empty or too large.",
                argument="bounds",
                hint="Use increasing bounds with at most 2^62 steps between them.",
            )
        grid = MeasureGrid(node.arguments[0], Fraction(2) ** exponent, low, high)
        return cast(on_grid(arguments[0], grid, dialect), "BIGINT")

    return Form(write=write, repeats=(0,))


def constant_at(node: Call, index: int) -> int:
    """Return the integer constant that the query has as an argument."""
    argument = node.arguments[index]
    if not isinstance(argument, Constant) or not isinstance(argument.value, int):
        raise InternalError(f"{node.function} was planned without an integer constant.")
    return argument.value


def like_form(function: str, expression: Callable[[str], str], *, plain: bool) -> Form:
    """Return LIKE as a call with a text and a regular expression.

    With `plain`, a pattern that the engine's LIKE matches in linear time is left to it.
    """

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        text, pattern = node.arguments[1], arguments[1]
        if not isinstance(text, Constant) or not isinstance(text.value, str) or (plain and is_plain(text.value)):
            return infix(exp.Like, arguments[0], pattern)  # NULL, or plain
        return call(function, arguments[0], exp.Literal.string(expression(text.value)))

    return Form(write=write)


def atomic_expression(pattern: str) -> str:
    r"""Return a regular expression of Java that is found in exactly those texts that a LIKE pattern matches.

    >>> atomic_expression("n%_o__%"), atomic_expression("a_%%b"), atomic_expression("a.b")
    ('(?s)\\An(?>.*?.{1}o.{2})', '(?s)\\Aa.{1}.*b\\z', '(?s)\\Aa\\.b\\z')
    """
    first, *rest = map(_expression, split_pattern(pattern))
    if not rest:
        return rf"(?s)\A{first}\z"
    *middle, last = rest
    groups = "".join(f"(?>.*?{part})" for part in middle)
    return rf"(?s)\A{first}{groups}" + (rf".*{last}\z" if last else "")


def automaton_expression(pattern: str) -> str:
    r"""Return a regular expression of RE2 that matches exactly those whole texts that a LIKE pattern matches.

    >>> automaton_expression("n%_o__%"), automaton_expression("a_%%b.c")
    ('(?s)n.*.{1}o.{2}.*', '(?s)a.{1}.*b\\.c')
    """
    return "(?s)" + ".*".join(map(_expression, split_pattern(pattern)))


def _expression(part: str) -> str:
    """Return the regular expression of a part between two %."""
    return "".join(f".{{{len(run)}}}" if run[0] == "_" else _escaped(run) for run in split_part(part))


def _escaped(characters: str) -> str:
    """Return a regular expression that matches exactly these characters."""
    return "".join(
        character if character.isalnum() or ord(character) > _ASCII else f"\\{character}" for character in characters
    )


def _add_seconds(_: Call, arguments: Sequence[SQL]) -> SQL:
    """Write a sum that no engine can fail to compute, and NULL if it is outside the years 1 to 9999."""
    moment, seconds = arguments
    second = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("SECOND"))
    later = infix(exp.Add, moment, infix(exp.Mul, seconds, second))
    few = [infix(exp.GTE, seconds, whole(-MOST_SECONDS)), infix(exp.LTE, seconds, whole(MOST_SECONDS))]
    return when((chain(exp.And, few), within(later, "timestamp", *TIMESTAMP_RANGE)))


@cache
def lower_case_pairs() -> tuple[str, str]:
    """Return the characters that `lower` changes, and the results, in two parallel texts.

    >>> letters, lower = lower_case_pairs()
    >>> lower[letters.index("Ä")]
    'ä'
    """
    return _changed(text_functions.lower)


@cache
def upper_case_pairs() -> tuple[str, str]:
    """Return the characters that `upper` changes, and the results, in two parallel texts."""
    return _changed(text_functions.upper)


def _changed(change: Callable[[str], str]) -> tuple[str, str]:
    every = (chr(code) for code in range(sys.maxunicode + 1) if not _FIRST_SURROGATE <= code <= _LAST_SURROGATE)
    pairs = [(letter, new) for letter in every if (new := change(letter)) != letter]
    return "".join(old for old, _ in pairs), "".join(new for _, new in pairs)


def common_forms(dialect: Dialect) -> dict[str, Form]:
    """Return the SQL forms shared by all engines."""
    return {
        "add": operator_form(exp.Add, makes_nan=True),
        "subtract": operator_form(exp.Sub, makes_nan=True),
        "multiply": operator_form(exp.Mul, makes_nan=True),
        "divide": guarded_form(exp.Div),
        "modulo": guarded_form(exp.Mod),
        "negate": Form(write=lambda _, arguments: exp.Paren(this=exp.Neg(this=arguments[0].copy()))),
        "abs": function_form("ABS"),
        "sign": integer_form("SIGN", nulls_nan=True),
        "floor": function_form("FLOOR"),
        "ceil": function_form("CEIL"),
        "round": Form(write=rounded),
        "sqrt": positive_form(exp.GTE, "SQRT"),
        "ln": positive_form(exp.GT, "LN"),
        "exp": function_form("EXP"),
        "power": power_form(dialect),
        "least": function_form("LEAST", nulls_nan=True),
        "greatest": function_form("GREATEST", nulls_nan=True),
        "clamp": Form(write=_clamp, repeats=(0, 1, 2), nulls_nan=True),
        "equal": operator_form(exp.EQ, nulls_nan=True),
        "not_equal": operator_form(exp.NEQ, nulls_nan=True),
        "less": operator_form(exp.LT, nulls_nan=True),
        "less_equal": operator_form(exp.LTE, nulls_nan=True),
        "greater": operator_form(exp.GT, nulls_nan=True),
        "greater_equal": operator_form(exp.GTE, nulls_nan=True),
        "and": chain_form(exp.And),
        "or": chain_form(exp.Or),
        "not": Form(write=lambda _, arguments: exp.Paren(this=exp.Not(this=arguments[0].copy()))),
        "is_null": Form(write=_is_null),
        "in": Form(write=_in, nulls_nan=True),
        "coalesce": function_form("COALESCE", nulls_nan=True),
        "nullif": Form(write=_nullif, repeats=(0,)),
        "length": integer_form("LENGTH"),
        "replace": function_form("REPLACE"),
        "add_seconds": Form(write=_add_seconds, repeats=(0, 1)),
        "steps": steps_form(dialect),
    }
