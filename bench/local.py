"""Compare the local model with pure-ldp and multi-freq-ldpy: errors and their closed form, reports per second, size.

The bench runs on one thread, after compilation. The contestants run in turns, in rounds, in several sessions of fresh
processes (see `rounds`). A ratio is the median of the ratios within rounds.

`--tiny` tests the scripts in half a minute. Its verdicts are not reliable, and it does not write results.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack

import local_browser
import local_errors
import local_large
import local_speed
from peers import Contestant, Peer, Worker, start
from report import machine, verdict_table, write_section
from serve import Missing

SESSIONS = 3

# Both fail with xxhash 4. pure-ldp needs scikit-learn and statsmodels but does not declare them.
PURE_LDP = Peer("pure-ldp", ("pure-ldp==1.2.0", "scikit-learn", "statsmodels", "xxhash<4"))
MULTI_FREQ = Peer("multi-freq-ldpy", ("multi-freq-ldpy==0.2.5", "xxhash<4"))

INTRODUCTION = """\
## The local model

One thread, after compilation. The contestants run in turns, in {sessions} sessions of fresh processes. A ratio is the
median over all rounds of the ratio within a round; the parentheses hold the lowest and the highest median of a session.
tacit draws with exact rational probabilities from cryptographic random bits. The other libraries draw floats from the
Mersenne Twister."""


def contestants(stack: ExitStack) -> dict[str, Contestant]:
    """Start one worker per library. The stack closes them."""
    return {
        "tacit": stack.enter_context(Worker("tacit_local")),
        "pure-ldp": start(PURE_LDP, "pure_ldp_local", stack),
        "multi-freq-ldpy": start(MULTI_FREQ, "multi_freq_ldpy_local", stack),
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


def measure(*, tiny: bool) -> str:
    """Run all sessions, and return the report with the verdicts."""
    speeds, sessions = [], 1 if tiny else SESSIONS
    for session in range(sessions):
        print(f"session {session + 1} of {sessions} …", flush=True)
        with ExitStack() as stack:
            speeds.append(local_speed.run_session(contestants(stack), tiny=tiny))
    parts = [local_speed.report(speeds), local_large.measure(tiny=tiny), local_errors.measure(tiny=tiny)]
    parts.append(local_browser.measure(tiny=tiny))
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(part.text for part in parts)])


def main() -> None:
    """Run the benchmark, print the report, and write it to RESULTS.md."""
    tiny = "--tiny" in sys.argv[1:]
    facts = machine(versions())
    text = "\n\n".join([INTRODUCTION.format(sessions=SESSIONS), facts, measure(tiny=tiny)])
    print(text)
    if not tiny:
        write_section("local", text)


if __name__ == "__main__":
    main()
