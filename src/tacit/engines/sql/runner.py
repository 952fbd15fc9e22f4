"""The runner of statements: it returns all rows at once, or in batches if they are many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

StatementParameters: TypeAlias = Mapping[str, Any]
ResultRows: TypeAlias = Sequence[Sequence[Any]]
RunBatches: TypeAlias = Callable[[str, StatementParameters], Iterator[ResultRows]]

BATCH = 2**14
"""The largest number of rows of a batch."""


@dataclass(frozen=True, slots=True)
class StatementRunner:
    """Runs statements with parameters: lists of values, and the hash's keys as integers.

    `batches` yields the rows of a statement, at most `BATCH` at a time. All rows as Python values take many times the
    memory of arrays, so a caller with many rows turns each batch into arrays. The caller must read all batches of a
    statement, or none of the rest, before it runs another.
    """

    batches: RunBatches
    streamed: RunBatches | None = None

    def stream(self, sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
        """Yield the rows of a statement that may be too many for the memory; on Spark this takes longer."""
        return (self.streamed or self.batches)(sql, parameters)

    def __call__(self, sql: str, parameters: StatementParameters) -> ResultRows:
        """Return all rows of a statement."""
        return [row for batch in self.batches(sql, parameters) for row in batch]
