"""What an import costs, in a fresh interpreter each time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

from peers import Peer, single_threaded
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

ROUNDS = 4  # a sitting
MOST = 3.0
OURS = ("numpy", "tacit", "tacit.mechanisms.laplace")

TIMED = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
EXPORTS = "import tacit; print(len(getattr(tacit, '__all__', ())))"

TEXT = """\
### Import

Milliseconds of the import statement alone, in a fresh interpreter: the median of {rounds}
rounds, all in turns.

{times}"""


Sitting = dict[str, Rounds]


def sit(peers: Mapping[str, Peer]) -> Sitting:
    """Race the imports once: ours, and each peer's module in its own environment."""
    runs = {module: partial(_seconds, module, None) for module in OURS}
    runs |= {module: partial(_seconds, module, peer) for module, peer in peers.items()}
    return {"imports": interleave(runs, ROUNDS)}


def report(sittings: Sequence[Sitting], peers: Mapping[str, Peer]) -> Part:
    """Lay out the times and judge tacit's."""
    times = join(sittings)["imports"]
    rows = [
        [f"`import {module}`", times.cell(module, _milliseconds), str(times.ratio(module, "numpy"))]
        for module in (*OURS, *peers)
    ]
    text = TEXT.format(rounds=ROUNDS * len(sittings), times=table(["statement", "ms", "÷ numpy"], rows))
    return Part(text, [_verdict(times, int(_run(sys.executable, EXPORTS)))])


def _seconds(module: str, peer: Peer | None) -> float:
    return float(_run(sys.executable if peer is None else peer.python(), TIMED.format(module=module)))


def _run(python: str, code: str) -> str:
    """Return what a line of code prints in a fresh interpreter that no setting of this one reaches."""
    done = subprocess.run(
        [python, "-I", "-c", code], check=True, text=True, stdout=subprocess.PIPE, env=single_threaded()
    )
    return done.stdout


def _milliseconds(seconds: Sequence[float]) -> str:
    return short(1e3 * median(seconds))


def _verdict(times: Rounds, exports: int) -> Verdict:
    """Judge `import tacit`; as long as it exports nothing, its time says nothing."""
    what, target = "`import tacit` ÷ `import numpy`", f"≤ {MOST:g}"
    ratio = times.ratio("tacit", "numpy")
    if not exports:
        return Verdict(what, target, f"{ratio}, but tacit exports nothing yet", None)
    return Verdict(what, target, str(ratio), ratio.value <= MOST if isinstance(ratio, Ratio) else None)
