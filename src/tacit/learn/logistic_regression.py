"""`tc.learn.LogisticRegression`: a private classifier for frames and arrays, without a database.

Each row is a unit. Bounds and classes are public. A row whose label is not one of the classes adds nothing. There is no
ledger: each call of `fit` is a release that costs (ε, δ) for its rows, so five folds of a cross-validation cost each
row up to four fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from fractions import Fraction
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Exact, positive, to_fraction
from tacit.guarantees.values import ApproxDP, PureDP
from tacit.learn.columns import Label, PublicColumn, coded
from tacit.learn.fitting import Setting, budget_for, fit
from tacit.learn.model import Classifier, classifier_tags
from tacit.learn.noise_budget import NoiseBudget, pure_budget
from tacit.learn.private_sums import layout_of
from tacit.query.formatting import count_text
from tacit.synthetic.coded_rows import ArrayRows

Bound: TypeAlias = tuple[float, float] | Sequence[Label]
_NAMES = ("epsilon", "bounds", "delta", "classes", "bins", "neighbours")


class LogisticRegression:
    """Logistic regression with differential privacy, in scikit-learn's shape.

    With δ it has (ε, δ)-differential privacy and Gaussian noise. Without, it has ε-differential privacy and Laplace
    noise; where that hides too much, naive Bayes takes the place of logistic regression (`model_.method` says so).

    Args:
        epsilon: ε of one fit; there is no default.
        bounds: for each column by name, or in order for an array, a pair (low, high) for numbers or a list of values.
        delta: δ of one fit, or None.
        classes: the two labels; the scores are the log-odds of the second.
        bins: the number of equal bins between the bounds of a column.
        neighbours: "add/remove", or "change one" if the number of rows is public.
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        *,
        epsilon: float,
        bounds: Mapping[str, Bound] | Sequence[Bound],
        delta: float | None = None,
        classes: Sequence[Label] = (0, 1),
        bins: int = 10,
        neighbours: Neighbours = "add/remove",
    ) -> None:
        """Store the parameters; `fit` checks them."""
        self.epsilon, self.bounds, self.delta = epsilon, bounds, delta
        self.classes, self.bins, self.neighbours = classes, bins, neighbours

    def __repr__(self) -> str:
        """Return the class with its parameters; bounds by their number."""
        given: object = self.bounds
        bounds = count_text(len(given), "column") if isinstance(given, Sized) else "…"
        return f"LogisticRegression(epsilon={self.epsilon!r}, delta={self.delta!r}, bounds=<{bounds}>)"

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's
        """Return the parameters.

        Args:
            deep: has no effect; scikit-learn passes it.
        """
        return {name: getattr(self, name) for name in _NAMES}

    def set_params(self, **parameters: object) -> Self:
        """Change parameters."""
        for name, value in parameters.items():
            if name not in _NAMES:
                raise InvalidError(f"Unknown parameter {name!r}.", argument=name, hint=f"Use {', '.join(_NAMES)}.")
            setattr(self, name, value)
        return self

    def fit(self, X: object, y: Sequence[object]) -> Self:  # noqa: N803 - scikit-learn's name
        """Fit the classifier; each call costs ε, or (ε, δ), for the rows of X.

        Args:
            X: the private rows, one for each unit.
            y: the label of each row.
        """
        columns, classes = public_columns(self.bounds, self.bins), _two(self.classes)
        if self.neighbours not in ("add/remove", "change one"):
            raise bad_value("neighbours", self.neighbours, "'add/remove' or 'change one'")
        sizes, number = [*(column.size for column in columns), 3], len(columns)
        setting = Setting(layout_of(sizes, range(number), number, (0, 1, -1)), 1, 1, self.neighbours)
        cost, budget = self._cost(setting)
        codes, labels = coded(X, columns), PublicColumn("y", classes).codes(list(y))
        if len(codes) != len(labels):
            raise InvalidError("X and y have different lengths.", argument="y")
        both = np.concatenate([codes, labels[:, None]], axis=1)
        rows = ArrayRows(both, np.ones(len(both), dtype=np.int64), sizes)
        found = fit(rows, setting, budget, accuracy=Fraction(0))
        self.model_ = Classifier(
            columns=columns,
            classes=classes,
            weights=found.weights,
            intercepts=found.intercepts,
            method=found.method,
            cost=cost,
            rows=found.tables.size,
        )
        self.classes_, self.coef_, self.intercept_ = self.model_.classes_, self.model_.coef_, self.model_.intercept_
        self.feature_names_in_, self.n_features_in_ = self.model_.feature_names_in_, number
        return self

    def decision_function(self, X: object) -> Floats:  # noqa: N803
        """Return the log-odds of the second class for each row."""
        return self._fitted().decision_function(X)

    def predict_proba(self, X: object) -> Floats:  # noqa: N803
        """Return the probability of each class for each row."""
        return self._fitted().predict_proba(X)

    def predict(self, X: object) -> npt.NDArray[np.generic] | npt.NDArray[np.object_]:  # noqa: N803
        """Return the likelier label for each row."""
        return self._fitted().predict(X)

    def score(self, X: object, y: Sequence[object]) -> float:  # noqa: N803
        """Return the share of rows whose label is predicted; not private for these rows."""
        return self._fitted().score(X, y)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> object:
        """Return scikit-learn's description of a classifier; only scikit-learn calls it."""
        return classifier_tags(several=False)

    def _fitted(self) -> Classifier:
        model: Classifier | None = getattr(self, "model_", None)
        if model is None:
            raise InvalidError("The classifier is not fitted.", hint="Call fit first.")
        return model

    def _cost(self, setting: Setting) -> tuple[PureDP | ApproxDP, NoiseBudget]:
        epsilon = positive(self.epsilon, "epsilon")
        delta = Fraction(0) if self.delta is None else to_fraction(self.delta, "delta")
        if not 0 <= delta < 1:
            raise bad_value("delta", self.delta, "None, or a number from 0 to below 1")
        if not delta:
            budget = pure_budget(epsilon)
            cost: PureDP | ApproxDP = PureDP(epsilon=Exact(epsilon))
        else:
            budget = budget_for(setting, epsilon, delta, Fraction(0))
            cost = ApproxDP(epsilon=Exact(epsilon), delta=Exact(delta))
        setting.check(budget, Fraction(0))
        return cost, budget


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
