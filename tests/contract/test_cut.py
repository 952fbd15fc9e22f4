"""Rows beyond a reach: the integers of every engine are those of rational weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from contract.examples import examples
from contract.plans import NAME, A, Cells, X, cells, key, plan, plans, present, table
from contract.tables import Opener, Row, rows
from contract.test_reach import answer, row
from contract.weighted import weighted
from tacit.errors import InternalError
from tacit.query.plan import Bundle, Measure, Plan

WEIGHED = plans(groups=10**9, reach=True).map(
    lambda asked: replace(asked, table=replace(asked.table, max_groups=None, max_rows=None))
)
COUNT = Measure(value=None, fraction_bits=8)


def with_measures_beyond(asked: Plan, more: int) -> Plan:
    """Return a plan that also measures the rows beyond its reach, for each of its sums of rows."""
    reach = asked.table.reach
    assert reach is not None
    sums = [each for bundle in asked.bundles for each in bundle.measures if each.per == "row" and each.bins == 1]
    beyond = tuple(replace(each, beyond=reach + min(more, reach)) for each in [*sums, COUNT])
    return replace(asked, bundles=(*asked.bundles, Bundle(measures=beyond, contribution=1, nonnegative=False)))


@examples(100, WEIGHED, rows(40), st.integers(1, 4) | st.just(10**9))
def test_the_integers_are_those_of_rational_weights(engine: Opener, asked: Plan, data: list[Row], more: int) -> None:
    asked = with_measures_beyond(asked, more)
    assert answer(engine, asked, data) == weighted(asked, cells(asked, data))


def test_weights_end_at_the_cap_and_each_row_is_truncated_toward_zero(engine: Opener) -> None:
    data = [row(u=1, name="a", a=5), *[row(u=1, name="b", a=-5, x=None)] * 2]  # 3 rows
    data += [row(u=2, name="a", a=7)] * 9 + [row(u=3, name="b", a=9)] * 2 + [row(u=None, a=9)] * 50
    both, here = Measure(value=A, low=-9, high=9, beyond=4), replace(COUNT, beyond=4)
    valued, late = Measure(value=present(X), fraction_bits=8, beyond=4), replace(COUNT, beyond=9)
    asked = plan(table(groups=None, rows=None, reach=2), here, valued, both, late, keys=[key(NAME, "a", "b")])
    # a row of the first unit has the weight (3 - 2)/3, one of the second (4 - 2)/9 or, up to 9 rows, (9 - 2)/9
    thirds, ninths = 256 // 3, 2 * 256 // 9
    found = answer(engine, asked, data)
    assert found == [
        [thirds + 9 * ninths, 2 * thirds],
        [thirds + 9 * ninths, 0],
        [5 // 3 + 9 * (14 // 9), -2 * (5 // 3)],
        [thirds + 9 * (7 * 256 // 9), 2 * thirds],
    ]
    kept: Cells = cells(asked, data)
    assert found == weighted(asked, kept)


def test_large_values_are_multiplied_in_more_than_64_bits(engine: Opener) -> None:
    data = [row(a=2**40), row(a=-(2**40)), row(a=2**40), row(u=2, a=2**40)]
    value = Measure(value=A, low=-(2**40), high=2**40, fraction_bits=10, beyond=2048)
    asked = plan(table(groups=None, rows=None, reach=1), value)
    assert answer(engine, asked, data) == weighted(asked, cells(asked, data)) == [[2 * 2**50 // 3]]


@pytest.mark.parametrize(("most", "reach"), [(2, 2), (None, 4), (None, 5)])
def test_other_plans_are_not_measured(engine: Opener, most: int | None, reach: int) -> None:
    with pytest.raises(InternalError, match="rows beyond a reach are measured only if"):
        answer(engine, plan(table(groups=None, rows=most, reach=reach), replace(COUNT, beyond=4)), [row()])
