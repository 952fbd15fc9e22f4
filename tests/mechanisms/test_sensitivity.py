"""Every row of the table against all small datasets, under both relations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from statistics import median as plain_median
from typing import Any, Literal

import pytest

from tacit.errors import InvalidError, RefusedError
from tacit.guarantees.exact import Exact
from tacit.mechanisms import sensitivity
from tacit.mechanisms.sensitivity import Sensitivity

Row = Any
Relation = Literal["add/remove", "change one"]
Pair = tuple[tuple[Row, ...], tuple[Row, ...]]
RELATIONS: tuple[Relation, ...] = ("add/remove", "change one")
BOUNDS = [(0, 3), (-2, 1), (1, 3), (-3, -1)]


def neighbours(rows: Sequence[Row], size: int, relation: Relation) -> Iterator[Pair]:
    """All ordered pairs of neighbouring datasets of up to `size` units, each unit one of `rows`."""
    for n in range(size + 1):
        for data in itertools.product(rows, repeat=n):
            if relation == "add/remove":
                for i in range(n):
                    yield data, data[:i] + data[i + 1 :]
            else:
                for i, other in itertools.product(range(n), rows):
                    yield data, (*data[:i], other, *data[i + 1 :])


def worst(pairs: Iterator[Pair], statistic: Callable[[tuple[Row, ...]], Sequence[Fraction | int]]) -> Sensitivity:
    """The largest move in each norm, each by itself."""
    l1 = l2 = linf = Fraction(0)
    for one, two in pairs:
        gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(statistic(one), statistic(two), strict=True)]
        l1, l2, linf = (
            max(l1, sum(gaps, Fraction(0))),
            max(l2, sum((g * g for g in gaps), Fraction(0))),
            max(linf, *gaps),
        )
    return Sensitivity(*(Exact(x) for x in (l1, l2, linf)))


def values(bounds: tuple[int, int]) -> list[int]:
    return list(range(bounds[0], bounds[1] + 1))


@pytest.mark.parametrize("relation", RELATIONS)
def test_count(relation: Relation) -> None:
    found = worst(neighbours([0, 1], 3, relation), lambda data: [sum(data)])
    assert found == sensitivity.count(neighbours=relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_counting_queries(relation: Relation, m: int) -> None:
    rows = list(itertools.product([0, 1], repeat=m))
    found = worst(neighbours(rows, 2, relation), lambda data: [sum(row[j] for row in data) for j in range(m)])
    assert found == sensitivity.counts(m, neighbours=relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_histogram(relation: Relation) -> None:
    found = worst(neighbours([0, 1, 2], 3, relation), lambda data: [data.count(cell) for cell in range(3)])
    assert found == sensitivity.histogram(neighbours=relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_total_where_a_unit_may_leave_the_selection(relation: Relation, bounds: tuple[int, int]) -> None:
    rows = [*values(bounds), None]
    found = worst(neighbours(rows, 3, relation), lambda data: [sum(x for x in data if x is not None)])
    assert found == sensitivity.total(bounds, neighbours=relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_total_where_every_unit_has_one_value(relation: Relation, bounds: tuple[int, int]) -> None:
    found = worst(neighbours(values(bounds), 3, relation), lambda data: [sum(data)])
    assert found == sensitivity.total(bounds, neighbours=relation, complete=True)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", [(0, 1), (1, 1), (-1, 1), (-2, 1), (1, 2), (-2, -1)])
@pytest.mark.parametrize(("groups", "rows"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_contributions(relation: Relation, bounds: tuple[int, int], groups: int, rows: int) -> None:
    """A unit is a vector over four cells: at most `groups` of them hold the sum of up to `rows` values.

    The statistic is additive over units, so one unit at a time is enough: neighbours of at most one unit.
    """
    cells = 2 * groups
    sums = {sum(some) for k in range(rows + 1) for some in itertools.product(values(bounds), repeat=k)}
    units = [u for u in itertools.product(sums, repeat=cells) if sum(x != 0 for x in u) <= groups]
    found = worst(neighbours(units, 1, relation), lambda data: [sum(u[j] for u in data) for j in range(cells)])
    assert found == sensitivity.contributions(bounds, groups=groups, rows=rows, neighbours=relation)


def exactly(n: int, bounds: tuple[int, int]) -> Iterator[Pair]:
    return (pair for pair in neighbours(values(bounds), n, "change one") if len(pair[0]) == n)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_mean_of_a_public_number_of_rows(bounds: tuple[int, int], n: int) -> None:
    found = worst(exactly(n, bounds), lambda data: [Fraction(sum(data), n)])
    assert found == sensitivity.mean(bounds, n, neighbours="change one")


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_variance_of_a_public_number_of_rows(bounds: tuple[int, int], n: int) -> None:
    def population(data: tuple[int, ...]) -> list[Fraction]:
        centre = Fraction(sum(data), n)
        return [sum(((x - centre) ** 2 for x in data), Fraction(0)) / n]

    assert worst(exactly(n, bounds), population) == sensitivity.variance(bounds, n, neighbours="change one")


def middle(bounds: tuple[int, int]) -> Callable[[tuple[int, ...]], list[Fraction]]:
    empty = Fraction(sum(bounds), 2)
    return lambda data: [plain_median(map(Fraction, data)) if data else empty]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_median_under_add_remove(bounds: tuple[int, int]) -> None:
    found = worst(neighbours(values(bounds), 5, "add/remove"), middle(bounds))
    assert found == sensitivity.median(bounds, neighbours="add/remove")


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_median_under_change_one(bounds: tuple[int, int], n: int) -> None:
    assert worst(exactly(n, bounds), middle(bounds)) == sensitivity.median(bounds, n, neighbours="change one")


def test_the_l2_norm_is_rounded_up() -> None:
    for m in range(1, 3000):
        size = sensitivity.counts(m, neighbours="add/remove")
        assert Fraction(repr(size.l2)) ** 2 >= m
        assert size.l2 == pytest.approx(m**0.5, rel=1e-15)


def test_integers_have_integer_sensitivities_and_reals_do_not() -> None:
    assert type(sensitivity.count(neighbours="add/remove").l1) is int
    assert type(sensitivity.total((0, 3), neighbours="add/remove").l1) is int
    assert type(sensitivity.total((0.0, 3.0), neighbours="add/remove").l1) is Exact
    assert type(sensitivity.mean((0, 3), 10, neighbours="change one").l1) is Exact


@pytest.mark.parametrize("statistic", [sensitivity.mean, sensitivity.variance])
def test_means_and_variances_have_no_sensitivity_under_add_remove(statistic: Callable[..., Sensitivity]) -> None:
    with pytest.raises(RefusedError, match="no sensitivity under add/remove") as caught:
        statistic((0, 1), 10, neighbours="add/remove")
    assert caught.value.hint is not None


@pytest.mark.parametrize("bad", [None, "bounded", "", 1])
def test_the_relation_is_never_guessed(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        sensitivity.count(neighbours=bad)
    assert caught.value.argument == "neighbours"


@pytest.mark.parametrize("bad", [(1, 0), (0, float("nan")), (0, float("inf")), (0,), "01", None, (0, "1"), (True, 2)])
def test_bounds_are_two_finite_numbers_in_order(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        sensitivity.total(bad, neighbours="add/remove")
    assert caught.value.argument == "bounds"
