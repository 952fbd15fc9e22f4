"""Questions and files that once broke a promise of private SQL."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tacit as tc
from tacit.ledger.memory import MemoryLedger

PEOPLE = pa.table({"id": [1, 2], "name": ["Ann", "Bob"]})


def write(path: Path, special: bytes, at: int = 8_000_000 - 30, total: int = 17_000_000) -> int:
    """Write a CSV file with a special line where DuckDB would part it between threads; say how many others it has."""
    lines, place, number, done = [b"id,x\n"], 5, 0, False
    while place < total:
        if not done and place + 14 >= at:
            lines.append(special)
            place, done = place + len(special), True
        line = b"%d,v%d\n" % (number, number)
        lines.append(line)
        place, number = place + len(line), number + 1
    path.write_bytes(b"".join(lines))
    return number


@pytest.mark.parametrize("inner", [b"%d,w", b'%d,""w""'], ids=["plain", "quotes"])
def test_a_quoted_field_is_one_row_wherever_it_stands(tmp_path: Path, inner: bytes) -> None:
    field = b"\n".join(inner % (10**7 + k) for k in range(20))
    others = write(tmp_path / "m.csv", b'7777777,"' + field + b'"\n')
    with tc.open(tmp_path / "m.csv", unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=2_000_000)) as db:
        found = db.sql(
            "SELECT count(*) AS n, count(DISTINCT id) AS u FROM m", epsilon=1_000_000
        )  # no noise to speak of
    assert found.rows() == [(others + 1, others + 1)]


def test_opening_a_csv_file_decodes_its_header_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,x\n1,a\n2,\xff\n")
    with tc.open(tmp_path / "t.csv", unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1)) as db:
        assert len(db.sql("SELECT count(x) AS n FROM t", epsilon=0.5).rows()) == 1


def bomb() -> str:
    text = "CASE WHEN name = 'Bob' THEN 'a' ELSE '' END"
    for _ in range(3):
        text = f"replace({text}, 'a', '{'a' * 8000}')"
    return text


@pytest.mark.parametrize(
    "condition",
    [
        f"length({bomb()}) >= 0",
        f"replace(replace(replace('a', 'a', '{'a' * 3000}'), 'a', '{'a' * 3000}'), 'a', '{'a' * 3000}') = 'b'",
        f"length({' || '.join(['name'] * 40)}) > 3",
        f"name = '{'a' * 20_000}'",
    ],
    ids=["aimed at a row", "constants", "many columns", "a long text"],
)
def test_a_text_that_could_become_very_long_is_refused(condition: str) -> None:
    db = tc.open(PEOPLE, name="t", unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1))
    with pytest.raises(tc.RefusedError, match="very long"):
        db.plan(f"SELECT count(*) FROM t WHERE {condition}", epsilon=0.1)  # noqa: S608 - it is the point


def test_texts_of_ordinary_length_are_answered() -> None:
    db = tc.open(PEOPLE, name="t", unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1))
    db.sql("SELECT count(*) FROM t WHERE upper(replace(name, 'nn', 'm') || ' x') LIKE 'A%'", epsilon=0.1)


def test_rows_alone_can_be_counted() -> None:
    db = tc.open(pa.table({"x": [1, 2]}), name="t", unit=tc.ROW, budget=tc.PureDP(epsilon=2_000_000))
    assert db.sql("SELECT count(*) AS n FROM t", epsilon=1_000_000).rows() == [(2,)]


def test_limits_are_asked_for_by_the_questions_that_need_them() -> None:
    db = tc.open(PEOPLE, name="t", unit="id", keys={"name": ["Ann"]}, budget=tc.PureDP(epsilon=1))
    assert db.plan("SELECT count(DISTINCT id) AS n FROM t", epsilon=0.5).error["n"] > 0
    with pytest.raises(tc.InvalidError, match="max_rows"):
        db.plan("SELECT count(*) FROM t", epsilon=0.5)
    with pytest.raises(tc.InvalidError, match="max_groups"):
        db.plan("SELECT name, count(DISTINCT id) FROM t GROUP BY name", epsilon=0.5, keys={"name": ["Ann", "Bob"]})


def test_a_ledger_of_another_relation_or_budget_is_refused() -> None:
    for ledger in (MemoryLedger(tc.PureDP(epsilon=1), "add/remove"), MemoryLedger(tc.PureDP(epsilon=2), "change one")):
        with pytest.raises(tc.InvalidError, match="ledger"):
            tc.open(
                PEOPLE,
                name="t",
                unit="id",
                max_groups=1,
                max_rows=1,
                neighbours="change one",
                budget=tc.PureDP(epsilon=1),
                ledger=ledger,
            )
