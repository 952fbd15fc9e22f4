"""`tacit ledger` as a steward runs it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from cli_runs import Done, run
from tacit.cli.demo import write_survey
from tacit.guarantees.events import PureRelease
from tacit.guarantees.values import PureDP
from tacit.ledger import Request
from tacit.ledger.open_ledger import open_ledger

POLICY = """
budget = { epsilon = 1.0, delta = 1e-6 }
ledger = "survey.ledger"
VERSION

[analysts.ann]
epsilon = 0.5

[tables.survey]
source = "survey.csv"
unit = "person_id"
max_groups = 1
max_rows = 2

[tables.survey.columns]
income = { bounds = [0, 200_000] }
region = { keys = ["north", "south", "east", "west"] }
"""
_TEXTS = {
    "epsilon": "epsilon = 1.0",
    "bounds": "200_000",
    "unit": '"person_id"',
    "budget": "{ epsilon = 1.0, delta = 1e-6 }",
    "analysts": "[analysts.ann]\nepsilon = 0.5",
}
COUNT = "SELECT count(*) AS n FROM survey"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_survey(tmp_path)
    declare(tmp_path, "")
    return tmp_path


def declare(folder: Path, version: str, **changed: str) -> None:
    """Write the policy, with a version of the data and some texts in the place of others."""
    text = POLICY.replace("VERSION", version)
    for old, new in changed.items():
        text = text.replace(_TEXTS[old], new)
    (folder / "policy.toml").write_text(text, encoding="utf-8")


def ask(folder: Path, *more: str, epsilon: str = "0.2", sql: str = COUNT) -> Done:
    return run(folder, "query", "policy.toml", sql, "--epsilon", epsilon, "--yes", *more)


def ledger(folder: Path, *words: str) -> Done:
    return run(folder, "ledger", "policy.toml", *words)


def test_it_shows_what_was_spent_by_whom_and_what_is_left(folder: Path) -> None:
    assert ask(folder, "--analyst", "ann").returncode == 0
    assert ask(folder, epsilon="0.3").returncode == 0
    shown = ledger(folder)
    assert shown.returncode == 0
    assert "ann" in shown.stdout
    assert "SELECT COUNT(*) AS n FROM survey" in shown.stdout
    assert "Left: ε = 0.5, δ = 1e-06 of ε = 1" in shown.stderr
    summary = json.loads(ledger(folder, "show", "--json", "--delta", "1e-6").stdout)
    assert [(share["analyst"], share["epsilon"]) for share in summary["analysts"]] == [("", 0.3), ("ann", 0.2)]
    assert summary["left"]["epsilon"] == 0.5
    assert [entry["outcome"] for entry in summary["entries"]] == ["answered", "answered"]
    assert summary["as_one_plan"]["epsilon"] <= 0.5


def test_it_shows_what_each_analyst_has_left_if_there_are_limits(folder: Path) -> None:
    def cells(shown: str) -> list[list[str]]:
        return [
            line.split() for line in shown.splitlines() if "quer" in line or line.strip().startswith(("ann", "all"))
        ]

    declare(folder, "")
    assert ask(folder, epsilon="0.1").returncode == 0
    headings, ann, every = cells(ledger(folder).stdout)[:3]  # ann has asked nothing
    assert headings == ["analyst", "queries", "ε", "δ", "limit", "left"]
    assert ann == ["ann", "0", "0", "0", "ε", "=", "0.5", "ε", "=", "0.5,", "δ", "=", "0"]
    assert every[-6:] == ["ε", "=", "0.9,", "δ", "=", "1e-06"]
    assert ask(folder, "--analyst", "ann").returncode == 0
    assert ask(folder, "--analyst", "ben", epsilon="0.55").returncode == 0
    summary = json.loads(ledger(folder, "show", "--json").stdout)["analysts"]
    assert {share["analyst"]: share["left"]["epsilon"] for share in summary} == {"ann": 0.15, "ben": 0.15, "": 0.15}
    assert {share["analyst"]: share["limit"] for share in summary if share["limit"]} == {"ann": {"epsilon": 0.5}}


def test_no_column_of_what_is_left_without_limits(folder: Path) -> None:
    declare(folder, "", analysts="")
    assert ask(folder).returncode == 0
    assert "left" not in ledger(folder).stdout


def test_every_question_is_shown_with_its_cost_and_the_total_after_it(folder: Path) -> None:
    ask(folder, "--analyst", "ann")
    ask(folder, "--delta", "1e-7", epsilon="0.3")
    lines = [line.split() for line in ledger(folder).stdout.splitlines() if "SELECT" in line or "quer" in line][1:]
    assert lines[0] == ["record", "time", "analyst", "outcome", "ε", "total", "ε", "δ", "total", "δ", "query"]
    summary = json.loads(ledger(folder, "show", "--json").stdout)
    first, second = summary["entries"]
    assert (first["cost"], first["spent"]) == ({"epsilon": 0.2, "delta": 0.0},) * 2
    assert second["cost"]["epsilon"] == 0.3
    assert second["spent"] == {"epsilon": 0.5, "delta": second["cost"]["delta"]}
    assert lines[1][2:8] == ["ann", "answered", "0.2", "0.2", "0", "0"]
    assert lines[2][2:6] == ["–", "answered", "0.3", "0.5"]


def test_costs_are_rounded_up_and_in_the_currency_of_the_budget(folder: Path) -> None:
    declare(folder, "", budget="{ rho = 1.0 }", analysts="")
    ask(folder, "--analyst", "ben", epsilon="0.03333333")
    exact = Fraction("0.03333333") ** 2 / 2
    [entry] = json.loads(ledger(folder, "show", "--json").stdout)["entries"]
    assert set(entry["cost"]) == {"rho", "delta"}
    assert Fraction(repr(entry["cost"]["rho"])) >= exact
    assert entry["cost"]["rho"] == pytest.approx(float(exact), rel=1e-12)
    line = next(line for line in ledger(folder).stdout.splitlines() if "SELECT" in line).split()
    assert line[4:6] == ["0.000555556", "0.000555556"]
    assert float(line[4]) > exact


def test_a_new_budget_is_marked_between_the_queries(folder: Path) -> None:
    declare(folder, 'data_version = "2025"')
    ask(folder, epsilon="0.9")
    declare(folder, 'data_version = "2026"')
    ledger(folder, "renew", "--disjoint-units")
    assert ledger(folder, "show", "--delta", "1e-6").returncode == 0
    ask(folder, epsilon="0.4")
    shown = ledger(folder).stdout
    lines = [line for line in shown.splitlines() if "SELECT" in line or "new budget" in line]
    assert ["new budget" in line for line in lines] == [False, True, False]
    assert lines[2].split()[4:6] == ["0.4", "0.4"]
    [whole] = [line for line in shown.splitlines() if "all" in line]
    assert whole.replace("│", " ").split()[:3] == ["all", "1", "0.4"]


def test_of_many_questions_the_last_are_shown(folder: Path) -> None:
    with closing(open_ledger(folder / "survey.ledger", PureDP(epsilon=1), "add/remove")) as ledger_file:
        for number in range(30):
            ledger_file.charge(Request(question=f"q{number}", events=(PureRelease(epsilon=Fraction(1, 100)),)))
    shown = ledger(folder)
    assert [line.split()[-1] for line in shown.stdout.splitlines()][-20:] == [f"q{number}" for number in range(10, 30)]
    assert shown.stdout.splitlines()[-20].split()[4:6] == ["0.01", "0.11"]
    assert "the last 20 of 30" in shown.stderr


def test_an_analysts_own_budget_holds_beside_that_of_all(folder: Path) -> None:
    assert ask(folder, "--analyst", "ann", epsilon="0.5").returncode == 0
    refused = ask(folder, "--analyst", "ann", epsilon="0.1")
    assert refused.returncode == 3
    assert "analyst's own limit" in refused.stderr
    assert ask(folder, "--analyst", "ben", epsilon="0.5").returncode == 0
    assert ask(folder, "--analyst", "cat", epsilon="0.1").returncode == 3


def test_verify_holds_and_tells_of_a_change_and_of_an_old_copy(folder: Path) -> None:
    ask(folder)
    copy = (folder / "survey.ledger").read_bytes()
    answer = ask(folder, "--json")
    (folder / "receipt.json").write_text(answer.stdout, encoding="utf-8")
    held = ledger(folder, "verify", "--receipt", "receipt.json")
    assert (held.returncode, "valid" in held.stdout) == (0, True)
    with closing(sqlite3.connect(folder / "survey.ledger")) as connection, connection:
        connection.execute("UPDATE tacit_records SET body = replace(body, '1/5', '1/6') WHERE number = 3")
    result = ledger(folder, "verify")
    assert result.returncode == 3
    assert "at record 3" in result.stdout
    for file in folder.glob("survey.ledger*"):
        file.unlink()
    (folder / "survey.ledger").write_bytes(copy)
    assert ledger(folder, "verify").returncode == 0
    old = json.loads(ledger(folder, "verify", "--receipt", "receipt.json", "--json").stdout)
    assert (old["holds"], old["wrong"]) == (False, 5)
    assert "the ledger ends at record 4. Charges are missing: this copy is old" in old["why"]
    assert "does not exist" in ledger(folder, "verify", "--receipt", "none.json").stderr


def test_a_ledger_is_exported_and_imported_as_json_lines(folder: Path) -> None:
    ask(folder)
    lines = ledger(folder, "export").stdout
    (folder / "copy.jsonl").write_text(lines, encoding="utf-8")
    taken = ledger(folder, "import", "copy.jsonl")
    assert taken.returncode == 4
    assert "already" in taken.stderr
    assert ledger(folder, "import", "copy.jsonl", "--ledger", "other.ledger").returncode == 0
    assert ledger(folder, "export", "--ledger", "other.ledger").stdout == lines
    (folder / "copy.jsonl").write_text(lines.replace('\\"1/5\\"', '\\"1/50\\"'), encoding="utf-8")
    assert ledger(folder, "import", "copy.jsonl", "--ledger", "third.ledger").returncode == 4
    assert not (folder / "third.ledger").exists() or ledger(folder, "show", "--ledger", "third.ledger").returncode == 4


def test_changed_bounds_and_budgets_need_to_be_accepted(folder: Path) -> None:
    ask(folder)
    declare(folder, "", bounds="300_000")
    refused = ask(folder)
    assert refused.returncode == 3
    assert "bounds.income" in refused.stderr
    accepted = ledger(folder, "accept")
    assert accepted.returncode == 0
    assert "Accepted: bounds.income of survey: 0 to 200000 became 0 to 300000. Left" in accepted.stderr
    assert ask(folder).returncode == 0
    declare(folder, "", bounds="300_000", epsilon="epsilon = 2.0")
    assert ask(folder).returncode == 3
    assert "Accepted: budget ε = 1, δ = 1e-06 → ε = 2, δ = 1e-06. Left: ε = 1.6" in ledger(folder, "accept").stderr
    assert "Nothing to accept. Left: ε = 1.6" in ledger(folder, "accept").stderr
    declare(folder, "", bounds="300_000", epsilon="epsilon = 0.1")
    lower = ledger(folder, "accept")
    assert lower.returncode == 3
    assert "below what is already spent" in lower.stderr
    declare(folder, "", bounds="300_000", epsilon="epsilon = 2.0", unit='"region"')
    never = ledger(folder, "accept")
    assert never.returncode in (2, 3)
    declare(folder, "", bounds="300_000", epsilon="epsilon = 2.0")
    assert ask(folder).returncode == 0


def test_a_changed_limit_is_named_when_it_is_accepted(folder: Path) -> None:
    ask(folder, "--analyst", "ben")
    declare(folder, "", analysts="[analysts.ann]\nepsilon = 0.1\n[analysts.ben]\nepsilon = 0.3")
    refused = ask(folder)
    assert refused.returncode == 3
    assert "limits analyst 'ann' to ε = 0.5, but the policy says ε = 0.1." in refused.stderr
    accepted = ledger(folder, "accept").stderr
    assert "Accepted: limit of ann ε = 0.5 → ε = 0.1; limit of ben none → ε = 0.3. Left: ε = 0.8" in accepted


def test_accept_says_what_is_left_in_all_if_nobody_but_the_listed_may_ask(folder: Path) -> None:
    ask(folder, "--analyst", "ann")
    declare(folder, "", analysts='[analysts.ann]\nepsilon = 0.3\n[analysts."*"]\nepsilon = 0')
    assert "Left: ε = 0.8, δ = 1e-06 of ε = 1" in ledger(folder, "accept").stderr


def test_a_plan_says_what_is_left_for_the_analyst_and_in_all(folder: Path) -> None:
    ask(folder, "--analyst", "ann")
    planned = run(folder, "plan", "policy.toml", COUNT, "--epsilon", "0.4", "--analyst", "ann")
    assert "Left for ann: ε = 0.3, δ = 0 of ε = 0.5. Left in all: ε = 0.8, δ = 1e-06 of ε = 1" in planned.stderr
    assert "for this analyst, costs epsilon = 0.4 but only 0.3 is left" in planned.stderr
    declare(folder, "", analysts="[analysts.ann]\nepsilon = 0.1")
    ledger(folder, "accept")
    planned = run(folder, "plan", "policy.toml", COUNT, "--epsilon", "0.4", "--analyst", "ann")
    assert "Left for ann: ε = 0, δ = 0 of ε = 0.1. Left in all: ε = 0.8" in planned.stderr


def test_a_question_is_free_the_second_time_under_one_version_of_the_data(folder: Path) -> None:
    declare(folder, 'data_version = "one"')
    first, second = ask(folder, "--json"), ask(folder, "--json")
    assert json.loads(first.stdout)["rows"] == json.loads(second.stdout)["rows"]
    assert json.loads(second.stdout)["left"]["epsilon"] == 0.8
    other = json.loads(ask(folder, "--json", "--analyst", "ann").stdout)
    assert other["left"]["epsilon"] == 0.3  # of ann's own limit
    declare(folder, 'data_version = "two"')
    assert json.loads(ask(folder, "--json").stdout)["left"]["epsilon"] == 0.4  # what was spent stays spent


def test_a_request_is_answered_once_and_no_other_question_may_have_its_name(folder: Path) -> None:
    first = json.loads(ask(folder, "--json", "--request", "monday").stdout)
    again = json.loads(ask(folder, "--json", "--request", "monday").stdout)
    assert (again["rows"], again["left"]) == (first["rows"], first["left"])
    refused = ask(folder, "--request", "monday", epsilon="0.1")
    assert refused.returncode == 3
    assert "another name" in refused.stderr


def test_only_other_units_get_a_fresh_budget(folder: Path) -> None:
    declare(folder, 'data_version = "2025"')
    ask(folder, epsilon="0.9")
    declare(folder, 'data_version = "2026"')
    refused = ledger(folder, "renew")
    assert refused.returncode == 3
    assert "--disjoint-units" in refused.stderr
    assert ledger(folder, "renew", "--disjoint-units").returncode == 0
    assert ask(folder, epsilon="0.9").returncode == 0
    assert ledger(folder, "verify").returncode == 0


def test_a_chart_of_what_was_left(folder: Path) -> None:
    ask(folder)
    assert ledger(folder, "show", "--chart", "left.svg").returncode == 0
    assert (folder / "left.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize("words", [(), ("verify",), ("export",), ("accept",), ("renew", "--disjoint-units")])
def test_where_there_is_no_ledger_nothing_was_ever_spent_and_none_is_made(folder: Path, words: tuple[str, ...]) -> None:
    declare(folder, 'data_version = "2026"')
    before = sorted(folder.iterdir())
    done = ledger(folder, *words)
    assert (done.returncode, done.stdout) == (4, "")
    assert "does not exist yet" in done.stderr
    assert "nothing was ever spent through it" in done.stderr
    result = json.loads(ledger(folder, *words, "--json").stderr)["error"]
    assert (result["kind"], result["code"]) == ("LedgerError", 4)
    assert sorted(folder.iterdir()) == before


NEW = "Created a new ledger at "


def test_a_new_ledger_is_announced_once(folder: Path) -> None:
    first = run(folder, "query", "policy.toml", COUNT, "--epsilon", "0.2")
    assert first.returncode == 0
    assert first.stderr.count(NEW) == 1
    assert "survey.ledger. If you expected an existing ledger, stop and restore it" in first.stderr
    assert NEW not in first.stdout
    assert NEW not in ask(folder).stderr
    assert NEW not in ledger(folder, "accept").stderr
    (folder / "survey.ledger").unlink()
    assert NEW in ask(folder).stderr


def test_json_has_a_key_for_a_new_ledger(folder: Path) -> None:
    for begun in (True, False):
        done = run(folder, "query", "policy.toml", COUNT, "--epsilon", "0.2", "--json")
        assert (json.loads(done.stdout)["ledger_begun"], done.stderr) == (begun, "")


def test_a_refused_query_creates_no_ledger(folder: Path) -> None:
    done = ask(folder, "--json", epsilon="7")
    assert (done.returncode, done.stdout) == (3, "")
    message = json.loads(done.stderr)["error"]["message"]
    assert "only 1.0 is left" in message
    assert NEW not in message
    assert NEW not in run(folder, "query", "policy.toml", "SELECT nothing", "--epsilon", "0.2").stderr
    assert not (folder / "survey.ledger").exists()


def test_mistakes_are_reported(folder: Path) -> None:
    assert ledger(folder, "burn").returncode == 2
    missing = ledger(folder, "verify")
    assert missing.returncode == 4
    assert "does not exist yet" in missing.stderr
    (folder / "survey.ledger").write_text("secret " * 999, encoding="utf-8")
    foreign = ledger(folder, "show")
    assert foreign.returncode == 4
    assert "secret" not in foreign.stderr
    assert ask(folder).returncode == 4
    control = ask(folder, "--analyst", "a\x07b")
    assert control.returncode in (2, 4)


def test_the_environment_stands_above_the_policy_and_below_an_option(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_LEDGER", "environment.ledger")
    monkeypatch.setenv("TACIT_ANALYST", "eve")
    ask(folder)
    assert (folder / "environment.ledger").exists()
    assert not (folder / "survey.ledger").exists()
    assert "eve" in ledger(folder).stdout
    ask(folder, "--ledger", "option.ledger", "--analyst", "otto")
    assert "otto" in ledger(folder, "show", "--ledger", "option.ledger").stdout


def test_a_ledger_is_moved_and_the_policy_must_name_the_new_place(folder: Path) -> None:
    assert run(folder, "query", "policy.toml", COUNT, "--epsilon", "0.25").returncode == 0
    moved = run(folder, "ledger", "move", "survey.ledger", "${NEW_PLACE}", "--json", NEW_PLACE="new.ledger")
    assert moved.returncode == 0
    assert json.loads(moved.stdout)["holds"]
    refused = run(folder, "query", "policy.toml", COUNT, "--epsilon", "0.25")
    assert refused.returncode == 4
    assert "sealed: it was moved to" in refused.stderr
    assert "What is left can be spent there only." in ledger(folder, "show").stderr
    assert json.loads(ledger(folder, "show", "--json").stdout)["moved_to"].endswith("new.ledger")
    assert "new.ledger" in refused.stderr
    assert "Nothing was spent." in refused.stderr
    assert run(folder, "query", "policy.toml", COUNT, "--epsilon", "0.25", "--ledger", "new.ledger").returncode == 0
    shown = run(folder, "ledger", "policy.toml", "--json", "--ledger", "new.ledger")
    assert [entry["outcome"] for entry in json.loads(shown.stdout)["entries"]] == ["answered"] * 2
    assert run(folder, "ledger", "verify", "policy.toml").returncode == 0  # the old one can still be read
    elsewhere = run(folder, "ledger", "move", "survey.ledger", "other.ledger", "--json")
    assert elsewhere.returncode == 4
    assert "--lost" in json.loads(elsewhere.stderr)["error"]["message"]
    assert run(folder, "ledger", "move", "survey.ledger", "new.ledger").stderr.startswith("The old ledger is sealed.")


def test_upgrade_reports_what_it_did(folder: Path) -> None:
    assert run(folder, "ledger", "upgrade", "policy.toml").returncode == 4  # there is no ledger
    assert run(folder, "query", "policy.toml", COUNT, "--epsilon", "0.25").returncode == 0
    assert "needs no upgrade" in run(folder, "ledger", "upgrade", "policy.toml").stderr
