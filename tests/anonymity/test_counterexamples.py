"""Tables and requirements for which the microdata tools once broke a guarantee."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tacit as tc
from tacit.anonymity import candidates, optimal, problem
from tacit.anonymity.linkage import compare, covers, link
from tacit.anonymity.roles import Roles
from tacit.anonymity.search import METHODS
from tacit.anonymity.tables import read
from tacit.errors import ColumnValueError, InvalidError, UnreadableFileError

ROWS: dict[str, list[Any]] = {"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "y"]}
PUBLISHED = tc.anonymity.anonymize(ROWS, quasi={"q": tc.anonymity.suppress()}, require=tc.KAnonymity(2))


def attack(**ask: Any) -> tc.anonymity.Attack:  # noqa: ANN401 - any argument
    return tc.anonymity.attack(ROWS, quasi=["q"], sensitive="s", **ask)


@pytest.mark.parametrize("size", [40, 1000])
def test_an_order_with_many_more_values_than_the_data_is_measured_rightly(size: int) -> None:
    """The compiled loops wrote beyond their arrays, and reported possible requirements as impossible."""
    rows = {"q": [0, 0, 1, 1], "s": [0, size - 1, 0, size - 1]}
    for method in ("optimal", "mondrian", "local"):
        out = tc.anonymity.anonymize(
            rows,
            quasi={"q": tc.anonymity.suppress()},
            sensitive="s",
            require=[tc.TCloseness(0.15, distance="ordered", hierarchy=list(range(size)))],
            method=method,
        )
        assert out.loss == 0


def wrong_bounds(trials: int) -> int:
    """Return how many stopped searches claim a lower bound above the best loss."""
    rng, wrong = np.random.default_rng(1), 0
    for trial in range(trials):
        rows, names = int(rng.integers(20, 60)), "abcdef"[: int(rng.integers(2, 6))]
        table = read({name: rng.choice(4, rows, p=[0.7, 0.1, 0.1, 0.1]).tolist() for name in names})
        quasi = {name: tc.anonymity.suppress() if rng.random() < 0.5 else tc.anonymity.intervals([2]) for name in names}
        mean = ("geometric", "arithmetic")[trial % 2]
        stated = problem.state_problem(table, Roles(tuple(names), (), None, ()), quasi, tc.KAnonymity(4), "loss", mean)
        limit = int(rng.integers(0, rows // 2))
        best = candidates.find_levels(stated, limit).certificate.loss
        for steps in range(1, 60):
            walk = optimal.Walk(stated, list(range(len(names))), limit)
            if walk.advance(steps):
                break
            wrong += walk.result(0).certificate.lower > best + 1e-9
    return wrong


def test_a_search_that_is_stopped_claims_no_more_than_it_knows() -> None:
    """The lower bound used to omit the node that the walk was at."""
    assert wrong_bounds(30) == 0


def test_a_bound_that_leaves_out_the_node_at_hand_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def stale(walk: optimal.Walk, depth: int) -> list[float]:
        candidates = walk.space.candidates
        return [float(bound) for bound in candidates.bounds[depth, candidates.next[depth] : candidates.many[depth]]]

    monkeypatch.setattr(optimal.Walk, "_open", stale)
    assert wrong_bounds(30) > 0


def test_a_requirement_on_sensitive_values_needs_some() -> None:
    rows = {"q": [1, 1, 1, 2, 2, 2], "s": ["x"] * 6}
    report = tc.anonymity.check(rows, quasi=["q"])
    for model in (tc.LDiversity(5), tc.TCloseness(0.0)):
        with pytest.raises(InvalidError, match="sensitive"):
            report.meets(model)
    out = tc.anonymity.anonymize(rows, quasi={"q": tc.anonymity.suppress()}, require=[tc.KAnonymity(3)])
    with pytest.raises(InvalidError, match="sensitive"):
        tc.anonymity.transform(rows, out.recoding, require=[tc.KAnonymity(3), tc.LDiversity(3)], keep=["s"])
    with pytest.raises(InvalidError, match="keep"):
        tc.anonymity.transform(rows, out.recoding, require=tc.KAnonymity(3), keep=["q"])


ODD_EVEN = [[str(i), "odd" if i % 2 else "even", "*"] for i in range(1, 9)]


def says(label: object, number: int) -> bool:
    """Return whether a published number, range or "*" covers a number, parsed independently."""
    if label == "*":
        return True
    ends = [int(end) for end in str(label).strip("[]").split(",")]
    return ends[0] <= number <= ends[-1]


@pytest.mark.parametrize("strict", [True, False])
def test_ranges_of_mondrian_are_true_and_tight_whatever_the_groups(strict: bool) -> None:  # noqa: FBT001 - a case
    """Groups that are not intervals gave [5, 4], and ranges without any of their rows."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        numbers = rng.integers(1, 9, int(rng.integers(4, 30))).tolist()
        rows = {"n": numbers, "id": [str(i) for i in range(len(numbers))]}
        out = tc.anonymity.anonymize(
            rows,
            quasi={"n": tc.anonymity.hierarchy(ODD_EVEN)},
            require=tc.KAnonymity(3),
            method="mondrian",
            strict=strict,
            keep=["id"],
        )
        held: dict[str, set[int]] = {}
        for label, who in zip(out.table["n"].to_list(), out.table["id"].to_list(), strict=True):
            assert says(label, numbers[int(who)])
            held.setdefault(str(label), set()).add(numbers[int(who)])
        for label, inside in held.items():
            if label != "*":
                assert {int(end) for end in label.strip("[]").split(",")} == {min(inside), max(inside)}


