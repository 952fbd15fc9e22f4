"""Add up the reports of a folder, and print each count with its interval.

python estimate.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from survey import questions

from tacit.local import Estimate, Protocol

HEAD = 8


def messages(file: Path) -> list[bytes]:
    """Return the messages of a file of reports: each has its length in 8 bytes before it."""
    content, found, at = file.read_bytes(), [], HEAD
    while at < len(content):
        length = int.from_bytes(content[at : at + 8], "little")
        found.append(content[at + 8 : at + 8 + length])
        at += 8 + length
    return found


def estimate(protocol: Protocol, file: Path) -> Estimate:
    """Return the estimated counts of one question."""
    total = protocol.aggregator()
    total.add_bytes(messages(file))
    return total.estimate()


def main(folder: Path) -> None:
    """Print the estimates of both questions."""
    for name, protocol in questions().items():
        answer = estimate(protocol, folder / f"{name}.bin")
        low, high = answer.interval(confidence=0.95, simultaneous=True)
        print(f"{name}: {answer.n:,} reports, {answer.dropped} malformed")
        for value, count, least, most in zip(answer.domain, answer.counts, low, high, strict=True):
            print(f"  {value!s:<12} {count:>z8,.0f}  (95% interval {least:z,.0f} to {most:z,.0f})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
