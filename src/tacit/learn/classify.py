"""`db.classify`: a classifier of a table through its session, or from marginals that it released before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, inf
from typing import cast

import numpy as np

from tacit.errors import InvalidError, RefusedError, bad_value, show_name
from tacit.guarantees.exact import Number, fraction_between
from tacit.learn.columns import Label, PublicColumn
from tacit.learn.fitting import Fit, Method, Setting, budget_for, fit, noise_of_counts
from tacit.learn.intervals import Ends, cell_intervals, right_share
from tacit.learn.model import Accuracy, Classifier
from tacit.learn.noise_budget import NoiseBudget, concentrated_budget, pure_budget
from tacit.learn.private_sums import Layout, layout_of
from tacit.query.expressions import Expression
from tacit.query.formatting import count_text
from tacit.query.policy import TablePolicy
from tacit.query.results.intervals import read_confidence
from tacit.query.results.table import format_value
from tacit.safe_text import visible
from tacit.session import Session, unspent
from tacit.synthetic.coded_rows import CodedRows
from tacit.synthetic.cost import ReleaseCost, cost_of_release
from tacit.synthetic.domain import Bins, Domain, DomainColumn, check_usable, domain_of
from tacit.synthetic.reading import CodedRelease, release_coded
from tacit.synthetic.release_plan import ReleasePlan
from tacit.synthetic.row_filter import rows_of

METHODS = ("naive Bayes", "logistic regression")
ACCURACY_SHARE = Fraction(1, 20)
"""The share of the cost that `accuracy=True` spends."""
_TWO, _BYTES = 2, 8
_TABLES_AT_ONCE = 40
"""The arrays of a number for each cell and class that a fit needs at once, at most."""


@dataclass(frozen=True, kw_only=True)
class ClassifierRequest:
    """The arguments of `db.classify` besides the cost."""

    target: str
    features: Sequence[str] | None = None
    positive: object = None
    bins: Bins | None = None
    method: str | None = None
    accuracy: bool | Number | None = None
    where: str | None = None
    table: str | None = None
    reach: int | None = None
    confidence: float = 0.95

    @cached_property
    def share(self) -> Fraction:
        """The share of the cost for the accuracy."""
        if self.accuracy is None or self.accuracy is False:
            return Fraction(0)
        return ACCURACY_SHARE if self.accuracy is True else fraction_between(self.accuracy, "accuracy", 0, 1)

    @cached_property
    def chosen_method(self) -> Method | None:
        """The method, or None."""
        if self.method is not None and self.method not in METHODS:
            raise bad_value("method", self.method, f"{METHODS[0]!r} or {METHODS[1]!r}")
        return cast("Method | None", self.method)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A checked request: the domain, whose last column is the target, and the labels of the classes in order."""

    domain: Domain
    classes: tuple[Label, ...]
    layout: Layout

    @property
    def columns(self) -> tuple[PublicColumn, ...]:
        """The public columns of the features."""
        policy = self.domain.table
        return tuple(public_column(column, policy) for column in self.domain.columns[:-1])

    @property
    def setting(self) -> Setting:
        """The public part of the rows."""
        coded = self.domain.coded
        return Setting(self.layout, 1 << coded.bits, coded.reach, self.domain.table.neighbours)

    @property
    def question(self) -> str:
        """The task in words."""
        *features, target = self.domain.names
        return f"classifier of {self.domain.table.name}: {target} by {', '.join(features)}"


def release_classifier(
    session: Session,
    request: ClassifierRequest,
    *,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    key: str | None,
    plan: bool,
) -> Classifier | ReleasePlan:
    """Charge and fit a classifier, or return its plan."""
    with unspent():
        policy, where = rows_of(session, request.where, request.table)
        task = task_of(policy, where, request)
        read_confidence(request.confidence)
        cost = cost_of_release(session, epsilon=epsilon, delta=delta, rho=rho)
        method = _method(request, task)
        budget = _budget(cost, task.setting, request.share)
        task.setting.check(budget, request.share)
        memory = task.layout.cells * (task.layout.number + 1) * _BYTES * _TABLES_AT_ONCE
    if plan:
        return _plan(request, task, cost, budget, memory)

    def compute(rows: CodedRows) -> Mapping[str, object]:
        found = fit(rows, task.setting, budget, method=method, accuracy=request.share)
        return content_of(found, budget, request.confidence)

    release = release_coded(
        session,
        task.domain,
        events=(cost.event,),
        question=task.question,
        spec=_spec(request, task),
        compute=compute,
        memory=memory,
        key=key,
    )
    return _classifier(task, request, cost, release)