def test_a_recoding_of_ranges_is_the_same_after_it_was_saved(tmp_path: Path) -> None:
    rows = {"n": [1, 1, 3, 3, 5, 7, 2, 4, 6, 6, 8, 8]}
    quasi = {"n": tc.anonymity.hierarchy(ODD_EVEN)}
    out = tc.anonymity.anonymize(rows, quasi=quasi, require=tc.KAnonymity(4), method="mondrian")
    out.save(tmp_path / "recoding.json")
    loaded = tc.anonymity.Recoding.load(tmp_path / "recoding.json")
    again = tc.anonymity.transform(rows, loaded, require=tc.KAnonymity(4))
    assert sorted(again.table["n"]) == sorted(out.table["n"])


def test_linkage_reads_ranges_beside_hierarchies_and_refuses_to_say_that_nobody_falls() -> None:
    """With hierarchies, linkage never tried the ranges of Mondrian; without them, recoded values matched nobody."""
    quasi = {"age": tc.anonymity.intervals([10, 20])}
    rows = {"age": [20, 25, 30, 40, 45, 50], "s": list("xxxyyy")}
    out = tc.anonymity.anonymize(rows, quasi=quasi, sensitive="s", require=tc.KAnonymity(3), method="mondrian")
    ask: dict[str, Any] = {"kind": "linkage", "quasi": ["age"], "sensitive": "s", "outside": {"age": [25, 45]}}
    assert tc.anonymity.attack(out.table, **ask).fallen == 2
    assert tc.anonymity.attack(out.table, **ask, hierarchies=quasi).fallen == 2
    with pytest.raises(InvalidError, match="zip"):
        tc.anonymity.attack(out.table, **ask, hierarchies={"zip": tc.anonymity.mask(5)})
    jobs = {"job": ["State", "Private"] * 2, "s": list("xyxy")}
    tree = [["clerk", "State", "*"], ["judge", "State", "*"], ["baker", "Private", "*"]]
    ask = {"kind": "linkage", "quasi": ["job"], "sensitive": "s", "outside": {"job": ["clerk", "baker"]}}
    with pytest.raises(InvalidError, match="hierarchies"):
        tc.anonymity.attack(jobs, **ask)
    assert tc.anonymity.attack(jobs, **ask, hierarchies={"job": tree}).fallen == 2
    mixed = {"job": ["clerk", "Private"] * 2, "s": list("xyxy")}
    partly = tc.anonymity.attack(mixed, **ask)
    assert partly.fallen == 1
    assert "1 of 2 published values of job" in str(partly)


