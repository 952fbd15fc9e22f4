"""The optimal search against all nodes of small lattices, and against known results for Adult."""

from __future__ import annotations

import lzma
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit as tc
from tacit.anonymity import optimal
from tacit.anonymity.classes import count_values, failing, group
from tacit.anonymity.hierarchies import Hierarchy
from tacit.anonymity.loss import Mean, average
from tacit.anonymity.optimal import Walk, search, search_supersets
from tacit.anonymity.privacy_models import Model
from tacit.anonymity.problem import Problem
from tacit.anonymity.tables import CodedTable, encode, read

ADULT = Path(__file__).parents[1] / "data" / "adult"
People = tuple[CodedTable, dict[str, Hierarchy]]

TREES = (
    Hierarchy((("0", "01", "*"), ("1", "01", "*"), ("2", "2", "*"), ("3", "3", "*"))),
    Hierarchy((("a", "*"), ("b", "*"))),
    Hierarchy((("p", "pq", "pqr", "*"), ("q", "pq", "pqr", "*"), ("r", "r", "pqr", "*"), ("s", "s", "s", "*"))),
)

MODELS: list[tuple[Model, ...]] = [
    (tc.KAnonymity(2),),
    (tc.KAnonymity(3), tc.LDiversity(2)),
    (tc.LDiversity(2, kind="entropy"),),
    (tc.KAnonymity(2), tc.LDiversity(2, kind="recursive", c=2)),
    (tc.TCloseness(0.3),),
    (tc.KAnonymity(2), tc.TCloseness(0.4, distance="ordered")),
    (tc.TCloseness(0.3, distance="hierarchical", hierarchy=[["1", "x", "*"], ["2", "x", "*"], ["3", "y", "*"]]),),
    (tc.KAnonymity(2), tc.LDiversity(2, kind="entropy"), tc.TCloseness(0.5)),
]

row_of = st.tuples(
    st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.sampled_from([1, 1, 2, 3]), st.integers(0, 4)
)
tables = st.lists(row_of, min_size=1, max_size=20)


def problem(
    rows: list[tuple[int, ...]], require: tuple[Model, ...], mean: Mean = "geometric", *, unit: bool = False
) -> Problem:
    codes = tuple(np.array([row[j] for row in rows], dtype=np.int32) for j in range(3))
    sick = encode("sick", [*(row[3] for row in rows), 1, 2, 3])
    sick = replace(sick, codes=sick.codes[: len(rows)])
    persons = encode("who", [row[4] for row in rows]) if unit else None
    return Problem(("x", "y", "z"), TREES, codes, len(rows), require, (sick,), persons, "loss", mean)


def score(one: Problem, levels: tuple[int, ...]) -> tuple[int, float]:
    """Return the rows suppressed at a node and its loss, cell by cell."""
    codes = [tree.groups(level)[raw] for tree, level, raw in zip(one.trees, levels, one.codes, strict=True)]
    classes = group(codes, one.rows)
    wrong = np.zeros(len(classes), dtype=bool)
    unit = None if one.unit is None else count_values(classes, one.unit).different
    for model in one.require:
        wrong |= failing(model, classes, [count_values(classes, one.sensitive[0])], unit)
    gone = wrong[classes.ids]
    columns = []
    for tree, level, raw in zip(one.trees, levels, one.codes, strict=True):
        m, total = len(tree.rows), Fraction(0)
        for row in range(one.rows):
            label = tree.rows[raw[row]][level]
            share = Fraction(sum(other[level] == label for other in tree.rows), m)
            total += 1 if gone[row] else (share - Fraction(1, m)) / (1 - Fraction(1, m))
        columns.append(float(total / one.rows))
    return int(gone.sum()), average(columns, one.mean)


def best(one: Problem, limit: int) -> float:
    nodes = product(*(range(tree.height) for tree in one.trees))
    scores = [score(one, levels) for levels in nodes]
    return min((loss for gone, loss in scores if gone <= limit), default=np.inf)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("require", MODELS, ids=str)
