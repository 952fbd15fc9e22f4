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
    **{"VARCHAR": "text", "ENUM": "text", "BOOLEAN": "boolean", "DATE": "date", "NULL": "text", '"NULL"': "text"},
}
_SETTINGS = (
    "SET ieee_floating_point_ops = false",  # x / 0 is NULL, as in every answer of tacit
    "SET errors_as_json = false",
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
        self._connection.execute("CREATE TABLE drawn_number AS SELECT 0 AS number")
        for table in tables:
            self._create(table)
        for setting in _SETTINGS:
            self._connection.execute(setting)

    def _create(self, table: dict[str, Any]) -> None:
        """Create a table, or for several draws of one a view that has the rows of the present draw."""
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
            self._connection.execute(f"INSERT INTO {stored} SELECT {unnested}", parameters)  # noqa: S608 - quoted names
        if drawn:
            names = ", ".join(name for name, _ in columns)
            self._connection.execute(
                f"CREATE VIEW {_quoted(table['name'])} AS "  # noqa: S608 - quoted names
                f"SELECT {names} FROM {stored} WHERE drawn = (SELECT number FROM drawn_number)"
            )

    def run(self, sql: str, *, most: int, seconds: float) -> dict[str, Any]:
        """Return the columns and rows of a query, or its error."""
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
        """Return the rows of a query for each draw of the tables, as many as the time admits."""
        timer = Timer(seconds, self._interrupt)
        timer.start()
        replies: list[Any] = []
        try:
            for number in range(count):
                self._connection.execute("UPDATE drawn_number SET number = $n", {"n": number})
                reply = self._fetch(sql, most)
                if "error" in reply:
                    return reply
                replies.append(reply["rows"])
        except Exception as error:  # noqa: BLE001 - as above
            if not self._interrupted:
                return {"error": _reason(error)}
        finally:
            timer.cancel()
        return {"draws": replies}


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
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    packages, megabytes, cpu_seconds = sys.argv[1:]
    sys.path.append(packages)
    import duckdb  # noqa: F401 - loaded before files are closed to this process

    _limit(int(megabytes) * 2**20 * 4, int(cpu_seconds))
    serve(f"{megabytes}MB")
