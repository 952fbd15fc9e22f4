"""Tables that stay where they are: a database counts the rows that share their values, and only that comes here.

What comes is one row for each combination of quasi-identifying and sensitive values that there is, with how many rows
have it. All that `check` says follows from it, by the same code as for a table in memory. Where a person may have
several rows, the database counts persons by class as well.

Values are told apart by the database as they are told apart here (`Engine.tally`): nothing is rounded, text is compared
by code point, and NULL, NaN and the empty text are one value that is missing. Days and moments come as text, for
Python would take some for each other, and adding up the rows of two classes would tell k too large. What Python holds
exactly becomes a day or a moment here, as in memory; all else stays text. So two combinations are written alike only
where they are equal (0.0 and -0.0): their rows are added up, and of their persons the larger number is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path

import numpy as np

from tacit.anonymity.classes import Classes
from tacit.anonymity.datetimes import moment
from tacit.anonymity.files import called, is_there
from tacit.anonymity.tables import Column, Longs, Table, coded
from tacit.engines.sources import home_of, open_source
from tacit.errors import InvalidError, show

_DATABASES = re.compile(r"\.(duckdb|ddb|db)$", re.IGNORECASE)
_OF_POLICIES = re.compile(r"(['\"]|more) \(table = \".*", re.DOTALL)  # how a policy names the table that is chosen


def stays(table: object, relation: str | None) -> Elsewhere | None:
    """Return a table that stays where it is, opened; None for one that is read into memory."""
    if is_elsewhere(table):
        return Elsewhere(table, relation)
    if isinstance(table, (str, PathLike)) and _DATABASES.search(str(table)) and not is_there(Path(table)):
        raise InvalidError(
            "the table", f"{called(table)}, which does not exist", "a file; check its folder and its name"
        )
    if relation is not None:
        raise InvalidError("relation", show(relation), "left out: only a database has tables by name")
    return None


@contextmanager
def _by_relation() -> Iterator[None]:
    """Name the table of a database as `check` does, where an engine names it as `tc.open` and a policy do."""
    try:
        yield
    except InvalidError as wrong:
        if wrong.argument != "table":
            raise
        want = _OF_POLICIES.sub(r"\1 (relation= in Python, --table for `tacit check`)", wrong.want)
        raise InvalidError("relation", wrong.got, want) from None


def is_elsewhere(table: object) -> bool:
    """Return whether a table lies in a database: PostgreSQL, Spark, or a DuckDB file that is there."""
    if home_of(table) != "duckdb":
        return True
    return (
        isinstance(table, (str, PathLike))
        and bool(_DATABASES.search(str(table)))
        and is_there(Path(table))
        and Path(table).is_file()
    )


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A table in a database: the source, and its name there."""

    source: object
    relation: str | None

    def tallied(self, quasi: Sequence[str], sensitive: Sequence[str], unit: str | None) -> Table:
        """Return the different rows of some columns, each with how many it stands for.

        Raises:
            InvalidError: a column is missing or of a type that cannot be used.
            SourceError: the database failed.
        """
        names = tuple(dict.fromkeys((*quasi, *sensitive)))
        if unit is not None and unit in names:
            raise InvalidError("unit", repr(unit), "a column that is neither quasi-identifying nor sensitive")
        cells, weights = self._tally(names)
        return Table(names, len(weights), "dict", cache(lambda name: coded(name, cells[name])), weights)

    def persons(self, columns: Sequence[Column], classes: Classes, unit: str) -> Longs:
        """Return how many persons each class has."""
        names = [column.name for column in columns]
        cells, counts = self._tally(names, unit)
        places = [{text: code for code, text in enumerate(column.texts)} for column in columns]
        class_of = {tuple(codes): which for which, codes in enumerate(classes.shared.tolist())}
        many = np.zeros(len(classes), dtype=np.int64)
        theirs = [coded(name, cells[name]) for name in names]
        own = [
            [place.get(one.texts[code], -1) for code in one.codes] for place, one in zip(places, theirs, strict=True)
        ]
        for codes, count in zip(zip(*own, strict=True), counts, strict=True):
            which = class_of.get(codes)
            if which is not None:  # a row that came between the two statements is in neither report
                many[which] = max(many[which], int(count))
        return many

    def _tally(self, names: Sequence[str], different: str | None = None) -> tuple[dict[str, list[object]], Longs]:
        """Return the values of each column that come together, and how many rows or units have them."""
        with _by_relation():
            engine = open_source(self.source, table=self.relation)
        try:
            found, kinds = engine.tally(names, different=different), engine.schema()
        finally:
            engine.close()
        held = list(zip(*found, strict=True)) or [()] * (len(names) + 1)
        cells = {
            name: [moment(cell) if isinstance(cell, str) else cell for cell in values]
            if kinds[name] in {"date", "timestamp"}
            else list(values)
            for name, values in zip(names, held, strict=False)
        }
        return cells, np.array([int(count) for count in held[-1]], dtype=np.int64)
