"""`count(DISTINCT x)`: the different values in a cell, of which a unit brings at most max_rows.

**Sensitivity.** Let K be the values that a unit keeps in a cell: at most R = max_rows of those that its rows have,
chosen by a keyed hash of the unit, the cell and the value. K depends on the unit's own rows and on the key alone, never
on other units. The cell's count is |A ∪ K|, A being what all others keep there.

* Add/remove: without the unit it is |A|, which differs by |K - A| ≤ R, and only in the at most g cells that the unit
  keeps: g·R in L1, g·R² in L2 squared.
* Change one: the unit's rows become others, and K becomes L. The count moves by |K - A| - |L - A|, both from 0 to R: so
  by at most R in a cell, and in the at most 2g cells that the unit keeps before or after, or as many as there are:
  2g·R and 2g·R². That is what `price` says of one integer a cell that is ≥ 0.

Unlike sums, a unit's count cannot be scaled down: a value that is there three tenths is no value. NULL and NaN are no
values, 0.0 and -0.0 are the same one.
"""

from __future__ import annotations

from tacit.query.aggregates.count import Count
from tacit.query.aggregates.steps import rows_of
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy


class CountDistinct(Count):
    """Different values, of which a unit brings at most max_rows to each cell."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """One measure that counts values, not rows."""
        measure = Measure(value=ask.values[0], per="value")
        return (Bundle(measures=(measure,), reach=rows_of(table), nonnegative=True),)
