"""Private classifiers for frames: fits, predictions, files, bad input."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tacit as tc
from tacit.guarantees.events import Neighbours
from tacit.learn import Classifier, LogisticRegression
from tacit.learn.columns import Label
from tacit.learn.fitting import Method, Setting, fit
from tacit.learn.model_file import _sum
from tacit.learn.noise_budget import concentrated_budget, pure_budget
from tacit.learn.private_sums import layout_of
from tacit.synthetic.coded_rows import ArrayRows

BOUNDS: dict[str, tuple[float, float] | list[Label]] = {"age": (0, 100), "town": ["a", "b", "c"]}


def people(size: int) -> tuple[dict[str, list[object]], list[int]]:
    random = np.random.default_rng(5)
    age, town = random.uniform(0, 100, size), random.choice(["a", "b", "c"], size)
    score = (age - 50) / 15 + np.where(town == "a", 1.0, -0.5)
    y = random.random(size) < 1 / (1 + np.exp(-score))
    return {"age": list(age), "town": list(town)}, [int(label) for label in y]


X, Y = people(4_000)


def fitted(**changes: object) -> LogisticRegression:
    model = LogisticRegression(epsilon=4, delta=1e-6, bounds=BOUNDS)
    return model.set_params(**changes).fit(X, Y)


def test_a_fit_ranks_the_rows() -> None:
    model = fitted()
    assert roc_auc_score(Y, model.decision_function(X)) > 0.85
    assert model.score(X, Y) > 0.75
    chances = model.predict_proba(X)
    assert np.allclose(chances.sum(axis=1), 1)
    assert abs(chances[:, 1].mean() - np.mean(Y)) < 0.1


def test_frames_of_all_kinds_give_the_same_scores() -> None:
    model = fitted()
    expected = model.decision_function(X)
    for frame in (pd.DataFrame(X), pl.DataFrame(X), np.array([X["age"], X["town"]], dtype=object).T):
        assert np.array_equal(model.decision_function(frame), expected)


@pytest.mark.parametrize("method", ["naive Bayes", "logistic regression"])
@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_each_method_finds_a_strong_column(method: Method, neighbours: Neighbours, law: str) -> None:
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 5_000)
    codes = np.stack([y ^ (random.random(5_000) < 0.1), random.integers(0, 4, 5_000), y], axis=1).astype(np.uint16)
    rows = ArrayRows(codes, np.ones(5_000, dtype=np.int64), (2, 4, 2))
    setting = Setting(layout_of((2, 4, 2), [0, 1], 2, (0, 1)), 1, 1, neighbours)
    budget = pure_budget(Fraction(1)) if law == "laplace" else concentrated_budget(Fraction(1, 2))
    result = fit(rows, setting, budget, method=method, accuracy=Fraction(1, 10))
    assert result.method == method
    weights = result.weights[0]
    assert 3 < weights[1] - weights[0] < 5.5  # the truth is 2·ln 9 = 4.4
    assert np.abs(weights[2:]).max() < 0.5
    assert abs(result.tables.size - 5_000) < 200  # 40 standard deviations
    assert result.right is not None
    assert abs(result.right[0] / (result.right[0] + result.right[1]) - 0.9) < 0.05


def test_without_delta_few_rows_choose_naive_bayes_and_many_logistic_regression() -> None:
    assert fitted(epsilon=0.01, delta=None).model_.method == "naive Bayes"
    model = fitted(epsilon=8, delta=None)
    assert model.model_.method == "logistic regression"
    assert model.model_.cost == tc.PureDP(epsilon=8)
    assert roc_auc_score(Y, model.decision_function(X)) > 0.85


def test_epsilon_and_bounds_have_no_default_and_delta_has() -> None:
    with pytest.raises(TypeError, match="epsilon"):
        LogisticRegression(bounds=BOUNDS)  # type: ignore[call-arg]
    assert tc.learn.LogisticRegression(epsilon=1, bounds=BOUNDS).fit(X, Y).model_.cost == tc.PureDP(epsilon=1)


def test_pipelines_and_parameters_work() -> None:
    model = make_pipeline(FunctionTransformer(), LogisticRegression(epsilon=8, delta=1e-6, bounds=BOUNDS))
    model.set_params(logisticregression__epsilon=16).fit(pd.DataFrame(X), Y)
    assert accuracy_score(Y, model.predict(pd.DataFrame(X))) > 0.75
    assert is_classifier(model)


def test_a_fitted_model_works_where_scikit_learn_takes_fitted_ones() -> None:
    model, frame = fitted().model_, pd.DataFrame(X)
    assert is_classifier(model)
    assert (
        accuracy_score(Y, make_pipeline(FunctionTransformer(), FrozenEstimator(model)).fit(frame, Y).predict(frame))
        > 0.75
    )
    assert log_loss(Y, model.predict_proba(frame)) < 0.6
    with pytest.raises(tc.RefusedError, match="is fitted"):
        model.fit(frame, Y)


def test_scikit_learn_can_clone_and_validate() -> None:
    model = clone(LogisticRegression(epsilon=8, delta=1e-6, bounds=BOUNDS))
    assert cross_val_score(model, pd.DataFrame(X), np.array(Y), cv=3, scoring="roc_auc").min() > 0.8


def test_unknown_missing_and_infinite_values_have_codes() -> None:
    odd = {"age": [float("nan"), float("inf"), None, "x", -5], "town": ["z", None, float("nan"), ["a"], "a"]}
    assert np.isfinite(fitted().predict_proba(odd)).all()


def test_constant_and_missing_columns_and_one_class_do_not_fail() -> None:
    model = LogisticRegression(epsilon=1, delta=1e-6, bounds=BOUNDS)
    constant: dict[str, list[object]] = {"age": [None] * 50, "town": ["a"] * 50}
    assert np.isfinite(model.fit(constant, [1] * 50).coef_).all()
    assert np.isfinite(model.fit({"age": [], "town": []}, []).coef_).all()


def test_a_saved_model_is_the_same(tmp_path: Path) -> None:
    model = fitted().model_
    model.save(tmp_path / "model.json")
    again = Classifier.load(tmp_path / "model.json")
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert list(again.predict(X)) == list(model.predict(X))
    assert again.coefficient_names == model.coefficient_names
    assert len(again.coefficient_names) == again.coef_.size


def test_every_edit_of_a_saved_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    fitted().model_.save(path)
    record = json.loads(path.read_text())
    for field in record["model"]:
        edited = json.loads(path.read_text())
        edited["model"][field] = -7
        other = tmp_path / "edited.json"
        other.write_text(json.dumps(edited))
        with pytest.raises(tc.InvalidError, match="model file"):
            Classifier.load(other)
    path.write_text(path.read_text()[:-10])
    with pytest.raises(tc.InvalidError, match="JSON"):
        Classifier.load(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weights", [1.0]),
        ("weights", [[1.0]]),
        ("weights", [["1"] * 15]),
        ("weights", [[True] * 15]),
        ("intercepts", [1e999]),
        ("intercepts", [0.0, 0.0]),
        ("classes", [1]),
        ("classes", [1, 1]),
        ("classes", [0, 1, 2]),
        ("classes", [0, {"date": 5}]),
        ("classes", [0, {"__class__": "os"}]),
        ("method", "tree"),
        ("columns", []),
        ("columns", [{"name": "a", "values": [], "edges": [], "missing": 0, "other": 0}]),
        ("columns", [{"name": "a", "values": ["x"] * 14, "edges": [], "missing": 14, "other": 14}]),
        ("columns", [{"name": "a", "values": [], "edges": [0, 1], "missing": 2**31, "other": 0}]),
        ("cost", {"epsilon": "1", "delta": 0}),
        ("cost", {"epsilon": -1, "delta": 0}),
        ("cost", {"sigma": 1}),
        ("intervals", [[[0, 1]]]),
        ("confidence", 2),
        ("accuracy", [0.5]),
        ("receipt", []),
        ("rows", None),
    ],
)
def test_fields_are_checked_even_if_the_checksum_fits(tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "model.json"
    fitted().model_.save(path)
    content = {**json.loads(path.read_text())["model"], field: value}
    path.write_text(json.dumps({"model": content, "sha256": _sum(content)}))
    with pytest.raises(tc.InvalidError):
        Classifier.load(path)


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": -1}, "delta"),
        ({"delta": 1}, "delta"),
        ({"bounds": {}}, "bounds"),
        ({"bounds": {"age": None}}, "bounds"),
        ({"bounds": {"age": (1, 0)}}, "bounds"),
        ({"bounds": {"town": ["a", "a"]}}, "bounds"),
        ({"classes": [1]}, "classes"),
        ({"bins": 0}, "bins"),
        ({"neighbours": "both"}, "neighbours"),
        ({"depth": 3}, "depth"),
    ],
)
def test_bad_arguments_name_themselves(changes: dict[str, object], argument: str) -> None:
    with pytest.raises(tc.InvalidError) as error:
        fitted(**changes)
    assert error.value.argument == argument


def test_bad_tables_are_refused() -> None:
    model = LogisticRegression(epsilon=1, delta=1e-6, bounds=BOUNDS)
    with pytest.raises(tc.InvalidError, match="not fitted"):
        model.predict(X)
    with pytest.raises(tc.InvalidError, match="no column"):
        model.fit({"age": [1]}, [1])
    with pytest.raises(tc.InvalidError, match="different lengths"):
        model.fit(X, [1])


class Hostile:
    """A value whose methods raise."""

    def __hash__(self) -> int:
        raise RuntimeError

    def __float__(self) -> float:
        raise RuntimeError


def test_no_value_of_a_row_stops_a_fit() -> None:
    """An error would tell that the row is there."""
    frame = {"age": [5, Hostile()], "sex": [Hostile(), "f"]}
    model = LogisticRegression(epsilon=1, delta=1e-6, bounds={"age": (0, 10), "sex": ["f", "m"]})
    assert model.fit(frame, [Hostile(), 1]).model_.rows is not None
