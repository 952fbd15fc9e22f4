"""Time imports, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

from peers import Peer, single_threaded
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

ROUNDS = 4  # per session
MOST = 3.0
OURS = ("numpy", "tacit", "tacit.mechanisms.laplace")

TIMED = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
EXPORTS = "import tacit; print(len(getattr(tacit, '__all__', ())))"

TEXT = """\
### Import

Milliseconds of the import statement in a fresh interpreter: the median of {rounds} rounds. The modules take turns.

{times}"""


Session = dict[str, Rounds]


def run_session(peers: Mapping[str, Peer]) -> Session:
    """Time the imports once: ours, and the module of each other library in its environment."""
    runs = {module: partial(_seconds, module, None) for module in OURS}
    runs |= {module: partial(_seconds, module, peer) for module, peer in peers.items()}
    return {"imports": interleave(runs, ROUNDS)}


def report(sessions: Sequence[Session], peers: Mapping[str, Peer]) -> Part:
    """Return the times and the verdict on tacit."""
    times = join(sessions)["imports"]
    rows = [
        [f"`import {module}`", times.cell(module, _milliseconds), str(times.ratio(module, "numpy"))]
        for module in (*OURS, *peers)
    ]
    text = TEXT.format(rounds=ROUNDS * len(sessions), times=table(["statement", "ms", "÷ numpy"], rows))
    return Part(text, [_verdict(times, int(_run(sys.executable, EXPORTS)))])


def _seconds(module: str, peer: Peer | None) -> float:
    return float(_run(sys.executable if peer is None else peer.python(), TIMED.format(module=module)))


def _run(python: str, code: str) -> str:
    """Return the output of a line of code in a fresh interpreter that ignores the settings of this process."""
    completed = subprocess.run(
        [python, "-I", "-c", code], check=True, text=True, stdout=subprocess.PIPE, env=single_threaded()
    )
    return completed.stdout


def _milliseconds(seconds: Sequence[float]) -> str:
    return short(1e3 * median(seconds))


def _verdict(times: Rounds, exports: int) -> Verdict:
    """Compare the time of `import tacit` with the target. If tacit exports nothing, there is no verdict."""
    title, target = "`import tacit` ÷ `import numpy`", f"≤ {MOST:g}"
    ratio = times.ratio("tacit", "numpy")
    if not exports:
        return Verdict(title, target, f"{ratio}, but tacit exports nothing yet", None)
    return Verdict(title, target, str(ratio), ratio.value <= MOST if isinstance(ratio, Ratio) else None)
