"""Rows 49 to 61: mechanisms with a trusted curator, and why composition is needed."""

from __future__ import annotations

from math import exp, expm1, log, sqrt

import numpy as np
import pytest

import tacit
from anonymity.test_notes import PATIENTS
from lecture_notes import households
from lecture_notes.figures import curves
from lecture_notes.rows import row, tc

ANONYMITY, SURVEY = "docs/tutorial/k-anonymity.md", "docs/tutorial/survey.md"
LAWS, COMPOSITION = "docs/explanation/laws.md", "docs/reference/composition.md"
DEFINITIONS, MOMENTS, SQL = "docs/explanation/definitions.md", "docs/explanation/moments.md", "docs/reference/sql.md"
VOTES = {"Chinese": 12, "Indian": 9, "American": 11}


@row(49, "Laplace noise: mean 0, variance 2λ²", LAWS)
def variance() -> None:
    integers, reals = tc.Laplace(sensitivity=1, epsilon=1), tc.Laplace(sensitivity=1.0, epsilon=1)
    assert integers.variance == pytest.approx(2 * exp(-1) / (1 - exp(-1)) ** 2)
    assert reals.variance == pytest.approx(2, rel=1e-5)
    assert reals.std**2 == pytest.approx(reals.variance)


@row(50, "a count of a disease: 3 + η", ANONYMITY)
def disease() -> None:
    """Check the mean 3 and the law of η over many releases, and that SQL over the microdata has the same count.

    A mean of n releases is beyond 6.5 standard errors with probability 1e-10; so is a share.
    """
    m, n = tc.Laplace(sensitivity=1, epsilon=1), 100_000
    released = m.release(np.full(n, 3))
    assert abs(np.mean(released) - 3) < 6.5 * m.std / sqrt(n)
    for eta in (-1, 0, 1, 2):
        chance = (1 - exp(-1)) / (1 + exp(-1)) * exp(-abs(eta))
        assert abs(np.mean(released == 3 + eta) - chance) < 6.5 * sqrt(chance * (1 - chance) / n)
    with tc.open(PATIENTS, name="patients", unit=tc.ROW, budget=tc.PureDP(epsilon=41)) as db:
        counted = [db.sql("SELECT count(*) FROM patients WHERE disease = 'Cancer'", epsilon=e).value for e in (1, 40)]
    assert counted[1] == 3  # another value has probability e^-40
    assert abs(counted[0] - 3) < 30


@row(51, "sensitivity of sum, mean and median", "docs/reference/mechanisms.md")
def quiz() -> None:
    assert tc.sensitivity.total((10, 100), neighbours="add/remove").l1 == 100
    assert tc.sensitivity.median((10, 100), neighbours="add/remove").l1 == 45
    with pytest.raises(tacit.RefusedError):
        tc.sensitivity.mean((10, 100), 5, neighbours="add/remove")


@row(52, "the exponential mechanism: nationality", LAWS)
def nationality() -> None:
    found = tc.Exponential(sensitivity=1, epsilon=1).probabilities(VOTES)
    weights = {name: exp(votes / 2) for name, votes in VOTES.items()}
    for name, weight in weights.items():
        assert found[name] == pytest.approx(weight / sum(weights.values()))
    rows = {"nationality": [name for name, votes in VOTES.items() for _ in range(votes)]}
    with tc.open(
        rows, name="people", unit=tc.ROW, keys={"nationality": list(VOTES)}, budget=tc.PureDP(epsilon=1)
    ) as db:
        assert db.choose("nationality", epsilon=0.5).value in VOTES


@row(53, "integral, non-negative outputs", "docs/explanation/tables.md")
def integral() -> None:
    with households.database("add/remove") as db:
        counts = db.crosstab("Race", "UrbanRural", epsilon=0.1).to_pandas().iloc[:, -1]
    assert all(int(count) == count >= 0 for count in counts)


@row(54, "randomized response: p between 1/(1+e^ε) and e^ε/(1+e^ε)", SURVEY)
def response() -> None:
    assert [round(tc.RandomizedResponse(epsilon=e).p, 4) for e in (0.5, 1, log(3))] == [0.6225, 0.7311, 0.75]
    assert tc.RandomizedResponse(p=0.75).guarantee.epsilon == pytest.approx(log(3))
    for p in (0.6, 0.7310, 0.7311, 0.9):  # the end of the range of p costs ε = 1; p within it costs less
        assert (tc.RandomizedResponse(p=p).guarantee.epsilon <= 1) == (p <= exp(1) / (1 + exp(1)))
    coin, n = tc.RandomizedResponse(p=0.75), 20_000
    assert abs(np.mean(coin.release(np.ones(n, bool))) - 0.75) < 7 * sqrt(
        0.75 * 0.25 / n
    )  # beyond with probability 3e-12


