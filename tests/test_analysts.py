"""The rest of one analyst's limit, and analysts who are not listed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from tacit import BudgetError, InvalidError, RefusedError
from tacit.database import Database
from tacit.guarantees.filters import Budget
from tacit.ledger import history
from tacit.ledger.records import UNLISTED, left_under
from tacit.query.policy.file import load
from tacit.query.policy.mistakes import PolicyError

ROWS = {"town": ["a", "b"] * 50}
BUDGET = tc.ApproxDP(epsilon=2, delta=1e-6)
NOBODY = tc.PureDP(epsilon=0)


def opened(analyst: str | None, ledger: Path | None = None, **terms: Any) -> Database:  # noqa: ANN401 - arguments of tc.open
    return tc.open(
        ROWS, unit=tc.ROW, keys={"town": ["a", "b"]}, ledger=ledger, analyst=analyst, **{"budget": BUDGET, **terms}
    )


def kinds(tmp_path: Path) -> list[Path | None]:
    return [None, tmp_path / "a.ledger"]


def test_what_is_left_is_the_lesser_rest_of_both(tmp_path: Path) -> None:
    for ledger in kinds(tmp_path):
        db = opened("ann", ledger, analysts={"ann": tc.ApproxDP(epsilon=0.5, delta=1e-7)})
        assert db.left == tc.ApproxDP(epsilon=0.5, delta=1e-7)
        db.count(epsilon=0.2)
        assert db.left == tc.ApproxDP(epsilon=0.3, delta=1e-7)
        assert db.spent == tc.ApproxDP(epsilon=0.2, delta=0)
        assert history.left(db.ledger) == tc.ApproxDP(epsilon=1.8, delta=1e-6)
        assert history.left(db.ledger, "ann") == db.left
        assert "left for ann: ε = 0.3, δ = 1e-07 of ε = 0.5, δ = 1e-07; left in all: ε = 1.8" in repr(db)
        assert "left for ann: ε = 0.3" in db._repr_html_()


def test_the_rest_of_the_budget_of_all_counts_too(tmp_path: Path) -> None:
    ledger = tmp_path / "shared.ledger"
    limits = {"ann": tc.PureDP(epsilon=1.5)}
    opened("ben", ledger, analysts=limits).count(epsilon=1.75)
    ann = opened("ann", ledger, analysts=limits)
    assert ann.left == tc.ApproxDP(epsilon=0.25, delta=0)
    with pytest.raises(BudgetError, match=r"costs epsilon = 1\.9 but only 0\.25 is left"):
        ann.count(epsilon=1.9)
    with pytest.raises(BudgetError, match=r"costs epsilon = 1\.9 but only 0\.25 is left"):
        ann.check(ann.count(epsilon=1.9, plan=True))


def test_errors_name_what_the_analyst_has_left() -> None:
    db = opened("ann", analysts={"ann": tc.PureDP(epsilon=0.5)})
    for epsilon in (0.6, 5):  # above the limit, and above the budget of all as well
        with pytest.raises(BudgetError, match=rf"costs epsilon = {float(epsilon)} but only 0\.5 is left.*own limit"):
            db.count(epsilon=epsilon)
    plans = [db.count(epsilon=2, plan=True)] * 2
    with pytest.raises(BudgetError, match=r"cost ε = 4 but only 0\.5 is left for you"):
        tc.declare(plans).ask()
    with pytest.raises(BudgetError, match=r"the rest of the budget buys count ± 6"):
        db.count(error=1)
    assert not db.ledger.entries()


def test_a_declared_plan_uses_only_the_delta_that_the_analyst_has_left() -> None:
    for limit, delta in ((tc.PureDP(epsilon=1), 0), (tc.ApproxDP(epsilon=1, delta=1e-7), Fraction(1, 10**7))):
        db = opened("ann", analysts={"ann": limit})
        assert tc.declare([db.count(epsilon=0.01, plan=True)] * 30).delta == delta


def test_left_under_is_the_lesser_of_each_part() -> None:
    nothing = tc.filters.start(BUDGET)
    for own, left in (
        (tc.ApproxDP(epsilon=3, delta=1e-7), tc.ApproxDP(epsilon=2, delta=1e-7)),
        (tc.ApproxDP(epsilon=1, delta=1e-5), tc.ApproxDP(epsilon=1, delta=1e-6)),
    ):
        assert left_under(BUDGET, nothing, own, nothing) == left


# --- analysts who are not listed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("analyst", [None, "bob", "*"])
@pytest.mark.parametrize("name", [None, "a.ledger"])
def test_only_listed_analysts_may_query(tmp_path: Path, analyst: str | None, name: str | None) -> None:
    limits = {"ann": tc.PureDP(epsilon=1), "*": NOBODY}
    ledger = None if name is None else tmp_path / name
    db = opened(analyst, ledger, analysts=limits, data_version="one")
    assert db.left == tc.ApproxDP(epsilon=0, delta=0)
    quote = db.count(epsilon=0.1, plan=True)  # a plan reads and spends nothing
    for ask in (
        lambda: db.count(epsilon=0.1),
        lambda: db.bounds("1", epsilon=0.1),
        lambda: db.charge(tc.PureDP(epsilon=0.1), note="outside"),
        lambda: db.check(quote),
        lambda: tc.declare([quote]).ask(),
    ):
        with pytest.raises(RefusedError, match="is not admitted") as caught:
            ask()
        assert caught.value.unspent
    assert not db.ledger.entries()
    listed = opened("ann", ledger, analysts=limits, data_version="one")
    assert listed.count(epsilon=0.5).cost == tc.PureDP(epsilon=0.5)


def test_a_query_without_cost_is_refused_too() -> None:
    for analyst, admitted in (("ann", True), ("bob", False)):
        db = opened(analyst, neighbours="change one", analysts={"ann": tc.PureDP(epsilon=1), "*": NOBODY})
        if admitted:
            assert int(db.count(epsilon=0.1)) == 100
        else:
            with pytest.raises(RefusedError, match="'bob' is not admitted"):
                db.count(epsilon=0.1)


def test_a_recorded_answer_is_not_repeated_for_an_analyst_who_is_no_longer_admitted(tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    opened("bob", ledger, data_version="one").count(epsilon=0.5)
    db = opened("bob", ledger, data_version="one", analysts={"*": NOBODY}, accept=True)
    with pytest.raises(RefusedError, match="not admitted"):
        db.count(epsilon=0.5)


def test_each_unlisted_analyst_has_the_limit_of_the_unlisted(tmp_path: Path) -> None:
    limits: Mapping[str, Budget] = {"ann": tc.PureDP(epsilon=1), "*": tc.PureDP(epsilon=0.3)}
    for ledger in kinds(tmp_path):
        db = opened("bob", ledger, analysts=limits)
        db.count(epsilon=0.2)
        assert db.left == tc.ApproxDP(epsilon=0.1, delta=0)
        with pytest.raises(BudgetError, match=r"only 0\.1 is left"):
            db.count(epsilon=0.2)
    for other, left in (("carl", 0.3), ("ann", 1.0), (None, 0.3), ("bob", 0.1)):
        assert opened(other, tmp_path / "a.ledger", analysts=limits).left == tc.ApproxDP(epsilon=left, delta=0)
    assert tc.ledger.verify(db.ledger).holds


def test_the_ledger_keeps_the_rule_and_its_changes_are_accepted(tmp_path: Path) -> None:
    ledger, rule = tmp_path / "a.ledger", {"*": tc.PureDP(epsilon=0.5)}
    opened("bob", ledger, analysts=rule).count(epsilon=0.1)
    assert opened("bob", ledger).left == tc.ApproxDP(epsilon=0.4, delta=0)  # the policy no longer has it
    for other in (tc.PureDP(epsilon=1), NOBODY):
        with pytest.raises(RefusedError, match=r"limits each unlisted analyst to ε = 0\.5, but the policy says"):
            opened("bob", ledger, analysts={"*": other})
    lifted = opened("bob", ledger, analysts={"*": tc.PureDP(epsilon=1)}, accept=True)
    assert lifted.left == tc.ApproxDP(epsilon=0.9, delta=0)
    assert [entry.analyst for entry in lifted.ledger.entries()] == ["bob"]
    records = [record.fields["analyst"] for record in lifted.ledger.records() if record.kind == "analyst"]  # type: ignore[attr-defined]
    assert records == [UNLISTED, UNLISTED]
    assert tc.ledger.verify(lifted.ledger).holds


def test_a_first_rule_after_spending_is_accepted(tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    opened("bob", ledger).count(epsilon=0.1)
    with pytest.raises(RefusedError, match="Somebody has spent without a limit; the policy now sets ε = 0 for each"):
        opened("ann", ledger, analysts={"*": NOBODY})
    assert opened("ann", ledger, analysts={"*": NOBODY}, accept=True).left == tc.ApproxDP(epsilon=0, delta=0)


def test_a_rule_in_another_currency_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"limit of each unlisted analyst is ρ = 0\.1.*one currency"):
        opened("ann", analysts={"*": tc.ZCDP(rho=0.1)})
    with pytest.raises(InvalidError, match="analyst must be a name"):
        opened("ann", analysts={UNLISTED.strip("*"): NOBODY})


# --- the policy file --------------------------------------------------------------------------------------------------

POLICY = """
budget = {{ epsilon = 1.0 }}
{analysts}
[tables.t]
source = "t.csv"
each_row = true
"""


def written(folder: Path, analysts: str) -> Path:
    (folder / "t.csv").write_text("town\na\nb\n", encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY.format(analysts=analysts), encoding="utf-8")
    return folder / "policy.toml"


def test_a_policy_file_admits_only_listed_analysts(tmp_path: Path) -> None:
    policy = written(tmp_path, '[analysts]\nann = { epsilon = 0.5 }\n"*" = { epsilon = 0 }')
    assert tc.open(policy, analyst="ann").left == tc.PureDP(epsilon=0.5)
    with pytest.raises(RefusedError, match="not admitted"):
        tc.open(policy).count(epsilon=0.1)


def test_policies_of_before_keep_their_version(tmp_path: Path) -> None:
    """The hashes were computed before a limit could be 0 and `"*"` had a meaning."""
    assert load(written(tmp_path, "")).version == VERSIONS[""]
    for analysts, version in VERSIONS.items():
        assert load(written(tmp_path, analysts)).version == version


VERSIONS = {
    "": "4507fa73c3534c2d88e9cf695aaaeaad9e72036c1f679d178645e5b29f706576",
    "[analysts.ann]\nepsilon = 0.5\n": "fecd48b496f4591017a48788fda190a71ae781ba210e8ee9355bccd46ebd98dc",
    "[analysts]\nann = { epsilon = 0.5 }\nben = { epsilon = 1 }\n": "2aa15188fbf57560c932c8de2b605040e8400f9019d35769e2d822791322be4f",  # noqa: E501 - a hash
}


@pytest.mark.parametrize(
    ("analysts", "fact"),
    [
        (
            '[analysts]\n"*" = { epsilon = -1 }',
            r"analysts\.\S*epsilon must be a finite number ≥ 0, such as epsilon = 1\.0",
        ),
        ('[analysts]\n"*" = { rho = 0 }', "must be in epsilon"),
        ('[analysts]\n"*" = {}', "has neither"),
        ('[analysts]\n"*" = "refused"', r"analysts\.\S+ must be a table"),
        ('[analysts]\n"*" = { epsilon = 0, rho = 0 }', "has both"),
        ('[analysts]\n"*" = { refused = true }', "is not a key"),
    ],
)
def test_mistakes_in_the_rule_are_named(tmp_path: Path, analysts: str, fact: str) -> None:
    with pytest.raises(PolicyError, match=fact):
        load(written(tmp_path, analysts))
