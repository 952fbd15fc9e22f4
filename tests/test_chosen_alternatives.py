"""Limits that a query cannot be answered at: the choice never returns them, so that no charge is lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit import choosing
from tacit.database import Database
from tacit.errors import TooMuchNoiseError
from tacit.planning import plan_of
from tacit.query.aggregates.grid import value_grid
from tacit.query.aggregates.sum import Sum
from tacit.query.aggregates.value_bins import value_bins
from tacit.query.expressions import Column, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask
from tacit.query.policy import TablePolicy
from tacit.query.policy.column_values import read_bounds
from tacit.query.pricing.bounds_choice import WIDEST, BoundsChoice, NumberPair
from tacit.query.pricing.reach_choice import CANDIDATES
from tacit.quotes import ChoosingQuote, Settled

UNITS = 2_000
FAR = 2**33 - 1
DATA = pd.DataFrame({"u": np.arange(UNITS), "zero": 0.0, "far": np.full(UNITS, FAR), "n": 1})
MOST_NOISE = 2**56
LARGEST = int(Fraction(9, 10) * 2**25)
"""The largest reach at which a sum with the widest bounds is accepted for ε = 0.9."""

NUMBERS: list[Kind] = ["integer", "real"]


def database(**more: Any) -> Database:  # noqa: ANN401 - passed on
    return tc.open(DATA, name="t", unit="u", budget=tc.PureDP(epsilon=10**6), **{"reach": 1, **more})


def choice(kind: Kind) -> BoundsChoice:
    law = NoiseLaw(law="laplace", amount=Fraction(1), sensitivity=1, moving=1)
    with database() as db:
        plan = db.plan("SELECT count(*) AS n FROM t", epsilon=1).plan
    return BoundsChoice(column="x", kind=kind, plan=plan, law=law, default=(0, 1), declared=False, widest=WIDEST[kind])


@cache
def steps(kind: Kind, pair: NumberPair) -> int:
    """Return the largest integer of a row in a sum with these bounds."""
    table = TablePolicy(name="t", unit="u", max_groups=None, max_rows=None, reach=1, neighbours="add/remove")
    ask = Ask(function="sum", values=(Column("x", kind),), bounds=(read_bounds(pair, kind),))
    (bundle,) = Sum().bundles(ask, table)
    return bundle.contribution


def check_pairs(kind: Kind, pairs: Iterable[NumberPair]) -> int:
    """Check that every pair, or one that holds it, has no more steps than the widest; return how many need another."""
    chooser, most, others = choice(kind), steps(kind, WIDEST[kind]), 0
    for pair in pairs:
        if steps(kind, pair) > most:
            low, high = next(each for each in chooser.wider(pair) if steps(kind, each) <= most)
            assert low <= pair[0] < pair[1] <= high
            size = max(abs(low), abs(high))
            assert size <= 16 * max(abs(pair[0]), abs(pair[1])), pair  # not much more noise
            others += 1
    return others


def all_pairs(kind: Kind) -> list[NumberPair]:
    """Return every pair that a choice can return."""
    chooser, count = choice(kind), value_bins(kind).count
    return sorted({chooser.pair(first, last) for first in range(count) for last in range(first, count)})


@pytest.mark.long
@pytest.mark.parametrize("kind", NUMBERS)
def test_every_choosable_pair_is_answered_at_the_largest_reach(kind: Kind) -> None:
    pairs = all_pairs(kind)
    assert check_pairs(kind, pairs) > len(pairs) // 2


@pytest.mark.parametrize("kind", NUMBERS)
def test_pairs_from_neighbouring_bins_are_answered_at_the_largest_reach(kind: Kind) -> None:
    chooser, count = choice(kind), value_bins(kind).count
    near = {chooser.pair(first, min(first + more, count - 1)) for first in range(count) for more in (0, 1, 2, 5)}
    assert check_pairs(kind, near) > len(near) // 2


@pytest.mark.parametrize("kind", NUMBERS)
def test_wider_bounds_grow_up_to_the_widest(kind: Kind) -> None:
    chooser = choice(kind)
    for pair in [(0, 1), (-1, 1), (-7, -5), (5, 7), (-(2**40), 3), WIDEST[kind]]:
        chain: list[NumberPair] = [pair, *chooser.wider(pair)]
        assert all(a[0] >= b[0] and a[1] <= b[1] for a, b in pairwise(chain))
        assert chain[-1] == WIDEST[kind]
        assert len(chain) < 60


def test_the_largest_reach_is_the_largest_one() -> None:
    widest = {"bounds": {"far": WIDEST["integer"]}}
    with database() as db:
        db.plan("SELECT sum(far) AS s FROM t", epsilon=0.9, reach=LARGEST, **widest)  # type: ignore[arg-type]  # a table
        with pytest.raises(TooMuchNoiseError):
            db.plan("SELECT sum(far) AS s FROM t", epsilon=0.9, reach=LARGEST + 1, **widest)  # type: ignore[arg-type]  # likewise


@pytest.mark.parametrize(
    ("query", "column", "reach"),
    [
        ("SELECT sum(far) AS s FROM t", "far", LARGEST),
        ("SELECT avg(far) AS s FROM t", "far", LARGEST // 2),
        ("SELECT sum(zero - 1e9) AS s, avg(zero) AS a FROM t", "zero", 100),
        ("SELECT sum(zero + 1000) AS s FROM t", "zero", "auto"),
    ],
)
def test_a_charged_query_is_answered_whatever_is_chosen(query: str, column: str, reach: Any) -> None:  # noqa: ANN401 - auto
    with database() as db:
        answer = db.sql(query, epsilon=1, reach=reach, bounds={column: "auto"})
        chosen: Any = answer.receipt["limits_chosen"]
        low, high = map(float, chosen["bounds"][column]["bounds"])
        assert low <= DATA[column][0] <= high
        assert [entry.outcome for entry in db.ledger.entries()] == ["answered"]


def test_bounds_that_were_found_are_kept_if_they_can_be() -> None:
    with database() as db:
        answer = db.sql("SELECT sum(far) AS s FROM t", epsilon=1, bounds={"far": "auto"})
        chosen: Any = answer.receipt["limits_chosen"]
        assert chosen["bounds"]["far"]["bounds"] == [str(7 * 2**30), str(FAR)]
        grid = value_grid(Column("far", "integer"), (Fraction(7 * 2**30), Fraction(FAR)), answer.plan.table)
        assert (answer.plan.bundles[0].contribution, grid.step) == (grid.high << grid.fraction_bits, Fraction(1))


def test_two_columns_are_widened_together_up_to_the_widest() -> None:
    both: Any = {"bounds": {"zero": "auto", "far": "auto"}}
    with database() as db:
        quote = db.plan("SELECT sum(zero) AS a, sum(far) AS b FROM t", epsilon=1, reach="auto", **both)
        assert isinstance(quote, ChoosingQuote)
        drawn = Settled(3, {"zero": (0.0, 2.0**-64), "far": (5, 6)}, ("zero",))
        found = list(choosing.alternatives(quote, drawn))
        assert found[0] == drawn
        assert found[-1] == Settled(1, {"zero": WIDEST["real"], "far": WIDEST["integer"]}, ("zero",))
        assert sorted({each.reach or 0 for each in found}) == [1, 2, 3]
        priced = found[-1].apply(quote.question)
        assert choosing.at(db._session, quote, found[-1]).plan == quote.plan == plan_of(db._session, priced)


@pytest.mark.parametrize("scale", [1.05, 1.2, 1.45])
def test_a_reach_that_is_refused_below_one_that_is_not_is_replaced_by_a_smaller_one(scale: float) -> None:
    with database() as db:
        quote = db.plan("SELECT count(*) AS n FROM t", epsilon=scale * 2**-11 / 0.9, reach="auto")
        assert isinstance(quote, ChoosingQuote)
        assert quote.choice is not None
        targets = quote.choice.targets[:1] * len(CANDIDATES)
        quote = replace(quote, choice=replace(quote.choice, candidates=CANDIDATES, targets=targets))
        passing = [reach for reach in CANDIDATES if answerable(db, quote, reach)]
        refused = [reach for reach in CANDIDATES if reach < passing[-1] and reach not in passing]
        assert refused
        for reach in refused:
            used = next(s for s in choosing.alternatives(quote, Settled(reach, {})) if answerable(db, quote, s.reach))
            assert used.reach == max(other for other in passing if other < reach)


def answerable(db: Database, quote: ChoosingQuote, reach: int | None) -> bool:
    try:
        choosing.at(db._session, quote, Settled(reach, {}))
    except TooMuchNoiseError:
        return False
    return True


POLICY = """
budget = { epsilon = 1_000_000.0 }

[tables.a]
source = "a.parquet"
unit = "u"
reach = 1

[tables.b]
source = "b.parquet"
unit = "u"
reach = 1
"""


@pytest.mark.parametrize("reverse", [False, True])
def test_a_column_of_two_kinds_is_chosen_within_the_bounds_that_were_priced(tmp_path: Path, *, reverse: bool) -> None:
    tables = {"a": DATA[["u"]].assign(x=5), "b": DATA[["u"]].assign(x=np.inf)}
    for name, other in zip(tables, reversed(tables) if reverse else tables, strict=True):
        tables[other].to_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    query: Any = {"query": "SELECT sum(x) AS s FROM b", "epsilon": 1, "bounds": {"x": "auto"}}
    with tc.open(tmp_path / "policy.toml") as db:
        quote = db.plan(**query)
        assert isinstance(quote, ChoosingQuote)
        (bounds,) = quote.bounds_choices
        assert quote.plan.table.columns["x"].bounds == read_bounds(bounds.widest, "real")
        low, high = bounds.pair(0, value_bins(bounds.kind).count - 1)
        assert bounds.widest[0] <= low < high <= bounds.widest[1]
        db.sql(**query)
        assert [entry.outcome for entry in db.ledger.entries()] == ["answered"]
