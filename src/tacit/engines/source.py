"""A source to open: a value that every engine takes, and how an error names the source that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from tacit.errors import TableNotNamedError, TacitError, guarded

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source, and which of its tables to open.

    Attributes:
        source: a path, a URL, a data frame or a session.
        table: the table's name in its database; None for the only table there.
        fallback: the table to open if `table` is None and the database has several.
        written: the source as a policy writes it, its variables not filled in. Messages show this text.
        public: whether the table is public, so that an engine may read and copy its rows.
        where: the place where a policy declares the source, such as "tables.visits". Errors begin with it.
    """

    source: object
    table: str | None = None
    fallback: str | None = None
    written: str | None = None
    public: bool = False
    where: str | None = None

    def own_name(self, name: str) -> str:
        """Return the name that a table has in its source, or "data" if the name is part of a variable's value.

        >>> Source(source="/wards/secret.csv", written="${FILE}").own_name("secret")
        'data'
        """
        if self.written is None or self.table is not None:
            return name
        return "data" if name in str(self.source) and name not in self.written else name


SourcesByName: TypeAlias = Mapping[str, Source] | Mapping[None, Source] | Mapping[str | None, Source]
"""Sources by the names of their tables in SQL; None is for a table that keeps the name it has in its source."""


@contextmanager
def declared_at(where: str | None) -> Iterator[None]:
    """Let errors name the place where the failing source is declared, in `error.where`.

    >>> with declared_at("tables.visits"):
    ...     raise TacitError("The source cannot be opened.")
    Traceback (most recent call last):
    tacit.errors.TacitError: tables.visits: The source cannot be opened.
    """
    try:
        yield
    except TacitError as error:
        error.where = error.where or where
        raise


def with_fallback(source: Source, find: Callable[[str | None], _T]) -> _T:
    """Return what `find` returns for the source's table.

    If the database has several tables and none is named, call `find` again with the fallback.
    """
    try:
        return find(source.table)
    except TableNotNamedError:
        if source.fallback is None:
            raise
    return find(source.fallback)


def open_one(source: Source, step: Callable[[], _T], failure: str, *, hint: str | None = None) -> _T:
    """Return the result of a step that opens one of several sources; an error names this source.

    Any exception that is not a TacitError becomes a SourceError with the text `failure`.
    """
    with declared_at(source.where):
        return guarded(step, failure, hint=hint)
