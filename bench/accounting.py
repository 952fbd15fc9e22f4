"""Accounting, beside dp-accounting and prv-accountant: how tight, and how fast, in one run.

Everything runs on one thread. Contestants answer in turns, in rounds, in several sittings of fresh processes
(see `rounds`); a ratio is the median of the ratios within rounds.
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

SITTINGS = 3

DP_ACCOUNTING = Peer("dp-accounting", ("dp-accounting==0.6.*",))
PRV_ACCOUNTANT = Peer("prv-accountant", ("prv-accountant==0.2.*",))

INTRODUCTION = """\
## Accounting

One thread, contestants in turns, {sittings} sittings of fresh processes. A ratio is the median over all rounds of the
ratio of times within a round; in parentheses stand the lowest and the highest sitting's median. Every call starts
from events, with empty caches. tacit returns a bracket that is certified, rounding of its own arithmetic included;
the others' ends take no account of their rounding."""


def contestants(stack: ExitStack) -> dict[str, Contestant]:
    """Start one worker a library; all end with the stack."""
    return {
        "tacit": stack.enter_context(Worker("tacit_accounting")),
        "dp-accounting": start(DP_ACCOUNTING, "google_accounting", stack),
        "prv-accountant": start(PRV_ACCOUNTANT, "prv_accounting", stack),
    }


def versions() -> dict[str, str]:
    """Return the version of every library that is there."""
    found: dict[str, str] = {}
    with ExitStack() as stack:
        for worker in contestants(stack).values():
            try:
                found |= worker.ask("about")["versions"]
            except Missing:
                continue
    return found


def measure() -> str:
    """Sit, lay out everything, and judge it."""
    parts = (accounting_many, accounting_known, accounting_charge)
    sittings = []
    for sitting in range(SITTINGS):
        print(f"sitting {sitting + 1} of {SITTINGS} …", flush=True)
        with ExitStack() as stack:
            workers = contestants(stack)
            sittings.append([part.sit(workers) for part in parts])
    reports = [part.report(found) for part, found in zip(parts, zip(*sittings, strict=True), strict=True)]
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(report.text for report in reports)])


def main() -> None:
    """Measure, print, and write the section of RESULTS.md."""
    before = fingerprint()
    facts = machine(versions())
    findings = measure()
    changed = sorted({name for name, _ in before ^ fingerprint()})
    warning = [CHANGED.format(files=", ".join(changed))] if changed else []
    text = "\n\n".join([INTRODUCTION.format(sittings=SITTINGS), facts, *warning, findings])
    print(text)
    write_section("accounting", text)


if __name__ == "__main__":
    main()