@pytest.mark.parametrize(
    ("published", "raw", "fits"),
    [
        ("[-10, -5]", "-7", True),
        ("[-10, -5)", "-5", False),
        ("[1e3, 2e3]", "1500", True),
        ("-5--3", "-4", True),
        ("(1e-3, 2E-3]", "0.002", True),
        ("≥-1", "-1", True),
        ("<1e2", "100", False),
        ("39", "39.0", True),
        ("[1, 2]", "1e999999999", False),
    ],
)
def test_ranges_are_read_with_signs_and_exponents(published: str, raw: str, fits: bool) -> None:  # noqa: FBT001 - a case
    assert covers(published, raw) is fits


def test_skewness_is_decided_in_integers() -> None:
    """0.3 is three times 0.1, but not in floats."""
    rows = {"q": ["a"] * 10 + ["b"] * 90, "s": ["x"] * 3 + ["y"] * 7 + ["x"] * 7 + ["y"] * 83}
    ask: dict[str, Any] = {"kind": "skewness", "quasi": ["q"], "sensitive": "s"}
    assert tc.anonymity.attack(rows, **ask, factor=3).fallen == 10
    assert tc.anonymity.attack(rows, **ask, factor=3.0000000001).fallen == 0


def test_values_are_ruled_out_as_they_are_written() -> None:
    ask: dict[str, Any] = {"kind": "background", "quasi": ["q"], "sensitive": "s"}
    assert tc.anonymity.attack({"q": ["a", "a"], "s": ["x", None]}, **ask, excluded=[None]).fallen == 2
    assert tc.anonymity.attack({"q": ["a", "a"], "s": [1.0, 2.0]}, **ask, excluded=[1.0]).fallen == 2
    with pytest.raises(InvalidError, match="excluded"):
        tc.anonymity.attack({"q": ["a", "a"], "s": ["x", "y"]}, **ask, excluded=["z"])
    with pytest.raises(InvalidError, match="excluded"):
        tc.anonymity.attack({"q": ["a", "a"], "s": ["x", "y"]}, **ask, excluded=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("height", [100, 129, 200, 300])
def test_a_hierarchy_of_many_levels_is_recoded_as_a_short_one(height: int) -> None:
    """Levels above 127 did not fit into 8 bits, and the local recoding gave up."""
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 16, 200).tolist() for name in "ab"}

    def loss(levels: int) -> float:
        tree = [[str(i), *[f"g{i // 2}"] * (levels - 2), "*"] for i in range(16)]
        return tc.anonymity.anonymize(rows, quasi={"a": tree, "b": tree}, require=tc.KAnonymity(3), method="local").loss

    assert loss(height) == loss(3)


def test_a_population_counts_persons_and_must_hold_the_table() -> None:
    rows = {"q": ["a"] * 5 + ["b"], "id": ["p"] * 3 + ["r", "s", "t"]}
    wide = {"q": ["a"] * 9 + ["b"] * 2, "id": ["p"] * 6 + ["r", "s", "u", "t", "v"]}
    ask: dict[str, Any] = {"quasi": ["q"], "unit": "id"}
    risk = tc.anonymity.check(rows, **ask, population=wide).risk
    assert risk.journalist == 1 / 2
    assert risk.marketer == pytest.approx((5 / 4 + 1 / 2) / 6)
    for small in ({"q": ["a"] * 9, "id": list("prsuvwxyz")}, {"q": ["a", "a", "b"], "id": ["p", "r", "t"]}):
        with pytest.raises(InvalidError, match="population"):
            tc.anonymity.check(rows, **ask, population=small)
    with pytest.raises(InvalidError, match="'id'"):
        tc.anonymity.check(rows, **ask, population={"q": ["a"] * 9 + ["b"]})
    with pytest.raises(InvalidError, match="recoded alike"):
        tc.anonymity.check({"q": ["[1, 2]"] * 2}, quasi=["q"], population={"q": [1, 2, 3]})


