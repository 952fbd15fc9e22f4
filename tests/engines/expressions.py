"""Random expressions of every kind, from every listed function and cast, over the columns of `contract.tables`."""

from __future__ import annotations

from math import isnan

from hypothesis import strategies as st

from contract.tables import DATES, INTEGERS, NAMES, REALS, TIMES
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind, Value
from tacit.query.expressions.casts import CASTS
from tacit.query.expressions.functions import ALIKE, FUNCTIONS, Takes
from tacit.query.expressions.time import DAYS_AND_LONGER, LAST_DAY, LAST_MICROSECOND, ORDINAL_UNITS, UNITS

KINDS: dict[str, Kind] = {
    "i": "integer",
    "j": "integer",
    "x": "real",
    "y": "real",
    "s": "text",
    "t": "text",
    "b": "boolean",
    "c": "boolean",
    "d": "date",
    "m": "timestamp",
}

WRITTEN: list[Value] = [
    *(
        "12",
        "+12",
        "-0",
        "007",
        " 12",
        "12 ",
        "1e2",
        "7.6",
        "0x10",
        "1_000",
        "99999999999999999999",
        "9223372036854775807",
    ),
    *(
        "-9223372036854775808",
        "9223372036854775808",
        "nan",
        "inf",
        "-Infinity",
        "1e400",
        "-1e-400",
        ".5",
        "5.",
        ".",
        "e5",
    ),
    *("1.5E3", "true", "T", "0", "FALSE", "yes", "2024-02-29", "2023-02-29", "0000-01-01", "0001-01-01", "2024-1-1"),
    *(
        "2024-02-29 23:59:59.5",
        "2024-02-29T24:00:00",
        "2024-02-29 12:60",
        "2024-02-29 12:30",
        "2024-02-29T12:30:15.123456",
    ),
    *(
        "2024-02-29 12:30:15.1234567",
        "2024-02-29 12:30:15Z",
        "9999-12-31 23:59:59",
        "infinity",
        "epoch",
        "+",
        "-",
        "",
        "\t1",
    ),
    *(
        "\u00a0a\u3000",
        " a ",
        "straße",
        "ŒUVRE",
        "ŉ",
        "İstanbul",
        "ΣΑΣ",
        "ǅ",
        "👨‍👩‍👧",
        "a\u0000b",
        "a%b_c",
        "\\",
        "'",
        "１２",
        "ﬁ",
        "\u1e9e",
        "Ⅷ",
    ),
]

VALUES: dict[Kind, list[Value]] = {
    "integer": INTEGERS,
    "real": REALS,
    "text": [*NAMES, *WRITTEN],
    "boolean": [None, False, True],
    "date": DATES,
    "timestamp": TIMES,
}

POSSIBLE: dict[Takes, list[Kind]] = {
    "number": ["integer", "real"],
    "real": ["real"],
    "integer": ["integer"],
    "text": ["text"],
    "boolean": ["boolean"],
    "moment": ["date", "timestamp"],
    "timestamp": ["timestamp"],
    "quantity": ["integer", "real", "date", "timestamp"],
    "any": list(VALUES),
}

LIBRARY = frozenset({"ln", "exp", "power"})
"""Functions whose last bits depend on the library that computes them."""

_AMOUNTS: dict[str, list[int]] = {
    "add_months": [1, -1, 12, -25, 1200, 119_987, -119_988],
    "date_at": [0, -1, LAST_DAY, LAST_DAY + 1, 738_000],
    "timestamp_at": [0, -1, LAST_MICROSECOND, LAST_MICROSECOND + 1, 63_800_000_000_000_001],
}
_OVERFLOW = frozenset({"add", "subtract", "multiply", "negate", "abs"})


def kinds_of(name: str) -> list[Kind]:
    """Return the kinds of result that a function can have."""
    function = FUNCTIONS[name]
    if function.gives != "same":
        return [function.gives]
    return next(POSSIBLE[takes] for takes in function.takes if takes in ALIKE)


def constants(kind: Kind) -> st.SearchStrategy[Expression]:
    values = [value for value in VALUES[kind] if not (isinstance(value, float) and isnan(value))]
    return st.sampled_from(values).map(lambda value: Constant(value, kind))


def leaves(kind: Kind) -> st.SearchStrategy[Expression]:
    columns = [Column(name, own) for name, own in KINDS.items() if own == kind]
    return st.sampled_from(columns) | st.sampled_from(columns) | constants(kind)


