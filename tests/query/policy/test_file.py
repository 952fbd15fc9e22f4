from __future__ import annotations

import dataclasses
import re
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import CLINIC, SCHEMA, Folder, table_policy
from tacit.errors import InvalidError
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.query.expressions import Kind
from tacit.query.policy import ROW
from tacit.query.policy.build import build
from tacit.query.policy.file import load
from tacit.query.policy.mistakes import PolicyError
from tacit.query.policy.toml_lines import quoted, string


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_file_of_the_manual_means_what_its_arguments_mean(folder: Folder, tmp_path: Path) -> None:
    policy = folder.opened(CLINIC)
    assert policy.budget == ApproxDP(epsilon=3, delta=1e-6)
    assert policy.tables["visits"].neighbours == "add/remove"
    assert policy.ledger_location() == str(tmp_path / "clinic.ledger")
    visits = policy.tables["visits"]
    assert visits.location() == str(tmp_path / "visits.parquet")
    assert visits.table is None
    assert build(visits, SCHEMA) == table_policy(
        "visits",
        SCHEMA,
        unit="patient_id",
        max_groups=3,
        max_rows=5,
        bounds={"cost": (0, 20_000)},
        keys={"ward": ["A", "B", "C"]},
        hidden=["name"],
    )


def test_a_policy_file_cannot_be_changed(folder: Folder) -> None:
    policy = folder.opened(CLINIC)
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.ledger = None  # type: ignore[misc]
    with pytest.raises(TypeError):
        policy.tables["x"] = policy.tables["visits"]  # type: ignore[index]
    assert policy == folder.opened(CLINIC)


@pytest.mark.parametrize(
    ("budget", "guarantee"),
    [
        ("{ epsilon = 1 }", PureDP(epsilon=1)),
        ("{ epsilon = 0.1, delta = 0 }", ApproxDP(epsilon=0.1, delta=0)),
        ("{ rho = 0.1 }", ZCDP(rho=0.1)),
        ("{ rho = 0.1, delta = 1e-9 }", ApproxZCDP(rho=0.1, delta=1e-9)),
    ],
)
def test_each_budget_is_its_guarantee(folder: Folder, budget: str, guarantee: object) -> None:
    assert folder.opened(CLINIC.replace("{ epsilon = 3.0, delta = 1e-6 }", budget)).budget == guarantee


def test_a_byte_order_mark_and_carriage_returns_are_accepted(folder: Folder) -> None:
    windows = CLINIC.replace("\n", "\r\n").encode("utf-8-sig")
    assert folder.opened(windows) == folder.opened(CLINIC)
    ((line, _, _),) = folder.wrong(windows.replace(b"max_groups = 3", b"max_groups = 0"))
    assert line == 9


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", tmp_path, "nul\0.toml"):
        with pytest.raises(InvalidError, match="Cannot read"):
            load(path)
    with pytest.raises(
        InvalidError, match=r"there is no such file\. Check the path\. `tacit init SOURCE > missing\.toml`"
    ):
        load(tmp_path / "missing.toml")


def test_each_row_may_be_a_unit(folder: Folder) -> None:
    text = CLINIC.replace('unit = "patient_id"', "each_row = true")
    for policy in (text, text.replace("max_groups = 3\nmax_rows = 5\n", "")):
        table = build(folder.opened(policy).tables["visits"], SCHEMA)
        assert (table.unit, table.max_groups, table.max_rows) == (None, 1, 1)
    assert folder.opened(text).tables["visits"].unit is ROW


