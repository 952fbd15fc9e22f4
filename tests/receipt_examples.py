"""Receipts of every kind, from small tables, for the tests of the check of receipts."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import tacit as tc

Receipt = dict[str, Any]
PEOPLE = {
    "id": [1, 1, 2, 3, 4, 5, 6, 7],
    "town": ["a", "b", "a", "b", "a", "a", "b", "b"],
    "age": [1, 2, 3, 4, 5, 6, 7, 8],
    "pay": [1.5, 2.5, 3.5, 4.0, 0.5, 1.0, 2.0, 3.0],
}


def people(budget: Any = None, **options: Any) -> Any:  # noqa: ANN401 - the arguments of tc.open
    """Open the table of people, by default with a reach of 3 and a large budget in ε."""
    chosen = {"unit": "id", "reach": 3, "keys": {"town": ["a", "b"]}, "bounds": {"age": (0, 8), "pay": (-2, 5)}}
    return tc.open(PEOPLE, budget=budget or tc.PureDP(epsilon=1000), **{**chosen, **options})


APPROX, ZCDP = tc.ApproxDP(epsilon=1000, delta=0.01), tc.ZCDP(rho=100)
BOX = {"reach": None, "max_groups": 2, "max_rows": 3}
BY_TOWN = "SELECT town, {} FROM data GROUP BY town"


@cache
def examples() -> dict[str, Receipt]:
    """Return receipts by the name of what they show; each is plain JSON."""
    boxed = people(**BOX)
    changed = people(**BOX, neighbours="change one")
    rows = people(unit=tc.ROW, reach=None, neighbours="change one", required=["age"])
    found = people(APPROX, **BOX, keys=None)
    plans = people(APPROX)
    declared = tc.declare([plans.plan("SELECT count(*) FROM data", epsilon=0.1)] * 40).ask()
    made = {
        "count": boxed.sql(BY_TOWN.format("count(*) AS n"), epsilon=0.5),
        "count, change one": changed.sql(BY_TOWN.format("count(*) AS n"), epsilon=0.5),
        "sum, change one": changed.sql("SELECT sum(pay) FROM data", epsilon=0.5),
        "several": people().sql(BY_TOWN.format("avg(age), var_pop(pay), sum(pay), count(DISTINCT id)"), epsilon=2),
        "gaussian": people(APPROX, **BOX).sql(BY_TOWN.format("count(*), sum(age)"), epsilon=0.3, delta=1e-3),
        "small gaussian": people(APPROX, unit=tc.ROW, reach=None).sql(
            "SELECT sum(age), sum(age + 1), sum(age + 2) FROM data", epsilon=1, delta=1e-3
        ),
        "zcdp": people(ZCDP, **BOX).sql(BY_TOWN.format("count(*), avg(age)"), rho=0.1),
        "found groups": found.sql(BY_TOWN.format("count(DISTINCT id), sum(age)"), epsilon=2, delta=1e-3),
        "median": people(**BOX).sql("SELECT median(age) FROM data", epsilon=0.5),
        "median in zcdp": people(ZCDP, **BOX).sql("SELECT median(age) FROM data", rho=0.5),
        "mode": people(**BOX).sql("SELECT mode(town) FROM data", epsilon=0.5),
        "public size": rows.sql("SELECT avg(age), var_pop(age) FROM data", epsilon=0.5),
        "automatic reach": people().sql(BY_TOWN.format("count(*)"), epsilon=0.5, reach="auto"),
        "automatic bounds": people().sql("SELECT sum(age) FROM data", epsilon=900, bounds={"age": "auto"}),
        "cut": people().sql("SELECT count(*) FROM data", epsilon=0.5, measure_cut=100),
        "margins": people().crosstab("town", epsilon=0.5),
        "limits": people().limits("SELECT count(*) FROM data", epsilon=0.5),
        "marginals": people(APPROX).marginals([("town",)], epsilon=0.5, delta=1e-6),
        "marginals, change one": people(ZCDP, neighbours="change one").marginals([("town",)], rho=0.5),
        "laplace marginals": people().marginals([("town",)], epsilon=0.5),
        "charge": people().charge(tc.Laplace(sensitivity=1, epsilon=0.5), note="a number"),
        "charge in zcdp": people(ZCDP).charge(tc.Exponential(sensitivity=1, epsilon=0.5), note="a choice"),
        "declared": declared[0],
        "computed": people().sql(
            "SELECT n / m AS r FROM (SELECT count(*) AS n FROM data WHERE age > 3), (SELECT count(*) AS m FROM data)",
            epsilon=0.5,
        ),
        "synthetic rows": people(APPROX).synthesize(5, columns=["town"], epsilon=1, delta=1e-6),
        "classifier": people(APPROX).classify("town", features=["age"], bins={"age": 4}, epsilon=1, delta=1e-6),
    }
    return {name: json.loads(json.dumps(answer.receipt)) for name, answer in made.items()}
