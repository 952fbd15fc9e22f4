"""Rows 23 to 37: from k-anonymity to differential privacy."""

from __future__ import annotations

from inspect import signature
from math import exp
from typing import Any

import numpy as np
import pytest

import tacit
from anonymity.test_notes import BOB, CARL, DIVERSE, MICRODATA, PATIENTS, STOMACH, THREE_ANONYMOUS
from lecture_notes.rows import row, tc
from tacit.anonymity.classes import count_values, failing, group
from tacit.anonymity.tables import encode

REFERENCE, EXPLAINED, DEFINITIONS = (
    "docs/reference/anonymity.md",
    "docs/explanation/anonymity.md",
    "docs/explanation/definitions.md",
)
QUASI = ["zip", "age"]
BEST = signature(tacit.anonymity.anonymize).parameters["method"].default is None
"""Whether drafted hierarchies and the best method are there."""


@row(23, "k-anonymity: quasi-identifiers and classes", REFERENCE)
def k_anonymity() -> None:
    found = tc.anonymity.check(THREE_ANONYMOUS, quasi=[*QUASI, "gen"], sensitive="disease")
    assert (found.k, found.classes) == (3, {3: 2})
    assert tc.anonymity.check(MICRODATA, quasi=[*QUASI, "gen"], sensitive="disease").k == 1


@row(24, "generalisation", REFERENCE)
def generalisation() -> None:
    assert tc.anonymity.mask(5).over(("47677",)).rows[0] == ("47677", "4767*", "476**", "47***", "4****", "*")
    assert str(tc.anonymity.intervals([10]).over(("29",)).rows[0][1]) == "[20, 30)"


@row(25, "suppression of outliers", REFERENCE)
def suppression() -> None:
    ages = {"age": [20 + n % 10 for n in range(90)] + [99]}
    quasi = {"age": tc.anonymity.intervals([10, 20, 40])}
    out = tc.anonymity.anonymize(ages, quasi=quasi, require=tc.KAnonymity(5), suppression=0.02)
    whole = tc.anonymity.anonymize(ages, quasi=quasi, require=tc.KAnonymity(5))
    assert out.suppressed == 1
    assert out.loss < whole.loss


@row(26, "the microdata and its 3-anonymous table", REFERENCE, present=BEST)
def three_anonymous() -> None:
    out = tc.anonymity.anonymize(MICRODATA, quasi=[*QUASI, "gen"], sensitive="disease", require=[tc.KAnonymity(3)])
    published = set(zip(*(out.table[name] for name in (*QUASI, "gen")), strict=True))
    assert {zip_ for zip_, _, _ in published} == {"476**", "4790*"}
    assert {age for _, age, _ in published} <= {"2*", "[22,29]", "[22, 29]", "[43,52]", "[43, 52]"}
    assert {gen for _, _, gen in published} == {"*"}


@row(27, "homogeneity: Bob", EXPLAINED)
def homogeneity() -> None:
    found = tc.anonymity.attack(PATIENTS, kind="homogeneity", quasi=QUASI, sensitive="disease")
    assert found.victims[0].learns == "disease is Heart Disease"
    bob = tc.anonymity.attack(PATIENTS, kind="linkage", quasi=QUASI, sensitive="disease", outside=BOB)
    assert "Heart Disease" in bob.victims[0].learns


@row(28, "background knowledge: Carl", EXPLAINED, present=BEST)
def background() -> None:
    excluded = ["Heart Disease"]
    found = tc.anonymity.attack(
        PATIENTS, kind="background", quasi=QUASI, sensitive="disease", excluded=excluded, outside=CARL
    )
    assert [victim.learns for victim in found.victims if "Cancer" in victim.learns]
    assert len(found.victims) == 1
    with pytest.raises(tacit.InvalidError):
        tc.anonymity.attack(PATIENTS, kind="homogeneity", quasi=QUASI, sensitive="disease", outside=CARL)


@row(29, "distinct l-diversity", REFERENCE)
def distinct() -> None:
    assert tc.anonymity.check(DIVERSE, quasi=QUASI, sensitive="disease").distinct_l == 3


@row(30, "entropy l-diversity", REFERENCE)
def entropy() -> None:
    rows = {"zip": ["1"] * 4, "disease": ["a", "a", "b", "c"]}  # H = 1.5 bits
    assert tc.anonymity.check(rows, quasi=["zip"], sensitive="disease").entropy_l == pytest.approx(2**1.5)


