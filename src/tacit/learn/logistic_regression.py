"""`tc.learn.LogisticRegression`: a private classifier for frames and arrays, without a database.

Each row is a unit. Bounds and classes are public. A row whose label is not one of the classes adds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.events import Neighbours
from tacit.learn.columns import PublicColumn, coded
from tacit.learn.fitting import fit
from tacit.learn.model import Classifier, Label
from tacit.learn.private_sums import Floats, rho_of
from tacit.mechanisms.validation import ordinary, probability
from tacit.synthetic.coded_rows import ArrayRows

Bound: TypeAlias = tuple[float, float] | list[Label]
_NAMES = ("epsilon", "delta", "bounds", "classes", "bins", "neighbours")


class LogisticRegression:
    """Logistic regression with (ε,δ)-differential privacy, in scikit-learn's shape.

    Args:
        epsilon: ε of one fit.
        delta: δ of one fit.
        bounds: for each column by name, or in order for an array, a pair (low, high) for numbers or a list of values.
        classes: the two labels; the scores are the log-odds of the second.
        bins: the number of equal bins between the bounds of a column.
        neighbours: "add/remove", or "change one" if the number of rows is public.
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        bounds: Mapping[str, Bound] | Sequence[Bound],
        classes: Sequence[Label] = (0, 1),
        bins: int = 10,
        neighbours: Neighbours = "add/remove",
    ) -> None:
        """Store the parameters; `fit` checks them."""
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.classes, self.bins, self.neighbours = classes, bins, neighbours

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's
        """Return the parameters."""
        return {name: getattr(self, name) for name in _NAMES}

    def set_params(self, **parameters: object) -> Self:
        """Change parameters."""
        for name, value in parameters.items():
            if name not in _NAMES:
                raise InvalidError(f"Unknown parameter {name!r}.", argument=name, hint=f"Use {', '.join(_NAMES)}.")
            setattr(self, name, value)
        return self

    def fit(self, X: object, y: Sequence[object]) -> Self:  # noqa: N803 - scikit-learn's name
        """Fit the classifier; each call costs (ε,δ) for the rows of X."""
        epsilon, delta = float(ordinary(self.epsilon, "epsilon")), float(probability(self.delta, "delta"))
        columns, classes = public_columns(self.bounds, self.bins), _two(self.classes)
        if self.neighbours not in ("add/remove", "change one"):
            raise bad_value("neighbours", self.neighbours, "'add/remove' or 'change one'")
        codes, labels = coded(X, columns), PublicColumn("y", classes).codes(list(y))
        if len(codes) != len(labels):
            raise InvalidError("X and y have different lengths.", argument="y")
        both = np.concatenate([codes, labels[:, None]], axis=1)
        rows = ArrayRows(both, np.ones(len(both), dtype=np.int64), [*(column.size for column in columns), 3])
        rho, features = rho_of(epsilon, delta), range(len(columns))
        result = fit(rows, features, len(columns), rho=rho, neighbours=self.neighbours)
        self.model_ = Classifier(columns, classes, result.weights, result.intercept, result.method, epsilon, delta)
        self.classes_, self.coef_, self.intercept_ = self.model_.classes_, self.model_.coef_, self.model_.intercept_
        self.feature_names_in_, self.n_features_in_ = self.model_.feature_names_in_, len(columns)
        return self

    def decision_function(self, X: object) -> Floats:  # noqa: N803
        """Return the log-odds of the second class for each row."""
        return self._fitted().decision_function(X)

    def predict_proba(self, X: object) -> Floats:  # noqa: N803
        """Return the probability of each class for each row."""
        return self._fitted().predict_proba(X)

    def predict(self, X: object) -> npt.NDArray[np.object_] | npt.NDArray[np.int64]:  # noqa: N803
        """Return the likelier label for each row."""
        return self._fitted().predict(X)

    def score(self, X: object, y: Sequence[object]) -> float:  # noqa: N803
        """Return the share of rows whose label is predicted; not private for these rows."""
        return self._fitted().score(X, y)

    def __sklearn_tags__(self) -> object:
        """Return scikit-learn's description of a classifier; only scikit-learn calls it."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415 - optional

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(categorical=True, string=True, allow_nan=True),
        )

    def _fitted(self) -> Classifier:
        model: Classifier | None = getattr(self, "model_", None)
        if model is None:
            raise InvalidError("The classifier is not fitted.", hint="Call fit first.")
        return model


def public_columns(bounds: object, bins: object) -> tuple[PublicColumn, ...]:
    """Return the public columns that bounds describe."""
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise bad_value("bins", bins, "a whole number ≥ 1")
    if isinstance(bounds, Mapping):
        pairs = [(str(name), bound) for name, bound in bounds.items()]
    elif isinstance(bounds, Sequence) and not isinstance(bounds, str):
        pairs = [(f"x{place}", bound) for place, bound in enumerate(bounds)]
    else:
        raise bad_value("bounds", bounds, "a pair or a list of values for each column")
    if not pairs:
        raise InvalidError("There are no feature columns.", argument="bounds")
    return tuple(_public_column(name, bound, bins) for name, bound in pairs)


def _public_column(name: str, bound: object, bins: int) -> PublicColumn:
    match bound:
        case (int() | float() as low, int() | float() as high) if isinstance(bound, tuple):
            if not low < high:
                raise bad_value("bounds", bound, "a pair (low, high) with low < high")
            return PublicColumn(name, edges=tuple(np.linspace(low, high, bins + 1).tolist()))
        case list():
            return PublicColumn(name, values=tuple(bound))
    return PublicColumn(name)


def _two(classes: Sequence[Label]) -> tuple[Label, Label]:
    labels = list(classes)
    if len(labels) != 2 or labels[0] == labels[1]:  # noqa: PLR2004
        raise bad_value("classes", labels, "two different labels", hint="A classifier needs two public classes.")
    return labels[0], labels[1]
