"""Parameters of a query, such as $since: typed constants that take the place of their names.

A value never becomes part of the text of a query that is parsed: the query is parsed first, and the value becomes one
constant of the tree. The tree is then written as text again, so that receipts, ledgers and recorded answers hold the
query with its values. That text is parsed once more, and must give the same tree; otherwise the query is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import TypeAlias

from sqlglot import exp

from tacit.errors import InvalidError, bad_value, show, show_name
from tacit.query.sql.grammar import parse_text
from tacit.query.sql.names import to_sql

ParameterValue: TypeAlias = bool | int | float | Decimal | str | date | datetime | None
"""A value that a parameter may have."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_REAL = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?", re.ASCII)
TYPES = ("integer", "real", "text", "boolean", "date", "timestamp")
"""The types that `typed_value` knows."""


def bind(sql: str, params: object) -> str:
    """Return a query with the values of its parameters in place of their names; without parameters, the query itself.

    Args:
        sql: the query, in DuckDB's SQL; a parameter is written $name or :name.
        params: the value of each parameter, by its name.

    >>> bind("SELECT count(*) FROM t WHERE town = $town AND age >= $age", {"town": "O'Hara", "age": 18})
    "SELECT COUNT(*) FROM t WHERE town = 'O''Hara' AND age >= 18"
    """
    values = _checked(params)
    if not values and not any(mark in str(sql) for mark in "$:?"):
        return sql
    tree = parse_text(sql)
    placeholders = list(tree.find_all(exp.Placeholder))
    names = [str(node.this) if node.args.get("this") is not None else "" for node in placeholders]
    _check_names(names, values)
    if not placeholders:
        return sql
    constants = {name: _constant(name, value) for name, value in values.items()}
    for node, name in zip(placeholders, names, strict=True):
        node.replace(constants[name].copy())
    text = to_sql(tree)
    if parse_text(text) != tree:
        raise InvalidError(
            "This query cannot be used with parameters.", argument="params", hint="Write the values into the query."
        )
    return text


def _checked(params: object) -> dict[str, object]:
    """Return the parameters by name, or raise InvalidError."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise bad_value("params", params, "a dict of values by the names of parameters")
    for name in params:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidError(
                f"{show(name)} is not the name of a parameter.",
                argument="params",
                hint="Use letters, digits and _, and begin with a letter or _.",
            )
    return dict(params)


def _check_names(names: list[str], values: Mapping[str, object]) -> None:
    for name in names:
        if not name or name.isdecimal():
            raise InvalidError(
                f"The query has the parameter {'?' if not name else f'${name}'}, which has no name.",
                argument="params",
                hint="Give each parameter a name, such as $since.",
            )
        if name not in values:
            raise InvalidError(
                f"The query has the parameter ${name}, and no value is given for it.",
                argument="params",
                hint=f'Pass params={{"{name}": …}} in Python, or --param {name}=… on the command line.',
            )
    unused = [name for name in values if name not in names]
    if unused:
        raise InvalidError(
            f"The query has no parameter ${unused[0]}.",
            argument="params",
            hint=f"Its parameters are {', '.join(f'${name}' for name in names)}."
            if names
            else f"Write ${unused[0]} in the query, or leave the value out.",
        )


def _constant(name: str, value: object) -> exp.Expr:
    """Return the node of a value, or raise InvalidError if a query cannot contain it."""
    if hasattr(value, "item") and type(value).__module__ == "numpy":
        value = value.item()
    match value:
        case None | bool():
            return exp.convert(value)
        case int() | float() | Decimal() if isinstance(value, int) or isfinite(value):
            digits = format(abs(value), "f") if isinstance(value, Decimal) else repr(abs(value))
            return _number(digits, negative=value < 0)
        case str() if "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value):
            return exp.Literal.string(value)
        case datetime() if value.tzinfo is None:
            return _cast(value.isoformat(sep=" "), "TIMESTAMP")
        case date() if not isinstance(value, datetime):
            return _cast(value.isoformat(), "DATE")
    raise InvalidError(
        f"The parameter {show_name(name)} has a value that a query cannot contain: {show(value)}.",
        argument="params",
        hint="Use a finite number, text, True or False, a date, a datetime without a time zone, or None.",
    )


def _number(digits: str, *, negative: bool) -> exp.Expr:
    number = exp.Literal.number(digits)
    return exp.Paren(this=exp.Neg(this=number)) if negative else number


def _cast(text: str, type_name: str) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(type_name, dialect="duckdb"))


def typed_value(text: str, kind: str | None = None) -> ParameterValue:
    """Return the value that a text stands for: of the given type, or of the first type whose form it has.

    The forms are tried in this order: integer, real, boolean, date, timestamp; any other text is a text.

    >>> typed_value("2026-03-01"), typed_value("12"), typed_value("12", "text"), typed_value("Bern")
    (datetime.date(2026, 3, 1), 12, '12', 'Bern')
    """
    if kind is not None and kind not in TYPES:
        raise bad_value("--param", kind, f"one of the types {', '.join(TYPES)}")
    for name, form, read in _FORMS:
        if (kind is None or kind == name) and form.fullmatch(text):
            try:
                return read(text)
            except (ValueError, OverflowError):
                break
    if kind in (None, "text"):
        return text
    raise InvalidError(f"{show(text)} is not a value of type {kind}.", argument="--param")


_FORMS = (
    ("integer", _INTEGER, int),
    ("real", _REAL, float),
    ("boolean", re.compile(r"true|false", re.IGNORECASE), lambda text: text.lower() == "true"),
    ("date", _DATE, date.fromisoformat),
    ("timestamp", _TIMESTAMP, datetime.fromisoformat),
)
