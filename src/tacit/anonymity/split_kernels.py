"""The compiled loops that split a table from the top: at medians, or along hierarchies.

The arrays are described in `partitions`. A part is the rows low to high of a table whose rows move along with `order`,
the numbers of the rows.
"""
# ruff: noqa: ANN001, ANN201 - the compiler finds the types itself
# ruff: noqa: PLR0913, PLR0917 - loops for a compiler: flat, with plain arguments

from __future__ import annotations

import numpy as np

from tacit.anonymity.class_kernels import judge
from tacit.anonymity.kernels import inner_kernel, kernel
from tacit.anonymity.search_arrays import ClassRows

_EXACT = True


@inner_kernel
def passes(low, high, order, total, terms, requirements, rows, scratch):
    """Return whether rows order[low:high] as one class meet every requirement; k alone if requirements is None."""
    if requirements is None:
        return total >= terms.k
    if total < terms.k:
        return False
    members = ClassRows(order, rows.rests, rows.counts, rows.sensitive)
    suppressed = judge(
        members, np.int64(low), np.int64(high), np.int64(total), terms.k, terms.rows, requirements, scratch, _EXACT
    )
    return suppressed == 0.0


@inner_kernel
def cut_at(column, low, high, base, reach, counts, strict):
    """Return where to cut the values of a part: the last value that is left whole, the rows left, and how many rows of
    the next value are left.

    Strict: equal values stay together, and the cut is the one nearest to the middle. Relaxed: the middle row.
    """  # noqa: D205 - three results
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


@inner_kernel
def find_ranges(low, high, table, least, most):
    """Set least[c] and most[c] to the ends of column c in a part."""
    for c in range(table.shape[0]):
        column = table[c]
        first = last = column[low]
        for i in range(low + 1, high):
            first = min(first, column[i])
            last = max(last, column[i])
        least[c], most[c] = first, last


@inner_kernel
def widest_column(widths, work):
    """Return the column with the widest range that has not been tried, or -1."""
    best, widest = 0.0, -1
    for c in range(widths.size):
        width = (work.most[c] - work.least[c]) / max(1, widths[c] - 1)
        if not work.tried[c] and width > best:
            best, widest = width, c
    return widest


@inner_kernel
def set_targets(column, low, high, left, last_left, equal, strict, target):
    """Set target[i] to the new index of row i: values up to last_left go left, and `equal` rows of the next value."""
    a, b = low, low + left
    if strict:
        for i in range(low, high):
            goes = 1 if column[i] <= last_left else 0
            target[i] = a if goes else b
            a += goes
            b += 1 - goes
        return
    for i in range(low, high):
        goes = 1 if column[i] <= last_left else 0
        if column[i] == last_left + 1 and equal > 0:
            goes = 1
            equal -= 1
        target[i] = a if goes else b
        a += goes
        b += 1 - goes


@inner_kernel
def move_rows(low, high, table, order, work):
    """Move the rows of a part to their targets; a column with one value in the part does not change."""
    for i in range(low, high):
        order[i] = work.spare_order[i]
    for c in range(table.shape[0]):
        if work.least[c] < work.most[c]:
            column = table[c]
            for i in range(low, high):
                work.spare[work.target[i]] = column[i]
            for i in range(low, high):
                column[i] = work.spare[i]


@inner_kernel
def split_at_median(low, high, table, order, terms, requirements, rows, scratch, widths, work):
    """Split a part in the column of its widest range, or in the next that allows it; return the rows left, or 0."""
    size = high - low
    work.tried[:] = size < 2 * terms.k or size < 2  # noqa: PLR2004 - two parts
    while True:
        c = widest_column(widths, work)
        if c < 0:
            return 0
        work.tried[c] = True
        column, base = table[c], work.least[c]
        cut, left, equal = cut_at(column, low, high, base, work.most[c] - base + 1, work.counts, terms.strict)
        if left < terms.k or size - left < terms.k:
            continue
        set_targets(column, low, high, left, base + cut, equal, terms.strict, work.target)
        for i in range(low, high):
            work.spare_order[work.target[i]] = order[i]
        if passes(low, low + left, work.spare_order, left, terms, requirements, rows, scratch) and passes(
            low + left, high, work.spare_order, size - left, terms, requirements, rows, scratch
        ):
            move_rows(low, high, table, order, work)
            return left


