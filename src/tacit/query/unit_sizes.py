"""Units by their number of rows, or of groups: the plan of the histograms from which limits are chosen.

n(u) is the number of rows of a unit that count in a query: after joins and WHERE, and in listed groups. `EDGES` are
fixed: 1 to 8, then 10, 12, 14, 16, 20, … up to 2^40, four to each power of two. A unit is in one bin, that of the
least edge that is at least n(u); one more bin has the units above all edges. A histogram to be published has noise in
every bin, also in empty ones, so it has fewer of them: `SHOWN_EDGES` are 1, 2, 3, 4, 6, 8, 12, … and powers of four
from 2^12 on.

**Sensitivity.** A unit adds its integer to one bin: 1, or with a value the share Σ|v|/(n(u)·M) in steps of
2^-fraction_bits, rounded down, where |v| ≤ M for every row. So it adds at most 2^fraction_bits to one bin however many
rows it has, and nothing to the other bins. As for any bundle, `noise_law` derives from this that the histogram moves by
at most 2^fraction_bits in L1 if a unit comes or goes, and by twice that if its rows become others. The same holds for a
histogram of units by the number of listed groups in which they have a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from tacit.query.plan import Bundle, Measure, Plan

Limited: TypeAlias = Literal["rows", "groups"]
"""What a reach limits of a unit."""

LAST_EXPONENT: Final = 40
_PARTS = (4, 5, 6, 7)
EDGES: Final = (1, 2, 3, *(part * 2**k for k in range(LAST_EXPONENT - 2) for part in _PARTS), 2**LAST_EXPONENT)
"""The largest n(u) of each bin except the last, which has no end."""

_FINE_EXPONENT = 12
SHOWN_EDGES: Final = (
    *(1, 2, 3),
    *(edge for k in range(2, _FINE_EXPONENT) for edge in (2**k, 3 * 2 ** (k - 1))),
    *(2**k for k in range(_FINE_EXPONENT, LAST_EXPONENT + 1, 2)),
)
"""The same for a histogram that is published."""

BINS, SHOWN_BINS = len(EDGES) + 1, len(SHOWN_EDGES) + 1
_PER: Final[Mapping[Limited, Literal["size", "groups"]]] = MappingProxyType({"rows": "size", "groups": "groups"})
"""How a measure counts units by these."""

SHARE_BITS: Final = 16
"""The fraction bits of a unit's share of the largest sum that its rows could have."""

LARGEST_SHARED: Final = 1 << (62 - SHARE_BITS)
"""The largest |v| for which engines compute shares: |v|·2^SHARE_BITS must be within 2^62."""


def limited_by(plan: Plan) -> Limited | None:
    """Return what a reach limits in a query: a unit's rows, or its groups if the query counts units and nothing else.

    None if a reach changes nothing: a unit counts once in one group, and no reach applies to the numbers of units that
    discover groups.
    """
    if not all(measure.per == "unit" for bundle in plan.bundles for measure in bundle.measures):
        return "rows"
    return None if plan.open or plan.cells == 1 else "groups"


def edges_of(measure: Measure) -> tuple[int, ...]:
    """Return the edges of a histogram of units."""
    return EDGES if measure.bins == BINS else SHOWN_EDGES


def shown_plan(plan: Plan) -> Plan:
    """Return the plan of the histograms to be published.

    They are of units by rows, and by listed groups if there are several; if a reach limits groups, by groups alone.
    """
    sized = size_plan(plan)
    kinds: tuple[Limited, ...] = ("rows", "groups") if (plan.cells or 0) > 1 else ("rows",)
    kinds = ("groups",) if limited_by(plan) == "groups" else kinds
    measures = [Measure(value=None, per=_PER[kind], bins=SHOWN_BINS) for kind in kinds]
    bundles = tuple(Bundle(measures=(measure,), contribution=1, nonnegative=True) for measure in measures)
    return replace(sized, bundles=bundles, sql=f"units by their number of {' and of '.join(kinds)} in: {plan.sql}")


def size_plan(plan: Plan, measure: Measure | None = None) -> Plan:
    """Return the plan of the histogram from which a reach is chosen: units by what a reach limits of them.

    Args:
        plan: the query. The values of listed keys still decide which rows count; discovered keys do not.
        measure: a measure of rows whose values have one sign; a unit then adds its share. By default it adds 1.
    """
    table = replace(plan.table, reach=None, max_groups=1, max_rows=1)
    sized = Measure(value=None, per=_PER[limited_by(plan) or "rows"], bins=BINS)
    if measure is not None:
        sized = replace(measure, per="size", bins=BINS, fraction_bits=SHARE_BITS)
    bundle = Bundle(measures=(sized,), contribution=1 << sized.fraction_bits, nonnegative=True)
    listed = [place for place, key in enumerate(plan.keys) if key.values is not None]
    tuples = (replace(each, places=tuple(map(listed.index, each.places))) for each in plan.tuples)
    return Plan(
        sql=plan.sql,
        table=table,
        where=plan.where,
        keys=(),
        within=tuple(plan.keys[place] for place in listed),
        tuples=tuple(tuples),
        bundles=(bundle,),
        aggregates=(),
        outputs=(),
        joins=plan.joins,
        units=plan.units,
    )
