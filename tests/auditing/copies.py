"""Many independent runs of a query in one query: groups that are copies of each other.

Every copy has its own units and its own `CELLS` groups. A unit of a copy is in no other copy, so the cells of a copy
are a release about that copy alone: they have the guarantee of the whole query, and so do the copies of its neighbour,
which are in the same table. Copies get independent noise, and their groups are chosen independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

import tacit as tc
from auditing.audits import Sides
from contract.homes import ARROW
from postgres_server import Database as PostgresDatabase
from spark_session import frame_of
from tacit.database import Database
from tacit.query.aggregates.tree_summary import SummarizedTree
from tacit.query.expressions import Kind
from tacit.query.results.cells import Cell
from tacit.query.results.release import Release

KINDS: Mapping[str, Kind] = {"x": "real", "y": "integer", "c": "integer", "s": "text"}
BOUNDS: Mapping[str, tuple[float, float]] = {"x": (-8, 4), "y": (-3, 5)}
VALUES = range(4)
"""The public values of the column c."""

CELLS, UNITS = 2, 8
"""The groups of a copy, and more units than a copy has."""

Row: TypeAlias = tuple[int, int, float | None, int | None, int | None, str | None]
"""A unit of the copy, a group of the copy, and the values of x, y, c and s."""

Input: TypeAlias = Sequence[Row]
Pair: TypeAlias = tuple[Input, Input]


def table(pairs: Sequence[Pair], runs: int) -> pa.Table:
    """Return a table with so many copies of each side of each pair."""
    parts = [_copies(rows, runs, place) for place, rows in enumerate(side for pair in pairs for side in pair)]
    return pa.concat_tables(parts)


def _copies(rows: Input, runs: int, place: int) -> pa.Table:
    """Return the copies of one input; `place` counts inputs."""
    copy = np.repeat(np.arange(runs) + place * runs, len(rows))
    unit, cell = (np.tile(np.array([row[at] for row in rows], dtype=np.int64), runs) for at in (0, 1))
    columns = {"u": pa.array(copy * UNITS + unit), "k": pa.array(copy * CELLS + cell)}
    for at, (name, kind) in enumerate(KINDS.items(), 2):
        value = pa.array([row[at] for row in rows], ARROW[kind])
        columns[name] = value.take(pa.array(np.tile(np.arange(len(rows)), runs)))
    return pa.table(columns)


def sides(release: Release, pairs: int, runs: int) -> list[Sides]:
    """Return the outputs of each input: in the cells of a copy, the noisy integers and the values of the aggregates."""
    cells = [(*_integers(cell), *cell.estimates) for cell in release.cells]
    copies = [sum(cells[start : start + CELLS], ()) for start in range(0, len(cells), CELLS)]
    inputs = [copies[start : start + runs] for start in range(0, len(copies), runs)]
    return [(inputs[2 * pair], inputs[2 * pair + 1]) for pair in range(pairs)]


def _integers(cell: Cell) -> Iterator[int]:
    """Yield the released integers; a large answer keeps those of its trees no longer."""
    for bundle in cell.released:
        if not isinstance(bundle, SummarizedTree):
            yield from map(int, bundle.integers)


@dataclass
class Home:
    """A place to put tables for an engine, with the databases that are open there."""

    engine: str
    postgres: PostgresDatabase | None = None
    place: ExitStack = field(default_factory=ExitStack)
    """What is closed with the home, such as a server."""

    stack: ExitStack = field(default_factory=ExitStack)
    found: dict[object, Database] = field(default_factory=dict)

    def open(self, pairs: Sequence[Pair], runs: int, **policy: Any) -> Database:  # noqa: ANN401 - arguments of tc.open
        """Open copies of pairs under a policy; the last database is kept."""
        key = (repr(pairs), runs, repr(sorted(policy.items())))
        if key not in self.found:
            self.close()
            self.found[key] = self.stack.enter_context(self._opened(table(pairs, runs), policy, 2 * len(pairs) * runs))
        return self.found[key]

    def _opened(self, rows: pa.Table, policy: Mapping[str, Any], copies: int) -> Database:
        keys = {"k": list(range(copies * CELLS)), "c": list(VALUES)}
        declared: dict[str, Any] = {"unit": "u", "bounds": BOUNDS, "keys": keys, "budget": tc.PureDP(epsilon=10**6)}
        return tc.open(self.source(rows), **{"name": "t", **declared, **policy})

    def source(self, rows: pa.Table) -> Any:  # noqa: ANN401 - a source
        """Put a table where the engine reads it."""
        if self.engine == "spark":
            return frame_of(rows)
        if self.postgres is None:
            return rows
        self.postgres.fill("t", {"u": "integer", "k": "integer", **KINDS}, rows.to_pylist())
        return self.postgres.reader

    def close(self) -> None:
        """Close the database that is open."""
        self.stack.close()
        self.found.clear()

    def leave(self) -> None:
        """Close everything."""
        self.close()
        self.place.close()


def run_copies(
    home: Home,
    query: str,
    pairs: Sequence[Pair],
    policy: Mapping[str, Any],
    **cost: Any,  # noqa: ANN401 - of db.sql
) -> Callable[[int], list[Sides]]:
    """Return a function that runs a query over the groups k of a given number of copies."""

    def draw(runs: int) -> list[Sides]:
        return sides(home.open(pairs, runs, **policy).sql(query, **cost), len(pairs), runs)

    return draw
