"""Attack other libraries, tacit and a textbook reference in the same way; write a section of RESULTS.md.

python bench/attacks.py [--only opendp …] [--runs 200]

Each attack gives a library two inputs that are neighbours under the library's own relation, and runs a release many
times on each. `tc.audit` then bounds ε from below, with confidence 1 - 1e-9 for each attack and library: if the bound
is above the claimed ε, the claim is false for that release. The textbook reference shows that an attack works at all.
`bench/attack_cases.py` has the inputs and `bench/workers/attack_*.py` the calls. To see the outputs of one library, a
maintainer needs only that library: `PYTHONPATH=bench python bench/workers/attack_opendp.py nan-row on 5`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, Self

from attack_cases import CASES, Case
from peers import HERE, Peer
from report import Verdict, machine, table, verdict_table, write_section
from scipy.stats import spearmanr
from serve import Missing

import tacit as tc

CONFIDENCE = 1 - 1e-9
TIMED, FORKED, ASKED = 20_000, 20, 20
_CHUNK = 1000
_SEED = 20260101
LIBRARIES = {
    "textbook": None,
    "tacit": None,
    "opendp": Peer("attack-opendp", ("opendp[polars]==0.16.0",)),
    "diffprivlib": Peer("attack-diffprivlib", ("diffprivlib==0.6.6", "scikit-learn<1.7")),
    "pydp": Peer("attack-pydp", ("python-dp==1.1.5",)),
    "pipelinedp": Peer("attack-pipeline-dp", ("pipeline-dp==0.3.1", "python-dp==1.1.5", "pandas", "pyarrow")),
    "smartnoise": Peer("attack-smartnoise", ("smartnoise-sql==1.0.10", "opendp==0.14.2", "pyarrow")),
}
SLOW = {"smartnoise": 500, "tacit": 2000}
"""The largest number of runs on each input, for libraries whose queries on a table take long."""

TEXT = """\
## Attacks

Each attack runs a release on two inputs that are neighbours under the library's own relation. A number is a lower bound
on ε, with confidence 1 - 1e-9. Every release claims ε = 1; Gaussian noise and found groups claim δ = 1e-6 too.
{claims}Each attack has 1,000 to 40,000 runs on each input; a query on a table has at most {slow}.
**Bold**: the claim is false for this release. `ok`: no violation was found, which proves nothing. `refused`: the
library raises an error on both inputs. `–`: the library does not offer the release, or it was not attacked.
[Attacks on six libraries](../docs/explanation/attacks.md) explains each row and says what each library documents.

{audits}

The event behind each bound that is above the claim. `lowest bit` is the exponent of the last bit of a float, `kind` is
inf or nan and absent for other numbers, and an exception is a text:

{events}

Other attacks. *Time*: Spearman's correlation of the duration of a release with the size of its noise, over {timed:,}
releases of Laplace noise on the integer 0; without a channel it is within ±{spread:.3f} except with probability 1e-9.
*Fork*: how many of {forked} releases are equal in two processes that are forked from one. *Charge*: how often a query
fails, of {asked} times, on a table whose one row makes it fail, and the ε that the library counts for all of them.
**Bold**: the attack succeeds. A library may not claim to withstand it; the page has what each one documents.

{others}

{verdicts}

{machine}"""


class Worker:
    """A process that runs the releases of one library."""

    def __init__(self, name: str) -> None:
        """Start the process; raise Missing if the library cannot be installed."""
        peer = LIBRARIES[name]
        self.name = name
        self._process = subprocess.Popen(
            [peer.python() if peer else sys.executable, str(HERE / "workers" / f"attack_{name}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(HERE)},
        )

    def __enter__(self) -> Self:
        """Return the worker."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.communicate()

    def ask(self, task: str, **request: Any) -> dict[str, Any]:  # noqa: ANN401 - values of JSON
        """Return a reply; raise Missing if the library does not offer the release."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the worker was started without pipes")
        print(json.dumps({"task": task, **request}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker of {self.name} ended before it answered {task!r}; see its error above")
        reply: dict[str, Any] = json.loads(line)
        if "missing" in reply:
            raise Missing(reply["missing"])
        return reply

    def outputs(self, case: Case, side: str, count: int) -> list[Any]:
        """Return the outputs of a number of releases; a refusal of the library is an output."""
        found: list[Any] = []
        while len(found) < count:
            reply = self.ask("run", case=case.name, side=side, count=min(_CHUNK, count - len(found)))
            if "refused" in reply:
                return [f"refused {reply['refused'].split(':')[0]}"] * count
            found.extend(reply["outputs"])
        return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attack: the text of its cell, the event, whether the claim is false (None: not offered)."""

    cell: str
    event: str = ""
    broken: bool | None = None
    claim: str = ""


def runs_of(name: str, case: Case) -> int:
    """Return the number of runs on each input of an attack on a library."""
    return case.runs if case.kind == "number" else min(case.runs, SLOW.get(name, case.runs))