@row(31, "skewness: 1 % against 50 %", EXPLAINED)
def skewness() -> None:
    """Check the class with 50 of 100, and that l-diversity does not tell 49 + 1 from 1 + 49, as t-closeness does."""
    rows = {"class": ["even"] * 100 + ["rest"] * 9900, "hiv": ["+"] * 50 + ["-"] * 50 + ["+"] * 50 + ["-"] * 9850}
    found = tc.anonymity.attack(rows, kind="skewness", quasi=["class"], sensitive="hiv", factor=10)
    assert "50 times" in found.victims[0].learns

    others = ["+"] * 50 + ["-"] * 9850
    reports = []
    for positive in (49, 1):
        hiv = ["+"] * positive + ["-"] * (50 - positive) + others
        table = {"class": ["one"] * 50 + ["rest"] * len(others), "hiv": hiv}
        reports.append(tc.anonymity.check(table, quasi=["class"], sensitive="hiv"))
    columns = [report.sensitive["hiv"] for report in reports]
    assert [report.distinct_l for report in reports] == [2, 2]
    assert columns[0].entropy_l == columns[1].entropy_l
    assert [column.t for column in columns] == [pytest.approx(0.97, abs=1e-3), pytest.approx(0.015, abs=1e-3)]


@row(32, "similarity: a salary in [20, 40], a stomach disease", EXPLAINED)
def similarity() -> None:
    by_range = tc.anonymity.attack(DIVERSE, kind="similarity", quasi=QUASI, sensitive="salary")
    assert by_range.victims[0].learns == "salary is in [20, 40]"
    by_group = tc.anonymity.attack(DIVERSE, kind="similarity", quasi=QUASI, sensitive="disease", hierarchy=STOMACH)
    assert by_group.victims[0].learns == "disease is in stomach"


@row(33, "t-closeness by the Earth Mover's Distance", REFERENCE)
def t_closeness() -> None:
    found = tc.anonymity.check(DIVERSE, quasi=QUASI, sensitive={"salary": None, "disease": STOMACH})
    assert found.sensitive["salary"].t_ordered == pytest.approx(0.375)
    assert found.sensitive["disease"].t_hierarchical == pytest.approx(4 / 9)


@row(34, "(n, t)-closeness", REFERENCE)
def n_t_closeness() -> None:
    """Check the class of 20, 30 and 40: its natural superset 476** has 6 rows and is 0.2917 away."""
    rows: Any = DIVERSE
    columns = [encode(name, rows[name]) for name in (*QUASI, "salary")]
    classes = group([column.codes for column in columns[:2]], len(rows["zip"]))
    counts = [count_values(classes, columns[2])]
    low = next(c for c in range(len(classes)) if columns[1].texts[classes.shared[c, 1]] == "2*")
    results = [failing(tc.NTCloseness(6, t, distance="ordered"), classes, counts)[low] for t in (0.3, 0.29)]
    assert results == [False, True]


@row(35, "limits of syntactic notions: a property of the table, not of the algorithm", EXPLAINED)
def limits() -> None:
    """Check the three limits: a table that meets the notion betrays people; so do two such tables; one row decides.

    Differential privacy is a property of the algorithm: no output is more than e^ε times as likely with another row.
    """
    assert tc.anonymity.check(DIVERSE, quasi=QUASI, sensitive="disease").distinct_l == 3
    assert tc.anonymity.attack(DIVERSE, kind="similarity", quasi=QUASI, sensitive="salary").succeeds

    once, again = [n // 3 for n in range(9)], [(n + 1) % 9 // 3 for n in range(9)]  # two tables of the same people
    for released in (once, again):
        assert tc.anonymity.check({"class": released}, quasi=["class"]).k == 3
    assert tc.anonymity.check({"once": once, "again": again}, quasi=["once", "again"]).k == 1

    diseases: Any = MICRODATA["disease"]
    neighbour = {**MICRODATA, "disease": ["Flu", *diseases[1:]]}
    outs = [
        tc.anonymity.anonymize(rows, quasi=[*QUASI, "gen"], sensitive="disease", require=[tc.KAnonymity(3)])
        for rows in (MICRODATA, neighbour)
    ]
    counts = [list(out.table["disease"]).count("Flu") for out in outs]
    assert counts == [1, 2]  # the table of one is never the table of the other
    ratios = tc.Laplace(sensitivity=1, epsilon=1).ratio(np.arange(-9, 9), value=counts[0], neighbour=counts[1])
    assert np.max(ratios) <= exp(1) * (1 + 1e-12)


@row(36, "ε-DP in both directions, for any output", DEFINITIONS)
def both_directions() -> None:
    loss = tc.Laplace(sensitivity=1, epsilon=1).loss
    assert {round(loss.at(z, on=a, against=b), 9) for z in range(-9, 9) for a, b in ((0, 1), (1, 0))} == {-1.0, 1.0}


@row(37, "the Personal Data Principle", DEFINITIONS)
def personal_data() -> None:
    """Check that a group of k correlated people has kε: its members' data change one after the other."""
    k, epsilon = 3, 0.2
    ratios = [exp(tc.Laplace(sensitivity=k, scale=1 / epsilon).loss.at(z, on=0, against=k)) for z in range(-5, 9)]
    assert max(ratios) == pytest.approx(exp(k * epsilon))
