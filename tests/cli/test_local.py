"""`tacit local` as a surveyor, a device and a server run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from cli_runs import run
from tacit.cli import output
from tacit.cli.local_commands import local_app
from tacit.cli.local_protocols import ProtocolOptions
from tacit.cli.local_simulate import SHARES, SimulateOptions
from tacit.errors import InvalidError, NoSourceError, TacitError
from tacit.local import OLH, OUE, SUE, Aggregator, Protocol, Reports, SubsetSelection, protocol
from tacit.local.parameters import ORACLES

DRINKS = ["tea", "coffee", "water", "mate"]
PEOPLE = ["tea"] * 600 + ["mate"] * 400


def call(*words: object) -> str:
    """Run a command in this process and return what it prints."""
    done = CliRunner().invoke(local_app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def said(*words: object) -> str:
    """Run a command in this process and return its messages on stderr."""
    return CliRunner().invoke(local_app, [str(word) for word in words], catch_exceptions=False).stderr


def json_of(*words: object) -> dict[str, object]:
    result = json.loads(call(*words, "--json"))
    assert result["schema"] == 1
    return dict(result)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drinks.txt").write_text("\n".join(DRINKS) + "\n", encoding="utf-8")
    (tmp_path / "people.txt").write_text("\n".join(PEOPLE) + "\n", encoding="utf-8")
    call("choose", "--domain", "drinks.txt", "--epsilon", 2, "--save", "survey.json")
    return tmp_path


def test_a_survey_from_start_to_finish_as_a_program(folder: Path) -> None:
    done = run(folder, "local", "randomize", "survey.json", "people.txt", "--out", "reports.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Wrote 1,000 GRR reports to reports.jsonl; each cost its person ε = 2." in done.stderr
    done = run(folder, "local", "aggregate", "survey.json", "reports.jsonl")
    assert done.returncode == 0
    assert "95% interval" in done.stdout
    assert "1,000 GRR reports of ε = 2. Unbiased." in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("randomize", "survey.json", "drinks.json"), 4),
        (("aggregate", "survey.json", "missing.bin"), 4),
        (("aggregate", "survey.json", "missing.parquet"), 4),
        (("aggregate", "missing.json", "people.txt"), 2),
        (("choose", "--epsilon", "0", "--domain-size", "4"), 2),
        (("choose", "--domain-size", "4"), 2),
    ],
)
def test_errors_have_their_exit_codes_and_speak_json(folder: Path, words: tuple[str, ...], code: int) -> None:
    done = run(folder, "local", *words, "--json")
    assert (done.returncode, done.stdout) == (code, "")
    assert json.loads(done.stderr)["error"]["code"] == code


@pytest.mark.parametrize("out", ["reports.jsonl", "reports.parquet", "reports.bin"])
@pytest.mark.usefixtures("folder")
def test_reports_go_through_every_kind_of_file(out: str) -> None:
    assert json_of("randomize", "survey.json", "people.txt", "--out", out)["reports"] == 1000
    result = json_of("aggregate", "survey.json", out)
    assert (result["reports"], result["dropped"], result["biased"]) == (1000, 0, False)
    rows = result["rows"]
    assert isinstance(rows, list)
    assert {row["value"] for row in rows} == set(DRINKS)
    assert all(0 <= row["low"] <= row["high"] <= 1000 for row in rows)  # an estimate itself may be below 0
    assert rows == sorted(rows, key=lambda row: -row["count"])


def test_reports_go_through_pipes(folder: Path) -> None:
    drawn = run(folder, "local", "randomize", "survey.json", "people.txt")
    assert len(Reports.from_json_lines(drawn.stdout)) == 1000
    (folder / "piped.jsonl").write_text(drawn.stdout, encoding="utf-8")
    assert json_of("aggregate", "survey.json", "piped.jsonl")["reports"] == 1000


def test_tallies_go_on_merge_and_are_saved(folder: Path) -> None:
    call("randomize", "survey.json", "people.txt", "--out", "day.bin")
    for days in (1, 2):
        assert json_of("aggregate", "survey.json", "day.bin", "--tally", "all.npz")["reports"] == 1000 * days
    assert json_of("aggregate", "survey.json", "--tally", "all.npz")["reports"] == 2000
    assert json_of("aggregate", "survey.json", "all.npz", "day.bin")["reports"] == 3000
    assert Aggregator.load(folder / "all.npz").n == 2000


def test_a_file_that_fails_leaves_the_tally_as_it_was(folder: Path) -> None:
    call("randomize", "survey.json", "people.txt", "--out", "day.bin")
    call("aggregate", "survey.json", "day.bin", "--tally", "all.npz")
    with pytest.raises(NoSourceError):
        call("aggregate", "survey.json", "day.bin", "missing.bin", "--tally", "all.npz")
    assert Aggregator.load(folder / "all.npz").n == 1000
    with pytest.raises(InvalidError, match="a folder that exists"):
        call("aggregate", "survey.json", "day.bin", "--tally", "nowhere/all.npz")


def test_what_is_malformed_is_counted_and_dropped_and_the_rest_is_kept(folder: Path) -> None:
    oracle = protocol((folder / "survey.json").read_text(encoding="utf-8"))
    good, strange = oracle.randomize(PEOPLE), OLH(domain=9, epsilon=1).randomize([1, 2])
    (folder / "mixed.jsonl").write_bytes(
        good.to_json_lines().encode() + strange.to_json_lines().encode() + b"\xff\xfe nonsense\n{}\n"
    )
    result = json_of("aggregate", "survey.json", "mixed.jsonl")
    assert (result["reports"], result["dropped"]) == (1000, 4)


def test_nothing_is_drawn_unless_every_line_is_a_value_and_no_value_is_repeated(folder: Path) -> None:
    (folder / "people.txt").write_text("tea\nsecret\n", encoding="utf-8")
    with pytest.raises(InvalidError, match="Line 2 is not a value") as caught:
        call("randomize", "survey.json", "people.txt", "--out", "reports.bin")
    assert "secret" not in str(caught.value)
    assert not (folder / "reports.bin").exists()
    for text in (b"", b"\xff\xff\n"):
        (folder / "people.txt").write_bytes(text)
        with pytest.raises(InvalidError):
            call("randomize", "survey.json", "people.txt")


def test_numbers_and_truth_are_spelled_as_json_has_them(folder: Path) -> None:
    (folder / "mixed.json").write_text('["a", 1.5, 7, true]', encoding="utf-8")
    call("choose", "--domain", "mixed.json", "--epsilon", 1, "--save", "mixed.survey")
    (folder / "people.txt").write_text("a\r\n1.5\n7\ntrue\n", encoding="utf-8")
    assert json_of("randomize", "mixed.survey", "people.txt", "--out", "r.bin")["reports"] == 4
    (folder / "alike.json").write_text('["7", 7]', encoding="utf-8")
    call("choose", "--domain", "alike.json", "--epsilon", 1, "--save", "alike.survey")
    with pytest.raises(InvalidError, match="same spelling"):
        call("randomize", "alike.survey", "people.txt")


@pytest.mark.parametrize("line", ["10", "-1", "1.0", "", "٣", "1" * 5000])
def test_a_counted_domain_takes_whole_numbers_alone(folder: Path, line: str) -> None:
    call("choose", "--domain-size", 10, "--epsilon", 1, "--save", "ten.json")
    (folder / "people.txt").write_text(f"3\n9\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidError, match="Line 3"):
        call("randomize", "ten.json", "people.txt")


def test_a_value_moves_no_cursor(folder: Path) -> None:
    (folder / "odd.json").write_text(json.dumps(["\x1b[31mred", "plain"]), encoding="utf-8")
    call("choose", "--domain", "odd.json", "--epsilon", 3, "--save", "odd.survey")
    (folder / "people.txt").write_text("plain\n" * 50, encoding="utf-8")
    call("randomize", "odd.survey", "people.txt", "--out", "odd.bin")
    shown = call("aggregate", "odd.survey", "odd.bin")
    assert "\\x1b[31mred" in shown
    assert "\x1b" not in shown


def test_choose_names_the_best_and_writes_what_is_asked_for(folder: Path) -> None:
    result = json_of("choose", "--domain-size", 1024, "--epsilon", 1, "--save", "p.json", "--protocol", "olh")
    assert (result["best"], result["protocol"]) == ("ProjectiveGeometry", "OLH")
    assert protocol((folder / "p.json").read_text(encoding="utf-8")).digest == result["digest"]
    assert json_of("choose", "--domain-size", 2, "--epsilon", 1, "--protocol", "Warner")["protocol"] == "Warner"
    shown = call("choose", "--domain-size", 1024, "--epsilon", 1, "--max-report-bytes", 9)
    assert all(name in shown for name in ORACLES)


@pytest.mark.parametrize(
    "words",
    [
        ("choose", "--epsilon", 1),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--domain", "drinks.txt"),
        ("choose", "--epsilon", "nan", "--domain-size", 4),
        ("choose", "--epsilon", 51, "--domain-size", 4),
        ("choose", "--epsilon", 1, "--domain-size", 1),
        ("choose", "--epsilon", 1, "--domain", "people.txt"),
        ("choose", "--epsilon", 1, "--domain", "missing.txt"),
        ("choose", "--epsilon", 1, "--domain", "survey.json"),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--protocol", "RAPPOR"),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--protocol", "Warner"),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--against", "n"),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--against", "d"),
        ("choose", "--epsilon", 1, "--domain-size", 4096, "--protocol", "OUE", "--max-report-bytes", 8),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--people", 0),
        ("choose", "--epsilon", 1, "--domain-size", 999, "--max-report-bytes", 1),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--save", "nowhere/p.json"),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--chart", "a.exe"),
        ("randomize", "drinks.txt", "people.txt"),
        ("randomize", "survey.json", "people.txt", "--out", "nowhere/r.bin"),
        ("aggregate", "survey.json"),
        ("aggregate", "survey.json", "people.txt", "--consistent", "wishful"),
        ("aggregate", "survey.json", "people.txt", "--tally", "people.txt"),
        ("aggregate", "survey.json", "drinks.npz"),
        ("simulate", "--epsilon", 1, "--population", "mine"),
        ("simulate", "--epsilon", 1, "--people", 10**9),
        ("simulate", "--epsilon", 1, "--runs", 0),
        ("simulate", "--epsilon", 1, "--protocol", "RAPPOR"),
        ("simulate", "--epsilon", 1, "--people", 10**8, "--consistent", "none"),
        ("simulate",),
        ("simulate", "--epsilon", 1, "--p", 0.75),
        ("simulate", "--epsilon", 1, "--protocol", "Warner", "--domain-size", 3),
        ("simulate", "--p", 0.75, "--words", "yes,no", "--domain-size", 2),
        ("simulate", "--p", 0.75, "--protocol", "Hadamard"),
        ("simulate", "--epsilon", 1, "--seed", -1),
        ("choose", "--p", 0.5),
        ("choose", "--p", 0),
        ("choose", "--p", 1),
        ("choose", "--p", "nan"),
        ("choose", "--p", 0.75, "--epsilon", 1),
        ("choose", "--p", 0.75, "--words", "yes,yes"),
        ("choose", "--p", 0.75, "--words", "yes"),
        ("choose", "--p", 0.75, "--words", "yes,"),
        ("choose", "--p", 0.75, "--words", "a,b,c"),
        ("choose", "--p", 0.75, "--words", "yes,no", "--domain-size", 2),
        ("choose", "--p", 0.75, "--domain", "drinks.txt"),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--client", "fax"),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--q", 0.2),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--p", 0.5, "--q", 0.2),
        ("choose", "--p", 0.2, "--domain-size", 4, "--q", 0.2),
        ("choose", "--p", 0.5, "--domain-size", 4, "--q", "nan"),
        ("choose", "--p", 0.5, "--domain-size", 4, "--q", 0.2, "--buckets", 4),
        ("choose", "--p", 0.5, "--domain-size", 4, "--q", 0.2, "--protocol", "GRR"),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--buckets", 1),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--buckets", 4, "--protocol", "OUE"),
        ("choose", "--p", 0.5, "--domain-size", 4, "--protocol", "OLH"),
        ("choose", "--p", 0.25, "--domain-size", 4, "--buckets", 4),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--size", 4),
        ("choose", "--epsilon", 1, "--domain-size", 4, "--size", 0),
        ("choose", "--p", 0.5, "--domain-size", 4, "--size", 2),
        ("simulate", "--epsilon", 1, "--protocol", "GRR", "--protocol", "SUE", "--size", 2),
        ("simulate", "--epsilon", 1, "--protocol", "GRR", "--protocol", "SUE", "--p", 0.7),
    ],
    ids=lambda words: " ".join(map(str, words)),
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_is_said_to_be(words: tuple[object, ...]) -> None:
    with pytest.raises(TacitError):
        call(*words)


def test_a_yes_or_no_question_in_the_users_own_words(folder: Path) -> None:
    """Warner's coin of 1965 from p, through every command."""
    chosen = json_of("choose", "--p", 0.75, "--words", "ja,nein", "--save", "question.json")
    assert (chosen["protocol"], chosen["epsilon"]) == ("Warner", pytest.approx(1.0986122886681098))
    (folder / "answers.txt").write_text("ja\n" * 300 + "nein\n" * 700, encoding="utf-8")
    assert json_of("randomize", "question.json", "answers.txt", "--out", "r.jsonl")["reports"] == 1000
    rows = json_of("aggregate", "question.json", "r.jsonl")["rows"]
    assert isinstance(rows, list)
    assert {row["value"] for row in rows} == {"ja", "nein"}
    assert sum(row["count"] for row in rows) == pytest.approx(1000)
    (folder / "answers.txt").write_text("ja\noui\n", encoding="utf-8")
    with pytest.raises(InvalidError, match="Line 2"):
        call("randomize", "question.json", "answers.txt")


