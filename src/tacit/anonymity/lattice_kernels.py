"""The compiled walk through the lattice of levels: branch and bound, one column at a time.

A node of the walk fixes the levels of the first columns and leaves the other columns at "*". For all levels of the
other columns, classes only split. Therefore:

* A row that fails k-anonymity or distinct diversity here also fails below. If a class fails another requirement,
  `class_kernels.judge` gives a lower bound on its rows that are suppressed.
* The loss of a fixed column is at least its loss without suppression plus what the suppressed rows add. The loss of an
  open column is at least the share of suppressed rows.

So a node is cut if it suppresses more rows than the limit, or if the mean of the bounds of its columns is above the
best loss so far. At a full node the bound is the loss. Rows are kept as pairs (class of the fixed columns, number of
the raw rest). When a column is generalised, equal pairs are joined, so that tables shrink on the way down.

The arrays are described in `search_arrays`.
"""
# ruff: noqa: ANN001, ANN201 - the compiler finds the types itself
# ruff: noqa: PLR0913, PLR0917 - loops for a compiler: flat, with plain arguments

from __future__ import annotations

import numpy as np

from tacit.anonymity.class_kernels import judge, number_pairs
from tacit.anonymity.kernels import inner_kernel, kernel
from tacit.anonymity.search_arrays import ClassRows

_TIE = 1e-10


@inner_kernel
def mean_loss(values, geometric):
    """Return the mean of columns: arithmetic, or Π(1 + v)^(1/columns) - 1."""
    total = 0.0
    for v in values:
        total += np.log1p(v) if geometric else v
    total /= values.size
    return np.expm1(total) if geometric else total


@inner_kernel
def bound(j, level, number, terms, lattice, levels, best, path, buffers):
    """Return a lower bound on the loss below a node, infinity if it suppresses more than the limit; and the rows.

    buffers.weights[c] is the number of rows that class c must suppress, for c below `number`.
    """
    weights, values = buffers.weights, buffers.losses
    total = 0.0
    for c in range(number):
        total += weights[c]
        if total > terms.limit:
            return np.inf, total
    share = total / terms.rows
    for c in range(lattice.base.shape[0]):
        values[c] = share
    for c in range(j + 1):
        values[c] = max(share, lattice.base[c, levels[c] if c < j else level])
    quick = mean_loss(values, terms.geometric)
    if quick > best + _TIE or total == 0.0:
        return quick, total
    add_suppressed(j, level, number, terms.rows, lattice, levels, path, buffers)
    return mean_loss(values, terms.geometric), total


@inner_kernel
def add_suppressed(j, level, number, rows, lattice, levels, path, buffers):
    """Set the losses of the fixed columns to their base plus what the suppressed rows add, from column j upwards."""
    weights, values, gather, joined = buffers.weights, buffers.losses, buffers.gather, buffers.joined
    for c in range(path.counts[j]):
        gather[0, c] = 0.0
    added, at = 0.0, lattice.starts[j, level]
    for c in range(number):
        if weights[c] > 0.0:
            added += weights[c] * (1.0 - lattice.costs[at + joined[1, c]])
            gather[0, joined[0, c]] += weights[c]
    values[j] = lattice.base[j, level] + added / rows
    here = 0
    for d in range(j, 0, -1):
        added, at, above = 0.0, lattice.starts[d - 1, levels[d - 1]], 1 - here
        for c in range(path.counts[d - 1]):
            gather[above, c] = 0.0
        for c in range(path.counts[d]):
            weight = gather[here, c]
            if weight > 0.0:
                added += weight * (1.0 - lattice.costs[at + path.code[d, c]])
                gather[above, path.parent[d, c]] += weight
        values[d - 1] = lattice.base[d - 1, levels[d - 1]] + added / rows
        here = above


