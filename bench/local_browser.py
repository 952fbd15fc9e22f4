"""Time 1,000 reports of every protocol in node, by the client for browsers.

.venv/bin/python bench/local_browser.py          # prints the table alone
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from statistics import median

from report import Part, Verdict, table

import tacit as tc
from tacit.local.parameters import ORACLES

SIZES, EPSILON, ROUNDS, MOST = (128, 1024), 1.0, 25, 20.0
SCRIPT = Path(__file__).with_suffix(".mjs")

TEXT = """\
### The client for browsers

Milliseconds for 1,000 reports in node, ε = {epsilon:g}: the best and the median of {rounds} rounds. A report is the
message with its envelope, drawn from `crypto.getRandomValues`.

{times}"""


def measure(*, tiny: bool) -> Part:
    """Time all protocols; without node nothing is measured."""
    print("1,000 reports in node …", flush=True)
    node = shutil.which("node")
    rounds = 3 if tiny else ROUNDS
    surveys = [*(make(domain=d, epsilon=EPSILON) for d in SIZES for make in ORACLES.values()), tc.local.Warner(p=0.75)]
    names = [f"{type(survey).__name__}, d = {survey.domain_size:,}" for survey in surveys]
    if node is None:
        return Part("", [Verdict(f"{name}: 1,000 reports in node", f"≤ {MOST:g} ms", "–", None) for name in names])
    request = json.dumps({"parameters": [survey.parameters() for survey in surveys], "rounds": rounds})
    done = subprocess.run([node, str(SCRIPT)], input=request, text=True, capture_output=True, check=True)
    times: list[list[float]] = json.loads(done.stdout)
    rows = [[name, f"{min(each):.1f}", f"{median(each):.1f}"] for name, each in zip(names, times, strict=True)]
    text = TEXT.format(epsilon=EPSILON, rounds=rounds, times=table(["reports", "best", "median"], rows))
    slowest = max(min(each) for each in times)
    verdict = Verdict(
        "every protocol, d ≤ 1,024: 1,000 reports in node", f"≤ {MOST:g} ms", f"{slowest:.1f} ms", slowest <= MOST
    )
    return Part(text, [verdict])


if __name__ == "__main__":
    print(measure(tiny=False).text)
