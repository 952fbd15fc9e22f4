"""Count the visits of a clinic, of whom one person has a ninth: as a whole and by month, with a chosen reach."""

from __future__ import annotations

import limits_data
import numpy as np
import pandas as pd
from limits_tacit import database, release, sql
from report import Part, Verdict, table
from rounds import short

EPSILON, TIMES = 1.0, 20
ALLOWED, SURE = 0.01, 0.95

TEXT = """\
### The visits of a clinic

{rows:,} visits of {units:,} persons in {months} months. One person has {extreme:,} visits; no other person has
more than {next:,}. ε = {epsilon:g}, with {times} releases of each query with `reach="auto"`. The error is
|answer - visits of all other persons|, as a share of all visits of the month or of the table.
The target is that 95 % of all answers are within 1 %.

{findings}"""


def measure() -> Part:
    """Release both counts and report their errors."""
    path = limits_data.visits()
    keys = limits_data.keys("visits", path)
    frame = pd.read_parquet(path)
    sizes = frame["unit"].value_counts()
    others = frame[frame["unit"] != sizes.index[0]]
    db = database(path, keys)
    rows, verdicts = [], []
    for name, grouped in (("all visits", False), ("by month", True)):
        print(f"tacit: visits, {name} …", flush=True)
        releases = [release(db, sql("count", grouped=grouped), keys, EPSILON) for _ in range(TIMES)]
        everyone, rest = (
            part["key"].value_counts()[keys].to_numpy() if grouped else np.array([len(part)])
            for part in (frame, others)
        )
        shares = np.abs(np.array([values for values, _ in releases]) - rest) / everyone
        within = float((shares <= ALLOWED).mean())
        reaches = np.median([reach for _, reach in releases])
        whole = int((shares <= ALLOWED).all(axis=1).sum())
        cells = [f"{shares.mean():.3%}", f"{shares.max():.3%}", f"{within:.1%}", f"{whole} of {TIMES}"]
        rows.append([name, *cells, short(reaches)])
        verdicts.append(
            Verdict(f"visits, {name}: answers within 1 %", f"≥ {SURE:.0%}", f"{within:.1%}", met=within >= SURE)
        )
    text = TEXT.format(
        rows=len(frame),
        units=len(sizes),
        months=len(keys),
        extreme=int(sizes.iloc[0]),
        next=int(sizes.iloc[1]),
        epsilon=EPSILON,
        times=TIMES,
        findings=table(
            ["count", "mean error", "largest error", "within 1 %", "releases all within 1 %", "median reach"], rows
        ),
    )
    return Part(text, verdicts)
