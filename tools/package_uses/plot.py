"""Use the extra `plot`: draw charts as SVG, PNG, PDF, HTML and JSON, in Python and from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tacit as tc

STARTS = {
    "svg": b"<svg",
    "png": b"\x89PNG",
    "pdf": b"%PDF",
    "html": b"<!DOCTYPE html>",
    "json": b"{",
}

if __name__ == "__main__":
    db = tc.open({"x": [1, 2, 2]}, unit=tc.ROW, keys={"x": [1, 2]}, budget=tc.PureDP(epsilon=1))
    chart = db.sql("SELECT x, count(*) AS n FROM data GROUP BY x", epsilon=1).plot()
    tacit = str(Path(sys.executable).with_name("tacit"))
    for ending, start in STARTS.items():
        chart.save(f"python.{ending}")
        subprocess.run([tacit, "demo", "--chart", f"command.{ending}"], check=True, capture_output=True)
        for name in ("python", "command"):
            content = Path(f"{name}.{ending}").read_bytes().lstrip()
            if not content.startswith(start) or len(content) < 1000:
                raise SystemExit(f"Not met: {name}.{ending} is a chart")