@kernel
def median_split(table, order, terms, requirements, rows, scratch, widths, work, parts):
    """Split rows at medians until no split is allowed; return how many parts there are.

    table[c] holds the positions of column c. A part is split in the column of the widest range, divided by the
    column's number of positions. If the requirements do not allow that, it is split in the next column. parts.ends,
    parts.lows and parts.highs receive the end of every part and the range of its columns.
    """
    stack = work.stack
    stack[0, 0], stack[0, 1] = 0, table.shape[1]
    top, total = 1, 0
    while top > 0:
        top -= 1
        low, high = stack[top, 0], stack[top, 1]
        find_ranges(low, high, table, work.least, work.most)
        left = split_at_median(low, high, table, order, terms, requirements, rows, scratch, widths, work)
        if left > 0:
            stack[top, 0], stack[top, 1] = low + left, high
            stack[top + 1, 0], stack[top + 1, 1] = low, low + left
            top += 2
        else:
            for c in range(table.shape[0]):
                parts.lows[c, total], parts.highs[c, total] = work.least[c], work.most[c]
            parts.ends[total] = high
            total += 1
    return total


@inner_kernel
def sort_by_group(low, high, c, level, table, lattice, work):
    """Sort the rows of a part by their group in column c into work.sorted_rows; work.counts[g] becomes the end of g."""
    at, width, counts, maps = lattice.starts[c, level], lattice.widths[c, level], work.counts, lattice.maps
    counts[: width + 1] = 0
    for i in range(low, high):
        counts[maps[at + table[i, c]] + 1] += 1
    for g in range(width):
        counts[g + 1] += counts[g]
    for i in range(low, high):
        g = maps[at + table[i, c]]
        work.sorted_rows[low + counts[g]] = i
        counts[g] += 1


@inner_kernel
def pool_failing(low, width, order, terms, requirements, rows, scratch, work):
    """Pool the groups that fail the requirements alone; return the rows that pass and those that are pooled."""
    ends, pooled, members = work.ends, work.pooled, work.members
    together, begin, alone = 0, 0, 0
    for g in range(width):
        size = ends[g] - begin
        pooled[g] = 0
        if size > 0:
            for i in range(begin, ends[g]):
                members[low + i] = order[work.sorted_rows[low + i]]
            if passes(low + begin, low + ends[g], members, size, terms, requirements, rows, scratch):
                alone += size
            else:
                pooled[g] = 1
                together += size
        begin = ends[g]
    return alone, together


@inner_kernel
def pool_groups(low, size, width, order, terms, requirements, rows, scratch, work):
    """Pool failing groups, then the smallest others until the pool passes; return how many rows are not pooled.

    The groups of a part are the rows sorted_rows up to ends[g]. If all groups are pooled there is no split: return 0.
    """
    ends, pooled, members = work.ends, work.pooled, work.members
    alone, together = pool_failing(low, width, order, terms, requirements, rows, scratch, work)
    while together > 0 and alone > 0:
        at, begin = low, 0
        for g in range(width):
            if pooled[g] == 1:
                for i in range(begin, ends[g]):
                    members[at] = order[work.sorted_rows[low + i]]
                    at += 1
            begin = ends[g]
        if passes(low, at, members, together, terms, requirements, rows, scratch):
            return alone
        smallest, which, begin = size + 1, -1, 0
        for g in range(width):
            count = ends[g] - begin
            if pooled[g] == 0 and 0 < count < smallest:
                smallest, which = count, g
            begin = ends[g]
        pooled[which] = 1
        together += smallest
        alone -= smallest
    return alone


@inner_kernel
def split_score(size, alone, before, c, level, lattice, power, work):
    """Return the cost that a split saves for each bit of size: Σ rows·(before - after) / (rows·entropy)^power."""
    at, saved, bits, begin, rest = lattice.starts[c, level], 0.0, 0.0, 0, size - alone
    for g in range(lattice.widths[c, level]):
        count = work.ends[g] - begin
        if count > 0 and work.pooled[g] == 0:
            saved += count * (before - lattice.costs[at + g])
            bits -= count * np.log(count / size)
        begin = work.ends[g]
    if rest > 0:
        bits -= rest * np.log(rest / size)
    return saved / (bits + 0.01 * size) ** power


