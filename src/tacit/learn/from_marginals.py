"""A classifier from a release of `db.marginals`: ridge regression or naive Bayes at no further cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol, cast

import numpy as np

from tacit.arrays import Floats
from tacit.errors import InvalidError, TacitError, bad_value
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.learn.classify import METHODS, ClassifierRequest, Task, task_of
from tacit.learn.model import Classifier
from tacit.learn.pair_ridge import Pairs, naive_bayes_from_pairs, ridge_from_pairs
from tacit.synthetic.domain import Domain

RIDGE = "ridge"


class _Release(Protocol):
    domain: Domain


class _Marginal(Protocol):
    counts: Floats
    variance: float
    release: _Release
    cost: PureDP | ApproxDP | ZCDP


def classifier_of_marginals(marginals: object, request: ClassifierRequest) -> Classifier:
    """Return ridge regression if the marginals have all pairs, otherwise naive Bayes from those with the target.

    Args:
        marginals: the release of `db.marginals`; `m["a", "b"]` has the counts of a pair and their variance.
        request: the target, the features and the method.
    """
    names = _names(marginals, request)
    pairs: dict[tuple[int, int], Floats] = {}
    variances: dict[tuple[int, int], float] = {}
    last = len(names) - 1
    table: _Marginal | None = None
    for one, two in combinations(range(len(names)), 2):
        found = _marginal(marginals, names[one], names[two], needed=two == last)
        if found is not None:
            table = found
            pairs[one, two], variances[one, two] = np.asarray(found.counts, dtype=np.float64), float(found.variance)
    if table is None:
        raise InvalidError(
            "There are no features.", argument="features", hint="Release pairs of columns with the target."
        )
    domain = table.release.domain
    task = _task(domain, names, request)
    method = _method(request, task, complete=len(pairs) == len(names) * last // 2)
    return _fitted(task, method, pairs, variances, table, request)


def _names(marginals: object, request: ClassifierRequest) -> list[str]:
    """Return the features and, last, the target."""
    features = request.features
    if features is None:
        domain = cast("Domain | None", getattr(getattr(marginals, "release", marginals), "domain", None))
        if domain is None:
            raise bad_value("marginals", marginals, "the answer of db.marginals")
        features = [name for name in domain.names if name != request.target]
    if isinstance(features, str) or request.target in features:
        raise bad_value("features", features, "a list of columns without the target")
    return [*features, request.target]


def _marginal(marginals: object, one: str, two: str, *, needed: bool) -> _Marginal | None:
    """Return the marginal of a pair, or None if it was not released."""
    try:
        return cast("_Marginal", marginals[one, two])  # type: ignore[index]
    except (TacitError, KeyError):
        if needed:
            fact = f"The marginals do not have the pair ({one!r}, {two!r})."
            hint = "Name the features whose pairs with the target were released."
            raise InvalidError(fact, argument="marginals", hint=hint) from None
        return None
    except TypeError:
        raise bad_value("marginals", type(marginals).__name__, "the answer of db.marginals") from None


def _task(domain: Domain, names: Sequence[str], request: ClassifierRequest) -> Task:
    bins = {column.name: column.edges for column in domain.columns if column.name in names and column.edges is not None}
    wanted = ClassifierRequest(
        target=request.target, features=list(names[:-1]), positive=request.positive, bins=bins, reach=domain.reach
    )
    return task_of(domain.table, domain.where, wanted)


def _method(request: ClassifierRequest, task: Task, *, complete: bool) -> str:
    if request.method not in (None, METHODS[0], RIDGE):
        raise bad_value("method", request.method, f"None, {RIDGE!r} or {METHODS[0]!r} with marginals")
    able = complete and task.layout.number == 2  # noqa: PLR2004
    if request.method == RIDGE and not able:
        fact = "Ridge regression needs the marginals of all pairs, and a target with two values."
        raise InvalidError(fact, argument="method", hint='Leave out method, or use "naive Bayes".')
    return RIDGE if able and request.method != METHODS[0] else METHODS[0]


def _fitted(
    task: Task,
    method: str,
    pairs: Pairs,
    variances: dict[tuple[int, int], float],
    table: _Marginal,
    request: ClassifierRequest,
) -> Classifier:
    if method == RIDGE:
        found = ridge_from_pairs(pairs, variances, task.domain.sizes, task.layout.target, task.layout.classes)
    else:
        found = naive_bayes_from_pairs(pairs, variances, task.layout)
    return Classifier(
        columns=task.columns,
        classes=task.classes,
        weights=np.nan_to_num(found.weights),
        intercepts=np.nan_to_num(found.intercepts),
        method=method,
        cost=table.cost,
        rows=found.rows,
        confidence=request.confidence,
        repeated=True,
    )
