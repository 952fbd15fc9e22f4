"""Tables and requirements that once broke a promise of the microdata tools."""

from __future__ import annotations

import pytest

import tacit as tc
from tacit.anonymity import optimal
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


@pytest.mark.parametrize("steps", [3, 7, 9, 23, 40])
def test_a_search_that_is_stopped_claims_no_more_than_it_knows(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node that was being looked at was left out of the lower bound."""
    rows = {f"q{j}": [(i * (j + 3) + i // 5) % 7 for i in range(120)] for j in range(4)}
    quasi = {name: tc.anonymity.intervals([2, 4, 8]) for name in rows}
    best = tc.anonymity.anonymize(rows, quasi=quasi, require=[tc.KAnonymity(3)], suppression=0.1)
    monkeypatch.setattr(optimal, "_STEPS", steps)
    try:
        early = tc.anonymity.anonymize(rows, quasi=quasi, require=[tc.KAnonymity(3)], suppression=0.1, seconds=0)
    except InvalidError:
        return
    assert early.certificate is not None
    assert early.certificate.lower <= best.loss + 1e-12
    assert not early.certificate.optimal or early.loss == pytest.approx(best.loss)


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
