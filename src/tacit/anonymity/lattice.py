"""The compiled walk through the lattice of levels: branch and bound, one column at a time.

A node of the walk fixes the levels of the first columns and leaves the others at "*". Whatever levels the others get,
classes only split, so

* a row that fails k-anonymity or distinct diversity here fails below, and so many rows at least of a class that fails
  another requirement (`kernels.judge`);
* the loss of a fixed column is at least its loss without suppression plus what the suppressed rows add, and that of an
  open column at least the share of suppressed rows.

So the number of suppressed rows cuts by the limit, and the mean of the columns' bounds by the best answer so far. At a
full node the bound is the loss itself. Rows are kept as pairs (class of the fixed columns, number of the raw rest);
once a column is generalised, pairs that agree are joined, so that tables shrink on the way down.
"""
# ruff: noqa: ANN001, ANN201 - the compiler finds the types itself
# ruff: noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - loops for a compiler: flat, with many plain arguments

from __future__ import annotations

import numpy as np

from tacit.anonymity.kernels import jit, judge, number_pairs, part

_TIE = 1e-10


@part
def mean_loss(values, geometric):
    """Return the mean of columns: arithmetic, or Π(1 + v)^(1/columns) - 1."""
    total = 0.0
    for v in values:
        total += np.log1p(v) if geometric else v
    total /= values.size
    return np.expm1(total) if geometric else total


@part
def bound(j, level, weights, number, code, parent, levels, starts, costs, base, n, limit, best, geometric,
          up_parent, up_code, up_count, gather, values):  # fmt: skip
    """Return the least loss under a node, or infinity if it needs more suppression than the limit; and the rows.

    weights: rows that each class must suppress; code: the class's group in column j; parent: its class before j.
    """
    total = 0.0
    for c in range(number):
        total += weights[c]
        if total > limit:
            return np.inf, total
    share = total / n
    for c in range(base.shape[0]):
        values[c] = share
    for c in range(j + 1):
        values[c] = max(share, base[c, levels[c] if c < j else level])
    quick = mean_loss(values, geometric)
    if quick > best + _TIE or total == 0.0:
        return quick, total
    gather[0, : up_count[j]] = 0.0
    added, at = 0.0, starts[j, level]
    for c in range(number):
        if weights[c] > 0.0:
            added += weights[c] * (1.0 - costs[at + code[c]])
            gather[0, parent[c]] += weights[c]
    values[j] = base[j, level] + added / n
    here = 0
    for d in range(j, 0, -1):
        added, at, there = 0.0, starts[d - 1, levels[d - 1]], 1 - here
        gather[there, : up_count[d - 1]] = 0.0
        for c in range(up_count[d]):
            weight = gather[here, c]
            if weight > 0.0:
                added += weight * (1.0 - costs[at + up_code[d, c]])
                gather[there, up_parent[d, c]] += weight
        values[d - 1] = base[d - 1, levels[d - 1]] + added / n
        here = there
    return mean_loss(values, geometric), total


@part
def weigh(number, sizes_of, rows, row_class, row_count, row_rest, k, model, sensitive, n, work, exact, weights):
    """Fill in how many rows each class must suppress: by its size alone, or by its sensitive values too.

    Without a model the second part is not even compiled.
    """
    if model is None:
        for c in range(number):
            weights[c] = sizes_of[c] if sizes_of[c] < k else 0.0
        return
    sizes, kinds, columns, numbers, wholes, families, parts, divisors = model
    first, order, hist, touched, scratch, doubts = work
    first[: number + 1] = 0
    for i in range(rows):
        first[row_class[i] + 1] += 1
    for c in range(number):
        first[c + 1] += first[c]
    for i in range(rows):
        c = row_class[i]
        order[first[c]] = i
        first[c] += 1
    low = np.int64(0)
    for c in range(number):
        weights[c] = judge(low, first[c], order, row_rest, row_count, np.int64(sizes_of[c]), k, sensitive, sizes, kinds,
                           columns, numbers, wholes, n, families, parts, divisors, hist, touched, scratch, doubts,
                           exact)  # fmt: skip
        low = first[c]


@part
def classes_at(level, starts, maps, widths, j, number, parent, code, count, keys, values, right, ids, out):
    """Join the classes at the raw level of column j into those at a level; return how many there are.

    ids[c] becomes the new number of class c; out holds parents, groups and sizes of the new classes.
    """
    at = starts[j, level]
    for c in range(number):
        right[c] = maps[at + code[c]]
    found = number_pairs(parent, right, widths[j, level], number, keys, values, ids)
    out[2, :found] = 0
    for c in range(number):
        one = ids[c]
        out[0, one] = parent[c]
        out[1, one] = right[c]
        out[2, one] += count[c]
    return found


