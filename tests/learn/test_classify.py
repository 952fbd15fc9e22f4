"""`db.classify`: charges, plans, refusals, repeats, classes, intervals and files."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import tacit as tc
from tacit.database import Database
from tacit.learn.columns import PublicColumn

BINS = {"age": 8}


def people(size: int = 6_000) -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "pid": np.arange(size) // 2,
            "age": random.uniform(18, 90, size),
            "town": random.choice(["a", "b", "c"], size),
            "single": random.random(size) < 0.5,
            "only": "x",
            "kind": random.choice(["u", "v", "w"], size),
        }
    )
    score = (frame.age - 50) / 15 + np.where(frame.town == "a", 1, -0.5) + frame.single
    frame["rich"] = np.where(random.random(size) < expit(score), "yes", "no")
    frame.loc[frame.town == "a", "kind"] = "u"
    return frame


FRAME = people()


def opened(frame: pd.DataFrame = FRAME, **changes: Any) -> Database:  # noqa: ANN401 - arguments of tc.open
    arguments: dict[str, Any] = {
        "unit": tc.ROW,
        "keys": {"town": ["a", "b", "c"], "rich": ["no", "yes"], "kind": ["u", "v", "w"], "only": ["x"]},
        "bounds": {"age": (18, 90)},
        "budget": tc.ApproxDP(epsilon=50, delta=1e-3),
    }
    return tc.open(frame, **(arguments | changes))


def test_a_classifier_is_charged_once_and_predicts() -> None:
    with opened() as db:
        model = db.classify("rich", bins=BINS, epsilon=2, delta=1e-6, accuracy=0.1)
        assert db.spent == tc.ApproxDP(epsilon=2, delta=1e-6)
        assert model.cost == tc.ApproxDP(epsilon=2, delta=1e-6)
    assert model.method == "logistic regression"
    assert list(model.classes_) == ["no", "yes"]
    assert model.coef_.shape == (1, len(model.coefficient_names))
    assert model.n_features_in_ == len(model.feature_names_in_) == 5
    true = model.score(FRAME, list(FRAME.rich))
    assert true > 0.7
    assert model.accuracy is not None
    low, high = model.accuracy.interval
    assert low - 0.02 < true < high + 0.02
    assert abs(model.rows - len(FRAME)) < 300
    assert model.receipt["events"]
    assert model.intervals is None
    assert "proved" in str(model.why_no_intervals)
    assert "Logistic regression of 5 columns" in str(model)
    assert "<table>" in model._repr_html_()


def test_pure_epsilon_and_zcdp_budgets_work() -> None:
    with opened(budget=tc.PureDP(epsilon=5)) as db:
        assert db.classify("rich", bins=BINS, epsilon=1).cost == tc.PureDP(epsilon=1)
        assert db.spent == tc.PureDP(epsilon=1)
    with opened(budget=tc.ZCDP(rho=1)) as db:
        assert db.classify("rich", bins=BINS, rho=0.1).cost == tc.ZCDP(rho=0.1)
        assert db.spent == tc.ZCDP(rho=0.1)


def test_a_plan_reads_and_spends_nothing() -> None:
    with opened() as db:
        plan = db.classify("rich", bins=BINS, epsilon=1, delta=1e-6, accuracy=True, plan=True)
        assert db.spent == tc.ApproxDP(epsilon=0, delta=0)
    assert "rich by age" in str(plan)
    assert plan.memory > 0
    assert all(error > 0 for error in plan.error.values())


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_naive_bayes_has_intervals_around_the_log_odds_of_the_table(delta: float | None) -> None:
    with opened() as db:
        model = db.classify(
            "rich", ["town", "single"], epsilon=2, delta=delta, method="naive Bayes", confidence=1 - 1e-11
        )
    assert model.intervals is not None
    named: Any = model.intervals  # two classes: by the names of coefficients
    yes = FRAME.rich == "yes"
    for name, mask in (("town=a", FRAME.town == "a"), ("single=True", FRAME.single)):
        odds = np.log((yes & mask).sum() / (~yes & mask).sum()) - np.log(yes.sum() / (~yes).sum())
        low, high = named[name]
        assert low < odds < high
        assert high - low < 1
    assert named["town=NULL"] == (-np.inf, np.inf)


def test_several_classes_get_naive_bayes_with_probabilities() -> None:
    with opened() as db:
        model = db.classify("kind", ["town", "single"], epsilon=4, delta=1e-6, accuracy=True)
        with pytest.raises(tc.InvalidError, match="two classes"):
            db.classify("kind", ["town"], epsilon=1, method="logistic regression")
        with pytest.raises(tc.InvalidError, match="positive is for two"):
            db.classify("kind", ["town"], epsilon=1, positive="u")
    assert model.method == "naive Bayes"
    assert list(model.classes_) == ["u", "v", "w"]
    chances = model.predict_proba(FRAME)
    assert np.allclose(chances.sum(axis=1), 1)
    assert (model.predict(FRAME[FRAME.town == "a"]) == "u").all()
    assert model.decision_function(FRAME).shape == (len(FRAME), 3)
    assert model.accuracy is not None
    assert abs(model.accuracy.value - model.score(FRAME, list(FRAME.kind))) < 0.03


def test_the_positive_value_is_the_last_class() -> None:
    with opened() as db:
        model = db.classify("rich", ["age"], bins=BINS, epsilon=4, delta=1e-6, positive="no")
        with pytest.raises(tc.InvalidError, match="public value"):
            db.classify("rich", ["age"], bins=BINS, epsilon=1, positive="maybe")
    assert list(model.classes_) == ["yes", "no"]
    old, young = model.decision_function({"age": [85.0, 20.0]})
    assert old < young


def test_rows_without_a_class_do_not_count() -> None:
    frame = FRAME.copy()
    frame.loc[frame.index < 3_000, "rich"] = None
    frame.loc[frame.index < 1_000, "rich"] = "unknown"
    with opened(frame) as db:
        assert abs(db.classify("rich", ["town"], epsilon=4, delta=1e-6).rows - 3_000) < 200


def test_where_and_reach_count() -> None:
    with opened(unit="pid", reach=1) as db:
        model = db.classify("rich", ["single"], epsilon=8, delta=1e-6, where="town = 'a'", reach=1)
    with opened(unit="pid", reach=1) as db:
        whole = db.classify("rich", ["single"], epsilon=8, delta=1e-6)
    assert abs(whole.rows - 3_000) < 300  # two rows of a unit weigh one half each
    assert 0.2 < model.rows / whole.rows < 0.7


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"target": "rich", "features": ["rich", "town"]}, tc.InvalidError, "include the target"),
        ({"target": "rich", "features": []}, tc.InvalidError, "no features"),
        ({"target": "rich", "features": "town"}, tc.InvalidError, "list of columns"),
        ({"target": "rich", "features": ["town", "town"]}, tc.InvalidError, "twice"),
        ({"target": "rich", "features": ["toun"]}, tc.InvalidError, "Did you mean 'town'"),
        ({"target": "ritch"}, tc.InvalidError, "Did you mean 'rich'"),
        ({"target": "only"}, tc.InvalidError, "one public value"),
        ({"target": "age", "bins": BINS}, tc.InvalidError, "no public values that can be classes"),
        ({"target": "rich", "features": ["age"]}, tc.InvalidError, "no public values"),
        ({"target": "rich", "method": "tree"}, tc.InvalidError, "method"),
        ({"target": "rich", "accuracy": 2}, tc.InvalidError, "accuracy"),
        ({"target": "rich", "confidence": 1.5}, tc.InvalidError, "confidence"),
        ({"target": "rich", "epsilon": 0}, tc.InvalidError, "epsilon"),
        ({"target": "rich", "epsilon": 100}, tc.BudgetError, "left"),
        ({"target": "rich", "where": "nope = 1"}, tc.InvalidError, "nope"),
        ({"target": "rich", "plan": "yes"}, tc.InvalidError, "plan"),
        ({"target": "rich", "marginals": object()}, tc.InvalidError, "cannot be combined"),
    ],
)
def test_bad_questions_are_refused_before_the_charge(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with opened() as db:
        with pytest.raises(error, match=text) as caught:
            db.classify(**({"epsilon": 1} | arguments))
        assert "Nothing was spent." in str(caught.value)
        assert db.spent == tc.ApproxDP(epsilon=0, delta=0)


def test_a_table_without_other_public_columns_has_no_features() -> None:
    frame = FRAME[["age", "rich"]]
    with opened(frame, keys={"rich": ["no", "yes"]}) as db, pytest.raises(tc.InvalidError, match="no other column"):
        db.classify("rich", epsilon=1)


def test_empty_constant_and_missing_data_raise_nothing_after_the_charge() -> None:
    constant = FRAME.assign(age=np.nan, town=None, single=True, rich="yes")
    for frame in (FRAME.iloc[:0], constant):
        with opened(frame) as db:
            for method in ("naive Bayes", "logistic regression"):
                for delta in (None, 1e-6):
                    model = db.classify("rich", ["single"], epsilon=1, delta=delta, method=method, accuracy=True)
                    assert np.isfinite(model.predict_proba(FRAME)).all()


def test_a_repeat_of_recorded_data_is_free() -> None:
    with opened(data_version="1") as db:
        first = db.classify("rich", bins=BINS, epsilon=1, delta=1e-6, method="naive Bayes", accuracy=True)
        again = db.classify("rich", bins=BINS, epsilon=1, delta=1e-6, method="naive Bayes", accuracy=True)
        other = db.classify("rich", bins=BINS, epsilon=1, delta=1e-6, accuracy=True)
        assert db.spent == tc.ApproxDP(epsilon=2, delta=2e-6)
    assert (again.repeated, first.repeated, other.repeated) == (True, False, False)
    assert np.array_equal(first.coef_, again.coef_)
    assert first.ends == again.ends
    assert first.accuracy == again.accuracy


def test_a_model_from_a_database_survives_its_file(tmp_path: Path) -> None:
    with opened() as db:
        model = db.classify("rich", bins=BINS, epsilon=1, delta=1e-6, method="naive Bayes", accuracy=True)
    model.save(tmp_path / "model.json")
    again = tc.learn.Classifier.load(tmp_path / "model.json")
    assert np.array_equal(again.decision_function(FRAME), model.decision_function(FRAME))
    assert again.intervals == model.intervals
    assert again.accuracy == model.accuracy
    assert again.cost == model.cost
    assert again.receipt["question"] == model.receipt["question"]


def test_a_chart_shows_the_weights() -> None:
    with opened() as db:
        for method in ("naive Bayes", "logistic regression"):
            model = db.classify("rich", bins=BINS, epsilon=1, delta=1e-6, method=method)
            chart = str(model.plot().to_dict())
            assert "town=a" in chart
            assert ("Each whisker is" in chart, "'rule'" in chart) == (model.ends is not None, model.ends is not None)


def test_required_columns_read_missing_values_as_their_stand_in() -> None:
    frame = FRAME.assign(town=FRAME.town.where(FRAME.index % 3 > 0, None))
    with opened(frame, required=["town", "age"]) as db:
        model = db.classify("rich", ["town", "age"], bins={"age": [18, 40, 90]}, epsilon=8, delta=1e-6)
    assert [column.size for column in model.columns] == [3, 2]
    scores = model.decision_function({"town": [None, "zz", "a"], "age": [None, 18.0, float("nan")]})
    assert scores[0] == scores[1] == scores[2]


def test_public_columns_code_frames_as_engines_do() -> None:
    column = PublicColumn("x", values=(1, 2), missing=2, other=3)
    assert list(column.codes([1, 2.0, None, float("nan"), pd.NA, pd.NaT, "1", [1], True])) == [
        0,
        1,
        2,
        2,
        2,
        2,
        3,
        3,
        0,
    ]
    number = PublicColumn("x", edges=(0.0, 1.0, 2.0), missing=2, other=2)
    assert list(number.codes([-5, 0, 1, 2, float("inf"), None, "x", Fraction(1, 2)])) == [0, 0, 1, 1, 1, 2, 2, 0]


KEYED = ["town", "single", "kind", "rich"]


def test_marginals_give_ridge_regression_at_no_further_cost() -> None:
    with opened() as db:
        marginals = db.marginals(ways=2, columns=[*KEYED, "age"], bins=BINS, epsilon=2, delta=1e-6)
        spent = db.spent
        model = db.classify("rich", marginals=marginals)
        bayes = db.classify("rich", ["town", "age"], marginals=marginals, method="naive Bayes")
        many = db.classify("kind", marginals=marginals)
        assert db.spent == spent
    assert model.method == "ridge"
    assert set(model.feature_names_in_) == {"town", "single", "kind", "age"}
    assert model.score(FRAME, list(FRAME.rich)) > 0.72
    assert bayes.method == many.method == "naive Bayes"
    assert bayes.score(FRAME, list(FRAME.rich)) > 0.7
    assert model.intervals is None
    assert "fits to rows" in str(model.why_no_intervals)
    assert model.cost == marginals.cost


def test_marginals_without_the_pairs_are_refused() -> None:
    with opened() as db:
        marginals = db.marginals([("town", "rich"), ("single", "kind")], epsilon=2, delta=1e-6)
        assert db.classify("rich", ["town"], marginals=marginals).method in {"ridge", "naive Bayes"}
        for arguments, text in (
            ({"features": ["single"]}, "do not have the pair"),
            ({"features": ["town"], "method": "logistic regression"}, "method"),
            ({"features": ["town"], "epsilon": 1}, "cannot be combined"),
            ({"features": ["town"], "accuracy": True}, "needs rows"),
            ({"features": ["town"], "plan": True}, "no plan"),
            ({"features": ["rich"]}, "without the target"),
        ):
            with pytest.raises(tc.TacitError, match=text):
                db.classify("rich", marginals=marginals, **arguments)
        with pytest.raises(tc.InvalidError, match=r"the answer of db\.marginals"):
            db.classify("rich", ["town"], marginals=5)
