"""Every row of the lecture notes works: `python -m pytest tests/test_notes.py -s` prints the table of all rows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import lecture_notes.adjacent_tables
import lecture_notes.beyond_sensitivity
import lecture_notes.laplace
import lecture_notes.local_model
import lecture_notes.many_columns
import lecture_notes.mechanisms
import lecture_notes.microdata  # noqa: F401 - each module registers its rows
from lecture_notes.rows import EXEMPT, LAST, ROWS, Row, table

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("row", [ROWS[number] for number in sorted(ROWS)], ids=lambda row: f"{row.number}")
def test_a_row_works(row: Row, request: pytest.FixtureRequest) -> None:
    if not row.present:
        request.applymarker(pytest.mark.xfail(strict=True, reason="This version does not have the names."))
    row.check()


def test_every_row_has_a_check_or_is_exempt() -> None:
    assert sorted({*ROWS, *EXEMPT}) == list(range(1, LAST + 1))


def test_every_page_exists() -> None:
    missing = {row.page for row in ROWS.values() if row.present and not (ROOT / row.page).exists()}
    assert missing == set()


def test_the_table_names_a_page_and_a_test_for_each_row() -> None:
    lines = table().splitlines()
    sys.stdout.write(f"\n{table()}\n")
    assert len(lines) == 2 + LAST
    for row in ROWS.values():
        file, _, name = row.test.partition("::")
        assert f"def {name}() -> None:" in (ROOT / file).read_text("utf-8")
