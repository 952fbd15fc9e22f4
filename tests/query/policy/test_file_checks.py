from __future__ import annotations

import re
from pathlib import Path

import pytest

from policies import CLINIC, SCHEMA, Folder
from tacit.query.policy.build import build
from tacit.query.policy.file import load
from tacit.query.policy.mistakes import PolicyError


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize(
    ("budget", "where", "part"),
    [
        ("{ epsilon = 1, rho = 1 }", "budget", "but has both"),
        ("{}", "budget", "but has neither"),
        ("{ delta = 1e-6 }", "budget", "but has neither"),
        ("{ eps = 1 }", "budget.eps", "did you mean 'epsilon'?"),
        ("{ mu = 1 }", "budget.mu", "there are 'epsilon', 'delta' and 'rho'"),
        ("{ epsilon = 0 }", "budget.epsilon", "a finite number > 0"),
        ("{ epsilon = -1.5 }", "budget.epsilon", "not -1.5"),
        ("{ epsilon = inf }", "budget.epsilon", "a finite number > 0"),
        ("{ epsilon = nan }", "budget.epsilon", "a finite number > 0"),
        ("{ epsilon = true }", "budget.epsilon", "a finite number > 0"),
        ('{ epsilon = "1" }', "budget.epsilon", "a finite number > 0"),
        (
            '{ epsilon = "" }',
            "budget.epsilon",
            "is not filled in yet: write a finite number > 0, such as epsilon = 1.0",
        ),
        (f"{{ epsilon = 1{'0' * 400} }}", "budget.epsilon", "a finite number > 0"),
        (f"{{ epsilon = 0x{'f' * 5000} }}", "budget.epsilon", "a finite number > 0"),
        ("{ rho = 0 }", "budget.rho", "a finite number > 0"),
        ("{ epsilon = 1, delta = 1 }", "budget.delta", "a number from 0 to less than 1"),
        ("{ epsilon = 1, delta = -1e-6 }", "budget.delta", "a number from 0 to less than 1"),
        ("3", "budget", "a table with epsilon or rho"),
        ('""', "budget", "is not filled in yet"),
    ],
)
def test_a_budget_is_one_of_four(folder: Folder, budget: str, where: str, part: str) -> None:
    ((line, reported, message),) = folder.wrong(CLINIC.replace("{ epsilon = 3.0, delta = 1e-6 }", budget))
    assert (line, reported) == (2, where)
    assert part in message


SINGLE = [  # a line of the clinic, its replacement, the place of the mistake, and part of its text
    (3, "ledger = 5", "ledger", "the path of a file"),
    (3, 'ledger = ""', "ledger", "is not filled in yet"),
    (3, 'ledger = "postgresql://a:geheim@db/x"', "ledger", "must not contain a password"),
    (3, 'ledger = "${LEDGER}"', "ledger", "the environment variable LEDGER, which is not set"),
    (4, 'neighbours = "add"', "neighbours", '"add/remove" or "change one"'),
    (4, 'neighbors = "add/remove"', "neighbors", "did you mean 'neighbours'?"),
    (4, "password = 'x'", "password", "is not a key of a policy"),
    (6, "[tables.visits]\nmax_group = 1", "tables.visits.max_group", "did you mean 'max_groups'?"),
    (7, "source = 5", "tables.visits.source", "the path of a Parquet"),
    (7, "", "tables.visits.source", "is required: write the path"),
    (7, 'source = "postgresql://a:geheim@db"', "tables.visits.source", "must not contain a password"),
    (7, 'source = "${A B}"', "tables.visits.source", "as ${NAME}"),
    (7, 'source = "x"\ntable = ""', "tables.visits.table", "is not filled in yet"),
    (8, "", "tables.visits.unit", 'such as unit = "patient_id", or each_row = true'),
    (8, "each_row = false", "tables.visits.unit", "there is no default"),
    (8, 'each_row = "yes"', "tables.visits.each_row", "true or false"),
    (8, 'each_row = true\nunit = "x"', "tables.visits.each_row", "keep one of the two"),
    (8, "unit = 5", "tables.visits.unit", "the column whose value identifies the unit"),
    (8, 'unit = ""', "tables.visits.unit", "is not filled in yet"),
    (9, "max_groups = 0", "tables.visits.max_groups", "a whole number from 1"),
    (9, "max_groups = 2.0", "tables.visits.max_groups", "a whole number from 1"),
    (9, "max_groups = true", "tables.visits.max_groups", "a whole number from 1"),
    (9, f"max_groups = 0x{'f' * 5000}", "tables.visits.max_groups", "a whole number from 1"),
    (10, 'max_rows = ""', "tables.visits.max_rows", "is not filled in yet"),
    (12, "[tables.visits.colums]", "tables.visits.colums", "did you mean 'columns'?"),
    (13, "cost = { bounds = [0] }", "tables.visits.columns.cost.bounds", "two finite numbers"),
    (13, "cost = { bounds = [1, 1] }", "tables.visits.columns.cost.bounds", "not equal"),
    (13, "cost = { bounds = [0, inf] }", "tables.visits.columns.cost.bounds", "two finite numbers"),
    (13, 'cost = { bounds = "0-1" }', "tables.visits.columns.cost.bounds", "two finite numbers"),
    (13, 'cost = { type = "date", bounds = [0, 1] }', "tables.visits.columns.cost.bounds", "two dates"),
    (13, 'cost = { type = "number" }', "tables.visits.columns.cost.type", "integer, real, text"),
    (13, "cost = { bound = [0, 1] }", "tables.visits.columns.cost.bound", "did you mean 'bounds'?"),
    (13, "cost = [0, 1]", "tables.visits.columns.cost", "a table"),
    (13, "Cost = {}\ncost = {}", "tables.visits", "'Cost' and 'cost'"),
    (14, "ward = { keys = [] }", "tables.visits.columns.ward.keys", "a list of 1 to 100,000"),
    (14, 'ward = { keys = "A" }', "tables.visits.columns.ward.keys", "a list of distinct public values"),
    (14, 'ward = { keys = ["A", 1] }', "tables.visits.columns.ward.keys", "a whole number at place 2"),
    (14, 'ward = { keys = ["A", "A"] }', "tables.visits.columns.ward.keys", "places 1 and 2"),
    (14, "ward = { keys = [[1]] }", "tables.visits.columns.ward.keys", "a list at place 1"),
    (14, "ward = { keys = [{ null = false }] }", "tables.visits.columns.ward.keys", "a table at place 1"),
    (14, "ward = { keys = [07:32:00] }", "tables.visits.columns.ward.keys", "a time at place 1"),
    (14, "ward = { keys = [2026-01-01T00:00:00Z] }", "tables.visits.columns.ward.keys", "a timestamp at place 1"),
    (14, 'ward = { type = "text", keys = [1] }', "tables.visits.columns.ward.keys", "kind text"),
    (15, "name = { hidden = 1 }", "tables.visits.columns.name.hidden", "true or false"),
    (15, "name = { hidden = true, keys = ['a'] }", "tables.visits.columns.name.keys", "hidden column"),
]