@inner_kernel
def best_split(low, high, table, order, terms, requirements, rows, scratch, lattice, power, work):
    """Return the column and the level of the split with the best score, or -1; work keeps its groups and its pool."""
    size, best, best_c, best_level = high - low, 0.0, -1, 0
    if size <= terms.k:
        return best_c, best_level
    for c in range(table.shape[1]):
        level = work.levels[c]
        before = lattice.costs[lattice.starts[c, level] + lattice.maps[lattice.starts[c, level] + table[low, c]]]
        for lower in range(level - 1, -1, -1):
            width = lattice.widths[c, lower]
            if lower > 0 and lattice.widths[c, lower - 1] == width:
                continue  # the level below makes the same groups
            sort_by_group(low, high, c, lower, table, lattice, work)
            for g in range(width):
                work.ends[g] = work.counts[g]
            alone = pool_groups(low, size, width, order, terms, requirements, rows, scratch, work)
            if alone == 0:
                continue
            score = split_score(size, alone, before, c, lower, lattice, power, work)
            if score > best:
                best, best_c, best_level = score, c, lower
                for g in range(width):
                    work.best_ends[g], work.best_pooled[g] = work.ends[g], work.pooled[g]
    return best_c, best_level


@inner_kernel
def push_part(top, low, high, work):
    """Put a part on the stack, at the levels of the part that is split."""
    work.stack[top, 0], work.stack[top, 1] = low, high
    for c in range(work.levels.size):
        work.stack_levels[top, c] = work.levels[c]


@inner_kernel
def copy_rows(to, low, begin, end, table, order, work):
    """Copy sorted rows begin to end of a part into the spare table, from index `to` on; return the next index."""
    for i in range(begin, end):
        row = work.sorted_rows[low + i]
        for c in range(table.shape[1]):
            work.spare[to, c] = table[row, c]
        work.spare_order[to] = order[row]
        to += 1
    return to


@inner_kernel
def divide(low, high, top, column, level, table, order, lattice, work):
    """Split a part into the groups of its best split and the pool, and put them on the stack; return its new top."""
    sort_by_group(low, high, column, level, table, lattice, work)
    to, begin, width = low, 0, lattice.widths[column, level]
    for g in range(width):
        end = work.best_ends[g]
        if end > begin and work.best_pooled[g] == 0:
            push_part(top, to, to + end - begin, work)
            work.stack_levels[top, column] = level
            top += 1
            to = copy_rows(to, low, begin, end, table, order, work)
        begin = end
    if to < high:
        push_part(top, to, high, work)
        top += 1
        begin = 0
        for g in range(width):
            if work.best_pooled[g] == 1:
                to = copy_rows(to, low, begin, work.best_ends[g], table, order, work)
            begin = work.best_ends[g]
    for i in range(low, high):
        order[i] = work.spare_order[i]
        for c in range(table.shape[1]):
            table[i, c] = work.spare[i, c]
    return top


@inner_kernel
def reverse_parts(first, top, work):
    """Reverse the parts from `first` on, so that they leave the stack in the order of their rows."""
    stack, stack_levels = work.stack, work.stack_levels
    for i in range((top - first) // 2):
        a, b = first + i, top - 1 - i
        for side in range(2):
            end = stack[a, side]
            stack[a, side] = stack[b, side]
            stack[b, side] = end
        for c in range(stack_levels.shape[1]):
            level = stack_levels[a, c]
            stack_levels[a, c] = stack_levels[b, c]
            stack_levels[b, c] = level


@kernel
def hierarchy_split(table, order, terms, requirements, rows, scratch, lattice, power, work, ends):
    """Split rows along hierarchies from "*" down; return how many parts there are, part i ending at ends[i].

    A part has a level for every column, at which its rows agree. A split takes one column to a lower level. Groups that
    meet the requirements become parts. The others are pooled and keep their level; the smallest of the passing groups
    join them while the pool fails. Among all columns and lower levels the split with the best `split_score` is taken.
    """
    work.stack[0, 0], work.stack[0, 1] = 0, table.shape[0]
    for c in range(table.shape[1]):
        work.stack_levels[0, c] = lattice.heights[c] - 1
    top, total = 1, 0
    while top > 0:
        top -= 1
        low, high = work.stack[top, 0], work.stack[top, 1]
        for c in range(table.shape[1]):
            work.levels[c] = work.stack_levels[top, c]
        column, level = best_split(
            low, high, table, order, terms, requirements, rows, scratch, lattice, power, work,
        )  # fmt: skip
        if column < 0:
            ends[total] = high
            total += 1
            continue
        first = top
        top = divide(low, high, top, column, level, table, order, lattice, work)
        reverse_parts(first, top, work)
    return total
