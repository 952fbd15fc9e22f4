from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import Folder
from tacit.errors import InvalidError
from tacit.guarantees.values import ApproxDP
from tacit.query.expressions import Kind
from tacit.query.policy import ColumnPolicy
from tacit.query.policy.build import build
from tacit.query.policy.column_values import KINDS
from tacit.query.policy.template import skeleton

VISITS: dict[str, Kind] = {
    "patient_id": "integer",
    "cost": "real",
    "ward": "text",
    "urgent": "boolean",
    "day": "date",
    "seen": "timestamp",
    "the name": "text",
}
TABLES: dict[str, tuple[str, dict[str, Kind]]] = {
    "visits": ("visits.parquet", VISITS),
    "Löhne 2026": ("a 'b' \"c\" \\.csv", {"Größe": "text", 'say "x"': "text", "a.b": "text", "tab\t": "text"}),
}


def fill(text: str) -> str:
    """Fill in what is required, as a steward would."""
    values = {"budget": "{ epsilon = 1.0, delta = 1e-6 }", "reach": "15"}
    for key, value in values.items():
        text = text.replace(f'\n{key} = ""', f"\n{key} = {value}")
    return text


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("policy"))


def test_until_it_is_filled_in_exactly_the_open_lines_are_reported(folder: Folder) -> None:
    text = skeleton(TABLES)
    blank = [line for line, written in enumerate(text.splitlines(), 1) if written.endswith('= ""')]
    reported = folder.wrong(text)
    assert [line for line, _, _ in reported] == blank
    assert all("is not filled in yet: write" in message for _, _, message in reported)
    assert [where.rpartition(".")[2] for _, where, _ in reported] == ["budget", *["unit", "reach"] * 2]


def test_filled_in_it_is_a_policy(folder: Folder) -> None:
    text = fill(skeleton(TABLES)).replace('unit = ""', 'unit = "patient_id"', 1).replace('unit = ""', "each_row = true")
    policy = folder.opened(text)
    assert policy.budget == ApproxDP(epsilon=1, delta=1e-6)
    assert policy.ledger == "visits.ledger"
    assert list(policy.tables) == list(TABLES)
    for name, (source, schema) in TABLES.items():
        assert policy.tables[name].source == source
        table = build(policy.tables[name], schema)
        assert dict(table.columns) == {column: ColumnPolicy(kind=kind) for column, kind in schema.items()}


def test_what_stands_in_the_comments_works_inside_the_braces(folder: Folder) -> None:
    text = fill(skeleton({"visits": TABLES["visits"]})).replace('unit = ""', 'unit = "patient_id"')
    text = re.sub(r" }  # (.*)", r", \1 }", text).replace("low, high", "0, 10").replace('"…", "…"', '"A", "B"')
    columns = build(folder.opened(text).tables["visits"], VISITS).columns
    assert columns["cost"].bounds is not None
    assert columns["ward"].keys == ("A", "B")
    assert columns["urgent"].keys == (True, False)
    assert columns["day"].days is not None
    assert columns["seen"].days is not None


def test_nothing_is_declared_that_the_schema_does_not_say() -> None:
    tables = tomllib.loads(skeleton(TABLES))["tables"]
    for name, (_, schema) in TABLES.items():
        assert tables[name]["columns"] == {column: {"type": kind} for column, kind in schema.items()}
    assert set(tables["visits"]) == {"source", "unit", "reach", "columns"}


def test_every_line_fits_a_screen_and_every_setting_is_explained() -> None:
    lines = skeleton({"visits": TABLES["visits"]}).splitlines()
    assert max(map(len, lines)) <= 120
    for key in ("budget", "ledger", "neighbours", "unit", "reach"):
        index = next(index for index, line in enumerate(lines) if line.startswith(f"{key} ="))
        assert lines[index - 1].startswith("#")


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10).filter(str.isprintable)
COLUMNS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), st.sampled_from(KINDS))


@settings(deadline=None)
@given(st.dictionaries(NAMES, st.tuples(NAMES, COLUMNS), min_size=1, max_size=3))
def test_any_names_are_written_so_that_they_are_read_again(
    tables: dict[str, tuple[str, dict[str, Kind]]],
) -> None:
    read = tomllib.loads(skeleton(tables))["tables"]
    assert list(read) == list(tables)
    for name, (source, schema) in tables.items():
        assert read[name]["source"] == source
        assert {column: facts["type"] for column, facts in read[name]["columns"].items()} == schema


def test_the_ledger_takes_a_plain_name() -> None:
    assert 'ledger = "visits.ledger"' in skeleton({"visits": ("x", {})})
    for name in ("a/b", "../x", "${HOME}", "two words", "ε"):
        assert 'ledger = "policy.ledger"' in skeleton({name: ("x", {})})


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(InvalidError, match="no table"):
        skeleton({})
    with pytest.raises(InvalidError, match="password") as caught:
        skeleton({"t": ("postgresql://a:geheim@db/x", {"x": "text"})})
    assert "geheim" not in str(caught.value)
    for name, source, column in (("\ud800", "x", "c"), ("t", "\udfff", "c"), ("t", "x", "\ud800")):
        with pytest.raises(InvalidError, match="UTF-8"):
            skeleton({name: (source, {column: "text"})})


def test_ten_thousand_columns() -> None:
    schema: dict[str, Kind] = {f"column {number}": "real" for number in range(10_000)}
    assert skeleton({"wide": ("wide.parquet", schema)}).count("# bounds = [low, high]") == 10_000


def test_a_table_of_a_database_is_named() -> None:
    text = skeleton({"adult": ("census.duckdb", {"id": "integer"})}, table="adult")
    assert tomllib.loads(text)["tables"]["adult"]["table"] == "adult"


def test_a_source_without_types_leaves_them_to_be_chosen(folder: Folder) -> None:
    schema: dict[str, Kind] = {"id": "text", "age": "text", "ward": "text"}
    text = skeleton({"survey": ("survey.csv", schema)}, typed=False)
    assert "has no types" in text
    assert tomllib.loads(text)["tables"]["survey"]["columns"] == {"id": {}, "age": {}, "ward": {}}
    filled = fill(text).replace('unit = ""', 'unit = "id"').replace("age = { }", "age = { bounds = [0, 120] }")
    assert build(folder.opened(filled).tables["survey"], schema).columns["age"].kind == "real"


def test_columns_that_cannot_be_used_are_named_in_a_comment() -> None:
    text = skeleton({"t": ("t.parquet", {"id": "integer"})}, unusable=["tags", "new\nline"])
    assert "\n# tags is left out" in text
    assert list(tomllib.loads(text)["tables"]["t"]["columns"]) == ["id"]
