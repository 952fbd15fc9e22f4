"""The verb that fits a private classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

from tacit.database_verbs.base import SessionVerbs, is_plan
from tacit.errors import InvalidError
from tacit.guarantees.exact import Number
from tacit.session import unspent

if TYPE_CHECKING:
    from tacit.learn.columns import Label
    from tacit.learn.model import Classifier
    from tacit.synthetic.domain import Bins
    from tacit.synthetic.release_plan import ReleasePlan


class ClassifierVerbs(SessionVerbs):
    """The verb that fits a classifier, or plans it."""

    @overload
    def classify(
        self,
        target: str,
        features: Sequence[str] | None = None,
        *,
        positive: Label | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        bins: Bins | None = None,
        method: str | None = None,
        accuracy: bool | Number | None = None,
        where: str | None = None,
        table: str | None = None,
        reach: int | None = None,
        confidence: float = 0.95,
        marginals: object = None,
        request: str | None = None,
        plan: Literal[False] = False,
    ) -> Classifier: ...
    @overload
    def classify(
        self,
        target: str,
        features: Sequence[str] | None = None,
        *,
        positive: Label | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        bins: Bins | None = None,
        method: str | None = None,
        accuracy: bool | Number | None = None,
        where: str | None = None,
        table: str | None = None,
        reach: int | None = None,
        confidence: float = 0.95,
        plan: Literal[True],
    ) -> ReleasePlan: ...
    def classify(  # noqa: PLR0913 - one for each option
        self,
        target: str,
        features: Sequence[str] | None = None,
        *,
        positive: Label | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        bins: Bins | None = None,
        method: str | None = None,
        accuracy: bool | Number | None = None,
        where: str | None = None,
        table: str | None = None,
        reach: int | None = None,
        confidence: float = 0.95,
        marginals: object = None,
        request: str | None = None,
        plan: bool = False,
    ) -> Classifier | ReleasePlan:
        """Fit a classifier that predicts a column: a scikit-learn estimator whose privacy is proved.

        Every column needs public values: listed keys, booleans, or `bins` for a number. A row whose target is missing
        or not listed does not count. With δ the noise is Gaussian, without it is Laplace noise. A target of more than
        two values gets naive Bayes.

        Args:
            target: the column to predict; its public values are the classes.
            features: the columns to predict from; by default all others with public values or bins.
            positive: the value whose log-odds the scores are; by default the second public value.
            epsilon: ε of the whole classifier.
            delta: δ of the whole classifier.
            rho: ρ instead of ε, for a budget in zCDP.
            bins: for columns of numbers, the edges of bins or the number of bins between the bounds.
            method: "naive Bayes" or "logistic regression"; by default the noisy number of rows decides.
            accuracy: whether to estimate the accuracy too, on the rows of the fit, with 1/20 of the cost; or the share.
            where: a condition in SQL.
            table: one of several tables.
            reach: the largest number of rows of one unit that count.
            confidence: the probability with which an interval holds.
            marginals: a release of `db.marginals`; the classifier is computed from it and costs nothing.
            request: a name for this classifier, so that a repeat is free; as for `sql`.
            plan: whether to return the cost and the expected noise, and spend nothing.
        """
        from tacit.learn.classify import ClassifierRequest, refuse_costs, release_classifier  # noqa: PLC0415 - heavy

        with unspent():
            planned = is_plan(plan, {"request": request})
            wanted = ClassifierRequest(
                target=target,
                features=features,
                positive=positive,
                bins=bins,
                method=method,
                accuracy=accuracy,
                where=where,
                table=table,
                reach=reach,
                confidence=confidence,
            )
            if marginals is not None:
                from tacit.learn.from_marginals import classifier_of_marginals  # noqa: PLC0415 - heavy

                refuse_costs(wanted, {"epsilon": epsilon, "delta": delta, "rho": rho, "request": request})
                if planned:
                    raise InvalidError("A classifier of marginals needs no plan: it costs nothing.", argument="plan")
                return classifier_of_marginals(marginals, wanted)
        return release_classifier(
            self._session, wanted, epsilon=epsilon, delta=delta, rho=rho, key=request, plan=planned
        )
