"""Loops that all searches share: numbering of keys, and requirements on one class.

They run as Python, or compiled: see `kernels`. The named arrays that the loops take are in `search_arrays` and
`partitions`.
"""
# ruff: noqa: ANN001, ANN201 - the compiler finds the types itself
# ruff: noqa: C901, PLR0913, PLR0917 - loops for a compiler: flat, with plain arguments

from __future__ import annotations

import numpy as np

from tacit.anonymity.kernels import inner_kernel, kernel
from tacit.anonymity.search_arrays import CLOSENESS, DISTINCT, ENTROPY

_BAND = 1e-11


@kernel
def number_pairs(left, right, width, count, keys, values, ids):
    """Number the different pairs (left, right) from 0 by first appearance, into ids; return how many there are.

    right < width. If all keys left·width + right fit a table of about the size of count, they index it; otherwise they
    are hashed. left and width are below 2³¹, so a key is below 2⁶².
    """
    most = 0
    for i in range(count):
        most = max(most, left[i])
    reach = (most + 1) * width
    total = 0
    if reach <= 4 * count + 1024 and reach <= values.size:
        values[:reach] = -1
        for i in range(count):
            key = left[i] * width + right[i]
            number = values[key]
            if number < 0:
                number = total
                values[key] = number
                total += 1
            ids[i] = number
        return total
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
            number = values[slot]
            if number < 0:
                values[slot] = total
                keys[slot] = key
                ids[i] = total
                total += 1
                break
            if keys[slot] == key:
                ids[i] = number
                break
            slot = (slot + 1) & (size - 1)
    return total


@inner_kernel
def high_half(x, y):
    """Return the upper 64 bits of the 128-bit product of two unsigned integers."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & mask)
    return x1 * y1 + (middle >> half) + (other >> half)


@kernel
def product_at_most(a, b, c, d):
    """Return whether a·b ≤ c·d for integers from 0 to below 2⁶³, by their 128-bit products."""
    w, x, y, z = np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)
    left, right = high_half(w, x), high_half(y, z)
    if left != right:
        return left < right
    return w * x <= y * z


@inner_kernel
def powers_balance(counts, number, total, p, q):
    """Return whether (q·m)^m = p^m·Πcᵢ^cᵢ, prime by prime."""
    left = np.int64(1)
    for i in range(number + 3):
        factor = total if i == number else (p if i == number + 1 else (q if i == number + 2 else counts[i]))
        rest, prime = np.int64(factor), np.int64(2)
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


@kernel
def entropy_holds(counts, number, total, p, q, doubts):
    """Return the entropy, and whether it is at least ln(p/q).

    A tie is decided exactly. A class within the float error of a tie that is not a tie fails, and doubts[0] counts it.
    """
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


@inner_kernel
def sort_falling(counts, number):
    """Sort the first `number` counts in place, largest first (Shell sort, because numba's sort compiles slowly)."""
    gap = number // 2
    while gap > 0:
        for i in range(gap, number):
            count, j = counts[i], i
            while j >= gap and counts[j - gap] < count:
                counts[j] = counts[j - gap]
                j -= gap
            counts[j] = count
        gap //= 2


@kernel
def recursive_fails(counts, number, l, p, q):  # noqa: E741 - the literature's letter
    """Return whether r₁ ≥ (p/q)·(r_l + … + r_m), and sort the counts."""
    if number < l:
        return True
    sort_falling(counts, number)
    tail = np.int64(0)
    for i in range(l - 1, number):
        tail += counts[i]
    return product_at_most(p, tail, q, counts[0])


@inner_kernel
def moved(hist, whole, m, n, families, parts, ordered, sums):
    """Return the sum of absolute excesses over all families of a ground distance, in units of 1/(m·n)."""
    answer = np.int64(0)
    for f in range(families.shape[0]):
        size = parts[f]
        sums[:size] = 0
        for v in range(whole.size):
            sums[families[f, v]] += n * hist[v] - m * whole[v]
        running = np.int64(0)
        for part in range(size):
            running = running + sums[part] if ordered else sums[part]
            answer += abs(running)
    return answer


@inner_kernel
def tally_class(rows, low, high, column, scratch):
    """Count the values of a sensitive column in the class rows.order[low:high]; return how many values it has."""
    different = np.int64(0)
    for at in range(low, high):
        row = rows.order[at]
        value = rows.sensitive[column, rows.rests[row]]
        if scratch.counts[value] == 0:
            scratch.touched[different] = value
            different += 1
        scratch.counts[value] += rows.counts[row]
    return different


@inner_kernel
def judge_closeness(i, total, n, requirements, scratch):
    """Return whether the counted class is too far from the whole, and which share of it must be suppressed at least.

    A distance is convex and at most 1: d(class) ≤ (kept share)·t + (suppressed share).
    """
    column, divisor = requirements.columns[i], requirements.divisors[i]
    p, q, size = requirements.numbers[i, 1], requirements.numbers[i, 2], requirements.sizes[column]
    distance = moved(
        scratch.counts[:size], requirements.wholes[column, :size], total, n, requirements.families[i],
        requirements.parts[i], divisor < 0, scratch.sums,
    )  # fmt: skip
    fails = not product_at_most(distance, q, p * abs(divisor), np.int64(total) * n)
    share = 0.0
    if fails and p < q:
        share = (distance / (abs(divisor) * total * n) - p / q) / (1.0 - p / q)
    return fails, share


@inner_kernel
def judge_diversity(i, different, total, requirements, scratch):
    """Return whether the counted class is not diverse, and which share of it must be suppressed at least.

    If the number of different values is too small, it is too small in every part of the class. Entropy is concave:
    H(class) ≥ (kept share)·ln l.
    """
    numbers = requirements.numbers
    kind, l, p, q = requirements.kinds[i], numbers[i, 0], numbers[i, 1], numbers[i, 2]  # noqa: E741 - the literature's letter
    if kind == DISTINCT:
        return different < l, 1.0
    for j in range(different):
        scratch.sums[j] = scratch.counts[scratch.touched[j]]
    if kind == ENTROPY:
        entropy, holds = entropy_holds(scratch.sums, different, total, p, q, scratch.doubts)
        return not holds, 1.0 - entropy / np.log(p / q) if p > q else 0.0
    return recursive_fails(scratch.sums, different, l, p, q), 0.0


@inner_kernel
def judge(rows, low, high, total, k, n, requirements, scratch, exact):
    """Return a lower bound on the rows of one class that any refinement must suppress.

    The class is rows.order[low:high], which stands for `total` rows. If `exact`, a class that fails any requirement
    counts in full. Otherwise it counts in full only if it fails k or distinct diversity, since then every part fails
    too. If it fails another requirement, the bounds of `judge_diversity` and `judge_closeness` hold, and at least one
    row is suppressed.
    """
    if total < k:
        return float(total)
    least = 0.0
    for i in range(requirements.kinds.size):
        different = tally_class(rows, low, high, requirements.columns[i], scratch)
        if requirements.kinds[i] == CLOSENESS:
            fails, share = judge_closeness(i, total, n, requirements, scratch)
        else:
            fails, share = judge_diversity(i, different, total, requirements, scratch)
        for j in range(different):
            scratch.counts[scratch.touched[j]] = 0
        if fails:
            if exact or share >= 1.0:
                return float(total)
            least = max(least, 1.0, np.ceil(share * total - 1e-6))
    return least