@inner_kernel
def weigh(j, number, terms, rests, requirements, scratch, space):
    """Set how many rows each joined class must suppress: by its size alone, or by its sensitive values too.

    If `requirements` is None, numba does not compile the second part.
    """
    weights, sizes = space.buffers.weights, space.buffers.joined[2]
    if requirements is None:
        for c in range(number):
            weights[c] = sizes[c] if sizes[c] < terms.k else 0.0
        return
    count, row_class = space.rows.size[j], space.classes.row_class[j]
    row_joined, first, order = space.buffers.row_joined, space.buffers.first, space.buffers.order
    for i in range(count):
        row_joined[i] = space.buffers.ids[row_class[i]]
    for c in range(number + 1):
        first[c] = 0
    for i in range(count):
        first[row_joined[i] + 1] += 1
    for c in range(number):
        first[c + 1] += first[c]
    for i in range(count):
        c = row_joined[i]
        order[first[c]] = i
        first[c] += 1
    rows = ClassRows(order, space.rows.rest[j], space.rows.counts[j], rests.sensitive[j])
    full, low = j == rests.head.shape[0] - 1, np.int64(0)
    for c in range(number):
        weights[c] = judge(rows, low, first[c], np.int64(sizes[c]), terms.k, terms.rows, requirements, scratch, full)
        low = first[c]


@inner_kernel
def number_classes(j, lattice, rests, rows, classes, buffers):
    """Number the classes of depth j, with column j at its raw level."""
    count, right, row_class = rows.size[j], buffers.right, classes.row_class[j]
    parent, code, sizes = classes.parent[j], classes.code[j], classes.counts[j]
    for i in range(count):
        right[i] = rests.head[j, rows.rest[j, i]]
    total = number_pairs(rows.group[j], right, lattice.widths[j, 0], count, buffers.keys, buffers.values, row_class)
    classes.size[j] = total
    for c in range(total):
        sizes[c] = 0
    for i in range(count):
        c = row_class[i]
        parent[c] = rows.group[j, i]
        code[c] = right[i]
        sizes[c] += rows.counts[j, i]


@inner_kernel
def join_classes(j, level, lattice, classes, buffers):
    """Join the classes of the raw level of column j into the classes of a level; return how many there are.

    buffers.ids[c] becomes the new number of class c; buffers.joined holds parents, groups and sizes of the new classes.
    """
    parent, code, sizes = classes.parent[j], classes.code[j], classes.counts[j]
    right, ids, joined, number = buffers.right, buffers.ids, buffers.joined, classes.size[j]
    at = lattice.starts[j, level]
    for c in range(number):
        right[c] = lattice.maps[at + code[c]]
    total = number_pairs(parent, right, lattice.widths[j, level], number, buffers.keys, buffers.values, ids)
    for new in range(total):
        joined[2, new] = 0
    for c in range(number):
        new = ids[c]
        joined[0, new] = parent[c]
        joined[1, new] = right[c]
        joined[2, new] += sizes[c]
    return total


@inner_kernel
def add_candidate(j, level, score, candidates):
    """Insert a level of column j among the candidates, by rising bound."""
    at = candidates.many[j]
    bounds, choice = candidates.bounds[j], candidates.choice[j]
    while at > 0 and bounds[at - 1] > score:
        bounds[at], choice[at] = bounds[at - 1], choice[at - 1]
        at -= 1
    bounds[at], choice[at] = score, level
    candidates.many[j] += 1


@inner_kernel
def copy_levels(levels, target):
    """Copy levels by a loop, because numba compiles the assignment of a slice slowly."""
    for c in range(levels.size):
        target[c] = levels[c]


@inner_kernel
def list_node(score, progress, answers):
    """Add the current node to the list if there is room, and count it."""
    at = progress.listed
    if at < answers.listed.shape[0]:
        answers.listed_losses[at] = score
        copy_levels(answers.levels, answers.listed[at])
    progress.listed = at + 1


@inner_kernel
def record_node(score, suppressed, progress, answers):
    """Compare the current full node with the best: record a tie, or a better node.

    Of nodes that tie, the best suppresses fewest rows; if these tie too, it has the lowest sum of levels.
    """
    levels, best, tied = answers.levels, answers.best, answers.tied
    is_tie = abs(score - progress.loss) <= _TIE
    is_better = not is_tie and score < progress.loss
    if is_tie:
        if progress.ties < tied.shape[0]:
            copy_levels(levels, tied[progress.ties])
        progress.ties += 1
    elif is_better:
        copy_levels(levels, tied[0])
        progress.ties = 1
    lower = 0
    for c in range(levels.size):
        lower += best[c] - levels[c]
    is_lighter = suppressed < progress.suppressed or (suppressed == progress.suppressed and lower > 0)
    if is_better or (is_tie and is_lighter):
        progress.loss = min(score, progress.loss)
        progress.suppressed = suppressed
        copy_levels(levels, best)


