"""Run queries of one engine in a fresh process, which `workers/engine_query.py` is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import query_data
from peers import HERE

CAP = 3600


def run_queries(engine: str, rows: int, rounds: int, asks: Sequence[str]) -> dict[str, Any] | str:
    """Run some queries on one engine in a fresh process; return its reply, or the reason if that fails."""
    request = {"engine": engine, "path": str(query_data.large(rows)), "rounds": rounds, "asks": asks}
    try:
        completed = subprocess.run(
            [sys.executable, str(HERE / "workers" / "engine_query.py")],
            check=True,
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            text=True,
            timeout=CAP,
            env=os.environ | {"PYTHONPATH": str(HERE)},
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return f"failed: {type(error).__name__}"
    reply: dict[str, Any] = json.loads(completed.stdout.splitlines()[-1])
    return reply
