"""Compiled loops that all searches share: numbering of keys, and requirements on one class.

Compiled once by numba and cached beside this file (or in the user's cache where that is read-only). numba looks at the
file of a function alone: whoever changes a loop here removes the cached callers too, `__pycache__/*.nb?`.
"""
# ruff: noqa: ANN001, ANN201 - the compiler finds the types itself
# ruff: noqa: C901, PLR0912, PLR0913, PLR0917 - loops for a compiler: flat, with many plain arguments

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numba
import numpy as np
from numba.core import event

_BAND = 1e-11


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call, and keep the result on disk."""
    try:
        return cast("Callable[..., Any]", numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # no folder can be written to: compiled anew in every process
        return cast("Callable[..., Any]", numba.njit(nogil=True, error_model="numpy")(function))


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only compiled ones call: without a way in from Python, which would take longer."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True}
    return cast("Callable[..., Any]", numba.njit(**options)(function))


class _Notice(event.Listener):
    """Says on stderr that a function is being compiled."""

    def __init__(self, function: object) -> None:
        self.function = function

    def on_start(self, event: event.Event) -> None:
        """Say so at the beginning."""
        if event.data["dispatcher"] is self.function:
            sys.stderr.write("tacit: compiling a search for this machine, once; this takes some seconds.\n")

    def on_end(self, event: event.Event) -> None:
        """Say nothing at the end."""


@contextmanager
def announced(function: object) -> Iterator[None]:
    """Say on stderr when a function is compiled inside, because no earlier run has left it on disk."""
    with event.install_listener("numba:compile", _Notice(function)):
        yield


@jit
def number_pairs(left, right, width, count, keys, values, ids):
    """Give equal pairs (left, right) one number each, 0 up by first appearance, into ids; return how many there are.

    right < width. Where all keys left·width + right fit a table of about the count's size they index it; else they are
    hashed. left is below 2³¹ and width too, so a key is below 2⁶².
    """
    most = 0
    for i in range(count):
        most = max(most, left[i])
    reach = (most + 1) * width
    found = 0
    if reach <= 4 * count + 1024 and reach <= values.size:
        values[:reach] = -1
        for i in range(count):
            key = left[i] * width + right[i]
            one = values[key]
            if one < 0:
                one = found
                values[key] = one
                found += 1
            ids[i] = one
        return found
    bits = 4
    while (1 << bits) < 2 * count:
        bits += 1
    size = 1 << bits
    values[:size] = -1
    shift = np.uint64(64 - bits)
    for i in range(count):
        key = np.int64(left[i]) * width + right[i]
        slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> shift)
        while True:
            one = values[slot]
            if one < 0:
                values[slot] = found
                keys[slot] = key
                ids[i] = found
                found += 1
                break
            if keys[slot] == key:
                ids[i] = one
                break
            slot = (slot + 1) & (size - 1)
    return found


@part
def high_half(x, y):
    """Return the upper 64 bits of the 128-bit product of two unsigned integers."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & mask)
    return x1 * y1 + (middle >> half) + (other >> half)


@jit
def product_at_most(a, b, c, d):
    """Return whether a·b ≤ c·d for integers from 0 to below 2⁶³, by their 128-bit products."""
    w, x, y, z = np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)
    left, right = high_half(w, x), high_half(y, z)
    if left != right:
        return left < right
    return w * x <= y * z


@part
def powers_balance(counts, number, total, p, q):
    """Return whether (q·m)^m = p^m·Πcᵢ^cᵢ, prime by prime."""
    left = np.int64(1)
    for i in range(number + 3):
        one = total if i == number else (p if i == number + 1 else (q if i == number + 2 else counts[i]))
        rest, prime = np.int64(one), np.int64(2)
        while rest > 1:
            if prime * prime > rest:
                prime = rest
            if rest % prime == 0:
                balance = np.int64(0)
                for j in range(number + 3):
                    x = total if j == number else (p if j == number + 1 else (q if j == number + 2 else counts[j]))
                    x = np.int64(x)
                    times = np.int64(0)
                    while x % prime == 0:
                        x //= prime
                        times += 1
                    if j < number:
                        balance -= times * counts[j]
                    elif j == number + 1:
                        balance -= times * total
                    else:
                        balance += times * total
                if balance != 0:
                    return False
                while rest % prime == 0:
                    rest //= prime
            prime += left
    return True