def task_of(policy: TablePolicy, where: Expression | None, request: ClassifierRequest) -> Task:
    """Return the domain and the classes of a request, or raise InvalidError."""
    target, bins = request.target, dict(request.bins or {})
    usable = [name for name, each in policy.columns.items() if not each.hidden and name != policy.unit]
    if target not in usable:
        check_usable(policy, [str(target)], "target")
    if target in bins or not _is_listed(policy, target):
        raise InvalidError(
            f"The target {show_name(target)} has no public values that can be classes.",
            argument="target",
            hint="List its keys in the policy, or classify a column that has keys or is boolean.",
        )
    features = _features(policy, request, usable)
    if target in features:
        fact = f"The features include the target {show_name(target)}."
        raise InvalidError(fact, argument="features", hint="Leave it out.")
    if not features:
        hint = "Add keys to the policy, or bins= for columns of numbers."
        raise InvalidError("There are no features: no other column has public values.", argument="features", hint=hint)
    domain = domain_of(policy, [*features, target], bins, request.reach, where)
    values = cast("tuple[Label, ...]", domain.columns[-1].coded.values)
    classes, places = _ordered(target, values, request.positive)
    codes = [*places, *[-1] * (domain.columns[-1].size - len(places))]
    layout = layout_of(domain.sizes, range(len(features)), len(features), codes)
    return Task(domain=domain, classes=classes, layout=layout)


def _is_listed(policy: TablePolicy, name: str) -> bool:
    return policy.columns[name].keys is not None or policy.columns[name].kind == "boolean"


def _features(policy: TablePolicy, request: ClassifierRequest, usable: Sequence[str]) -> list[str]:
    """Return the named features, or all columns with public values besides the target."""
    if isinstance(request.features, str):
        raise bad_value("features", request.features, 'a list of columns such as ["age", "sex"]')
    bins = request.bins or {}
    if request.features is not None:
        return list(request.features)
    return [name for name in usable if name != request.target and (name in bins or _is_listed(policy, name))]


def _ordered(target: str, values: Sequence[Label], positive: object) -> tuple[tuple[Label, ...], list[int]]:
    """Return the classes, the positive one last, and the place of each value among them."""
    if len(values) < _TWO:
        raise InvalidError(
            f"The target {show_name(target)} has one public value, and a classifier needs two.",
            argument="target",
            hint="List all its values in the policy.",
        )
    if positive is None:
        return tuple(values), list(range(len(values)))
    if len(values) > _TWO:
        fact = f"The target {show_name(target)} has {len(values)} public values; positive is for two."
        raise InvalidError(fact, argument="positive", hint="Leave it out: every value gets a probability.")
    if positive not in values:
        hint = f"Its values are {visible(', '.join(map(format_value, values)))}."
        raise bad_value("positive", positive, f"a public value of {show_name(target)}", hint=hint)
    first = 1 - list(values).index(cast("Label", positive))
    return (values[first], values[1 - first]), [0, 1] if first == 0 else [1, 0]


def public_column(column: DomainColumn, policy: TablePolicy) -> PublicColumn:
    """Return a column of a domain as one that codes the values of frames alike."""
    coded = column.coded
    if column.edges is None:
        return PublicColumn(column.name, cast("tuple[Label, ...]", coded.values), (), coded.missing, coded.other)
    plain, each = PublicColumn(column.name, (), column.edges, 0), policy.columns[column.name]
    missing = int(plain.codes([each.stand_in])[0]) if each.required else coded.missing
    return replace(plain, missing=missing, other=missing)


def _method(request: ClassifierRequest, task: Task) -> Method | None:
    method = request.chosen_method
    if method == METHODS[1] and task.layout.number > _TWO:
        hint = 'Leave out method, or use method="naive Bayes".'
        raise InvalidError("Logistic regression is for two classes.", argument="method", hint=hint)
    return method


