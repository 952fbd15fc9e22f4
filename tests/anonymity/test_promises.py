"""All small tables: an independent checker, written from the definitions, checks the results of every search."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

import tacit as tc
from tacit.anonymity.candidates import SearchMethod
from tacit.anonymity.outcome import Anonymized
from tacit.anonymity.privacy_models import Model

Row = tuple[int, str, str]  # a number, a sensitive value, a person
TREE = [["1", "odd", "*"], ["2", "even", "*"], ["3", "odd", "*"]]
LEVELS = {1: ("1", "odd", "*"), 2: ("2", "even", "*"), 3: ("3", "odd", "*")}
WAYS: list[tuple[SearchMethod, dict[str, Any]]] = [
    ("optimal", {}),
    ("optimal", {"suppression": 0.5}),
    ("local", {}),
    ("mondrian", {"strict": True}),
    ("mondrian", {"strict": False}),
]


def tables(values: str, persons: str) -> Iterator[list[Row]]:
    """Return every table of one to four rows, up to the order of its rows."""
    kinds = list(product((1, 2, 3), values, persons))
    for many in range(1, 5):
        yield from (list(rows) for rows in combinations_with_replacement(kinds, many))


def far(inside: list[str], whole: list[str], order: str) -> Fraction:
    """Return the ordered distance: the mean over steps of the absolute difference of cumulative shares."""

    def share(rows: list[str], upto: int) -> Fraction:
        return Fraction(sum(one in order[: upto + 1] for one in rows), len(rows))

    return sum((abs(share(inside, i) - share(whole, i)) for i in range(len(order))), Fraction(0)) / (len(order) - 1)


def equally_far(inside: list[str], whole: list[str]) -> Fraction:
    """Return half the sum of the absolute differences of shares."""
    shares = [Fraction(inside.count(v), len(inside)) - Fraction(whole.count(v), len(whole)) for v in sorted(set(whole))]
    return sum(map(abs, shares), Fraction(0)) / 2


def product_of_powers(counts: list[int]) -> int:
    answer = 1
    for count in counts:
        answer *= count**count
    return answer


Test = Callable[[list[Row], list[Row]], bool]  # a class, and the whole input table
CASES: list[tuple[Model, Test, str, str]] = [
    (tc.KAnonymity(2), lambda rows, _: len(rows) >= 2, "xy", "p"),
    (tc.KAnonymity(3), lambda rows, _: len(rows) >= 3, "xy", "p"),
    (tc.KAnonymity(2), lambda rows, _: len({row[2] for row in rows}) >= 2, "x", "pqr"),
    (tc.LDiversity(2), lambda rows, _: len({row[1] for row in rows}) >= 2, "xy", "p"),
    (
        tc.LDiversity(2, kind="entropy"),
        lambda rows, _: (
            len(rows) ** len(rows) >= 2 ** len(rows) * product_of_powers(list(Counter(row[1] for row in rows).values()))
        ),
        "xyz",
        "p",
    ),
    (
        tc.LDiversity(2, kind="recursive", c=2),
        lambda rows, _: max(held := Counter(row[1] for row in rows).values()) < 2 * sum(sorted(held, reverse=True)[1:]),
        "xyz",
        "p",
    ),
    (
        tc.TCloseness(0.25),
        lambda rows, whole: equally_far([r[1] for r in rows], [r[1] for r in whole]) <= Fraction(1, 4),
        "xy",
        "p",
    ),
    (
        tc.TCloseness(0.25, distance="ordered", hierarchy=list("xyz")),
        lambda rows, whole: far([r[1] for r in rows], [r[1] for r in whole], "xyz") <= Fraction(1, 4),
        "xyz",
        "p",
    ),
]


def is_true(label: object, number: int) -> bool:
    """Return whether a published label covers a raw number: a label of its hierarchy, or a range that includes it."""
    words = str(label)
    if words.startswith("["):
        low, high = (int(end) for end in words.strip("[]").split(","))
        return low <= number <= high
    return words in LEVELS[number]


def read_back(out: Anonymized, rows: list[Row]) -> dict[str, list[Row]]:
    """Return the raw rows of every published class: each row once, under a label that covers it."""
    shown = list(zip(out.table["n"].to_list(), out.table["id"].to_list(), strict=True))
    assert len({who for _, who in shown}) == len(shown)
    classes = defaultdict(list)
    for label, who in shown:
        assert is_true(label, rows[int(who)][0]), (label, rows)
        classes[str(label)].append(rows[int(who)])
    return classes


def a_level_does(rows: list[Row], good: Test, limit: int) -> bool:
    """Return whether some level publishes rows and suppresses at most `limit` rows."""
    for level in range(3):
        classes = defaultdict(list)
        for row in rows:
            classes[LEVELS[row[0]][level]].append(row)
        gone = sum(len(held) for held in classes.values() if not good(held, rows))
        if gone <= limit and gone < len(rows):
            return True
    return False


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("model", "good", "values", "persons"), CASES, ids=lambda one: "" if callable(one) else str(one)[:40]
)
@pytest.mark.parametrize(("method", "more"), WAYS, ids=str)
def test_what_is_published_meets_the_requirement_and_what_is_refused_cannot(
    model: Model, good: Test, values: str, persons: str, method: SearchMethod, more: dict[str, Any]
) -> None:
    for rows in tables(values, persons):
        table: dict[str, list[Any]] = {
            "n": [row[0] for row in rows],
            "s": [row[1] for row in rows],
            "id": list(map(str, range(len(rows)))),
        }
        ask: dict[str, Any] = {"quasi": {"n": TREE}, "sensitive": "s", "require": model, "keep": ["id"], **more}
        if len(persons) > 1:
            table["who"], ask["unit"] = [row[2] for row in rows], "who"
        limit = len(rows) // 2 if more.get("suppression") else 0
        try:
            out = tc.anonymity.anonymize(table, method=method, **ask)
        except tc.InvalidError:
            assert not a_level_does(rows, good, limit), (model, rows)
            continue
        classes = read_back(out, rows)
        assert sum(map(len, classes.values())) == len(rows) - out.suppressed > 0
        assert out.suppressed <= limit
        assert all(good(held, rows) for held in classes.values()), (model, rows, classes)


def test_the_checker_itself_would_see_a_broken_promise() -> None:
    rows = [(1, "x", "p"), (2, "x", "p"), (3, "y", "p")]
    assert not any(good(rows[:1], rows) for model, good, *_ in CASES if not isinstance(model, tc.TCloseness))
    assert not any(good(rows[2:], rows) for model, good, *_ in CASES if isinstance(model, tc.TCloseness))
    assert not is_true("[1, 2]", 3)
    assert not is_true("even", 3)
