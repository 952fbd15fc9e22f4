"""CSV and Parquet files as columns: exactly the file that the path names, and every value unchanged."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from tacit.anonymity.cell_values import parse_datetime
from tacit.errors import InvalidError, UnreadableFileError, bad_value
from tacit.query.policy.locations import holds_secret, scheme

if TYPE_CHECKING:
    import duckdb

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
_ARRAYS = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE",
     "BOOLEAN", "VARCHAR")
)  # fmt: skip
_LONGEST, _START = 300, 60
_COLON = re.compile(r":/+")  # a Path makes one slash of two
_TEMPORAL = ("DATE", "TIME", "INTERVAL")

Cells = Sequence[object] | npt.NDArray[Any]


def to_path(path: object, argument: str = "the path") -> Path:
    """Return a path that a user gives.

    Raises:
        InvalidError: it is not a path, or it is a URL or holds a password.
    """
    if not isinstance(path, (str, Path)):
        raise bad_value(argument, path, "the path of a file")
    if is_secret(path) and not exists(Path(path)):
        raise InvalidError(f"{argument} must be the path of a file, not {show_path(path)}.", argument=argument)
    return Path(path)


def exists(path: Path) -> bool:
    """Return whether a file or folder exists; False for a name that is too long."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def show_path(path: object) -> str:
    """Return a path as messages show it: a very long one by its start, and a URL by its scheme alone.

    >>> show_path("visits.csv"), show_path("postgresql://reader:secret@db/clinic")
    ("'visits.csv'", "a URL that begins with 'postgresql:'")
    """
    text = str(path)
    if is_secret(text):
        name = scheme(_COLON.sub("://", text))
        return "a path that holds a password or a key" if name is None else f"a URL that begins with '{name}:'"
    return repr(text) if len(text) <= _LONGEST else f"{text[:_START]!r}… ({len(text):,} characters)"


def is_secret(path: object) -> bool:
    """Return whether messages must not show a path: it is a URL, or it holds a password or a key."""
    text = _COLON.sub("://", str(path))
    return scheme(text) is not None or holds_secret(text)


def read_columns(path: Path, sep: str | None) -> dict[str, Cells]:
    """Return the columns of a CSV or Parquet file.

    Raises:
        InvalidError: the path does not name such a file.
        UnreadableFileError: the file does not exist or cannot be parsed.
    """
    import duckdb  # noqa: PLC0415 - heavy

    if path.suffix.lower() == ".toml":
        raise InvalidError(
            f"{show_path(path)} is a policy, not a table.",
            argument="the table",
            hint="Give the source that the policy names. If that is a database, name its table with relation= in "
            "Python, or --table for `tacit check`.",
        )
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidError(
            f"{show_path(path)} is not a CSV or Parquet file.",
            argument="the table",
            hint="Give a file that ends in .csv, .tsv, .txt or .parquet.",
        )
    if not exists(path):
        raise UnreadableFileError(path, "it does not exist.", argument="the table")
    if not path.is_file():
        raise UnreadableFileError(path, "it is not a file.", argument="the table")
    with duckdb.connect() as connection:
        try:
            connection.execute("SET TimeZone = 'UTC'")
            return _columns(_relation(connection, _pattern(connection, path.absolute()), path, sep))
        except duckdb.Error:
            raise UnreadableFileError(path, "it is not a valid CSV or Parquet file.", argument="the table") from None


def _pattern(connection: duckdb.DuckDBPyConnection, path: Path) -> str:
    """Return the pattern that matches this file alone, because DuckDB reads a name with * ? [ as a pattern."""
    pattern = glob.escape(str(path))
    if pattern == str(path):
        return pattern
    matches = connection.execute("SELECT file FROM glob(?)", [pattern]).fetchall()
    if [Path(file) for (file,) in matches] != [path]:
        raise UnreadableFileError(
            path,
            "its name contains * ? or [, which other files match.",
            argument="the table",
            hint="Rename the file.",
        )
    return pattern


def _relation(
    connection: duckdb.DuckDBPyConnection, pattern: str, path: Path, sep: str | None
) -> duckdb.DuckDBPyRelation:
    if path.suffix.lower() == ".parquet":
        return connection.read_parquet(pattern, hive_partitioning=False)
    options: dict[str, Any] = {} if sep is None else {"sep": sep}
    return connection.read_csv(pattern, all_varchar=True, header=True, hive_partitioning=False, **options)


def _columns(rows: duckdb.DuckDBPyRelation) -> dict[str, Cells]:
    """Return all columns: as arrays if an array holds every value of the type, else as Python's values."""
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in types}
    columns: Mapping[str, npt.NDArray[Any]] = {}
    plain = [name for name in types if types[name] in _ARRAYS]
    if plain:
        columns = rows.project(", ".join(quoted[name] for name in plain)).fetchnumpy()
    return {name: columns[name] if name in columns else _cells(rows, quoted[name], types[name]) for name in types}


def _cells(rows: duckdb.DuckDBPyRelation, quoted: str, type_name: str) -> list[object]:
    """Return a column of a type that no array holds exactly."""
    if not type_name.startswith(_TEMPORAL):
        return [cell for (cell,) in rows.project(quoted).fetchall()]
    texts = rows.project(f"CAST({quoted} AS VARCHAR) AS c").fetchnumpy()["c"].tolist()
    values = {text: None if text is None else parse_datetime(text) for text in dict.fromkeys(texts)}
    return [values[text] for text in texts]