def test_keys_of_every_kind_and_null(folder: Folder) -> None:
    columns = (
        "i = { keys = [1, { null = true }] }\nr = { keys = [1, 2.5] }\nb = { keys = [true, false] }\n"
        "d = { keys = [2026-01-01] }\nt = { keys = [2026-01-01T10:00:00, 2026-01-01] }\n"
        "s = { keys = ['1', 'true', ''] }\n"
    )
    text = CLINIC[: CLINIC.index("cost =")] + columns
    schema: dict[str, Kind] = dict.fromkeys(["patient_id", *"irbdts"], "text")
    read = build(folder.opened(text).tables["visits"], schema).columns
    assert {name: read[name].kind for name in "irbdts"} == dict(zip("irbdts", KINDS_IN_ORDER, strict=True))
    assert read["i"].keys == (1, None)
    assert read["d"].keys == (date(2026, 1, 1),)
    assert read["t"].keys == (datetime(2026, 1, 1, 10), datetime(2026, 1, 1))  # noqa: DTZ001
    assert read["b"].keys == (True, False)


KINDS_IN_ORDER: tuple[Kind, ...] = ("integer", "real", "boolean", "date", "timestamp", "text")


def test_variables_are_filled_in_at_opening_and_never_kept(folder: Folder, tmp_path: Path) -> None:
    text = CLINIC.replace('"visits.parquet"', '"postgresql://reader:${SECRET_WORD}@db/clinic"')
    text = text.replace('"clinic.ledger"', '"${PLACE}/clinic.ledger"')
    environment = {"SECRET_WORD": "geheim", "PLACE": "ledgers"}
    policy = folder.opened(text, **environment)
    assert policy.tables["visits"].location(environment) == "postgresql://reader:geheim@db/clinic"
    assert policy.ledger_location(environment) == str(tmp_path / "ledgers" / "clinic.ledger")
    assert "geheim" not in repr(policy)
    assert policy.version == folder.opened(text, SECRET_WORD="other", PLACE="else").version  # noqa: S106
    with pytest.raises(PolicyError) as caught:
        policy.tables["visits"].location({})
    ((line, where, message),) = caught.value.mistakes
    assert (line, where) == (7, "tables.visits.source")
    assert "SECRET_WORD" in message


def test_the_processs_environment_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clinic.toml"
    path.write_text(CLINIC.replace('"visits.parquet"', '"${TACIT_TEST_PLACE}/x.parquet"'))
    with pytest.raises(PolicyError, match="TACIT_TEST_PLACE"):
        load(str(path))
    monkeypatch.setenv("TACIT_TEST_PLACE", "/data")
    assert load(str(path)).tables["visits"].location() == "/data/x.parquet"


def test_paths_are_relative_to_the_file_and_not_to_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clinic.toml").write_text(CLINIC)
    monkeypatch.chdir(tmp_path)
    policy = load("clinic.toml")
    monkeypatch.chdir("/")
    assert policy.tables["visits"].location() == str(tmp_path / "visits.parquet")
    with pytest.raises(PolicyError, match=r"^clinic\.toml has"):
        build(policy.tables["visits"], {})


def test_the_version_is_of_the_content_and_not_of_the_spelling(folder: Folder) -> None:
    respelled = """\
budget.delta = 0.000001
budget.epsilon = 3
"ledger" = 'clinic.ledger'
[tables.visits.columns.ward]
keys = ["A",
  "B", "C"]
[tables.visits.columns.cost]
bounds = [0.0, 2e4]
[tables.visits.columns]
name.hidden = true
[tables.visits]
max_rows = 5
max_groups = 0x3
unit = "patient_id"
source = "visits.parquet"
"""
    assert folder.opened(respelled).version == folder.opened(CLINIC).version
    assert re.fullmatch(r"[0-9a-f]{64}", folder.opened(CLINIC).version)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3.0", "3.1"),
        ("1e-6", "1e-7"),
        ("clinic.ledger", "other.ledger"),
        ("add/remove", "change one"),
        ("tables.visits", "tables.visit"),
        ("visits.parquet", "visit.parquet"),
        ("patient_id", "patient"),
        ("max_groups = 3", "max_groups = 4"),
        ("max_rows = 5", "max_rows = 4"),
        ("20_000", "20_001"),
        ('"A", "B"', '"B", "A"'),
        ("hidden = true", "hidden = false"),
        ("hidden = true", "type = 'text'"),
    ],
)
def test_the_version_changes_with_every_part_of_the_content(folder: Folder, old: str, new: str) -> None:
    assert folder.opened(CLINIC.replace(old, new)).version != folder.opened(CLINIC).version


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.isprintable)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "bounds": st.tuples(st.integers(-(10**9), 10**9), st.integers(1, 10**9)).map(lambda b: (b[0], b[0] + b[1])),
        "hidden": st.just(value=False),
    },
) | st.fixed_dictionaries({"keys": st.lists(TEXTS, min_size=1, max_size=4, unique=True)})


