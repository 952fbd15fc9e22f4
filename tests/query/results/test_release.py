from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounded import REAL, WHOLE, ask_for, bounds, key, plan_of, policy
from tacit.errors import InvalidError, TacitError
from tacit.guarantees.values import PureDP
from tacit.query.expressions import Value
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Computed, Constantly, Grouped, Noisy, Order, Output, Plan
from tacit.query.pricing.price import Cost, Price, price
from tacit.query.results.release import Release, release

COUNT, TOTAL, MEAN = ask_for("count"), ask_for("sum", WHOLE, bounds(0, 9)), ask_for("avg", WHOLE, bounds(0, 9))
KEYS = [key("k", *(f"k{i}" for i in range(40)))]
N = Noisy(0, "integer")
OVER = Computed("greater", (N, Constantly(0, "integer")), "boolean")
SILENT = NoiseLaw(law="laplace", amount=Fraction(1, 1000), sensitivity=1, moving=1)  # 0, but with probability e^-1000


def silently(plan: Plan, exact: list[list[int]]) -> Release:
    """Release without noise, in effect."""
    cost = price(plan, Cost(epsilon=1))
    return release(plan, replace(cost, noise=(SILENT,) * len(plan.bundles)), exact, {})


def by(output: Output, *, descending: bool = False, nulls_first: bool = False) -> Order:
    return Order(by=output, descending=descending, nulls_first=nulls_first)


def column(answer: Release, name: str) -> list[Value]:
    table = answer.table
    return list(table.columns[table.names.index(name)])


# --- what is released -------------------------------------------------------------------------------------------


def test_every_cell_is_released_in_the_order_of_the_keys() -> None:
    keys = [key("k", "a", "b"), key("m", "x", None, "z")]
    answer = silently(plan_of(policy(), COUNT, TOTAL, keys=keys), [list(range(6)), [20 << 20] * 6])
    assert answer.table.names == ("k", "m", "a0", "a1")
    assert [row[:3] for row in answer.rows()] == [
        ("a", "x", 0),
        ("a", None, 1),
        ("a", "z", 2),
        ("b", "x", 3),
        ("b", None, 4),
        ("b", "z", 5),
    ]


def test_without_keys_there_is_one_row() -> None:
    assert silently(plan_of(policy(unit=None), COUNT, MEAN), [[5], [10], [35]]).rows() == [(5, 2.0)]


def test_outputs_are_computed_from_what_is_released() -> None:
    ratio = Computed("divide", (Noisy(1, "real"), Noisy(0, "real")), "real")
    plan = plan_of(policy(unit=None), COUNT, TOTAL, more={"ratio": ratio, "one": Constantly(1, "integer")})
    assert silently(plan, [[4], [10]]).rows() == [(4, 10, 2.5, 1)]
    assert silently(plan, [[0], [10]]).rows() == [(0, 10, None, 1)]


def test_noise_is_fresh_each_time_and_independent_in_each_cell() -> None:
    """Scale 1e6: two draws are equal with probability below 1e-6, so forty with 1e-240, and five pairs with 1e-18."""
    plan = plan_of(policy(), COUNT, keys=KEYS)
    cost, exact = price(plan, Cost(epsilon=1e-6)), [[1000] * 40]
    one, two = (column(release(plan, cost, exact, {}), "a0") for _ in range(2))
    assert one != two
    assert len(set(one)) > 35


def test_noise_has_the_scale_of_its_price() -> None:
    """The mean of 4,000 |noise| is within 14 % of the scale except with probability 1e-13, by Chernoff's bound."""
    plan = plan_of(policy(), COUNT, keys=[key("k", *(str(i) for i in range(4000)))])
    found = np.array(
        column(release(plan, price(plan, Cost(epsilon=Fraction(1, 500))), [[0] * 4000], {}), "a0"), dtype=float
    )
    assert 0.86 < np.abs(found).mean() / 500 < 1.14


def test_an_answer_does_not_hold_what_it_was_made_of() -> None:
    """Noise of scale 2e14 makes one of 80 integers one of these 80 with probability below 80·80/4e14 < 2e-11."""
    plan = plan_of(policy(), COUNT, ask_for("count_units"), keys=KEYS)
    exact = [[10**17 + i for i in range(40)], [10**17 + 40 + i for i in range(40)]]
    answer = release(plan, price(plan, Cost(epsilon=1e-14)), exact, {"policy": "v"})
    everything = repr(answer) + json.dumps(answer.receipt) + str(answer) + answer._repr_html_()
    assert not any(str(integer) in everything for part in exact for integer in part)
    assert pickle.loads(pickle.dumps(answer)).rows() == answer.rows()  # noqa: S301 - our own


