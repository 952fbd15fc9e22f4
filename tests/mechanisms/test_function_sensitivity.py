"""Brute force over small tables against closed forms, other enumerations and the definition."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, exp, log, log1p
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit as tc
from tacit.errors import InvalidError, RefusedError
from tacit.guarantees.events import Neighbours

of = tc.sensitivity.of
CHANGE: Neighbours = "change one"
ADD: Neighbours = "add/remove"


def middle(rows: Sequence[Any]) -> Any:  # noqa: ANN401 - any number
    """Return the lower median, or 0 of an empty table."""
    return sorted(rows)[(len(rows) - 1) // 2] if rows else 0


def variance(rows: Sequence[int]) -> Fraction:
    return statistics.pvariance([Fraction(x) for x in rows])


def sample_variance(rows: Sequence[int]) -> Fraction:
    return statistics.variance([Fraction(x) for x in rows])


@pytest.mark.parametrize("relation", [CHANGE, ADD])
def test_statistics_of_the_table_have_the_sensitivities_of_the_table(relation: Neighbours) -> None:
    cells = of(lambda rows: [rows.count(v) for v in range(3)], domain=range(3), n=3, neighbours=relation)
    expected = tc.sensitivity.histogram(neighbours=relation)
    assert (cells.l1, cells.l2_squared, cells.linf) == (expected.l1, expected.l2_squared, expected.linf)
    count = of(lambda rows: sum(r > 0 for r in rows), domain=[0, 1], n=4, neighbours=relation)
    assert count.l1 == tc.sensitivity.count(neighbours=relation).l1
    total = of(sum, domain=[-5, 0, 3], n=3, neighbours=relation)
    complete = relation == CHANGE
    assert total.l1 == tc.sensitivity.total((-5, 3), neighbours=relation, complete=complete).l1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("bounds", [(0, 1), (-2, 3)])
def test_means_and_variances(n: int, bounds: tuple[int, int]) -> None:
    domain = range(bounds[0], bounds[1] + 1)
    for f, expected in (
        (lambda rows: Fraction(sum(rows), len(rows)), tc.sensitivity.mean),
        (variance, tc.sensitivity.variance),
        (sample_variance, tc.sensitivity.sample_variance),
    ):
        found = of(f, domain=domain, n=n, neighbours=CHANGE, symmetric=True)
        assert found.l1 == expected(bounds, n, neighbours=CHANGE).l1


def test_the_sample_variance_of_the_notes() -> None:
    size = tc.sensitivity.sample_variance((0, 400_000), 5133, neighbours=CHANGE).l1
    assert size == pytest.approx(400_000**2 / 5133)
    with pytest.raises(RefusedError, match="n is private"):
        tc.sensitivity.sample_variance((0, 1), 5, neighbours=ADD)
    with pytest.raises(InvalidError, match="n must be at least 2"):
        tc.sensitivity.sample_variance((0, 1), 1, neighbours=CHANGE)


@given(st.integers(0, 10**9), st.sampled_from([CHANGE, ADD]), st.booleans())
@settings(max_examples=25)
def test_any_function_against_the_definition(seed: int, relation: Neighbours, symmetric: bool) -> None:  # noqa: FBT001 - drawn
    rng = random.Random(seed)  # noqa: S311 - a test
    table = {
        rows: [rng.randint(-9, 9), Fraction(rng.randint(-9, 9), 7)]
        for n in range(4)
        for rows in itertools.product("ab", repeat=n)
    }

    def f(rows: Sequence[str]) -> list[Any]:
        return table[tuple(sorted(rows) if symmetric else rows)]

    found = of(f, domain=["a", "b"], n=3, neighbours=relation, symmetric=symmetric)
    norms: list[tuple[Fraction, Fraction, Fraction]] = []
    local: dict[tuple[str, ...], Fraction] = {}
    for one, other in pairs(relation):
        gaps = [abs(Fraction(a) - b) for a, b in zip(f(one), f(other), strict=True)]
        norms.append((sum(gaps), sum(g * g for g in gaps), max(gaps)))
        local[one] = max(local.get(one, Fraction(0)), sum(gaps))
    largest = [max(each) for each in zip(*norms, strict=True)]
    assert [Fraction(found.l1.fraction), found.l2_squared.fraction, found.linf.fraction] == largest  # type: ignore[union-attr]  # not integers
    at = rng.choice(list(local))
    assert found.local(at).l1.fraction == local[at]  # type: ignore[union-attr]  # not integers
    smooth = max(float(local[y]) * exp(-0.3 * d) for y, d in distances(at, relation).items())
    assert found.smooth(at, beta=0.3) == pytest.approx(smooth, rel=1e-9)
    assert found.smooth(at, beta=0.3) >= smooth * (1 - 1e-15)


def pairs(relation: Neighbours) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return all ordered pairs of neighbouring tables of three rows, or of at most three."""
    tables = [rows for n in range(4) for rows in itertools.product("ab", repeat=n)]
    if relation == CHANGE:
        whole = [rows for rows in tables if len(rows) == 3]
        return [(x, y) for x in whole for y in whole if sum(a != b for a, b in zip(x, y, strict=True)) == 1]
    shorter = [(x, x[:i] + x[i + 1 :]) for x in tables for i in range(len(x))]
    return shorter + [(y, x) for x, y in shorter]


