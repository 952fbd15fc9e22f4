"""A fitted classifier: predictions for raw values, coefficients, and a file that can be checked.

The model is a release: predictions are post-processing. Its file is JSON with a SHA-256 of its content. `load` checks
the sum and every field. The sum finds edits and damage; it is not a signature, so it does not prove who wrote the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError
from tacit.learn.columns import PublicColumn, coded
from tacit.learn.private_sums import Floats, Layout, logistic, scores

Label = str | int | float | bool
FORMAT = "tacit classifier 1"


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A private classifier of two classes, in the shape of a fitted scikit-learn estimator.

    Attributes:
        columns: the public columns of the features.
        classes: the two labels; the second is the one whose log-odds the scores are.
        weights: a weight for each code of each column.
        intercept: the score of a row without features.
        method: "naive Bayes" or "logistic regression".
        epsilon: the ε that the model cost.
        delta: the δ that the model cost.
    """

    columns: tuple[PublicColumn, ...]
    classes: tuple[Label, Label]
    weights: Floats
    intercept: float
    method: str
    epsilon: float
    delta: float

    @property
    def classes_(self) -> npt.NDArray[np.object_] | npt.NDArray[np.int64]:
        """The two labels."""
        return np.array(self.classes)

    @property
    def coef_(self) -> Floats:
        """The weights of all codes, as one row; `coefficient_names` names them."""
        return self.weights.reshape(1, -1).copy()

    @property
    def intercept_(self) -> Floats:
        """The intercept."""
        return np.array([self.intercept])

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """The column and the value or bin of each coefficient."""
        return tuple(label for column in self.columns for label in column.labels)

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """The names of the feature columns."""
        return np.array([column.name for column in self.columns], dtype=object)

    @property
    def intervals(self) -> None:
        """None: the weights are shrunk, and the gradients depend on earlier noise, so no interval is proved."""
        return

    def decision_function(self, X: object) -> Floats:  # noqa: N803 - scikit-learn's name
        """Return the log-odds of the second class for each row."""
        layout = Layout((), 0, tuple(column.size for column in self.columns))
        return scores(coded(X, self.columns), layout, self.weights) + self.intercept

    def predict_proba(self, X: object) -> Floats:  # noqa: N803
        """Return the probability of each class for each row."""
        second = logistic(self.decision_function(X))
        return np.stack([1 - second, second], axis=1)

    def predict(self, X: object) -> npt.NDArray[np.object_] | npt.NDArray[np.int64]:  # noqa: N803
        """Return the likelier label for each row."""
        labels = self.classes_
        return labels[(self.decision_function(X) > 0).astype(np.int64)]

    def score(self, X: object, y: Sequence[object]) -> float:  # noqa: N803
        """Return the share of rows whose label is predicted; not private for these rows."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def save(self, path: str | Path) -> None:
        """Write the model as JSON."""
        content = {
            "format": FORMAT,
            "columns": [{"name": c.name, "values": list(c.values), "edges": list(c.edges)} for c in self.columns],
            "classes": list(self.classes),
            "weights": self.weights.tolist(),
            "intercept": self.intercept,
            "method": self.method,
            "epsilon": self.epsilon,
            "delta": self.delta,
        }
        text = json.dumps({"model": content, "sha256": _sum(content)}, indent=1, ensure_ascii=False)
        Path(path).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Classifier:
        """Read a model that `save` wrote; raise InvalidError if the file was changed."""
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            raise _refusal("cannot be read as JSON") from None
        content = record.get("model") if isinstance(record, dict) and set(record) == {"model", "sha256"} else None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise _refusal(f"is not of the format {FORMAT!r}")
        if record["sha256"] != _sum(content):
            raise _refusal("was changed after it was saved: its checksum does not fit")
        return _read(content)


def _sum(content: Mapping[str, object]) -> str:
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _refusal(reason: str) -> InvalidError:
    return InvalidError(f"The model file {reason}.", argument="path", hint="Save the model again.")


def _read(content: Mapping[str, object]) -> Classifier:
    fields = {"format", "columns", "classes", "weights", "intercept", "method", "epsilon", "delta"}
    if set(content) != fields:
        raise _refusal("has missing or unknown fields")
    columns, classes, weights = content["columns"], content["classes"], content["weights"]
    if not isinstance(columns, list) or not columns or not all(map(_is_column, columns)):
        raise _refusal("has columns that are not valid")
    public = tuple(PublicColumn(c["name"], tuple(c["values"]), tuple(c["edges"])) for c in columns)
    if not isinstance(weights, list) or len(weights) != sum(column.size for column in public):
        raise _refusal("has another number of weights than its columns have codes")
    numbers = [content["intercept"], content["epsilon"], content["delta"], *weights]
    if not all(_finite(number) for number in numbers):
        raise _refusal("has a number that is not finite")
    if not isinstance(classes, list) or len(classes) != 2 or not all(isinstance(c, Label) for c in classes):  # noqa: PLR2004
        raise _refusal("does not have two classes")
    if content["method"] not in ("naive Bayes", "logistic regression"):
        raise _refusal("names an unknown method")
    intercept, epsilon, delta = (float(number) for number in numbers[:3] if _finite(number))
    array = np.array(weights, dtype=np.float64)
    return Classifier(public, (classes[0], classes[1]), array, intercept, str(content["method"]), epsilon, delta)


def _finite(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def _is_column(column: object) -> bool:
    return (
        isinstance(column, dict)
        and set(column) == {"name", "values", "edges"}
        and isinstance(column["name"], str)
        and isinstance(column["values"], list)
        and isinstance(column["edges"], list)
        and all(isinstance(value, Label) for value in column["values"])
        and all(_finite(edge) for edge in column["edges"])
    )
