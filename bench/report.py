"""Format tables and verdicts, and write RESULTS.md, which has one section per bench script."""

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

`make bench` writes this page; each script rewrites its section. All contestants run on the same machine in the same
run. The ratios are therefore more reliable than the times.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target: the measure, the target value, the result, and whether the target is met (None: unknown)."""

    measure: str
    target: str
    result: str
    met: bool | None

    @property
    def word(self) -> str:
        """The verdict as one word."""
        return "not measured" if self.met is None else "met" if self.met else "**missed**"


@dataclass(frozen=True, slots=True)
class Part:
    """One measurement: its report in Markdown and its verdicts."""

    text: str
    verdicts: list[Verdict]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table that is also aligned as plain text. Numbers are aligned to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    cells = [
        [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))] for line in lines
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in [cells[0], rule, *cells[1:]])


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Return the number of met and missed targets, and all verdicts as a table."""
    met = sum(v.met is True for v in verdicts)
    missed = sum(v.met is False for v in verdicts)
    unknown = len(verdicts) - met - missed
    count = f"Of {len(verdicts)} targets, {met} are met, {missed} are missed, and {unknown} are not measured."
    rows = [[v.measure, v.target, v.result, v.word] for v in verdicts]
    return count + "\n\n" + table(["measure", "target", "result", "verdict"], rows)


def machine(versions: dict[str, str]) -> str:
    """Return the processor, the number of cores, and the versions of Python and the libraries."""
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return (
        f"Machine: {_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}. "
        f"Python {platform.python_version()}; {libraries}."
    )


def _processor() -> str:
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else platform.processor() or "unknown processor"


def write_section(name: str, text: str) -> None:
    """Replace the section of this name in RESULTS.md, or append it. Keep all other sections."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    section = f"{begin}\n{text.strip()}\n{end}\n"
    old = RESULTS.read_text() if RESULTS.exists() else _HEAD
    before, marker, rest = old.partition(begin)
    after = rest.partition(end + "\n")[2]
    RESULTS.write_text(before + section + after if marker else f"{old.rstrip()}\n\n{section}")
