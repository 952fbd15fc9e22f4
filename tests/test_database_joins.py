"""Public tables and joins through `tc.open`: arguments, policy files, what is read when, and receipts."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import cast

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from engines.test_reads_nothing import Watched
from query.sql.test_joins import REFUSED
from tacit.database import Database
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.query.policy import ColumnPolicy
from tacit.query.policy.mistakes import PolicyError
from tacit.query.results.release import Release

VISITS = pa.table(
    {
        "pid": pa.array([1, 1, 2, 3, 3, None], pa.int64()),
        "region": ["n", "s", "n", "s", None, "n"],
        "ward": ["A", "B", "A", "A", "B", "A"],
        "cost": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0],
        "day": pa.array([0, 1, 2, 3, 4, 5], pa.date32()),
        "secret": ["x"] * 6,
    }
)
PEOPLE = pa.table(
    {"id": pa.array([1, 2, 4], pa.int64()), "age": pa.array([30, 40, 50], pa.int64()), "region": ["n", "s", "n"]}
)
REGIONS = pa.table({"region": ["n", "s"], "country": ["X", "Y"], "people": pa.array([10, 20], pa.int64())})
COUNTRIES = pa.table({"name": ["X", "Y"], "rich": [True, False], "pid": pa.array([1, 2], pa.int64())})
EXACT = 10.0**9
"""With this ε no noise is left."""


def opened(public: dict[str, object] | None = None) -> Database:
    return tc.open(
        VISITS,
        name="visits",
        unit="pid",
        max_groups=3,
        max_rows=5,
        bounds={"cost": (0, 100)},
        keys={"ward": ["A", "B"]},
        hidden=["secret"],
        public={"regions": REGIONS, "countries": COUNTRIES} if public is None else public,
        budget=tc.PureDP(epsilon=EXACT * 100),
    )


def near(answer: Release) -> list[tuple[object, ...]]:
    """The rows with reals rounded."""
    return [tuple(round(cell) if isinstance(cell, float) else cell for cell in row) for row in answer.rows()]


def between(low: float, high: float) -> tuple[Fraction, Fraction]:
    return Fraction(low), Fraction(high)


def test_a_join_with_a_public_table_is_answered_by_its_values() -> None:
    with opened() as db:
        sql = "SELECT country, count(*) AS n, avg(people) AS p FROM visits JOIN regions USING (region) GROUP BY country"
        answer = db.sql(sql, epsilon=EXACT)
        assert near(answer) == [("X", 2, 10), ("Y", 2, 20)]
        assert answer.receipt["table"] == "visits"
        assert answer.receipt["joins"] == [{"table": "regions", "kind": "inner", "rows": "public"}]
        left = db.sql(sql.replace("JOIN", "LEFT JOIN"), epsilon=EXACT)
        assert [row[:2] for row in left.rows()] == [("X", 2), ("Y", 2), (None, 1)]
        alone = db.sql("SELECT count(*) AS n FROM visits", epsilon=EXACT)
        assert alone.rows() == [(5,)]
        assert "joins" not in alone.receipt


def test_every_table_is_listed() -> None:
    with opened() as db:
        assert {name: policy.public for name, policy in db.tables.items()} == {
            "visits": False,
            "regions": True,
            "countries": True,
        }
        people = db.tables["regions"].columns["people"]
        assert people == ColumnPolicy(kind="integer", keys=(10, 20), bounds=between(10, 20), copies=1)


def test_what_a_public_table_holds() -> None:
    odd = pd.DataFrame(
        {"a": [1.5, float("nan"), float("inf"), -0.0], "b": ["x", "x", None, "é"], "c": [7] * 4, "d": [None] * 4}
    )
    with opened({"odd": odd, "wide": pd.DataFrame({"n": range(20_000), "m": 1})}) as db:
        columns = db.tables["odd"].columns
        assert columns["a"].keys == (0.0, 1.5, None)
        assert columns["a"].bounds == between(0, 1.5)
        assert columns["b"].keys == ("x", "é", None)
        assert not columns["b"].unique
        assert columns["c"] == ColumnPolicy(kind="integer", keys=(7,), bounds=between(7, 7), copies=4)
        wide = ColumnPolicy(kind="integer", bounds=between(0, 19_999), copies=1)
        assert db.tables["wide"].columns["n"] == wide


def test_a_column_of_one_value_can_be_summed() -> None:
    one = pa.table({"region": ["n", "s"], "w": pa.array([7, 7], pa.int64())})
    with opened({"one": one}) as db:
        answer = db.sql("SELECT sum(w) AS s, avg(w) AS a FROM visits JOIN one USING (region)", epsilon=EXACT)
        assert near(answer) == [(28, 7)]


def test_a_public_table_stays_as_it_was_when_it_was_opened(tmp_path: Path) -> None:
    file = tmp_path / "regions.csv"
    file.write_text("region,country\nn,X\ns,Y\n", encoding="utf-8")
    with opened({"regions": file}) as db:
        file.write_text("region,country\n" + "n,X\n" * 50, encoding="utf-8")
        answer = db.sql(
            "SELECT country, count(*) AS n FROM visits JOIN regions USING (region) GROUP BY 1", epsilon=EXACT
        )
        assert answer.rows() == [("X", 2), ("Y", 2)]


@pytest.mark.parametrize(
    ("public", "phrase"),
    [
        ([REGIONS], "a mapping from names"),
        ({"visits": REGIONS}, "differ"),
        ({"Visits": REGIONS}, "differ"),
        ({"r": REGIONS, "R": REGIONS}, "differ"),
        ({1: REGIONS}, "printable"),
        ({"r": {"a": 1}}, "not a list or an array"),
        ({"r": object()}, "source"),
        ({"r": "nowhere.csv"}, "no such file"),
        ({"": REGIONS}, "printable"),
    ],
)
def test_public_tables_that_are_none_are_refused(public: object, phrase: str) -> None:
    with pytest.raises(tc.InvalidError, match=phrase):
        opened(public)  # type: ignore[arg-type]


# --- policy files ---------------------------------------------------------------------------------------------------

POLICY = """\
budget = { epsilon = 1e12 }

