"""The local model, beside pure-ldp and multi-freq-ldpy: errors against their closed form, reports by the second, size.

Everything runs on one thread, compiled code is warm. Contestants answer in turns, in rounds, in several sittings of
fresh processes (see `rounds`); a ratio is the median of the ratios within rounds. `--tiny` tries the machinery in half
a minute, judges nothing that could be trusted, and writes nothing.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack

import local_errors
import local_large
import local_speed
from peers import Contestant, Peer, Worker, start
from report import machine, verdict_table, write_section
from serve import Missing

SITTINGS = 3

# Both break with xxhash 4, and pure-ldp does not say that it needs scikit-learn and statsmodels.
PURE_LDP = Peer("pure-ldp", ("pure-ldp==1.2.0", "scikit-learn", "statsmodels", "xxhash<4"))
MULTI_FREQ = Peer("multi-freq-ldpy", ("multi-freq-ldpy==0.2.5", "xxhash<4"))

INTRODUCTION = """\
## The local model

One thread, compiled code warm, contestants in turns, {sittings} sittings of fresh processes. A ratio is the median over
all rounds of the ratio within a round; in parentheses stand the lowest and the highest sitting's median. tacit draws
exact rational probabilities from cryptographic bits; the peers draw floats from the Mersenne Twister."""


def contestants(stack: ExitStack) -> dict[str, Contestant]:
    """Start one worker a library; all end with the stack."""
    return {
        "tacit": stack.enter_context(Worker("tacit_local")),
        "pure-ldp": start(PURE_LDP, "pure_ldp_local", stack),
        "multi-freq-ldpy": start(MULTI_FREQ, "multi_freq_ldpy_local", stack),
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


def measure(*, tiny: bool) -> str:
    """Sit, lay out everything, and judge it."""
    speeds, sittings = [], 1 if tiny else SITTINGS
    for sitting in range(sittings):
        print(f"sitting {sitting + 1} of {sittings} …", flush=True)
        with ExitStack() as stack:
            speeds.append(local_speed.sit(contestants(stack), tiny=tiny))
    parts = [local_speed.report(speeds), local_large.measure(tiny=tiny), local_errors.measure(tiny=tiny)]
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(part.text for part in parts)])


def main() -> None:
    """Measure, print, and write the section of RESULTS.md."""
    tiny = "--tiny" in sys.argv[1:]
    facts = machine(versions())
    text = "\n\n".join([INTRODUCTION.format(sittings=SITTINGS), facts, measure(tiny=tiny)])
    print(text)
    if not tiny:
        write_section("local", text)


if __name__ == "__main__":
    main()