def distances(start: tuple[str, ...], relation: Neighbours) -> dict[tuple[str, ...], int]:
    """Return the number of steps from one table to each, by relaxation until nothing changes."""
    found, edges = {start: 0}, pairs(relation)
    for _ in range(9):
        for x, y in edges:
            if x in found:
                found[y] = min(found.get(y, 99), found[x] + 1)
    return found


def test_the_lower_median_has_the_smooth_sensitivity_of_its_formula() -> None:
    data, low, high, n, beta = [1, 4, 5, 5, 8], 0, 9, 5, 0.25
    size = of(middle, domain=range(10), n=n, neighbours=CHANGE, symmetric=True)
    padded = [low] * n + sorted(data) + [high] * n  # Nissim, Raskhodnikova and Smith 2007, proposition 3.4
    m = n + 2
    terms = [max(padded[m + t] - padded[m + t - k - 1] for t in range(k + 2)) * exp(-beta * k) for k in range(n)]
    assert size.smooth(data, beta=beta) == pytest.approx(max(terms), rel=1e-9)
    assert size.local(data).l1 == 1
    assert size.l1 == 9


def test_the_smooth_sensitivity_is_smooth_and_at_least_the_local_one() -> None:
    size = of(middle, domain=[0, 1, 5], n=4)
    tables = list(itertools.product([0, 1, 5], repeat=3))
    for relation in (CHANGE, ADD):
        at = {rows: size.smooth([*rows, 1], beta=0.5, neighbours=relation) for rows in tables}
        for x, y in itertools.product(tables, repeat=2):
            if sum(a != b for a, b in zip(x, y, strict=True)) == 1:
                steps = 1 if relation == CHANGE else 2
                assert at[x] <= at[y] * exp(0.5 * steps) * (1 + 1e-9)
            assert at[x] >= float(size.local([*x, 1], neighbours=relation).l1)


def test_epsilon_and_delta_fix_beta_for_one_number() -> None:
    size = of(middle, domain=[0, 1, 5], n=3, neighbours=CHANGE)
    beta = log1p(1 / (2 * log(2 / 1e-6)))
    assert size.smooth([0, 0, 0], epsilon=1, delta=1e-6) == pytest.approx(size.smooth([0, 0, 0], beta=beta))
    vector = of(lambda rows: [sum(rows), 1], domain=[0, 1], n=2, neighbours=CHANGE)
    with pytest.raises(InvalidError, match="do not fix β"):
        vector.smooth([0, 0], epsilon=1, delta=1e-6)
    for wrong in ({}, {"epsilon": 1}, {"beta": 1, "delta": 0.1}, {"beta": 0}, {"beta": float("nan")}):
        with pytest.raises(InvalidError):
            size.smooth([0, 0, 0], **wrong)


def test_both_relations_at_once_and_a_function_without_value_for_no_rows() -> None:
    both = of(sum, domain=[0, 3], n=2)
    assert (both.change_one.l1, both.add_remove.l1, both.l1, both.tables) == (3, 3, 3, 7)
    mean = of(statistics.mean, domain=[0, 1], n=5)
    assert mean.change_one.l1 == 0.2
    with pytest.raises(InvalidError, match=r"StatisticsError for a table of 0 rows.*neighbours='change one'"):
        _ = mean.l1
    with pytest.raises(InvalidError, match="neighbour relation is missing"):
        both.local([0, 0])
    assert "add/remove" in repr(both)
    assert "StatisticsError" in mean._repr_html_()
    one = of(sum, domain=[0, 3], n=2, neighbours=CHANGE)
    with pytest.raises(InvalidError, match="alone"):
        _ = one.add_remove


def test_integers_stay_integers_and_a_mechanism_takes_them() -> None:
    size = of(lambda rows: [sum(rows), max(rows)], domain=[0, 1, 2], n=3, neighbours=CHANGE)
    assert (size.l1, size.l2_squared, size.linf) == (4, 8, 2)
    assert isinstance(size.l1, int)
    assert isinstance(tc.Laplace(sensitivity=size.l1, epsilon=1).release(3), int)
    assert size.l2 == pytest.approx(8**0.5)


