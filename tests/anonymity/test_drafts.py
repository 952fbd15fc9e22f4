"""Drafted hierarchies: each shape of value gets the groups that a person would write, and every draft can be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit as tc
from tacit.anonymity.candidates import SearchMethod
from tacit.anonymity.countries import regions_of_countries
from tacit.anonymity.rule_files import to_toml

MICRODATA = {
    "zip": ["47677", "47602", "47678", "47905", "47909", "47906"],
    "age": [29, 22, 27, 43, 52, 47],
    "gen": ["F", "F", "M", "M", "F", "M"],
    "disease": ["Ovarian Cancer", "Ovarian Cancer", "Prostate Cancer", "Flu", "Heart Disease", "Heart Disease"],
}
QUASI = ["zip", "age", "gen"]


def labels(values: list[object], name: str = "x") -> tuple[str | None, ...]:
    """Return the labels of the first value, by the drafted rule of its column."""
    rule = tc.anonymity.draft({name: values}, [name])[name]
    tree = rule.over(tuple(dict.fromkeys(map(str, values))), name)
    return tree.rows[tree.values.index(str(values[0]))]


@pytest.mark.parametrize("method", ["local", "mondrian"])
def test_the_table_of_the_notes_comes_out_of_its_six_rows(method: SearchMethod) -> None:
    out = tc.anonymity.anonymize(MICRODATA, quasi=QUASI, sensitive="disease", require=tc.KAnonymity(3), method=method)
    rows = zip(*(list(out.table[name]) for name in QUASI), strict=True)
    assert sorted(rows) == [("476**", "[22, 29]", "*")] * 3 + [("4790*", "[43, 52]", "*")] * 3


@pytest.mark.parametrize(
    ("values", "first"),
    [
        (["CH", "DE", "MX", "BR"], ("CH", "Western Europe", "Europe", "*")),
        (["CHE", "DEU", "MEX", "BRA"], ("CHE", "Western Europe", "Europe", "*")),
        (["E11.9", "E11.0", "E10", "I21.0"], ("E11.9", "E11", "E00-E90", "*")),
        (["D48", "D50", "C00", "D89"], ("D48", "C00-D48", "*")),
        (["DE212", "DE211", "DE23", "DE300", "FR101"], ("DE212", "DE21", "DE2", "DE", "*")),
        (["SW1A 1AA", "SW1A 1AB", "SW1A 2AA", "SW2 1AA", "M1 1AE"], ("SW1A 1AA", "SW1A 1", "SW1A", "SW", "*")),
        (["K1A 0B1", "K1A 0B2", "K1B 1A1", "K2A 1A1", "M1A 1A1"], ("K1A 0B1", "K1A", "K1", "K", "*")),
        (["1012 AB", "1012 AC", "1013 AB", "1100 AA", "2000 AA"], ("1012 AB", "1012", "10**", "1***", "*")),
        (["47677-0001", "47677-0002", "47602-0001", "10001-0001"], ("47677-0001", "47677", "476**", "*")),
        (["47677", "47602", "47905"], ("47677", "4767*", "476**", "47***", "4****", "*")),
        (["A1", "A12", "B3"], ("A1", "A1", "A**", "*")),
        (
            ["2024-01-31", "2024-01-30", "2024-02-01", "2024-06-01", "2023-12-01"],
            ("2024-01-31", "2024-01", "2024-Q1", "2024", "2020s", "*"),
        ),
        (["Married here", "Married there", "Single", "Widowed"], ("Married here", "Married …", "*")),
        (["a"] * 50 + ["b"] * 48 + ["c", "d"], ("a", "a", "*")),
        (["F", "M"], ("F", "*")),
        (["2024-01-31", "2024-01-30"], ("2024-01-31", "2024-01", "*")),
        (["E10", "E11"], ("E10", "E00-E90", "*")),
    ],
)
def test_each_shape_of_value_gets_its_usual_groups(values: list[object], first: tuple[str, ...]) -> None:
    assert labels(values) == first


def test_rare_values_are_pooled() -> None:
    assert labels(["c", "d", *["a"] * 50, *["b"] * 48]) == ("c", "other", "*")
    assert labels(["c", "Other", *["a"] * 50, *["b"] * 48]) == ("c", "all other values", "*")
    assert labels(["c", "d", "other", *["all other values"] * 97]) == ("c", "all other values …", "*")


@pytest.mark.parametrize(
    ("problem", "rows"),
    [
        ("has a cycle", [["a", "b", "*"], ["b", "a", "*"]]),
        ("has a cycle", [["a", "b", "x", "*"], ["b", "c", "x", "*"], ["c", "c", "x", "*"]]),
        ("two rows", [["a", "x", "*"], ["a", "x", "*"]]),
        ("different lengths", [["a", "x", "*"], ["b", "*"]]),
        ("not nested", [["a", "x", "p", "*"], ["b", "x", "q", "*"]]),
        ("rows without labels", [[], []]),
    ],
)
def test_hierarchies_with_cycles_gaps_or_duplicates_are_refused(problem: str, rows: list[list[str]]) -> None:
    with pytest.raises(tc.InvalidError, match=problem):
        tc.anonymity.hierarchy(rows)


def test_a_gap_is_a_missing_label_and_a_label_may_be_the_value_that_it_covers() -> None:
    tree = tc.anonymity.hierarchy([["a", "", "*"], ["b", "", "*"], ["c", "c", "*"], ["d", "c", "*"]])
    assert tree.labels(1) == (None, "c")


def test_numbers_are_rounded_to_round_widths_and_digits_of_one_length_are_codes() -> None:
    assert labels([29, 22, 27, 43, 52, 47]) == ("29", "[25, 30)", "[20, 30)", "[20, 40)", "*")
    assert labels([0.07 * n for n in range(20)])[1] == "[0, 0.1)"
    assert labels([12_500, 12_900, 40_000, 50_120, 99_999], "income")[1] == "[12000, 13000)"
    assert labels([12_500, 12_900, 40_000, 50_120, 99_999], "plz")[1] == "1250*"
    assert labels(["01250", "01290", "04000"], "income")[1] == "0125*"  # a leading zero: a code
    assert labels([0, 1, 2, 3, 4]) == ("0", "*")  # these may be codes of categories


@pytest.mark.parametrize("values", [[None] * 6, ["x"] * 6, [f"person {n}" for n in range(6)], [7] * 6])
def test_columns_that_are_missing_constant_or_unique_are_anonymized(values: list[object]) -> None:
    out = tc.anonymity.anonymize({"q": values}, quasi=["q"], require=tc.KAnonymity(3), method="local")
    assert out.report.k >= 3
    assert tc.anonymity.draft({"q": values}, ["q"]).notes["q"][0]


def test_a_draft_is_saved_with_comments_and_read_again(tmp_path: Path) -> None:
    rows = {
        **MICRODATA,
        "land": ["CH", "DE", "MX", "BR", "CH", "CH"],
        "town": ["Bern\n=1", "Basel", "B", "C", "D", "E"],
    }
    drafted = tc.anonymity.draft(rows, [*QUASI, "land", "town"])
    tc.anonymity.save(drafted, tmp_path / "rules.toml")
    assert tc.anonymity.load(tmp_path / "rules.toml") == drafted
    text = to_toml(drafted)
    assert "# 29 → [25, 30) → [20, 30) → [20, 40) → *\n" in text
    assert "widths = [5, 10, 20]\n" in text
    assert "ISO countries" in text


@given(
    values=st.lists(
        st.one_of(st.none(), st.integers(-500, 5000), st.floats(allow_nan=True), st.text(max_size=8), st.dates()),
        min_size=1,
        max_size=40,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_column_has_a_draft_that_covers_it_and_can_be_saved(values: list[object]) -> None:
    table = {"x": [None if value is None else str(value) for value in values]}
    drafted = tc.anonymity.draft(table, ["x"])
    known = tuple(dict.fromkeys(value or None for value in table["x"]))
    assert set(known) <= set(drafted["x"].over(known, "x").values)
    to_toml(drafted)


def test_every_country_has_one_region() -> None:
    codes = regions_of_countries()
    two, three = ({code for code in codes if len(code) == length} for length in (2, 3))
    assert (len(two), len(three), len(codes)) == (250, 250, 500)  # the 249 of ISO 3166-1 and Kosovo
