from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tacit.cli import charts
from tacit.errors import InvalidError
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.results.release import Release, release
from tacit.query.sql.parse import parse

TABLE = TablePolicy(
    name="t",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={"x": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(3)))},
)


def answer(sql: str = "SELECT x, count(*) AS n FROM t GROUP BY x") -> Release:
    plan = parse(sql, {"t": TABLE})
    return release(
        plan, price(plan, Cost(epsilon=1)), [[5] * plan.listed for one in plan.bundles for _ in one.measures], {}
    )


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_a_missing_package_is_told_before_anything_is_spent(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(InvalidError, match=rf"without the package {missing}"):
        charts.check(str(tmp_path / "a.svg"))
    if missing == "vl_convert":
        charts.check(str(tmp_path / "a.html"))


@pytest.mark.parametrize("name", ["a", "a.exe", "nowhere/a.svg", ""])
def test_a_file_that_cannot_be_is_told_before_anything_is_spent(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="chart must be"):
        charts.check(str(tmp_path / name))
    charts.check(None)


def test_an_answer_is_drawn_and_whatever_fails_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.svg"
    assert charts.draw(answer(), str(file)) == f"A chart is in {file}."
    assert file.read_text(encoding="utf-8").startswith("<svg")
    assert "nothing to draw" in charts.draw(answer("SELECT x, count(*) AS n FROM t GROUP BY x LIMIT 0"), str(file))

    class Broken:
        def save(self, chart: str) -> None:
            raise OSError(chart)

    monkeypatch.setattr(Release, "plot", lambda *_: Broken())
    assert charts.draw(answer(), str(file)) == "The chart could not be written (OSError); the answer above is complete."
