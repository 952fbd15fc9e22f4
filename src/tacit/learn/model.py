"""A fitted classifier: scores, and what was released about it. `model_file` has its file.

The model is a release: predictions are post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import InvalidError, RefusedError
from tacit.learn.columns import Label, PublicColumn, coded
from tacit.learn.intervals import Ends
from tacit.learn.private_sums import logistic
from tacit.safe_text import aligned, html_lines, html_table, visible

if TYPE_CHECKING:
    import altair as alt

    from tacit.guarantees.values import ZCDP, ApproxDP, PureDP

WHY_NONE = (
    "No interval is proved for logistic regression, whose weights depend on the noise of every round. "
    'db.classify with method="naive Bayes" has intervals.'
)
WHY_NONE_OTHER = "Only naive Bayes that db.classify fits to rows has intervals."
_SHOWN = 10
_FEW = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """A private estimate of the share of rows whose class is predicted, among the rows of the fit."""

    value: float
    interval: Ends
    confidence: float

    def __float__(self) -> float:
        """Return the estimate."""
        return self.value

    def __str__(self) -> str:
        """Return the estimate and its interval."""
        low, high = self.interval
        return f"{self.value:.1%} ({low:.1%} to {high:.1%})"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Classifier:
    """A private classifier, in the shape of a fitted scikit-learn estimator.

    Attributes:
        columns: the public columns of the features.
        classes: the labels. With two, the scores are the log-odds of the second.
        weights: a weight for each code of each column; one row for two classes, otherwise one for each class.
        intercepts: the score of a row without features, for each row of weights.
        method: "naive Bayes", "logistic regression" or "ridge".
        cost: the guarantee that the model cost.
        rows: the noisy number of rows.
        ends: the interval of each weight's log-odds, classes by codes, or None.
        confidence: with which probability an interval holds.
        accuracy: the private estimate of the accuracy, if it was asked for.
        receipt: the release as JSON.
        repeated: whether the ledger had recorded the model, so that it cost nothing this time.
    """

    columns: tuple[PublicColumn, ...]
    classes: tuple[Label, ...]
    weights: Floats
    intercepts: Floats
    method: str
    cost: PureDP | ApproxDP | ZCDP
    rows: float = 0.0
    ends: tuple[tuple[Ends, ...], ...] | None = None
    confidence: float = 0.95
    accuracy: Accuracy | None = None
    receipt: Mapping[str, object] = field(default_factory=dict, repr=False)
    repeated: bool = False

    _estimator_type = "classifier"

    # --- scikit-learn's names ---

    @property
    def classes_(self) -> npt.NDArray[np.generic] | npt.NDArray[np.object_]:
        """The labels."""
        kinds = {type(label) for label in self.classes}
        plain = len(kinds) == 1 and kinds <= {str, int, float, bool}
        return np.array(self.classes, dtype=None if plain else object)

    @property
    def coef_(self) -> Floats:
        """The weights of all codes; `coefficient_names` names them."""
        return self.weights.copy()

    @property
    def intercept_(self) -> Floats:
        """The intercepts."""
        return self.intercepts.copy()

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """The names of the feature columns."""
        return np.array([column.name for column in self.columns], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of feature columns."""
        return len(self.columns)

    def fit(self, X: object, y: object = None) -> Self:  # noqa: N803, ARG002 - scikit-learn's
        """Raise RefusedError: the model is fitted. scikit-learn checks that the method exists."""
        raise RefusedError(
            "This classifier is fitted, and a fit costs privacy.",
            hint="Put it into sklearn.frozen.FrozenEstimator, or fit another by db.classify.",
        )

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: ARG002, FBT001, FBT002
        """Return the parameters of a fit: none.

        Args:
            deep: has no effect; scikit-learn passes it.
        """
        return {}

    def decision_function(self, X: object) -> Floats:  # noqa: N803
        """Return the log-odds of the second class for each row, or with more classes a score for each class."""
        scores = self._scores(X)
        return scores[0] if len(scores) == 1 else scores.T

    def predict_proba(self, X: object) -> Floats:  # noqa: N803
        """Return the probability of each class for each row.

        Args:
            X: a frame with the columns of the model.
        """
        scores = self._scores(X)
        if len(scores) == 1:
            second = logistic(scores[0])
            return np.stack([1 - second, second], axis=1)
        powers = np.exp(scores - scores.max(axis=0))
        return np.asarray((powers / powers.sum(axis=0)).T)

    def predict(self, X: object) -> npt.NDArray[np.generic] | npt.NDArray[np.object_]:  # noqa: N803
        """Return the likeliest label for each row."""
        scores = self._scores(X)
        place = (scores[0] > 0).astype(np.int64) if len(scores) == 1 else scores.argmax(axis=0)
        labels: npt.NDArray[np.generic] | npt.NDArray[np.object_] = self.classes_[place]
        return labels

    def score(self, X: object, y: Sequence[object]) -> float:  # noqa: N803
        """Return the share of rows whose label is predicted; not private for these rows.

        Args:
            X: a frame with the columns of the model.
            y: the true labels.
        """
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: the model is fitted."""
        return True

    def __sklearn_tags__(self) -> object:
        """Return scikit-learn's description of a classifier; only scikit-learn calls it."""
        return classifier_tags(several=True)

    def _scores(self, frame: object) -> Floats:
        codes, start = coded(frame, self.columns).astype(np.int64), 0
        total = np.repeat(self.intercepts[:, None], len(codes), axis=1)
        for place, column in enumerate(self.columns):
            total += self.weights[:, start + codes[:, place]]
            start += column.size
        return total

    # --- what was released ---

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """The column and the value or bin of each coefficient."""
        return tuple(label for column in self.columns for label in column.labels)

    @property
    def intervals(self) -> dict[str, Ends] | dict[Label, dict[str, Ends]] | None:
        """The interval of the log-odds behind each coefficient, by its name; None without a proof.

        For naive Bayes it is of log(a/b) - log(A/B) in the table that was read: a rows of the class and b others in
        the cell, A and B in all. The coefficient is shrunk to 0, so it may be outside. With more than two classes there
        is one mapping for each class. `why_no_intervals` has the reason for None.
        """
        if self.ends is None:
            return None
        named = [dict(zip(self.coefficient_names, ends, strict=True)) for ends in self.ends]
        return named[0] if len(self.classes) == 2 else dict(zip(self.classes, named, strict=True))  # noqa: PLR2004

    @property
    def why_no_intervals(self) -> str | None:
        """Return the reason why there are no intervals; None if there are intervals."""
        if self.ends is not None:
            return None
        if self.method == "logistic regression":
            return WHY_NONE
        return WHY_NONE_OTHER

    def save(self, path: str | Path) -> None:
        """Write the model as JSON.

        Args:
            path: the JSON file.
        """
        from tacit.learn.model_file import save  # noqa: PLC0415 - it imports this module

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Classifier:
        """Read a model that `save` wrote; raise InvalidError if the file was changed.

        Args:
            path: the JSON file.
        """
        from tacit.learn.model_file import load  # noqa: PLC0415

        return load(path)

    def to_dict(self) -> dict[str, object]:
        """Return the model as JSON."""
        from tacit.learn.model_file import content_of  # noqa: PLC0415

        return content_of(self)

    def plot(self) -> alt.LayerChart | alt.ConcatChart:
        """Return a chart of the coefficients, with whiskers where there are intervals."""
        from tacit.learn.chart import coefficient_chart  # noqa: PLC0415 - draws with altair

        return coefficient_chart(self)

    @property
    def lines(self) -> list[str]:
        """The model in sentences: its method, its cost, its accuracy."""
        from tacit.query.formatting import count_text, spell  # noqa: PLC0415 - heavy

        labels = ", ".join(str(label) for label in self.classes)
        name, columns = f"{self.method[0].upper()}{self.method[1:]}", count_text(len(self.columns), "column")
        lines = [
            f"{name} of {columns} for the classes {labels}.",
            f"Cost: {spell(self.cost)}. About {max(self.rows, 0):,.0f} rows had a class (noisy).",
        ]
        if self.rows < _FEW:
            lines.append("These are few. Check that the public values of the target are spelt as in the data.")
        if self.accuracy is not None:
            lines.append(f"Accuracy on the rows of the fit: {self.accuracy}.")
        if self.why_no_intervals:
            lines.append(f"The weights have no intervals. {self.why_no_intervals}")
        return lines

    @property
    def largest(self) -> list[tuple[str, ...]]:
        """The largest coefficients of the last class, with their intervals if there are any, as text."""
        row = self.weights[-1]
        order = [int(place) for place in np.argsort(-np.abs(row), kind="stable")[:_SHOWN]]
        names, ends = self.coefficient_names, None if self.ends is None else self.ends[-1]
        found = []
        for place in order:
            shown = (names[place], f"{row[place]:+.3f}")
            found.append(shown if ends is None else (*shown, *(f"{end:+.3f}" for end in ends[place])))
        return found

    @property
    def _headings(self) -> tuple[str, ...]:
        return ("coefficient", "weight") if self.ends is None else ("coefficient", "weight", "low", "high")

    def __repr__(self) -> str:
        """Return the method, the number of columns and the cost in one line."""
        from tacit.query.formatting import count_text, spell  # noqa: PLC0415 - heavy

        return visible(
            f"<Classifier: {self.method} of {count_text(len(self.columns), 'column')}; cost {spell(self.cost)}>"
        )

    def __str__(self) -> str:
        """Return the model in sentences, with its largest coefficients."""
        return "\n".join([*map(visible, self.lines), *aligned([self._headings, *self.largest])])

    def _repr_html_(self) -> str:
        return html_lines(self.lines) + html_table(list(self._headings), self.largest)


def classifier_tags(*, several: bool) -> object:
    """Return scikit-learn's description of a classifier."""
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415 - optional

    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(multi_class=several),
        input_tags=InputTags(categorical=True, string=True, allow_nan=True),
    )


def checked(model: Classifier) -> Classifier:
    """Return a model, or raise InvalidError if its arrays do not fit its columns and classes."""
    rows = 1 if len(model.classes) == 2 else len(model.classes)  # noqa: PLR2004
    shape = (rows, sum(column.size for column in model.columns))
    if len(model.classes) < 2 or model.weights.shape != shape or model.intercepts.shape != (rows,):  # noqa: PLR2004
        raise InvalidError("The weights do not fit the columns and classes.", argument="weights")
    if not all(map(isfinite, [*model.weights.ravel(), *model.intercepts])):
        raise InvalidError("A weight is not finite.", argument="weights")
    return model
