"""Public tables through `tc.open`: tuples of groups, exact public values, and keys over several columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sqlglot import exp

import tacit as tc
from tacit.database import Database
from tacit.query.expressions import Call, Column, Constant
from tacit.query.key_tuples import Determined
from tacit.query.policy import ROW
from tacit.query.policy.build import version
from tacit.query.policy.mistakes import PolicyError
from tacit.query.sql.from_clause import read_from
from tacit.query.sql.public_relations import relations
from tacit.query.sql.table_scope import table_scope

CANTONS = ["ZH", "BE", "GE", "VD", "TI", "GR", "UR"]
LANGUAGES = ["de", "de", "fr", "fr", "it", "de", "de"]
POPULATION = [1500, 1000, 500, 800, 350, 200, 36]
PUB = pl.DataFrame({"canton": CANTONS, "language": LANGUAGES, "population": POPULATION})
ROWS = pl.DataFrame({"id": range(70), "canton": CANTONS * 10, "x": [1.0] * 70})
JOINED = "FROM d JOIN pub p ON d.canton = p.canton GROUP BY"


def opened(public: Mapping[str, object] | None = None, **more: object) -> Database:
    arguments: dict[str, object] = {"unit": ROW, "bounds": {"x": (0, 1)}, "budget": tc.PureDP(epsilon=1000)} | more
    return tc.open(ROWS, name="d", public={"pub": PUB} if public is None else public, **arguments)  # type: ignore[arg-type]


def test_groups_of_one_public_table_are_its_tuples() -> None:
    answer = opened().sql(f"SELECT p.canton, p.population, count(*) AS n {JOINED} 1, 2", epsilon=500)
    assert answer.rows() == sorted((canton, people, 10) for canton, people in zip(CANTONS, POPULATION, strict=True))
    assert answer.receipt["privacy"]["public_tuples"][0]["keys"] == ["canton", "population"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        ("p.language, p.population", 7),
        ("p.canton, upper(p.canton)", 7),
        ("d.canton, p.population", 7),
        ("p.canton, p.population > 400", 7),
        ("p.canton || p.language", 7),
        ("p.language, x > 0.5", 6),
        ("p.canton, x > 0.5, p.language", 14),
    ],
)
def test_tuples_also_come_from_expressions_equated_columns_and_beside_other_keys(keys: str, rows: int) -> None:
    assert opened().plan(f"SELECT count(*) {JOINED} {keys}", epsilon=1).plan.cells == rows


def test_a_query_that_lists_keys_keeps_the_tuples_that_have_them() -> None:
    sql = f"SELECT p.canton, p.population, count(*) AS n {JOINED} 1, 2"
    plan = opened().plan(sql, epsilon=1, keys={"canton": ["ZH", "UR", "XX"]}).plan
    assert list(plan.listed_groups()) == [("UR", 36), ("ZH", 1500)]
    with pytest.raises(tc.RefusedError, match="no combination"):
        opened().plan(sql, epsilon=1, keys={"canton": ["XX"]})


def test_values_that_the_key_determines_are_exact_and_free_also_without_private_rows() -> None:
    db = opened(
        public={"pub": pl.concat([PUB, pl.DataFrame({"canton": ["AI"], "language": ["de"], "population": [16]})])}
    )
    sql = f"SELECT p.canton, count(*) AS n, max(p.population) AS m, avg(p.population) AS a {JOINED} 1"
    quote, alone = db.plan(sql, epsilon=1), db.plan(f"SELECT p.canton, count(*) AS n {JOINED} 1", epsilon=1)
    assert quote.error == alone.error
    assert "max(p.population) and avg(p.population) are exact, public and free of cost" in str(quote)
    answer = db.sql(sql, epsilon=100)
    assert dict(zip(answer.to_polars()["canton"], answer.to_polars()["m"], strict=True)) == {
        "AI": 16,
        **dict(zip(CANTONS, POPULATION, strict=True)),
    }
    shown = answer.intervals().to_polars()
    assert shown["m"].to_list() == shown["m_low"].to_list() == shown["m_high"].to_list()


def test_only_what_every_public_row_of_a_key_agrees_on_is_determined() -> None:
    db = opened()
    plan = db.plan(f"SELECT p.language, max(p.population), any_value(p.language) {JOINED} 1", epsilon=1).plan
    assert [aggregate.sql for aggregate in plan.aggregates] == ["max(p.population)"]
    assert not any(isinstance(output, Determined) for _, output in plan.outputs)
    with pytest.raises(tc.RefusedError, match="any_value is supported only"):
        db.plan(f"SELECT p.language, any_value(p.population), count(*) {JOINED} 1", epsilon=1)
    with pytest.raises(tc.RefusedError, match="reads nothing"):
        db.plan(f"SELECT p.canton, max(p.population) {JOINED} 1", epsilon=1)


def test_a_left_join_determines_null_without_a_match_and_nothing_that_is_ambiguous() -> None:
    db = opened(keys={"canton": [*CANTONS, "XX"]})
    left = "FROM d LEFT JOIN pub p ON d.canton = p.canton GROUP BY d.canton"
    rows = dict(
        db.sql(f"SELECT d.canton, max(p.population) AS m, count(*) AS n {left}", epsilon=9)
        .to_polars()
        .rows_by_key("canton")
    )
    assert rows["XX"][0][0] is None
    assert rows["UR"][0][0] == 36
    with pytest.raises(tc.RefusedError, match="any_value"):
        db.plan(f"SELECT d.canton, any_value(coalesce(p.language, '-')), count(*) {left}", epsilon=1)


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize("required", [[], ["canton"]])
def test_min_and_max_of_any_kind_are_exact_if_the_key_determines_them(join: str, required: list[str]) -> None:
    days = [date(2026, 1, place + 1) for place in range(len(CANTONS))]
    public = {"pub": PUB.with_columns(pl.Series("day", days), large=pl.col("population") > 400)}
    db = opened(public, keys={"canton": CANTONS}, required=required)
    values = ", ".join(f"{name}(p.{column})" for name in ("min", "max") for column in ("language", "day", "large"))
    sql = f"SELECT d.canton, {values}, count(*) AS n FROM d {join} pub p ON d.canton = p.canton GROUP BY 1"  # noqa: S608 - fixed names
    plan = db.plan(sql, epsilon=1).plan
    assert [each.ask.function for each in plan.aggregates] == ["count"]
    exact = [(a, b, c > 400) * 2 for a, b, c in zip(LANGUAGES, days, POPULATION, strict=True)]
    assert [row[1:-1] for row in db.sql(sql, epsilon=9).rows()] == exact
    with pytest.raises(tc.RefusedError, match="max takes numbers"):
        db.plan(sql.replace("d.canton,", "p.large,").replace("min(p.language)", "max(p.language)"), epsilon=1)


def test_a_left_join_determines_no_value_of_an_equated_column() -> None:
    """A row of canton XX has no match, so coalesce(p.language, d.canton) is XX there."""
    db = opened(keys={"canton": [*CANTONS, "XX"]})
    value = "any_value(coalesce(p.language, d.canton))"
    for key in ("d.canton", "p.language"):
        left = f"SELECT {key}, {value}, count(*) FROM d LEFT JOIN pub p ON d.canton = p.canton GROUP BY 1"  # noqa: S608 - fixed names
        with pytest.raises(tc.RefusedError, match="any_value"):
            db.plan(left, epsilon=1)
        assert db.plan(left.replace("LEFT JOIN", "JOIN"), epsilon=1).plan.cells in (3, 8)


def test_a_relation_knows_a_required_column_only_where_missing_values_are_read_as_its_constant() -> None:
    db = opened(keys={"canton": CANTONS}, required=["canton"])
    select = exp.select("1").from_("d").join("pub AS p", on="d.canton = p.canton")
    scope = read_from(select, {name: table_scope(table) for name, table in db.tables.items()})
    (relation,) = relations(scope)
    bare = Column("canton", "text")
    form = Call("coalesce", (bare, Constant("ZH", "text")), "text")
    assert relation.reads(form)
    assert sorted(map(str, relation.values(form))) == sorted(CANTONS)
    assert relation.reads(Call("upper", (form,), "text"))
    for other in (
        bare,
        Call("coalesce", (bare, Constant("BE", "text")), "text"),
        Call("equal", (form, bare), "boolean"),
    ):
        assert not relation.reads(other)


def test_a_function_of_a_private_column_is_not_equated_with_the_public_key() -> None:
    for required in ([], ["canton"]):
        db = opened(keys={"canton": CANTONS}, required=required)
        for on, cells in (("d.canton", 7), ("upper(d.canton)", 49)):
            sql = f"SELECT count(*) FROM d JOIN pub p ON {on} = p.canton GROUP BY d.canton, p.population"  # noqa: S608 - fixed names
            assert db.plan(sql, epsilon=1).plan.cells == cells
            assert db.plan(sql.replace("BY d.canton", f"BY {on}"), epsilon=1).plan.cells == cells


def test_keys_that_a_query_leaves_out_do_not_count_as_missing() -> None:
    rows = pl.DataFrame({"a": ["x", "x", "y", "y"] * 10, "b": ["1", "2", "1", "2"] * 10})
    keys = {("a", "b"): [("x", "1"), ("y", "2"), ("y", "1")]}
    db = tc.open(
        rows,
        name="t",
        unit=ROW,
        neighbours="change one",
        required=["a", "b"],
        keys=keys,
        budget=tc.PureDP(epsilon=9999),
    )
    sql = "SELECT a, b, count(*) AS n FROM t GROUP BY a, b"
    assert db.sql(sql, epsilon=999).rows() == [("x", "1", 20), ("y", "2", 10), ("y", "1", 10)]  # x, 2 is not listed
    assert db.sql(sql, epsilon=999, keys={"b": ["1"]}).rows() == [("x", "1", 10), ("y", "1", 10)]


def test_duplicate_and_null_public_keys() -> None:
    double = pl.DataFrame({"canton": ["ZH", "ZH", None], "language": ["de", "fr", "it"]})
    db = opened(public={"pub": double}, unit="id", reach=2)
    plan = db.plan(f"SELECT p.canton, p.language, count(*) {JOINED} 1, 2", epsilon=1).plan
    assert list(plan.listed_groups()) == [("ZH", "de"), ("ZH", "fr")]  # NULL matches no row
    with pytest.raises(tc.RefusedError, match="any_value"):
        db.plan(f"SELECT p.canton, any_value(p.language), count(*) {JOINED} 1", epsilon=1)


def test_in_over_a_private_table_is_refused_with_advice() -> None:
    with pytest.raises(tc.RefusedError, match=r"over the private table 'd' is not supported.*Only public tables"):
        opened().plan("SELECT count(*) FROM d WHERE canton IN (SELECT canton FROM d)", epsilon=1)


def test_row_work_counts_the_values_of_a_subquery() -> None:
    many = pl.DataFrame({"canton": [str(number) for number in range(9_001)]})
    db = opened(public={"pub": many.head(9_000)})
    asked = "SELECT count(*) FROM d WHERE EXISTS (SELECT 1 FROM pub WHERE pub.canton = d.canton)"
    assert db.plan(asked, epsilon=1).work.steps > 9_000
    with pytest.raises(tc.RefusedError, match="too many values"):
        opened(public={"pub": many}).plan(asked, epsilon=1)


TUPLES = [("ZH", "de"), ("GE", "fr"), ("GE", "de")]
FRAME = pl.DataFrame(TUPLES, schema=["canton", "language"], orient="row")
PEOPLE = pl.DataFrame({"canton": ["ZH", "GE", "GE", None], "language": ["de", "fr", "de", "it"]})


@pytest.mark.parametrize(
    "keys", [TUPLES, FRAME, FRAME.to_pandas(), FRAME.to_arrow()], ids=lambda keys: type(keys).__name__
)
def test_keys_of_several_columns(keys: list[tuple[str, str]] | pl.DataFrame | pd.DataFrame | pa.Table) -> None:
    db = tc.open(PEOPLE, name="d", unit=ROW, keys={("canton", "language"): keys}, budget=tc.PureDP(epsilon=1000))
    both = db.sql("SELECT canton, language, count(*) AS n FROM d GROUP BY 1, 2", epsilon=300)
    assert both.rows() == [(*pair, 1) for pair in TUPLES]
    assert db.sql("SELECT language, count(*) AS n FROM d GROUP BY 1", epsilon=300).rows() == [("de", 2), ("fr", 1)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({("canton", "language"): [("ZH",)]}, "tuples of 2 values"),
        ({("canton", "language"): [*TUPLES, TUPLES[0]]}, "same tuple at places 1 and 4"),
        ({("canton", "lang"): TUPLES}, "did you mean 'language'"),
        ({("canton", "population"): TUPLES}, "columns of this table"),
        ({("canton",): [("ZH",)]}, "at least two different columns"),
        ({("canton", "language"): TUPLES, "canton": ["ZH"]}, "the only keys of 'canton'"),
        ({("canton", "language"): 5}, "a list of tuples, or a data frame"),
        ({("canton", "language"): FRAME.select("canton")}, "a frame with a column 'language'"),
        ({("canton", "language"): [("ZH", 3), ("ZH", "de")]}, "place 1 has a whole number"),
        ({("canton", "language"): []}, "1 to 100,000 tuples"),
    ],
)
def test_mistakes_in_keys_of_several_columns(keys: Mapping[tuple[str, ...], object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        tc.open(PEOPLE, name="d", unit=ROW, keys=keys, budget=tc.PureDP(epsilon=1))


def test_keys_of_several_columns_in_a_file_change_its_version_and_are_those_of_python(tmp_path: Path) -> None:
    PEOPLE.write_parquet(tmp_path / "d.parquet")
    head = 'budget.epsilon = 1\n[tables.d]\nsource = "d.parquet"\neach_row = true\n'
    keys = '[[tables.d.keys]]\ncolumns = ["canton", "language"]\nvalues = [["ZH", "de"], ["GE", { null = true }]]\n'
    (tmp_path / "bare.toml").write_text(head)
    (tmp_path / "keys.toml").write_text(head + keys)
    (table,) = tc.open(tmp_path / "keys.toml")._session.tables.values()
    assert table.key_tuples[0].rows == (("ZH", "de"), ("GE", None))
    (bare,) = tc.open(tmp_path / "bare.toml")._session.tables.values()
    assert "key_tuples" not in repr(bare)
    assert version(bare) != version(table)
