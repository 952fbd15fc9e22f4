from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit as tc
from local_protocols import Make, every_oracle
from tacit import InvalidError
from tacit.local import GRR, OLH, OUE, ProjectiveGeometry, Protocol, Reports, SubsetSelection, Warner, protocol
from tacit.local.parameters import ORACLES

WORDS = ["tea", "coffee", "water", "ünïcode ☕", "mate"]


def sent(oracle: Protocol, n: int = 50) -> Reports:
    return oracle.randomize([oracle.domain[i % oracle.domain_size] for i in range(n)])


@every_oracle
@pytest.mark.parametrize("domain", [WORDS, 300], ids=["words", "300"])
@pytest.mark.parametrize("n", [0, 1, 50])
def test_reports_come_back_from_every_form(make: Make, domain: object, n: int) -> None:
    reports = sent(make(domain=domain, epsilon=1.5), n)
    assert len(reports) == n
    assert Reports.from_bytes(reports.to_bytes()) == reports
    assert Reports.from_bytes(bytearray(reports.to_bytes())) == reports
    assert Reports.from_arrow(reports.to_arrow()) == reports
    if n:
        assert Reports.from_json_lines(reports.to_json_lines()) == reports
        assert Reports.from_json_lines(reports.to_json_lines().split("\n")) == reports


def test_the_layout_is_the_written_one() -> None:
    oracle = OLH(domain=WORDS, epsilon=1)
    data = oracle.randomize(["tea"]).to_bytes()
    magic, version, code, width, count, digest = struct.unpack("<2sBBIQ16s", data[:32])
    assert (magic, version, code, width, count, digest.hex()) == (b"TL", 1, 6, 9, 1, oracle.digest)
    a, b, y = struct.unpack("<IIB", data[32:])
    assert max(a, b) < 2**31 - 1
    assert y < oracle.buckets == 4
    assert len(OUE(domain=9, epsilon=1).randomize([8]).to_bytes()) == 34
    assert len(Warner(p=0.75).randomize(True).to_bytes()) == 33  # noqa: FBT003 - a value
    assert len(GRR(domain=257, epsilon=1).randomize(256).to_bytes()) == 34


def test_a_slice_of_an_arrow_table_and_several_chunks_are_read() -> None:
    reports = sent(OLH(domain=WORDS, epsilon=1), 20)
    table = reports.to_arrow()
    assert Reports.from_arrow(table.slice(3, 5)).records.tolist() == reports.records[3:8].tolist()
    assert Reports.from_arrow(pa.concat_tables([table.slice(3, 5), table])).records.shape == (25, 9)
    assert Reports.from_arrow(table.to_batches()[0]) == reports


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda data: data[:31],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data + data,
        lambda data: b"XX" + data[2:],
        lambda data: data[:2] + b"\x02" + data[3:],
        lambda data: data[:3] + b"\x00" + data[4:],
        lambda data: data[:3] + b"\x63" + data[4:],
        lambda data: data[:4] + bytes(4) + data[8:],
        lambda data: data[:8] + b"\xff" * 8 + data[16:],
        lambda _: 17,
        lambda _: "text",
    ],
)
def test_damaged_bytes_are_refused(damage: object) -> None:
    data = sent(OLH(domain=WORDS, epsilon=1)).to_bytes()
    with pytest.raises(InvalidError):
        Reports.from_bytes(damage(data))  # type: ignore[operator]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidError):
        Reports.from_bytes(data)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60) | st.recursive(st.none() | st.integers() | st.text(max_size=4), st.lists).map(json.dumps))
def test_random_lines_are_refused(line: str) -> None:
    with pytest.raises(InvalidError):
        Reports.from_json_lines(line)