@row(55, "Laplace O(1/ε) against randomized response O(√N)", LAWS)
def local_price() -> None:
    assert tc.Laplace(sensitivity=1, epsilon=1).error() == 3
    errors = [tc.RandomizedResponse(epsilon=1).error(n=n) * n for n in (100, 10_000, 1_000_000)]
    assert 5 < errors[1] / errors[0] < 15
    assert 8 < errors[2] / errors[1] < 12
    lines = curves(tc.figures.laplace_and_randomized_response(epsilon=1))
    assert set(lines["Laplace"].values()) == {3}
    for n, error in lines["randomized response"].items():
        assert error == pytest.approx(tc.RandomizedResponse(epsilon=1).error(n=round(n)) * n)


@row(56, "sequential composition", COMPOSITION)
def sequential() -> None:
    assert tc.compose([(tc.PureDP(epsilon=0.1), 7)]).epsilon(delta=0).upper == 0.7


@row(57, "parallel composition: the largest ε", COMPOSITION)
def parallel() -> None:
    parts = [tc.PureDP(epsilon=e) for e in (0.1, 0.5, 0.2)]
    assert tc.parallel(parts, neighbours="add/remove").epsilon == 0.5


@row(58, "post-processing", DEFINITIONS)
def post_processing() -> None:
    """Check that the limits of the loss do not grow by any function of an answer: here rounding to tens."""
    with households.database("add/remove") as db:
        assert db.plan("SELECT round(count(*), -1) AS n FROM ce", epsilon=0.1).cost.epsilon == 0.1
    m = tc.Laplace(sensitivity=1, epsilon=0.5)
    outputs = np.arange(-200, 200)
    tens = [np.bincount((outputs + 200) // 10, weights=m.pmf(outputs - count)) for count in (3, 4)]
    assert np.max(np.abs(np.log(tens[0] / tens[1]))) <= 0.5 * (1 + 1e-9)


@row(59, "advanced composition", COMPOSITION)
def advanced() -> None:
    total = tc.compose([(tc.PureDP(epsilon=0.01), 100)])
    formula = 0.01 * (200 * log(1e6)) ** 0.5 + expm1(0.01)
    assert total.epsilon(delta=1e-6, rule="advanced").upper == pytest.approx(formula)
    assert total.epsilon(delta=1e-6).upper == pytest.approx(0.3923, abs=1e-4)


@row(60, "the privacy loss: its value, and its mean at most ε(e^ε-1)", MOMENTS)
def privacy_loss() -> None:
    loss = tc.Laplace(sensitivity=1, epsilon=1).loss
    assert loss.at(331, on=337, against=338) == 1
    assert loss.mean == pytest.approx(0.4621, abs=1e-4)
    assert loss.mean <= expm1(1)
    many = tc.compose([(tc.PureDP(epsilon=0.1), 100)]).loss
    azuma = 100 * 0.1 * expm1(0.1) + 0.1 * (200 * log(1e6)) ** 0.5
    assert many.exceeds(epsilon=azuma).upper <= 1e-6


@row(61, "low-dimensional statistics", SQL)
def statistics() -> None:
    """Check counts, averages, a spread, a median, a table and a histogram against the rows, with large ε and small.

    With large ε the values are those of the rows up to the stated errors, which are small.
    """
    rows = households.rows()
    income, rural = rows["Income"], rows["UrbanRural"] == 2
    query = (
        "SELECT UrbanRural, count(*) AS n, avg(Income) AS mean, stddev_pop(Income) AS spread, median(Income) AS middle "
        "FROM ce GROUP BY UrbanRural"
    )
    with households.database("add/remove", epsilon=200_001) as db:
        found = db.sql(query, epsilon=100_000).to_pandas().set_index("UrbanRural")
        races = db.crosstab("Race", "UrbanRural", epsilon=100).to_pandas()
        bins = db.histogram("Income", bins=4, epsilon=100).to_pandas()
        usual = db.sql(query, epsilon=1)
    for place, inside in ((1, ~rural), (2, rural)):
        assert found.loc[place, "n"] == inside.sum()
        assert found.loc[place, "mean"] == pytest.approx(income[inside].mean(), rel=1e-3)
        assert found.loc[place, "spread"] == pytest.approx(income[inside].std(ddof=0), rel=1e-2)
        assert found.loc[place, "middle"] == pytest.approx(income[inside].median(), rel=2e-2)
    assert races.iloc[:, -1].sum() == pytest.approx(households.UNITS, abs=12)
    assert bins.iloc[:, -1].sum() == pytest.approx(households.UNITS, abs=12)
    assert len(usual) == 2
