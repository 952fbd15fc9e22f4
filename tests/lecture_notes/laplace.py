"""Rows 1 to 22: the Laplace mechanism and its properties, on a survey of consumer expenditure; a problem sheet."""

from __future__ import annotations

from math import exp, log, pi, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import tacit
from cli_runs import run
from lecture_notes import households
from lecture_notes.figures import curves
from lecture_notes.rows import row, tc

FIRST, MECHANISMS, COMPOSITION = (
    "docs/tutorial/first-release.md",
    "docs/reference/mechanisms.md",
    "docs/reference/composition.md",
)
DEFINITIONS, LAWS, SIZE = (
    "docs/explanation/definitions.md",
    "docs/explanation/laws.md",
    "docs/explanation/public-size.md",
)


@row(1, "noise grows with the sensitivity and falls with ε", FIRST)
def scale() -> None:
    assert [tc.Laplace(sensitivity=size, epsilon=0.1).scale for size in (1, 2, 5)] == [10, 20, 50]
    assert [tc.Laplace(sensitivity=1, epsilon=e).scale for e in (0.1, 0.5, 1)] == [10, 2, 1]


@row(2, "the Laplace density, four curves", LAWS)
def density() -> None:
    """Check every point of the four curves against e^(-|x-μ|/s)/2s, and that the law that is drawn is close to it."""
    law = tc.Laplace(sensitivity=1.0, scale=1).continuous
    assert law.pdf(0) == 0.5
    assert law.pdf(2) == pytest.approx(exp(-2) / 2)
    parameters = [(0, 0.1), (0, 0.5), (0, 1), (-5, 1)]
    lines = curves(tc.figures.laplace_densities(parameters))
    assert len(lines) == len(parameters)
    for location, s in parameters:
        points = lines[f"μ = {location}, s = {s}"]
        assert len(points) > 100
        assert all(y == pytest.approx(exp(-abs(x - location) / s) / (2 * s), rel=1e-4) for x, y in points.items())


@row(3, "Laplace(0, √½) against Normal(0, 1)", LAWS)
def laplace_and_normal() -> None:
    lines = curves(tc.figures.laplace_and_normal(variance=1))
    s = sqrt(1 / 2)
    assert all(y == pytest.approx(exp(-abs(x) / s) / (2 * s), rel=1e-4) for x, y in lines["Laplace"].items())
    assert all(y == pytest.approx(exp(-x * x / 2) / sqrt(2 * pi), rel=1e-4) for x, y in lines["normal"].items())
    assert {round(x) for x in lines["normal"]} == set(range(-4, 5))


@row(4, "scale Δ/ε is ε-DP", MECHANISMS)
def guarantee() -> None:
    for epsilon in (0.1, 1):
        bounds = tc.compose([tc.Laplace(sensitivity=1, epsilon=epsilon)]).epsilon(delta=0)
        assert (bounds.lower, bounds.upper) == (epsilon, epsilon)


@row(5, "k outputs get k independent draws", MECHANISMS)
def vector() -> None:
    """Check both laws, and that the pair (noise 1 ≤ 0, noise 2 ≤ 0) has the product of the probabilities."""
    m = tc.Laplace(sensitivity=2.5, epsilon=0.1, outputs=2)
    assert m.scale == pytest.approx(25, rel=1e-5)
    assert m.release([3.5, 4.25]).shape == (2,)
    with pytest.raises(tacit.InvalidError):
        m.release([3.5])
    n, whole = 40_000, tc.Laplace(sensitivity=2, epsilon=1, outputs=2)
    noise = whole.release(np.zeros((n, 2), dtype=int))
    low = noise <= 0
    for share, chance in ((low[:, 0], whole.cdf(0)), (low[:, 1], whole.cdf(0)), (low.all(axis=1), whole.cdf(0) ** 2)):
        assert abs(np.mean(share) - chance) < 7 * sqrt(chance * (1 - chance) / n)  # beyond with probability 3e-12


