"""Compare anonymisation of the Adult table with pyCANON, ANJANA and anonypy, and with recorded figures of ARX 3.9.2."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

from peers import HERE, Peer, single_threaded
from report import Verdict, machine, table, verdict_table, write_section
from serve import Missing

ADULT = HERE.parent / "tests" / "data" / "adult"
PATIENCE = 120
PEERS = {
    "pycanon": Peer("pycanon", ("pycanon==1.3.6", "setuptools<81")),
    "anjana": Peer("anjana", ("anjana==1.2.3", "setuptools<81")),
    "anonypy": Peer("anonypy", ("anonypy==0.2.1", "pandas==2.3.3")),
}
ARX = {
    "loss at 0%": 0.573151,
    "loss at 4%": 0.266111,
    "loss at 100%": 0.220412,
    "loss with distinct 3": 0.205208,
    "loss with t = 0.2": 0.815003,
    "seconds at 0%": 0.061,
    "seconds at 4%": 1.10,
    "seconds at 100%": 3.16,
    "seconds at 4%, hundredfold": 18.0,
    "loss of local": 0.178,
}

INTRODUCTION = """\
## Microdata

The Adult table: 30,162 rows, nine quasi-identifiers, k = 5. "at 4%" means that at most 4 % of the rows are suppressed.
"with …" means that occupation is the sensitive column, the other eight columns are quasi-identifiers, and at most 4 %
of the rows are suppressed. Losses are geometric means; those of `local` and `mondrian` are arithmetic means. Seconds
are processor time of one thread, without compiling kernels and reading files. The figures of ARX are wall-clock
seconds, measured on the same kind of machine but not in this run."""


def ask(name: str) -> dict[str, float]:
    """Return the results of a contestant; empty if it is missing, fails or takes more than two minutes."""
    try:
        python = sys.executable if name == "tacit" else PEERS[name].python()
        script = str(HERE / "workers" / "anonymity_run.py")
        run = subprocess.run(
            [python, script, name, str(ADULT)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
            env=single_threaded(),
        )
        values: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    except (Missing, subprocess.SubprocessError) as missing:
        print(f"{name}: {missing}")
        return {}
    return values


def verdicts(ours: dict[str, float]) -> list[Verdict]:
    """Compare the results of tacit with the targets."""
    verdict_list = []
    for name, theirs in ARX.items():
        if name.startswith("seconds"):
            verdict_list.append(
                Verdict(f"{name} ÷ ARX", "≤ 0.5", f"{ours[name] / theirs:.3f}", ours[name] <= theirs / 2)
            )
        elif name == "loss of local":
            verdict_list.append(Verdict(name, "≤ 0.105", f"{ours[name]:.4f}", ours[name] <= 0.105))
        else:
            verdict_list.append(
                Verdict(name, f"{theirs} ± 1e-6", f"{ours[name]:.6f}", abs(ours[name] - theirs) <= 1e-6)
            )
    sorts = ours["seconds of mondrian, hundredfold"] / ours["seconds of one sort"]
    return [
        *verdict_list,
        Verdict("mondrian on 3 million rows: time ÷ time to sort them once", "≤ 10", f"{sorts:.2f}", sorts <= 10),
    ]


def main() -> None:
    """Run all contestants and write the section."""
    results = {"tacit": ask("tacit"), "ARX": ARX, **{name: ask(name) for name in PEERS}}
    rows = [
        [measure, *(f"{values[measure]:.6g}" if measure in values else "–" for values in results.values())]
        for measure in results["tacit"]
    ]
    text = "\n\n".join(
        [
            INTRODUCTION,
            machine({"tacit": version("tacit")}),
            verdict_table(verdicts(results["tacit"])),
            table(["", *results], rows),
        ]
    )
    write_section("anonymity", text)
    print(text)


if __name__ == "__main__":
    main()
