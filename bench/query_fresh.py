"""Contestants of the query bench. Each answer is computed in a fresh process that can use every core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass

from peers import HERE, Peer
from query_serve import Answer, Query
from serve import Missing

CAP = 900  # seconds per process


class TimedOut(Missing):
    """The process exceeded its time limit."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A script in `workers/` and the library in whose environment it runs (None: ours)."""

    script: str
    peer: Peer | None = None

    def ask(self, task: str, query: Query | None = None, *, cap: int = CAP, **more: object) -> Answer:
        """Return the reply of a fresh process; raise Missing if it fails, Late if it takes more than `cap` seconds."""
        python = self.peer.python() if self.peer else sys.executable
        request = {"task": task, **(asdict(query) if query else {}), **more}
        try:
            completed = subprocess.run(
                [python, str(HERE / "workers" / f"{self.script}.py")],
                check=True,
                input=json.dumps(request),
                stdout=subprocess.PIPE,
                text=True,
                timeout=cap,
                env=os.environ | {"PYTHONPATH": str(HERE)},  # for `query_serve`
            )
        except subprocess.TimeoutExpired as error:
            raise TimedOut(f"more than {cap} s") from error
        except subprocess.CalledProcessError as error:
            raise Missing("failed: see its error above") from error
        try:
            reply: Answer = json.loads(completed.stdout.splitlines()[-1])
        except (IndexError, ValueError) as error:
            raise Missing("replied without a result") from error
        if "missing" in reply:
            raise Missing(reply["missing"])
        return reply


TACIT = Contestant("tacit_query")
PLAIN = Contestant("duckdb_query")
_OPENDP = Peer("opendp-polars", ("opendp[polars]==0.16.*",))
_PIPELINE_DP = Peer("pipeline-dp", ("pipeline-dp==0.3.*", "pandas", "pyarrow"))
OPENDP = Contestant("opendp_query", _OPENDP)
PIPELINE_DP = Contestant("pipelinedp_query", _PIPELINE_DP)
SMARTNOISE = Contestant("smartnoise_query", Peer("smartnoise-sql", ("smartnoise-sql==1.0.*", "pyarrow")))
TUMULT = Contestant("tumult_query", Peer("tumult", ("tmlt.analytics==0.21.*",)))


def opendp(query: str) -> Contestant:
    """Return the opendp worker for another kind of query."""
    return Contestant(f"opendp_query_{query}", _OPENDP)


def pipeline_dp(query: str) -> Contestant:
    """Return the PipelineDP worker for another kind of query."""
    return Contestant(f"pipelinedp_query_{query}", _PIPELINE_DP)
