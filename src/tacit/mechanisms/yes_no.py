"""One yes-or-no answer: the coin that decides on the truth, and the words for yes and no.

`RandomizedResponse` (run by a curator) and `local.Warner` (run by each device) answer with this coin.

**Statement.** An answer is the truth with probability p, 1/2 < p < 1, and the opposite otherwise. It is ε-DP in the
truth, ε = ln(p/(1-p)) (Warner, J. Amer. Statist. Assoc. 60, 1965; his coin of p = 3/4 has ε = ln 3).
**Proof.** The ratio of an answer's probabilities under the two truths is p/(1-p) or its inverse.  ∎

On real bits: a coin from ε lies with probability exactly 1/(1+e^ε), an enclosure that is refined as far as a draw needs
it. A coin from p tells the truth with probability A/2^64, A = ⌊p·2^64⌋, so it never lies less often than stated, and
its ε is ln(A/(2^64-A)) rounded up. Every answer costs one draw, whatever the truth and the outcome are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import to_fraction
from tacit.mechanisms.validation import Shape, describe, to_array, wrong_kind
from tacit.noise import SYSTEM, BitSource, Real, bernoulli, logistic, rational
from tacit.noise.reals import log_above

ONE = 1 << 64
LARGEST_EPSILON = 50

Words = tuple[str, str]
Answers = bool | str | npt.NDArray[np.bool_] | npt.NDArray[np.str_]

_TRUTH = f"a number above 1/2 and below 1, with ln(p/(1-p)) at most {LARGEST_EPSILON}"
_WORDS = "two different texts: the word for yes and the word for no"
_PAIR = 2


@dataclass(frozen=True, slots=True)
class TruthCoin:
    """A coin that shows the truth with probability p.

    Attributes:
        epsilon: the ε of one answer.
        keep: p·2^64; None if p is exactly e^ε/(1+e^ε).
    """

    epsilon: Fraction
    keep: int | None = None

    @property
    def lie(self) -> Real:
        """1 - p, as a refinable enclosure."""
        return logistic(self.epsilon) if self.keep is None else rational(Fraction(ONE - self.keep, ONE))

    def answers(self, truth: Bools, bits: BitSource = SYSTEM) -> Bools:
        """Return an answer for each truth: the same with probability p, else the opposite."""
        return truth ^ bernoulli(self.lie, truth.size, bits)


def coin_of(p: object) -> TruthCoin:
    """Return the coin that shows the truth with probability p, rounded down to 64 binary digits.

    >>> float(coin_of(0.75).epsilon)          # ln 3
    1.0986122886681098
    """
    chance = to_fraction(p, "p", _TRUTH)
    keep = chance.numerator * ONE // chance.denominator if 0 < chance < 1 else 0
    if 2 * keep <= ONE:
        raise bad_value("p", p, _TRUTH)
    epsilon = log_above(Fraction(keep, ONE - keep))
    if epsilon > LARGEST_EPSILON:
        raise bad_value("p", p, _TRUTH)
    return TruthCoin(epsilon, keep)


def read_words(words: object) -> Words | None:
    """Return the words for yes and no; None if answers are True and False.

    >>> read_words(["ja", "nein"])
    ('ja', 'nein')
    """
    if words is None:
        return None
    if isinstance(words, str) or not isinstance(words, Sequence) or len(words) != _PAIR:
        raise bad_value("words", words, _WORDS)
    yes, no = (str(word) if isinstance(word, str) else "" for word in words)
    if not (yes.strip() and no.strip()):
        raise InvalidError(f"words must be {_WORDS}.", argument="words", hint="A word may not be blank.")
    if yes == no:
        raise InvalidError("The words for yes and no are equal.", argument="words", hint=f"Pass {_WORDS}.")
    return yes, no


def read_answers(value: object, argument: str, words: Words | None) -> tuple[Bools, Shape]:
    """Return answers as flat bits, True for yes, and the shape they had. Errors never repeat an answer."""
    if words is None:
        return _read_bits(value, argument)
    requirement = f"{words[0]!r} or {words[1]!r}, or a non-empty array of them"
    array, plain = to_array(value, argument, requirement)
    is_text = array.dtype.kind in "UT" or (array.dtype.kind == "O" and all(isinstance(x, str) for x in array.flat))
    if not is_text:
        raise wrong_kind(argument, describe(value, array), requirement)
    flat = array.reshape(-1)
    yes, no = np.asarray(flat == words[0], dtype=np.bool_), np.asarray(flat == words[1], dtype=np.bool_)
    if not (yes | no).all():
        raise wrong_kind(argument, "another word", requirement)
    return yes, None if plain else array.shape


def write_answers(bits: Bools, shape: Shape, words: Words | None) -> Answers:
    """Return bits in the form in which they were given: one answer or an array, as bools or as words."""
    if words is None:
        return bool(bits[0]) if shape is None else bits.reshape(shape)
    spoken = np.where(bits, *map(np.str_, words))
    return str(spoken[0]) if shape is None else spoken.reshape(shape)


def _read_bits(value: object, argument: str) -> tuple[Bools, Shape]:
    requirement = "True or False, or a non-empty array of bools (or of 0 and 1)"
    array, plain = to_array(value, argument, requirement)
    if array.dtype.kind not in "biu":
        raise wrong_kind(argument, describe(value, array), requirement)
    if not ((array == 0) | (array == 1)).all():
        raise wrong_kind(argument, "other integers", requirement)
    return array.astype(np.bool_).reshape(-1), None if plain else array.shape
