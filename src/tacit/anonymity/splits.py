"""The compiled loops that split a table from the top: at medians, or along hierarchies."""
# ruff: noqa: ANN001, ANN201 - the compiler finds the types itself
# ruff: noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - loops for a compiler: flat, with many plain arguments

from __future__ import annotations

import numpy as np

from tacit.anonymity.kernels import jit, judge, part

EXACT = True


@part
def passes(low, high, rows_in, total, k, model, sensitive, n, work):
    """Return whether rows rows_in[low:high] as one class meet every requirement; without a model k alone counts."""
    if model is None:
        return total >= k
    sizes, kinds, columns, numbers, wholes, families, parts, divisors = model
    where, ones, hist, touched, scratch, doubts = work
    if total < k:
        return False
    judged = judge(np.int64(low), np.int64(high), rows_in, where, ones, np.int64(total), k, sensitive, sizes, kinds,
                   columns, numbers, wholes, n, families, parts, divisors, hist, touched, scratch, doubts,
                   EXACT)  # fmt: skip
    return judged == 0.0


@part
def cut_at(column, low, high, base, reach, counts, strict):
    """Return where to cut values of a part: up to which value all go left, how many rows go left, how many of the next.

    Strict: equal values stay together, at the cut that is nearest to the middle. Relaxed: the middle row.
    """
    size = high - low
    counts[:reach] = 0
    for i in range(low, high):
        counts[column[i] - base] += 1
    so_far, near, cut, left = 0, size + 1, -1, 0
    if strict:
        for v in range(reach - 1):
            so_far += counts[v]
            if abs(2 * so_far - size) < near:
                near, cut, left = abs(2 * so_far - size), v, so_far
            if 2 * so_far >= size:
                break
        return cut, left, 0
    for v in range(reach):
        if so_far + counts[v] >= size // 2:
            return v - 1, size // 2, size // 2 - so_far
        so_far += counts[v]
    return reach - 1, size // 2, 0


