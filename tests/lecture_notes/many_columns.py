"""Rows 62 to 64: tables of many columns, and two tasks on them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tacit
from lecture_notes.rows import row, tc

MANY = "docs/explanation/high-dimensional.md"
COLUMNS, ROWS_OF_SURVEY = 20, 4000


@cache
def _survey() -> dict[str, Any]:
    """Return twenty columns of yes and no; each agrees with the first one in four rows of five."""
    rng = np.random.default_rng(3)
    first = rng.random(ROWS_OF_SURVEY) < 0.5
    others = {f"c{n}": np.where(rng.random(ROWS_OF_SURVEY) < 0.8, first, ~first).tolist() for n in range(1, COLUMNS)}
    return {"c0": first.tolist(), **others}


def _database() -> Any:  # noqa: ANN401 - see `rows`
    return tc.open(
        _survey(), name="survey", unit=tc.ROW, required=list(_survey()), budget=tc.ApproxDP(epsilon=200, delta=1e-5)
    )


@row(62, "high-dimensional data: all cells are too many; marginals and synthetic rows are not", MANY)
def many_columns() -> None:
    """Check that a table of all cells is refused, and that all pairs and synthetic rows are close to the rows.

    The errors are the stated ones. At ε = 50 they are a few rows of 4,000.
    """
    survey, names = _survey(), list(_survey())
    with _database() as db:
        with pytest.raises(tacit.RefusedError, match="1,048,576"):
            db.crosstab(*names, epsilon=1)
        pairs = db.marginals(ways=2, epsilon=50).to_pandas()
        made = db.synthesize(4000, epsilon=50, delta=1e-9).to_pandas()
    both = pairs[(pairs["c0"] == "true") & (pairs["c7"] == "true")]
    truth = sum(a and b for a, b in zip(survey["c0"], survey["c7"], strict=True))
    assert len(pairs) == 4 * 190 + 2 * 20
    assert abs(both["count"].item() - truth) < 8 * (both["high"] - both["low"]).item()
    share = (made["c0"] == made["c7"]).mean()
    agree = np.mean(np.equal(survey["c0"], survey["c7"]))
    assert abs(share - agree) < 0.06


@row(63, "learning a classifier", MANY)
def classifier() -> None:
    """Check a classifier at ε = 3 against the best rule: the vote of the 19 other columns."""
    survey = _survey()
    with _database() as db:
        model = db.classify("c0", epsilon=3, delta=1e-9)
    features = {name: values for name, values in survey.items() if name != "c0"}
    truth = np.array(survey["c0"])
    votes = np.array(list(features.values())).mean(axis=0) > 0.5
    right = np.mean(np.asarray(model.predict(features)) == truth)
    assert right > 0.97 * np.mean(votes == truth)


@row(64, "frequent itemsets and association rules", MANY)
def itemsets() -> None:
    """Check the three most frequent sets of items, their supports, and a rule that is almost always true."""
    baskets = {n: {"bread", *["milk"][n % 2 :], *["beer"][: n % 3 == 0]} for n in range(3000)}
    sales = {
        "basket": [n for n, items in baskets.items() for _ in items],
        "product": [item for items in baskets.values() for item in sorted(items)],
    }
    keys = {"product": ["beer", "bread", "milk"]}
    with tc.open(sales, name="sales", unit="basket", keys=keys, budget=tc.ApproxDP(epsilon=60, delta=1e-6)) as db:
        found = db.itemsets(item="product", k=3, epsilon=50)
    supports = {items: (low, high) for items, _, low, high in found}
    assert set(supports) == {("bread",), ("milk",), ("bread", "milk")}
    for items, (low, high) in supports.items():
        truth = sum(set(items) <= basket for basket in baskets.values())
        assert low - (high - low) <= truth <= high + (high - low)
    rules = found.rules(min_confidence=0.9)
    assert (rules["antecedent"], rules["consequent"]) == (["milk"], ["bread"])