def test_what_is_missing_is_one_value_and_stays_so_in_a_file(tmp_path: Path) -> None:
    """A column of None and "" was 2-diverse, but not once it was written and read again."""
    cells = [None, "", float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN")]
    rows = {"q": ["a"] * 8, "s": [*cells, "x"]}
    assert tc.anonymity.check(rows, quasi=["q"], sensitive="s").distinct_l == 2
    out = tc.anonymity.anonymize(rows, quasi={"q": tc.anonymity.suppress()}, sensitive="s", require=tc.LDiversity(2))
    for suffix in (".csv", ".tsv", ".parquet"):
        out.write(tmp_path / f"out{suffix}")
        again = tc.anonymity.check(tmp_path / f"out{suffix}", quasi=["q"], sensitive="s")
        assert (again.rows, again.distinct_l, again.entropy_l) == (8, 2, out.report.entropy_l)
    with (tmp_path / "stream.csv").open("w") as stream:
        out.write_csv(stream)
    assert tc.anonymity.check(tmp_path / "stream.csv", quasi=["q"], sensitive="s").distinct_l == 2
    with pytest.raises(InvalidError, match="2-diversity"):
        tc.anonymity.anonymize(
            {"q": ["a", "a"], "s": [None, ""]},
            quasi={"q": tc.anonymity.suppress()},
            sensitive="s",
            require=tc.LDiversity(2),
        )
    note = str(tc.anonymity.check({"q": [None, ""], "s": [1, 2]}, quasi=["q"], sensitive="s"))
    assert "every value of q is missing" in note


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_single_column_with_missing_values_keeps_its_rows_in_a_file(tmp_path: Path, suffix: str) -> None:
    out = tc.anonymity.anonymize(
        {"q": [None, None, "x", "x"]}, quasi={"q": tc.anonymity.suppress()}, require=tc.KAnonymity(2)
    )
    out.write(tmp_path / f"out{suffix}")
    assert tc.anonymity.check(tmp_path / f"out{suffix}", quasi=["q"]).classes == {2: 2}


def test_classes_do_not_depend_on_the_order_of_equal_values_of_other_kinds() -> None:
    for cells in permutations([True, 1, "True", "1"]):
        column = read({"q": list(cells)}).column("q")
        assert sorted(column.texts, key=str) == ["1", "True"]
        assert np.bincount(column.codes).tolist() == [2, 2]
    utc, east = datetime(2024, 1, 1, 1, tzinfo=UTC), timezone(timedelta(hours=1))
    moments = [utc, utc.astimezone(east)]
    assert {len(read({"q": list(cells)}).column("q").texts) for cells in permutations(moments)} == {2}
    assert read({"q": [Decimal("39.00"), 39, 39.0, "39", Decimal("39.5"), 39.5]}).column("q").texts == ("39", "39.5")


def test_moments_of_nanoseconds_stay_moments(tmp_path: Path) -> None:
    """A Parquet column of nanoseconds was returned as integers."""
    days = pl.DataFrame({"d": [datetime(2024, 1, 1), datetime(2024, 1, 9), None]})  # noqa: DTZ001 - without a zone
    days.with_columns(pl.col("d").cast(pl.Datetime("ns"))).write_parquet(tmp_path / "days.parquet")
    assert set(read(tmp_path / "days.parquet").column("d").texts) == {"2024-01-01", "2024-01-09", None}
    fine = np.array(["2024-01-01T00:00:00.000000001", "2024-01-01", "NaT"], dtype="datetime64[ns]")
    texts = read({"d": fine}).column("d").texts
    assert (texts[0], texts[1] is not None, texts[2]) == ("2024-01-01T00:00:00.000000001", True, None)


def test_large_numbers_infinities_and_odd_cells_are_answered_in_words() -> None:
    suppress, k = {"q": tc.anonymity.suppress()}, tc.KAnonymity(2)
    for cells in (["1e400", "2", "3"], [float("inf"), 1.0, -float("inf")], [10**400, 0.5, 1], [2**70, 2**70, 1]):
        for method in METHODS:
            out = tc.anonymity.anonymize({"q": cells}, quasi=suppress, require=k, method=method)
            assert out.report.k >= 2
            assert 0 <= out.measures.ncp <= 1
    odd: list[Any]
    for odd in ([[1], [2]], [{}, {}]):
        with pytest.raises(ColumnValueError, match="'q'"):
            tc.anonymity.check({"q": odd}, quasi=["q"])
    for endless in (["1e999999999", "2"], [float("inf"), 2.0]):
        with pytest.raises(ColumnValueError, match="numbers"):
            tc.anonymity.anonymize({"q": endless}, quasi={"q": tc.anonymity.intervals([5])}, require=k)


def test_a_search_that_is_stopped_before_any_answer_hides_everything_or_says_that_time_ran_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(optimal, "_STEPS", 1)
    rows = {"a": [1, 2, 3, 4], "b": [1, 2, 3, 4], "s": list("xxxy")}
    quasi = {"a": tc.anonymity.suppress(), "b": tc.anonymity.suppress()}
    out = tc.anonymity.anonymize(rows, quasi=quasi, require=tc.KAnonymity(4), seconds=0)
    assert (out.levels, out.loss, out.report.k) == ({"a": 1, "b": 1}, 1.0, 4)
    assert out.certificate is not None
    assert (out.certificate.loss, out.certificate.lower <= 1.0) == (1.0, True)
    entropy = tc.LDiversity(2, kind="entropy")
    with pytest.raises(InvalidError) as stopped:
        tc.anonymity.anonymize(rows, quasi=quasi, sensitive="s", require=entropy, suppression=0.5, seconds=0)
    assert stopped.value.argument == "seconds"


def test_the_reference_of_t_is_shown_if_something_depends_on_it() -> None:
    rows = {"q": [1, 1, 2, 2, 3], "s": list("xyxyx")}

    def text(require: tc.KAnonymity | tc.TCloseness, suppression: float) -> str:
        quasi = {"q": tc.anonymity.suppress()}
        out = tc.anonymity.anonymize(rows, quasi=quasi, sensitive="s", require=require, suppression=suppression)
        assert out.report.reference == 5
        return str(out)

    assert "reference" not in text(tc.KAnonymity(2), 0)
    assert "reference of 5 rows" in text(tc.KAnonymity(2), 0.2)
    assert "reference of 5 rows" in text(tc.TCloseness(0.5), 0)


def test_one_row_is_not_called_rows() -> None:
    rows = {"q": [1], "s": ["x"]}
    text = str(tc.anonymity.attack(rows, kind="homogeneity", quasi=["q"], sensitive="s"))
    assert text.startswith("homogeneity: 1 of 1 row falls (100.00%)\n  q = 1 (1 row): ")
    twice = {"q": [1, 1], "s": ["x", "x"]}
    text = str(tc.anonymity.attack(twice, kind="homogeneity", quasi=["q"], sensitive="s"))
    assert text.startswith("homogeneity: 2 of 2 rows fall (100.00%)\n  q = 1 (2 rows): ")


def test_what_t_is_measured_against_is_said() -> None:
    """Against the published rows alone some classes may be further than t: the report states its reference."""
    rng, noted = np.random.default_rng(1), 0
    for _ in range(40):
        rows = {"q": rng.integers(0, 4, 20).tolist(), "s": rng.integers(0, 3, 20).tolist()}
        out = tc.anonymity.anonymize(
            rows, quasi={"q": tc.anonymity.suppress()}, sensitive="s", require=tc.TCloseness(0.3), suppression=0.5
        )
        assert "against a reference of 20 rows" in str(out)
        alone = tc.anonymity.check(out.table, quasi=["q"], sensitive="s")
        assert alone.meets(tc.TCloseness(0.3)) == (not out.report.notes)
        again = tc.anonymity.check(out.table, quasi=["q"], sensitive="s", reference=rows)
        assert again.meets(tc.TCloseness(0.3))
        assert again.t == out.report.t
        noted += bool(out.report.notes)
    assert noted


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("requirement", lambda report: report.meets(2)),
        ("requirement", lambda report: report.failing("k")),
        ("l must be", lambda report: report.sensitive["s"].recursive_c(0)),
        ("l must be", lambda report: report.sensitive["s"].recursive_c(1.5)),
        ("quasi", lambda _: tc.anonymity.check(ROWS, quasi=7)),  # type: ignore[arg-type]
        ("sensitive", lambda _: tc.anonymity.check(ROWS, quasi=["q"], sensitive=7)),  # type: ignore[arg-type]
        ("a list of cells", lambda _: tc.anonymity.check({"q": "abc"}, quasi=["q"])),
        ("a list of cells", lambda _: tc.anonymity.check({"q": 5}, quasi=["q"])),
        (
            "seconds",
            lambda _: tc.anonymity.anonymize(ROWS, quasi=["q"], require=tc.KAnonymity(1), seconds=float("nan")),
        ),
        ("require", lambda _: tc.anonymity.anonymize(ROWS, quasi=["q"], require=5)),  # type: ignore[arg-type]
        ("recoding", lambda _: tc.anonymity.transform(ROWS, 5, require=tc.KAnonymity(1))),  # type: ignore[arg-type]
        ("widths", lambda _: tc.anonymity.intervals(5)),  # type: ignore[arg-type]
        ("widths", lambda _: tc.anonymity.intervals(["x"])),  # type: ignore[list-item]
        ("widths", lambda _: tc.anonymity.intervals([float("inf")])),
        ("sizes", lambda _: tc.anonymity.ordered("abc", ["x"])),  # type: ignore[list-item]
        ("rows of labels", lambda _: tc.anonymity.hierarchy([5])),  # type: ignore[list-item]
        ("at most 1,000", lambda _: tc.anonymity.hierarchy([["a", *"*" * 1000]])),
        ("columns", lambda _: tc.anonymity.draft(ROWS, "q")),
        ("factor", lambda _: attack(kind="skewness", factor="x")),
        ("level", lambda _: attack(kind="similarity", hierarchy=[["x", "*"], ["y", "*"]], level="x")),
        ("reach", lambda _: attack(kind="similarity", reach="x")),
        ("hierarchies", lambda _: attack(kind="linkage", outside=ROWS, hierarchies=5)),
        ("order", lambda _: tc.anonymity.ordered(None, [2])),  # type: ignore[arg-type]
        ("sizes", lambda _: tc.anonymity.ordered(["a"], 5)),  # type: ignore[arg-type]
        ("parts", lambda _: tc.anonymity.dates(5)),  # type: ignore[arg-type]
        ("parts", lambda _: tc.anonymity.dates([5])),  # type: ignore[list-item]
        ("the path", lambda _: PUBLISHED.write(None)),  # type: ignore[arg-type]
        ("the path", lambda _: PUBLISHED.save(None)),  # type: ignore[arg-type]
        ("stream", lambda _: PUBLISHED.write_csv("out.csv")),  # type: ignore[arg-type]
        ("columns", lambda _: tc.anonymity.draft(ROWS, None)),  # type: ignore[arg-type]
        ("rules", lambda _: tc.anonymity.save(None, "rules.toml")),  # type: ignore[arg-type]
        ("the path", lambda _: tc.anonymity.save({}, None)),  # type: ignore[arg-type]
        ("the hierarchies", lambda _: tc.anonymity.load(5)),  # type: ignore[arg-type]
        ("the recoding", lambda _: tc.anonymity.Recoding.load(5)),  # type: ignore[arg-type]
        ("ks", lambda _: tc.anonymity.loss_by_k(ROWS, ks=5, quasi=["q"])),  # type: ignore[arg-type]
        ("methods", lambda _: tc.anonymity.loss_by_k(ROWS, methods=5, quasi=["q"])),  # type: ignore[arg-type]
        ("out must", lambda _: tc.anonymity.accuracy(5, ROWS, ROWS, "s")),  # type: ignore[arg-type]
    ],
)
def test_bare_errors_are_words_now(words: str, call: Callable[[tc.anonymity.Report], object]) -> None:
    report = tc.anonymity.check(ROWS, quasi=["q"], sensitive="s")
    with pytest.raises(InvalidError) as refused:
        call(report)
    assert words in f"{refused.value.argument}: {refused.value}"


