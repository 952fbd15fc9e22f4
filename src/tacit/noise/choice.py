"""Exact choice of one candidate with probability proportional to e^(score).

Algorithm. Scores are rationals a_i ≤ 0 with maximum 0. Take integers W_i ≥ 2^k·e^(a_i); draw i with
probability W_i/ΣW exactly (a uniform integer below the sum); accept with probability 2^k·e^(a_i)/W_i, else
start again.
Proof. A round ends with i with probability ∝ W_i·2^k·e^(a_i)/W_i ∝ e^(a_i).  ∎

On real bits: the W_i come from floats. They need only be upper bounds; the proof does not need them to be tight.
np.exp is within 4 units in the last place and a float exponent within 2^-44 for a ≥ -64, so a factor 1 + 2^-40 and one
unit more cover e^(a) there, and the one unit alone covers smaller values. With ΣW < 2^63, the sum and its
prefixes are exact. The coin is decided from its float, which is within a relative 2^-43, and by one exact exponential
only in the undecided band (below 2^-39). So every round does the same work for every candidate, and a second round
has probability below 2^-15 for up to 2^20 candidates. Weights are computed in blocks of public size, which fit into the
processor's cache, and only the sum of each block is kept; those of the drawn block are computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.noise.bernoulli import exp_floats, settle_float
from tacit.noise.bits import SYSTEM, BitSource, below_integer, words
from tacit.noise.reals import Real, ceil_div, exp_neg

_BLOCK = 1 << 13


def choose_exp(score: Floats, exact: Callable[[int], Fraction], bits: BitSource = SYSTEM) -> int:
    """Return index i with probability exactly e^(a_i)/Σe^(a_j).

    Args:
        score: floats within a relative 2^-50 of the a_i ≤ 0, or within 2^-44 of those above -64. The largest is 0 or
            close to it; if it is -x, a second round is e^x times as likely.
        exact: a_i as a rational.
        bits: the source of uniform bytes.
    """
    shift = 61 - int(score.size).bit_length()
    blocks = [score[first : first + _BLOCK] for first in range(0, score.size, _BLOCK)]
    upto = np.cumsum([_weights(block, shift)[1].sum() for block in blocks])
    while True:
        place = below_integer(int(upto[-1]), bits)
        block = int(np.searchsorted(upto, place, side="right"))
        scaled, weight = _weights(blocks[block], shift)
        index = int(np.searchsorted(np.cumsum(weight), place - (int(upto[block - 1]) if block else 0), side="right"))
        chance = scaled[index : index + 1] / weight[index] * 2.0**64
        real = partial(_accept, exact, block * _BLOCK + index, int(weight[index]), shift)
        if settle_float(chance, words(bits, np.uint64, 1), real, bits)[0]:
            return block * _BLOCK + index


def _weights(score: Floats, shift: int) -> tuple[Floats, Ints]:
    """Return 2^shift·e^score as floats, and whole upper bounds of it."""
    scaled = exp_floats(-score)
    scaled *= 2.0**shift
    weight = (scaled * (1 + 2.0**-40)).astype(np.int64)
    weight += 1
    return scaled, weight


def _accept(exact: Callable[[int], Fraction], index: int, weight: int, shift: int, _: int) -> Real:
    """Enclose 2^shift·e^score/weight."""
    exponential = exp_neg(-exact(index))

    def real(n: int) -> tuple[int, int]:
        lo, hi = exponential(n + shift)
        return lo // weight, ceil_div(hi, weight)

    return real
