"""Tables in a database: the database counts the rows that share their values, and tacit reads only the counts.

The database returns one row for each combination of quasi-identifying and sensitive values, with its number of rows.
`check` computes its report from these, by the same code as for a table in memory. If a person may have several rows,
the database also counts persons by class.

The database distinguishes values as tacit does in memory (`Engine.tally`): nothing is rounded, text is compared by code
point, and NULL, NaN and the empty text are one missing value. Dates and times are returned as text, because Python
would take some of them for equal, and the sum of the rows of two classes would make k too large. A date or time that
Python holds exactly becomes one here, as in memory; any other stays text. So two combinations have the same texts only
if they are equal (0.0 and -0.0). Their rows are added, and the larger of their numbers of persons is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tacit.anonymity.cell_values import parse_datetime
from tacit.anonymity.classes import Classes
from tacit.anonymity.table_files import exists, is_secret, show_path
from tacit.anonymity.tables import CodedColumn, CodedTable, encode
from tacit.arrays import Ints
from tacit.errors import InvalidError, UnreadableFileError, UnusedOptionError, show_name

if TYPE_CHECKING:
    from tacit.engines.sql.engine import StatementEngine

_DATABASES = re.compile(r"\.(duckdb|ddb|db)$", re.IGNORECASE)
_MOST_NAMES = 20


def open_remote(table: object, relation: str | None) -> RemoteTable | None:
    """Return a table in a database; None for a table that is read into memory."""
    if is_remote(table):
        return RemoteTable(table, relation)
    if _is_database_file(table) and not exists(Path(str(table))):
        if is_secret(table):
            raise InvalidError(f"{show_path(table)} does not exist.", argument="the table")
        raise UnreadableFileError(table, "it does not exist.", argument="the table", hint="Check its folder and name.")
    if relation is not None:
        raise UnusedOptionError("relation", "here: only a database has tables by name")
    return None


def _is_database_file(table: object) -> bool:
    return isinstance(table, (str, PathLike)) and bool(_DATABASES.search(str(table)))


def is_remote(table: object) -> bool:
    """Return whether a table is in a database: PostgreSQL, Spark, or a DuckDB file that exists."""
    if isinstance(table, Mapping):
        return False
    from tacit.engines.sources import home_of  # noqa: PLC0415 - loads the engines

    if home_of(table) != "duckdb":
        return True
    return _is_database_file(table) and exists(Path(str(table))) and Path(str(table)).is_file()


@dataclass(frozen=True, slots=True)
class RemoteTable:
    """A table in a database: the source, and the name of the table there."""

    source: object
    relation: str | None

    def count_rows(self, quasi: Sequence[str], sensitive: Sequence[str], unit: str | None) -> CodedTable:
        """Return the different rows of some columns, each with the number of rows that it stands for.

        Raises:
            InvalidError: a column does not exist or has a type that is not supported.
            SourceError: the database failed.
        """
        names = tuple(dict.fromkeys((*quasi, *sensitive)))
        if unit is not None and unit in names:
            raise InvalidError(
                f"Column {unit!r} is the unit, so it cannot also be quasi-identifying or sensitive.", argument="unit"
            )
        cells, weights = self._tally(names)
        return CodedTable(names, len(weights), "dict", cache(lambda name: encode(name, cells[name])), weights)

    def count_persons(self, columns: Sequence[CodedColumn], classes: Classes, unit: str) -> Ints:
        """Return the number of persons in each class."""
        names = [column.name for column in columns]
        cells, counts = self._tally(names, unit)
        class_of = {tuple(codes): which for which, codes in enumerate(classes.shared.tolist())}
        persons = np.zeros(len(classes), dtype=np.int64)
        codes = [_recode(encode(column.name, cells[column.name]), column) for column in columns]
        for key, count in zip(zip(*codes, strict=True), counts, strict=True):
            which = class_of.get(key)
            if which is not None:  # the report leaves out a row that was added between the two statements
                persons[which] = max(persons[which], int(count))
        return persons

    def _tally(self, names: Sequence[str], different: str | None = None) -> tuple[dict[str, list[object]], Ints]:
        """Return the combinations of values by column, and the number of rows or units of each combination."""
        engine = self._open()
        try:
            rows, types = engine.tally(names, different=different), engine.schema()
        finally:
            engine.close()
        columns = list(zip(*rows, strict=True)) or [()] * (len(names) + 1)
        cells = {
            name: [parse_datetime(cell) if isinstance(cell, str) else cell for cell in values]
            if types[name] in {"date", "timestamp"}
            else list(values)
            for name, values in zip(names, columns, strict=False)
        }
        return cells, np.array([int(count) for count in columns[-1]], dtype=np.int64)

    def _open(self) -> StatementEngine:
        """Open the table. Errors about the engine's argument `table` become errors about `relation`."""
        from tacit.engines.sources import open_source  # noqa: PLC0415 - loads the engines

        try:
            return open_source(self.source, table=self.relation)
        except InvalidError as error:
            if error.argument != "table":
                raise
            raise InvalidError(error.message, argument="relation", hint=_relation_hint(error)) from None


def _relation_hint(error: InvalidError) -> str | None:
    """Return the hint of an error about a table, in terms of `relation` if the error lists the tables."""
    tables = sorted(getattr(error, "tables", ()))
    if not tables:
        return error.hint
    more = f" and {len(tables) - _MOST_NAMES} more" if len(tables) > _MOST_NAMES else ""
    names = ", ".join(map(show_name, tables[:_MOST_NAMES]))
    return f"The tables are {names}{more}. Name one with relation= in Python, or --table for `tacit check`."


def _recode(column: CodedColumn, target: CodedColumn) -> list[int]:
    """Return the rows of a column as codes of another column with the same values; -1 for a value that it lacks."""
    code_of = {text: code for code, text in enumerate(target.texts)}
    codes = [code_of.get(text, -1) for text in column.texts]
    return [codes[code] for code in column.codes]
