"""Count the visits of a clinic, of whom one person has a ninth: as a whole and by month, with a chosen reach."""

from __future__ import annotations

import limits_data
import numpy as np
import pandas as pd
from limits_model import Reals
from limits_serve import SHARE
from limits_tacit import database, release, sql
from report import Part, Verdict, table
from rounds import short
from scipy.stats import laplace

EPSILON, TIMES = 1.0, 20
ALLOWED, SURE = 0.01, 0.95
MOST_REACH = 200

TEXT = """\
### The visits of a clinic

{rows:,} visits of {units:,} persons in {months} months. One person has {extreme:,} visits; no other person has
more than {next:,}. ε = {epsilon:g}, with {times} releases of each query with `reach="auto"`. The error is
|answer - visits of all other persons|, as a share of all visits of the month or of the table.
The target is that 95 % of all answers are within 1 %. "Best reach" is the fixed reach at which all answers of a release
are most likely to be within 1 %, at the same ε of the answer, and that probability. It is computed. No choice of a
reach can be more likely.

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
        best, chance = _best(frame, keys if grouped else [], rest, ALLOWED * everyone)
        cells = [f"{shares.mean():.3%}", f"{shares.max():.3%}", f"{within:.1%}", f"{whole} of {TIMES}"]
        cells.append(f"{best} ({chance:.0%})")
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
            [
                *("count", "mean error", "largest error", "within 1 %", "releases all within 1 %"),
                *("best reach", "median reach"),
            ],
            rows,
        ),
    )
    return Part(text, verdicts)


def _best(frame: pd.DataFrame, keys: list[str], rest: Reals, allowed: Reals) -> tuple[int, float]:
    """Return the fixed reach at which all answers are most likely to be near the visits of all other persons.

    The weight of a row is min(1, R/n), and Laplace noise has the scale R/ε. So the probability of one answer is exact
    up to the grid of the noise, and the noise of the groups is independent.
    """
    size = frame.groupby("unit")["unit"].transform("size").to_numpy()
    groups = pd.Categorical(frame["key"], keys).codes if keys else np.zeros(len(frame), dtype=np.int64)
    chances = {}
    for reach in range(1, MOST_REACH):
        kept = np.bincount(groups, np.minimum(1.0, reach / size), len(rest))
        noise = laplace(scale=reach / ((1 - SHARE) * EPSILON))
        chances[reach] = float(np.prod(noise.cdf(rest + allowed - kept) - noise.cdf(rest - allowed - kept)))
    best = max(chances, key=chances.__getitem__)
    return best, chances[best]
