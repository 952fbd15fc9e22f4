"""Compare the errors of the local model with their closed form; check intervals and the gain from consistency."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import numpy.typing as npt
from report import Part, Verdict, table

import tacit as tc
from tacit.local.parameters import ORACLES
from tacit.noise import SYSTEM

N, D, EPSILONS, RUNS = 100_000, 128, (0.5, 1.0, 2.0, 4.0), 150
WARNER = 80  # factor on the number of runs: its two counts depend on each other
WITHIN = 0.05
CONFIDENCE, SLACK = 0.95, 0.01
LARGE, CUT, CUT_RUNS = 1024, 5.0, 10

Ints = npt.NDArray[np.int64]
Results = dict[tuple[str, float], tuple[float, float]]

TEXT = """\
### Errors

n = {n:,} people with values from Zipf's law over d = {d:,} values, {runs} runs. Warner has two values, and
more runs for about the same number of counts. The figure is the mean squared error of all counts
divided by its closed form. Its standard error is about {spread:.1f} %.

{ratios}

The share of {percent:.0f} % intervals that contain the true count:

{covered}

Consistency at d = {large:,}, ε = 1, the same n, {cut_runs} runs: the mean squared error before and after, and the
ratio.

{gains}"""


def measure(*, tiny: bool) -> Part:
    """Run all protocols, and return the tables and the verdicts."""
    print("errors …", flush=True)
    runs, cut_runs = (2, 2) if tiny else (RUNS, CUT_RUNS)
    results = {(name, epsilon): _errors(name, epsilon, runs) for name in ("Warner", *ORACLES) for epsilon in EPSILONS}
    gains = {name: _gain(name, cut_runs) for name in ("OUE", "OLH", "ProjectiveGeometry")}
    text = TEXT.format(
        n=N,
        d=D,
        runs=runs,
        spread=100 * sqrt(2 / (D * runs)),
        percent=100 * CONFIDENCE,
        ratios=_grid(results, 0),
        covered=_grid(results, 1),
        large=LARGE,
        cut_runs=cut_runs,
        gains=table(
            ["protocol", "unbiased", "norm-sub", "times less"],
            [[name, f"{old:,.0f}", f"{new:,.0f}", f"{old / new:.1f}"] for name, (old, new) in gains.items()],
        ),
    )
    return Part(text, [*_verdicts(results), *_gain_verdicts(gains)])


def _zipf(d: int) -> Ints:
    share = 1 / np.arange(1.0, d + 1)
    upto = np.floor(np.cumsum(share) / share.sum() * N + 0.5).astype(np.int64)
    return np.asarray(np.diff(upto, prepend=0))


def _make(name: str, epsilon: float) -> tuple[tc.local.Protocol, Ints]:
    if name == "Warner":
        return tc.local.Warner(epsilon=epsilon), np.array([N - N // 5, N // 5])
    return ORACLES[name](domain=D, epsilon=epsilon), _zipf(D)


def _errors(name: str, epsilon: float, runs: int) -> tuple[float, float]:
    """Return the mean squared error divided by its closed form, and the share of intervals that contain the truth."""
    oracle, truth = _make(name, epsilon)
    places = np.repeat(np.arange(truth.size), truth)  # computed once, because Warner has many runs
    theory = np.mean([oracle.variance(n=N, frequency=count / N) for count in truth.tolist()])
    squares, covered = [], []
    for _ in range(runs * (WARNER if name == "Warner" else 1)):
        estimate = oracle.estimate(oracle._randomize(places, SYSTEM))  # noqa: SLF001
        squares.append(np.mean((estimate.counts - truth) ** 2))
        low, high = estimate.interval(confidence=CONFIDENCE)
        covered.append(np.mean((low <= truth) & (truth <= high)))
    return float(np.mean(squares) / theory), float(np.mean(covered))


def _gain(name: str, runs: int) -> tuple[float, float]:
    """Return the mean squared error before and after Norm-Sub."""
    oracle, truth = ORACLES[name](domain=LARGE, epsilon=1), _zipf(LARGE)
    people = np.repeat(np.arange(LARGE), truth)
    estimates = [oracle.estimate(oracle.randomize(people)) for _ in range(runs)]
    before = np.mean([np.mean((e.counts - truth) ** 2) for e in estimates])
    after = np.mean([np.mean((e.consistent("norm-sub").counts - truth) ** 2) for e in estimates])
    return float(before), float(after)


def _grid(results: Results, part: int) -> str:
    header = ["protocol", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]
    names = dict.fromkeys(name for name, _ in results)
    return table(header, [[name, *(f"{results[name, epsilon][part]:.4f}" for epsilon in EPSILONS)] for name in names])


def _verdicts(results: Results) -> Iterator[Verdict]:
    for name in dict.fromkeys(name for name, _ in results):
        ratios = [results[name, epsilon][0] for epsilon in EPSILONS]
        worst = max(ratios, key=lambda ratio: abs(ratio - 1))
        yield Verdict(f"{name}: n·MSE ÷ closed form", f"1 ± {WITHIN:g}", f"{worst:.3f}", abs(worst - 1) <= WITHIN)
    shares = [covered for _, covered in results.values()]
    worst = max(shares, key=lambda share: abs(share - CONFIDENCE))
    met = abs(worst - CONFIDENCE) <= SLACK
    yield Verdict(
        f"{100 * CONFIDENCE:g} % intervals that contain the truth", f"{CONFIDENCE:g} ± {SLACK:g}", f"{worst:.4f}", met
    )


def _gain_verdicts(gains: dict[str, tuple[float, float]]) -> Iterator[Verdict]:
    for name, (old, new) in gains.items():
        title = f"Norm-Sub after {name}, d = {LARGE:,}, ε = 1: reduction of the MSE"
        yield Verdict(title, f"≥ {CUT:g} times", f"{old / new:.1f}", old / new >= CUT)