@jit
def walk(steps, state, scores, best_levels, tied_levels, levels, heights, starts, maps, widths, costs, base, n, limit,
         geometric, k, head, tail, rests, rest_sensitive, model, table, classes, up, candidates, bounds, buffers,
         work, listed, listed_scores):  # fmt: skip
    """Go on for so many steps; state = (depth, bounded, cut, full nodes, ties, suppressed of the best, nodes listed).

    Where `listed` has room, every full node whose loss is not above scores[0] is listed, and scores[0] stays as it is.
    """
    t_class, t_rest, t_count, t_size = table
    row_class, c_parent, c_code, c_count, c_size = classes
    up_parent, up_code, up_count = up
    place, many, open_, choice = candidates
    keys, values, right, ids, joined, weights, gather, losses, row_joined = buffers
    q, models = heights.size, model is not None
    while steps > 0 and state[0] >= 0:
        steps -= 1
        j = state[0]
        rows = t_size[j]
        if open_[j] == 0:
            for i in range(rows):
                right[i] = head[j, t_rest[j, i]]
            found = number_pairs(t_class[j], right, widths[j, 0], rows, keys, values, row_class[j])
            c_size[j] = found
            c_count[j, :found] = 0
            for i in range(rows):
                one = row_class[j, i]
                c_parent[j, one] = t_class[j, i]
                c_code[j, one] = right[i]
                c_count[j, one] += t_count[j, i]
            open_[j], place[j], many[j] = 1, 0, 0
            for level in range(heights[j] - 1, -1, -1):
                number = classes_at(level, starts, maps, widths, j, found, c_parent[j], c_code[j], c_count[j], keys,
                                    values, right, ids, joined)  # fmt: skip
                if models:
                    for i in range(rows):
                        row_joined[i] = ids[row_class[j, i]]
                weigh(number, joined[2], rows, row_joined, t_count[j], t_rest[j], k, model, rest_sensitive[j], n, work,
                      j == q - 1, weights)  # fmt: skip
                score, total = bound(j, level, weights, number, joined[1], joined[0], levels, starts, costs, base, n,
                                     limit, scores[0], geometric, up_parent, up_code, up_count, gather,
                                     losses)  # fmt: skip
                state[1] += 1
                if score == np.inf:
                    state[2] += 1
                    if j < q - 1 or not models:
                        break  # finer levels need no less suppression
                    continue
                if score > scores[0] + _TIE:
                    state[2] += 1
                    continue
                if j < q - 1:
                    at = many[j]
                    while at > 0 and bounds[j, at - 1] > score:
                        bounds[j, at], choice[j, at] = bounds[j, at - 1], choice[j, at - 1]
                        at -= 1
                    bounds[j, at], choice[j, at] = score, level
                    many[j] += 1
                else:
                    state[3] += 1
                    levels[j] = level
                    if listed.shape[0] > 0:
                        if state[6] < listed.shape[0]:
                            listed_scores[state[6]] = score
                            for c in range(q):
                                listed[state[6], c] = level if c == j else levels[c]
                        state[6] += 1
                        continue
                    rows_out = np.int64(total)
                    tie = abs(score - scores[0]) <= _TIE
                    if tie:
                        if state[4] < tied_levels.shape[0]:
                            for c in range(q):
                                tied_levels[state[4], c] = levels[c]
                        state[4] += 1
                    elif score < scores[0]:
                        for c in range(q):
                            tied_levels[0, c] = levels[c]
                        state[4] = 1
                    lower = 0
                    for c in range(q):
                        lower += best_levels[c] - levels[c]
                    lighter = rows_out < state[5] or (rows_out == state[5] and lower > 0)
                    if (not tie and score < scores[0]) or (tie and lighter):
                        scores[0] = min(score, scores[0])
                        state[5] = rows_out
                        for c in range(q):
                            best_levels[c] = levels[c]
        if place[j] >= many[j] or bounds[j, place[j]] > scores[0] + _TIE:
            state[2] += many[j] - place[j]
            open_[j] = 0
            state[0] -= 1
            continue
        level = choice[j, place[j]]
        place[j] += 1
        levels[j] = level
        number = classes_at(level, starts, maps, widths, j, c_size[j], c_parent[j], c_code[j], c_count[j], keys, values,
                            right, ids, joined)  # fmt: skip
        up_count[j + 1] = number
        for c in range(number):
            up_parent[j + 1, c] = joined[0, c]
            up_code[j + 1, c] = joined[1, c]
        if level == 0:
            for i in range(rows):
                t_class[j + 1, i] = ids[row_class[j, i]]
                t_rest[j + 1, i] = tail[j, t_rest[j, i]]
                t_count[j + 1, i] = t_count[j, i]
            t_size[j + 1] = rows
        else:
            for i in range(rows):
                row_joined[i] = ids[row_class[j, i]]
                right[i] = tail[j, t_rest[j, i]]
            found = number_pairs(row_joined, right, rests[j + 1], rows, keys, values, t_rest[j + 1])
            t_size[j + 1] = found
            t_count[j + 1, :found] = 0
            for i in range(rows):
                one = t_rest[j + 1, i]
                t_class[j + 1, one] = row_joined[i]
                t_count[j + 1, one] += t_count[j, i]
                ids[one] = right[i]
            for i in range(found):
                t_rest[j + 1, i] = ids[i]
        open_[j + 1] = 0
        state[0] = j + 1
    return state[0] < 0
