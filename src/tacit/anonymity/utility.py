"""How useful a published table still is: a classifier trained on it, tried on raw rows that it has not seen.

Naive Bayes over categories: it reads a published value as the set of raw values that it covers, so that training on
"20-39" teaches something about 27. With aᵥ the raw values under a published value v, a published row adds 1/aᵥ to each
of them; one is added to every count (Laplace's rule). The same classifier trained on the raw rows, and the most
frequent class, stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import plots
from tacit.anonymity.models import KAnonymity, models_of
from tacit.anonymity.outcome import Anonymized
from tacit.anonymity.recoded import Cover
from tacit.anonymity.recoding import raw_codes
from tacit.anonymity.search import METHODS, Method, anonymize
from tacit.anonymity.tables import Table, read
from tacit.arrays import Codes, Floats
from tacit.errors import InvalidError, show

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of unseen rows whose class is guessed rightly.

    Attributes:
        published: after training on the published table.
        raw: after training on the raw rows.
        guess: by the most frequent class alone.
    """

    published: float
    raw: float
    guess: float


@dataclass(frozen=True, slots=True)
class Losses:
    """The loss of every method at every k."""

    ks: tuple[int, ...]
    losses: dict[str, list[float]]

    def plot(self) -> alt.LayerChart:
        """Draw the loss against k, a line for each method."""
        return plots.loss_by_k(self.ks, self.losses)


def accuracy(out: Anonymized, train: object, unseen: object, target: str, *, sep: str | None = None) -> Accuracy:
    """Return how well a classifier trained on a published table tells the target of raw rows that it has not seen.

    Args:
        out: what was published.
        train: the raw rows that it was made from.
        unseen: other raw rows, with the same columns.
        target: the column to be told; published, and no quasi-identifier.
        sep: what separates the cells of CSV files.

    Raises:
        InvalidError: a column is missing, or the target is a quasi-identifier.
    """
    if not isinstance(out, Anonymized):
        raise InvalidError("out", show(out), "what `anonymize` returned")
    first, second = read(train, sep=sep), read(unseen, sep=sep)
    covers = out.recoding.covers
    if target in {cover.name for cover in covers}:
        raise InvalidError("target", repr(target), "a column that is no quasi-identifier")
    labels = {value: code for code, value in enumerate(first.column(target).texts)}
    truth = _told(second, target, labels)
    tests = [raw_codes(cover.tree, second, cover.name) for cover in covers]
    published = read(out.table)
    shares = [_weights(cover, published) for cover in covers]
    raw = [np.eye(len(cover.tree.rows))[raw_codes(cover.tree, first, cover.name)] for cover in covers]
    ours, theirs = _told(published, target, labels), _told(first, target, labels)
    most = int(np.bincount(theirs, minlength=len(labels)).argmax())
    return Accuracy(
        _right(shares, ours, tests, truth, len(labels)),
        _right(raw, theirs, tests, truth, len(labels)),
        float((truth == most).mean()) if len(truth) else 0.0,
    )


def loss_by_k(
    table: object,
    *,
    ks: Sequence[int] = (2, 5, 10, 25, 50, 100),
    methods: Sequence[Method] = METHODS,
    **ask: Any,  # noqa: ANN401 - what `anonymize` takes
) -> Losses:
    """Return the loss of every method at every k, to be shown or drawn.

    >>> rows = {"age": list(range(20, 60)) * 2}
    >>> loss_by_k(rows, ks=(2, 4), quasi=["age"]).losses["optimal"][0]
    0.0

    Args:
        table: the raw rows.
        ks: the values of k.
        methods: some of "optimal", "local" and "mondrian".
        ask: what `anonymize` takes; `require` adds to k.
    """
    for name, listed in (("ks", ks), ("methods", methods)):
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise InvalidError(name, show(listed), "a list")
    ks, methods = tuple(ks), tuple(methods)
    rows, given = read(table), ask.pop("require", ())
    more = models_of(given) if given else ()
    found: dict[str, list[float]] = {
        method: [anonymize(rows, require=[KAnonymity(k), *more], method=method, **ask).loss for k in ks]
        for method in methods
    }
    return Losses(tuple(ks), found)


def _told(rows: Table, target: str, labels: dict[str | None, int]) -> Codes:
    column = rows.column(target)
    return np.array([labels.get(value, -1) for value in column.texts] or [0], dtype=np.int32)[column.codes]


def _weights(cover: Cover, published: Table) -> Floats:
    """Return for every published row how much it says of each raw value: 1 spread over those that it covers."""
    column = published.column(cover.name)
    by_label = np.zeros((len(cover.labels), len(cover.place)))
    for label, (low, high) in enumerate(zip(cover.low, cover.high, strict=True)):
        by_label[label, (cover.place >= low) & (cover.place <= high)] = 1 / (high - low + 1)
    place = {value: label for label, value in enumerate(cover.labels)}
    return np.asarray(by_label[np.array([place[value] for value in column.texts] or [0])[column.codes]])


def _right(shares: Sequence[Floats], targets: Codes, tests: Sequence[Codes], truth: Codes, classes: int) -> float:
    if not len(truth) or not len(targets):
        return 0.0
    which = np.eye(classes)[targets]
    score = np.log(which.sum(axis=0) + 1)[None, :].repeat(len(truth), axis=0)
    for share, codes in zip(shares, tests, strict=True):
        counts = which.T @ share + 1
        score += np.log(counts / counts.sum(axis=1, keepdims=True)).T[codes]
    return float((score.argmax(axis=1) == truth).mean())
