"""`tc.audit`: a lower bound on ε from runs on two neighbouring inputs.

**Statement.** Let every run on an input be independent of all others. Then, whatever the release is, the probability
that `tc.audit` reports an `epsilon_lower` above an ε for which the release is (ε, δ)-DP on the audited pairs is at
most 1 - confidence. It does not matter when the audit stops.

**Proof.** *Looks.* The audit computes a bound after n_1 < … < n_K runs. These numbers are fixed before the first run:
`samples` and its halves, quarters and so on. Consider the audit that never stops. At look k the search half of the
first n_k runs fixes an event E and a direction; the event is a function of these runs alone. The other half is
independent of them. So the two counts of E on that half are independent of each other, and sums of independent
indicators of E. `binomial.epsilon_lower`, or `bands` for all thresholds, then gives a bound that is wrong with
probability at most α_k, given the search half, and so also without it. *Union.* With α_k = α/K some bound of a look
is wrong with probability at most α. The audit that stops early reports the bound of one of these looks, or the
largest of several. So whatever the rule that stops it, its bound is wrong only if one of these is.

*Pairs.* For a list of J pairs each has α/J. For an iterator, whose length is unknown, pair j = 1, 2, … has α/(j(j +
1)); these add up to α over all j. The report has the largest bound over pairs, which is wrong only if the bound of a
pair is.

*Post-processing.* Type, bits, exception and message are functions of the output, where an exception is an output;
`features` must be a deterministic function. A duration (`time=True`) is an output too: the claim is then about what a
caller with a clock observes. Durations inside an engine are not outputs.

*Drift.* Runs on the two inputs alternate in random order. If laws drift, let P_i and Q_i be those of pair i of runs:
(ε, δ)-DP at each moment gives it for the means of P_i(E) and Q_i(E), and `binomial` bounds these means. This needs
independence, not equality, of the runs.

**Float rounding.** `binomial` and `bands` round to the safe side; α, δ and the shares are rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic
from typing import Literal

import numpy as np

from tacit.arrays import Floats
from tacit.auditing.arguments import (
    MISSING,
    Claim,
    Pair,
    read_claim,
    read_error,
    read_function,
    read_pairs,
    read_runs,
    read_seconds,
    read_seed,
    reproduction,
)
from tacit.auditing.bands import best_threshold
from tacit.auditing.binomial import epsilon_lower
from tacit.auditing.events import Event
from tacit.auditing.power import ceiling, detectable
from tacit.auditing.report import AuditReport
from tacit.auditing.sampling import Recipe, Table, run_pairs
from tacit.auditing.search import find_event
from tacit.errors import InternalError, InvalidError, bad_value
from tacit.guarantees.exact import Number
from tacit.mechanisms.seeded import generator
from tacit.mechanisms.validation import flag

METHODS = ("clopper-pearson", "dkw")
_FIRST_LOOK, _BLOCK = 500, 8192


def audit(  # noqa: PLR0913 - the two inputs, the claim and the options
    release: Callable[..., object],
    on: object = MISSING,
    against: object = MISSING,
    *,
    pairs: Iterable[Pair] | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    samples: int = 100_000,
    confidence: Number = 0.999,
    method: Literal["clopper-pearson", "dkw"] = "clopper-pearson",
    features: Callable[[object], object] | None = None,
    messages: bool = False,
    time: bool = False,
    batched: bool = False,
    seconds: float | None = None,
    seed: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> AuditReport:
    """Return a lower bound on the ε of any release, from runs on two neighbouring inputs.

    The bound holds with the stated confidence, whatever the release does. A release that leaks in ways that no feature
    shows, or on other inputs, can pass.

    Args:
        release: a function of one input; it returns a number, text, array, dict or any other object, or raises.
        on: an input.
        against: a neighbouring input: one that differs in one unit.
        pairs: instead of `on` and `against`: several pairs (on, against), as a list or a generator. The confidence is
            divided among them.
        epsilon: the claimed ε. The audit then stops as soon as the claim is refuted.
        delta: the claimed δ.
        samples: the largest number of runs on each input of each pair.
        confidence: the probability with which the bound holds, from 0.5 on.
        method: "clopper-pearson" bounds one event; "dkw" bounds all thresholds of a number at once.
        features: a deterministic function of an output that returns a number, a text, or a dict of them, in place of
            tacit's features.
        messages: whether the texts of exceptions are outputs too; their types always are.
        time: whether the duration of a run is an output too.
        batched: whether `release(input, n)` returns n independent outputs at once, which is faster.
        seconds: start no further look after this time.
        seed: the seed of the order in which inputs are run; drawn if it is not given, and reported.
        progress: called with the number of finished runs, some at a time.

    Returns:
        A report with `epsilon_lower`, `verdict`, `event`, `confidence`, `samples`, `detectable` and `reproduce`.

    >>> import tacit as tc
    >>> fair = tc.Laplace(sensitivity=1, epsilon=1)
    >>> tc.audit(fair.release, 0, 1, epsilon=1, samples=2000).verdict
    'no violation found'
    >>> tc.audit(fair.release, 0, 3, epsilon=1, samples=20_000).verdict
    'violates'
    """
    recipe = Recipe(
        release=read_function(release, "release"),
        features=None if features is None else read_function(features, "features"),
        messages=flag(messages, "messages"),
        time=flag(time, "time"),
        batched=flag(batched, "batched"),
    )
    if recipe.batched and recipe.time:
        raise InvalidError("time and batched exclude each other.", argument="time", hint="Run one output at a time.")
    claim = read_claim(epsilon, delta)
    alpha = read_error(confidence)
    runs = read_runs(samples)
    limit = read_seconds(seconds)
    if method not in METHODS:
        raise bad_value("method", method, f"one of {', '.join(METHODS)}")
    shares = read_pairs(on, against, pairs, alpha)
    number = read_seed(seed)
    sizes = look_sizes(runs, sequential=claim.epsilon is not None or limit is not None)
    deadline = None if limit is None else monotonic() + limit
    plan = _Plan(recipe, claim, sizes, method, deadline, generator(number), progress)
    best, done, used = _audit_pairs(plan, shares)
    given: dict[str, object] = {
        "epsilon": epsilon,
        "delta": delta or None,
        "samples": samples,
        "confidence": confidence,
    }
    given["method"] = None if method == METHODS[0] else method
    given |= {"features": features, "messages": messages or None, "time": time or None, "batched": batched or None}
    call = reproduction(release, (on, against) if pairs is None else None, {**given, "seed": number})
    delta_read, base = claim.delta, 0.0 if claim.epsilon is None else float(claim.epsilon)
    return AuditReport(
        epsilon_lower=best.epsilon,
        delta=float(delta_read),
        confidence=float(1 - alpha),
        epsilon=None if claim.epsilon is None else base,
        samples=used,
        counts=best.counts,
        runs=best.runs,
        event=best.event,
        likelier="on" if best.on_first else "against",
        pair=best.pair,
        pairs=done,
        detectable=detectable(best.runs, base, delta=delta_read, error=best.error),
        ceiling=ceiling(best.runs, delta=delta_read, error=best.error),
        method=method,
        seed=number,
        reproduce=call,
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    recipe: Recipe
    claim: Claim
    sizes: tuple[int, ...]
    method: str
    deadline: float | None
    order: np.random.Generator
    progress: Callable[[int], object] | None

    def late(self) -> bool:
        return self.deadline is not None and monotonic() > self.deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    """The bound of one look."""

    epsilon: float
    event: Event
    on_first: bool
    counts: tuple[int, int]
    runs: int
    error: Fraction
    pair: int


def look_sizes(samples: int, *, sequential: bool) -> tuple[int, ...]:
    """Return the numbers of runs at which an audit looks.

    >>> look_sizes(10_000, sequential=True), look_sizes(10_000, sequential=False)
    ((625, 1250, 2500, 5000, 10000), (10000,))
    """
    sizes = [samples]
    while sequential and sizes[-1] >= 2 * _FIRST_LOOK:
        sizes.append(sizes[-1] // 2)
    return tuple(reversed(sizes))


def _audit_pairs(plan: _Plan, shares: Iterable[tuple[Pair, Fraction]]) -> tuple[_Bound, int, int]:
    """Return the best bound over pairs, the number of pairs, and the number of runs on each input."""
    best: _Bound | None = None
    done, used = 0, 0
    for number, (pair, share) in enumerate(shares):
        bound, runs = _audit_pair(plan, pair, share, number)
        done, used = done + 1, used + runs
        if best is None or bound.epsilon > best.epsilon:
            best = bound
        if plan.claim.refuted_by(best.epsilon) or plan.late():
            break
    if best is None:
        raise InvalidError("pairs is empty.", argument="pairs", hint="Give at least one pair (on, against).")
    return best, done, used


def _audit_pair(plan: _Plan, inputs: Pair, alpha: Fraction, number: int) -> tuple[_Bound, int]:
    """Return the best bound over the looks of a pair, and the number of runs on each input."""
    tables = (Table(), Table()), (Table(), Table())
    error = alpha / len(plan.sizes)
    best: _Bound | None = None
    used = 0
    for size in plan.sizes:
        while used < size:
            block = min(_BLOCK, size - used)
            for side, described in zip(tables, run_pairs(plan.recipe, inputs, block, plan.order), strict=True):
                side[0].add(described[used % 2 :: 2])
                side[1].add(described[1 - used % 2 :: 2])
            used += block
            if plan.progress is not None:
                plan.progress(block)
        bound = _look(plan, tables, error, number)
        if best is None or bound.epsilon >= best.epsilon:
            best = bound
        if plan.claim.refuted_by(best.epsilon) or plan.late():
            break
    if best is None:
        raise InternalError("an audit had no look.")
    return best, used


def _look(plan: _Plan, tables: tuple[tuple[Table, Table], tuple[Table, Table]], error: Fraction, number: int) -> _Bound:
    """Search the event on one half, and bound it on the other."""
    (search_first, bound_first), (search_second, bound_second) = tables
    bands = plan.method == "dkw"
    delta = plan.claim.delta
    found = find_event(search_first, search_second, delta=delta, error=error, numbers_only=bands)
    event = replace(found.event, observe=plan.recipe.describe)
    runs = bound_first.size
    if bands and found.score == float("-inf"):
        raise InvalidError("No output has a number.", argument="method", hint='Use method="clopper-pearson".')
    if bands:
        values = _values(event, bound_first), _values(event, bound_second)
        threshold = best_threshold(*values, delta=delta, error=error)
        interval = (threshold.at, float("inf")) if threshold.above else (float("-inf"), threshold.at)
        event = replace(event, intervals=(interval,), values=())
        on_first, epsilon = threshold.on_first, threshold.bound
    else:
        on_first = found.on_first
    counts = event.count(bound_first), event.count(bound_second)
    likely, unlikely = counts if on_first else counts[::-1]
    if not bands:
        epsilon = epsilon_lower((likely, runs), (unlikely, runs), delta=delta, error=error)
    return _Bound(
        epsilon=epsilon, event=event, on_first=on_first, counts=(likely, unlikely), runs=runs, error=error, pair=number
    )


def _values(event: Event, table: Table) -> Floats:
    if event.projection is None:
        return table.numbers(event.feature)
    sums = [event.projection.values(size, chunk) for size, chunk in table.chunks()]
    return np.concatenate(sums)
