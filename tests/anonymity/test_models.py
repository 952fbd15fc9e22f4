"""Requirements against brute force, distances against a linear program, and exact boundaries."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import tacit as tc
from tacit.anonymity.classes import count_values, entropy_at_least, entropy_level, failing, group, recursive_holds
from tacit.anonymity.distances import equal_distance, hierarchical_distance, ordered_distance
from tacit.anonymity.hierarchies import Hierarchy
from tacit.anonymity.privacy_models import Model
from tacit.anonymity.tables import CodedColumn, encode

TREE = Hierarchy(
    (
        ("a", "ab", "abc", "*"),
        ("b", "ab", "abc", "*"),
        ("c", "c", "abc", "*"),
        ("d", "de", "de", "*"),
        ("e", "de", "de", "*"),
    )
)
VALUES = TREE.values


def transport(cost: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """Return the least work to move p to q, by a linear program."""
    v = len(p)
    rows = [np.kron(np.eye(v)[i], np.ones(v)) for i in range(v)] + [np.kron(np.ones(v), np.eye(v)[i]) for i in range(v)]
    solved = linprog(cost.reshape(-1), A_eq=np.array(rows)[:-1], b_eq=np.concatenate([p, q])[:-1])
    return float(solved.fun or 0.0)


def tree_costs() -> np.ndarray:
    top = TREE.height - 1
    cost = np.zeros((5, 5))
    for i, j in combinations(range(5), 2):
        level = next(at for at in range(TREE.height) if TREE.rows[i][at] == TREE.rows[j][at])
        cost[i, j] = cost[j, i] = level / top
    return cost


counts = st.lists(st.integers(0, 6), min_size=5, max_size=5).filter(any)


@settings(max_examples=40, deadline=None)
@given(counts, counts)
def test_every_distance_is_the_least_work_of_a_transport_program(inside: list[int], whole: list[int]) -> None:
    c, w = np.array(inside), np.array(whole)
    p, q = c / c.sum(), w / w.sum()
    steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4
    cases = [
        (equal_distance(5), 1 - np.eye(5)),
        (ordered_distance(VALUES, list("abcde"), "x"), steps),
        (hierarchical_distance(TREE, VALUES), tree_costs()),
    ]
    for measure, cost in cases:
        assert float(measure.emd(c, w)) == pytest.approx(transport(cost, p, q), abs=1e-9)
        assert measure.emds(c[None], w)[0] == pytest.approx(float(measure.emd(c, w)), abs=1e-12)


def test_an_order_with_more_values_than_the_table_counts_their_steps() -> None:
    measure = ordered_distance(("1", "3"), [1, 2, 3, 4, 5], "x")
    assert measure.emd(np.array([1, 0]), np.array([0, 1])) == Fraction(2, 4)


def brute_fails(model: Model, rows: list[tuple[str, str]]) -> set[str]:
    """Return the classes of (class, value) rows that fail, by the definitions."""
    whole = Counter(value for _, value in rows)
    n = len(rows)
    failed = set()
    for name in {key for key, _ in rows}:
        inside = Counter(value for key, value in rows if key == name)
        m = sum(inside.values())
        match model:
            case tc.KAnonymity(k=k):
                good = m >= k
            case tc.LDiversity(l=l, kind="distinct"):
                good = len(inside) >= l
            case tc.LDiversity(l=l, kind="entropy"):
                product = int(l) ** m
                for count in inside.values():
                    product *= count**count
                good = m**m >= product
            case tc.LDiversity(l=l, c=c):
                falling = sorted(inside.values(), reverse=True)
                good = falling[0] < Fraction(str(c)) * sum(falling[int(l) - 1 :])
            case tc.TCloseness(t=t):
                distance = sum(abs(Fraction(inside[v], m) - Fraction(whole[v], n)) for v in whole) / 2
                good = distance <= Fraction(str(t))
            case _:
                raise AssertionError
        if not good:
            failed.add(name)
    return failed


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("abcd")), min_size=1, max_size=24))
def test_which_classes_fail_is_what_the_definitions_say(rows: list[tuple[str, str]]) -> None:
    models: list[Model] = [
        tc.KAnonymity(3),
        tc.LDiversity(2),
        tc.LDiversity(2, kind="entropy"),
        tc.LDiversity(3, kind="entropy"),
        tc.LDiversity(2, kind="recursive", c=2),
        tc.LDiversity(3, kind="recursive", c=1.5),
        tc.TCloseness(0.25),
        tc.TCloseness(0.5),
    ]
    keys, values = encode("key", [key for key, _ in rows]), encode("value", [value for _, value in rows])
    classes = group([keys.codes], len(rows))
    told = count_values(classes, values)
    for model in models:
        wrong = failing(model, classes, [told])
        found = {keys.texts[classes.shared[c, 0]] for c in np.flatnonzero(wrong)}
        assert found == brute_fails(model, rows), model


def fails(model: Model, inside: list[int], rest: list[int]) -> bool:
    keys = np.array([0] * sum(inside) + [1] * sum(rest), dtype=np.int32)
    flat = [v for part in (inside, rest) for v, many in enumerate(part) for _ in range(many)]
    values = CodedColumn(
        "v", tuple("abcdefgh"[: max(flat) + 1]), tuple("abcdefgh"[: max(flat) + 1]), np.array(flat, dtype=np.int32)
    )
    classes = group([keys], len(keys))
    return bool(failing(model, classes, [count_values(classes, values)])[0])


def test_a_class_that_meets_a_requirement_exactly_meets_it() -> None:
    assert not fails(tc.LDiversity(3, kind="entropy"), [7, 7, 7], [1, 0, 0])
    assert not fails(tc.LDiversity(4, kind="entropy"), [4, 1, 1, 1, 1], [1])
    assert not fails(tc.TCloseness(0.1), [3, 2], [2, 3])  # 0.6 against 0.5
    assert fails(tc.TCloseness(0.0999999999999999), [3, 2], [2, 3])
    assert fails(tc.LDiversity(2, kind="recursive", c=2), [2, 1], [1])  # 2 < 2·1 does not hold
    assert not fails(tc.LDiversity(2, kind="recursive", c=2.0000001), [2, 1], [1])


def test_entropy_is_decided_exactly_far_beyond_floats() -> None:
    big = 10**6
    assert entropy_at_least([big] * 3, Fraction(3))
    assert not entropy_at_least([big + 1, big, big], Fraction(3))
    assert entropy_at_least([4 * big, big, big, big, big], Fraction(4))
    assert not entropy_at_least([4 * big + 1, big, big, big, big], Fraction(4))
    assert not entropy_at_least([], Fraction(1))
    assert entropy_level([5, 5, 5, 5]) == 4.0
    assert entropy_level([3, 1]) == pytest.approx(np.exp(-(0.75 * log(0.75) + 0.25 * log(0.25))))


def test_recursive_diversity_sorts_counts_downwards() -> None:
    assert recursive_holds([1, 2, 2], Fraction(2), 2)
    assert not recursive_holds([1, 1, 9], Fraction(2), 2)
    assert not recursive_holds([5], Fraction(100), 2)


def brute_near(rows: list[tuple[str, str, str]], n: int, t: Fraction) -> set[tuple[str, str]]:
    """Return the classes without a natural superset of n rows within t, by all selections of columns."""
    failed = set()
    for one in {row[:2] for row in rows}:
        inside = [row[2] for row in rows if row[:2] == one]
        good = False
        for kept in ((), (0,), (1,), (0, 1)):
            whole = [row[2] for row in rows if all(row[c] == one[c] for c in kept)]
            far = (
                sum(abs(Fraction(inside.count(v), len(inside)) - Fraction(whole.count(v), len(whole))) for v in "ab")
                / 2
            )
            good |= len(whole) >= n and far <= t
        if not good:
            failed.add(one)
    return failed


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("uv"), st.sampled_from("ab")), min_size=1, max_size=16)
)
def test_closeness_to_a_natural_superset_is_what_all_selections_say(rows: list[tuple[str, str, str]]) -> None:
    columns = [encode(str(c), [row[c] for row in rows]) for c in range(3)]
    classes = group([column.codes for column in columns[:2]], len(rows))
    wrong = failing(tc.NTCloseness(5, 0.25), classes, [count_values(classes, columns[2])])
    found = {tuple(columns[j].texts[classes.shared[c, j]] for j in (0, 1)) for c in np.flatnonzero(wrong)}
    assert found == brute_near(rows, 5, Fraction(1, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tc.KAnonymity(0),
        lambda: tc.KAnonymity(2.5),  # type: ignore[arg-type]
        lambda: tc.LDiversity(2, kind="round"),  # type: ignore[arg-type]
        lambda: tc.LDiversity(2, kind="recursive"),
        lambda: tc.LDiversity(2, c=1),
        lambda: tc.LDiversity(0.5, kind="entropy"),
        lambda: tc.TCloseness(1.5),
        lambda: tc.TCloseness(float("nan")),
        lambda: tc.TCloseness(0.1, distance="hierarchical"),
        lambda: tc.NTCloseness(0, 0.1),
    ],
)
def test_a_requirement_that_means_nothing_is_refused(call: object) -> None:
    with pytest.raises(tc.InvalidError):
        call()  # type: ignore[operator]


def test_keys_beyond_62_bits_are_numbered_anew() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 50).astype(np.int32) * (2**30 - 1) for _ in range(6)]
    classes = group(columns, 50)
    want = Counter(zip(*(column.tolist() for column in columns), strict=True))
    assert sorted(classes.sizes.tolist()) == sorted(want.values())
    assert {tuple(row) for row in classes.shared.tolist()} == set(want)