def expressions(kind: Kind, depth: int, *, without: frozenset[str] = LIBRARY) -> st.SearchStrategy[Expression]:
    """Expressions of a kind, up to a depth."""
    if depth == 0:
        return leaves(kind)
    inner = depth - 1
    functions = [name for name, one in FUNCTIONS.items() if name not in without and one.gives in (kind, "same")]
    calls = st.sampled_from(functions).flatmap(lambda name: calls_of(name, kind, inner, without=without))
    casts = [one for one, other in CASTS if other == kind]
    branch = (
        st.tuples(expressions("boolean", 0), expressions(kind, 0))
        if inner == 0
        else st.tuples(
            expressions("boolean", inner - 1, without=without), expressions(kind, inner - 1, without=without)
        )
    )
    cases = st.builds(
        lambda branches, otherwise: Case(tuple(branches), otherwise, kind),
        st.lists(branch, min_size=1, max_size=2),
        st.none() | leaves(kind),
    )
    choices = [calls, cases]
    if casts:
        choices.append(
            st.sampled_from(casts)
            .flatmap(lambda one: expressions(one, inner, without=without))
            .map(lambda operand: Cast(operand, kind))
        )
    return leaves(kind) | st.one_of(choices)


@st.composite
def calls_of(draw: st.DrawFn, name: str, kind: Kind, depth: int, *, without: frozenset[str] = LIBRARY) -> Expression:
    """A call of one function that returns a kind, or a leaf if no call does."""
    function = FUNCTIONS[name]
    shared = kind if function.gives == "same" else None
    alike = [takes for takes in function.takes if takes in ALIKE]
    if alike and shared is None:
        shared = draw(st.sampled_from(POSSIBLE[alike[0]]))
    if alike and shared not in POSSIBLE[alike[0]]:
        return draw(leaves(kind))
    count = draw(st.integers(len(function.takes) - function.optional, len(function.takes) + 2 * function.many))
    arguments = []
    for place in range(count):
        takes = function.takes_at(place)
        own = shared if takes in ALIKE and shared is not None else POSSIBLE[takes][0]
        arguments.append(draw(_argument(name, place, own, depth, without)))
    if name in ("clamp", "steps"):
        low, high = sorted(arguments[-2:], key=lambda one: one.value)  # type: ignore[union-attr, arg-type, return-value]
        arguments[-2:] = [low, high]
    if name == "date_trunc":
        units = DAYS_AND_LONGER if shared == "date" else UNITS
        arguments[0] = Constant(draw(st.sampled_from(units)), "text")
    if name == "ordinal":
        arguments[0] = Constant(draw(st.sampled_from(ORDINAL_UNITS[:4] if shared == "date" else ORDINAL_UNITS)), "text")
    return Call(name, tuple(arguments), kind)


def _argument(  # noqa: PLR0911 - one return for each form
    name: str, place: int, kind: Kind, depth: int, without: frozenset[str]
) -> st.SearchStrategy[Expression]:
    if (
        name in _OVERFLOW and kind == "integer"
    ):  # the parser lets integers be added up only if they are known to be small
        small = (Constant(-1000, "integer"), Constant(1000, "integer"))
        return leaves(kind).map(lambda one: Call("clamp", (one, *small), "integer"))
    if name == "modulo" and kind == "integer" and place == 1:
        return st.sampled_from([0, 1, 7, -3, 2**62]).map(lambda value: Constant(value, "integer"))
    if name in _AMOUNTS and place == len(FUNCTIONS[name].takes) - 1:
        return leaves(kind) | st.sampled_from(_AMOUNTS[name]).map(lambda value: Constant(value, "integer"))
    if name == "like" and place == 1:
        return st.sampled_from(["", "%", "_", "a%", "%a", "__", "%é%", "a\\%", "%%_", "'%"]).map(
            lambda value: Constant(value, "text")
        )
    if (name == "in" and place) or (name, place) == ("replace", 1):
        return constants(kind)
    if place in FUNCTIONS[name].constants:
        return _constant(name, place, kind)
    return expressions(kind, depth, without=without)


def _constant(name: str, place: int, kind: Kind) -> st.SearchStrategy[Expression]:
    if name == "clamp":
        values = [
            value for value in VALUES[kind] if value is not None and not (isinstance(value, float) and isnan(value))
        ]
    elif name == "quotient":
        values = [1, 7, 12, 86_400_000_000]
    elif name == "round":
        values = [0, 1, 2, 15, -1, -15]
    elif name == "steps":
        values = [0, -1, 3, -30, 66, -1074, 1023] if place == 1 else [0, -7, 2**20, -(2**40), 2**60, -(2**60)]
    else:
        values = [1, 2, 3, 2**40] if name == "substring" and place == 1 else [0, 1, 2, 3, 2**40]
    return st.sampled_from(values).map(lambda value: Constant(value, kind))
