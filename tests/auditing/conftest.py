"""A table of all audits at the end: each path, its claim, and the lower bound on its ε that was proved."""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

_SHOWN = 10


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Print the audits, those with the largest share of their claim first; all of them with -v."""
    found: list[dict[str, Any]] = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, value in report.user_properties
        if name == "audit" and report.when == "call"
    ]
    if not found:
        return
    found.sort(key=lambda row: row["bound"] / row["claim"], reverse=True)
    over = sum(row["bound"] > row["claim"] for row in found)
    terminalreporter.section(f"{len(found)} audits; {over} lower bounds above their claims")
    for row in found if config.get_verbosity() > 0 else found[:_SHOWN]:
        claim = f"{row['claim']:.4g}" + (f" at δ = {row['delta']:.3g}" if row["delta"] else "")
        runs = f"{row['runs']:,} runs on each side of {row['pairs']} pairs"
        terminalreporter.write_line(f"ε ≥ {row['bound']:6.3f}  claimed {claim:16}  {row['path']}  ({runs})")