def attack(worker: Worker, case: Case, most: int) -> Outcome:
    """Return the result of one attack on one library."""
    try:
        sides = {side: worker.outputs(case, side, 3) for side in ("on", "against")}
        if all(str(each).startswith(("refused", "raised")) for found in sides.values() for each in found):
            return Outcome("refused", broken=False)
        claim = worker.ask("claim", case=case.name)
        report = tc.audit(  # without the claimed ε it does not stop early, so the bound is as large as the runs allow
            lambda side, count: worker.outputs(case, side, count),
            "on",
            "against",
            delta=claim["delta"],
            samples=min(most, runs_of(worker.name, case)),
            confidence=CONFIDENCE,
            batched=True,
            seed=_SEED,
        )
    except Missing:
        return Outcome("–")
    stated = "" if claim["epsilon"] == case.epsilon else f"ε = {claim['epsilon']:g} and δ = {claim['delta']:.2g}"
    if report.epsilon_lower <= claim["epsilon"]:
        return Outcome("ok", broken=False, claim=stated)
    count, other = report.counts
    event = f"{report.event}: {count:,} of {report.runs:,} runs on one input, {other:,} on the other"
    return Outcome(f"**ε ≥ {report.epsilon_lower:.2f}**", event, broken=True, claim=stated)


def others(worker: Worker) -> tuple[list[str], dict[str, bool | None]]:
    """Return the cells of the attacks by time, forks and failing queries, and which of them succeed."""
    cells, broken = [worker.name], dict[str, bool | None]()
    for name, run in (("time", _time), ("fork", _fork), ("charge", _charge)):
        try:
            cell, broken[name] = run(worker)
        except Missing:
            cell, broken[name] = "–", None
        cells.append(f"**{cell}**" if broken[name] else cell)
    return cells, broken


def _spread() -> float:
    return 6.1 / sqrt(TIMED)


def _time(worker: Worker) -> tuple[str, bool]:
    reply = worker.ask("timed", count=TIMED)
    correlation = float(spearmanr(reply["durations"], reply["noise"]).statistic)
    return f"{correlation:+.3f}", abs(correlation) > _spread()


def _fork(worker: Worker) -> tuple[str, bool]:
    equal = worker.ask("forked", count=FORKED)["equal"]
    return f"{equal} of {FORKED}", equal > 0


def _charge(worker: Worker) -> tuple[str, bool]:
    reply = worker.ask("charged", count=ASKED)
    failed, spent = reply["failed"], reply["spent"]
    counted = f"ε = {spent:g}" if isfinite(spent) else "not counted"
    return f"{failed} fail, {counted}", failed > 0 and spent == 0


def main(names: Sequence[str], most: int) -> None:
    """Attack the libraries and write the section."""
    found: dict[tuple[str, str], Outcome] = {}
    rows, broken, versions = list[list[str]](), dict[str, dict[str, bool | None]](), dict[str, str]()
    for name in names:
        try:
            worker = Worker(name)
        except Missing as missing:
            print(f"{name}: {missing}")
            continue
        with worker:
            versions |= worker.ask("about")["versions"]
            for case in CASES.values():
                found[case.name, name] = attack(worker, case, most)
                print(f"{name:12} {case.name:18} {found[case.name, name].cell}", flush=True)
            cells, broken[name] = others(worker)
            print(*cells, flush=True)
            rows.append(cells)
    part = _part(found, rows, broken, versions)
    if set(names) == set(LIBRARIES) and most >= max(case.runs for case in CASES.values()):
        write_section("attacks", part)
    else:
        print(part)


def _part(
    found: dict[tuple[str, str], Outcome],
    rows: list[list[str]],
    broken: dict[str, dict[str, bool | None]],
    versions: dict[str, str],
) -> str:
    names = list(broken)
    audits = [[case.title, *(found[case.name, name].cell for name in names)] for case in CASES.values()]
    events = [
        f"* {case.title}, {name}: {outcome.event}."
        for case in CASES.values()
        for name in names
        if (outcome := found[case.name, name]).event
    ]
    claims = [
        f"{name} states {outcome.claim} for “{CASES[case].title}”.\n"
        for (case, name), outcome in found.items()
        if outcome.claim
    ]
    return TEXT.format(
        audits=table(["attack", *names], audits),
        events="\n".join(events),
        timed=TIMED,
        spread=_spread(),
        forked=FORKED,
        asked=ASKED,
        others=table(["library", "time", "fork", "charge"], rows),
        claims="".join(claims),
        slow=" and ".join(f"{most:,} for {name}" for name, most in SLOW.items()),
        verdicts=verdict_table(_verdicts(found, broken)),
        machine=machine(versions),
    )


def _verdicts(found: dict[tuple[str, str], Outcome], broken: dict[str, dict[str, bool | None]]) -> list[Verdict]:
    """Return the targets: every attack succeeds against the textbook reference, and none against tacit."""
    verdicts = []
    for name, expected in (("textbook", True), ("tacit", False)):
        if name in broken:
            offered = [found[case, name].broken for case in CASES] + list(broken[name].values())
            outcomes = [each for each in offered if each is not None]
            target = "every attack succeeds" if expected else "no attack succeeds"
            met = all(each is expected for each in outcomes)
            verdicts.append(Verdict(name, target, f"{sum(outcomes)} of {len(outcomes)} succeed", met))
    return verdicts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--runs", type=int, default=10**9, help="the largest number of runs on each input")
    arguments = parser.parse_args()
    main(arguments.only, arguments.runs)