def test_lines_with_wrong_fields_are_refused() -> None:
    right = json.loads(sent(GRR(domain=WORDS, epsilon=1), 1).to_json_lines())
    wrong = [
        {**right, "version": 2},
        {**right, "version": True},
        {**right, "protocol": "XYZ"},
        {**right, "protocol": 3},
        {**right, "digest": "zz"},
        {**right, "digest": 5},
        {**right, "report": "!"},
        {**right, "report": ""},
        {**right, "report": 7},
        {**right, "more": 1},
        {key: value for key, value in right.items() if key != "digest"},
    ]
    for parts in wrong:
        with pytest.raises(InvalidError):
            Reports.from_json_lines(json.dumps(parts))
    both = sent(GRR(domain=WORDS, epsilon=1), 1).to_json_lines() + sent(GRR(domain=WORDS, epsilon=2), 1).to_json_lines()
    for text in (both, "", "\n\n"):
        with pytest.raises(InvalidError):
            Reports.from_json_lines(text)


def test_other_arrow_tables_are_refused() -> None:
    table = sent(GRR(domain=WORDS, epsilon=1)).to_arrow()
    about = table.schema.metadata
    stranger = sent(GRR(domain=WORDS, epsilon=2)).to_arrow().replace_schema_metadata(about)
    nulls = pa.table({"report": pa.array([None, b"x"], pa.binary(1)), "parameters": table.column("parameters")[:2]})
    for wrong in (
        table.replace_schema_metadata(None),
        table.replace_schema_metadata({"tacit.local": "{}"}),
        table.drop_columns(["report"]),
        table.set_column(0, "report", pa.array(["x"] * 50)),
        pa.concat_tables([table, stranger]),
        nulls.replace_schema_metadata(about),
    ):
        with pytest.raises(InvalidError):
            Reports.from_arrow(wrong)


# Parameters


@pytest.mark.parametrize("make", [*ORACLES.values()], ids=[*ORACLES])
@pytest.mark.parametrize("domain", [WORDS, 300, [1.5, 2, True, "x"]], ids=["words", "300", "mixed"])
def test_a_protocol_comes_back_from_its_parameters(make: Make, domain: object) -> None:
    oracle = make(domain=domain, epsilon=0.7)
    for form in (oracle.parameters(), json.loads(oracle.parameters())):
        twin = protocol(form)
        assert type(twin) is type(oracle)
        assert (twin.digest, twin.domain, twin.guarantee) == (oracle.digest, oracle.domain, oracle.guarantee)


@pytest.mark.parametrize("survey", [Warner(p=0.75), Warner(p=0.7), Warner(epsilon=1.1)])
def test_warner_comes_back_from_his_parameters(survey: Warner) -> None:
    assert protocol(survey.parameters()).parameters() == survey.parameters()


def test_a_client_refuses_parameters_that_would_have_it_draw_with_less_privacy() -> None:
    parts = json.loads(OUE(domain=WORDS, epsilon=1).parameters())
    for change in ({"raise": "1"}, {"keep": str(2**64 - 1)}, {"epsilon": "3"}, {"digest": "0" * 32}, {"more": 1}):
        with pytest.raises(InvalidError, match="parameters"):
            protocol({**parts, **change})


@pytest.mark.parametrize(
    "wrong",
    [None, 5, "", "{", "[]", "{}", b"\xff", {"format": "tacit.local"}, '{"format":"tacit.local","version":2}'],
)
def test_other_parameters_are_refused(wrong: object) -> None:
    with pytest.raises(InvalidError):
        protocol(wrong)


@pytest.mark.parametrize("epsilon", ["1e999999999", "nan", "1/0", "-1", "0", "51", 1, None])
def test_an_epsilon_in_parameters_is_read_with_care(epsilon: object) -> None:
    with pytest.raises(InvalidError):
        protocol({**json.loads(OUE(domain=5, epsilon=1).parameters()), "epsilon": epsilon})


def test_the_digest_depends_on_everything() -> None:
    digests = [
        OUE(domain=5, epsilon=1).digest,
        OUE(domain=6, epsilon=1).digest,
        OUE(domain=5, epsilon=2).digest,
        SubsetSelection(domain=5, epsilon=1).digest,
        OUE(domain=["a", "b", "c", "d", "e"], epsilon=1).digest,
        OUE(domain=["b", "a", "c", "d", "e"], epsilon=1).digest,
        OUE(domain=[0, 1, 2, 3, 4], epsilon=1).digest,
        OUE(domain=[0.0, 1, 2, 3, 4], epsilon=1).digest,
    ]
    assert len(set(digests)) == len(digests)


