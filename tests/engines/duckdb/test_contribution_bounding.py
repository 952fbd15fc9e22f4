"""The cells that a unit keeps: exactly max_groups, each with the same probability, chosen only by the hash's key."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import sqrt

import duckdb
import pytest

from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.sql import contribution_bounding
from tacit.engines.sql.contribution_bounding import MOST_BITS, numbered, words

Pairs = set[tuple[int, int]]
SIGMAS = 7  # two-sided normal tail 2.6e-12 a test of a cell; all tests here check fewer than 400 cells


def chosen(pairs: Iterable[tuple[int, int]], max_groups: int, cells: int, secret: tuple[int, int] = (1, 2)) -> Pairs:
    """Return the (unit, cell) pairs that the words keep."""
    parts = ", ".join(f"{name} AS ({sql})" for name, sql in words(max_groups, cells, DUCKDB))
    return _run(pairs, f"WITH {parts} SELECT DISTINCT u, cell FROM {contribution_bounding.KEPT}", secret)  # noqa: S608 - all of it is ours


def first(pairs: Iterable[tuple[int, int]], max_groups: int, secret: tuple[int, int] = (1, 2)) -> Pairs:
    """Return the (unit, cell) pairs that the row numbers keep."""
    chosen_by = numbered(max_groups, DUCKDB)
    return _run(
        pairs,
        f"WITH pairs AS (SELECT DISTINCT u, cell FROM located) SELECT u, cell FROM ({chosen_by})",  # noqa: S608 - ours
        secret,
    )


def _run(pairs: Iterable[tuple[int, int]], sql: str, secret: tuple[int, int]) -> Pairs:
    listed = list(pairs)
    with duckdb.connect(config={"threads": 1}) as connection:
        with suppress(duckdb.ParserException):  # versions without this rewrite do not know its name
            connection.execute("SET disabled_optimizers = 'top_n_window_elimination'")
        connection.execute(
            "CREATE TABLE located AS SELECT UNNEST($u::BIGINT[]) AS u, CAST(UNNEST($c::BIGINT[]) AS USMALLINT) AS cell",
            {"u": [unit for unit, _ in listed], "c": [cell for _, cell in listed]},
        )
        return set(connection.execute(sql, {"h0": secret[0], "h1": secret[1]}).fetchall())


def sizes(pairs: Pairs) -> dict[int, int]:
    return {unit: sum(one == unit for one, _ in pairs) for unit, _ in pairs}


@pytest.mark.parametrize("max_groups", [1, 2, 5, 9, 62])
@pytest.mark.parametrize("cells", [2, 10, 32, 33, MOST_BITS])
def test_a_unit_keeps_as_many_cells_as_it_may_and_has(max_groups: int, cells: int) -> None:
    pairs = {(unit, (unit * 7 + place * (1 + unit % 3)) % cells) for unit in range(80) for place in range(unit)}
    kept = chosen(pairs, max_groups, cells)
    assert kept <= pairs
    assert sizes(kept) == {unit: min(max_groups, size) for unit, size in sizes(pairs).items()}


@pytest.mark.parametrize("max_groups", [1, 4])
def test_ties_of_the_hash_admit_nobody_too_many(max_groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contribution_bounding, "_HASHED", 0)
    pairs = {(unit, cell) for unit in range(20) for cell in range(unit)}
    kept = chosen(pairs, max_groups, 20)
    assert kept == {(unit, cell) for unit in range(20) for cell in range(max(0, unit - max_groups), unit)}


def test_row_numbers_keep_as_many_too() -> None:
    pairs = {(unit, cell * 11) for unit in range(60) for cell in range(unit)}
    kept = first(pairs, 5)
    assert kept <= pairs
    assert sizes(kept) == {unit: min(5, size) for unit, size in sizes(pairs).items()}


@pytest.mark.parametrize("by_words", [True, False])
def test_each_cell_is_kept_equally_often_and_cells_are_chosen_apart(by_words: bool) -> None:  # noqa: FBT001
    units, present, most = 20_000, range(3, 53, 5), 3
    pairs = [(unit, cell) for unit in range(units) for cell in present]
    kept = chosen(pairs, most, 53) if by_words else first(pairs, most)
    share = most / len(present)
    assert _far_off([sum(cell == one for _, cell in kept) for one in present], units, share) == []
    both = share * (most - 1) / (len(present) - 1)
    together = [
        sum((unit, one) in kept and (unit, other) in kept for unit in range(units))
        for one, other in ((3, 8), (43, 48), (3, 48))
    ]
    assert _far_off(together, units, both) == []


def test_a_choice_that_leans_by_a_fifth_would_be_seen() -> None:
    assert _far_off([int(20_000 * 0.3 * 1.2)], 20_000, 0.3) != []


def _far_off(counts: list[int], units: int, share: float) -> list[int]:
    spread = SIGMAS * sqrt(units * share * (1 - share))
    return [count for count in counts if abs(count - units * share) > spread]


@pytest.mark.parametrize("by_words", [True, False])
def test_the_choice_depends_on_the_key_and_on_the_unit_alone(by_words: bool) -> None:  # noqa: FBT001
    def choose(pairs: list[tuple[int, int]], secret: tuple[int, int]) -> Pairs:
        return chosen(pairs, 2, 12, secret) if by_words else first(pairs, 2, secret)

    pairs = [(unit, cell) for unit in range(50) for cell in range(12)]
    some = [(unit, cell) for unit, cell in pairs if unit % 2]
    assert choose(pairs, (5, 6)) == choose(pairs[::-1] + pairs, (5, 6))
    assert choose(some, (5, 6)) == {(unit, cell) for unit, cell in choose(pairs, (5, 6)) if unit % 2}
    for other in ((6, 6), (5, 7), (2**64 - 1, 0)):
        assert choose(pairs, other) != choose(pairs, (5, 6))
