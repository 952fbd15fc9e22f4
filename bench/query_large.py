"""A hundred million rows, ten million units: does it complete, and within how much memory."""

from __future__ import annotations

from pathlib import Path

from query_data import large
from query_fresh import PLAIN, TACIT, Contestant
from query_serve import STATISTICS, Question
from report import Part, Verdict, table
from rounds import short
from serve import Missing

ROWS = 100_000_000
MOST = 24 * 2**30 / 1e6  # MB
EPSILON = 1.0

TEXT = """\
### {rows:,} rows

The same question once over {rows:,} rows of {units:,} units, in a fresh process.

{findings}"""


def measure(small: Path) -> Part:
    """Ask tacit, then the plain grouping."""
    path = large(ROWS)
    found = {name: _ask(who, path, small) for name, who in {"tacit": TACIT, "plain": PLAIN}.items()}
    rows = [[name, *(map(short, one) if isinstance(one, tuple) else (one, "–"))] for name, one in found.items()]
    text = TEXT.format(rows=ROWS, units=ROWS // 10, findings=table(["contestant", "seconds", "peak MB"], rows))
    ours = found["tacit"]
    verdict = (
        Verdict(f"{ROWS:,} rows: peak memory", "≤ 24 GiB", f"{ours[1] * 1e6 / 2**30:.1f} GiB", ours[1] <= MOST)
        if isinstance(ours, tuple)
        else Verdict(f"{ROWS:,} rows: peak memory", "≤ 24 GiB", ours, met=False)
    )
    return Part(text, [verdict])


def _ask(who: Contestant, path: Path, small: Path) -> tuple[float, float] | str:
    print(f"{ROWS:,} rows, {who.script} …", flush=True)
    try:
        found = who.ask("answer", Question(str(path), "unit", tuple(STATISTICS), EPSILON), small=str(small))
    except Missing as missing:
        return str(missing)
    return found["seconds"], found["peak"]
