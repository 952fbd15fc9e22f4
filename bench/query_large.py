"""Run one query on a hundred million rows of ten million units, and measure its peak memory."""

from __future__ import annotations

from pathlib import Path

from query_data import large
from query_fresh import PLAIN, TACIT, Contestant
from query_serve import STATISTICS, Query
from report import Part, Verdict, table
from rounds import short
from serve import Missing

ROWS = 100_000_000
MOST = 24 * 2**30 / 1e6  # MB
EPSILON = 1.0

TEXT = """\
### {rows:,} rows

The same query once over {rows:,} rows of {units:,} units, in a fresh process.

{findings}"""


def measure(small: Path) -> Part:
    """Run tacit, then the plain grouping."""
    path = large(ROWS)
    results = {name: _ask(contestant, path, small) for name, contestant in {"tacit": TACIT, "plain": PLAIN}.items()}
    rows = [
        [name, *(map(short, result) if isinstance(result, tuple) else (result, "–"))]
        for name, result in results.items()
    ]
    text = TEXT.format(rows=ROWS, units=ROWS // 10, findings=table(["contestant", "seconds", "peak MB"], rows))
    ours = results["tacit"]
    verdict = (
        Verdict(f"{ROWS:,} rows: peak memory", "≤ 24 GiB", f"{ours[1] * 1e6 / 2**30:.1f} GiB", ours[1] <= MOST)
        if isinstance(ours, tuple)
        else Verdict(f"{ROWS:,} rows: peak memory", "≤ 24 GiB", ours, met=False)
    )
    return Part(text, [verdict])


def _ask(contestant: Contestant, path: Path, small: Path) -> tuple[float, float] | str:
    print(f"{ROWS:,} rows, {contestant.script} …", flush=True)
    try:
        results = contestant.ask("answer", Query(str(path), "unit", tuple(STATISTICS), EPSILON), small=str(small))
    except Missing as missing:
        return str(missing)
    return results["seconds"], results["peak"]
