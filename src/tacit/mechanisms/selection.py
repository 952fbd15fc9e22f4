"""What the three selection mechanisms share: reading scores, and the error of a choice.

Scores come as a mapping {candidate: score} or a pandas Series, as pairs [(candidate, score), …], or as plain scores
[s₀, s₁, …] whose candidates are their positions. They are used exactly: integers as they are, floats at their binary
value. No grid is needed, since the samplers take rational exponents.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError
from tacit.guarantees.events import BoundedRange, PureRelease
from tacit.guarantees.exact import Exact, Number, positive, round_up
from tacit.guarantees.values import PureDP
from tacit.mechanisms.frozen import Fixed
from tacit.mechanisms.numbers import Array, Shape, as_fraction, as_integers, read_numbers
from tacit.mechanisms.validation import count_of, failure, flag, least, ratio

Candidate = TypeVar("Candidate", bound=Hashable)
Score: TypeAlias = float | np.integer[Any] | np.floating[Any]
Scores: TypeAlias = Mapping[Candidate, Score] | Iterable[tuple[Candidate, Score]] | npt.ArrayLike

_ORDINARY = (Fraction(1, 2**900), Fraction(2**900))
_WANT = "finite scores: {candidate: score}, such as counts, or a list of (candidate, score) or of scores"


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
        with np.errstate(over="ignore", under="ignore"):  # -inf and 0 are as good as what is beyond them
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
        raise InvalidError("scores", "text", _WANT)
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
            raise InvalidError("scores", "a mixture of pairs and other things", _WANT)
        names.append(item[0])
        values.append(item[1])
    try:
        distinct = len(set(names))
    except TypeError:
        raise InvalidError("scores", "a candidate that cannot be hashed", _WANT) from None
    if distinct < len(names):
        raise InvalidError("scores", "a candidate twice", "one score for each candidate")
    return Ballot(tuple(names), _numbers(values))


def _read(values: object) -> tuple[Array, Shape]:
    try:
        return read_numbers(values, "scores")
    except InvalidError as error:
        raise InvalidError("scores", error.got, _WANT) from None


def _numbers(values: object) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    if isinstance(values, list) and not values:
        raise InvalidError("scores", "no candidates", "at least one candidate")
    array, shape = _read(values)
    if shape is None or len(shape) != 1:
        raise InvalidError("scores", "something not one-dimensional", _WANT)
    if array.dtype.kind != "f":
        return as_integers(array, "scores")
    floats = array.astype(np.float64)
    if not np.isfinite(floats).all():
        raise InvalidError("scores", "NaN or infinity", "finite numbers")
    return floats


class Selection(Fixed):
    """What the selection mechanisms have in common: Δ, ε, the error, and what a monotone score is worth.

    A score is monotone if adding a unit never lowers any candidate's score (or never raises any). Then
    neighbours under add/remove differ in one direction only, and half the noise does. Under change-one
    neighbours this does not hold.
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
        self.monotone = monotone
        self._fix(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone or None)

    def error(self, *, confidence: float = 0.95, candidates: int) -> float:
        """Return how far below the best score the choice stays, with this confidence."""
        rivals = count_of(candidates, "candidates") - (not self._all_rival)
        beta = failure(confidence)
        shortfall = Fraction(log(rivals / beta)) / self._rate if rivals else Fraction(0)
        return round_up(max(Fraction(0), shortfall))

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
        wanted = positive(error, "error")
        if count_of(candidates, "candidates") == 1 and not cls._all_rival:
            raise InvalidError("candidates", "1", "at least 2: a choice of one needs no data at all")

        def accurate(epsilon: float) -> bool:
            candidate = cls(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
            return candidate.error(confidence=confidence, candidates=candidates) <= wanted

        epsilon = least(accurate, ratio(positive(sensitivity, "sensitivity"), wanted))
        return cls(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
