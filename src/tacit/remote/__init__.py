"""`tc.connect`: a database behind a server of tacit, with the methods of one that `tc.open` returns.

* `connection`  HTTP by the standard library, and the errors that a server sends
* `database`    `RemoteDatabase`: plan, sql, verbs, left, spent, tables
* `results`     plans and answers, rebuilt from JSON
* `encoding`    values as JSON
"""

from __future__ import annotations

from tacit.remote.connection import Connection
from tacit.remote.database import RemoteDatabase

__all__ = ["RemoteDatabase", "connect"]


def connect(url: str, *, token: str, dataset: str | None = None, timeout: float = 3700.0) -> RemoteDatabase:
    """Return a database of a server that `tacit serve` runs.

    The same questions give the same objects as those of `tc.open`: `db.plan`, `db.sql`, verbs such as `db.mean`,
    `db.left`, `db.spent`, `db.tables`. Each charge is sent with a key, so that a lost response does not charge twice.

    Args:
        url: the address of the server, such as "https://tacit.example.org".
        token: an API token, from `tacit user token` or from the server's pages.
        dataset: the dataset, if the server has several.
        timeout: the number of seconds to wait for a response; the engine may read for an hour.
    """
    return RemoteDatabase(Connection(url, token, timeout), dataset)
