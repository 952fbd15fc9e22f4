"""Compare ten quantiles of ten million values: time with a plain histogram, and error with opendp."""

from __future__ import annotations

from math import nan
from pathlib import Path

import duckdb
import numpy as np
from query_fresh import Contestant, opendp
from query_serve import BINS, MOST, RANKS, Query
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

The quantiles at 0.05, 0.15, …, 0.95 of {rows:,} values in [0, {most:,}] with the distribution of incomes. Each row is
a unit; ε = {epsilon:g} for all ten. The plain query is DuckDB's histogram of {bins:,} bins, by `GROUP BY`. {rounds}
rounds:

{times}

The largest error of the ten quantiles, in the units of the values: the median and the maximum over the stated number
of releases. OpenDP's tree has the same {bins:,} bins and the branching factor that OpenDP recommends, and is made
consistent. OpenDP's single quantiles choose among the edges of these bins, each at a tenth of ε.

{errors}"""


def measure(path: Path, small: Path, rows: int) -> Part:
    """Measure times and errors, and return the verdicts."""
    race = Race("ten quantiles", None, {"tacit": TACIT, "plain": PLAIN}, ROUNDS, statistics=RANKS)
    race.run_session(path, small)
    true_values = _truth(path)
    results = {name: _errors(name, path, true_values, *settings) for name, settings in RELEASES.items()}
    lines = [
        [name, f"{RELEASES[name][1]}", *([result, "–"] if isinstance(result, str) else map(short, result))]
        for name, result in results.items()
    ]
    text = TEXT.format(
        rows=rows,
        most=MOST,
        bins=BINS,
        epsilon=EPSILON,
        rounds=ROUNDS,
        times=times(race),
        errors=table(["contestant", "releases", "largest error", "maximum"], lines),
    )
    return Part(text, [judge(race, PLAIN_NAME, SLOWEST), _verdict(results["tacit"], results[TREE])])


def _truth(path: Path) -> np.ndarray:
    sql = f"SELECT quantile_cont(x, [{', '.join(RANKS)}]) FROM '{path}'"  # noqa: S608 - fixed text
    return np.array(duckdb.connect().execute(sql).fetchall()[0][0])


def _errors(
    name: str,
    path: Path,
    true_values: np.ndarray,
    contestant: Contestant,
    releases: int,
    tuned: bool,  # noqa: FBT001
) -> tuple[float, float] | str:
    """Return the median and the maximum of the largest errors, or the reason why they are missing."""
    print(f"errors of {name} …", flush=True)
    try:
        values = contestant.ask("errors", Query(str(path), None, RANKS, EPSILON, releases, tuned))["values"]
    except Missing as missing:
        return str(missing)
    distance = np.array([values[rank] for rank in RANKS])[:, :, 0] - true_values[:, None]
    most = np.max(np.abs(distance), axis=0)
    return float(np.median(most)), float(np.max(most))


def _verdict(ours: tuple[float, float] | str, theirs: tuple[float, float] | str) -> Verdict:
    title = f"ten quantiles: largest error ÷ {TREE}"
    if isinstance(ours, str) or isinstance(theirs, str):
        return Verdict(title, "≤ 1", "–", None)
    ratio = ours[0] / theirs[0] if theirs[0] else nan
    return Verdict(title, "≤ 1", f"{short(ratio)} ({short(ours[0])} and {short(theirs[0])})", ratio <= 1)
