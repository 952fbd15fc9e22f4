"""Compare the error of a reach that tacit chooses with the best fixed reach and with limits of other libraries.

limits.py             four tables and the visits of a clinic; tacit, PipelineDP, Tumult; takes an hour on a busy machine
limits.py --stored    the same, with the releases of the other libraries that the last run stored
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import limits_data
import limits_tumult
import limits_visits
import numpy as np
from limits_tacit import EPSILONS, TIMES, Case, cases, errors
from query_data import FOLDER
from query_fresh import PIPELINE_DP, TUMULT, Contestant
from report import Part, Verdict, machine, table, verdict_table, write_section
from rounds import short
from serve import Missing

PEERS = {
    "PipelineDP": (Contestant("pipelinedp_limits", PIPELINE_DP.peer), 20),
    "Tumult": (Contestant("tumult_limits", TUMULT.peer), 5),
}
CAP = 7200
MOST_GROUPED, MOST_WHOLE = 1.5, 5.0

INTRODUCTION = """\
## Limits

How far answers are from the table as it is, if nobody guesses a limit. The error is the mean over groups of
|answer - true answer of the uncut table|. It has two parts: rows that a limit cuts, and noise. ε is that of the whole
query; a tenth of it chooses the limits."""

TEXT = """\
### Error with limits that are chosen

Tables: `zipf` has {zipf:,} units whose numbers of rows follow Zipf's law with exponent 1.8, up to 100,000, in 50
groups. `months` has 50,000 units with a row in each of twelve months. `heavy` has 50,000 units with 1 + Poisson(5)
rows, and one with a tenth of all rows, in 50 groups. `adult` has a row for each unit, in 70 groups. Sums are of x in
[0, 100]. These bounds are public for all contestants.

"Best" is the fixed reach, known with hindsight, whose expected error is least, at all of ε. It is computed: the cut is
exact and the noise has its law. The other errors are ratios to this error. "auto" is `reach="auto"`: the mean of
{times} releases, ± one standard error. "Expected", right of each contestant, is its expected error. It is computed: for
tacit over the law of the choice, for PipelineDP over the limits that it drew, for Tumult over {draws:,} draws of the
bound from its law. "Reach" is the median of the chosen ones. Verdicts beside other libraries compare expected errors.
Verdicts beside the best reach use the larger of the released and the expected error.

*PipelineDP* chooses max_partitions_contributed (`calculate_private_contribution_bounds`). It cannot choose
max_contributions_per_partition, for which its choice assumes 1. "Rows known" is its expected error if the best value of
that limit were known with hindsight. With one group its choice is always 1, and it could save the tenth of ε. The bench
draws the rows that count as PipelineDP does; the choice
and the noise are PipelineDP's own. *Tumult* cannot choose MaxRowsPerID. The bench uses the upper bound that its
`get_bounds` finds for the number of rows of a unit. For the sum of all rows, each unit's sum is clipped to the bounds
that `get_bounds` finds for such sums. The releases are {pipelinedp} of PipelineDP and {tumult} of Tumult. A dash says
that a library was not run on that table.

