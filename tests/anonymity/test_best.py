"""`method="best"`: the least loss of all searches, whichever requirement, and what the report says about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit as tc
from tacit.anonymity.privacy_models import Model
from tacit.anonymity.search import METHODS
from tacit.errors import UnusedOptionError

QUASI = ["zip", "age", "sex"]


def people(rows: int, seed: int) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    return {
        "zip": [f"47{n:03}" for n in rng.integers(600, 640, rows)],
        "age": rng.integers(20, 60, rows).tolist(),
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "ill": rng.choice(["flu", "cold", "none"], rows).tolist(),
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("require", [tc.KAnonymity(4), tc.LDiversity(2), tc.TCloseness(0.4)])
def test_best_has_the_least_loss_of_all_methods_and_names_the_winner(seed: int, require: Model) -> None:
    rows = people(60, seed)
    outs = {
        method: tc.anonymity.anonymize(rows, quasi=QUASI, sensitive="ill", require=require, method=method)
        for method in METHODS
    }
    best = tc.anonymity.anonymize(rows, quasi=QUASI, sensitive="ill", require=require)
    assert best.loss == pytest.approx(min(out.loss for out in outs.values()), abs=1e-12)
    assert best.loss == pytest.approx(outs[best.method].loss, abs=1e-12)  # type: ignore[index]
    assert best.report.meets(require)
    considered = {trial.method: trial.loss for trial in best.searches if trial.considered}
    assert considered == {method: pytest.approx(out.loss, abs=1e-12) for method, out in outs.items()}


def test_best_is_the_default_for_names_and_optimal_for_hierarchies() -> None:
    rows = people(60, 1)
    rules = tc.anonymity.draft(rows, QUASI)
    by_rules = tc.anonymity.anonymize(rows, quasi=rules, require=tc.KAnonymity(4))
    assert (by_rules.method, by_rules.searches, by_rules.drafted) == ("optimal", (), {})
    assert 'method="best"' in by_rules.hints[0]
    by_names = tc.anonymity.anonymize(rows, quasi=QUASI, require=tc.KAnonymity(4))
    assert by_names.method in {"local", "mondrian"}
    assert set(by_names.drafted) == set(QUASI)
    for text in ("searches, by loss:", "chosen", "stands for", "drafted hierarchies"):
        assert text in str(by_names)


def test_a_kept_column_by_which_rows_can_be_found_has_a_hint() -> None:
    rows = people(60, 1) | {"number": list(range(60)), "half": [n % 30 for n in range(60)]}
    out = tc.anonymity.anonymize(rows, quasi=QUASI, require=tc.KAnonymity(4), keep=["number", "half"])
    found = [hint for hint in out.hints if "unique value" in hint]
    assert [hint.split(",")[0] for hint in found] == ["60 of 60 rows have a unique value in number"]
    assert found[0] in str(out)


def test_best_suppresses_up_to_the_share_and_hints_at_suppression_that_is_not_allowed() -> None:
    rows = {"q": ["a"] * 99 + ["c"]}  # one row forces all others to "*"
    strict = tc.anonymity.anonymize(rows, quasi={"q": tc.anonymity.suppress()}, require=tc.KAnonymity(3), method="best")
    assert (strict.suppressed, strict.loss) == (0, 1.0)
    (last,) = (trial for trial in strict.searches if not trial.considered)
    assert (last.suppression, last.suppressed) == (0.04, 1)
    assert last.loss == pytest.approx(0.01)
    assert strict.hints == (
        "if 4% of the rows may be suppressed, the loss falls from 1.000 to 0.010; allow it with suppression=0.04",
    )
    allowed = tc.anonymity.anonymize(
        rows, quasi={"q": tc.anonymity.suppress()}, require=tc.KAnonymity(3), method="best", suppression=0.04
    )
    assert (allowed.method, allowed.suppressed) == ("optimal", 1)
    assert allowed.loss == pytest.approx(0.01)
    assert allowed.hints == ()


@pytest.mark.parametrize(
    ("argument", "extra"),
    [
        ("suppression", {"method": "local", "suppression": 0.04}),
        ("suppression", {"method": "mondrian", "suppression": 0.04}),
        ("seconds", {"method": "mondrian", "seconds": 5}),
        ("strict", {"method": "optimal", "strict": False}),
        ("strict", {"method": "local", "strict": False}),
    ],
)
def test_an_argument_without_effect_is_an_error(argument: str, extra: dict[str, Any]) -> None:
    with pytest.raises(UnusedOptionError) as refused:
        tc.anonymity.anonymize(people(20, 1), quasi=QUASI, require=tc.KAnonymity(2), **extra)
    assert refused.value.option == argument
    losses = tc.anonymity.loss_by_k(people(20, 1), ks=(2,), quasi=QUASI, suppression=0.1, seconds=5, strict=False)
    assert set(losses.losses) == set(METHODS)


def test_no_column_has_to_be_sensitive() -> None:
    rows = people(20, 1)
    assert tc.anonymity.check(rows, quasi=QUASI, sensitive=None).t is None
    out = tc.anonymity.anonymize(rows, quasi=QUASI, sensitive=None, require=tc.KAnonymity(2))
    assert list(out.table.columns) == QUASI
    again = tc.anonymity.transform(rows, out.recoding, require=tc.KAnonymity(2), sensitive=None)
    assert again.report.k >= 2
    with pytest.raises(tc.InvalidError, match="sensitive"):
        tc.anonymity.anonymize(rows, quasi=QUASI, sensitive=None, require=tc.LDiversity(2))
    with pytest.raises(UnusedOptionError, match="reference"):
        tc.anonymity.check(rows, quasi=QUASI, sensitive=None, reference=rows)


def test_best_does_not_tighten_levels_that_need_suppression() -> None:
    """Classes that the optimal search suppresses would be published, if its levels were tightened."""
    for seed in range(6):
        rows = people(60, seed)
        out = tc.anonymity.anonymize(rows, quasi=QUASI, require=tc.KAnonymity(3), suppression=0.1)
        assert out.report.k >= 3
        assert out.suppressed <= 6


def test_best_stops_in_time_and_says_what_it_did_not_try() -> None:
    out = tc.anonymity.anonymize(people(60, 2), quasi=QUASI, require=tc.KAnonymity(4), seconds=0)
    assert out.method == "mondrian"
    assert {trial.method: trial.note for trial in out.searches} == {
        "mondrian": "",
        "optimal": "not tried: the time was over",
        "local": "not tried: the time was over",
    }


def test_best_with_n_t_closeness_is_the_optimal_search() -> None:
    require: list[Model] = [tc.KAnonymity(2), tc.NTCloseness(20, 0.3)]
    out = tc.anonymity.anonymize(people(60, 3), quasi=QUASI, sensitive="ill", require=require)
    assert (out.method, [trial.method for trial in out.searches]) == ("optimal", ["optimal"])
    assert out.report.meets(*require)


def test_best_repairs_entropy_by_suppression_where_no_table_of_all_rows_can() -> None:
    rows = {"q": ["a"] * 10 + ["b"] * 90, "s": ["x", "y"] * 5 + ["x"] * 90}
    require = tc.LDiversity(1.9, kind="entropy")
    out = tc.anonymity.anonymize(rows, quasi=["q"], sensitive="s", require=require, suppression=0.9)
    assert (out.method, out.suppressed) == ("optimal", 90)


def test_a_tightened_class_is_never_worse_than_its_level() -> None:
    for seed in range(10):
        rows = people(40, seed)
        rules = {"zip": tc.anonymity.mask(5), "age": tc.anonymity.intervals([5, 10, 20], fitted=True)}
        local, optimal = (
            tc.anonymity.anonymize(rows, quasi=rules, require=tc.KAnonymity(3), method=method)
            for method in ("local", "optimal")
        )
        assert local.loss <= optimal.loss + 1e-12
        assert local.report.k >= 3
        persons = {name: rows[name] for name in ("zip", "age")}
        matched = tc.anonymity.attack(local.table, kind="linkage", quasi=["zip", "age"], outside=persons)
        assert matched.fallen == 0  # nobody matches one row alone