@settings(max_examples=25, deadline=None)
@given(rows=tables, share=st.sampled_from([0.0, 0.2, 0.5, 1.0]), mean=st.sampled_from(["arithmetic", "geometric"]))
def test_the_answer_is_the_best_of_all_nodes(
    require: tuple[Model, ...], rows: list[tuple[int, ...]], share: float, mean: Mean
) -> None:
    one = problem(rows, require, mean)
    limit = int(share * len(rows))
    found = search(one, limit)
    want = best(one, limit)
    assert found.certificate.loss == pytest.approx(want, abs=1e-9)
    if found.levels is not None:
        assert found.certificate.optimal
        gone, loss = score(one, found.levels)
        assert gone == found.suppressed <= limit
        assert loss == pytest.approx(want, abs=1e-9)
        for levels in found.certificate.tied:
            assert score(one, levels)[1] == pytest.approx(want, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(rows=tables, share=st.sampled_from([0.0, 0.4]))
def test_persons_are_counted_where_one_has_several_rows(rows: list[tuple[int, ...]], share: float) -> None:
    one = problem(rows, (tc.KAnonymity(2),), unit=True)
    limit = int(share * len(rows))
    assert search(one, limit).certificate.loss == pytest.approx(best(one, limit), abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(rows=tables)
def test_with_supersets_the_answer_meets_them_and_the_bound_is_below(rows: list[tuple[int, ...]]) -> None:
    one = problem(rows, (tc.NTCloseness(4, 0.3),))
    found = search_supersets(one, 0)
    if len(rows) < 4:
        assert found.levels is None
        return
    assert found.certificate.optimal
    assert found.certificate.loss == pytest.approx(best(one, 0), abs=1e-9)


def best_with_supersets(one: Problem, limit: int) -> float:
    """Return the least loss of all nodes, if failing classes are suppressed repeatedly because supersets shrink."""
    losses = [np.inf]
    for levels in product(*(range(tree.height) for tree in one.trees)):
        codes = [tree.groups(level)[raw] for tree, level, raw in zip(one.trees, levels, one.codes, strict=True)]
        kept = np.arange(one.rows)
        while len(kept):
            classes = group([column[kept] for column in codes], len(kept))
            told = count_values(
                classes, replace(one.sensitive[0], codes=one.sensitive[0].codes[kept]), one.sensitive[0]
            )
            wrong = np.zeros(len(classes), dtype=bool)
            for model in one.require:
                wrong |= failing(model, classes, [told])
            if not wrong.any():
                break
            kept = kept[~wrong[classes.ids]]
        gone = one.rows - len(kept)
        if gone <= limit:
            costs = [
                one.costs(j, level)[column[kept]].sum()
                for j, (level, column) in enumerate(zip(levels, codes, strict=True))
            ]
            losses.append(average([float(cost + gone) / one.rows for cost in costs], one.mean))
    return min(losses)


@settings(max_examples=30, deadline=None)
@given(rows=tables, share=st.sampled_from([0.0, 0.3, 0.6]), mean=st.sampled_from(["arithmetic", "geometric"]))
def test_with_supersets_and_suppression_the_answer_is_the_best_of_all_nodes(
    rows: list[tuple[int, ...]], share: float, mean: Mean
) -> None:
    one = problem(rows, (tc.KAnonymity(2), tc.NTCloseness(3, 0.25)), mean)
    found = search_supersets(one, int(share * len(rows)))
    want = best_with_supersets(one, int(share * len(rows)))
    assert found.certificate.loss == pytest.approx(want, abs=1e-9)
    assert found.levels is None or share or found.certificate.optimal


def least_with_supersets(one: Problem, limit: int) -> float:
    """Return the least loss over all nodes and all choices of suppressed classes."""
    losses = [np.inf]
    for levels in product(*(range(tree.height) for tree in one.trees)):
        codes = [tree.groups(level)[raw] for tree, level, raw in zip(one.trees, levels, one.codes, strict=True)]
        whole = group(codes, one.rows)
        for flags in product([True, False], repeat=len(whole)):
            kept = np.flatnonzero(np.array(flags)[whole.ids])
            gone = one.rows - len(kept)
            if gone > limit or not len(kept):
                continue
            classes = group([column[kept] for column in codes], len(kept))
            told = count_values(
                classes, replace(one.sensitive[0], codes=one.sensitive[0].codes[kept]), one.sensitive[0]
            )
            if not any(failing(model, classes, [told]).any() for model in one.require):
                costs = [one.costs(j, levels[j])[column[kept]].sum() for j, column in enumerate(codes)]
                losses.append(average([float(cost + gone) / one.rows for cost in costs], one.mean))
    return min(losses)


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(row_of, min_size=3, max_size=6), share=st.sampled_from([0.3, 0.6]))
def test_with_supersets_no_choice_of_classes_beats_the_proved_bound(rows: list[tuple[int, ...]], share: float) -> None:
    """All failing classes were suppressed together, and the certificate claimed that the answer was the best."""
    one = problem(rows, (tc.NTCloseness(3, 0.25),))
    found = search_supersets(one, int(share * len(rows))).certificate
    least = least_with_supersets(one, int(share * len(rows)))
    assert found.lower <= least + 1e-9
    assert not found.optimal or found.loss == pytest.approx(least, abs=1e-9)


def test_a_class_that_mends_the_others_by_going_is_no_proof() -> None:
    rows = {"q": ["A"] * 4 + ["B"] * 4 + ["C"] * 2, "s": ["x"] * 8 + ["y"] * 2}
    ask: Any = {"quasi": {"q": tc.anonymity.suppress()}, "sensitive": "s", "require": [tc.NTCloseness(6, 0.1)]}
    found = tc.anonymity.anonymize(rows, suppression=0.2, **ask).certificate
    assert found is not None
    assert not found.optimal
    assert found.lower <= 0.2 <= found.loss
    whole = tc.anonymity.anonymize(rows, **ask).certificate
    assert whole is not None
    assert whole.optimal


@settings(max_examples=30, deadline=None)
@given(rows=tables, room=st.sampled_from([1, 3]), seconds=st.sampled_from([0.0, 60.0]))
def test_with_supersets_a_short_list_or_time_claims_no_more_than_it_knows(
    rows: list[tuple[int, ...]], room: int, seconds: float
) -> None:
    one = problem(rows, (tc.KAnonymity(2), tc.NTCloseness(3, 0.25)))
    limit = len(rows) // 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal, "_LISTED", room)
        found = search_supersets(one, limit, seconds=seconds).certificate
    want = best_with_supersets(one, limit)
    assert found.lower <= want + 1e-9
    assert found.loss >= want - 1e-9


def test_a_walk_that_is_stopped_says_how_much_better_an_answer_might_be() -> None:
    rng = np.random.default_rng(1)
    rows = [tuple(int(x) for x in rng.integers(0, (4, 2, 4, 3, 4)) + np.array([0, 0, 0, 1, 0])) for _ in range(60)]
    one = problem(rows, (tc.KAnonymity(3),))
    whole = search(one, 6).certificate
    walk = Walk(one, [0, 1, 2], 6)
    lowers = []
    while not walk.advance(1):
        stopped = walk.result(0.0).certificate
        assert stopped.lower <= whole.loss + 1e-12
        lowers.append(stopped.lower)
    assert walk.result(0.0).certificate.loss == whole.loss
    assert lowers == sorted(lowers) or max(lowers) <= whole.loss


def test_thirty_columns_are_searched_for_as_long_as_allowed() -> None:
    rng = np.random.default_rng(2)
    rows = {f"c{j}": rng.integers(0, 40, 400).tolist() for j in range(30)}
    quasi = {name: tc.anonymity.intervals([5, 10, 20]) for name in rows}
    out = tc.anonymity.anonymize(rows, quasi=quasi, require=tc.KAnonymity(2), suppression=0.2, seconds=1)
    assert out.report.k >= 2
    assert out.certificate is not None
    assert out.certificate.lattice == 5**30
    assert 0 <= out.certificate.gap <= 1


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[CodedTable, dict[str, Hierarchy]]:
    file = tmp_path_factory.mktemp("adult") / "adult.csv"
    file.write_bytes(lzma.decompress((ADULT / "adult.csv.xz").read_bytes()))
    table = read(file, sep=";")
    return table, {name: tc.anonymity.hierarchy(ADULT / f"adult_hierarchy_{name}.csv", sep=";") for name in table.names}


@pytest.mark.parametrize(("share", "loss", "gone"), [(0.0, 0.573151, 0), (0.04, 0.266111, 1178), (1.0, 0.220412, 2553)])
def test_adult_is_recoded_with_the_known_least_loss(people: People, share: float, loss: float, gone: int) -> None:
    columns, trees = people
    out = tc.anonymity.anonymize(columns, quasi=trees, require=tc.KAnonymity(5), suppression=share)
    assert out.loss == pytest.approx(loss, abs=1e-6)
    assert out.certificate is not None
    assert (out.suppressed, out.report.k >= 5, out.certificate.optimal, out.certificate.lattice) == (
        gone,
        True,
        True,
        12_960,
    )


@pytest.mark.parametrize(("model", "loss"), [(tc.LDiversity(3), 0.205208), (tc.TCloseness(0.2), 0.815003)])
def test_adult_with_a_sensitive_column_has_the_known_least_loss(people: People, model: Model, loss: float) -> None:
    columns, trees = people
    quasi = {name: tree for name, tree in trees.items() if name != "occupation"}
    out = tc.anonymity.anonymize(
        columns, quasi=quasi, sensitive="occupation", require=[tc.KAnonymity(5), model], suppression=0.04
    )
    assert out.loss == pytest.approx(loss, abs=1e-6)
    assert out.report.meets(tc.KAnonymity(5), model)


def test_adult_recoded_locally_loses_less_than_a_tenth(people: People) -> None:
    columns, trees = people
    out = tc.anonymity.anonymize(columns, quasi=trees, require=tc.KAnonymity(5), method="local", mean="arithmetic")
    assert out.loss <= 0.105
    assert (out.suppressed, out.report.k) == (0, 5)