@inner_kernel
def score_levels(j, progress, terms, lattice, rests, requirements, scratch, space, answers):
    """Bound every level of column j: keep those worth trying as candidates; at the last column, record the nodes."""
    candidates, buffers = space.candidates, space.buffers
    number_classes(j, lattice, rests, space.rows, space.classes, buffers)
    candidates.scored[j], candidates.next[j], candidates.many[j] = 1, 0, 0
    last = j == lattice.heights.size - 1
    for level in range(lattice.heights[j] - 1, -1, -1):
        number = join_classes(j, level, lattice, space.classes, buffers)
        weigh(j, number, terms, rests, requirements, scratch, space)
        score, total = bound(j, level, number, terms, lattice, answers.levels, progress.loss, space.path, buffers)
        progress.bounded += 1
        if score == np.inf:
            progress.cut += 1
            if not last or requirements is None:
                break  # finer levels suppress at least as many rows
            continue
        if score > progress.loss + _TIE:
            progress.cut += 1
            continue
        if not last:
            add_candidate(j, level, score, candidates)
            continue
        progress.full += 1
        answers.levels[j] = level
        if answers.listed.shape[0] > 0:
            list_node(score, progress, answers)
        else:
            record_node(score, np.int64(total), progress, answers)


@inner_kernel
def descend(j, level, lattice, rests, space):
    """Fix column j at a level, and write the rows of the next depth: pairs of class and rest, equal ones joined."""
    rows, path, buffers, row_class = space.rows, space.path, space.buffers, space.classes.row_class[j]
    number, count, tail = join_classes(j, level, lattice, space.classes, buffers), rows.size[j], rests.tail[j]
    path.counts[j + 1] = number
    for c in range(number):
        path.parent[j + 1, c] = buffers.joined[0, c]
        path.code[j + 1, c] = buffers.joined[1, c]
    group, rest, sizes = rows.group[j + 1], rows.rest[j + 1], rows.counts[j + 1]
    if level == 0:
        for i in range(count):
            group[i] = buffers.ids[row_class[i]]
            rest[i] = tail[rows.rest[j, i]]
            sizes[i] = rows.counts[j, i]
        rows.size[j + 1] = count
        return
    right, joined = buffers.right, buffers.row_joined
    for i in range(count):
        joined[i] = buffers.ids[row_class[i]]
        right[i] = tail[rows.rest[j, i]]
    total = number_pairs(joined, right, rests.many[j + 1], count, buffers.keys, buffers.values, rest)
    rows.size[j + 1] = total
    for pair in range(total):
        sizes[pair] = 0
    for i in range(count):
        pair = rest[i]
        group[pair] = joined[i]
        sizes[pair] += rows.counts[j, i]
        buffers.ids[pair] = right[i]
    for i in range(total):
        rest[i] = buffers.ids[i]


@kernel
def walk(steps, state, terms, lattice, rests, requirements, scratch, space, answers):
    """Walk for a number of steps; return whether the walk has ended. state[0] is the record of its progress.

    If `answers.listed` has room, every full node whose loss is not above the given one is listed, and the loss of the
    progress does not change.
    """
    progress, candidates = state[0], space.candidates
    while steps > 0 and progress.depth >= 0:
        steps -= 1
        j = progress.depth
        if candidates.scored[j] == 0:
            score_levels(j, progress, terms, lattice, rests, requirements, scratch, space, answers)
        at, many = candidates.next[j], candidates.many[j]
        if at >= many or candidates.bounds[j, at] > progress.loss + _TIE:
            progress.cut += many - at
            candidates.scored[j] = 0
            progress.depth -= 1
            continue
        level = candidates.choice[j, at]
        candidates.next[j] = at + 1
        answers.levels[j] = level
        descend(j, level, lattice, rests, space)
        candidates.scored[j + 1] = 0
        progress.depth = j + 1
    return progress.depth < 0
