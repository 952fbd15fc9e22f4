"""The chart of a classifier: its largest coefficients, with whiskers where there are intervals."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from tacit.plots import answers
from tacit.plots.marks import NoisyColumn
from tacit.query.formatting import spell

if TYPE_CHECKING:
    import altair as alt

    from tacit.learn.model import Classifier

_MOST = 40


def coefficient_chart(model: Classifier) -> alt.LayerChart | alt.ConcatChart:
    """Return a row for each of the largest coefficients of the last class, in the order of the columns.

    A coefficient without a finite interval is a point. The whiskers are of the log-odds behind the shrunk weight.
    """
    row, names = model.weights[-1], model.coefficient_names
    order = sorted(int(place) for place in np.argsort(-np.abs(row), kind="stable")[:_MOST])
    ends = [(row[p], row[p]) if model.ends is None else model.ends[-1][p] for p in order]
    drawn = [end if all(map(isfinite, end)) else (row[p], row[p]) for p, end in zip(order, ends, strict=True)]
    low, high = [float(end[0]) for end in drawn], [float(end[1]) for end in drawn]
    column = NoisyColumn(name="weight", values=[float(row[p]) for p in order], low=low, high=high)
    note = (
        "The value is the log-odds before shrinking. A point without a whisker has no finite interval."
        if model.ends is not None
        else model.lines[-1]
    )
    confidence = None if model.ends is None else model.confidence
    title = f"Weights for {model.classes[-1]} ({model.method})"
    caption = answers.Caption(title=title, cost=spell(model.cost), confidence=confidence, note=note)
    return answers.by_group([names[p] for p in order], [column], caption, group="coefficient")
