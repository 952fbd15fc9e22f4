"""Forged local reports: what a device that lies can gain, by any bytes, for any protocol.

A device may send anything, and no server can tell a lie from a random report. So poisoning succeeds, by as much as
theory says and no more: a record that is accepted moves each count by at most (1 - q')/(p' - q'), whatever its bytes.
The measured gains are compared with Cao, Jia and Gong (Data Poisoning Attacks to Local Differential Privacy Protocols,
USENIX Security 2021, table 1), who bound the gain of m forged among n honest reports for r values, with β = m/(n + m)
and f the share of these values: for GRR β(1 - f) + β(d - r)/(e^ε - 1), and for OUE and OLH β(2r - f) + 2βr/(e^ε - 1).

The known-bad reference adds up what devices send as numbers: one report moves a count by 10^9.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import exp
from pathlib import Path

import numpy as np
import pytest

import tacit as tc
from known_bad import TrustingTally
from local_protocols import Floats, Make, every_oracle, one_report
from tacit.local import GRR, OLH, OUE, Protocol
from tacit.local.base import PureProtocol
from tacit.local.reports import Reports

SIZE, EPSILON, HONEST, FORGED = 16, 1.0, 2_000, 100
LOCAL_MODEL = Path(__file__).parents[2] / "docs" / "explanation" / "local-model.md"


def best_record(oracle: Protocol, targets: Sequence[int], tries: int = 600) -> bytes:
    """Return the record that gains most for some values, of many honest ones and, for bits, of all with only these."""
    values = np.resize(np.array(targets), tries)
    records = {bytes(record) for record in oracle.randomize(values).records}
    if isinstance(oracle, OUE):
        records.add(sum(1 << value for value in targets).to_bytes(oracle.report_bytes, "little"))
    return max(records, key=lambda record: float(one_report(oracle, record)[list(targets)].sum()))


def forged(oracle: Protocol, record: bytes, copies: int) -> Reports:
    rows = np.frombuffer(record * copies, dtype=np.uint8).reshape(copies, -1)
    return Reports(protocol=oracle.code, digest=bytes.fromhex(oracle.digest), records=rows)


def poisoned(oracle: Protocol, targets: Sequence[int]) -> tuple[float, float]:
    """Return the share of some values among honest reports, and what forged reports add to it."""
    people = np.arange(HONEST) % SIZE
    honest = oracle.randomize(people)
    before = oracle.estimate(honest).counts[list(targets)].sum() / HONEST
    total = oracle.aggregator()
    total.add(honest)
    assert total.add(forged(oracle, best_record(oracle, targets), FORGED)) == FORGED
    after = total.estimate().counts[list(targets)].sum() / (HONEST + FORGED)
    return float(before), float(after - before)


BETA = FORGED / (HONEST + FORGED)


@pytest.mark.parametrize("targets", [[3], [3, 7, 12]], ids=len)
def test_the_gain_is_that_of_theory(targets: list[int]) -> None:
    """The largest attack of the paper; the share of the values is the estimated one, so there is no chance in it."""
    r = len(targets)
    share, gain = poisoned(GRR(domain=SIZE, epsilon=EPSILON), targets)
    assert gain == pytest.approx(BETA * (1 - share) + BETA * (SIZE - r) / (exp(EPSILON) - 1))
    share, gain = poisoned(OUE(domain=SIZE, epsilon=EPSILON), targets)
    assert gain == pytest.approx(BETA * (2 * r - share) + 2 * BETA * r / (exp(EPSILON) - 1))
    hashed = OLH(domain=SIZE, epsilon=EPSILON)
    g = hashed.buckets  # the paper's formula is that for g = e^ε + 1, which need not be whole
    share, gain = poisoned(hashed, targets)
    kept = exp(EPSILON) / (exp(EPSILON) + g - 1)
    assert gain == pytest.approx(BETA * (r * (1 - 1 / g) / (kept - 1 / g) - share), rel=1e-6)


def largest_step(oracle: Protocol) -> float:
    """Return how far the counts of one record may be from 0: (1 - q')/(p' - q'), by the law of the protocol."""
    if isinstance(oracle, PureProtocol):
        return (1 - oracle.q) / (oracle.p - oracle.q)
    rows = np.arange(oracle._cells)
    return max(
        abs(float(each))
        for row in rows
        for each in one_report(oracle, int(row).to_bytes(oracle.report_bytes, "little"))
    )


@every_oracle
def test_no_record_moves_a_count_further_than_one_honest_report(make: Make) -> None:
    """Random bytes, all zeros, all ones, single bits: a record is within the cap or dropped."""
    oracle = make(domain=SIZE, epsilon=EPSILON)
    draw = np.random.default_rng()
    width = oracle.report_bytes
    records = [draw.bytes(width) for _ in range(300)] + [b"\x00" * width, b"\xff" * width, b"\x01" * width]
    records += [(1 << bit).to_bytes(width, "little") for bit in range(8 * width)]
    cap, accepted = largest_step(oracle), 0
    for record in records:
        tally = oracle.aggregator()
        if tally.add(forged(oracle, record, 1)):
            accepted += 1
            assert np.abs(tally.estimate().counts).max() <= cap * (1 + 1e-9)
        else:
            assert tally.dropped == 1
    assert accepted
    honest = {bytes(record) for record in oracle.randomize(np.arange(64) % SIZE).records}
    assert max(np.abs(one_report(oracle, record)).max() for record in honest) == pytest.approx(cap)


def test_a_tally_of_numbers_is_moved_by_one_report() -> None:
    tally = TrustingTally(SIZE, keep=0.5, flip=0.27)
    for _ in range(HONEST):
        tally.add(json.dumps([0] * SIZE))
    before = tally.counts()[3]
    tally.add(json.dumps([0, 0, 0, 1e9] + [0] * (SIZE - 4)))
    assert tally.counts()[3] - before > 10**9


def test_one_item_rises_to_the_top_by_as_many_reports_as_theory_says() -> None:
    """Targeted poisoning: an item that nobody has passes the most frequent one with as many supports, not before."""
    oracle = OUE(domain=SIZE, epsilon=EPSILON)
    people = np.where(np.arange(HONEST) % 4 == 0, 5, np.arange(HONEST) % SIZE)
    people = people[people != 3]
    total = oracle.aggregator()
    total.add(oracle.randomize(people))
    counts: Floats = np.asarray(total.estimate().counts)
    top = int(counts.argmax())
    only = (1 << 3).to_bytes(oracle.report_bytes, "little")
    gap = (counts[top] - counts[3]) * (oracle.p - oracle.q)
    total.add(forged(oracle, only, int(np.ceil(gap)) - 2))
    assert np.asarray(total.estimate().counts).argmax() != 3
    total.add(forged(oracle, only, 4))
    assert np.asarray(total.estimate().counts).argmax() == 3


# --- replay ----------------------------------------------------------------------------------------------------------


def test_a_report_that_is_sent_again_counts_again_and_the_documents_say_so() -> None:
    """Nothing in a report tells a copy from another person's equal report, nor one survey from another like it."""
    oracle, like = (GRR(domain=["tea", "coffee"], epsilon=1) for _ in range(2))
    message = oracle.randomize(["tea"]).to_bytes()
    total = like.aggregator()
    assert total.add_bytes([message] * 5) == 5
    assert np.abs(np.asarray(total.estimate().counts)).max() <= 5 * largest_step(oracle) * (1 + 1e-9)
    text = " ".join(LOCAL_MODEL.read_text().split())
    assert "A report that is sent twice counts twice." in text
    assert "A report of another survey with the same parameters counts too." in text


# --- reports of other surveys ----------------------------------------------------------------------------------------


def test_reports_of_any_other_protocol_epsilon_or_domain_are_dropped() -> None:
    """Every pair of eleven surveys: a report counts only where it was made, in bytes and as a line."""
    words = ["a", "b", "c", "d"]
    surveys: list[Protocol] = [
        *(make(domain=words, epsilon=1) for make in (GRR, OUE, OLH, tc.local.SUE, tc.local.SubsetSelection)),
        *(GRR(domain=words, epsilon=epsilon) for epsilon in (0.999, 1.001)),
        *(GRR(domain=domain, epsilon=1) for domain in (words[::-1], [*words[:3], "e"], 4, [1, 2, 3, 4])),
    ]
    for home in surveys:
        for other in surveys:
            tally, reports = home.aggregator(), other.randomize([other.domain[0]] * 3)
            assert tally.add_bytes([reports.to_bytes()]) == (3 if home is other else 0)
            assert tally.add_json_lines(reports.to_json_lines()) == (3 if home is other else 0)
            if home is not other:
                with pytest.raises(tc.InvalidError, match="other parameters"):
                    tally.add(reports)


def test_one_giant_message_is_as_many_reports_and_its_claims_are_checked() -> None:
    """A head that claims 2^63 reports, a width of 2^32 - 1 or nothing is dropped without memory for its claim."""
    oracle = GRR(domain=SIZE, epsilon=1)
    message = oracle.randomize([0] * 50_000).to_bytes()
    tally = oracle.aggregator()
    assert tally.add_bytes([message]) == 50_000
    claims = [
        message[:4] + width.to_bytes(4, "little") + number.to_bytes(8, "little") + message[16:]
        for width in (0, 1, 2, 2**32 - 1)
        for number in (0, 1, 49_999, 50_001, 2**63, 2**64 - 1)
    ]
    cut = [message[:length] for length in (0, 1, 15, 16, 31, 32, 33, len(message) - 1)]
    joined = [message + message, message + b"\x00", b"\x00" + message]
    assert tally.add_bytes([*claims, *cut, *joined]) == 0
    assert (tally.n, tally.dropped) == (50_000, len(claims) + len(cut) + len(joined))
    text = " ".join((LOCAL_MODEL.parents[1] / "reference" / "local-reports.md").read_text().split())
    assert (
        "A message may hold many reports: if each person may send one, accept only messages of 32 + width bytes."
        in text
    )