def test_results_are_shown_on_one_short_line() -> None:
    rows = {"q": list(range(5000)), "s": ["x", "y"] * 2500}
    out = tc.anonymity.anonymize(
        rows, quasi={"q": tc.anonymity.intervals([10, 100])}, sensitive="s", require=tc.KAnonymity(5)
    )
    shown = [repr(one) for one in (out, out.report, out.recoding, out.recoding.covers[0].tree)]
    assert all(len(line) < 200 and "\n" not in line for line in shown)
    assert "k=10" in shown[0]
    assert "k=10" in shown[1]


def test_an_order_that_names_a_value_twice_is_refused() -> None:
    """Its steps were counted twice, so that every distance was too small."""
    report = tc.anonymity.check(ROWS, quasi=["q"], sensitive="s")
    for order in (["x", "x", "y"], ["x", "y", "y", "y"]):
        with pytest.raises(InvalidError, match="twice"):
            report.meets(tc.TCloseness(0.1, distance="ordered", hierarchy=order))
    with pytest.raises(InvalidError, match="the order of s"):
        report.meets(tc.TCloseness(0.1, distance="ordered", hierarchy=5))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"),
    [("labels", []), ("low", [99, 99]), ("high", [-5, -5]), ("level", [7, 7]), ("place", [0, 0]), ("boxes", [[7]])],
)
def test_a_recoding_file_that_names_what_is_not_there_is_refused(tmp_path: Path, field: str, value: object) -> None:
    rows, path = {"q": [1, 1, 2, 2]}, tmp_path / "recoding.json"
    quasi = {"q": tc.anonymity.suppress()}
    tc.anonymity.anonymize(rows, quasi=quasi, require=tc.KAnonymity(2), method="mondrian").save(path)
    held = json.loads(path.read_text())
    assert tc.anonymity.Recoding.load(path).apply(read(rows))[0].kept.all()
    (held if field == "boxes" else held["columns"][0])[field] = value
    path.write_text(json.dumps(held))
    with pytest.raises(UnreadableFileError):
        tc.anonymity.Recoding.load(path)
    path.write_text(json.dumps({**held, "boxes": None, "levels": [9]}))
    with pytest.raises(UnreadableFileError):
        tc.anonymity.Recoding.load(path)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    out = tc.anonymity.anonymize(ROWS, quasi={"q": tc.anonymity.suppress()}, require=tc.KAnonymity(2))
    away = tmp_path / "nowhere"
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\xb5")
    for call in (
        lambda: out.write(away / "out.csv"),
        lambda: out.save(away / "recoding.json"),
        lambda: tc.anonymity.save({"q": tc.anonymity.suppress()}, away / "rules.toml"),
        lambda: tc.anonymity.hierarchy(tmp_path),
        lambda: tc.anonymity.hierarchy(tmp_path / "binary.csv"),
    ):
        with pytest.raises(InvalidError, match=r"Cannot (read|write) "):
            call()