def test_a_file_of_two_lines_is_a_question_too(folder: Path) -> None:
    (folder / "yes-no.txt").write_text("yes\nno\n", encoding="utf-8")
    words = ("choose", "--domain", "yes-no.txt", "--protocol", "Warner")
    assert json_of(*words, "--epsilon", 1, "--save", "q.json")["protocol"] == "Warner"
    assert protocol((folder / "q.json").read_text(encoding="utf-8")).domain == ("yes", "no")
    assert json_of(*words, "--p", 0.75)["domain_size"] == 2
    assert json_of("choose", "--p", 0.75)["protocol"] == "Warner"
    assert json_of("choose", "--p", 0.5, "--domain-size", 4, "--protocol", "GRR")["epsilon"] == pytest.approx(1.0986123)
    assert json_of("choose", "--epsilon", 1, "--domain-size", 1024, "--client", "browser")["best"] in ORACLES


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (("--p", 0.7, "--q", 0.2), OUE(domain=8, p=0.7, q=0.2)),
        (("--epsilon", 1, "--p", 0.3, "--protocol", "oue"), OUE(domain=8, epsilon=1, p=0.3)),
        (("--epsilon", 1, "--buckets", 16), OLH(domain=8, epsilon=1, buckets=16)),
        (("--p", 0.5, "--buckets", 3), OLH(domain=8, p=0.5, buckets=3)),
        (("--epsilon", 1, "--size", 3), SubsetSelection(domain=8, epsilon=1, size=3)),
        (("--p", 0.7, "--protocol", "SUE"), SUE(domain=8, p=0.7)),
    ],
)
def test_own_constants_make_the_protocol_of_python(words: tuple[object, ...], made: Protocol, folder: Path) -> None:
    chosen = json_of("choose", "--domain-size", 8, *words, "--people", 1000, "--save", "own.json", "--force")
    assert protocol((folder / "own.json").read_text(encoding="utf-8")).digest == made.digest
    assert chosen["std"] == pytest.approx(made.variance(n=1000) ** 0.5)
    shown = said("choose", "--domain-size", 8, *words, "--people", 1000)
    assert f"standard error {made.variance(n=1000) ** 0.5:,.0f}, ε = {made.epsilon:g}" in shown
    (row,) = cast("list[Any]", json_of("simulate", "--domain-size", 8, *words, "--people", 10, "--seed", 1)["rows"])
    assert row["protocol"] == type(made).__name__