@row(6, "a count has sensitivity 1", FIRST)
def count() -> None:
    for relation in ("add/remove", "change one"):
        assert tc.sensitivity.count(neighbours=relation).l1 == 1
        assert tc.sensitivity.of(sum, domain=[0, 1], n=4, neighbours=relation).l1 == 1


@row(7, "a mean with n public has noise Lap((b-a)/(nε))", SIZE)
def mean() -> None:
    size = tc.sensitivity.mean(households.INCOME, households.UNITS, neighbours="change one").l1
    assert tc.Laplace(sensitivity=size, epsilon=0.1).scale == pytest.approx(779.27, abs=0.01)
    with households.database("change one") as db:
        plan = db.plan("SELECT avg(Income) AS income FROM ce", epsilon=0.1)
        assert plan.error["income"] == pytest.approx(2334.49, rel=1e-3)


@row(8, "337 rural units at ε = 0.1 and 1", "docs/reference/command-line.md")
def rural() -> None:
    assert abs(tc.Laplace(sensitivity=1, epsilon=0.1).release(337) - 337) < 400  # beyond with probability 1e-17
    with TemporaryDirectory() as folder:
        done = run(Path(folder), "release", "337", "--sensitivity", "1", "--epsilon", "1")
    assert abs(int(done.stdout) - 337) < 40
    assert "± 3" in done.stderr
    with households.database("add/remove") as db:
        assert abs(int(db.count(where="UrbanRural = 2", epsilon=0.1)) - 337) < 400


@row(9, "composition: ε₁ + ε₂", DEFINITIONS)
def composition() -> None:
    total = tc.compose([tc.PureDP(epsilon=0.1), tc.PureDP(epsilon=0.3)]).epsilon(delta=0)
    assert (total.lower, total.upper) == (0.4, 0.4)


@row(10, "four statistics share ε = 0.1", COMPOSITION)
def sequential() -> None:
    parts = tc.split(tc.PureDP(epsilon=0.1), 4)
    assert [part.epsilon for part in parts] == [0.025] * 4
    assert tc.compose(parts).epsilon(delta=0).upper == 0.1
    four = "SELECT avg(Income) AS a, avg(Expenditure) AS b, var_pop(Income) AS c, var_pop(Expenditure) AS d FROM ce"
    with households.database("change one") as db:
        errors = db.plan(four, epsilon=0.1).error
    for name, notes in (("a", 9338), ("b", 1167), ("c", 3.735e9), ("d", 5.836e7)):
        assert errors[name] <= notes * 1.05, name


@row(11, "the sensitivity of a variance", MECHANISMS)
def variance() -> None:
    n, (a, b) = households.UNITS, households.INCOME
    assert tc.sensitivity.variance((a, b), n, neighbours="change one").l1 == pytest.approx(31_164_782.6, rel=1e-6)
    assert tc.sensitivity.sample_variance((a, b), n, neighbours="change one").l1 == pytest.approx((b - a) ** 2 / n)


@row(12, "the same statistic at ε and at ε/4", FIRST)
def quarter() -> None:
    size = tc.sensitivity.mean(households.INCOME, households.UNITS, neighbours="change one").l1
    scales = [tc.Laplace(sensitivity=size, epsilon=e).scale for e in (0.1, 0.025)]
    assert [round(each) for each in scales] == [779, 3117]


@row(13, "rural and urban mean: ε for both", COMPOSITION)
def parallel() -> None:
    for relation in ("add/remove", "change one"):
        with households.database(relation) as db:
            assert (
                db.plan("SELECT UrbanRural, avg(Income) FROM ce GROUP BY UrbanRural", epsilon=0.1).cost.epsilon == 0.1
            )
            asked = "SELECT avg(Income) FROM ce WHERE UrbanRural = $kind"
            plans = [db.plan(asked, params={"kind": kind}, epsilon=0.1) for kind in (1, 2)]
            assert tc.declare(plans).cost.epsilon <= (0.1 if relation == "add/remove" else 0.2)
    mechanisms = [tc.Laplace(sensitivity=1, epsilon=e) for e in (0.1, 0.3)]
    assert tc.parallel(mechanisms, neighbours="add/remove").epsilon == 0.3


