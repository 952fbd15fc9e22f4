"""`tc.audit_one_run`: a lower bound on ε from one run of an expensive mechanism, such as the training of a model.

Steinke, Nasr and Jagielski (Privacy Auditing with One (1) Training Run, NeurIPS 2023, arXiv:2305.08846v1): a fair
coin decides for each of m canaries whether it is in the data. The mechanism runs once. The auditor guesses some of
the coins from the output and counts correct guesses.

**Theorem.** Let M be (ε, δ)-DP under adding or removing one canary, S ∈ {0, 1}^m uniform, and T a guess of r of the
coins that is a function of the output of M(S) (and of independent randomness). Let V be the number of correct
guesses. For q = e^ε/(1 + e^ε) and every v,

    Pr[V ≥ v] ≤ Pr[Bin(r, q) ≥ v] + m·δ/(1 + e^ε).

For δ = 0 this is their bound. Their term for δ > 0 differs; the one above is proved here.

**Proof.** Reveal the coins one by one. Fix a prefix s = (S_1, …, S_{i-1}). The output and T have law p_b given s and
S_i = b; p_0 and p_1 are mixtures over the later coins of laws of neighbours, so they are (ε, δ)-close in both
directions. Given s and T = t with t_i = b, the guess of coin i is correct with probability p_b(t)/(p_0(t) + p_1(t)) ≤
q + x, x = (p_b(t)/(p_0(t) + p_1(t)) - q)₊. Average x over t, whose law given s is (p_0 + p_1)/2: since q = e^ε/(1 +
e^ε),

    E[x] = ½·Σ_t (p_b(t) - q·(p_0(t) + p_1(t)))₊
         = ½/(1 + e^ε)·Σ_t (p_b(t) - e^ε·p_{1-b}(t))₊ ≤ ½/(1 + e^ε)·2δ = δ/(1 + e^ε),

where b = t_i, so that the sum has two parts, each at most δ. Draw U_i uniform and independent of T and s, and let
guess i be correct if U_i is below its probability. Then V ≤ W + F: W counts U_i < q among the r guesses, and F counts
q ≤ U_i < q + x_i. Given T, W is Bin(r, q), for every T with r guesses. Pr[F ≥ 1] ≤ E[F] ≤ m·δ/(1 + e^ε). So Pr[V ≥ v]
≤ Pr[W ≥ v] + Pr[F ≥ 1]. ∎

**Use.** The coins come from NumPy's generator with a seed that is drawn from the operating system if it is not given
(so S is uniform, up to telling that generator from ideal coins), and reach nothing but the data. `score` sees the
output and one canary, not the coins. T guesses "in" for the r/2 canaries with the highest scores and "out" for the
r/2 with the lowest; ties are broken by the number of the canary, which is independent of the coins. The numbers r are
fixed beforehand: all m, half of them, and so on (J numbers), and each has the error α/J. If for some ε the right side
is at most α/J at the observed v, then M is not (ε, δ)-DP, nor (ε', δ)-DP for any ε' < ε, with an error of α/J. So the
bound is the largest such ε. With δ = 0 it is ln(p/(1 - p)), p the lower bound of `binomial` for v of r. With δ > 0
let ε₀ be any number, and ε₁ the bound from the error α/J - m·δ/(1 + e^ε₀), if that is > 0. If ε₁ ≥ ε₀, then ε₁ is
valid, since Pr[Bin(r, q) ≥ v] + m·δ/(1 + e^ε₁) ≤ α/J. `_STARTS` has the tried ε₀. The bound e^ε₀ ≥ 1 + ε₀ + ε₀²/2 is
exact, so no exponential is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from operator import itemgetter

import numpy as np

from tacit.arrays import Bools, Floats, Ints
from tacit.auditing.arguments import Claim, read_claim, read_error, read_function, read_seed
from tacit.auditing.binomial import log_down, lower_probability, rounded_down
from tacit.auditing.report import guarantee_text, sure_text, verdict_of, versions
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import Number
from tacit.mechanisms.seeded import generator
from tacit.notebook import ShownAsLines

_STARTS = tuple(Fraction(k, 4) for k in range(41))
_FEWEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRunReport(ShownAsLines):
    """The result of `tc.audit_one_run`.

    Attributes:
        epsilon_lower: the mechanism is not (ε, δ)-DP for any ε below this, with this confidence.
        delta: the δ at which ε is bounded.
        confidence: the probability with which the bound holds.
        epsilon: the claimed ε, or None.
        verdict: "violates", "no violation found", or "no claim".
        canaries: the number of canaries.
        guesses: the number of guesses that gave the bound.
        correct: the number of correct ones among them.
        ceiling: the bound if every guess were correct.
        seed: the seed of the coins.
        versions: the versions on which the audit depends.
    """

    epsilon_lower: float
    delta: float
    confidence: float
    epsilon: float | None
    canaries: int
    guesses: int
    correct: int
    ceiling: float
    seed: int
    versions: str = field(default_factory=versions)

    @property
    def verdict(self) -> str:
        """The verdict on the claim."""
        return verdict_of(self.epsilon_lower, self.epsilon)

    @property
    def violates(self) -> bool:
        """True if the claim is refuted."""
        return self.verdict == "violates"

    def __str__(self) -> str:
        """Return the report in words."""
        bound = f"ε ≥ {rounded_down(self.epsilon_lower)}" + (f" at δ = {self.delta:.12g}" if self.delta else "")
        sure = sure_text(self.confidence)
        claim = "" if self.epsilon is None else guarantee_text(self.epsilon, self.delta)
        verdict = {
            "violates": f"The mechanism violates {claim}: {bound} {sure}.",
            "no violation found": f"No violation of {claim} was found. The bound is {bound} {sure}.",
            "no claim": f"{bound} {sure}.",
        }[self.verdict]
        return (
            f"{verdict}\nGuesses: {self.correct:,} of {self.guesses:,} were correct, for {self.canaries:,} canaries in "
            f"one run.\nLargest possible bound: ε ≥ {rounded_down(self.ceiling)} with this number of canaries.\n"
            f"Reproduce the coins with seed={self.seed} ({self.versions}). The noise itself differs from run to run."
        )


def audit_one_run(
    mechanism: Callable[[list[object]], object],
    canaries: Sequence[object],
    *,
    score: Callable[[object, object], float],
    data: Sequence[object] = (),
    epsilon: Number | None = None,
    delta: Number = 0,
    confidence: Number = 0.95,
    seed: int | None = None,
) -> OneRunReport:
    """Return a lower bound on the ε of a mechanism from one run with many canaries.

    Args:
        mechanism: a function of a list of records; it runs once.
        canaries: records; a fair coin includes each. The claim is about adding or removing one of them.
        score: a function of the output and one canary; high if the canary seems to be in the data.
        data: further records, always included.
        epsilon: the claimed ε.
        delta: the claimed δ.
        confidence: the probability with which the bound holds, from 0.5 on.
        seed: the seed of the coins; drawn if it is not given, and reported.

    >>> import tacit as tc
    >>> noise = tc.Laplace(sensitivity=1, epsilon=1)
    >>> def tally(records): # each record changes a count of its own by 1: ε = 1
    ...     return noise.release([records.count(place) for place in range(1000)])
    >>> r = tc.audit_one_run(tally, range(1000), score=lambda out, place: out[place], epsilon=1)
    >>> r.verdict, r.epsilon_lower > 0
    ('no violation found', True)
    """
    run, rate = read_function(mechanism, "mechanism"), read_function(score, "score")
    claim, alpha, number = read_claim(epsilon, delta), read_error(confidence), read_seed(seed)
    if isinstance(canaries, (str, bytes)) or not isinstance(canaries, (Sequence, np.ndarray)):
        raise bad_value("canaries", canaries, "a list of records")
    if len(canaries) < _FEWEST:
        raise InvalidError(
            f"There are {len(canaries)} canaries.", argument="canaries", hint="Use hundreds or thousands; 4 at least."
        )
    coins = generator(number).integers(0, 2, len(canaries)).astype(bool)
    output = run([*data, *(canary for canary, coin in zip(canaries, coins, strict=True) if coin)])
    scores = np.array([_score(rate(output, canary)) for canary in canaries], dtype=np.float64)
    sizes = guess_sizes(len(canaries))
    error = alpha / len(sizes)

    def bound(correct: int, guesses: int) -> float:
        return one_run_bound(correct, guesses, len(canaries), delta=claim.delta, error=error)

    counts = [(guesses, correct_guesses(scores, coins, guesses)) for guesses in sizes]
    best = max(((bound(correct, guesses), guesses, correct) for guesses, correct in counts), key=itemgetter(0))
    ceiling = max(bound(guesses, guesses) for guesses in sizes)
    return _report(claim, float(1 - alpha), len(canaries), best, ceiling, number)


def _report(
    claim: Claim, confidence: float, canaries: int, best: tuple[float, int, int], ceiling: float, seed: int
) -> OneRunReport:
    bound, guesses, correct = best
    return OneRunReport(
        epsilon_lower=bound,
        delta=float(claim.delta),
        confidence=confidence,
        epsilon=None if claim.epsilon is None else float(claim.epsilon),
        canaries=canaries,
        guesses=guesses,
        correct=correct,
        ceiling=ceiling,
        seed=seed,
    )


def _score(value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]  # checked by float itself
    except (TypeError, ValueError):
        raise bad_value("score", value, "a function that returns a number") from None
    return -inf if number != number else number  # noqa: PLR0124 - NaN is the lowest score


def guess_sizes(canaries: int) -> tuple[int, ...]:
    """Return the numbers of guesses that are tried: all canaries, half of them, and so on.

    >>> guess_sizes(1000)
    (1000, 500, 250, 124, 62, 30, 14, 6)
    """
    sizes = []
    size = canaries
    while size >= _FEWEST:
        sizes.append(size - size % 2)
        size //= 2
    return tuple(sizes)


def correct_guesses(scores: Floats, coins: Bools, guesses: int) -> int:
    """Return how many of the guesses are correct: the highest scores are guessed to be in, the lowest to be out."""
    order: Ints = np.argsort(scores, kind="stable")
    half = guesses // 2
    return int(coins[order[-half:]].sum() + (~coins[order[:half]]).sum())


def one_run_bound(correct: int, guesses: int, canaries: int, *, delta: Fraction, error: Fraction) -> float:
    """Return the largest ε that the theorem refutes, rounded down.

    >>> one_run_bound(90, 100, 100, delta=Fraction(0), error=Fraction(1, 20))
    1.6...
    """
    if delta == 0:
        return _pure_bound(correct, guesses, error)
    best = 0.0
    for start in _STARTS:
        left = error - canaries * delta / (2 + start + start**2 / 2)
        bound = _pure_bound(correct, guesses, left) if left > 0 else 0.0
        if Fraction(bound) >= start:
            best = max(best, bound)
    return best


def _pure_bound(correct: int, guesses: int, error: Fraction) -> float:
    p = lower_probability(correct, guesses, min(error, Fraction(1, 4)))
    return max(0.0, log_down(p / (1 - p))) if p > Fraction(1, 2) else 0.0
