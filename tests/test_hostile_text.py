"""Keys, literals and names with control characters, through every output of the library."""

from __future__ import annotations

import csv
import json
import re
import traceback
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, cast
from xml.dom import minidom

import altair as alt
import duckdb
import pandas as pd
import pytest

import tacit as tc
from hostile_text import FORMULAS, HOSTILE, KEYS, MARKUP, SURROGATE, TERMINAL, acting
from tacit import anonymity, plots
from tacit.anonymity import KAnonymity
from tacit.database import Database
from tacit.errors import (
    BudgetError,
    ColumnNotFoundError,
    InvalidError,
    LedgerError,
    NoSourceError,
    RefusedError,
    SourceError,
    TacitError,
    UnreadableFileError,
    bad_value,
)
from tacit.ledger.replay import VerifyReport
from tacit.plots.answers import Caption
from tacit.query.policy.mistakes import Mistake, PolicyError
from tacit.query.refusals import unknown_column
from tacit.query.results.release import Release
from tacit.query.results.render import AnswerColumn, as_html, as_text

TAG = re.compile(r"</?(?:script|img)|<!--", re.IGNORECASE)
LITERALS = [key for key in KEYS if "'" not in key]
_LISTED = ", ".join(f"'no {key}'" for key in LITERALS)
QUESTION = f"SELECT k, count(*) AS n FROM data WHERE k NOT IN ({_LISTED}) GROUP BY k"  # noqa: S608 - what is tested


def opened(*, public: bool = True) -> Database:
    rows = pd.DataFrame({"person": range(100 * len(KEYS)), "k": KEYS * 100})
    return tc.open(
        rows,
        unit="person",
        max_groups=1,
        max_rows=1,
        keys={"k": KEYS} if public else {},
        budget=tc.ApproxDP(epsilon=100, delta=1e-4),
    )


@pytest.fixture(scope="module")
def database() -> Database:
    return opened()


@pytest.fixture(scope="module")
def answer(database: Database) -> Release:
    return database.sql(QUESTION, epsilon=1)


def test_an_answer_is_a_line_for_each_row_and_obeys_nothing(answer: Release) -> None:
    text = str(answer)
    assert not acting(text)
    assert (
        len(text.splitlines()) == 1 + len(KEYS) + 2
    )  # the last lines say which rows have no group, and what limits leave out
    for key in MARKUP.values():
        assert key in text


def test_an_answer_for_programs_is_exact(answer: Release) -> None:
    assert [key for key, _ in answer.rows()] == KEYS
    assert answer.to_arrow()["k"].to_pylist() == KEYS
    assert answer.to_pandas()["k"].tolist() == KEYS
    public = cast("dict[str, Any]", json.loads(json.dumps(answer.receipt)))["privacy"]["public_keys"]
    assert public == {"k": KEYS}


def test_found_keys_are_shown_alike() -> None:
    with opened(public=False) as db:
        found = db.sql("SELECT k, count(*) AS n FROM data GROUP BY k", epsilon=20, delta=1e-5)
    assert sorted(cast("list[str]", [key for key, _ in found.rows()])) == sorted(KEYS)
    assert not acting(str(found))
    assert len(str(found).splitlines()) == 1 + len(KEYS) + 1


def test_a_margin_and_a_table_are_shown_alike(database: Database) -> None:
    table = database.crosstab("k", epsilon=1).margin("k")
    assert not acting(str(table))
    assert len(str(table).splitlines()) == 1 + len(KEYS) + 1  # headings, and a note on the interval
    assert not acting(table._repr_html_(), lines=False)


def test_a_plan_shows_the_literals_of_its_question_as_escapes(database: Database) -> None:
    planned = database.plan(QUESTION, epsilon=1)
    assert not acting(str(planned))
    assert "All records hold" not in str(planned).splitlines()
    assert str(planned).splitlines()[1].startswith("costs")
    assert "\\x1b[31m" in str(planned)
    assert not acting(repr(planned), lines=False)


def test_html_has_no_tag_of_the_data(database: Database, answer: Release) -> None:
    for page in (answer._repr_html_(), database.plan(QUESTION, epsilon=1)._repr_html_(), database._repr_html_()):
        assert not acting(page, lines=False)
        assert not TAG.search(page)
    assert "&lt;script&gt;" in answer._repr_html_()
    assert not acting(repr(database), lines=False)


@pytest.mark.parametrize("text", [*HOSTILE.values(), SURROGATE])
def test_names_of_columns_are_shown_as_keys_are(text: str) -> None:
    column = AnswerColumn(text, "text", (text,), None)
    assert not acting(as_text([column], 0.95))
    assert len(as_text([column], 0.95).splitlines()) == 2
    assert not acting(as_html([column], 0.95), lines=False)
    as_text([column], 0.95).encode("utf-8")


