"""The information that a recoding loses, by several measures.

| measure | formula |
|---|---|
| `loss` | by column the mean over rows of (share - 1/m)/(1 - 1/m), where a suppressed row counts 1; columns averaged |
| `ncp` | as loss, but the range for numbers, and the share for other values (0 for one value) |
| `precision` | 1 - mean over cells of level/(levels - 1), where a suppressed row counts 1 |
| `discernibility` | Σ size² over classes + rows·suppressed |
| `average_class_size` | rows kept / classes |
| `non_uniform_entropy` | Σ over cells of log₂(rows under the published value / with the raw one), over that of "*" |

share is the part of the hierarchy's m raw values under the published value. A column with one raw value loses nothing.
Columns are averaged arithmetically, or geometrically as Π(1 + v)^(1/columns) - 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, log1p
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.cell_values import number
from tacit.anonymity.classes import group
from tacit.anonymity.hierarchies import Hierarchy
from tacit.anonymity.recoding import Cover, RecodedTable, is_numeric
from tacit.arrays import Codes, Floats

Objective: TypeAlias = Literal["loss", "ncp", "precision"]
Mean: TypeAlias = Literal["arithmetic", "geometric"]
OBJECTIVES, MEANS = ("loss", "ncp", "precision"), ("arithmetic", "geometric")


@dataclass(frozen=True, slots=True)
class Measures:
    """The loss of a recoding by every measure; `columns` is the loss of each column."""

    loss: float
    loss_geometric: float
    ncp: float
    precision: float | None
    discernibility: int
    average_class_size: float
    non_uniform_entropy: float
    columns: dict[str, float]


def loss_lines(loss: float, columns: Mapping[str, float], values: Mapping[str, int]) -> Iterator[str]:
    r"""Return the loss in words, for the whole table and for each column.

    A published value of a column with m raw values stands for 1 + loss·(m - 1) of them, on average over the rows; a
    suppressed row stands for all.

    >>> print(*loss_lines(0.25, {"age": 0.5, "sex": 0.0}, {"age": 3, "sex": 2}), sep="\n")
    loss 0.250000, from 0 (every value unchanged) to 1 (every value hidden); by column:
      age: 0.500; a published value stands for 2.0 of 3 values on average
      sex: 0.000; unchanged
    """
    yield f"loss {loss:.6f}, from 0 (every value unchanged) to 1 (every value hidden); by column:"
    for name, lost in columns.items():
        stands_for = (
            f"a published value stands for {1 + lost * (values[name] - 1):,.1f} of {values[name]:,} values on average"
        )
        words = "unchanged" if lost == 0 else "hidden" if lost >= 1 else stands_for
        yield f"  {name}: {lost:.3f}; {words}"


def average(values: list[float], mean: Mean) -> float:
    """Return the mean of columns: arithmetic, or Π(1 + v)^(1/columns) - 1.

    >>> average([0.0, 1.0], "arithmetic"), round(average([0.0, 1.0], "geometric"), 6)
    (0.5, 0.414214)
    """
    if not values:
        return 0.0
    return sum(values) / len(values) if mean == "arithmetic" else expm1(sum(map(log1p, values)) / len(values))


def loss_costs(shares: Floats, values: int) -> Floats:
    """Return (share - 1/m)/(1 - 1/m), or 0 if there is one value."""
    return np.asarray((shares - 1 / values) / (1 - 1 / values)) if values > 1 else np.zeros_like(shares)


def ncp_costs(tree: Hierarchy, level: int) -> Floats:
    """Return the normalised certainty penalty: for numbers, the range of a group over the whole range; else its share.

    A missing value has no range: it costs 0 alone, and a group of it and other values costs 1.
    """
    groups, sizes = tree.groups(level), np.bincount(tree.groups(level))
    if not is_numeric(tree):
        return np.where(sizes > 1, sizes / len(tree.rows), 0.0)
    numbers = _scaled(tree)
    spans = np.array([np.ptp(numbers[groups == g]) if sizes[g] > 1 else 0.0 for g in range(len(sizes))])
    return np.where(np.isnan(spans), 1.0, spans)


def _scaled(tree: Hierarchy) -> Floats:
    """Return the raw values of a hierarchy of numbers, scaled from 0 (the least) to 1 (the largest); NaN is missing."""
    numbers = [None if value is None else number(value, tree.column) for value in tree.values]
    known = [x for x in numbers if x is not None] or [Fraction(0)]
    low, reach = min(known), max(known) - min(known) or Fraction(1)
    return np.array([np.nan if x is None else float((x - low) / reach) for x in numbers])


def _cover_costs(cover: Cover, objective: Objective) -> Floats:
    """Return the cost of each label of a cover, from 0 to 1; NaN if levels are counted and a label has no level."""
    if objective == "precision":
        return np.where(cover.level < 0, np.nan, cover.level / max(1, cover.tree.height - 1))
    if objective == "loss":
        return loss_costs(cover.shares, len(cover.tree.rows))
    alone = cover.low == cover.high
    if not is_numeric(cover.tree):
        return np.where(alone, 0.0, cover.shares)
    numbers = _scaled(cover.tree)[np.argsort(cover.order)]
    spans = [np.ptp(numbers[a : b + 1]) for a, b in zip(cover.low, cover.high, strict=True)]
    return np.where(alone, 0.0, np.nan_to_num(np.array(spans), nan=1.0))


def column_losses(out: RecodedTable, objective: Objective) -> list[float]:
    """Return the loss of every column: the mean over rows, where a suppressed row counts 1."""
    rows, suppressed = len(out.kept), int((~out.kept).sum())
    losses = []
    for cover, codes in zip(out.covers, out.codes, strict=True):
        many = np.bincount(codes[out.kept], minlength=len(cover.labels))
        used = many > 0
        losses.append((float(many[used] @ _cover_costs(cover, objective)[used]) + suppressed) / max(1, rows))
    return losses


def measure(out: RecodedTable, raw: tuple[Codes, ...]) -> Measures:
    """Return every measure of a recoding; raw holds the raw codes of all rows."""
    losses, rows = column_losses(out, "loss"), len(out.kept)
    sizes = (
        group([codes[out.kept] for codes in out.codes], int(out.kept.sum())).sizes
        if out.kept.any()
        else np.zeros(0, np.int64)
    )
    precision = 1 - average(column_losses(out, "precision"), "arithmetic")
    return Measures(
        average(losses, "arithmetic"),
        average(losses, "geometric"),
        average(column_losses(out, "ncp"), "arithmetic"),
        None if np.isnan(precision) else precision,
        int((sizes.astype(object) ** 2).sum()) + rows * int((~out.kept).sum()),
        float(sizes.mean()) if len(sizes) else 0.0,
        _entropy(out, raw),
        {cover.name: loss for cover, loss in zip(out.covers, losses, strict=True)},
    )


def _entropy(out: RecodedTable, raw: tuple[Codes, ...]) -> float:
    lost = most = 0.0
    rows = len(out.kept)
    for cover, codes, values in zip(out.covers, out.codes, raw, strict=True):
        many = np.bincount(values, minlength=len(cover.order))
        sums = np.append(0, np.cumsum(many[np.argsort(cover.order)]))
        under = np.where(out.kept, (sums[cover.high + 1] - sums[cover.low])[codes], rows)
        lost += float(np.log2(under / many[values]).sum())
        most += float(np.log2(rows / many[values]).sum())
    return lost / most if most else 0.0
