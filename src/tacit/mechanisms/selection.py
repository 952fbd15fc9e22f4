"""The base of the three selection mechanisms: reading scores, and the error of a choice.

Scores are a mapping {candidate: score} or a pandas Series, pairs [(candidate, score), …], or plain scores [s₀, s₁, …]
whose candidates are their positions. They are used exactly: integers unchanged, floats at their binary value. No grid
is needed, since the samplers take rational exponents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.events import BoundedRange, PureRelease
from tacit.guarantees.exact import Exact, Number, positive, round_up
from tacit.guarantees.values import PureDP
from tacit.keyword_only import keyword_only
from tacit.laws.finite import FiniteLaw
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.inverse import confidence_search, read_error
from tacit.mechanisms.scale_search import least, ratio
from tacit.mechanisms.seeded import generator
from tacit.mechanisms.validation import as_fraction, as_integers, count_of, failure, flag, read_numbers, wrong_kind

if TYPE_CHECKING:
    import altair as alt

    from tacit.mechanisms.charts.common import LawChart, Theme

Candidate = TypeVar("Candidate", bound=Hashable)
Score: TypeAlias = float | np.integer[Any] | np.floating[Any]
Scores: TypeAlias = Mapping[Candidate, Score] | Iterable[tuple[Candidate, Score]] | npt.ArrayLike

_ORDINARY = (Fraction(1, 2**900), Fraction(2**900))
_SCORES = "finite scores: {candidate: score}, a list of (candidate, score) pairs, or a list of scores"


@dataclass(frozen=True, slots=True)
class Ballot:
    """Candidates (None: their positions) and their scores as a flat array of ints or floats."""

    candidates: tuple[Hashable, ...] | None
    scores: npt.NDArray[np.int64] | npt.NDArray[np.float64]

    def winner(self, index: int) -> Hashable:
        """Return the candidate at a position."""
        return index if self.candidates is None else self.candidates[index]

    def exponents(self, rate: Fraction) -> npt.NDArray[np.float64]:
        """Return rate·(score - best) as floats ≤ 0, within a relative 2^-51."""
        if not _ORDINARY[0] < rate < _ORDINARY[1]:  # a float cannot hold the rate
            every = (self.exponent(rate, i) for i in range(self.scores.size))
            return np.array([float(max(exponent, -_ORDINARY[1])) for exponent in every])
        with np.errstate(over="ignore", under="ignore"):  # -inf and 0 replace values beyond them
            if self.scores.dtype == np.int64:
                best = self.scores.max()
                gap = (best.astype(np.uint64) - self.scores.astype(np.uint64)).astype(np.float64)  # modulo 2^64
            else:
                gap = self.scores.max() - self.scores
            return np.asarray(-float(rate) * gap, dtype=np.float64)

    def exponent(self, rate: Fraction, index: int) -> Fraction:
        """Return rate·(score - best) exactly."""
        return rate * (as_fraction(self.scores[index]) - as_fraction(self.scores.max()))


def read_ballot(scores: Scores[Candidate]) -> Ballot:
    """Return candidates and scores, or raise InvalidError."""
    if isinstance(scores, (str, bytes)):
        raise wrong_kind("scores", "text", _SCORES)
    if isinstance(scores, Mapping) or (hasattr(scores, "items") and hasattr(scores, "index")):  # or a pandas Series
        return _pairs(list(scores.items()))
    if isinstance(scores, np.ndarray) or not isinstance(scores, Iterable):
        return Ballot(None, _numbers(scores))
    listed: list[object] = list(scores)
    return _pairs(listed) if any(isinstance(item, tuple) for item in listed) else Ballot(None, _numbers(listed))


def _pairs(listed: Sequence[object]) -> Ballot:
    names: list[Hashable] = []
    values: list[object] = []
    for item in listed:
        if not isinstance(item, tuple) or len(item) != 2:  # noqa: PLR2004 - a pair
            raise wrong_kind("scores", "a mixture of pairs and other values", _SCORES)
        names.append(item[0])
        values.append(item[1])
    try:
        distinct = len(set(names))
    except TypeError:
        raise InvalidError("scores has a candidate that cannot be hashed.", argument="scores") from None
    if distinct < len(names):
        hint = "Pass one score for each candidate."
        raise InvalidError("scores has a candidate twice.", argument="scores", hint=hint)
    return Ballot(tuple(names), _numbers(values))


def _numbers(values: object) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    if isinstance(values, list) and not values:
        raise InvalidError("scores has no candidates.", argument="scores", hint="Pass at least one candidate.")
    array, shape = read_numbers(values, "scores", requirement=_SCORES)
    if shape is None or len(shape) != 1:
        raise wrong_kind("scores", "an array of another dimension than 1", _SCORES)
    if array.dtype.kind != "f":
        return as_integers(array, "scores")
    floats = array.astype(np.float64)
    if not np.isfinite(floats).all():
        raise InvalidError("scores holds NaN or infinity.", argument="scores", hint="Pass finite scores.")
    return floats


@keyword_only
class Selection(Frozen, ABC):
    """The base of the selection mechanisms: Δ, ε, the error, and monotone scores.

    A score is monotone if adding a unit never lowers any candidate's score (or never raises any). Then neighbours under
    add/remove differ in one direction only, and half the noise is enough. Under change-one neighbours this does not
    hold.
    """

    event: BoundedRange | PureRelease
    _event: ClassVar[type[BoundedRange | PureRelease]] = PureRelease
    _all_rival: ClassVar[bool] = False
    """Whether the best candidate counts among the rivals in the union bound of the error."""

    def __init__(self, *, sensitivity: Number, epsilon: Number, monotone: bool = False) -> None:
        """Fix the law and the guarantee."""
        size, target = positive(sensitivity, "sensitivity"), positive(epsilon, "epsilon")
        self._rate = target / (size if flag(monotone, "monotone") else 2 * size)
        self.guarantee = PureDP(epsilon=Exact(target))
        self.event = self._event(epsilon=target, neighbours="add/remove" if monotone else None)
        self.sensitivity, self._sensitivity_argument = Exact(size), sensitivity
        self.monotone = monotone
        self._freeze(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone or None)

    def error(self, *, confidence: float = 0.95, candidates: int) -> float:
        """Return the largest shortfall of the choice from the best score, with this confidence.

        Args:
            confidence: the probability with which the choice is that good.
            candidates: the number of candidates.
        """
        rivals = count_of(candidates, "candidates") - (not self._all_rival)
        beta = failure(confidence)
        shortfall = Fraction(log(rivals / beta)) / self._rate if rivals else Fraction(0)
        return round_up(max(Fraction(0), shortfall))

    def confidence(self, *, error: Number, candidates: int) -> float:
        """Return a confidence with which the choice is within an error of the best score: the inverse of `error`.

        It holds for all scores; `shortfall` has the probability for given ones.
        """
        bound = read_error(error)

        def accurate(confidence: float) -> bool:
            return self.error(confidence=confidence, candidates=candidates) <= bound

        return confidence_search(accurate)

    def _with_epsilon(self, epsilon: Number) -> Self:
        """Return the same mechanism at another ε."""
        return type(self)(sensitivity=self._sensitivity_argument, epsilon=epsilon, monotone=self.monotone)

    def _exponents(self, ballot: Ballot) -> Floats:
        """Return rate·(score - best) as the mechanism uses it."""
        return ballot.exponents(self._rate)

    @abstractmethod
    def _chances(self, exponents: Floats) -> Floats:
        """Return the probability of each candidate."""

    def probabilities(self, scores: Scores[Candidate]) -> dict[Hashable, float]:
        """Return the probability with which `choose` returns each candidate (or position): the law that is drawn.

        The probabilities are as private as the scores. They are for study, with made-up or public scores.
        """
        ballot = read_ballot(scores)
        chances = self._chances(self._exponents(ballot)).tolist()
        return {ballot.winner(i): chance for i, chance in enumerate(chances)}

    def shortfall(self, scores: Scores[Candidate]) -> FiniteLaw:
        """Return the law of the distance of the chosen score from the best one, for given scores.

        It has `pmf`, `cdf`, `sf`, `quantile`, `mean`, `variance` and `std`, and is as private as the scores.
        """
        ballot = read_ballot(scores)
        gaps = -ballot.exponents(Fraction(1))
        return FiniteLaw.of(gaps, self._chances(self._exponents(ballot)))

    def sample(self, n: int, scores: Scores[Candidate], *, seed: int) -> list[Hashable]:
        """Return n simulated choices, for study: this is not a release.

        They come from a seeded generator of NumPy. The seed reveals the randomness. Use `choose` for scores
        that are private.
        """
        ballot, count = read_ballot(scores), count_of(n, "n")
        chances = self._chances(self._exponents(ballot))
        places = generator(seed).choice(chances.size, size=count, p=chances / chances.sum())
        return [ballot.winner(int(place)) for place in places]

    def plot(
        self,
        kind: LawChart = "law",
        *,
        scores: Scores[Candidate],
        neighbour: Scores[Candidate] | None = None,
        n: int = 1000,
        seed: int = 1,
        confidence: float = 0.95,
        theme: Theme = "light",
    ) -> alt.LayerChart:
        """Draw a chart of the choice among given scores, with the extra `tacit[plot]`.

        Args:
            kind: "law" for the probability of each candidate; "neighbours" for those of two neighbours with the band of
                e^ε; "releases" for simulated choices beside the law; "error" for the error against ε.
            scores: assumed scores, not private ones.
            neighbour: the scores of a neighbour; by default the best candidate has Δ less.
            n: the number of simulated choices.
            seed: of the simulation.
            confidence: of the errors.
            theme: "light" or "dark".
        """
        from tacit.mechanisms.charts.selection import draw  # noqa: PLC0415 - it uses this class

        return draw(self, kind, scores, neighbour=neighbour, n=n, seed=seed, confidence=confidence, theme=theme)

    @classmethod
    def for_error(
        cls,
        error: Number,
        *,
        confidence: float = 0.95,
        candidates: int,
        sensitivity: Number,
        monotone: bool = False,
    ) -> Self:
        """Return the most private mechanism whose choice stays within `error` of the best score."""
        target = positive(error, "error")
        if count_of(candidates, "candidates") == 1 and not cls._all_rival:
            raise bad_value("candidates", 1, "at least 2; a choice of one needs no data")

        def accurate(epsilon: float) -> bool:
            candidate = cls(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
            return candidate.error(confidence=confidence, candidates=candidates) <= target

        epsilon = least(accurate, ratio(positive(sensitivity, "sensitivity"), target))
        return cls(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
