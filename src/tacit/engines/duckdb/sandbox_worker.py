"""The process that runs the outer part of a query, with DuckDB over released and public tables alone.

`sandbox` starts this file as a program. It imports nothing of tacit. It reads one request a line from standard input
and writes one reply a line to standard output, both as JSON.

The process protects the program that started it, not the data: everything that it receives is public. So it has no
environment variables, may write no file, and has limits of memory and of processor time, where the system has such
limits. DuckDB in it may open no file and no network address, load no extension and change no setting.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from itertools import takewhile
from threading import Timer
from typing import Any

_TYPES = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "BIGNUM"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "real"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "VARCHAR": "text",
    "ENUM": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "NULL": "text",
    '"NULL"': "text",
}
_MOST_CHARACTERS = 2**26
_NULL_FOR_ZERO = ("SET error_on_division_by_zero = false", "SET ieee_floating_point_ops = false")
"""x / 0 is NULL, as in every answer of tacit. The settings depend on the version of DuckDB."""
_SETTINGS = (
    "SET max_expression_depth = 250",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class Database:
    """A DuckDB in memory that holds the given tables."""

    def __init__(self, tables: list[dict[str, Any]], memory: str) -> None:
        """Create the tables, then lock the settings."""
        import duckdb  # noqa: PLC0415 - after the limits are set

        self._interrupted = False
        self._connection = duckdb.connect(
            ":memory:",
            config={
                "threads": 1,
                "memory_limit": memory,
                "temp_directory": "",
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "allow_community_extensions": False,
                "python_enable_replacements": False,
                "python_scan_all_frames": False,
            },
        )
        self._drawn: dict[str, tuple[str, str]] = {}
        for table in tables:
            self._create(table)
        for setting in _NULL_FOR_ZERO:
            with suppress(duckdb.Error):
                self._connection.execute(setting)
        for setting in _SETTINGS:
            self._connection.execute(setting)

    def _create(self, table: dict[str, Any]) -> None:
        """Create a table, or one that holds several draws of it."""
        columns = [(_quoted(name), _TYPES[kind]) for name, kind in table["columns"]]
        drawn = "draws" in table
        stored = _quoted(f"draws of {table['name']}") if drawn else _quoted(table["name"])
        typed = [*([("drawn", "BIGINT")] if drawn else []), *columns]
        self._connection.execute(f"CREATE TABLE {stored} ({', '.join(' '.join(column) for column in typed)})")
        values = [[_read(value) for value in column] for column in table["values"]]
        if drawn:
            values = [table["draws"], *values]
        if values and values[0]:
            unnested = ", ".join(f"unnest($v{index}::{kind}[])" for index, (_, kind) in enumerate(typed))
            parameters = {f"v{index}": column for index, column in enumerate(values)}
            self._connection.execute(f"INSERT INTO {stored} SELECT {unnested}", parameters)
        if drawn:
            self._drawn[table["name"]] = (stored, ", ".join(name for name, _ in columns))

    def run(self, sql: str, *, most: int, seconds: float) -> dict[str, Any]:
        """Return the columns and rows of a query, or its error."""
        self._interrupted = False
        timer = Timer(seconds, self._interrupt)
        timer.start()
        try:
            return self._fetch(sql, most)
        except Exception as error:  # noqa: BLE001 - whatever DuckDB raises becomes the reply
            return {"error": "time" if self._interrupted else _reason(error)}
        finally:
            timer.cancel()

    def _interrupt(self) -> None:
        self._interrupted = True
        self._connection.interrupt()

    def _fetch(self, sql: str, most: int) -> dict[str, Any]:
        result = self._connection.execute(sql)
        columns = [(name, str(kind).partition("(")[0]) for name, kind, *_ in result.description or ()]
        rows = result.fetchmany(most + 1)
        if len(rows) > most:
            return {"error": "rows"}
        shown = [(name, _KINDS.get(kind, ""), kind) for name, kind in columns]
        return {"columns": shown, "rows": [[_written(value) for value in row] for row in rows]}

    def draws(self, sql: str, *, count: int, most: int, seconds: float) -> dict[str, Any]:
        """Return the rows of a query for each draw of the tables, until the time has passed.

        DuckDB computes all draws in one statement, as a lateral join. If that fails, or if it differs in the first or
        in the last draw from the query itself, the query is run for one draw after the other.
        """
        self._interrupted = False
        timer = Timer(seconds, self._interrupt)
        timer.start()
        replies: list[Any] = []
        try:
            together = self._together(sql, count, most)
            if together is not None:
                return {"draws": together}
            numbers = takewhile(lambda _: not self._interrupted, range(count))  # an interrupt between two is not raised
            replies.extend(self._one_draw(sql, number, most) for number in numbers)
        except Exception as error:  # noqa: BLE001 - as above
            if not self._interrupted:
                return {"error": _reason(error)}
        finally:
            timer.cancel()
        return {"draws": replies}

    def _one_draw(self, sql: str, number: int, most: int) -> list[list[Any]]:
        """Return the rows of a query for one draw."""
        for name, (stored, columns) in self._drawn.items():
            self._connection.execute(
                f"CREATE OR REPLACE VIEW {_quoted(name)} AS "  # noqa: S608 - quoted names
                f"SELECT {columns} FROM {stored} WHERE drawn = {number}"
            )
        reply = self._fetch(sql, most)
        if "error" in reply:
            raise ValueError(reply["error"])
        rows: list[list[Any]] = reply["rows"]
        return rows

    def _together(self, sql: str, count: int, most: int) -> list[list[list[Any]]] | None:
        """Return the rows of all draws from one statement, or None if it does not work."""
        import duckdb  # noqa: PLC0415 - as above

        ends = {number: self._one_draw(sql, number, most) for number in {0, count - 1}}
        tables = ", ".join(
            f"{_quoted(name)} AS (SELECT {columns} FROM {stored} WHERE drawn = drawn_number.i)"  # noqa: S608 - as above
            for name, (stored, columns) in self._drawn.items()
        )
        whole = f"SELECT drawn_number.i, q.* FROM range({count}) AS drawn_number(i), "  # noqa: S608 - as above
        whole += f"LATERAL (WITH {tables} SELECT * FROM ({sql}) AS q) AS q"  # noqa: S608 - as above
        try:
            reply = self._fetch(whole, most * 30)
        except duckdb.Error:
            return None
        if "error" in reply:
            return None
        replies: list[list[list[Any]]] = [[] for _ in range(count)]
        for number, *row in reply["rows"]:
            replies[number].append(row)
        agrees = all(sorted(map(repr, replies[number])) == sorted(map(repr, rows)) for number, rows in ends.items())
        return replies if agrees else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read(value: Any) -> Any:  # noqa: ANN401 - values of JSON
    """Return a value from its JSON."""
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return date.fromisoformat(text) if kind == "date" else datetime.fromisoformat(text)
    return value


def _written(value: Any) -> Any:  # noqa: ANN401 - as above
    """Return a value as JSON."""
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN
        return None
    return value if isinstance(value, (bool, int, float, str)) else None if value is None else str(value)


def _reason(error: Exception) -> str:
    """Return the first line of DuckDB's message, or that there was not enough memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return "memory"
    return (str(error).splitlines() or [type(error).__name__])[0][:500]