def test_frames_of_odd_kinds_are_read_or_refused_in_words() -> None:
    wide = pl.DataFrame({"q": [2**70, 2**70]})
    assert tc.anonymity.check(wide, quasi=["q"]).k == 2
    with pytest.raises(InvalidError, match="not text"):
        tc.anonymity.check(pd.DataFrame({0: [1, 2]}), quasi=[0])  # type: ignore[list-item]
    assert tc.anonymity.attack({"q": [], "s": []}, kind="skewness", quasi=["q"], sensitive="s").fallen == 0
    assert tc.anonymity.loss_by_k(ROWS, quasi=["q"], ks=(2,), require=tc.KAnonymity(2)).losses["optimal"] == [0.0]


@pytest.mark.parametrize("method", METHODS)
def test_linkage_finds_everybody_whose_row_is_published(method: candidates.SearchMethod) -> None:
    """A person of the raw table matches at least one row; a match that linkage misses would look like safety."""
    rng = np.random.default_rng(7)
    quasi = {
        "n": tc.anonymity.hierarchy([[str(i), "odd" if i % 2 else "even", "*"] for i in range(-4, 5)]),
        "x": tc.anonymity.intervals([0.5, 1]),
        "zip": tc.anonymity.mask(3),
        "job": tc.anonymity.hierarchy([["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]]),
    }
    for _ in range(15):
        size = int(rng.integers(4, 30))
        rows: dict[str, list[Any]] = {
            "n": rng.integers(-4, 5, size).tolist(),
            "x": [None if rng.random() < 0.1 else float(x) / 4 for x in rng.integers(-6, 6, size)],
            "zip": [str(code) for code in rng.choice([101, 102, 120, 1, 20], size)],
            "job": [str(job) for job in rng.choice(list("abc"), size)],
        }
        out = tc.anonymity.anonymize(rows, quasi=quasi, require=tc.KAnonymity(2), method=method, suppression=0.0)
        published, outside = read(out.table), read(rows)
        compared = compare(published, outside, tuple(quasi), quasi)
        for person, many, fits in link(published, outside, compared):
            assert len(fits) >= max(2, many), person
        assert not any(one.incomparable for one in compared)


def test_a_class_that_misses_every_value_falls_to_similarity() -> None:
    """Linkage skipped it, although a missing value also reveals something about a person."""
    rows = {"q": ["a", "a", "b", "b", "c", "c"], "s": [None, None, 1, 9, None, 5]}
    found = tc.anonymity.attack(rows, kind="similarity", quasi=["q"], sensitive="s")
    assert [(one.published, one.learns) for one in found.victims] == [({"q": "a"}, "s is missing")]
    nothing = tc.anonymity.attack({"q": ["a"], "s": [None]}, kind="similarity", quasi=["q"], sensitive="s")
    assert nothing.fallen == 1


def test_the_chart_of_risks_counts_persons_where_rows_are_theirs() -> None:
    """The chart showed ten rows of one person as a risk of one in ten."""
    rows = {"q": ["a"] * 10 + ["b"] * 10, "who": [1] * 10 + list(range(2, 12))}
    out = tc.anonymity.anonymize(rows, quasi={"q": tc.anonymity.suppress()}, require=tc.KAnonymity(2), unit="who")
    held = [table for table in out.plot().to_dict()["datasets"].values() if table and "chance" in table[0]]
    drawn = {(one["table"], one["chance"], one["share"]) for table in held for one in table}
    assert ("before", 1.0, 0.5) in drawn
    assert ("after", 1 / 11, 1.0) in drawn