# A stream of reports at the server


@every_oracle
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_hostile_stream_is_counted_and_dropped_and_the_rest_is_kept(make: Make, data: st.DataObject) -> None:
    oracle = make(domain=5, epsilon=1)
    rubbish = data.draw(st.lists(st.binary(max_size=60), max_size=5))
    fields = data.draw(st.binary(min_size=8 * oracle.report_bytes, max_size=8 * oracle.report_bytes))
    good = sent(oracle, 20)
    total = oracle.aggregator()
    assert (
        total.add_bytes([*rubbish, good.to_bytes(), good.to_bytes()[:-1], sent(GRR(domain=9, epsilon=1)).to_bytes()])
        == 20
    )
    assert total.dropped == len(rubbish) + 2
    forged = Reports.from_bytes(good.to_bytes()[:8] + (8).to_bytes(8, "little") + good.to_bytes()[16:32] + fields)
    accepted = total.add(forged)
    assert total.n == 20 + accepted
    assert total.dropped == len(rubbish) + 2 + 8 - accepted
    assert np.isfinite(total.estimate().counts).all()


def test_fields_out_of_range_are_dropped_one_by_one() -> None:
    def forged(oracle: Protocol, *records: bytes) -> tuple[int, int]:
        total = oracle.aggregator()
        rows = np.frombuffer(b"".join(records), dtype=np.uint8).reshape(len(records), -1)
        total.add(Reports(protocol=oracle.code, digest=bytes.fromhex(oracle.digest), records=rows))
        return total.n, total.dropped

    assert forged(GRR(domain=5, epsilon=1), b"\x04", b"\x05", b"\xff") == (1, 2)
    assert forged(OUE(domain=5, epsilon=1), b"\x1f", b"\x20", b"\x80") == (1, 2)
    assert forged(SubsetSelection(domain=7, epsilon=1), b"\x03", b"\x01", b"\x81", b"\x07") == (1, 3)
    prime = (2**31 - 1).to_bytes(4, "little")
    zero = bytes(4)
    assert forged(
        OLH(domain=5, epsilon=1), zero * 2 + b"\x03", prime + zero + b"\0", zero + prime + b"\0", zero * 2 + b"\x04"
    ) == (1, 3)
    assert forged(ProjectiveGeometry(domain=5, epsilon=1), b"\x00", b"\xfe") == (1, 1)


def test_lines_that_are_rubbish_are_counted_and_dropped() -> None:
    oracle = GRR(domain=WORDS, epsilon=1)
    total = oracle.aggregator()
    other = sent(GRR(domain=WORDS, epsilon=2), 3).to_json_lines()
    assert total.add_json_lines(sent(oracle, 7).to_json_lines() + "rubbish\n\n" + other + "[[[\n") == 7
    assert (total.n, total.dropped) == (7, 5)
    long = json.loads(sent(oracle, 1).to_json_lines())
    total.add_json_lines([json.dumps({**long, "report": base64.b64encode(b"too long").decode()})])
    assert (total.n, total.dropped) == (7, 6)
    total.add_json_lines([None, 5, b"\xff", b"  "])  # type: ignore[list-item]
    assert (total.n, total.dropped) == (7, 9)


def test_a_report_shows_nothing_of_a_value_and_an_error_neither(tmp_path: Path) -> None:
    assert tmp_path.exists()
    for oracle in (GRR(domain=WORDS, epsilon=1), OLH(domain=5, epsilon=1)):
        for wrong in (["secret-17"], "secret-17", [["secret-17"]], {"secret-17": 1}, [None, "secret-17"]):
            with pytest.raises(InvalidError) as caught:
                oracle.randomize(wrong)
            assert "secret" not in str(caught.value)
            assert caught.value.__cause__ is None
    assert repr(tc.local.GRR(domain=WORDS, epsilon=1).randomize("tea")) == "<1 GRR report of 1 byte>"