def write(name: str, unit: str, columns: dict[str, dict[str, object]]) -> str:
    """Write a policy in inline tables or in sections, by turns."""
    lines = ["budget = { rho = 1 }", f"[tables.{quoted(name)}]", 'source = "x"', f"unit = {string(unit)}"]
    lines += ["max_groups = 1", "max_rows = 1"]
    for column, entry in columns.items():
        lines.append(f"[tables.{quoted(name)}.columns.{quoted(column)}]")
        for key, value in entry.items():
            lines.append(f"{key} = {written(value)}")
    return "\n".join(lines)


def written(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"[\n{','.join(map(written, value))} ]"
    return string(value) if isinstance(value, str) else str(value).lower()


@settings(deadline=None)
@given(NAMES, NAMES, st.dictionaries(NAMES, COLUMNS, max_size=4))
def test_what_is_written_is_read_and_equals_the_arguments(
    tmp_path_factory: pytest.TempPathFactory, name: str, unit: str, columns: dict[str, dict[str, object]]
) -> None:
    columns = {column: columns[column] for column in {column.lower(): column for column in columns}.values()}
    unit = next((column for column in columns if column.lower() == unit.lower()), unit)
    path = tmp_path_factory.mktemp("policy") / "p.toml"
    path.write_bytes(write(name, unit, columns).encode())
    schema: dict[str, Kind] = dict.fromkeys([unit, *columns], "text")
    bounds = {column: entry["bounds"] for column, entry in columns.items() if "bounds" in entry}
    keys = {column: entry["keys"] for column, entry in columns.items() if "keys" in entry}
    expected = table_policy(name, schema, unit=unit, max_groups=1, max_rows=1, bounds=bounds, keys=keys)
    assert build(load(path).tables[name], schema) == expected


def test_a_huge_file_is_read_and_a_mistake_at_its_end_is_found(folder: Folder) -> None:
    keys = ",\n".join(f'"key {number}"' for number in range(100_000))
    many = "\n".join(f"c{number} = {{ bounds = [0, {number + 1}] }}" for number in range(5_000))
    text = f"{CLINIC}zip = {{ keys = [{keys}] }}\n{many}\n"
    policy = folder.opened(text).tables["visits"]
    schema: dict[str, Kind] = SCHEMA | {"zip": "text"} | {f"c{number}": "real" for number in range(5_000)}
    assert build(policy, schema).columns["c4999"].bounds == (Fraction(0), Fraction(5000))
    ((line, where, _),) = folder.wrong(f"{text}last = {{ bounds = [1, 0] }}\n")
    assert (line, where) == (text.count("\n") + 1, "tables.visits.columns.last.bounds")
    ((_, _, message),) = folder.wrong(text.replace('zip = { keys = ["key 0"', 'zip = { keys = ["one more", "key 0"'))
    assert "100,000" in message


@pytest.mark.parametrize("content", [b"", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_what_a_failed_init_leaves(folder: Folder, content: bytes) -> None:
    """The keys that it lacks are not listed: that would hide the cause."""
    ((line, where, message),) = folder.wrong(content)
    assert (line, where) == (None, "the file")
    assert "is empty; did `tacit init` fail?" in message
