"""Tests of tables with words whose continuation is known: U = (word + 1/3)/2^64 or (word + 2/3)/2^64."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import oracles
from oracles import Inverse
from scripted import THIRD, TOP, TWO_THIRDS, Scripted, endless, seeded, uniform, words16, words64
from tacit.errors import InternalError
from tacit.noise import gaussian, laplace
from tacit.noise.inverse_cdf import CdfSteps, CdfTable

POINT = 704
UNCLEAR = np.iinfo(np.int16).min


@dataclass(frozen=True)
class Case:
    """A law as the code states it and as the oracle states it."""

    name: str
    steps: CdfSteps
    oracle: Callable[[int], Inverse]
    infinite: bool = True


def laplace_case(scale: Fraction) -> Case:
    return Case(f"laplace {scale}", laplace._laplace_steps(scale), lambda point: oracles.laplace(scale, point))


def difference_case(scale: Fraction, base: int) -> Case:
    steps = laplace._difference_steps(scale, base)
    return Case(
        f"difference {scale} {base}", steps, lambda point: oracles.difference(scale, base, point), infinite=False
    )


def gaussian_case(variance: Fraction, *, twice: bool) -> Case:
    oracle = oracles.gaussian_twice_zero if twice else oracles.gaussian
    steps = gaussian._steps(variance, twice_zero=twice)
    return Case(f"gaussian {variance}{' twice' * twice}", steps, lambda point: oracle(variance, point))


def loosened(case: Case, below: int, above: int) -> Case:
    """Widen a law's enclosures to the two units that are valid."""

    def steps(n: int) -> tuple[int, list[tuple[int, int]]]:
        first, enclosed = case.steps(n)
        wider = [(max(lo - below, 0), min(hi + above, 1 << n)) for lo, hi in enclosed]
        return first, [new if new[1] - new[0] <= 2 else old for old, new in zip(enclosed, wider, strict=True)]

    return Case(f"{case.name} loosened by {below} {above}", steps, case.oracle, case.infinite)


CASES = [
    *(laplace_case(Fraction(s)) for s in ("1/1000000", "1/50", "1/2", "3", "355/113", "20/3", "64")),
    *(
        difference_case(Fraction(s), base)
        for s, base in (
            ("65", 2),
            ("100", 2),
            ("1000/3", 8),
            ("1000000000", 64),
            ("1e15", 256),
            (2**56, 256),
            (2**48, 256),
        )
    ),
    *(
        gaussian_case(Fraction(v), twice=False)
        for v in ("1/1000000000000", "1/30", "1/3", "2", "64", "12321/7", "4096")
    ),
    loosened(laplace_case(Fraction(3)), 1, 0),
    loosened(laplace_case(Fraction(3)), 0, 1),
    loosened(difference_case(Fraction("1e15"), 16), 1, 0),
    loosened(difference_case(Fraction("1e15"), 16), 0, 1),
    *(gaussian_case(Fraction(v), twice=True) for v in ("65/4", "64", "4097/4", "12321/7", "4096")),
]


@cache
def truth(case: Case, point: int = POINT) -> Inverse:
    return case.oracle(point)


@cache
def table(case: Case) -> CdfTable:
    return CdfTable(cache(case.steps))


every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
@pytest.mark.parametrize("n", [64, 128, 192])
def test_every_step_is_enclosed_within_two_units(case: Case, n: int) -> None:
    oracle = truth(case, n + 128)
    first, enclosed = case.steps(n)
    assert all(oracle.enclosed(first + j, lo, hi, 128) for j, (lo, hi) in enumerate(enclosed))
    assert all(hi - lo <= 2 for lo, hi in enclosed)


@every_case
@pytest.mark.parametrize("n", [64, 128, 192, 512])
def test_steps_rise_and_leave_nothing_out(case: Case, n: int) -> None:
    _, enclosed = case.steps(n)
    lows, highs = zip(*enclosed, strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs)
    if case.infinite:
        assert lows[0] == 0
        assert highs[-1] == 1 << n
        assert highs[0] > 0
        assert lows[-1] < 1 << n


