"""Compare single quantiles at the same ε: their errors with opendp's, and how often their intervals hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import query_data
from query_data import truth
from query_errors import EPSILON, LONGEST, Entry
from query_fresh import OPENDP, PIPELINE_DP, SMARTNOISE, TACIT, TUMULT
from query_serve import HIGH, HIGHEST, KEYS, LOW, MAX_GROUPS, MAX_ROWS, Query
from report import Part, Verdict, machine, table, verdict_table, write_section
from rounds import short
from scipy.stats import binom
from serve import Missing

import tacit as tc
from noise import fingerprint

SINGLE = {"median": 0.5, "quantile": HIGHEST}
ALONE, TOGETHER = "tacit, intervals=False", "tacit"
ENTRIES = {
    ALONE: Entry(TACIT, 400, tuned=True),
    TOGETHER: Entry(TACIT, 400),
    "opendp": Entry(OPENDP, 480),
}
MORE = {"PipelineDP": Entry(PIPELINE_DP, 20), "SmartNoise": Entry(SMARTNOISE, 20), "Tumult": Entry(TUMULT, 6)}
LIMITS = {ALONE: 1.05, TOGETHER: 1.5}
RELEASES, COPIES = 2000, 100
LEAST, MOST, ALARM = 0.95, 0.98, 1e-3

TEXT = """\
## Single quantiles

The median and the {highest:g} quantile of 50 groups, each alone, on the table of "Error at equal ε": the 95 % quantile
of |released − true| at ε = {epsilon:g}. The number of releases is in the header. With `intervals=False` tacit draws the
value alone. opendp chooses among 1,001 candidates and has no interval.

{errors}

The share of {releases:,} releases whose 95 % interval holds the true quantile, as DuckDB computes it, at ε = 1. "Dense"
has 2,400 values with the distribution of that table, and noise for units of 15 rows; in all other tables each row is a
unit. A coverage of 95 % gives a share below {least:.1%} with a probability of 0.1 % at most.

{coverage}"""

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """Some values between 0 and 100, the largest number of rows as which a unit counts, and whether they are dense."""

    values: Callable[[], Reals]
    rows: int = 1
    dense: bool = False


def _dense() -> Reals:
    return np.clip(np.round(np.random.default_rng(4).gamma(2.0, 20.0, 2400), 2), LOW, HIGH)


CASES = {
    "dense": Case(_dense, rows=MAX_GROUPS * MAX_ROWS, dense=True),
    "ties": Case(lambda: np.round(np.random.default_rng(4).gamma(2.0, 20.0, 400) / 10) * 10),
    "few rows": Case(lambda: np.array([3.0, 7.0, 7.0, 21.0, 35.0, 50.0, 51.0, 80.0, 99.0])),
    "two rows": Case(lambda: np.array([20.0, 80.0])),
    "all equal": Case(lambda: np.full(300, 33.3)),
    "few, all equal": Case(lambda: np.full(20, 33.3)),
    "at a bound": Case(lambda: np.concatenate((np.full(250, 100.0), np.linspace(0, 90, 100)))),
    "two heaps": Case(lambda: np.concatenate((np.linspace(5, 6, 100), np.linspace(90, 91, 100)))),
}


def measure(path: Path, *, everyone: bool) -> Part:
    """Measure errors and coverage, and return the verdicts."""
    entries = ENTRIES | (MORE if everyone else {})
    true_values = truth(path)
    errors = {name: _errors(name, entry, path, true_values) for name, entry in entries.items()}
    rows = [[statistic, *(_cell(errors[name][statistic]) for name in entries)] for statistic in SINGLE]
    header = ["statistic", *(f"{name} ({entry.times:,})" for name, entry in entries.items())]
    shares = {name: {q: _coverage(name, case, q) for q in SINGLE.values()} for name, case in CASES.items()}
    covered = [[name, *(f"{100 * share:.2f} %" for share in found.values())] for name, found in shares.items()]
    text = TEXT.format(
        highest=HIGHEST,
        epsilon=EPSILON,
        errors=table(header, rows),
        releases=RELEASES,
        least=_least(),
        coverage=table(["values", *(f"quantile {q:g}" for q in SINGLE.values())], covered),
    )
    return Part(text, [*_error_verdicts(errors), *_coverage_verdicts(shares)])


def _errors(name: str, entry: Entry, path: Path, true_values: Mapping[str, Reals]) -> dict[str, float | str]:
    """Return the 95 % quantile of each statistic's error, or the reason why it is missing."""
    found: dict[str, float | str] = {}
    for statistic in SINGLE:
        print(f"single quantiles of {name}: {statistic} …", flush=True)
        query = Query(str(path), "unit", (statistic,), EPSILON, entry.times, entry.tuned, LONGEST)
        try:
            values = entry.contestant.ask("errors", query, cap=3600)["values"][statistic]
        except Missing as missing:
            found[statistic] = str(missing)
            continue
        distance = np.abs(np.array(values, dtype=float).reshape(-1, len(KEYS)) - true_values[statistic])
        found[statistic] = float(np.quantile(np.where(np.isnan(distance), inf, distance), 0.95, method="higher"))
    return found