def _noisy(text: str) -> plots.NoisyColumn:
    return plots.NoisyColumn(name=text, values=[3], low=[1], high=[5], from_zero=True)


def _caption(text: str) -> Caption:
    return Caption(title=text, cost="ε = 1", confidence=0.95, note=text, lines=[text], warnings=[text])


CHARTS: dict[str, Callable[[str], alt.TopLevelMixin]] = {
    "by_group": lambda text: plots.by_group([text], [_noisy(text)], _caption(text), group=text),
    "by_bin": lambda text: plots.by_bin([text], [_noisy(text)], _caption(text), bin_title=text),
    "over_time": lambda text: plots.over_time(["2026-01-01"], [text], [_noisy(text)], _caption(text), time=text),
    "heat_map": lambda text: plots.heat_map([(text, text)], [_noisy(text)], _caption(text), titles=(text, text)),
    "side_by_side": lambda text: plots.side_by_side(
        [(text, text)], [_noisy(text)], _caption(text), titles=(text, text)
    ),
    "on_one_axis": lambda text: plots.on_one_axis([text], [_noisy(text), _noisy("x")], _caption(text), group=text),
    "simulated": lambda text: plots.simulated([text], [3], [_noisy(text)], title=text, subtitle=text),
    "counts": lambda text: plots.counts([text], [3], [[1], [5]], confidence=0.95, note=text),
    "burn_down": lambda text: plots.burn_down([1, 0.5], ["", text], unit="ε"),
    "loss_by_k": lambda text: plots.loss_by_k([2, 3], {text: [0.1, 0.2]}),
    "variances": lambda text: plots.variances([1, 2], {text: [4, 1], "empty": [0, 0]}, across="ε", title=text),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_holds_labels_as_data_that_no_page_obeys(kind: str, text: str) -> None:
    chart = cast("alt.Chart", CHARTS[kind](text))
    spec = json.loads(chart.to_json())
    values = [value for rows in _inline(spec) for row in rows for value in row.values() if isinstance(value, str)]
    assert values
    assert not any(acting(value, lines=False) for value in values)
    if text in (*FORMULAS.values(), *MARKUP.values()) and not TAG.search(text) and not acting(text, lines=False):
        assert text in values
    fields = [part["field"] for part in _parts(spec) if "field" in part]
    assert all(re.fullmatch("[a-z_0-9]+", field) for field in fields)
    assert all(part["expr"].startswith("datum.value <") for part in _parts(spec) if "expr" in part)
    page = chart.to_html()
    assert len(re.findall("</script", page, re.IGNORECASE)) == len(re.findall("</script>", chart_page(), re.IGNORECASE))
    assert "<!--" not in page
    assert not acting(page.replace("\t", " "))


@cache
def chart_page() -> str:
    """Return the page of a harmless chart."""
    return cast("alt.Chart", CHARTS["counts"]("north")).to_html()


def _parts(spec: object) -> list[dict[str, Any]]:
    if isinstance(spec, list):
        return [part for child in spec for part in _parts(child)]
    if not isinstance(spec, dict):
        return []
    return [spec, *(part for key, child in spec.items() if key not in ("values", "datasets") for part in _parts(child))]


def _inline(spec: dict[str, Any]) -> list[list[dict[str, object]]]:
    named = list(spec.get("datasets", {}).values())
    return [*named, *(part["data"]["values"] for part in _parts(spec) if "values" in part.get("data", {}))]


def test_a_chart_of_hostile_keys_is_drawn_and_is_well_formed(answer: Release, tmp_path: Path) -> None:
    answer.plot().save(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    minidom.parseString(text)  # noqa: S318 - our own file
    assert not acting(text)


ERRORS: list[Callable[[str], TacitError]] = [
    TacitError,
    RefusedError,
    BudgetError,
    SourceError,
    LedgerError,
    lambda text: InvalidError(text, argument=text, hint=text),
    lambda text: bad_value("epsilon", text, "a number"),
    lambda text: ColumnNotFoundError(text, [text, "b"]),
    lambda text: UnreadableFileError(text, text),
    lambda text: NoSourceError(text, hint=text),
    lambda text: unknown_column(text, [text, "b"]),
]


@pytest.mark.parametrize("text", [*TERMINAL.values(), SURROGATE])
@pytest.mark.parametrize("make", ERRORS)
def test_an_error_is_one_line_that_obeys_nothing(make: Callable[[str], TacitError], text: str) -> None:
    error = make(text)
    assert not acting(str(error), lines=False)
    printed = "".join(traceback.format_exception(error))
    assert not acting(printed)
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize("text", TERMINAL.values(), ids=TERMINAL)
def test_the_mistakes_of_a_policy_are_a_line_each(text: str) -> None:
    error = PolicyError(text, [Mistake(3, text, text), Mistake(None, "unit", "is required")])
    assert not acting(str(error))
    assert len(str(error).splitlines()) == 3
    assert error.mistakes[0].where == text
    assert not acting(str(VerifyReport(3, 1, text)), lines=False)


PLAIN = [f"{'abcdefg'[n % 7]} {n}" for n in range(len(KEYS))]


def table(name: str = "k", keys: list[str] = KEYS) -> dict[str, list[object]]:
    return {name: [key for key in keys for _ in range(3)], "sick": [key for key in reversed(keys) for _ in range(3)]}


def anonymized(name: str = "k", keys: list[str] = KEYS) -> anonymity.Anonymized:
    return anonymity.anonymize(table(name, keys), quasi=[name], sensitive="sick", require=KAnonymity(3))


def line_counts(name: str, keys: list[str]) -> tuple[int, int, int]:
    """Count the lines of the texts; those of searches and hints, which depend on time, do not count."""
    done = anonymized(name, keys)
    attack = anonymity.attack(table(name, keys), kind="homogeneity", quasi=[name], sensitive="sick")
    of_time = len(done.searches) + len(done.hints)
    report, found, whole = (len(str(shown).splitlines()) for shown in (done.report, attack, done))
    return report, found, whole - of_time


@pytest.mark.parametrize("name", ["k", "=k\x1b[31m\n"])
def test_reports_and_attacks_show_names_and_values_as_escapes(name: str) -> None:
    done = anonymized(name)
    attack = anonymity.attack(table(name), kind="homogeneity", quasi=[name], sensitive="sick")
    assert not any(map(acting, (str(done.report), str(attack), str(done))))
    assert line_counts(name, KEYS) == line_counts("k", PLAIN)
    assert {victim.published[name] for victim in attack.victims} == set(KEYS)
    for line in (repr(done), repr(done.recoding), repr(done.report), repr(attack)):
        assert not acting(line, lines=False)


def read_csv(text: str, sep: str = ",") -> list[list[str]]:
    return list(csv.reader(StringIO(text, newline=""), delimiter=sep))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", "stream"])
@pytest.mark.parametrize("spreadsheet", [False, True])
def test_csv_is_exact_or_safe_for_spreadsheets(suffix: str, tmp_path: Path, *, spreadsheet: bool) -> None:
    done = anonymized("=k")
    if suffix == "stream":
        stream = StringIO(newline="")
        done.write_csv(stream, spreadsheet=spreadsheet)
        text = stream.getvalue()
    else:
        done.write(tmp_path / f"out{suffix}", spreadsheet=spreadsheet)
        text = (tmp_path / f"out{suffix}").read_bytes().decode()
    head, *rows = read_csv(text, "\t" if suffix == ".tsv" else ",")
    guarded = {key: f"'{key}" for key in FORMULAS.values()} if spreadsheet else {}
    assert head == ["'=k" if spreadsheet else "=k", "sick"]
    assert sorted(row[0] for row in rows) == sorted(guarded.get(key, key) for key in KEYS for _ in range(3))
    assert {row[1] for row in rows} == {guarded.get(key, key) for key in KEYS}


def test_parquet_is_exact_and_refuses_to_be_for_spreadsheets(tmp_path: Path) -> None:
    done = anonymized()
    done.write(tmp_path / "out.parquet")
    with duckdb.connect() as connection:
        rows = connection.read_parquet(str(tmp_path / "out.parquet")).fetchall()
    assert {row[0] for row in rows} == set(KEYS)
    with pytest.raises(InvalidError, match="spreadsheet"):
        done.write(tmp_path / "other.parquet", spreadsheet=True)


@pytest.mark.parametrize("name", [*TERMINAL.values(), "😀", 'a"b\\c'])
def test_drafted_hierarchies_read_back_and_obey_nothing(name: str, tmp_path: Path) -> None:
    rules = {name: anonymity.hierarchy([[name, "*"], ["other", "*"]])}
    anonymity.save(rules, tmp_path / "rules.toml")
    assert not acting((tmp_path / "rules.toml").read_text(encoding="utf-8"))
    back = anonymity.load(tmp_path / "rules.toml")
    assert back[name] == rules[name]


def test_estimates_of_the_local_model_are_a_line_each() -> None:
    domain = list(TERMINAL.values())[:10]
    oracle = tc.local.GRR(domain=domain, epsilon=3)
    total = oracle.aggregator()
    total.add(oracle.randomize(domain * 50))
    estimate = total.estimate()
    assert not acting(str(estimate))
    assert len(str(estimate).splitlines()) == len(domain) + 2
    assert not acting(repr(estimate), lines=False)
    assert not acting(repr(oracle), lines=False)
    assert sorted(estimate.to_arrow()["value"].to_pylist()) == sorted(domain)
    assert not acting(estimate.plot().to_json())
