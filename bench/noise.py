"""Compare noise with other libraries: arrays of draws, scalar releases, their timing channel, and imports.

The bench runs on one thread. The contestants run in turns, in rounds, in several sessions of fresh processes (see
`rounds`). A ratio is the median of the ratios within rounds.
"""

from __future__ import annotations

from contextlib import ExitStack
from hashlib import sha256

import noise_channel
import noise_draws
import noise_imports
import noise_releases
from peers import HERE, Contestant, Peer, Worker, start
from report import machine, verdict_table, write_section
from serve import Missing

SESSIONS = 6

# OpenDP tries to import numpy at every call. Without numpy, a call takes half as much time again.
OPENDP = Peer("opendp", ("opendp==0.16.*", "numpy"))
PYDP = Peer("pydp", ("python-dp==1.1.*",))
MODULES = {"opendp.prelude": OPENDP, "pydp": PYDP}

INTRODUCTION = """\
## Noise

One thread. The contestants run in turns, in {sessions} sessions of fresh processes. A ratio is the median over all
rounds of the ratio within a round; the parentheses hold the lowest and the highest median of a session. tacit draws
from exact integer laws with cryptographic random bits. numpy draws floats with PCG64, which is neither exact nor
cryptographic; it is the reference for speed."""
CHANGED = "**These source files changed during the run, so the sessions mix versions: {files}.**"


def contestants(stack: ExitStack) -> dict[str, Contestant]:
    """Start one worker per library. The stack closes them."""
    return {
        "tacit": stack.enter_context(Worker("tacit_noise")),
        "numpy": stack.enter_context(Worker("numpy_noise")),
        "opendp": start(OPENDP, "opendp_noise", stack),
        "pydp": start(PYDP, "pydp_noise", stack),
        "leaky control": stack.enter_context(Worker("leaky_noise")),
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


def fingerprint() -> set[tuple[str, str]]:
    """Return the name and the digest of every source file of tacit."""
    source = HERE.parent / "src" / "tacit"
    return {
        (file.relative_to(source).as_posix(), sha256(file.read_bytes()).hexdigest()) for file in source.rglob("*.py")
    }


def measure() -> str:
    """Run all sessions, and return the report with the verdicts."""
    draws, releases, channels, imports = [], [], [], []
    for session in range(SESSIONS):
        print(f"session {session + 1} of {SESSIONS} …", flush=True)
        with ExitStack() as stack:
            workers = contestants(stack)
            draws.append(noise_draws.run_session(workers))
            releases.append(noise_releases.run_session(workers))
            channels.append(noise_channel.run_session(workers))
        imports.append(noise_imports.run_session(MODULES))
    parts = [
        noise_draws.report(draws),
        noise_releases.report(releases),
        noise_channel.report(channels),
        noise_imports.report(imports, MODULES),
    ]
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(part.text for part in parts)])


def main() -> None:
    """Run the benchmark, print the report, and write it to RESULTS.md."""
    before = fingerprint()
    facts = machine(versions())
    findings = measure()
    changed = sorted({name for name, _ in before ^ fingerprint()})
    warning = [CHANGED.format(files=", ".join(changed))] if changed else []
    text = "\n\n".join([INTRODUCTION.format(sessions=SESSIONS), facts, *warning, findings])
    print(text)
    write_section("noise", text)


if __name__ == "__main__":
    main()