@pytest.mark.parametrize(("number", "instead", "where", "part"), SINGLE)
def test_each_mistake_is_told_alone_and_with_its_line(
    folder: Folder, number: int, instead: str, where: str, part: str
) -> None:
    lines = CLINIC.splitlines()
    lines[number - 1] = instead
    ((line, reported, message),) = folder.wrong("\n".join(lines))
    assert reported == where
    assert part in message
    assert "geheim" not in message
    key = where.rpartition(".")[2]
    written = [
        number + index for index, text in enumerate(instead.splitlines()) if re.search(rf"\b{key}\b( =|])", text)
    ]
    assert line == (written or [6])[0]  # a missing key has the line of its table


def test_all_mistakes_come_at_once_in_the_order_of_the_lines(folder: Folder) -> None:
    reported = folder.wrong(
        """\
budget = { epsilon = -1, rho = 1 }
ledger = "postgresql://a:geheim@${HOST}/x"
neighbours = "none"
extra = 1

[tables.visits]
source = "${DATA}/${DATA}"
max_groups = 0

[tables.visits.columns]
cost = { bounds = [
    5,
    1,
] }
"the ward" = { keys = ["A", "A"], hiden = true }
day = { type = "day" }

[tables.VISITS]
unit = "u"
max_rows = 1
"""
    )
    assert [(line, where) for line, where, _ in reported] == [
        (1, "budget.epsilon"),
        (1, "budget"),
        (2, "ledger"),
        (2, "ledger"),
        (3, "neighbours"),
        (4, "extra"),
        (6, "tables.visits.unit"),
        (7, "tables.visits.source"),
        (8, "tables.visits.max_groups"),
        (11, "tables.visits.columns.cost.bounds"),
        (15, 'tables.visits.columns."the ward".hiden'),
        (15, 'tables.visits.columns."the ward".keys'),
        (16, "tables.visits.columns.day.type"),
        (18, "tables.VISITS.source"),
        (18, "tables.VISITS"),
    ]


