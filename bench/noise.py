"""Noise, beside the peers: draws by the million, scalar releases, their timing channel, and imports.

Everything runs on one thread. Contestants answer in turns, in rounds, in several sittings of fresh processes
(see `rounds`); a ratio is the median of the ratios within rounds.
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

SITTINGS = 6

# OpenDP looks for numpy at every call, and a search that fails costs it half as much time again.
OPENDP = Peer("opendp", ("opendp==0.16.*", "numpy"))
PYDP = Peer("pydp", ("python-dp==1.1.*",))
MODULES = {"opendp.prelude": OPENDP, "pydp": PYDP}

INTRODUCTION = """\
## Noise

One thread, contestants in turns, {sittings} sittings of fresh processes. A ratio is the median over all rounds
of the ratio within a round; in parentheses stand the lowest and the highest sitting's median. tacit draws exact
integer laws from cryptographic bits; numpy draws floats from PCG64, which is neither, and is here as the
measure of speed."""
CHANGED = "**Source that changed during this run, so that sittings mix versions: {files}.**"


def contestants(stack: ExitStack) -> dict[str, Contestant]:
    """Start one worker a library; all end with the stack."""
    return {
        "tacit": stack.enter_context(Worker("tacit_noise")),
        "numpy": stack.enter_context(Worker("numpy_noise")),
        "opendp": start(OPENDP, "opendp_noise", stack),
        "pydp": start(PYDP, "pydp_noise", stack),
        "leaky control": stack.enter_context(Worker("leaky_noise")),
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


def fingerprint() -> set[tuple[str, str]]:
    """Return the name and a digest of every file of tacit's source."""
    source = HERE.parent / "src" / "tacit"
    return {
        (file.relative_to(source).as_posix(), sha256(file.read_bytes()).hexdigest()) for file in source.rglob("*.py")
    }


def measure() -> str:
    """Sit, lay out everything, and judge it."""
    draws, releases, channels, imports = [], [], [], []
    for sitting in range(SITTINGS):
        print(f"sitting {sitting + 1} of {SITTINGS} …", flush=True)
        with ExitStack() as stack:
            workers = contestants(stack)
            draws.append(noise_draws.sit(workers))
            releases.append(noise_releases.sit(workers))
            channels.append(noise_channel.sit(workers))
        imports.append(noise_imports.sit(MODULES))
    parts = [
        noise_draws.report(draws),
        noise_releases.report(releases),
        noise_channel.report(channels),
        noise_imports.report(imports, MODULES),
    ]
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    return "\n\n".join([verdict_table(verdicts), *(part.text for part in parts)])


def main() -> None:
    """Measure, print, and write the section of RESULTS.md."""
    before = fingerprint()
    facts = machine(versions())
    findings = measure()
    changed = sorted({name for name, _ in before ^ fingerprint()})
    warning = [CHANGED.format(files=", ".join(changed))] if changed else []
    text = "\n\n".join([INTRODUCTION.format(sittings=SITTINGS), facts, *warning, findings])
    print(text)
    write_section("noise", text)


if __name__ == "__main__":
    main()
