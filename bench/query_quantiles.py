"""Ten quantiles of ten million values: how long beside a plain histogram, and how far off beside opendp."""

from __future__ import annotations

from math import nan
from pathlib import Path

import duckdb
import numpy as np
from query_fresh import Contestant, opendp
from query_serve import BINS, MOST, RANKS, Question
from query_speed import EPSILON, Race, judge, times
from report import Part, Verdict, table
from rounds import short
from serve import Missing

TACIT, PLAIN, OPENDP = Contestant("tacit_query_quantiles"), Contestant("duckdb_query_quantiles"), opendp("quantiles")
PLAIN_NAME = "plain histogram"
ROUNDS, SLOWEST = 5, 4.0
TREE = "opendp's tree"
RELEASES = {"tacit": (TACIT, 15, False), TREE: (OPENDP, 60, True), "opendp's single quantiles": (OPENDP, 5, False)}

TEXT = """\
### Ten quantiles

The quantiles at 0.05, 0.15, …, 0.95 of {rows:,} values in [0, {most:,}], spread like incomes, each row a unit, at
ε = {epsilon:g} for all ten. The plain query is DuckDB's histogram of {bins:,} bins, by `GROUP BY`. {rounds} rounds:

{times}

The largest error of the ten, in the units of the values: the median over so many releases, and the largest. OpenDP's
tree is over the same {bins:,} bins, consistent, with the branching that it advises; its single quantiles choose among
the edges of these bins, each at a tenth of ε.

{errors}"""


def measure(path: Path, small: Path, rows: int) -> Part:
    """Time, compare errors, and judge."""
    race = Race("ten quantiles", None, {"tacit": TACIT, "plain": PLAIN}, ROUNDS, statistics=RANKS)
    race.sit(path, small)
    true = _truth(path)
    found = {name: _errors(name, path, true, *who) for name, who in RELEASES.items()}
    lines = [
        [name, f"{RELEASES[name][1]}", *([one, "–"] if isinstance(one, str) else map(short, one))]
        for name, one in found.items()
    ]
    text = TEXT.format(
        rows=rows,
        most=MOST,
        bins=BINS,
        epsilon=EPSILON,
        rounds=ROUNDS,
        times=times(race),
        errors=table(["contestant", "releases", "largest error", "at most"], lines),
    )
    return Part(text, [judge(race, PLAIN_NAME, SLOWEST), _verdict(found["tacit"], found[TREE])])


def _truth(path: Path) -> np.ndarray:
    sql = f"SELECT quantile_cont(x, [{', '.join(RANKS)}]) FROM '{path}'"  # noqa: S608 - our own words
    return np.array(duckdb.connect().execute(sql).fetchall()[0][0])


def _errors(
    name: str,
    path: Path,
    true: np.ndarray,
    who: Contestant,
    releases: int,
    knowing: bool,  # noqa: FBT001
) -> tuple[float, float] | str:
    """Return the median and the largest of the largest errors, or why there are none."""
    print(f"errors of {name} …", flush=True)
    try:
        values = who.ask("errors", Question(str(path), None, RANKS, EPSILON, releases, knowing))["values"]
    except Missing as missing:
        return str(missing)
    off = np.array([values[rank] for rank in RANKS])[:, :, 0] - true[:, None]
    most = np.max(np.abs(off), axis=0)
    return float(np.median(most)), float(np.max(most))


def _verdict(ours: tuple[float, float] | str, theirs: tuple[float, float] | str) -> Verdict:
    what = f"ten quantiles: largest error ÷ {TREE}"
    if isinstance(ours, str) or isinstance(theirs, str):
        return Verdict(what, "≤ 1", "–", None)
    ratio = ours[0] / theirs[0] if theirs[0] else nan
    return Verdict(what, "≤ 1", f"{short(ratio)} ({short(ours[0])} against {short(theirs[0])})", ratio <= 1)