SPELLINGS = [
    """\
budget.epsilon = 1
tables.t = { source = "x", unit = "u", max_groups = 1,\tmax_rows = 0 }
""",
    """\
"budget" = { "epsilon" = 1 }
"tables".'t'."max_rows" = 0
tables.t.source = "x"
tables.t.unit = "u"
tables . t . max_groups = 1
""",
    """\
[budget]
epsilon = 1

[ tables . "t" ]
source = '''
x'''
unit = "u"
max_groups = 1
"max_rows" = 0
""",
    """\
[tables.t.columns]
x = {}
[tables.t]
max_rows = 0
source = "x"
unit = "u"
max_groups = 1
[budget]
rho = 1
""",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_of_a_key_has_its_line(folder: Folder, text: str) -> None:
    ((line, where, _),) = folder.wrong(text)
    assert where == "tables.t.max_rows"
    assert "max_rows" in text.splitlines()[(line or 0) - 1]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("budget = { epsilon = 1 ]\n", 1, "not TOML"),
        ("budget = {}\nledger = clinic.ledger\n", 2, "are texts in quotes"),
        ("a = 1\na = 2\n", 2, "not TOML"),
        ("[tables]\nx = [1,\n2\n", 3, "not TOML"),
        ("x = 2026-02-30\n", 1, "not TOML"),
        ('x = "\\q"', 1, "not TOML"),
        ("a = 1\rb = 2", 1, "not TOML"),
        ("a = 1\n\nb = " + "9" * 5000, 3, "thousands of digits"),
        ("a = 1\nb = " + "[" * 5000 + "]" * 5000, 2, "nested too deeply"),
        ("a = 1\nb = " + "{ c = " * 5000 + "1" + "}" * 5000, 2, "nested too deeply"),
        (b"a = 1\n# \xff\n", 2, "is not UTF-8"),
        (b"a = 1\nb = 'nul\x00'\n", 2, "not TOML"),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(folder: Folder, text: str | bytes, line: int, part: str) -> None:
    ((reported, where, message),) = folder.wrong(text)
    assert (reported, where) == (line, "the file")
    assert part in message


def test_a_file_of_comments_lacks_what_is_required(folder: Folder) -> None:
    assert [(line, where) for line, where, _ in folder.wrong("# to be written")] == [(1, "budget"), (1, "tables")]
    ((line, where, message),) = folder.wrong("budget = { rho = 1 }\n\n[tables]\n")
    assert (line, where) == (3, "tables")
    assert "at least one table" in message


def test_tables_of_the_wrong_shape_are_refused(folder: Folder) -> None:
    budget = "budget = { rho = 1 }\n"
    for text, where in (("tables = 5", "tables"), ("[tables]\nx = 5", "tables.x"), ("[[tables.x]]", "tables.x")):
        assert [reported for _, reported, _ in folder.wrong(budget + text)] == [where]
    rest = '[tables.x]\nsource = "x"\neach_row = true\n'
    for text in ("columns = 5", "[[tables.x.columns]]\n"):
        assert [reported for _, reported, _ in folder.wrong(budget + rest + text)] == ["tables.x.columns"]
    ((_, reported, message),) = folder.wrong(budget + rest.replace("tables.x", 'tables."a\\nb"'))
    assert reported.startswith('tables."a')
    assert "printable" in message


def test_mistakes_that_only_the_schema_shows_have_their_lines(folder: Folder) -> None:
    text = CLINIC.replace("cost =", "costs =").replace(
        "name = { hidden = true }", "nmae = {}\nday = { bounds = [0, 1] }"
    )
    table = folder.opened(text.replace('"patient_id"', '"patient"')).tables["visits"]
    with pytest.raises(PolicyError) as caught:
        build(table, {**SCHEMA, "Ward": "text"})
    assert [tuple(mistake) for mistake in caught.value.mistakes] == [
        (6, "tables.visits", "must not have columns that differ only by case, but has 'ward' and 'Ward'; rename one"),
        (8, "tables.visits.unit", "must be a column, but there is no column 'patient'; did you mean 'patient_id'?"),
        (13, "tables.visits.columns.costs", "is about a column that does not exist; did you mean 'cost'?"),
        (15, "tables.visits.columns.nmae", "is about a column that does not exist; did you mean 'name'?"),
        (
            16,
            "tables.visits.columns.day.bounds",
            (
                "must be two dates, the earlier one first, such as 2020-01-01 and 2021-12-31, "
                "because the column is of kind date, not 0 and 1"
            ),
        ),
    ]


def test_an_unknown_column_is_told_once_however_much_is_said_of_it(folder: Folder) -> None:
    columns = "[tables.visits.columns.costs]\ntype = 'real'\nbounds = [0, 1]\nkeys = [1]\n"
    table = folder.opened(CLINIC[: CLINIC.index("[tables.visits.columns]")] + columns).tables["visits"]
    with pytest.raises(PolicyError) as caught:
        build(table, SCHEMA)
    assert len(caught.value.mistakes) == 1


def test_thousands_of_mistakes_are_all_listed(folder: Folder) -> None:
    text = CLINIC + "".join(f"c{number} = {{ bounds = [1, 0], hiden = true }}\n" for number in range(2_000))
    assert len(folder.wrong(text)) == 4_000


@pytest.mark.parametrize(
    ("budget", "analyst", "text"),
    [
        ("epsilon = 1", "rho = 1", "must be in epsilon, as the budget of all is"),
        ("rho = 1", "epsilon = 1", "must be in rho, as the budget of all is"),
        ("epsilon = 1", "delta = 1e-6", "has neither"),
        ("epsilon = 1", "epsilon = 1\nrho = 1", "has both"),
        ("epsilon = 1", "epsilon = -1", "epsilon"),
    ],
)
def test_an_analysts_budget_is_one_and_in_the_currency_of_all(
    tmp_path: Path, budget: str, analyst: str, text: str
) -> None:
    file = tmp_path / "p.toml"
    table = '[tables.x]\nsource = "x.csv"\nunit = "u"\n'
    file.write_text(f"budget = {{ {budget} }}\n{table}[analysts.ann]\n{analyst}\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=text):
        load(file)