def test_each_simulated_protocol_gets_the_constants_that_it_takes() -> None:
    words = ("simulate", "--epsilon", 1, "--protocol", "OUE", "--protocol", "OLH", "--people", 100, "--seed", 1)
    plain, own = json_of(*words), json_of(*words, "--buckets", 20)
    predicted = [[row["predicted"] for row in cast("list[Any]", each["rows"])] for each in (plain, own)]
    assert predicted[0][0] == predicted[1][0]
    assert predicted[0][1] < predicted[1][1]
    assert (own["buckets"], own["size"], own["q"]) == (20, None, None)


def test_a_wrong_constant_is_named_as_the_shell_names_it() -> None:
    with pytest.raises(InvalidError, match=r"^--size must be a whole number from 1 to 3, not 4\.$"):
        call("choose", "--epsilon", 1, "--domain-size", 4, "--size", 4)


def test_simulations_repeat_with_a_seed_for_every_protocol() -> None:
    words = (
        "simulate",
        "--epsilon",
        1,
        "--people",
        200,
        "--domain-size",
        2,
        "--protocol",
        "Warner",
        "--protocol",
        "OLH",
    )
    first, twin, other = (json_of(*words, "--seed", seed) for seed in (5, 5, 6))
    assert (first["seed"], first["p"], first["epsilon"], first["domain_size"]) == (5, None, 1, 2)
    assert first == twin
    assert first["rows"] != other["rows"]
    question = json_of("simulate", "--p", 0.75, "--words", "yes,no", "--people", 100, "--seed", 1)
    rows = question["rows"]
    assert isinstance(rows, list)
    assert (question["domain_size"], [row["protocol"] for row in rows]) == (2, ["Warner"])


