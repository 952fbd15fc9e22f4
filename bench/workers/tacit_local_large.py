"""Run tacit's projective geometry response at size: decoding, compared with one transform, and a stream of reports."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

import tacit as tc
from tacit.local.reports import to_records

EPSILON = 1.0


def decode(d: int, rounds: int) -> dict[str, float]:
    """Return the seconds of decoding a tally of d values, and of `numpy.fft.rfftn` on its grid, in turns."""
    oracle = tc.local.ProjectiveGeometry(domain=d, epsilon=EPSILON)
    total = oracle.aggregator()
    total.add(oracle.randomize(np.arange(d)))
    grid = np.random.default_rng(0).random((oracle.field,) * oracle.dimension)
    ours, plain = [], []
    for _ in range(rounds + 1):
        start = perf_counter()
        total.estimate()
        ours.append(perf_counter() - start)
        start = perf_counter()
        np.fft.rfftn(grid)
        plain.append(perf_counter() - start)
    ratio = median(a / b for a, b in zip(ours[1:], plain[1:], strict=True))
    shape = {"field": oracle.field, "dimension": oracle.dimension}
    return {"seconds": median(ours[1:]), "plain": median(plain[1:]), "ratio": ratio, **shape}


def stream(d: int, n: int, part: int) -> dict[str, float]:
    """Return the seconds of adding n reports in parts, of `numpy.bincount` on the same numbers, and the peak memory."""
    oracle = tc.local.ProjectiveGeometry(domain=d, epsilon=EPSILON)
    rng, total, ours, plain = np.random.default_rng(0), oracle.aggregator(), 0.0, 0.0
    digest, outputs = bytes.fromhex(oracle.digest), oracle.aggregator()._cells.size  # noqa: SLF001 - one cell per output
    for first in range(0, n, part):
        numbers = rng.integers(0, outputs, size=min(part, n - first))  # every output is a valid report
        reports = tc.local.Reports(protocol=oracle.code, digest=digest, records=to_records(numbers, outputs))
        start = perf_counter()
        total.add(reports)
        ours += perf_counter() - start
        start = perf_counter()
        np.bincount(numbers, minlength=outputs)
        plain += perf_counter() - start
    start = perf_counter()
    total.estimate()
    end = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": ours, "plain": plain, "decode": end, "reports": total.n, "megabytes": peak}


if __name__ == "__main__":
    tasks: dict[str, Callable[..., dict[str, float]]] = {"decode": decode, "stream": stream}
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(tasks[request.pop("task")](**request)), flush=True)
