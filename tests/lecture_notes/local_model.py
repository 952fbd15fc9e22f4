"""Rows 38 to 48: people who trust nobody with the raw answer."""

from __future__ import annotations

import json
from inspect import signature
from math import exp, log
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import tacit
from cli_runs import run
from lecture_notes.rows import row, tc
from local_protocols import law, one_report

LOCAL, MECHANISMS = "docs/explanation/local-model.md", "docs/reference/mechanisms.md"
WORDS = "words" in signature(tacit.local.Warner.__init__).parameters
"""Whether a survey may have other words than true and false, and protocols other probabilities than the best."""


@row(38, "the local model: who is trusted", LOCAL)
def trust() -> None:
    """Check that a server sees reports alone and can count with them; a report is nearly as likely for any other value.

    The price: the error grows as the root of the number of people. That of a trusted curator does not grow.
    """
    survey = tc.local.GRR(domain=["a", "b", "c"], epsilon=1)
    laws = [law(survey, value) for value in range(3)]
    assert max(laws[v][r] / laws[w][r] for r in laws[0] for v in range(3) for w in range(3)) <= exp(1) * (1 + 1e-12)
    device = tc.local.protocol(survey.parameters())  # all that a device gets
    server = tc.local.Aggregator(tc.local.protocol(survey.parameters()))
    server.add(device.randomize(["a"] * 3000 + ["b"] * 7000))
    found = server.estimate().counts
    error = survey.variance(n=10_000, frequency=0.7) ** 0.5
    assert np.abs(np.asarray(found) - [3000, 7000, 0]).max() < 8 * error  # beyond with probability 1e-14
    assert survey.variance(n=40_000) == pytest.approx(4 * survey.variance(n=10_000))
    assert error > 30 * tc.Laplace(sensitivity=1, epsilon=1).std


@row(40, "Warner's coin: 75 % and 25 %", LOCAL, present=WORDS)
def warner() -> None:
    survey = tc.local.Warner(p=0.75, words=("yes", "no"))
    assert survey.epsilon == pytest.approx(log(3))
    yes, no = (one_report(survey, bytes([code])) for code in (0, 1))
    assert (40 * yes + 60 * no)[0] == pytest.approx((40 - 0.25 * 100) / 0.5)
    found = tc.local.simulate(survey, {"yes": 3000, "no": 7000}, seed=1, runs=400)
    assert found.truth.tolist() == [3000, 7000]
    assert found.found == pytest.approx(found.predicted, rel=0.1)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "answers.txt").write_text("yes\n" * 3000 + "no\n" * 7000, "utf-8")
        coin = ("--p", "0.75", "--words", "yes,no")
        for command in (
            ("choose", *coin, "--save", "survey.json"),
            ("randomize", "survey.json", "answers.txt", "--out", "reports.jsonl"),
            ("aggregate", "survey.json", "reports.jsonl", "--json"),
            ("simulate", *coin, "--seed", "1"),
        ):
            done = run(place, "local", *command)
            assert done.returncode == 0, done.stderr
            if command[0] == "aggregate":
                counts = {each["value"]: each["count"] for each in json.loads(done.stdout)["rows"]}
                assert abs(counts["yes"] - 3000) < 8 * survey.variance(n=10_000, frequency=0.3) ** 0.5


@row(41, "direct encoding (GRR): p, q and the estimator", LOCAL)
def direct() -> None:
    """Check p and q, that the estimator is unbiased over all reports, and an estimate within 8 standard errors."""
    oracle = tc.local.GRR(domain=4, epsilon=1)
    for value in range(4):
        mean = sum(float(chance) * one_report(oracle, report) for report, chance in law(oracle, value).items())
        assert mean == pytest.approx(np.eye(4)[value], abs=1e-9)
    assert (oracle.p, oracle.q) == (pytest.approx(exp(1) / (exp(1) + 3)), pytest.approx(1 / (exp(1) + 3)))
    values = np.repeat(np.arange(4), 5000)
    found = oracle.estimate(oracle.randomize(values)).counts
    assert np.abs(np.asarray(found) - 5000).max() < 8 * oracle.variance(n=20_000, frequency=0.25) ** 0.5