@pytest.mark.usefixtures("folder")
def test_consistent_counts_say_that_they_are_biased() -> None:
    call("randomize", "survey.json", "people.txt", "--out", "day.bin")
    result = json_of("aggregate", "survey.json", "day.bin", "--consistent", "norm-sub", "--simultaneous")
    rows = result["rows"]
    assert isinstance(rows, list)
    assert (result["biased"], result["consistent"], result["simultaneous"]) == (True, "norm-sub", True)
    assert sum(row["count"] for row in rows) == pytest.approx(1000)


def test_simulate_finds_what_theory_says() -> None:
    """Each error is a mean of squares over 60·64 nearly independent estimates; a factor of 1.25 is beyond 10 sigmas."""
    result = json_of("simulate", "--epsilon", 1, "--domain-size", 64, "--people", 2000, "--runs", 60)
    rows = result["rows"]
    assert isinstance(rows, list)
    assert [row["protocol"] for row in rows] == list(ORACLES)
    for row in rows:
        assert 1 / 1.25 < row["found"] / row["predicted"] < 1.25
        assert 0.9 < row["covered"] < 0.99
        assert row["consistent"] < row["found"]
    shown = call(
        "simulate", "--epsilon", 1, "--domain-size", 8, "--people", 100, "--protocol", "GRR", "--protocol", "oue"
    )
    assert "GRR" in shown
    assert "OLH" not in shown


