"""How much a recoding loses.

| measure | formula |
|---|---|
| `loss` | per column the mean over rows of (share - 1/m)/(1 - 1/m), a suppressed row counting 1; columns averaged |
| `ncp` | as loss, with the range of numbers in place of the share, and the share of other values (0 for one value) |
| `precision` | 1 - mean over cells of level/(levels - 1), a suppressed row counting 1 |
| `discernibility` | Σ size² over classes + rows·suppressed |
| `average_class_size` | rows kept / classes |
| `non_uniform_entropy` | Σ over cells of log₂(rows under the published value / with the raw one), over that of "*" |

share is the part of the hierarchy's m raw values under the published one. A column with one raw value loses nothing.
Columns are averaged arithmetically, or geometrically as Π(1 + v)^(1/columns) - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, log1p

import numpy as np

from tacit.anonymity.classes import group
from tacit.anonymity.problem import Mean, Objective, loss_costs, scaled
from tacit.anonymity.recoded import Cover, Published, is_numeric
from tacit.arrays import Codes, Floats


@dataclass(frozen=True, slots=True)
class Measures:
    """What a recoding loses, by every measure; `columns` is the loss of each column."""

    loss: float
    loss_geometric: float
    ncp: float
    precision: float | None
    discernibility: int
    average_class_size: float
    non_uniform_entropy: float
    columns: dict[str, float]


def averaged(values: list[float], mean: Mean) -> float:
    """Return the mean of columns: arithmetic, or Π(1 + v)^(1/columns) - 1.

    >>> averaged([0.0, 1.0], "arithmetic"), round(averaged([0.0, 1.0], "geometric"), 6)
    (0.5, 0.414214)
    """
    if not values:
        return 0.0
    return sum(values) / len(values) if mean == "arithmetic" else expm1(sum(map(log1p, values)) / len(values))


def cover_costs(cover: Cover, objective: Objective) -> Floats:
    """Return what each label of a cover costs, from 0 to 1; NaN where it is no group and groups are counted."""
    if objective == "precision":
        return np.where(cover.level < 0, np.nan, cover.level / max(1, cover.tree.height - 1))
    if objective == "loss":
        return loss_costs(cover.shares, len(cover.tree.rows))
    alone = cover.low == cover.high
    if not is_numeric(cover.tree):
        return np.where(alone, 0.0, cover.shares)
    numbers = scaled(cover.tree)[np.argsort(cover.place)]
    spans = [np.ptp(numbers[a : b + 1]) for a, b in zip(cover.low, cover.high, strict=True)]
    return np.where(alone, 0.0, np.nan_to_num(np.array(spans), nan=1.0))


def column_losses(out: Published, objective: Objective) -> list[float]:
    """Return the loss of every column: the mean over rows, a suppressed one counting 1."""
    rows, gone = len(out.kept), int((~out.kept).sum())
    losses = []
    for cover, codes in zip(out.covers, out.codes, strict=True):
        many = np.bincount(codes[out.kept], minlength=len(cover.labels))
        used = many > 0
        losses.append((float(many[used] @ cover_costs(cover, objective)[used]) + gone) / max(1, rows))
    return losses


def measure(out: Published, raw: tuple[Codes, ...]) -> Measures:
    """Return every measure of a recoding; raw holds the raw codes of all rows."""
    losses, rows = column_losses(out, "loss"), len(out.kept)
    sizes = (
        group([codes[out.kept] for codes in out.codes], int(out.kept.sum())).sizes
        if out.kept.any()
        else np.zeros(0, np.int64)
    )
    precision = 1 - averaged(column_losses(out, "precision"), "arithmetic")
    return Measures(
        averaged(losses, "arithmetic"),
        averaged(losses, "geometric"),
        averaged(column_losses(out, "ncp"), "arithmetic"),
        None if np.isnan(precision) else precision,
        int((sizes.astype(object) ** 2).sum()) + rows * int((~out.kept).sum()),
        float(sizes.mean()) if len(sizes) else 0.0,
        _entropy(out, raw),
        {cover.name: one for cover, one in zip(out.covers, losses, strict=True)},
    )


def _entropy(out: Published, raw: tuple[Codes, ...]) -> float:
    lost = most = 0.0
    rows = len(out.kept)
    for cover, codes, values in zip(out.covers, out.codes, raw, strict=True):
        many = np.bincount(values, minlength=len(cover.place))
        sums = np.append(0, np.cumsum(many[np.argsort(cover.place)]))
        under = np.where(out.kept, (sums[cover.high + 1] - sums[cover.low])[codes], rows)
        lost += float(np.log2(under / many[values]).sum())
        most += float(np.log2(rows / many[values]).sum())
    return lost / most if most else 0.0