def test_receipts_do_not_depend_on_the_data_nor_on_the_noise() -> None:
    plan = plan_of(policy(groups=3), COUNT, MEAN, keys=KEYS, having=OVER, order=(by(N),), limit=3)
    cost, context = price(plan, Cost(epsilon=0.5)), {"policy": "v", "ledger_entry": 1, "software": "tacit"}
    papers = {
        json.dumps(release(plan, cost, [[x] * 40, [x] * 40, [y] * 40], context).receipt)
        for x, y in ((0, 0), (10**6, 3), (-5, 10**12))
    }
    assert len(papers) == 1


def test_the_cost_is_the_prices_guarantee() -> None:
    assert silently(plan_of(policy(), COUNT), [[3]]).cost == PureDP(epsilon=1)


# --- HAVING, ORDER BY, LIMIT ------------------------------------------------------------------------------------


def noisy(plan: Plan, exact: int = 0, epsilon: float = 0.05) -> Release:
    cost: Price = price(plan, Cost(epsilon=epsilon))
    return release(plan, cost, [[exact] * plan.listed for bundle in plan.bundles for _ in bundle.measures], {})


def test_having_sees_noisy_values_only() -> None:
    """All counts are 0 in truth, and 40 noisy ones are all ≤ 0 or all > 0 with probability below 1e-10."""
    found = column(noisy(plan_of(policy(), COUNT, keys=KEYS, having=OVER)), "a0")
    assert all(isinstance(n, int) and n > 0 for n in found)
    assert 0 < len(found) < 40


def test_having_drops_what_is_false_or_null() -> None:
    null = Computed(
        "greater", (Computed("divide", (Constantly(1.0, "real"), N), "real"), Constantly(0.3, "real")), "boolean"
    )
    plan = plan_of(policy(), COUNT, keys=[key("k", "a", "b", "c")], having=null)
    assert silently(plan, [[0, 2, 5]]).rows() == [("b", 2)]


def test_order_by_sees_noisy_values_only() -> None:
    up = column(noisy(plan_of(policy(), COUNT, keys=KEYS, order=(by(N),))), "a0")
    down = column(noisy(plan_of(policy(), COUNT, keys=KEYS, order=(by(N, descending=True),))), "a0")
    assert up == sorted(up, key=float)  # type: ignore[arg-type]
    assert down == sorted(down, key=float, reverse=True)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.booleans(), st.booleans())
def test_nulls_come_where_they_are_asked_for(exact: list[int], descending: bool, nulls_first: bool) -> None:  # noqa: FBT001 - drawn
    share = Computed("divide", (Constantly(6.0, "real"), N), "real")
    plan = plan_of(
        policy(),
        COUNT,
        keys=[key("k", *"abcdef")],
        more={"share": share},
        order=(by(share, descending=descending, nulls_first=nulls_first),),
    )
    found = column(silently(plan, [exact]), "share")
    nulls = exact.count(0)
    there = found[nulls:] if nulls_first else found[: 6 - nulls]
    assert found.count(None) == nulls
    assert None not in there
    assert there == sorted(there, key=float, reverse=descending)  # type: ignore[arg-type]


def test_later_terms_break_ties_and_ties_keep_the_keys_order() -> None:
    keys = [key("k", "b", "a"), key("m", "y", "x")]
    plan = plan_of(policy(), COUNT, keys=keys, order=(by(N, descending=True), by(Grouped(1, "text"))))
    assert silently(plan, [[1, 1, 2, 1]]).rows() == [("a", "y", 2), ("b", "x", 1), ("a", "x", 1), ("b", "y", 1)]


def test_limit_and_offset_come_last() -> None:
    plan = plan_of(policy(), COUNT, keys=[key("k", *"abcdef")], having=OVER, order=(by(N),), limit=2, offset=1)
    assert silently(plan, [[3, 0, 9, 4, -2, 1]]).rows() == [("a", 3), ("d", 4)]
    assert silently(replace(plan, offset=9), [[3, 0, 9, 4, -2, 1]]).rows() == []
    assert silently(replace(plan, limit=0, offset=0), [[3, 0, 9, 4, -2, 1]]).rows() == []
    assert len(silently(replace(plan, limit=None), [[3, 0, 9, 4, -2, 1]]).rows()) == 3


# --- intervals ------------------------------------------------------------------------------------------------------


def test_intervals_stand_beside_what_is_noisy() -> None:
    ratio = Computed("divide", (Noisy(1, "real"), Noisy(0, "real")), "real")
    plan = plan_of(
        policy(), COUNT, TOTAL, keys=[key("k", "a", "b")], more={"ratio": ratio, "one": Constantly(1, "integer")}
    )
    answer = noisy(plan, exact=1000)
    found = answer.intervals()
    assert found.names == ("k", *(f"{n}{end}" for n in ("a0", "a1", "ratio") for end in ("", "_low", "_high")), "one")
    assert found.kinds == (
        "text",
        "integer",
        "real",
        "real",
        "integer",
        "real",
        "real",
        "real",
        "real",
        "real",
        "integer",
    )
    for row in found.dicts():
        n, low, high = (row[f"a0{end}"] for end in ("", "_low", "_high"))
        assert isinstance(n, int)
        assert (low, high) == (n - answer_reach(answer), n + answer_reach(answer))


