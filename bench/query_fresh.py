"""Contestants of the query bench: each answer comes from a fresh process that may use every core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass

from peers import HERE, Peer
from query_serve import Answer, Question
from serve import Missing

CAP = 900  # seconds a process


class Late(Missing):
    """The process was stopped before it had answered."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A script of `workers/`, and the peer in whose environment it runs; ours, if there is none."""

    script: str
    peer: Peer | None = None

    def ask(self, task: str, question: Question | None = None, *, cap: int = CAP, **more: object) -> Answer:
        """Return the answer of a fresh process; Missing if there is none, Late if it takes more than `cap` seconds."""
        python = self.peer.python() if self.peer else sys.executable
        request = {"task": task, **(asdict(question) if question else {}), **more}
        try:
            done = subprocess.run(
                [python, str(HERE / "workers" / f"{self.script}.py")],
                check=True,
                input=json.dumps(request),
                stdout=subprocess.PIPE,
                text=True,
                timeout=cap,
                env=os.environ | {"PYTHONPATH": str(HERE)},  # for `query_serve`
            )
        except subprocess.TimeoutExpired as late:
            raise Late(f"more than {cap} s") from late
        except subprocess.CalledProcessError as failed:
            raise Missing("failed: its error stands above") from failed
        try:
            reply: Answer = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError) as garbled:
            raise Missing("gave no answer") from garbled
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


def opendp(question: str) -> Contestant:
    """Return opendp's worker for another kind of question."""
    return Contestant(f"opendp_query_{question}", _OPENDP)


def pipeline_dp(question: str) -> Contestant:
    """Return PipelineDP's worker for another kind of question."""
    return Contestant(f"pipelinedp_query_{question}", _PIPELINE_DP)
