"""The utility of a published table: the accuracy of a classifier trained on it, for raw rows that it has not seen.

The classifier is naive Bayes over categories. It reads a published value as the set of raw values that it covers, so
that training on "20-39" changes the prediction for 27. With aᵥ the number of raw values under a published value v, a
published row adds 1/aᵥ to each of them; one is added to every count (Laplace's rule). For comparison, the same
classifier is trained on the raw rows, and the most frequent class is always predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import plots
from tacit.anonymity.outcome import Anonymized
from tacit.anonymity.privacy_models import KAnonymity, models_of
from tacit.anonymity.recoding import Cover, raw_codes
from tacit.anonymity.search import METHODS, Method, anonymize
from tacit.anonymity.tables import CodedTable, read
from tacit.arrays import Codes, Floats
from tacit.errors import InvalidError, bad_value
from tacit.notebook import ShownAsFields

if TYPE_CHECKING:
    import altair as alt


_METHODS_OF_OPTION = {
    "suppression": ("best", "optimal"),
    "seconds": ("best", "optimal", "local"),
    "strict": ("best", "mondrian"),
}


@dataclass(frozen=True, slots=True)
class Accuracy(ShownAsFields):
    """The share of unseen rows whose class is predicted correctly.

    Attributes:
        published: by the classifier trained on the published table.
        raw: by the classifier trained on the raw rows.
        guess: by the most frequent class alone.
    """

    published: float
    raw: float
    guess: float


@dataclass(frozen=True, slots=True)
class Losses(ShownAsFields):
    """The loss of every method at every k.

    Attributes:
        ks: the values of k.
        losses: the loss of each method at each k, by the name of the method.
    """

    ks: tuple[int, ...]
    losses: dict[str, list[float]]

    def plot(self) -> alt.LayerChart:
        """Draw the loss against k, a line for each method."""
        return plots.loss_by_k(self.ks, self.losses)


def accuracy(out: Anonymized, train: object, unseen: object, target: str, *, sep: str | None = None) -> Accuracy:
    """Return how well a classifier trained on a published table predicts the target of raw rows that it has not seen.

    Args:
        out: the result of `anonymize`.
        train: the raw rows of that result.
        unseen: other raw rows, with the same columns.
        target: the column to predict; it is published, and not a quasi-identifier.
        sep: the separator of the cells of CSV files.

    Raises:
        InvalidError: a column does not exist, or the target is a quasi-identifier.
    """
    if not isinstance(out, Anonymized):
        raise bad_value("out", out, "a result of `anonymize`")
    first, second = read(train, sep=sep), read(unseen, sep=sep)
    covers = out.recoding.covers
    if target in {cover.name for cover in covers}:
        raise InvalidError(
            f"The target {target!r} is a quasi-identifier.", argument="target", hint="Choose another column."
        )
    labels = {value: code for code, value in enumerate(first.column(target).texts)}
    truth = _class_codes(second, target, labels)
    tests = [raw_codes(cover.tree, second, cover.name) for cover in covers]
    published = read(out.table)
    shares = [_weights(cover, published) for cover in covers]
    raw = [np.eye(len(cover.tree.rows))[raw_codes(cover.tree, first, cover.name)] for cover in covers]
    published_classes, raw_classes = _class_codes(published, target, labels), _class_codes(first, target, labels)
    most = int(np.bincount(raw_classes, minlength=len(labels)).argmax())
    return Accuracy(
        _accuracy(shares, published_classes, tests, truth, len(labels)),
        _accuracy(raw, raw_classes, tests, truth, len(labels)),
        float((truth == most).mean()) if len(truth) else 0.0,
    )


def loss_by_k(
    table: object,
    *,
    ks: Sequence[int] = (2, 5, 10, 25, 50, 100),
    methods: Sequence[Method] = METHODS,
    **options: Any,  # noqa: ANN401 - the arguments of `anonymize`
) -> Losses:
    """Return the loss of every method at every k.

    >>> rows = {"age": list(range(20, 60)) * 2}
    >>> loss_by_k(rows, ks=(2, 4), quasi=["age"]).losses["optimal"][0]
    0.0

    Args:
        table: the raw rows.
        ks: the values of k.
        methods: some of "optimal", "local", "mondrian" and "best".
        options: other arguments of `anonymize`; `require` is added to k. Methods do without those that have no effect.
    """
    for name, values in (("ks", ks), ("methods", methods)):
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise bad_value(name, values, "a list")
    ks, methods = tuple(ks), tuple(methods)
    rows, require = read(table), options.pop("require", ())
    others = models_of(require) if require else ()
    losses: dict[str, list[float]] = {}
    for method in methods:
        used = {name: value for name, value in options.items() if method in _METHODS_OF_OPTION.get(name, (method,))}
        losses[method] = [anonymize(rows, require=[KAnonymity(k), *others], method=method, **used).loss for k in ks]
    return Losses(tuple(ks), losses)


def _class_codes(rows: CodedTable, target: str, labels: dict[str | None, int]) -> Codes:
    column = rows.column(target)
    return np.array([labels.get(value, -1) for value in column.texts] or [0], dtype=np.int32)[column.codes]


def _weights(cover: Cover, published: CodedTable) -> Floats:
    """Return the weight of each raw value for every published row: 1, divided among the values that it covers."""
    column = published.column(cover.name)
    by_label = np.zeros((len(cover.labels), len(cover.order)))
    for label, (low, high) in enumerate(zip(cover.low, cover.high, strict=True)):
        by_label[label, (cover.order >= low) & (cover.order <= high)] = 1 / (high - low + 1)
    label_of = {value: label for label, value in enumerate(cover.labels)}
    return np.asarray(by_label[np.array([label_of[value] for value in column.texts] or [0])[column.codes]])


def _accuracy(shares: Sequence[Floats], targets: Codes, tests: Sequence[Codes], truth: Codes, classes: int) -> float:
    if not len(truth) or not len(targets):
        return 0.0
    which = np.eye(classes)[targets]
    score = np.log(which.sum(axis=0) + 1)[None, :].repeat(len(truth), axis=0)
    for share, codes in zip(shares, tests, strict=True):
        counts = which.T @ share + 1
        score += np.log(counts / counts.sum(axis=1, keepdims=True)).T[codes]
    return float((score.argmax(axis=1) == truth).mean())