def _cell(result: float | str) -> str:
    return result if isinstance(result, str) else short(result)


def _error_verdicts(errors: Mapping[str, Mapping[str, float | str]]) -> list[Verdict]:
    verdicts = []
    for ours, limit in LIMITS.items():
        for statistic in SINGLE:
            others = {
                name: error
                for name, found in errors.items()
                if name not in LIMITS and not isinstance(error := found[statistic], str)
            }
            own, title = errors[ours][statistic], f"error of {statistic} alone, {ours} ÷ best other library"
            if isinstance(own, str) or not others:
                verdicts.append(Verdict(title, f"≤ {limit:g}", "–", None))
                continue
            best = min(others, key=lambda name: others[name])
            ratio = own / others[best]
            verdicts.append(Verdict(title, f"≤ {limit:g}", f"{short(ratio)} ({best})", ratio <= limit))
    return verdicts


def _coverage(name: str, case: Case, q: float) -> float:
    """Return the share of releases whose interval holds the quantile; each release is of groups with equal values."""
    print(f"coverage of the {q:g} quantile: {name} …", flush=True)
    values, keys = case.values(), list(range(COPIES))
    true = float(np.quantile(values, q))
    data = pa.table(
        {
            "unit": np.arange(values.size * COPIES),
            "key": np.repeat(keys, values.size),
            "x": np.tile(values, COPIES),
        }
    )
    db = tc.open(
        data,
        name="t",
        unit="unit",
        max_groups=1,
        max_rows=case.rows,
        bounds={"x": (LOW, HIGH)},
        keys={"key": keys},
        budget=tc.PureDP(epsilon=RELEASES * EPSILON),
    )
    sql, hits = f"SELECT key, quantile_cont(x, {q!r}) AS a FROM t GROUP BY key", 0  # noqa: S608 - fixed text
    for _ in range(RELEASES // COPIES):
        for _, _, low, high in db.sql(sql, epsilon=EPSILON).intervals().rows():
            hits += float(low) <= true <= float(high)  # type: ignore[arg-type]  # they are numbers
    return hits / RELEASES


def _least() -> float:
    return float(binom.ppf(ALARM, RELEASES, LEAST)) / RELEASES


def _coverage_verdicts(shares: Mapping[str, Mapping[float, float]]) -> list[Verdict]:
    verdicts = []
    for name, found in shares.items():
        for q, share in found.items():
            met, target = share >= _least(), f"≥ {LEAST:.0%}"
            if CASES[name].dense:
                met, target = met and share <= MOST, f"{LEAST:.0%} to {MOST:.0%}"
            verdicts.append(Verdict(f"coverage of the {q:g} quantile, {name}", target, f"{100 * share:.2f} %", met))
    return verdicts


def main() -> None:
    """Run the benchmark, print the report, and write it to RESULTS.md."""
    before = fingerprint()
    part = measure(query_data.small(), everyone=False)
    changed = sorted({name for name, _ in before ^ fingerprint()})
    if changed:
        raise SystemExit(f"The source changed during the run: {', '.join(changed)}. Run it again.")
    versions = {name: version for entry in (TACIT, OPENDP) for name, version in entry.ask("about")["versions"].items()}
    text = "\n\n".join([part.text, machine(versions), verdict_table(part.verdicts)])
    print(text)
    write_section("single quantiles", text)


if __name__ == "__main__":
    main()
