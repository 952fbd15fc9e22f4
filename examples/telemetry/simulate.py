"""Run the whole survey on this machine: the server, simulated browsers in node, and the estimates.

python simulate.py FOLDER [--people 20000]
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from threading import Thread

import estimate
from collect import Collector

BROWSERS = Path(__file__).with_name("browsers.mjs")


def run(folder: Path, people: int) -> None:
    """Collect the reports of so many people in a folder."""
    with Collector(folder, port=0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            subprocess.run(["node", BROWSERS, address, str(people)], check=True)
        finally:
            server.shutdown()


def main() -> None:
    """Simulate, estimate and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--people", type=int, default=20_000)
    given = options.parse_args()
    run(given.folder, given.people)
    print(f"The truth: 60% Google, 20% DuckDuckGo, 10% Ecosia, 10% other; {given.people // 20:,} saw a crash.")
    estimate.main(given.folder)


if __name__ == "__main__":
    main()