@row(42, "unary encoding (basic RAPPOR)", LOCAL)
def unary() -> None:
    oracle = tc.local.SUE(domain=[1, 2, 3, 4], epsilon=1)
    assert (round(oracle.p, 4), round(oracle.q, 4)) == (0.6225, 0.3775)
    assert log(oracle.p * (1 - oracle.q) / (oracle.q * (1 - oracle.p))) == pytest.approx(1)
    laws = [law(oracle, value) for value in range(4)]  # v = 3 is bit 2
    ones = [sum(chance for report, chance in laws[2].items() if report[0] >> bit & 1) for bit in range(4)]
    assert ones == [pytest.approx(oracle.p if bit == 2 else oracle.q) for bit in range(4)]
    for value in range(4):  # unbiased: exactly, over all reports
        mean = sum(float(chance) * one_report(oracle, report) for report, chance in laws[value].items())
        assert mean == pytest.approx(np.eye(4)[value], abs=1e-9)


@row(43, "binary local hashing", LOCAL)
def hashing() -> None:
    oracle = tc.local.BLH(domain=128, epsilon=1)
    assert (round(oracle.p, 4), round(oracle.q, 4), oracle.buckets) == (0.7311, 0.5, 2)
    found = tc.local.simulate(tc.local.BLH(domain=4, epsilon=1), {0: 1000, 1: 0, 2: 3000, 3: 6000}, seed=1, runs=100)
    assert found.found == pytest.approx(found.predicted, rel=0.15)  # bias would add to the error


@row(44, "Var = nq(1-q)/(p-q)²", MECHANISMS)
def variance() -> None:
    for name in ("GRR", "SUE", "OUE", "BLH", "OLH"):
        oracle = getattr(tc.local, name)(domain=128, epsilon=1)
        formula = oracle.q * (1 - oracle.q) / (oracle.p - oracle.q) ** 2
        assert oracle.variance(n=1000, frequency=0.0) == pytest.approx(1000 * formula)


@row(45, "pure protocols: minimise over p' and q'", LOCAL, present=WORDS)
def own_probabilities() -> None:
    best = tc.local.OUE(domain=128, epsilon=1)
    others = [tc.local.OUE(domain=128, epsilon=1, p=p) for p in (0.3, 0.4, 0.6, 0.7)]
    assert all(other.variance(n=1000, frequency=0.0) > best.variance(n=1000, frequency=0.0) for other in others)


@row(46, "optimized unary encoding", LOCAL)
def optimized_unary() -> None:
    oracle = tc.local.OUE(domain=128, epsilon=1)
    assert (oracle.p, round(oracle.q, 4)) == (0.5, 0.2689)
    assert oracle.variance(n=1, frequency=0.0) == pytest.approx(4 * exp(1) / (exp(1) - 1) ** 2)


@row(47, "optimized local hashing: g = e^ε + 1", LOCAL, present=WORDS)
def optimized_hashing() -> None:
    assert [tc.local.OLH(domain=128, epsilon=e).buckets for e in (0.5, 1, 2, 3)] == [3, 4, 8, 21]
    variances = [tc.local.OLH(domain=128, epsilon=1, buckets=g).variance(n=1000, frequency=0.0) for g in range(2, 9)]
    assert min(range(2, 9), key=lambda g: variances[g - 2]) == 4


@row(48, "unary encoding is better if d is large", LOCAL)
def choice() -> None:
    def best(d: int) -> bool:
        direct, unary = (getattr(tc.local, name)(domain=d, epsilon=1) for name in ("GRR", "OUE"))
        return bool(direct.variance(n=1, frequency=0.0) < unary.variance(n=1, frequency=0.0))

    assert (best(10), best(11)) == (True, False)
