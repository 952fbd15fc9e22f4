"""Files in: CSV and Parquet as columns, exactly the file that is named, and every value as it is."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from tacit.anonymity.datetimes import moment
from tacit.errors import InvalidError, UnreadableFileError, show
from tacit.query.policy.locations import holds_secret, scheme

if TYPE_CHECKING:
    import duckdb

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
_ARRAYS = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE",
     "BOOLEAN", "VARCHAR")
)  # fmt: skip
_LONGEST, _SHOWN = 300, 60
_COLON = re.compile(r":/+")  # a Path makes one slash of two
_NO_POLICY = (
    "the data themselves: of a policy file, give what it names as its source, with relation= in Python and --table for "
    "`tacit check` where that is a database"
)
_MOMENTS = ("DATE", "TIME", "INTERVAL")

Cells = Sequence[object] | npt.NDArray[Any]


def a_path(given: object, argument: str = "the path") -> Path:
    """Return a path that a user gives.

    Raises:
        InvalidError: it is none.
    """
    if not isinstance(given, (str, Path)):
        raise InvalidError(argument, show(given), "the path of a file")
    if is_hidden(given) and not is_there(Path(given)):
        raise InvalidError(argument, called(given), "the path of a file")
    return Path(given)


def is_there(path: Path) -> bool:
    """Return whether there is such a file or folder; no name is too long to ask."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def called(path: object) -> str:
    """Return a path as it is named in a message: of a very long one how it begins, and of a URL its scheme alone.

    >>> called("visits.csv"), called("postgresql://reader:secret@db/clinic")
    ("'visits.csv'", "a URL that begins with 'postgresql:'")
    """
    text = str(path)
    if is_hidden(text):
        found = scheme(_COLON.sub("://", text))
        return "a path that holds a password or a key" if found is None else f"a URL that begins with '{found}:'"
    return repr(text) if len(text) <= _LONGEST else f"{text[:_SHOWN]!r}… ({len(text):,} characters)"


def is_hidden(path: object) -> bool:
    """Return whether a path must not be shown: it is a URL, or a password or a key stands in it."""
    written = _COLON.sub("://", str(path))
    return scheme(written) is not None or holds_secret(written)


def read_columns(path: Path, sep: str | None) -> dict[str, Cells]:
    """Return the columns of a CSV or Parquet file.

    Raises:
        InvalidError: there is no such file, or it cannot be read.
    """
    import duckdb  # noqa: PLC0415 - heavy

    if path.suffix.lower() == ".toml":
        raise InvalidError("the table", f"{called(path)}, which says where data are and holds none", _NO_POLICY)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidError("the table", called(path), "a file that ends in .csv, .tsv, .txt or .parquet")
    if not is_there(path):
        raise InvalidError("the table", f"{called(path)}, which does not exist", "a file")
    if not path.is_file():
        raise InvalidError("the table", f"{called(path)}, which is no file", "a CSV or Parquet file")
    with duckdb.connect() as connection:
        try:
            connection.execute("SET TimeZone = 'UTC'")
            return _fetched(_relation(connection, _pattern(connection, path.absolute()), path, sep))
        except duckdb.Error:
            raise UnreadableFileError(path, "it is not a CSV or Parquet file.", argument="the table") from None


def _pattern(connection: duckdb.DuckDBPyConnection, path: Path) -> str:
    """Return the pattern that fits this file alone: DuckDB takes a name with * ? [ for one."""
    pattern = glob.escape(str(path))
    if pattern == str(path):
        return pattern
    fits = connection.execute("SELECT file FROM glob(?)", [pattern]).fetchall()
    if [Path(file) for (file,) in fits] != [path]:
        raise InvalidError("the table", called(path), "a file whose name has none of * ? [ in it; rename it")
    return pattern


def _relation(
    connection: duckdb.DuckDBPyConnection, pattern: str, path: Path, sep: str | None
) -> duckdb.DuckDBPyRelation:
    if path.suffix.lower() == ".parquet":
        return connection.read_parquet(pattern, hive_partitioning=False)
    options: dict[str, Any] = {} if sep is None else {"sep": sep}
    return connection.read_csv(pattern, all_varchar=True, header=True, hive_partitioning=False, **options)


def _fetched(rows: duckdb.DuckDBPyRelation) -> dict[str, Cells]:
    """Return all columns: as arrays where an array holds every value of the type, else as Python's own values."""
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in types}
    columns: Mapping[str, npt.NDArray[Any]] = {}
    plain = [name for name in types if types[name] in _ARRAYS]
    if plain:
        columns = rows.project(", ".join(quoted[name] for name in plain)).fetchnumpy()
    return {name: columns[name] if name in columns else _exact(rows, quoted[name], types[name]) for name in types}


def _exact(rows: duckdb.DuckDBPyRelation, quoted: str, type_name: str) -> list[object]:
    """Return a column of a type that no array holds exactly."""
    if not type_name.startswith(_MOMENTS):
        return [cell for (cell,) in rows.project(quoted).fetchall()]
    texts = rows.project(f"CAST({quoted} AS VARCHAR) AS c").fetchnumpy()["c"].tolist()
    known = {written: None if written is None else moment(written) for written in dict.fromkeys(texts)}
    return [known[written] for written in texts]