@jit
def entropy_holds(counts, number, total, p, q, doubts):
    """Return the entropy, and whether it is at least ln(p/q): exactly at a tie; a near miss of a tie fails, counted."""
    uniform, sums = True, 0.0
    for i in range(number):
        sums += counts[i] * np.log(counts[i])
        uniform = uniform and counts[i] == counts[0]
    entropy = np.log(total) - sums / total
    if uniform:
        return entropy, number * q >= p
    spare = entropy - np.log(p / q)
    if abs(spare) > _BAND * (1.0 + np.log(total)):
        return entropy, spare > 0.0
    if powers_balance(counts, number, total, p, q):
        return entropy, True
    doubts[0] += 1
    return entropy, False


@part
def sort_falling(counts, number):
    """Sort the first so many counts in place, the largest first (Shell's way; numba's own sort compiles slowly)."""
    gap = number // 2
    while gap > 0:
        for i in range(gap, number):
            held, j = counts[i], i
            while j >= gap and counts[j - gap] < held:
                counts[j] = counts[j - gap]
                j -= gap
            counts[j] = held
        gap //= 2


@jit
def recursive_fails(counts, number, l, p, q):  # noqa: E741 - the literature's letter
    """Return whether r₁ ≥ (p/q)·(r_l + … + r_m); the counts are sorted on the way."""
    if number < l:
        return True
    sort_falling(counts, number)
    tail = np.int64(0)
    for i in range(l - 1, number):
        tail += counts[i]
    return product_at_most(p, tail, q, counts[0])


@part
def moved(hist, whole, m, n, families, parts, ordered, scratch):
    """Return the sum of absolute excesses over all families of a ground distance, in units of 1/(m·n)."""
    answer = np.int64(0)
    for f in range(families.shape[0]):
        size = parts[f]
        scratch[:size] = 0
        for v in range(whole.size):
            scratch[families[f, v]] += n * hist[v] - m * whole[v]
        running = np.int64(0)
        for part in range(size):
            running = running + scratch[part] if ordered else scratch[part]
            answer += abs(running)
    return answer


@part
def judge(low, high, order, where, counts, total, k, sensitive, sizes, kinds, columns, numbers, wholes, n, families,
          parts, divisors, hist, touched, scratch, doubts, exact):  # fmt: skip
    """Return how many rows of one class any refinement must suppress at least; all of them where it fails itself.

    The class is rows order[low:high], each standing for counts[row] rows whose sensitive code s is
    sensitive[s, where[row]]. kinds: 1 distinct, 2 entropy, 3 recursive, 4 closeness; numbers[i] = (l, p, q). Where
    `exact`, a class that fails any requirement counts in full. Else only k and distinct count in full, since then every
    part fails too. Entropy is concave: H(class) ≥ (kept share)·ln l. A distance is convex and at most 1:
    d(class) ≤ (kept share)·t + (suppressed share). Otherwise at least one row is suppressed.
    """
    if total < k:
        return float(total)
    least = 0.0
    for i in range(kinds.size):
        column = columns[i]
        found = np.int64(0)
        for at in range(low, high):
            row = order[at]
            value = sensitive[column, where[row]]
            if hist[value] == 0:
                touched[found] = value
                found += 1
            hist[value] += counts[row]
        fails, share = False, 0.0
        l, p, q = numbers[i, 0], numbers[i, 1], numbers[i, 2]  # noqa: E741 - the literature's letter
        if kinds[i] == 1:
            fails = found < l
            share = 1.0
        elif kinds[i] == 4:  # noqa: PLR2004 - closeness
            size = sizes[column]
            ordered = divisors[i] < 0
            distance = moved(hist[:size], wholes[column, :size], total, n, families[i], parts[i], ordered, scratch)
            scale = abs(divisors[i]) * total * n
            fails = not product_at_most(distance, q, p * abs(divisors[i]), np.int64(total) * n)
            if fails and p < q:
                share = (distance / scale - p / q) / (1.0 - p / q)
        else:
            for j in range(found):
                scratch[j] = hist[touched[j]]
            if kinds[i] == 2:  # noqa: PLR2004 - entropy
                entropy, holds = entropy_holds(scratch, found, total, p, q, doubts)
                fails = not holds
                share = 1.0 - entropy / np.log(p / q) if p > q else 0.0
            else:
                fails = recursive_fails(scratch, found, l, p, q)
        for j in range(found):
            hist[touched[j]] = 0
        if fails:
            if exact or share >= 1.0:
                return float(total)
            least = max(least, 1.0, np.ceil(share * total - 1e-6))
    return least
