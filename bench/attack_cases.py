"""The attacks of the attack bench: two neighbouring inputs each, and what a release of them claims.

This module and `attack_serve` import no other package, because every library's environment runs them.

The inputs of a sum have the same number of rows and differ in one. All values are at least 0, so one row changes the
sum by at most the upper bound, whether it is replaced, added or removed. Every library is asked for noise that gives
ε = 1 to a change of that size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import Any

HUGE = 1.7e308
_MANY = 4096


@dataclass(frozen=True, slots=True)
class Case:
    """One attack. `kind` says which release of a library is attacked, and `options` are the arguments of that release."""

    name: str
    title: str
    source: str
    kind: str
    on: Any
    against: Any
    options: dict[str, Any]
    runs: int
    epsilon: float = 1.0
    delta: float = 0.0


_FEW = [0.5] * 10
_SINGLE = [1.0] * (_MANY - 1) + [2.0**-12 * 1.0001] * _MANY
"""From 4096 on, each small value is rounded up to 2^-11; below, it is rounded down to 2^-12."""
_FOUND = ["north"] * 500


CASES = {
    case.name: case
    for case in (
        Case(
            name="laplace-bits",
            title="The last bits of Laplace noise on a real number",
            source="Mironov, CCS 2012",
            kind="number",
            on=0.0,
            against=1.0,
            options={"law": "laplace"},
            runs=40_000,
        ),
        Case(
            name="gaussian-bits",
            title="The last bits of Gaussian noise on a real number",
            source="Jin, McMurtry, Rubinstein and Ohrimenko, S&P 2022",
            kind="number",
            on=0.0,
            against=1.0,
            options={"law": "gaussian"},
            runs=40_000,
            delta=1e-6,
        ),
        Case(
            name="large-integers",
            title="Integers above 2^53 as floats: 2^60 + 128 and 2^60 + 129",
            source="Casacuberta, Shoemate, Vadhan and Wagaman, CCS 2022",
            kind="number",
            on=2**60 + 128,
            against=2**60 + 129,
            options={"law": "laplace"},
            runs=20_000,
        ),
        Case(
            name="nan-row",
            title="A sum with one value that is NaN",
            source="missing values are common in tables",
            kind="sum",
            on=[*_FEW, nan],
            against=[*_FEW, 0.5],
            options={"upper": 1.0},
            runs=1000,
        ),
        Case(
            name="infinite-row",
            title="A sum with one value that is infinite",
            source="the limits of floats",
            kind="sum",
            on=[*_FEW, inf],
            against=[*_FEW, 0.5],
            options={"upper": 1.0},
            runs=1000,
        ),
        Case(
            name="float-overflow",
            title="A sum that exceeds the largest float",
            source="Casacuberta, Shoemate, Vadhan and Wagaman, CCS 2022",
            kind="sum",
            on=[HUGE, HUGE],
            against=[HUGE, 0.0],
            options={"upper": HUGE},
            runs=1000,
        ),
        Case(
            name="integer-overflow",
            title="A sum that exceeds the largest 64-bit integer",
            source="Casacuberta, Shoemate, Vadhan and Wagaman, CCS 2022",
            kind="sum",
            on=[2**62, 2**62],
            against=[2**62, 0],
            options={"upper": 2**62},
            runs=1000,
        ),
        Case(
            name="rounded-sum",
            title="A sum of 32-bit floats, in which small values are rounded up or down",
            source="Casacuberta, Shoemate, Vadhan and Wagaman, CCS 2022",
            kind="sum",
            on=[1.0, *_SINGLE],
            against=[0.0, *_SINGLE],
            options={"upper": 1.0, "single": True},
            runs=4000,
        ),
        Case(
            name="failing-row",
            title="A query that fails on the row of one person",
            source="Haeberlen, Pierce and Narayan, USENIX Security 2011",
            kind="failing",
            on=[5, 6, 7, 8, 1],
            against=[5, 6, 7, 8, 9],
            options={},
            runs=1000,
        ),
        Case(
            name="found-key",
            title="A group that only one person has",
            source="Korolova, Kenthapadi, Mishra and Ntoulas, WWW 2009",
            kind="keys",
            on=[*_FOUND, "a rare place"],
            against=[*_FOUND, "north"],
            options={},
            runs=1000,
            delta=1e-6,
        ),
    )
}