def _limit(memory: int, seconds: int) -> None:
    """Limit the process, where the system can: memory, processor time, no files."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    limits = [("RLIMIT_AS", memory), ("RLIMIT_CPU", seconds), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)]
    for name, most in limits:
        with suppress(AttributeError, ValueError, OSError):  # a limit that this system does not have
            resource.setrlimit(getattr(resource, name), (most, most))


def serve(memory: str) -> None:
    """Answer requests until standard input ends."""
    database: Database | None = None
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, Any] = {}
        try:
            if request["do"] == "open":
                database = Database(request["tables"], memory)
            elif database is not None and request["do"] == "run":
                reply = database.run(request["sql"], most=request["most"], seconds=request["seconds"])
            elif database is not None:
                limits = {"most": request["most"], "seconds": request["seconds"]}
                reply = database.draws(request["sql"], count=request["count"], **limits)
        except Exception as error:  # noqa: BLE001 - the reply says what failed
            reply = {"error": _reason(error)}
        sys.stdout.write(_line(reply))
        sys.stdout.flush()


def _line(reply: dict[str, Any]) -> str:
    """Return a reply as one line; one that is too long becomes an error."""
    try:
        text = json.dumps(reply)
    except MemoryError:
        text = ""
    return (text if 0 < len(text) <= _MOST_CHARACTERS else json.dumps({"error": "size"})) + "\n"


if __name__ == "__main__":
    packages, megabytes, cpu_seconds = sys.argv[1:]
    sys.path.append(packages)
    import duckdb  # noqa: F401 - loaded before files are closed to this process

    _limit(int(megabytes) * 2**20 * 4, int(cpu_seconds))
    serve(f"{megabytes}MB")
