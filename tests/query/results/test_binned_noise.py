"""Noise on counts of bins, block by block: each count gets noise of its law once, and intervals are kept as needed.

The mean of 160,000 absolute values of noise is within 3 % of its expectation except with probability below 1e-20, since
its relative standard error is 0.25 %. Noise that is 5 % too small is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from bounded import plan_of, policy
from query.results.test_quantile_intervals import CASES
from tacit.errors import InternalError
from tacit.query.aggregates.tree_summary import SummaryTable
from tacit.query.histograms import Counts
from tacit.query.plan import Ask, Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, Price, price
from tacit.query.results.binned_noise import BinnedNoise, can_absorb, kept_integers, tree_misses
from tacit.query.sql.parse import parse

TABLE = TablePolicy(
    name="t",
    unit=None,
    max_groups=None,
    max_rows=None,
    neighbours="add/remove",
    columns={
        "k": ColumnPolicy(kind="integer", keys=(0, 1, 2, 3)),
        "x": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(1000))),
    },
)
GROUPS = 4


def asked(items: str, more: str = "") -> Plan:
    return parse(f"SELECT k, {items} FROM t GROUP BY k {more}", {"t": TABLE})  # noqa: S608 - a test's own text


def zeros(plan: Plan, times: int) -> Iterator[Counts]:
    for _ in range(times):
        yield np.zeros(plan.bundles[0].measures[0].bins, dtype=np.int64)


def absorbed(plan: Plan, terms: Price, blocks: int = GROUPS) -> BinnedNoise:
    noise = BinnedNoise(plan, terms, 0.95)
    noise.absorb(tuple(range(len(plan.bundles))), zeros(plan, blocks))
    return noise


@pytest.mark.parametrize("weaker", [1.0, 0.95])
def test_every_count_of_every_block_has_noise_of_its_law(weaker: float) -> None:
    plan = asked("median(x) AS m")
    terms = price(plan, Cost(epsilon=0.5))
    leaves = np.concatenate([np.abs(kept_integers(absorbed(plan, terms).released[3])) for _ in range(10)])
    r = exp(-1 / terms.noise[3].scale)
    ratio = float(leaves.mean()) * weaker / (2 * r / (1 - r * r))
    assert (abs(ratio - 1) < 0.03) == (weaker == 1)
    blocks = np.array(kept_integers(absorbed(plan, terms).released[3])).reshape(GROUPS, -1)
    assert len({block.tobytes() for block in blocks}) == GROUPS


def test_all_levels_of_a_tree_are_released_in_order() -> None:
    plan = asked("median(x) AS m")
    terms = price(plan, Cost(epsilon=10**6))
    bins, made = plan.bundles[0].measures[0].bins, BinnedNoise(plan, terms, 0.95)
    counts = np.random.default_rng(5).integers(0, 9, GROUPS * bins)
    made.absorb(tuple(range(len(plan.bundles))), iter([counts[: 3 * bins], counts[3 * bins :]]))
    for index, bundle in enumerate(plan.bundles):
        expected = counts.reshape(-1, bundle.block).sum(axis=1)
        assert np.array_equal(kept_integers(made.released[index]), expected)


def test_a_dropped_tree_keeps_no_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.query.aggregates.tree_summary.MOST_BYTES", 0)
    plan = asked("median(x) AS m, min(x) AS low")
    made = absorbed(plan, price(plan, Cost(epsilon=1)))
    tables = list(made.released.values())
    assert len(tables) == len(plan.bundles)
    assert all(isinstance(table, SummaryTable) and table is tables[0] for table in tables)
    with pytest.raises(InternalError):
        kept_integers(tables[0])


@pytest.mark.parametrize(
    ("items", "more", "least"),
    [
        ("median(x) AS m", "", Fraction(1, 20)),
        ("median(x) AS m, max(x) - min(x) AS range", "", Fraction(1, 40)),
        ("median(x) AS m", "HAVING median(x) > 3", Fraction(1, 20 * GROUPS)),
        ("max(x) - min(x) AS range", "ORDER BY range LIMIT 2", Fraction(1, 40 * GROUPS)),
    ],
)
def test_the_intervals_of_a_dropped_tree_have_the_confidence_that_outputs_need(
    items: str, more: str, least: Fraction
) -> None:
    (misses,) = tree_misses(asked(items, more), 0.95).values()
    assert misses[0] == least
    assert list(misses) == sorted(misses, reverse=True)


def test_which_plans_are_absorbed() -> None:
    assert can_absorb(asked("median(x) AS m, count(*) AS n"))
    assert not can_absorb(asked("count(*) AS n"))
    ask: Ask = CASES["min"].ask
    assert can_absorb(plan_of(policy(unit=None), ask))
