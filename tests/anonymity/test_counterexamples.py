"""Tables and requirements that once broke a promise of the microdata tools."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from tacit.anonymity import optimal, search
from tacit.anonymity.outcome import Roles
from tacit.anonymity.tables import read
from tacit.errors import InvalidError


@pytest.mark.parametrize("size", [40, 1000])
def test_an_order_with_many_more_values_than_the_data_is_measured_rightly(size: int) -> None:
    """The compiled loops wrote beyond their room, and called what is always possible impossible."""
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
    """How many stopped searches, of all stops of some searches, claim a lower bound above the best loss."""
    rng, wrong = np.random.default_rng(1), 0
    for trial in range(trials):
        rows, names = int(rng.integers(20, 60)), "abcdef"[: int(rng.integers(2, 6))]
        table = read({name: rng.choice(4, rows, p=[0.7, 0.1, 0.1, 0.1]).tolist() for name in names})
        quasi = {name: tc.anonymity.suppress() if rng.random() < 0.5 else tc.anonymity.intervals([2]) for name in names}
        mean = ("geometric", "arithmetic")[trial % 2]
        posed = search.pose(table, Roles(tuple(names), (), None, ()), quasi, tc.KAnonymity(4), "loss", mean)
        limit = int(rng.integers(0, rows // 2))
        best = search.find(posed, limit).certificate.loss
        for steps in range(1, 60):
            walk = optimal.Walk(posed, list(range(len(names))), limit)
            if walk.go(steps):
                break
            wrong += walk.found(0).certificate.lower > best + 1e-9
    return wrong


def test_a_search_that_is_stopped_claims_no_more_than_it_knows() -> None:
    """The node that was being looked at was left out of the lower bound."""
    assert wrong_bounds(30) == 0


def test_a_bound_that_leaves_out_the_node_at_hand_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def stale(walk: optimal.Walk, depth: int) -> list[float]:
        place, many, *_ = walk.candidates
        return [float(bound) for bound in walk.bounds[depth, place[depth] : many[depth]]]

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
