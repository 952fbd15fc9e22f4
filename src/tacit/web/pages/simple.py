"""The form for people without SQL: a measure, its groups, and conditions on rows. It becomes SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from tacit.engines.sql.builder import quote_name
from tacit.errors import InvalidError

FILTERS: Final = 3
"""The number of conditions that the form has."""

MEASURES: Final = {
    "avg": ("Average of {}", "avg({})"),
    "sum": ("Total of {}", "sum({})"),
    "median": ("Median of {}", "median({})"),
    "stddev": ("Spread (standard deviation) of {}", "stddev({})"),
}
OPERATORS: Final = {"=": "is", "<>": "is not", "<": "is less than", "<=": "is at most", ">": "is more than",
                    ">=": "is at least"}  # fmt: skip
_NUMBERS = ("integer", "real")


def measures_of(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what may be measured of a table: a value of the form and its label.

    >>> measures_of({"unit": "person", "columns": [{"name": "age", "kind": "integer", "bounds": [0, 99]}]})[:3]
    [('rows', 'Number of rows'), ('units', 'Number of different person'), ('avg age', 'Average of age')]
    """
    found = [("rows", "Number of rows")]
    if table["unit"] is not None:
        found.append(("units", f"Number of different {table['unit']}"))
    measured = [each for each in table["columns"] if each["kind"] in _NUMBERS and each["bounds"] is not None]
    return found + [
        (f"{name} {column['name']}", label.format(column["name"]))
        for column in measured
        for name, (label, _) in MEASURES.items()
    ]


def groups_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the columns whose groups are public: listed keys, yes and no, or few whole numbers between bounds."""
    return [{"name": each["name"], "size": size} for each in table["columns"] if (size := _size(each)) is not None]


_MOST_WHOLE = 200


def _size(column: Mapping[str, Any]) -> int | None:
    if column["keys"] is not None:
        return len(column["keys"])
    if column["kind"] == "boolean":
        return 2
    if column["kind"] == "integer" and column["bounds"] is not None:
        size = int(column["bounds"][1] - column["bounds"][0]) + 1
        return size if size <= _MOST_WHOLE else None
    return None


def simple_sql(
    table: Mapping[str, Any], measure: str, by: Sequence[str], filters: Sequence[tuple[str, str, str]]
) -> str:
    """Return the SELECT of the form; raise InvalidError, whose argument is the field that is wrong.

    Args:
        table: the public facts about the table.
        measure: one of `measures_of`.
        by: the columns to group by.
        filters: conditions, each a column, an operator and a value; those without a column are left out.
    """
    columns = {each["name"]: each for each in table["columns"]}
    name, sql = _measure(table, measure)
    unknown = [each for each in by if each not in columns]
    if unknown:
        raise InvalidError("This column is not in the table.", argument="by", hint="Choose one of the list.")
    groups = [quote_name(each) for each in by]
    alias = name if name not in by else f"{name}_"
    conditions = [_condition(columns, number, *each) for number, each in enumerate(filters) if each[0]]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    group = f" GROUP BY {', '.join(groups)}" if groups else ""
    selected = ", ".join([*groups, f"{sql} AS {quote_name(alias)}"])
    return f"SELECT {selected} FROM {quote_name(table['name'])}{where}{group}"  # noqa: S608 - names and values are quoted


def _measure(table: Mapping[str, Any], measure: str) -> tuple[str, str]:
    """Return the name and the SQL of a measure."""
    if measure not in dict(measures_of(table)):
        raise InvalidError("Choose what to measure.", argument="measure", hint="Each answer has one measure.")
    if measure == "rows":
        return "n", "count(*)"
    if measure == "units":
        return "n", f"count(DISTINCT {quote_name(table['unit'])})"
    function, _, column = measure.partition(" ")
    return column, MEASURES[function][1].format(quote_name(column))


def _condition(columns: Mapping[str, Mapping[str, Any]], number: int, name: str, operator: str, value: str) -> str:
    field = f"value{number}"
    if name not in columns:
        raise InvalidError(
            "This column is not in the table.", argument=f"column{number}", hint="Choose one of the list."
        )
    if operator not in OPERATORS:
        raise InvalidError(
            "This comparison is not supported.", argument=f"operator{number}", hint="Choose one of the list."
        )
    return f"{quote_name(name)} {operator} {literal(columns[name]['kind'], value, field)}"


def literal(kind: str, value: str, field: str) -> str:
    """Return a value as SQL; raise InvalidError if the column has no such values.

    >>> literal("text", "O'Neil", "value0"), literal("real", "3.5", "value0"), literal("boolean", "yes", "value0")
    ("'O''Neil'", '3.5', 'TRUE')
    """
    try:
        match kind:
            case "integer":
                return str(int(value))
            case "real":
                return _real(value)
            case "boolean":
                return {"true": "TRUE", "yes": "TRUE", "false": "FALSE", "no": "FALSE"}[value.lower()]
            case "date":
                return f"DATE '{date.fromisoformat(value).isoformat()}'"
            case "timestamp":
                return f"TIMESTAMP '{datetime.fromisoformat(value).isoformat(sep=' ')}'"
    except (ValueError, KeyError):
        raise InvalidError(f"This is not {_KINDS[kind]}.", argument=field, hint=_HINTS[kind]) from None
    return "'" + value.replace("'", "''") + "'"


def _real(value: str) -> str:
    number = float(value)
    if number - number != 0:
        raise ValueError(value)
    return repr(number)


_KINDS = {"integer": "a whole number", "real": "a number", "boolean": "yes or no", "date": "a date",
          "timestamp": "a time"}  # fmt: skip
_HINTS = {"integer": "Write 42.", "real": "Write 3.5.", "boolean": "Write yes or no.", "date": "Write 2026-01-31.",
          "timestamp": "Write 2026-01-31 12:00."}  # fmt: skip