def _budget(cost: ReleaseCost, setting: Setting, accuracy: Fraction) -> NoiseBudget:
    if cost.epsilon is None:
        return concentrated_budget(cost.rho)
    return budget_for(setting, cost.epsilon, cost.delta, accuracy) if cost.delta else pure_budget(cost.epsilon)


def _spec(request: ClassifierRequest, task: Task) -> dict[str, object]:
    return {
        "classifier": 2,
        "classes": [repr(label) for label in task.classes],
        "method": request.method,
        "accuracy": str(request.share),
        "confidence": request.confidence,
    }


def _plan(request: ClassifierRequest, task: Task, cost: ReleaseCost, budget: NoiseBudget, memory: int) -> ReleasePlan:
    noise = noise_of_counts(task.setting, budget) / float(1 - request.share) ** (0.5 if budget.law == "gaussian" else 1)
    many = task.layout.number > _TWO
    notes = [
        "More than two classes: naive Bayes." if many else "The noisy number of rows decides between the methods.",
        f"A column helps if each of its values has many more than {count_text(ceil(noise), 'row')}.",
    ]
    if request.share:
        notes.append(
            f"The accuracy gets {float(request.share):.0%} of the cost; it is measured on the rows of the fit."
        )
    error = {"a count by class (σ), at the whole cost": noise}
    return ReleasePlan(
        question=task.question,
        cost=cost.guarantee,
        error=error,
        memory=memory,
        notes=tuple(notes),
        events=(cost.event,),
    )


def content_of(found: Fit, budget: NoiseBudget, confidence: float) -> dict[str, object]:
    """Return a fit as JSON; nothing in it raises, whatever the rows were."""
    laplace = budget.law == "laplace"
    ends = None
    if found.method == METHODS[0]:
        number = len(found.tables.classes)
        wanted = [1] if number == _TWO else range(number)
        intervals = [cell_intervals(found.tables, cls, confidence, laplace=laplace) for cls in wanted]
        ends = [[[_text(low), _text(high)] for low, high in row] for row in intervals]
    accuracy = None
    if found.right is not None:
        value, (low, high) = right_share(found.right, 1 - confidence, laplace=laplace)
        accuracy = [value, low, high]
    return {
        "weights": np.nan_to_num(found.weights).tolist(),
        "intercepts": np.nan_to_num(found.intercepts).tolist(),
        "method": found.method,
        "rows": float(np.nan_to_num(found.tables.size)),
        "intervals": ends,
        "accuracy": accuracy,
    }


def _text(end: float) -> float | str:
    """Return an end of an interval for JSON, which has no infinity."""
    return "inf" if end == inf else "-inf" if end == -inf else end


def _classifier(task: Task, request: ClassifierRequest, cost: ReleaseCost, release: CodedRelease) -> Classifier:
    content = release.content
    ends = cast("list[list[list[float | str]]] | None", content["intervals"])
    accuracy = cast("list[float] | None", content["accuracy"])
    measured = None
    if accuracy is not None:
        value, low, high = accuracy
        measured = Accuracy(value=value, interval=(low, high), confidence=request.confidence)
    return Classifier(
        columns=task.columns,
        classes=task.classes,
        weights=np.array(content["weights"], dtype=np.float64),
        intercepts=np.array(content["intercepts"], dtype=np.float64),
        method=str(content["method"]),
        cost=cost.guarantee,
        rows=cast("float", content["rows"]),
        ends=None if ends is None else tuple(tuple(_ends(pair) for pair in row) for row in ends),
        confidence=request.confidence,
        accuracy=measured,
        receipt=release.receipt,
        repeated=release.repeated,
    )


def _ends(pair: Sequence[float | str]) -> Ends:
    low, high = (float(end) for end in pair)
    return low, high


def refuse_costs(request: ClassifierRequest, costs: Mapping[str, object]) -> None:
    """Raise for options that a classifier from marginals does not have: it reads nothing and costs nothing."""
    given = {"where": request.where, "table": request.table, "reach": request.reach, "bins": request.bins, **costs}
    for name, value in given.items():
        if value is not None:
            hint = "The marginals have fixed it; leave it out."
            raise InvalidError(f"{name} cannot be combined with marginals.", argument=name, hint=hint)
    if request.share:
        raise RefusedError("Marginals cannot estimate the accuracy, which needs rows.", hint="Leave out accuracy.")