@row(14, "six cells and a public n", "docs/explanation/tables.md")
def cells() -> None:
    assert tc.Laplace(sensitivity=tc.sensitivity.histogram(neighbours="change one").l1, epsilon=0.1).scale == 20
    assert tc.compose([(tc.Laplace(sensitivity=1, scale=50), 2)]).epsilon(delta=0).upper == 0.04  # the notes' cost
    with households.database("change one") as db:
        found = db.crosstab("Race", epsilon=0.1)
        assert sum(found.to_pandas().iloc[:, -1]) == households.UNITS


@row(15, "a privacy budget that is fixed beforehand", "docs/how-to/keep-a-ledger.md")
def budget() -> None:
    with households.database("add/remove", epsilon=0.1) as db:
        db.count(epsilon=0.1)
        with pytest.raises(tacit.BudgetError):
            db.count(epsilon=0.1)


@row(16, "ε-DP if one entry is replaced", DEFINITIONS)
def pure() -> None:
    """Check the inequality for all outputs of a count: every ratio is within e^±ε, and one reaches it."""
    loss = tc.Laplace(sensitivity=1, epsilon=0.5).loss
    losses = [loss.at(z, on=3, against=4) for z in range(-20, 30)]
    assert max(map(abs, losses)) == 0.5


@row(17, "Δ is the largest change between neighbours", MECHANISMS)
def sensitivity() -> None:
    found = tc.sensitivity.of(lambda rows: max(rows) - min(rows), domain=[0, 2, 7], n=3, neighbours="change one")
    assert (found.l1, found.local([0, 2, 7]).l1) == (7, 5)


@row(18, "the Laplace mechanism: the ratio is at most e^ε", MECHANISMS)
def ratio() -> None:
    assert tc.Laplace(sensitivity=3, epsilon=1).loss.exceeds(epsilon=1).upper == 0


@row(19, "Pr[error ≥ t] from t", LAWS)
def tail() -> None:
    m = tc.Laplace(sensitivity=1, epsilon=0.1)
    assert 1 - m.confidence(error=29) == pytest.approx(0.0523, abs=1e-4)
    assert 2 * m.sf(29) == pytest.approx(2 * exp(-3) / (1 + exp(-0.1)))
    assert 2 * m.sf(29) <= 2 * exp(-3)


@row(20, "sensitivity against accuracy at one ε", FIRST)
def accuracy() -> None:
    assert [tc.Laplace(sensitivity=size, epsilon=1).error() for size in (1, 2, 4, 8)] == [3, 6, 12, 24]


@row(21, "a salary in [0, M]: parameter and accuracy", SIZE)
def salary() -> None:
    size = tc.sensitivity.mean((0, 200_000), 1000, neighbours="change one").l1
    m = tc.Laplace(sensitivity=size, epsilon=0.5)
    assert m.scale == 400
    assert m.error(confidence=0.95) == pytest.approx(400 * log(20), rel=1e-4)
    salaries = {"salary": np.linspace(0, 200_000, 1000)}
    with tc.open(
        salaries, name="staff", unit=tc.ROW, neighbours="change one", bounds={"salary": (0, 200_000)},
        required=["salary"], budget=tc.PureDP(epsilon=3),
    ) as db:  # fmt: skip
        cost = db.plan("SELECT avg(salary) FROM staff", error=500).cost
    assert cost.epsilon == pytest.approx(1.198, rel=0.01)


@row(22, "post-processing is free", DEFINITIONS)
def post_processing() -> None:
    """Check that functions of answers are charged once: in SQL, and in Python nothing is charged at all."""
    rounded = "SELECT greatest(round(count(*), -1), 0) AS n FROM ce"
    with households.database("add/remove", epsilon=0.2) as db:
        assert db.plan("SELECT count(*) AS n FROM ce", epsilon=0.1).cost == db.plan(rounded, epsilon=0.1).cost
        value = db.sql(rounded, epsilon=0.1).value
        assert isinstance(value, int | float)
        assert value % 10 == 0 <= value
        assert db.left.epsilon == 0.1
