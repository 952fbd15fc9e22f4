"""Time 1,000 reports of every protocol in node, by the client for browsers.

local_browser.py     writes its section of RESULTS.md; takes some seconds
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from statistics import median

from report import Verdict, machine, table, verdict_table, write_section

import tacit as tc
from tacit.local.parameters import ORACLES

SIZES, EPSILON, ROUNDS, MOST = (128, 1024), 1.0, 25, 20.0
SCRIPT = Path(__file__).with_suffix(".mjs")

TEXT = """\
## The client for browsers

Milliseconds for 1,000 reports in node, ε = {epsilon:g}: the best and the median of {rounds} rounds. A report is the
message with its envelope, drawn from `crypto.getRandomValues`. The target is for the median. The load of the machine
was {load:.1f}.

{machine}

{verdicts}

{times}"""


def main() -> None:
    """Time all protocols and write the section."""
    node = shutil.which("node")
    if node is None:
        raise SystemExit("node is missing. Install node 20 or newer, and run this again.")
    surveys = [*(make(domain=d, epsilon=EPSILON) for d in SIZES for make in ORACLES.values()), tc.local.Warner(p=0.75)]
    names = [f"{type(survey).__name__}, d = {survey.domain_size:,}" for survey in surveys]
    request = json.dumps({"parameters": [survey.parameters() for survey in surveys], "rounds": ROUNDS})
    done = subprocess.run([node, str(SCRIPT)], input=request, text=True, capture_output=True, check=True)
    times: list[list[float]] = json.loads(done.stdout)
    rows = [[name, f"{min(each):.1f}", f"{median(each):.1f}"] for name, each in zip(names, times, strict=True)]
    slowest = max(map(median, times))
    verdict = Verdict(
        "every protocol, d ≤ 1,024: 1,000 reports in node", f"≤ {MOST:g} ms", f"{slowest:.1f} ms", slowest <= MOST
    )
    text = TEXT.format(
        epsilon=EPSILON,
        rounds=ROUNDS,
        load=os.getloadavg()[0],
        machine=machine({"tacit": version("tacit")}),
        verdicts=verdict_table([verdict]),
        times=table(["reports", "best", "median"], rows),
    )
    print(text)
    write_section("browser", text)


if __name__ == "__main__":
    main()
