"""Tables for people, verdicts on targets, and RESULTS.md, in which every bench script owns one section."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"

_HEAD = """\
# Bench results

Written by `make bench`; each script rewrites its own section. Contestants run side by side in one run, so the
ratios mean more than the times.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target: what was asked for, what was found, and whether that is enough (None: no way to tell)."""

    what: str
    target: str
    found: str
    met: bool | None

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return "not measured" if self.met is None else "met" if self.met else "**missed**"


@dataclass(frozen=True, slots=True)
class Part:
    """One measurement: what it found, in Markdown, and the verdicts it leads to."""

    text: str
    verdicts: list[Verdict]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose columns also line up as plain text; numbers to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    cells = [
        [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))] for line in lines
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in [cells[0], rule, *cells[1:]])


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Return all verdicts as a table under a line that counts them."""
    met = sum(v.met is True for v in verdicts)
    missed = sum(v.met is False for v in verdicts)
    unknown = len(verdicts) - met - missed
    count = f"Of {len(verdicts)} targets {met} are met, {missed} missed, {unknown} not measured."
    rows = [[v.what, v.target, v.found, v.word] for v in verdicts]
    return count + "\n\n" + table(["target", "asked", "found", "verdict"], rows)


def machine(versions: dict[str, str]) -> str:
    """Return what the run ran on: processor, cores, Python, libraries."""
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return (
        f"Machine: {_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}. "
        f"Python {platform.python_version()}; {libraries}."
    )


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown processor"


def write_section(name: str, text: str) -> None:
    """Replace the section of this name in RESULTS.md, or append it; leave all others as they are."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    section = f"{begin}\n{text.strip()}\n{end}\n"
    old = RESULTS.read_text() if RESULTS.exists() else _HEAD
    before, found, rest = old.partition(begin)
    after = rest.partition(end + "\n")[2]
    RESULTS.write_text(before + section + after if found else f"{old.rstrip()}\n\n{section}")