@every_case
def test_symmetric_laws_have_symmetric_steps(case: Case) -> None:
    _, enclosed = case.steps(64)
    truths = [(1 << 64) - (lo + hi) // 2 for lo, hi in reversed(enclosed)]
    assert all(lo - 3 <= t <= hi + 3 for (lo, hi), t in zip(enclosed, truths, strict=True))


def near_the_steps(case: Case, most: int = 150) -> list[int]:
    """Return the words around the steps: all of a short table, some of a long table, always the outermost ones."""
    lows = [int(low) for low in table(case).low]
    some = lows[:8] + lows[:: max(1, len(lows) // most)] + lows[-8:]
    near = {low + step for low in some for step in (-2, -1, 0, 1, 2, 3)} | {0, 1, 2, TOP - 1, TOP}
    return sorted(word for word in near if 0 <= word <= TOP)


def through_the_guide(table: CdfTable, word: int, byte: int) -> int:
    """Draw one integer through the guide from a known word."""
    cell, rest = word >> 48, word & (1 << 48) - 1
    asks = table.guide[cell] == UNCLEAR
    source = Scripted(words16(cell) + (words64(rest << 16 | 0xFFFF) if asks else b""), endless(byte))
    drawn = int(table.draw_guided(1, source)[0])
    assert source.left == b""
    return drawn


@pytest.mark.sampled(3)
@every_case
@pytest.mark.parametrize("byte", [THIRD, TWO_THIRDS])
def test_all_ways_to_read_a_table_agree_with_the_truth(case: Case, byte: int) -> None:
    words, drawn = near_the_steps(case), table(case)
    expected = [truth(case).outcome(uniform(word, byte, POINT)) for word in words]
    fully = drawn.draw_fully(len(words), Scripted(words64(*words), endless(byte)))
    assert fully.tolist() == expected
    assert [through_the_guide(drawn, word, byte) for word in words] == expected
    assert [drawn.invert(word, 64, Scripted(rest=endless(byte))) for word in words] == expected


@every_case
def test_a_guided_batch_equals_single_draws_from_its_words(case: Case) -> None:
    words, drawn = near_the_steps(case), table(case)
    asks = [word for word in words if drawn.guide[word >> 48] == UNCLEAR]
    script = words16(*(word >> 48 for word in words)) + words64(*((word << 16) & TOP for word in asks))
    batch = drawn.draw_guided(len(words), Scripted(script, endless(THIRD)))
    assert batch.tolist() == [through_the_guide(drawn, word, THIRD) for word in words]


@every_case
def test_every_cell_of_the_guide_agrees_with_all_its_words(case: Case) -> None:
    oracle, drawn = truth(case), table(case)
    floors = [step >> POINT - 64 for step in oracle.steps]
    cells = np.flatnonzero(drawn.guide != UNCLEAR)
    assert cells.size >= 65536 - 2 * len(drawn.low)
    for cell in cells[:: max(1, cells.size // 3000)].tolist():
        outcome = int(drawn.guide[cell]) + drawn.first - oracle.first
        assert bisect_right(floors, (cell << 48) - 1) == outcome
        assert bisect_right(floors, (cell + 1 << 48) - 1) == outcome


def deep(case: Case, step: int, last: int) -> tuple[int, bytes]:
    """Return a U that agrees with a step on 320 bits, up to `last` in the last of them, and its bytes."""
    head = (truth(case).steps[step] >> POINT - 320) + last
    if not 0 <= head < 1 << 320:
        return deep(case, step, 0)
    bits = head << POINT - 320 | int.from_bytes(seeded(step)(48), "big")
    return bits, bits.to_bytes(POINT // 8, "big")


@every_case
@pytest.mark.parametrize("last", [-1, 0, 1])
def test_a_tie_of_hundreds_of_bits_is_inverted_truly(case: Case, last: int) -> None:
    drawn, steps = table(case), truth(case).steps
    inner = [j for j, step in enumerate(steps) if 1 << POINT - 250 < step < (1 << POINT) - (1 << POINT - 250)]
    for step in inner[:: max(1, len(inner) // 12)]:
        bits, script = deep(case, step, last)
        expected = truth(case).outcome(bits)
        assert drawn.invert(bits >> POINT - 64, 64, Scripted(script[8:])) == expected
        word = int.from_bytes(script[:8], "big")
        assert drawn.draw_fully(1, Scripted(words64(word) + script[8:])).tolist() == [expected]


@every_case
@pytest.mark.parametrize("zeros", [65, 100, 200, 400])
def test_the_far_tails_are_reached_and_exact(case: Case, zeros: int) -> None:
    """U = 4/3·2^-zeros from either end."""
    tail = (4 << POINT - zeros) // 3
    for u in (tail, (1 << POINT) - 1 - tail):
        script = u.to_bytes(POINT // 8, "big")
        drawn = table(case).invert(u >> POINT - 64, 64, Scripted(script[8:]))
        assert drawn == truth(case).outcome(u)


def test_a_law_enclosed_too_loosely_is_refused() -> None:
    CdfTable(lambda n: (0, [(1 << n - 1, (1 << n - 1) + 2)]))
    with pytest.raises(InternalError, match="not enclosed tightly enough"):
        CdfTable(lambda n: (0, [(1 << n - 1, (1 << n - 1) + 3)]))


@pytest.mark.parametrize("byte", [THIRD, TWO_THIRDS])
def test_steps_at_the_ends_of_the_words_are_no_exception(byte: int) -> None:
    """Steps at 0, 2^-64, 1 - 2^-64 and 1: the outcomes 0 and 4 have no chance, 1 and 3 one word each."""
    drawn = CdfTable(lambda n: (0, [(x, x) for x in (0, 1 << n - 64, (1 << n) - (1 << n - 64), 1 << n)]))
    words = [0, 1, 2, 1 << 48, 1 << 63, TOP - 2, TOP - 1, TOP]
    expected = [1, 2, 2, 2, 2, 2, 2, 3]
    assert drawn.draw_fully(8, Scripted(words64(*words))).tolist() == expected
    assert [through_the_guide(drawn, word, byte) for word in words] == expected
