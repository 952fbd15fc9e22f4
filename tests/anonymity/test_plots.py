"""Charts of classes and risks, and the accuracy of a classifier trained on published rows."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc


def table(rows: int, seed: int) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, rows), rng.integers(0, 2, rows)
    sick = (age + 20 * sex + rng.normal(0, 8, rows) > 60).astype(int)
    return {"age": age.tolist(), "sex": sex.tolist(), "sick": sick.tolist()}


def test_charts_hold_the_numbers_of_reports() -> None:
    rows = table(300, 1)
    quasi = {"age": tc.anonymity.intervals([5, 10, 20, 40]), "sex": tc.anonymity.suppress()}
    out = tc.anonymity.anonymize(rows, quasi=quasi, sensitive="sick", require=tc.KAnonymity(5))
    sizes = out.report.plot().to_dict()
    (values,) = sizes["datasets"].values()
    assert sum(row["rows"] for row in values) == 300
    risk = out.plot().to_dict()
    assert risk["title"]["text"] == "Risk of being named"
    losses = tc.anonymity.loss_by_k(rows, ks=(2, 20), quasi=quasi)
    for values in losses.losses.values():
        assert 0 <= values[0] <= values[1] <= 1
    lines = losses.plot().to_dict()
    assert lines["title"]["text"] == "Loss against k"


def test_charts_of_losses_hold_the_losses_of_columns_and_searches() -> None:
    out = tc.anonymity.anonymize(table(300, 1), quasi=["age", "sex"], sensitive="sick", require=tc.KAnonymity(5))
    (rows,) = out.plot("loss").to_dict()["datasets"].values()
    columns = {row["name"]: row["loss"] for row in rows}
    assert columns == pytest.approx(out.measures.columns)
    (rows,) = out.plot("searches").to_dict()["datasets"].values()
    searches = [row["loss"] for row in rows]
    assert searches == pytest.approx(sorted(trial.loss for trial in out.searches if trial.loss is not None))
    with pytest.raises(tc.InvalidError, match="of must be"):
        out.plot("utility")  # type: ignore[arg-type]
    optimal = tc.anonymity.anonymize(table(300, 1), quasi=["age"], require=tc.KAnonymity(5), method="optimal")
    with pytest.raises(tc.InvalidError, match="compared no searches"):
        optimal.plot("searches")


def test_a_classifier_learns_from_what_is_published_and_less_from_less() -> None:
    train, unseen = table(3000, 2), table(2000, 3)
    quasi = {"age": tc.anonymity.intervals([5, 10, 20, 40]), "sex": tc.anonymity.suppress()}
    fine = tc.anonymity.anonymize(train, quasi=quasi, sensitive="sick", require=tc.KAnonymity(5))
    told = tc.anonymity.accuracy(fine, train, unseen, "sick")
    assert told.raw > 0.85
    assert told.guess < told.published <= told.raw + 0.02
    coarse = tc.anonymity.anonymize(train, quasi=quasi, sensitive="sick", require=tc.KAnonymity(2500))
    nothing = tc.anonymity.accuracy(coarse, train, unseen, "sick")
    assert nothing.published == pytest.approx(nothing.guess, abs=0.02)
    with pytest.raises(tc.InvalidError, match="quasi"):
        tc.anonymity.accuracy(fine, train, unseen, "age")
