"""Compare the accounting of tacit with dp-accounting and prv-accountant: tightness and speed.

The bench runs on one thread. The contestants run in turns, in rounds, in several sessions of fresh processes (see
`rounds`). A ratio is the median of the ratios within rounds.
"""

from __future__ import annotations

from contextlib import ExitStack

import accounting_charge
import accounting_known
import accounting_many
from peers import Contestant, Peer, Worker, start
from report import machine, verdict_table, write_section
from serve import Missing

from noise import CHANGED, fingerprint

SESSIONS = 3

DP_ACCOUNTING = Peer("dp-accounting", ("dp-accounting==0.6.*",))
PRV_ACCOUNTANT = Peer("prv-accountant", ("prv-accountant==0.2.*",))

INTRODUCTION = """\
## Accounting

One thread. The contestants run in turns, in {sessions} sessions of fresh processes. A ratio is the median over all
rounds of the ratio of times within a round; the parentheses hold the lowest and the highest median of a session. Every
call starts from the events, with empty caches. The brackets of tacit are certified and include its rounding errors.
The bounds of the other libraries do not include theirs."""


def contestants(stack: ExitStack) -> dict[str, Contestant]:
    """Start one worker per library. The stack closes them."""
    return {
        "tacit": stack.enter_context(Worker("tacit_accounting")),
        "dp-accounting": start(DP_ACCOUNTING, "google_accounting", stack),
        "prv-accountant": start(PRV_ACCOUNTANT, "prv_accounting", stack),
    }


def versions() -> dict[str, str]:
    """Return the version of every library that is installed."""
    results: dict[str, str] = {}
    with ExitStack() as stack:
        for worker in contestants(stack).values():
            try:
                results |= worker.ask("about")["versions"]
            except Missing:
                continue
    return results


def measure() -> str:
    """Run all sessions, and return the report with the verdicts."""
    parts = (accounting_many, accounting_known, accounting_charge)
    sessions = []
    for session in range(SESSIONS):
        print(f"session {session + 1} of {SESSIONS} …", flush=True)
        with ExitStack() as stack:
            workers = contestants(stack)
            sessions.append([part.run_session(workers) for part in parts])
    reports = [part.report(results) for part, results in zip(parts, zip(*sessions, strict=True), strict=True)]
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(report.text for report in reports)])


def main() -> None:
    """Run the benchmark, print the report, and write it to RESULTS.md."""
    before = fingerprint()
    facts = machine(versions())
    findings = measure()
    changed = sorted({name for name, _ in before ^ fingerprint()})
    warning = [CHANGED.format(files=", ".join(changed))] if changed else []
    text = "\n\n".join([INTRODUCTION.format(sessions=SESSIONS), facts, *warning, findings])
    print(text)
    write_section("accounting", text)


if __name__ == "__main__":
    main()
