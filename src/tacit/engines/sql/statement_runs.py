"""Run the statements of a plan: their parameters, their integers, and what two passes over groups found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tacit.arrays import Ints, WideInts
from tacit.engines.sql.basket_statement import BasketStatement
from tacit.engines.sql.discovered_groups import (
    OpenStatement,
    ShownStatement,
)
from tacit.engines.sql.histogram import BinStatement
from tacit.engines.sql.joint_statement import JointStatement
from tacit.engines.sql.runner import StatementRunner
from tacit.engines.sql.statement import Statement
from tacit.errors import InternalError
from tacit.query.expressions import Kind
from tacit.query.histograms import Histograms
from tacit.query.key_tuples import KeyColumns
from tacit.query.pricing.partition_selection import DiscoveredGroups

MeasureStatement: TypeAlias = Statement | BinStatement | JointStatement
"""A statement that returns integers of listed groups."""


Secret: TypeAlias = tuple[int, int]
"""The two keys, of 64 bits each, of the hash that chooses cells."""


@dataclass(frozen=True, slots=True)
class Passes:
    """The statements that discover groups: the first pass with the plain sums, the second with all other measures."""

    indices: tuple[int, ...]
    kinds: tuple[Kind, ...]
    first: OpenStatement
    second: list[tuple[tuple[int, ...], ShownStatement]]

    def assemble(
        self,
        keys: KeyColumns,
        places: Ints,
        sums: Sequence[WideInts],
        second: Sequence[tuple[tuple[int, ...], list[int] | Histograms]],
    ) -> DiscoveredGroups:
        """Return the released groups from what `FoundGroups` collected and the second pass."""
        integers: dict[int, WideInts | Sequence[int] | Histograms] = dict(zip(self.indices, sums, strict=True))
        integers |= {index: result for indices, result in second for index in indices}
        return DiscoveredGroups(keys, places, [integers[index] for index in range(len(integers))])


def integers_of(run: StatementRunner, built: MeasureStatement, secret: Secret) -> list[list[int]]:
    """Return the integers of a statement; if its sums are not exact, run it again with integers."""
    parameters = parameters_of(built, secret)
    if not isinstance(built, Statement):
        return built.read(run(built.sql, parameters))
    integers = built.read(run.batches(built.sql, parameters))
    if integers is not None:
        return integers
    if built.in_integers is None:
        raise InternalError("the sums of a statement without limits are exact.")
    return integers_of(run, built.in_integers(), secret)


def parameters_of(
    built: MeasureStatement | OpenStatement | ShownStatement | BasketStatement, secret: Secret
) -> dict[str, Any]:
    """Return a statement's parameters, with the hash's keys if it chooses cells."""
    return {**built.parameters, **(dict(zip(("h0", "h1"), secret, strict=True)) if built.draws else {})}