[tables.visits]
source = "visits.parquet"
unit = "pid"
max_groups = 3
max_rows = 5

[tables.visits.columns]
cost = { bounds = [0, 100] }
secret = { hidden = true }

[tables.people]
source = "people.duckdb"
table = "people"
unit = "id"
max_groups = 2
max_rows = 9

[tables.people.columns]
age = { bounds = [0, 120] }

[public.regions]
source = "regions.csv"

[public.regions.columns]
people = { type = "integer" }

[public.countries]
source = "people.duckdb"
table = "countries"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    (tmp_path / "regions.csv").write_text("region,country,people\nn,X,10\ns,Y,20\n", encoding="utf-8")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as database:
        database.register("first", PEOPLE)
        database.register("second", COUNTRIES)
        database.execute("CREATE TABLE people AS SELECT * FROM first; CREATE TABLE countries AS SELECT * FROM second")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def test_a_policy_file_may_have_private_and_public_tables(folder: Path) -> None:
    with tc.open(folder / "policy.toml") as db:
        sql = "SELECT count(*) AS n, sum(age) AS a FROM visits v JOIN people p ON v.pid = p.id"
        answer = db.sql(sql, epsilon=EXACT)
        assert near(answer) == [(3, 100)]
        assert answer.receipt["joins"] == [{"table": "people", "kind": "inner", "rows": "private"}]
        privacy = cast("dict[str, object]", answer.receipt["privacy"])
        assert (privacy["max_groups"], privacy["max_rows"]) == (2, 5)
        chain = "visits JOIN regions USING (region) JOIN countries ON country = name"
        rich = db.sql(f"SELECT rich, sum(people) AS n FROM {chain} GROUP BY rich", epsilon=EXACT)
        assert near(rich) == [(False, 40), (True, 20)]
        kept = "people p LEFT JOIN visits v ON v.pid = p.id"
        assert db.sql(f"SELECT count(*) AS n, count(v.pid) AS m FROM {kept}", epsilon=EXACT).rows() == [(4, 3)]


WRONG = [
    ('source = "regions.csv"', "surce = 'x'", [(24, "public.regions.surce"), (23, "public.regions.source")]),
    ('people = { type = "integer" }', 'people = { type = "int" }', [(27, "public.regions.columns.people.type")]),
    ('people = { type = "integer" }', "people = { bounds = [0, 1] }", [(27, "public.regions.columns.people.bounds")]),
    ("[public.regions]", "[public.regions]\nunit = 'region'", [(24, "public.regions.unit")]),
    ("[public.countries]", "[public.Visits]", [(29, "public.Visits")]),
    ('source = "regions.csv"', 'source = "${NO_SUCH_VARIABLE}"', [(24, "public.regions.source")]),
]


@pytest.mark.parametrize(("old", "new", "places"), WRONG)
def test_mistakes_in_public_tables_have_their_lines(
    folder: Path, old: str, new: str, places: list[tuple[int, str]]
) -> None:
    file = folder / "policy.toml"
    file.write_text(POLICY.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(PolicyError) as error:
        tc.open(file)
    assert {(one.line, one.where) for one in error.value.mistakes} >= set(places)


def test_a_column_that_a_public_table_does_not_have_is_found_when_it_is_opened(folder: Path) -> None:
    file = folder / "policy.toml"
    file.write_text(POLICY.replace("people = { type", "popel = { type"), encoding="utf-8")
    with pytest.raises(PolicyError) as error:
        tc.open(file)
    assert [(one.line, one.where) for one in error.value.mistakes] == [(27, "public.regions.columns.popel")]


# --- nothing is read before the charge ------------------------------------------------------------------------------


def test_plans_and_refusals_of_joins_read_nothing(folder: Path) -> None:
    db = tc.open(folder / "policy.toml")
    engine, watched = cast("DuckDBEngine", db._tables["visits"][1]), Watched()
    connection, engine._connection = engine._connection, cast("duckdb.DuckDBPyConnection", watched)
    for source in ("visits v JOIN regions r USING (region)", "visits v LEFT JOIN people p ON v.pid = p.id"):
        db.plan(f"SELECT count(*) AS n FROM {source}", epsilon=1)
    for source, *_ in REFUSED:
        if "each" in source or "staff" in source or "old" in source:
            continue
        with pytest.raises(tc.TacitError) as refusal:
            db.sql(f"SELECT count(*) AS n FROM {source}", epsilon=1)
        assert not isinstance(refusal.value, tc.SourceError)
    assert watched.seen == []
    assert not db.ledger.entries()
    with pytest.raises(tc.SourceError):
        db.sql("SELECT count(*) AS n FROM visits v JOIN regions r USING (region)", epsilon=1)
    assert watched.seen != []
    assert [one.outcome for one in db.ledger.entries()] == ["failed"]
    connection.close()
