"""Units by their number of rows, or of groups: the plan of the histograms from which limits are chosen.

n(u) is the number of rows of a unit that count in a query: after joins and WHERE, and in listed groups. `EDGES` are
fixed: 1, 2, 3, 4, 6, 8, 12, … up to 2^40. A unit is in one bin, that of the least edge that is at least n(u); one more
bin has the units above all edges. A histogram to be published has noise in every bin, also in empty ones, so it has
fewer of them: `SHOWN_EDGES` are powers of four from 2^12 on.

**Sensitivity.** A unit adds its integer to one bin: 1, or with a value the share Σ|v|/(n(u)·M) in steps of
2^-fraction_bits, rounded down, where |v| ≤ M for every row. So it adds at most 2^fraction_bits to one bin however many
rows it has, and nothing to the other bins. As for any bundle, `noise_law` derives from this that the histogram moves by
at most 2^fraction_bits in L1 if a unit comes or goes, and by twice that if its rows become others. The same holds for a
histogram of units by the number of listed groups in which they have a row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from tacit.query.plan import Bundle, Measure, Plan

LAST_EXPONENT: Final = 40
EDGES: Final = (
    1,
    2,
    3,
    *(edge for k in range(2, LAST_EXPONENT) for edge in (2**k, 3 * 2 ** (k - 1))),
    2**LAST_EXPONENT,
)
"""The largest n(u) of each bin except the last, which has no end."""

_FINE_EXPONENT = 12
SHOWN_EDGES: Final = (
    *(edge for edge in EDGES if edge < 2**_FINE_EXPONENT),
    *(2**k for k in range(_FINE_EXPONENT, LAST_EXPONENT + 1, 2)),
)
"""The same for a histogram that is published."""

BINS, SHOWN_BINS = len(EDGES) + 1, len(SHOWN_EDGES) + 1
_NOUNS = ("rows", "groups")
SHARE_BITS: Final = 16
"""The fraction bits of a unit's share of the largest sum that its rows could have."""

LARGEST_SHARED: Final = 1 << (62 - SHARE_BITS)
"""The largest |v| for which engines compute shares: |v|·2^SHARE_BITS must be within 2^62."""


def edges_of(measure: Measure) -> tuple[int, ...]:
    """Return the edges of a histogram of units."""
    return EDGES if measure.bins == BINS else SHOWN_EDGES


def shown_plan(plan: Plan) -> Plan:
    """Return the plan of the histograms to be published: units by rows, and by listed groups if there are several."""
    sized = size_plan(plan)
    kinds: tuple[Literal["size", "groups"], ...] = ("size", "groups") if (plan.cells or 0) > 1 else ("size",)
    measures = [Measure(value=None, per=kind, bins=SHOWN_BINS) for kind in kinds]
    bundles = tuple(Bundle(measures=(measure,), contribution=1, nonnegative=True) for measure in measures)
    return replace(
        sized, bundles=bundles, sql=f"units by their number of {' and of '.join(_NOUNS[: len(kinds)])} in: {plan.sql}"
    )


def size_plan(plan: Plan, measure: Measure | None = None) -> Plan:
    """Return the plan of the histogram: the rows of a query, without its groups.

    Args:
        plan: the query. The values of listed keys still decide which rows count; discovered keys do not.
        measure: a measure of rows whose values have one sign; a unit then adds its share. By default it adds 1.
    """
    table = replace(plan.table, reach=None, max_groups=1, max_rows=1)
    sized = Measure(value=None, per="size", bins=BINS)
    if measure is not None:
        sized = replace(measure, per="size", bins=BINS, fraction_bits=SHARE_BITS)
    bundle = Bundle(measures=(sized,), contribution=1 << sized.fraction_bits, nonnegative=True)
    return Plan(
        sql=plan.sql,
        table=table,
        where=plan.where,
        keys=(),
        within=tuple(key for key in plan.keys if key.values is not None),
        bundles=(bundle,),
        aggregates=(),
        outputs=(),
        joins=plan.joins,
    )