@pytest.mark.parametrize("population", SHARES)
@pytest.mark.parametrize("people", [1, 10, 12_345])
@pytest.mark.parametrize("d", [2, 3000])
def test_a_made_up_population_has_as_many_people_as_asked_for(population: str, people: int, d: int) -> None:
    options = SimulateOptions(
        numbers=ProtocolOptions(epsilon=1, p=None),
        domain_size=d,
        words=None,
        people=people,
        population=population,
        protocols=(),
        runs=1,
        seed=None,
        consistent=None,
    )
    truth = options.truth(d)
    assert (truth.size, truth.sum(), truth.min() >= 0) == (d, people, True)


def test_charts_are_drawn(folder: Path) -> None:
    call("choose", "--domain-size", 16, "--epsilon", 1, "--chart", "epsilon.svg")
    call("choose", "--domain-size", 16, "--epsilon", 1, "--chart", "d.svg", "--against", "d")
    call("randomize", "survey.json", "people.txt", "--out", "day.bin")
    call("aggregate", "survey.json", "day.bin", "--chart", "estimate.svg")
    call("simulate", "--epsilon", 1, "--people", 100, "--protocol", "OUE", "--chart", "one.svg")
    call("simulate", "--epsilon", 1, "--people", 100, "--domain-size", 8, "--chart", "all.svg")
    call("choose", "--domain-size", 16, "--epsilon", 1, "--chart", "p.svg", "--against", "p")
    call("choose", "--domain-size", 16, "--epsilon", 1, "--chart", "g.svg", "--against", "g")
    call("simulate", "--p", 0.75, "--words", "yes,no", "--people", 100, "--seed", 1, "--chart", "question.svg")
    for name in ("epsilon", "d", "estimate", "one", "all", "p", "g", "question"):
        assert (folder / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")


def test_progress_is_shown_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with output.counting("Adding") as step:
        step(3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with output.counting("Adding", 5) as step:
        step(3)
    assert "Adding" in capsys.readouterr().err