def answer_reach(answer: Release) -> int:
    return answer.price.noise[0].quantile(Fraction(1, 20))


def test_more_confidence_is_wider() -> None:
    answer = noisy(plan_of(policy(), COUNT), exact=10_000)  # far from 0, where intervals are cut off
    widths = []
    for confidence in (0.5, np.float64(0.9), 0.99, 0.999999):
        (row,) = answer.intervals(confidence).dicts()
        low, high = row["a0_low"], row["a0_high"]
        assert isinstance(low, float)
        assert isinstance(high, float)
        widths.append(high - low)
    assert widths == sorted(set(widths))


@pytest.mark.parametrize("bad", [0, 1, 95, 1.0, 0.0, -0.1, inf, "0.95", True])
def test_a_bad_confidence_is_refused(bad: float) -> None:
    answer = noisy(plan_of(policy(), COUNT))
    with pytest.raises(InvalidError, match="confidence"):
        answer.intervals(bad)
    with pytest.raises(InvalidError, match="confidence"):
        answer.plot(bad)


def test_an_answer_is_shown_with_its_intervals() -> None:
    answer = noisy(plan_of(policy(), COUNT, keys=[key("k", "<b>")]))
    assert "95% interval of a0" in str(answer)
    assert "<th>95% interval of a0</th>" in answer._repr_html_()
    assert "<b>" not in answer._repr_html_()


def test_an_answer_keeps_the_confidence_of_its_question() -> None:
    answer = replace(noisy(plan_of(policy(), COUNT), exact=10_000), confidence=0.5)
    assert answer.intervals() == answer.intervals(0.5) != answer.intervals(0.95)
    assert "50% interval of a0" in str(answer)
    assert "50% interval of a0" in answer._repr_html_()


def test_an_answer_says_what_it_is_in_one_line() -> None:
    answer = noisy(plan_of(policy(), COUNT, keys=KEYS))
    assert repr(answer) == "<Release: 40 rows of k, a0; cost ε = 0.05>"
    wide = noisy(plan_of(policy(), COUNT, more={f"column_{n}": N for n in range(1000)}))
    assert len(repr(wide)) < 200


def test_intervals_take_names_that_are_free() -> None:
    plan = plan_of(policy(), COUNT, more={"a0_low": N, "a0_high_1": N, "a0_high": N})
    found = noisy(plan, 10**12).intervals()
    assert len(set(found.names)) == len(found.names) == 12
    assert found.names[:4] == ("a0", "a0_low_1", "a0_high_2", "a0_low")
    low, value, high = (found.dicts()[0][name] for name in ("a0_low_1", "a0", "a0_high_2"))
    assert low < value < high  # type: ignore[operator]
    assert found.dicts()[0]["a0_low"] == value
    assert list(found.to_polars().columns) == list(found.names)


def test_a_chart_of_nothing_says_so_and_not_that_nothing_was_released() -> None:
    plan = plan_of(policy(), COUNT, keys=KEYS)
    for empty in (replace(plan, limit=0), replace(plan, outputs=plan.outputs[:1])):
        with pytest.raises(TacitError, match="no chart") as caught:
            noisy(empty).plot()
        assert "not lost" in str(caught.value)
        assert not caught.value.unspent


# --- forms ----------------------------------------------------------------------------------------------------------


def test_an_answer_comes_in_every_form() -> None:
    answer = noisy(plan_of(policy(), COUNT, ask_for("avg", REAL, bounds(0, 1)), keys=KEYS))
    rows = answer.rows()
    assert answer.to_polars().rows() == rows
    assert answer.to_arrow().to_pylist() == answer.table.dicts()
    assert list(answer.to_pandas().itertuples(index=False, name=None)) == rows
    assert pl.DataFrame(answer).rows() == rows
    assert pa.table(answer).num_rows == 40
    assert isinstance(answer.to_pandas(), pd.DataFrame)


def test_a_chart_draws_every_noisy_value() -> None:
    ratio = Computed("divide", (Noisy(0, "real"), Constantly(2.0, "real")), "real")
    plan = plan_of(policy(), COUNT, keys=[key("k", "a", "b", "c")], more={"half": ratio})
    text = json.dumps(noisy(plan, exact=100).plot().to_dict())
    assert all(f'"{name}"' in text for name in ("a0", "half", "a", "b", "c"))