{findings}"""


def main() -> None:
    """Run the bench, print the report, and write it to RESULTS.md."""
    parser = argparse.ArgumentParser(description="Compare limits that are chosen.")
    parser.add_argument("--stored", action="store_true", help="use the stored releases of the other libraries")
    stored = parser.parse_args().stored
    tables = limits_data.tables()
    with ThreadPoolExecutor(len(PEERS)) as pool:  # errors are measured, not times, so all may run at once
        runs = [] if stored else [pool.submit(_run, name, tables) for name in PEERS]
        found = [case for name, path in tables.items() for case in cases(name, path, limits_data.keys(name, path))]
        visits = limits_visits.measure()
        for run in runs:
            run.result()
    versions = {"tacit": version("tacit"), "duckdb": version("duckdb")}
    for peer in PEERS:
        versions |= _add(found, peer)
    for case in found:
        case.computed["Tumult"] = limits_tumult.expected(case.model, case.epsilon)
        if "PipelineDP" in case.others:
            case.computed["PipelineDP"] = case.with_rows(case.others["PipelineDP"].limits, 1)
    part = Part(_text(found), _verdicts(found))
    text = "\n\n".join(
        [INTRODUCTION, machine(versions), verdict_table(part.verdicts + visits.verdicts), part.text, visits.text]
    )
    print(text)
    write_section("limits", text)


def _run(peer: str, tables: Mapping[str, Path]) -> None:
    """Run a library on all tables and store its replies."""
    contestant, times = PEERS[peer]
    for name, path in tables.items():
        file, keys = _file(peer, name), limits_data.keys(name, path)
        file.unlink(missing_ok=True)
        try:
            reply = contestant.ask("limits", cap=CAP, path=str(path), keys=keys, epsilons=EPSILONS, times=times)
        except Missing as error:
            print(f"{peer}, {name}: {error}", flush=True)
        else:
            file.write_text(json.dumps(reply))


def _file(peer: str, table_name: str) -> Path:
    return FOLDER / f"limits-{peer.lower()}-{table_name}.json"


def _add(found: Iterable[Case], peer: str) -> dict[str, str]:
    """Add the stored errors of a library to all cases that it answered, and return its versions."""
    versions: dict[str, str] = {}
    for case in found:
        file = _file(peer, case.table)
        reply = json.loads(file.read_text()) if file.exists() else {"versions": {}, "answers": []}
        versions |= reply["versions"]
        for answer in reply["answers"]:
            question = answer["statistic"], answer["grouped"], answer["epsilon"]
            if question == (case.statistic, case.grouped, case.epsilon):
                case.others[peer] = errors(answer["values"], case.model.truth, answer["limits"])
    return versions


def _text(found: Sequence[Case]) -> str:
    header = ["table", "query", "ε", "best reach", "its error", "auto", "expected", "reach"]
    header += ["PipelineDP", "expected", "rows known", "Tumult", "expected"]
    rows = [
        [
            case.table,
            f"{case.statistic} {'by group' if case.grouped else 'of all'}",
            f"{case.epsilon:g}",
            f"{case.best_reach:,}",
            short(case.best),
            f"{short(case.released.mean / case.best)} ± {case.released.deviation / case.best:.2g}",
            short(case.expected / case.best),
            short(float(np.median(case.released.limits))),
            *_others(case),
        ]
        for case in found
    ]
    return TEXT.format(
        zipf=limits_data.ZIPF_UNITS,
        times=TIMES,
        draws=limits_tumult.DRAWS,
        pipelinedp=PEERS["PipelineDP"][1],
        tumult=PEERS["Tumult"][1],
        findings=table(header, rows),
    )


def _others(case: Case) -> list[str]:
    pipeline = case.others.get("PipelineDP")
    known = None if pipeline is None else case.with_known_rows(pipeline.limits)
    released = {name: peer.mean for name, peer in case.others.items()}
    errors_of = [found.get(name) for name in PEERS for found in (released, case.computed)]
    errors_of.insert(2, known)
    return ["–" if error is None else short(error / case.best) for error in errors_of]


def _verdicts(found: Sequence[Case]) -> list[Verdict]:
    """Return the worst case of each table, by group and of all rows: beside the best reach and each library."""
    verdicts = []
    for grouped in (True, False):
        for name in dict.fromkeys(case.table for case in found):
            part = [case for case in found if (case.table, case.grouped) == (name, grouped)]
            label = f"{name}, {'by group' if grouped else 'of all'}: auto ÷"
            most = MOST_GROUPED if grouped else MOST_WHOLE
            worst = max(part, key=lambda case: case.ratio)
            result = f"{short(worst.ratio)} ({worst.statistic}, ε = {worst.epsilon:g})"
            verdicts.append(Verdict(f"{label} best fixed reach", f"≤ {most:g}", result, worst.ratio <= most))
            verdicts += [_beside(f"{label} {peer}", peer, part) for peer in PEERS]
    return verdicts


def _beside(label: str, peer: str, part: Sequence[Case]) -> Verdict:
    """Compare expected errors, which have no chance in them: releases alone could not tell a loss from a tie."""
    ratios = [(case.expected / case.computed[peer], case) for case in part if peer in case.computed]
    if not ratios:
        return Verdict(label, "≤ 1", "–", None)
    value, case = max(ratios, key=lambda ratio: ratio[0])
    return Verdict(label, "≤ 1", f"{short(value)} ({case.statistic}, ε = {case.epsilon:g})", value <= 1)


if __name__ == "__main__":
    main()
