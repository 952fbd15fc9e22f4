from __future__ import annotations

from datetime import date
from fractions import Fraction

from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.results.render import catalog_html, public_facts

TABLE = TablePolicy(
    name="t",
    unit="who",
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={
        "who": ColumnPolicy(kind="integer"),
        "<cost>": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(20_000))),
        "secret": ColumnPolicy(kind="text", hidden=True),
    },
)


def test_what_is_public_is_said_in_words() -> None:
    assert (
        public_facts(ColumnPolicy(kind="date", days=(date(2024, 1, 1), date(2024, 12, 31))))
        == "days 2024-01-01 to 2024-12-31"
    )
    assert public_facts(ColumnPolicy(kind="integer", keys=tuple(range(10)))) == "keys 0, 1, 2, 3, 4, 5 and 4 more"
    assert public_facts(ColumnPolicy(kind="text")) == ""


def test_hidden_columns_are_not_listed_and_names_are_escaped() -> None:
    page = catalog_html({"t": TABLE})
    assert "secret" not in page
    assert "&lt;cost&gt;" in page
    assert "bounds 0 to 20000" in page
    assert "the unit" in page
