"""`db.marginals` through a session: check and price, then charge, read and measure; or plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np

from tacit.errors import RefusedError
from tacit.guarantees.exact import Number
from tacit.query.formatting import percent
from tacit.query.results.intervals import read_confidence
from tacit.session import Session
from tacit.synthetic.coded_rows import CodedRows
from tacit.synthetic.cost import ReleaseCost, cost_of_release
from tacit.synthetic.domain import Bins, Domain, domain_of
from tacit.synthetic.gaussian_marginals import gaussian_marginals
from tacit.synthetic.joint_counts import joint_groups, largest_sets
from tacit.synthetic.laplace_marginals import laplace_marginals
from tacit.synthetic.marginal_parts import MarginalNoise, variance_of
from tacit.synthetic.marginal_release import Columns, Integers, subsets
from tacit.synthetic.marginal_request import Weights, check_choice, read_marginals, requested_sets
from tacit.synthetic.marginal_table import MarginalRelease
from tacit.synthetic.marginals import Marginals, domain_notes
from tacit.synthetic.reading import CodedRelease, check_need, release_coded
from tacit.synthetic.release_plan import ReleasePlan
from tacit.synthetic.row_filter import rows_of

_CELL_BYTES, _SET_BYTES, _COUNT_BYTES = 400, 4_000, 32
_MOST_SETS, _MOST_NAMED = 100_000, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalsQuestion:
    """The arguments of `db.marginals`."""

    marginals: object = None
    ways: object = None
    columns: Sequence[str] | None = None
    weights: Weights | None = None
    bins: Bins | None = None
    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    where: str | None = None
    table: str | None = None
    reach: int | None = None
    confidence: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMarginals:
    """A question that was checked and priced; nothing was read or spent."""

    domain: Domain
    requested: tuple[tuple[str, ...], ...]
    sets: Mapping[Columns, float]
    noise: MarginalNoise
    cost: ReleaseCost
    confidence: float
    memory: int
    text: str

    @property
    def plan(self) -> ReleasePlan:
        """The plan: the largest error of a cell of each marginal, and the memory."""
        release = MarginalRelease(self.domain, self.noise, {}, self.cost.guarantee, self.confidence)
        errors = {
            ", ".join(names): release.error(columns) for names, columns in zip(self.requested, self.sets, strict=True)
        }
        law = (
            "discrete Gaussian noise on residuals"
            if self.noise.law == "gaussian"
            else "discrete Laplace noise on counts"
        )
        notes = (
            f"Each error holds for one cell with {percent(self.confidence)} confidence.",
            f"The noise is {law}.",
            *domain_notes(release),
        )
        return ReleasePlan(
            question=self.text,
            cost=self.cost.guarantee,
            error=errors,
            memory=self.memory,
            notes=notes,
            events=(self.cost.event,),
        )


def prepare(session: Session, question: MarginalsQuestion) -> PreparedMarginals:
    """Check and price a question; call it under `unspent()`."""
    confidence = read_confidence(question.confidence)
    policy, where = rows_of(session, question.where, question.table)
    listed = read_marginals(question.marginals)
    check_choice(listed, question.ways, question.columns, question.bins or {})
    names = question.columns if listed is None else list(dict.fromkeys(name for each in listed for name in each))
    domain = domain_of(policy, names, question.bins, question.reach, where)
    sets = requested_sets(domain.names, listed, question.ways, question.weights)
    memory = _checked_need(session, domain, sets)
    noise, cost = _noise(session, question, domain, sets)
    shown = [tuple(domain.names[place] for place in each) for each in sets] if listed is None else listed
    return PreparedMarginals(
        domain=domain,
        requested=tuple(shown),
        sets=sets,
        noise=noise,
        cost=cost,
        confidence=confidence,
        memory=memory,
        text=_text(question, domain, shown),
    )


def answer(session: Session, prepared: PreparedMarginals, request: str | None) -> Marginals:
    """Charge, read the rows once, and return the marginals; or return the recorded ones."""
    noise = prepared.noise

    def compute(rows: CodedRows) -> Mapping[str, object]:
        return {"noisy": [[columns, values.ravel().tolist()] for columns, values in noise.measure(rows).items()]}

    amounts = [[list(columns), str(amount)] for columns, amount in noise.amounts.items()]
    charged = release_coded(
        session,
        prepared.domain,
        events=(prepared.cost.event,),
        question=prepared.text,
        spec={"law": noise.law, "amounts": amounts},
        compute=compute,
        key=request,
    )
    parts = noise.parts(_noisy(charged, prepared.domain.sizes))
    release = MarginalRelease(prepared.domain, noise, parts, prepared.cost.guarantee, prepared.confidence)
    return Marginals(release, prepared.requested, charged)


def _noisy(charged: CodedRelease, sizes: Columns) -> dict[Columns, Integers]:
    """Return the noisy integers of a release, as arrays."""
    recorded = cast("list[tuple[list[int], list[int]]]", charged.content["noisy"])
    return {
        tuple(columns): np.array(values, dtype=object).reshape([sizes[column] for column in columns])
        for columns, values in recorded
    }


def _checked_need(session: Session, domain: Domain, sets: Mapping[Columns, float]) -> int:
    """Return the bytes that the release needs, or raise RefusedError if there are too many sets or cells."""
    largest, sizes = largest_sets(sets), domain.sizes
    bound = sum(2 ** len(columns) for columns in largest)
    if bound > _MOST_SETS:
        raise RefusedError(
            f"The marginals have about {bound:,} subsets of columns, more than {_MOST_SETS:,}.",
            hint="Ask for fewer marginals, or for marginals of fewer columns.",
        )
    every = {subset for columns in largest for subset in subsets(columns, sizes)}
    cells = sum(prod(sizes[c] for c in subset) for subset in every)
    table = max(prod(sizes[c] for c in group) for group in joint_groups(largest, sizes))
    need = _CELL_BYTES * cells + _SET_BYTES * len(every) + _COUNT_BYTES * table
    check_need(session, need, f"marginals with {cells:,} cells in all")
    return need


def _noise(
    session: Session, question: MarginalsQuestion, domain: Domain, sets: Mapping[Columns, float]
) -> tuple[MarginalNoise, ReleaseCost]:
    """Return the noise of the smaller weighted sum of variances, and its cost."""
    cost = cost_of_release(session, epsilon=question.epsilon, delta=question.delta or None, rho=question.rho)
    scale = 1 << domain.coded.bits
    steps, by = domain.reach * scale, domain.table.neighbours
    found: list[tuple[MarginalNoise, ReleaseCost]] = []
    if cost.epsilon is not None:
        pure = cost_of_release(session, epsilon=question.epsilon, delta=None, rho=None)
        found.append((laplace_marginals(sets, domain.sizes, steps, scale, cost.epsilon, by), pure))
    if cost.rho > 0:
        found.append((gaussian_marginals(sets, domain.sizes, steps, scale, cost.rho, by), cost))
    return min(found, key=lambda each: _weighted_variance(each[0], sets))


def _weighted_variance(noise: MarginalNoise, sets: Mapping[Columns, float]) -> float:
    """Return the sum of the variances of all cells of all marginals, with their weights."""
    total = 0.0
    for columns, weight in sets.items():
        cells = prod(noise.sizes[column] for column in columns)
        total += weight * cells * variance_of(noise.variances, noise.sizes, columns, [1] * len(columns))
    return total


def _text(question: MarginalsQuestion, domain: Domain, requested: Sequence[tuple[str, ...]]) -> str:
    """Return the question as the ledger records it."""
    if question.marginals is None:
        what = f"all sets of at most {question.ways} of {', '.join(domain.names)}"
    else:
        what = ", ".join(f"({', '.join(names)})" for names in requested[:_MOST_NAMED])
        what += f" and {len(requested) - _MOST_NAMED:,} more" if len(requested) > _MOST_NAMED else ""
    return f"marginals of {domain.table.name}: {what}" + (f" where {question.where}" if question.where else "")
