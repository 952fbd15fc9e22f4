"""The attacks of the attack bench: neighbouring inputs, and what a release of them claims.

This module and `attack_serve` import no other package, because every library's environment runs them.

A table has three forms: with the row to find, with that row changed, and without it. A library whose claim is about
changed rows is attacked with the first two, and one whose claim is about added and removed rows with the first and the
third. Every library is asked for ε = 1 under its own relation, with the bounds of the case.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

HUGE = 1.7e308
TOP = 2.0**53
_LARGE = 2**55
_MANY = 4096


@dataclass(frozen=True, slots=True)
class Case:
    """One attack. `kind` says which release of a library is attacked, and `options` are the arguments of that release.

    `removed` is the neighbour of `on` for a library whose claim is about added and removed rows, `changed` for others.
    """

    name: str
    title: str
    source: str
    kind: str
    on: Any
    changed: Any
    removed: Any
    options: dict[str, Any]
    runs: int
    epsilon: float = 1.0
    delta: float = 0.0


def _numbers(name: str, title: str, source: str, pair: tuple[float, float], law: str, runs: int) -> Case:
    """Return an attack on a mechanism for one number, with noise for a change of 1."""
    delta = 1e-6 if law == "gaussian" else 0.0
    return Case(name, title, source, "number", pair[0], pair[1], pair[1], {"law": law}, runs, delta=delta)


def _rows(name: str, title: str, source: str, rows: list[Any], find: tuple[Any, Any], **options: Any) -> Case:  # noqa: ANN401 - any argument of a release
    """Return an attack on a release of rows and one more, which is the first of `find` or the second."""
    kind, runs, delta = options.pop("kind", "sum"), options.pop("runs", 1000), options.pop("delta", 0.0)
    first = options.pop("first", False)
    on, changed = ([value, *rows] if first else [*rows, value] for value in find)
    return Case(name, title, source, kind, on, changed, list(rows), options, runs, delta=delta)


_HALVES = [0.5] * 100
_ZEROS = [0.0] * 100
_SINGLE = [1.0] * (_MANY - 1) + [2.0**-12 * 1.0001] * _MANY
"""From 4096 on, each small value is rounded up to 2^-11; below, it is rounded down to 2^-12."""
_TOPS = [TOP - 1] * 4
"""After the first row 2^53 - 1 or 2^53, the partial sums are rounded apart: by 2, 4, 4 and 8."""
_PEOPLE = list(range(5, 104))
_FOUND = ["north"] * 500
_SENSITIVITY = "Casacuberta, Shoemate, Vadhan and Wagaman, CCS 2022"
_BITS = "Mironov, CCS 2012"

CASES = {
    case.name: case
    for case in (
        _numbers(
            "laplace-bits", "The last bits of Laplace noise on a real number", _BITS, (0.0, 1.0), "laplace", 40_000
        ),
        _numbers(
            "snapped-bits", "The same, with the library's snapping mechanism", _BITS, (0.0, 1.0), "snapping", 40_000
        ),
        _numbers(
            "gaussian-bits",
            "The last bits of Gaussian noise on a real number",
            "Jin, McMurtry, Rubinstein and Ohrimenko, S&P 2022",
            (0.0, 1.0),
            "gaussian",
            40_000,
        ),
        _rows("sum-bits", "The last bits of a noisy sum of reals", _BITS, _ZEROS, (1.0, 0.0), upper=1.0, runs=20_000),
        _numbers(
            "large-integers",
            "Integers above 2^53: 2^60 + 128 and 2^60 + 129",
            _SENSITIVITY,
            (2**60 + 128, 2**60 + 129),
            "laplace",
            20_000,
        ),
        _rows("nan-row", "A sum with one value that is NaN", "missing values", _HALVES, (nan, 0.5), upper=1.0),
        _rows(
            "nan-ignored",
            "The same, with the library's sum that ignores NaN",
            "missing values",
            _HALVES,
            (nan, 0.5),
            upper=1.0,
            ignore_nan=True,
        ),
        _rows("float-overflow", "A sum above the largest float", _SENSITIVITY, [HUGE], (HUGE, 0.0), upper=HUGE),
        _rows(
            "integer-overflow",
            "A sum above the largest 64-bit integer",
            _SENSITIVITY,
            [_LARGE] * 255,
            (_LARGE, 0),
            upper=_LARGE,
        ),
        _rows(
            "rounded-doubles",
            "A sum of five reals between 2^53 - 1 and 2^53",
            _SENSITIVITY,
            _TOPS,
            (TOP - 1, TOP),
            lower=TOP - 1,
            upper=TOP,
            first=True,
        ),
        _rows(
            "rounded-singles",
            "A sum of 8,192 32-bit floats between 0 and 1",
            _SENSITIVITY,
            _SINGLE,
            (1.0, 0.0),
            upper=1.0,
            single=True,
            first=True,
            runs=4000,
        ),
        _rows(
            "failing-row",
            "An analyst's query that fails on the row of one person",
            "Haeberlen, Pierce and Narayan, USENIX Security 2011",
            _PEOPLE,
            (1, 4),
            kind="failing",
        ),
        _rows(
            "found-key",
            "A group that only one person has",
            "Korolova, Kenthapadi, Mishra and Ntoulas, WWW 2009",
            _FOUND,
            ("a rare place", "north"),
            kind="keys",
            delta=1e-6,
        ),
    )
}
