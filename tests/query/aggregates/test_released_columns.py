"""Columns of released integers: each estimate and interval is that of its cell, bit for bit, however large."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contract.plans import table
from tacit.query.aggregates import COLUMNAR, STATISTICS, bundles_of
from tacit.query.aggregates.released_columns import ReleasedColumn, ceiling, nearest, quotients, wide_integers
from tacit.query.aggregates.statistic import ConfidenceLevel
from tacit.query.expressions import Column, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.pricing.partition_selection import TruncatedLaplace

TABLE = table(groups=2, rows=3)
INTEGERS = st.one_of(
    st.integers(-(2**12), 2**12),
    st.integers(-(2**54), 2**54),
    st.integers(2**60, 2**64),
    st.integers(-(2**64), -(2**60)),
    st.integers(-(2**90), 2**90),
)
CONFIDENCES = st.sampled_from([0.5, 0.95, 1 - Fraction(1, 10**20)])
LAWS = [
    NoiseLaw(law="laplace", amount=Fraction(7, 2), sensitivity=1, moving=1),
    NoiseLaw(law="gaussian", amount=Fraction(10**7), sensitivity=1, moving=1),
    NoiseLaw(law="laplace", amount=Fraction(2**55), sensitivity=1, moving=1),
]


def sums(kind: Kind, low: str, high: str) -> Ask:
    return Ask(function="sum", values=(Column("x", kind),), bounds=((Fraction(low), Fraction(high)),))


def shared(ask: Ask) -> Bundle:
    """The three integers of an average, from which counts and sums are computed too."""
    (bundle,) = bundles_of(ask, TABLE)
    first = bundle.measures[0]
    return replace(bundle, measures=(first, replace(first, sign=-1), Measure(value=None)))


COUNT, WHOLE = Ask(function="count"), sums("integer", "-3", "70")
REAL, THIRDS = sums("real", "-0.1", "12.7"), sums("real", "0", "1000000")
CASES = [(ask, bundles_of(ask, TABLE)[0]) for ask in (COUNT, WHOLE, REAL, THIRDS)]
CASES += [(ask, shared(WHOLE)) for ask in (COUNT, WHOLE)] + [(ask, shared(REAL)) for ask in (COUNT, REAL)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", LAWS, ids=["laplace", "gaussian", "wide"])
@pytest.mark.parametrize(("ask", "bundle"), CASES)
@given(data=st.data(), confidence=CONFIDENCES)
def test_each_value_of_a_column_is_that_of_its_cell(
    ask: Ask, bundle: Bundle, law: NoiseLaw, data: st.DataObject, confidence: ConfidenceLevel
) -> None:
    rows = data.draw(st.lists(st.lists(INTEGERS, min_size=bundle.width, max_size=bundle.width), max_size=5))
    column = ReleasedColumn(
        bundle, wide_integers([x for row in rows for x in row]).reshape(len(rows), bundle.width), law
    )
    statistic, columnar = STATISTICS[ask.function], COLUMNAR[ask.function]
    cells = [[column.cell(index)] for index in range(len(rows))]
    assert [list(cell[0].integers) for cell in cells] == rows
    assert columnar.estimates(ask, [column]).tolist() == [statistic.estimate(ask, cell) for cell in cells]
    low, high = columnar.intervals(ask, [column], confidence)
    found = list(zip(low.tolist(), high.tolist(), strict=True))
    assert found == [statistic.interval(ask, cell, confidence) for cell in cells]


def test_a_group_with_the_lower_limit_has_the_interval_of_its_law() -> None:
    law = TruncatedLaplace(
        law="laplace",
        amount=Fraction(2),
        sensitivity=1,
        moving=1,
        most=20,
        coin=Fraction(1, 2),
        epsilon=Fraction(1, 2),
        delta=Fraction(1, 1000),
    )
    numbers = np.array([[21], [20], [22], [21], [500]])
    lower = np.array([False, True, False, True, False])
    (bundle,), ask = bundles_of(Ask(function="count_units"), TABLE), Ask(function="count_units")
    column = ReleasedColumn(bundle, numbers, law, law.lower, lower)
    low, high = COLUMNAR["count_units"].intervals(ask, [column], 0.9)
    pairs = zip(numbers.ravel().tolist(), lower, strict=True)
    expected = [(law.lower if own else law).around(noisy, Fraction(1, 10)) for noisy, own in pairs]
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == expected
    assert expected[0] != expected[3]  # one noisy number, two laws


@example(2**53 + 1, 3)  # as a double, the first is even
@given(INTEGERS, st.integers(1, 2**70))
def test_quotients_are_rounded_once(above: int, below: int) -> None:
    column = wide_integers([above])
    assert quotients(column, below).tolist() == [above / below]
    assert (nearest(above, below), ceiling(above, below)) == (
        (Fraction(above, below) + Fraction(1, 2)).__floor__(),
        Fraction(above, below).__ceil__(),
    )
