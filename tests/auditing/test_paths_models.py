"""Audits of releases of many columns in one run each: marginals, synthetic rows, classifiers, itemsets, found limits.

Every canary is a unit with more rows than count, and it has a value of its own in one column. A fair coin says whether
it is in the table; under "change one" it says which of two values the unit has. The theorem of `auditing.one_run` needs
only that neighbours differ in one coin, so it holds for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from auditing.audits import ERROR, Record
from tacit.database import Database
from tacit.guarantees.events import Neighbours

ROWS = 6
Scores = Callable[[Any], Sequence[float]]
"""Return a score of each value of the column `a`."""


def table(values: Sequence[int], units: Sequence[int]) -> Mapping[str, Sequence[int]]:
    """Return a table in which each unit has six rows; `b` is 1 throughout, and `n` at its upper bound."""
    rows = [(unit, value) for unit, value in zip(units, values, strict=True) for _ in range(ROWS)]
    return {"u": [u for u, _ in rows], "a": [a for _, a in rows], "b": [1] * len(rows), "n": [9.0] * len(rows)}


def opened(rows: Mapping[str, object], values: int, neighbours: Neighbours, **policy: Any) -> Database:  # noqa: ANN401 - of tc.open
    return tc.open(
        rows,
        **{
            "name": "t",
            "unit": "u",
            "reach": 2,
            "keys": {"a": list(range(values)), "b": [0, 1]},
            "bounds": {"n": (-3, 9)},
            "neighbours": neighbours,
            "budget": tc.ApproxDP(epsilon=1000, delta=0.5),
            **policy,
        },
    )


@dataclass(frozen=True)
class Model:
    """A release of a table, and what it says about each value of `a`."""

    release: Callable[[Database], Any]
    scores: Scores
    epsilon: float = 2.0
    delta: float = 0.0
    canaries: int = 1_000
    policy: tuple[tuple[str, object], ...] = ()


def counts(*names: str) -> Scores:
    def of(answer: Any) -> Sequence[float]:  # noqa: ANN401 - marginals
        rows = answer[names].rows()
        sums: dict[int, float] = {}
        for *keys, count, _, _ in rows:
            if str(keys[0]).isdigit():
                sums[int(keys[0])] = sums.get(int(keys[0]), 0.0) + (count if len(keys) == 1 or keys[1] == "1" else 0.0)
        return [sums[value] for value in sorted(sums)]

    return of


def frequencies(answer: Any, most: int) -> Sequence[float]:  # noqa: ANN401 - synthetic rows
    values = [value for value in answer["a"] if value is not None]
    return list(np.bincount(np.array(values, dtype=np.int64), minlength=most))


def supports(answer: Any, most: int) -> Sequence[float]:  # noqa: ANN401 - itemsets
    found = {items[0]: support for items, support, *_ in answer.rows() if len(items) == 1}
    return [found.get(value, -np.inf) for value in range(most)]


def odds(answer: Any, most: int) -> Sequence[float]:  # noqa: ANN401 - a classifier
    return list(answer.predict_proba(pd.DataFrame({"a": list(range(most))}))[:, 1])


RHO = 0.05
AT_RHO = {"epsilon": tc.ZCDP(rho=RHO).epsilon(delta=1e-17).upper if False else 3.0, "delta": 1e-17}
