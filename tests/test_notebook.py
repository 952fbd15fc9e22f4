"""The HTML of every value that a notebook shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.notebook import rows_html

HOSTILE = "<script>alert(1)</script>\u202e"
ROWS = {"ward": [HOSTILE, "b"] * 30, "age": list(range(60)), "zip": ["1", "2", "3"] * 20}


def database(**terms: object) -> Any:  # noqa: ANN401 - a Database
    return tc.open(
        ROWS,
        unit=tc.ROW,
        keys={"ward": [HOSTILE, "b"]},
        bounds={"age": (0, 100)},
        budget=tc.PureDP(epsilon=1000),
        analyst="<b>ann",
        **terms,  # type: ignore[arg-type]
    )


def charged() -> Any:  # noqa: ANN401 - as above
    db = database()
    db.sql(f"SELECT count(*) AS \"{HOSTILE[:8]}\" FROM data WHERE ward = '{HOSTILE[:8]}'", epsilon=0.5)  # noqa: S608 - ours
    return db


def estimate() -> Any:  # noqa: ANN401 - as above
    oracle = tc.local.GRR(domain=[HOSTILE, "b"], epsilon=2)
    return oracle.estimate(oracle.randomize([HOSTILE] * 50))


def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS).rename(columns={"zip": "<zip>"})


VALUES: dict[str, Callable[[], Any]] = {
    "PureDP": lambda: tc.PureDP(epsilon=1),
    "ApproxDP": lambda: tc.ApproxDP(epsilon=1, delta=1e-6),
    "ZCDP": lambda: tc.ZCDP(rho=1),
    "ApproxZCDP": lambda: tc.ApproxZCDP(rho=1, delta=1e-6),
    "RenyiDP": lambda: tc.RenyiDP(alpha=2, epsilon=1),
    "GaussianDP": lambda: tc.GaussianDP(mu=1),
    "Bounds": lambda: tc.Bounds(lower=1, upper=2),
    "Composition": lambda: tc.compose([(tc.PureDP(epsilon=0.1), 1000)]),
    "PrivacyProfile": lambda: tc.PrivacyProfile([(0, 0.1), (1, 1e-6)]),
    "Calibration": lambda: tc.calibrate(tc.Laplace, sensitivity=1, uses=10, budget=tc.ApproxDP(epsilon=1, delta=1e-6)),
    "event": lambda: tc.Laplace(sensitivity=1, epsilon=1).event,
    "Laplace": lambda: tc.Laplace(sensitivity=1, epsilon=1),
    "Gaussian": lambda: tc.Gaussian(sensitivity=1, rho=0.1),
    "Exponential": lambda: tc.Exponential(sensitivity=1, epsilon=1),
    "PermuteAndFlip": lambda: tc.PermuteAndFlip(sensitivity=1, epsilon=1),
    "NoisyMax": lambda: tc.NoisyMax(sensitivity=1, epsilon=1),
    "AboveThreshold": lambda: tc.AboveThreshold(sensitivity=1, epsilon=1, threshold=3),
    "RandomizedResponse": lambda: tc.RandomizedResponse(epsilon=1),
    "SmoothMedian": lambda: tc.SmoothMedian(bounds=(0, 1), epsilon=1, delta=1e-6),
    "Quote": lambda: database().count(by="ward", epsilon=1, plan=True),
    "Declared": lambda: tc.declare([database().count(epsilon=1, plan=True)]),
    "Release": lambda: database().count(by="ward", epsilon=1),
    "Table": lambda: database().count(by="ward", epsilon=1).intervals(),
    "Description": lambda: database().describe("age", "ward", epsilon=1),
    "PrivateBounds": lambda: database().bounds("age", epsilon=1),
    "LimitsReport": lambda: tc.open(
        {**ROWS, "who": range(60)}, unit="who", reach=3, budget=tc.PureDP(epsilon=9)
    ).limits(epsilon=1),
    "OutsideRelease": lambda: database().charge(tc.PureDP(epsilon=1), note="<script>"),
    "Database": database,
    "ledger": lambda: charged().ledger,
    "entry": lambda: charged().ledger.entries()[0],
    "Share": lambda: tc.ledger.history.by_analyst(charged().ledger)[0],
    "Charge": lambda: tc.ledger.history.charges(charged().ledger.entries())[0],
    "Spent": lambda: charged().ledger.spent,
    "protocol": lambda: tc.local.GRR(domain=[HOSTILE, "b"], epsilon=1),
    "Warner": lambda: tc.local.Warner(p=0.75),
    "Reports": lambda: tc.local.Warner(p=0.75).randomize([True, False]),
    "Aggregator": lambda: tc.local.Warner(p=0.75).aggregator(),
    "Estimate": estimate,
    "Choice": lambda: tc.local.choose(domain_size=16, epsilon=1),
    "Report": lambda: tc.anonymity.check(frame(), quasi=["<zip>"], sensitive="ward"),
    "Attack": lambda: tc.anonymity.attack(frame(), kind="homogeneity", quasi=["<zip>"], sensitive="ward"),
    "Anonymized": lambda: tc.anonymity.anonymize(frame(), quasi=["<zip>"], require=[tc.KAnonymity(5)]),
    "KAnonymity": lambda: tc.KAnonymity(5),
    "TCloseness": lambda: tc.TCloseness(0.2),
}

TAGS = {"p", "table", "thead", "tbody", "tr", "th", "td", "pre", "strong", "ol", "li"}


@pytest.mark.parametrize("name", VALUES)
def test_a_notebook_shows_the_value_and_runs_nothing_of_it(name: str) -> None:
    html = VALUES[name]()._repr_html_()
    tags = re.findall(r"<(/?)([^>]*)>", html)
    assert tags
    assert {tag for _, tag in tags} <= TAGS
    opened = [tag for slash, tag in tags if not slash]
    assert sorted(opened) == sorted(tag for slash, tag in tags if slash)
    assert "\u202e" not in html
    assert re.sub(r"<[^>]*>", "", html).strip()


def test_the_secret_of_a_mechanism_is_not_shown() -> None:
    above = tc.AboveThreshold(sensitivity=1, epsilon=1, threshold=3)
    assert above._repr_html_() == above._repr_html_()
    assert "threshold=3" in above._repr_html_()
    assert "state" not in above._repr_html_()


def test_long_tables_are_cut() -> None:
    html = rows_html(("n",), ((n,) for n in range(120)))
    assert html.count("<tr>") == 51
    assert "… and 70 more rows" in html


def test_every_public_class_of_values_has_html() -> None:
    """Every public class that is not an error shows itself; a new one must too."""
    public = [getattr(tc, name) for name in tc.__all__] + [getattr(tc.local, name) for name in tc.local.__all__]
    public += [getattr(tc.anonymity, name) for name in tc.anonymity.__all__]
    classes = [kind for kind in public if isinstance(kind, type) and not issubclass(kind, Exception)]
    without = [kind.__name__ for kind in classes if not hasattr(kind, "_repr_html_")]
    assert len(classes) > 25
    assert not without
