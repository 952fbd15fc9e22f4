"""Options that name columns and their bins: `--columns age,sex` and `--bins age=10`, the same for four commands."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.cli import tables
from tacit.errors import bad_value

_BINS = "COLUMN=EDGES, such as age=0,18,65,120, or COLUMN=NUMBER"


def read_columns(texts: Sequence[str] | None) -> list[str] | None:
    """Return the names in options such as age,sex; None without options.

    >>> read_columns(["age, sex", "town"]), read_columns(None)
    (['age', 'sex', 'town'], None)
    """
    if not texts:
        return None
    names = [part.strip() for text in texts for part in text.split(",")]
    if not all(names):
        raise bad_value("--columns", ",".join(texts), "names of columns such as age,sex")
    return names


def read_column_bins(texts: Sequence[str] | None) -> dict[str, int | list[float]] | None:
    """Return the bins of columns in options such as age=0,18,65,120; None without options.

    >>> read_column_bins(["age=0,18,65", "cost=10"])
    {'age': [0, 18, 65], 'cost': 10}
    """
    found: dict[str, int | list[float]] = {}
    for text in texts or ():
        column, equals, edges = text.rpartition("=")
        if not column or not equals or column in found:
            raise bad_value("--bins", text, _BINS)
        found[column] = tables.read_bins(edges)
    return found or None