def test_rows_may_be_tuples_and_results_arrays() -> None:
    domain = [(0, 1), (2, 5)]
    found = of(lambda rows: np.array(rows).sum(axis=0), domain=domain, n=2, neighbours=CHANGE)
    assert (found.l1, found.linf) == (6, 4)
    assert found.local([(0, 1), (2, 5)]).l1 == 6
    assert of(lambda rows: np.bool_(1 in rows), domain=[0, 1], n=3).l1 == 1


def test_symmetric_functions_need_fewer_tables() -> None:
    lists = of(middle, domain=range(4), n=4)
    sets = of(middle, domain=range(4), n=4, symmetric=True)
    assert (lists.l1, lists.add_remove.l1) == (sets.l1, sets.add_remove.l1)
    assert (lists.tables, sets.tables) == (sum(4**k for k in range(5)), comb(8, 4))
    with pytest.raises(InvalidError, match="not symmetric"):
        of(lambda rows: rows[0], domain=[0, 1], n=3, neighbours=CHANGE, symmetric=True)


def _stateful() -> Callable[[list[int]], int]:
    calls = itertools.count()
    return lambda _: next(calls)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (_stateful(), "two values for one table"),
        (lambda rows: random.getrandbits(60) + len(rows), "two values for one table"),
        (lambda _: float("nan"), "finite number"),
        (lambda _: float("inf"), "finite number"),
        (lambda _: np.array([1.0, np.nan]), "finite number"),
        (lambda _: None, "finite number"),
        (lambda _: "3", "finite number"),
        (lambda _: [], "finite number"),
        (lambda _: 1j, "finite number"),
        (lambda rows: 1 / rows[0], "raised ZeroDivisionError"),
        (lambda rows: [0] * (1 + sum(rows)), "numbers for one table"),
        (3, "f must be"),
    ],
)
def test_functions_without_a_sensitivity(f: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(InvalidError, match=message):
        of(f, domain=[0, 1], n=2, neighbours=CHANGE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 40}, r"1,099,511,627,776 tables of 40 rows over 2 values, and the limit is 100,000.*symmetric=True"),
        ({"n": 900}, r"more than 10\^18 tables"),
        ({"n": 900, "domain": range(50), "symmetric": True}, r"more than|tables of 900 rows"),
        ({"n": 4, "limit": 15}, "16 tables of 4 rows"),
        ({"n": 4, "limit": 30, "neighbours": ADD}, "31 tables of at most 4 rows"),
        ({"n": 0}, "n must be"),
        ({"n": 2.0}, "n must be"),
        ({"n": True}, "n must be"),
        ({"domain": []}, "from 1 to"),
        ({"domain": "ab"}, "domain must be"),
        ({"domain": 3}, "domain must be"),
        ({"domain": iter([0, 1])}, "domain must be"),
        ({"domain": [0, 1, 1.0]}, "twice"),
        ({"domain": [0, float("nan")]}, "NaN"),
        ({"neighbours": "changed"}, "neighbours must be"),
        ({"symmetric": 1}, "symmetric must be"),
        ({"limit": 0}, "limit must be"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        of(sum, **{"domain": [0, 1], "n": 2, "neighbours": CHANGE, **arguments})


def test_tables_that_are_not_in_the_domain_are_refused_without_their_values() -> None:
    size = of(sum, domain=[0, 1], n=2, neighbours=CHANGE)
    for data in ([0, 31_415], [0], [0, 1, 1], "01", 3):
        with pytest.raises(InvalidError) as caught:
            size.local(data)
        assert "31" not in str(caught.value)


def test_a_function_that_changes_its_argument_changes_nothing_else() -> None:
    def emptied(rows: list[int]) -> int:
        total = len(rows)
        rows.clear()
        return total

    assert of(emptied, domain=[0, 1], n=3, neighbours=ADD).l1 == 1


def test_a_function_that_changes_its_rows_does_not_change_the_domain() -> None:
    def first_value(rows: list[list[int]]) -> int:
        for row in rows[1:]:
            row[0] = 0
        return sum(row[0] for row in rows)

    found = tc.sensitivity.of(first_value, domain=[[1], [5]], n=2, neighbours="change one")
    assert found.l1 == 4


def test_values_of_different_shapes_are_different_and_na_is_refused() -> None:
    arrays = [np.array([]), np.array([1.0]), np.array([1.0, 2.0])]
    found = tc.sensitivity.of(lambda rows: sum(len(row) for row in rows), domain=arrays, n=1, neighbours="change one")
    assert found.l1 == 2
    with pytest.raises(InvalidError, match="must not hold NaN or NA"):
        tc.sensitivity.of(len, domain=[1, pd.NA], n=1)