@jit
def median_split(table, order, k, strict, widths, model, sensitive, work, ends, lows, highs):
    """Split rows at medians until no split is allowed; return how many parts there are, part i ending at ends[i].

    table[c] holds the places of column c, moved along with order, the row numbers. A part is split in the column of the
    widest range (over the column's number of places); where that is not allowed, in the next. Columns in which a part
    has one value alone need not be moved. lows and highs receive the range of every part.
    """
    q, n = table.shape
    widest = 1
    for c in range(q):
        widest = max(widest, widths[c])
    counts = np.zeros(widest + 1, dtype=np.int64)
    spare, spare_order, target = (
        np.empty(n, dtype=table.dtype),
        np.empty(n, dtype=order.dtype),
        np.empty(n, dtype=np.int32),
    )
    stack = np.empty((n + 1, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    top, found = 1, 0
    least, most = np.empty(q, dtype=np.int64), np.empty(q, dtype=np.int64)
    tried = np.empty(q, dtype=np.bool_)
    while top > 0:
        top -= 1
        low, high = stack[top, 0], stack[top, 1]
        size, done = high - low, False
        for c in range(q):
            column = table[c]
            first = last = column[low]
            for i in range(low + 1, high):
                first = min(first, column[i])
                last = max(last, column[i])
            least[c], most[c] = first, last
        tried[:] = size < 2 * k or size < 2  # noqa: PLR2004 - two parts
        while not done:
            best, c = 0.0, -1
            for one in range(q):
                width = (most[one] - least[one]) / max(1, widths[one] - 1)
                if not tried[one] and width > best:
                    best, c = width, one
            if c < 0:
                break
            tried[c] = True
            column, base = table[c], least[c]
            cut, left, equal = cut_at(column, low, high, base, most[c] - base + 1, counts, strict)
            if left < k or size - left < k:
                continue
            a, b, last_left = low, low + left, base + cut
            if strict:
                for i in range(low, high):
                    goes = 1 if column[i] <= last_left else 0
                    target[i] = a if goes else b
                    a += goes
                    b += 1 - goes
            else:
                for i in range(low, high):
                    goes = 1 if column[i] <= last_left else 0
                    if column[i] == last_left + 1 and equal > 0:
                        goes = 1
                        equal -= 1
                    target[i] = a if goes else b
                    a += goes
                    b += 1 - goes
            for i in range(low, high):
                spare_order[target[i]] = order[i]
            if not (
                passes(low, low + left, spare_order, left, k, model, sensitive, n, work)
                and passes(low + left, high, spare_order, size - left, k, model, sensitive, n, work)
            ):
                continue
            for i in range(low, high):
                order[i] = spare_order[i]
            for one in range(q):
                if least[one] < most[one]:
                    moving = table[one]
                    for i in range(low, high):
                        spare[target[i]] = moving[i]
                    for i in range(low, high):
                        moving[i] = spare[i]
            stack[top, 0], stack[top, 1] = low + left, high
            stack[top + 1, 0], stack[top + 1, 1] = low, low + left
            top += 2
            done = True
        if not done:
            for c in range(q):
                lows[c, found], highs[c, found] = least[c], most[c]
            ends[found] = high
            found += 1
    return found


@part
def arrange(low, high, c, at, width, table, maps, counts, sorted_rows):
    """Sort the row numbers of a part by their group in column c into sorted_rows; counts[g] becomes the end of g."""
    counts[: width + 1] = 0
    for i in range(low, high):
        counts[maps[at + table[i, c]] + 1] += 1
    for g in range(width):
        counts[g + 1] += counts[g]
    for i in range(low, high):
        g = maps[at + table[i, c]]
        sorted_rows[low + counts[g]] = i
        counts[g] += 1


@part
def pool(low, size, width, ends_of, sorted_rows, order, pooled, k, model, sensitive, n, work, rows_in):
    """Mark groups that cannot stand alone, and more, smallest first, until what is pooled can; return the rows left.

    The groups of a part are rows sorted_rows[...ends_of[g]]. Where all end in the pool there is no split: return 0.
    """
    together, begin, alone = 0, 0, 0
    for g in range(width):
        one = ends_of[g] - begin
        pooled[g] = 0
        if one > 0:
            for i in range(begin, ends_of[g]):
                rows_in[low + i] = order[sorted_rows[low + i]]
            if passes(low + begin, low + ends_of[g], rows_in, one, k, model, sensitive, n, work):
                alone += one
            else:
                pooled[g] = 1
                together += one
        begin = ends_of[g]
    while together > 0 and alone > 0:
        at, begin = low, 0
        for g in range(width):
            if pooled[g] == 1:
                for i in range(begin, ends_of[g]):
                    rows_in[at] = order[sorted_rows[low + i]]
                    at += 1
            begin = ends_of[g]
        if passes(low, at, rows_in, together, k, model, sensitive, n, work):
            return alone
        smallest, which, begin = size + 1, -1, 0
        for g in range(width):
            one = ends_of[g] - begin
            if pooled[g] == 0 and 0 < one < smallest:
                smallest, which = one, g
            begin = ends_of[g]
        pooled[which] = 1
        together += smallest
        alone -= smallest
    return alone


@jit
def hierarchy_split(table, order, spare, spare_order, k, heights, starts, maps, widths, costs, model, sensitive, work,
                    ends, scale, power):  # fmt: skip
    """Split rows along hierarchies from "*" down; return how many parts there are, part i ending at ends[i].

    A part knows a level for every column, at which its rows agree. A split takes one column to a lower level: groups
    that meet the requirements become parts; the others are pooled and stay at the level they had, together with the
    smallest of the good ones where the pool would fail. Among all columns and lower levels the split is taken that
    saves most cost for each bit of size: Σ rows·(cost before - cost after) / (rows·entropy of the split)^power. scale
    weighs columns.
    """
    n, q = table.shape
    widest = 1
    for c in range(q):
        widest = max(widest, widths[c, 0])
    counts, ends_of = np.zeros(widest + 2, dtype=np.int64), np.zeros(widest + 2, dtype=np.int64)
    kept_ends = np.zeros(widest + 2, dtype=np.int64)
    pooled, chosen_pool = np.zeros(widest + 1, dtype=np.int8), np.zeros(widest + 1, dtype=np.int8)
    sorted_rows, rows_in = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
    stack, stack_levels = np.empty((n + 1, 2), dtype=np.int64), np.empty((n + 1, q), dtype=np.int16)
    stack[0, 0], stack[0, 1] = 0, n
    for c in range(q):
        stack_levels[0, c] = heights[c] - 1
    levels = np.empty(q, dtype=np.int16)
    top, found = 1, 0
    while top > 0:
        top -= 1
        low, high = stack[top, 0], stack[top, 1]
        for c in range(q):
            levels[c] = stack_levels[top, c]
        size, best, best_c, best_level = high - low, 0.0, -1, 0
        if size > k:
            for c in range(q):
                level = levels[c]
                before = costs[starts[c, level] + maps[starts[c, level] + table[low, c]]]
                for lower in range(level - 1, -1, -1):
                    at, width = starts[c, lower], widths[c, lower]
                    if lower > 0 and widths[c, lower - 1] == width:
                        continue  # the level below makes the same groups
                    arrange(low, high, c, at, width, table, maps, counts, sorted_rows)
                    for g in range(width):
                        ends_of[g] = counts[g]
                    alone = pool(low, size, width, ends_of, sorted_rows, order, pooled, k, model, sensitive, n,
                                 work, rows_in)  # fmt: skip
                    if alone == 0:
                        continue
                    saved, bits, begin, rest = 0.0, 0.0, 0, size - alone
                    for g in range(width):
                        one = ends_of[g] - begin
                        if one > 0 and pooled[g] == 0:
                            saved += one * (before - costs[at + g])
                            bits -= one * np.log(one / size)
                        begin = ends_of[g]
                    if rest > 0:
                        bits -= rest * np.log(rest / size)
                    score = saved * scale[c] / (bits + 0.01 * size) ** power
                    if score > best:
                        best, best_c, best_level = score, c, lower
                        for g in range(width):
                            kept_ends[g], chosen_pool[g] = ends_of[g], pooled[g]
        if best_c < 0:
            ends[found] = high
            found += 1
            continue
        c, at, width = best_c, starts[best_c, best_level], widths[best_c, best_level]
        arrange(low, high, c, at, width, table, maps, counts, sorted_rows)
        to, begin, first = low, 0, top
        for g in range(width):
            if kept_ends[g] > begin and chosen_pool[g] == 0:
                stack[top, 0], stack[top, 1] = to, to + kept_ends[g] - begin
                for one in range(q):
                    stack_levels[top, one] = levels[one]
                stack_levels[top, c] = best_level
                top += 1
                for i in range(begin, kept_ends[g]):
                    for one in range(q):
                        spare[to, one] = table[sorted_rows[low + i], one]
                    spare_order[to] = order[sorted_rows[low + i]]
                    to += 1
            begin = kept_ends[g]
        if to < high:
            stack[top, 0], stack[top, 1] = to, high
            for one in range(q):
                stack_levels[top, one] = levels[one]
            top += 1
            begin = 0
            for g in range(width):
                if chosen_pool[g] == 1:
                    for i in range(begin, kept_ends[g]):
                        for one in range(q):
                            spare[to, one] = table[sorted_rows[low + i], one]
                        spare_order[to] = order[sorted_rows[low + i]]
                        to += 1
                begin = kept_ends[g]
        for i in range(low, high):
            order[i] = spare_order[i]
            for one in range(q):
                table[i, one] = spare[i, one]
        for i in range((top - first) // 2):  # parts leave the stack in the order in which they stand
            for side in range(2):
                held = stack[first + i, side]
                stack[first + i, side] = stack[top - 1 - i, side]
                stack[top - 1 - i, side] = held
            for one in range(q):
                level = stack_levels[first + i, one]
                stack_levels[first + i, one] = stack_levels[top - 1 - i, one]
                stack_levels[top - 1 - i, one] = level
    return found
