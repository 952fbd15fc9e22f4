"""The memory of an answer: more than the measured peak, not much more, and known before the charge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.ledger import sql_ledger
from tacit.query.memory_need import (
    LARGEST_RECORD,
    check_memory,
    check_record,
    memory_need,
    need_notes,
    record_note,
    record_size,
    seconds_of_bins,
    size_text,
)
from tacit.query.plan import Plan
from tacit.query.results import answer_codec

COUNTS, DRAW = "count(*) AS n, sum(x) AS s", "median(y) AS m"
FEW_BINS = "median(x) AS m, count(*) AS n"
TREE = ", ".join(f"quantile_cont(y, 0.{digit}) AS q{digit}" for digit in range(1, 9))
MEASURED = """
import os, sys, threading, time
import pandas as pd
import tacit as tc
groups, items = int(sys.argv[1]), sys.argv[2]
frame = pd.DataFrame({"k": [i % groups for i in range(2 * groups)], "x": range(2 * groups)})
frame["y"] = frame.x * 0.7 % 1000
db = tc.open(frame, name="t", unit=tc.ROW, bounds={"x": (0, 99), "y": (0, 1000)}, keys={"k": list(range(groups))},
             budget=tc.PureDP(epsilon=100))
db.sql("SELECT count(*) AS n, median(x) AS m FROM t", epsilon=1)
def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
before = peak = size()
done = False
def watch():
    global peak
    while not done:
        peak = max(peak, size())
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
watcher.start()
answer = db.sql(f"SELECT k, {items} FROM t GROUP BY k", epsilon=1)
done = True
watcher.join()
from tacit.query.memory_need import memory_need
print(peak - before, memory_need(answer.plan), flush=True)
os._exit(0)
"""


def opened(groups: int = 6, **options: object) -> Database:
    """Return a table of four rows with so many public groups: at most 1,000 values of k, the others by j."""
    frame = pd.DataFrame({"k": [0, 1, 1, 2], "j": [0, 0, 0, 0], "x": [1, 2, 3, 4], "y": [0.5, 1.5, 2.5, 3.5]})
    first = min(groups, 1000)
    return tc.open(
        frame,
        name="t",
        unit=tc.ROW,
        bounds={"x": (0, 99), "y": (0, 1000)},
        keys={"k": list(range(first)), "j": list(range(groups // first))},
        budget=tc.PureDP(epsilon=100),
        **options,  # type: ignore[arg-type]
    )


def text(items: str) -> str:
    return f"SELECT k, j, {items} FROM t GROUP BY k, j"  # noqa: S608 - a test's own text


def plan(items: str, groups: int) -> Plan:
    return opened(groups).plan(text(items), epsilon=1).plan


def need(items: str, groups: int) -> int:
    found = memory_need(plan(items, groups))
    assert found is not None
    return found


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("items", "groups"),
    [
        (COUNTS, 60_000),
        (FEW_BINS, 10_000),
        (DRAW, 500),
        (TREE, 600),
        pytest.param(TREE, 2_500, marks=pytest.mark.long),
        pytest.param(DRAW, 20_000, marks=pytest.mark.long),
    ],
)
def test_the_peak_is_within_the_need(items: str, groups: int) -> None:
    done = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-W", "ignore", "-c", MEASURED, str(groups), items],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    peak, estimate = map(int, done.stdout.split())
    assert peak <= estimate
    assert estimate <= 5 * peak + 120_000_000


def test_a_group_of_a_median_needs_at_most_ten_kilobytes() -> None:
    for items in (DRAW, TREE, COUNTS):
        assert (need(items, 200_000) - need(items, 100_000)) / 100_000 <= 10_000
    assert need(DRAW, 1_000_000) < 2_500_000_000


def test_the_need_grows_with_each_part() -> None:
    assert need(COUNTS, 2000) > need(COUNTS, 1000)
    assert need(f"{COUNTS}, avg(y) AS a", 100_000) > need(COUNTS, 100_000)
    assert need(TREE, 500) > need(DRAW, 500)
    recorded = memory_need(plan(COUNTS, 1000), recorded=True)
    size = record_size(plan(COUNTS, 1000))
    assert recorded is not None
    assert size is not None
    assert recorded == need(COUNTS, 1000) + 2 * size


def test_an_answer_that_does_not_fit_is_refused_before_the_charge() -> None:
    db = opened(1000)
    db._session.memory_limit = 30_000_000
    with pytest.raises(tc.RefusedError, match=r"needs about [0-9.]+ MB of memory, but the limit is 30 MB") as error:
        db.sql(text(DRAW), epsilon=1)
    assert "memory=" in str(error.value)
    assert "fewer groups" in str(error.value)
    assert "Nothing was spent." in str(error.value)
    assert db.spent == tc.PureDP(epsilon=0)
    assert len(db.sql("SELECT count(*) AS n FROM t", epsilon=1)) == 1


def test_the_refusal_is_the_same_for_all_data() -> None:
    """The same plan on an empty and on a full table: the same need, and the same text."""
    texts = set()
    for rows in (0, 5000):
        frame = pd.DataFrame({"k": [i % 50 for i in range(rows)], "y": [i / 7 % 1000 for i in range(rows)]})
        frame = frame.astype({"k": "int64", "y": "float64"}).assign(j=0)
        options = {"bounds": {"y": (0, 1000)}, "keys": {"k": list(range(50)), "j": [0]}, "budget": tc.PureDP(epsilon=1)}
        db = tc.open(frame, name="t", unit=tc.ROW, **options)  # type: ignore[arg-type]
        db._session.memory_limit = 41_000_000
        with pytest.raises(tc.RefusedError) as error:
            db.sql(text(DRAW), epsilon=1)
        texts.add(str(error.value))
    assert len(texts) == 1


def test_several_answers_need_their_sum() -> None:
    one = plan(COUNTS, 1000)
    limit = memory_need(one)
    assert limit is not None
    check_memory([one], limit)
    with pytest.raises(tc.RefusedError):
        check_memory([one], limit - 1)
    with pytest.raises(tc.RefusedError):
        check_memory([one, one], limit)
    with pytest.raises(tc.RefusedError):
        check_memory([one], limit, recorded=True)


def test_a_limit_that_is_too_small_for_any_answer_says_so() -> None:
    with pytest.raises(tc.RefusedError, match=r"No answer needs less than 24 MB"):
        check_memory([plan("count(*) AS n", 1)], 1_000_000)


def test_found_groups_are_not_known_before() -> None:
    frame = pd.DataFrame({"u": [1, 2], "k": ["a", "b"]})
    db = tc.open(frame, name="t", unit="u", max_groups=1, max_rows=1, budget=tc.ApproxDP(epsilon=10, delta=1e-5))
    found = db.plan("SELECT k, count(*) AS n FROM t GROUP BY k", epsilon=1, delta=1e-6).plan
    assert memory_need(found) is record_size(found) is seconds_of_bins(found) is None
    assert need_notes(found) == record_note(found) == []
    check_memory([found], 1)
    check_record([found])


def test_a_plan_shows_a_large_need_and_a_long_time() -> None:
    large = str(opened(1_000_000).plan(text(DRAW), epsilon=1))
    assert "of memory for 1,000,000 groups, besides the engine." in large
    assert " min after the engine has read the rows." in large
    small = str(opened(10).plan(text(DRAW), epsilon=1))
    assert "of memory" not in small
    assert " min after" not in small


def test_a_record_that_is_too_large_is_refused_or_noted() -> None:
    assert sql_ledger._LARGEST_ANSWER == LARGEST_RECORD
    db = opened(400_000, data_version="1")
    with pytest.raises(tc.RefusedError, match=r"a ledger stores at most 20 MB") as error:
        db.sql(text(COUNTS), epsilon=1, request="mine")
    assert "Nothing was spent." in str(error.value)
    assert "asking again costs again" in str(db.plan(text(COUNTS), epsilon=1))
    assert "asking again" not in str(opened(10, data_version="1").plan(text(COUNTS), epsilon=1))


@pytest.mark.parametrize("items", [COUNTS, DRAW, FEW_BINS])
def test_a_record_is_within_its_size(items: str) -> None:
    answer = opened(500).sql(text(items), epsilon=1)
    size = record_size(answer.plan)
    assert size is not None
    assert len(answer_codec.to_text(answer)) <= size <= 4 * len(answer_codec.to_text(answer))


@pytest.mark.parametrize("letter", ["a", "東", '"', "\U0001f40d"])
def test_keys_in_any_script_are_within_the_size_of_a_record(letter: str) -> None:
    keys = [f"{letter * 12}{index}" for index in range(50)]
    terms = {"unit": tc.ROW, "bounds": {"x": (0, 1)}, "keys": {"k": keys}, "budget": tc.PureDP(epsilon=1)}
    db = tc.open({"k": keys, "x": [0.5] * 50}, name="t", **terms)  # type: ignore[arg-type]
    answer = db.sql("SELECT k, count(*) AS n FROM t GROUP BY k", epsilon=1)
    size = record_size(answer.plan)
    assert size is not None
    assert len(answer_codec.to_text(answer)) <= size <= 3 * len(answer_codec.to_text(answer))


def test_large_sums_are_within_the_size_of_a_record() -> None:
    names, keys = [f"x{index}" for index in range(12)], list(range(4))
    rows = {"k": keys * 5, **dict.fromkeys(names, [9e8] * 20)}
    terms = {"unit": tc.ROW, "bounds": dict.fromkeys(names, (0, 10**9)), "keys": {"k": keys}}
    db = tc.open(rows, name="t", budget=tc.PureDP(epsilon=1), **terms)  # type: ignore[arg-type]
    sums = ", ".join(f"sum({name}) AS {name}" for name in names)
    answer = db.sql(f"SELECT k, {sums} FROM t GROUP BY k", epsilon=1e-6)  # noqa: S608 - as above
    size = record_size(answer.plan)
    assert size is not None
    assert len(answer_codec.to_text(answer)) <= size <= 3 * len(answer_codec.to_text(answer))


def test_sizes_are_rounded_up() -> None:
    assert [size_text(size) for size in (0, 1, 1000, 1001, 10**9)] == ["0 B", "1 B", "1 kB", "1.1 kB", "1 GB"]
