from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tacit.cli import output_files
from tacit.cli.output_files import check_chart, save_chart
from tacit.errors import InvalidError, MissingPackageError
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
def test_a_missing_package_is_an_error_before_anything_is_spent(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_files, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(MissingPackageError) as caught:
        check_chart(str(tmp_path / "a.svg"))
    assert (caught.value.package, caught.value.extra) == (missing, "plot")
    if missing == "vl_convert":
        check_chart(str(tmp_path / "a.html"))


@pytest.mark.parametrize("name", ["a", "a.exe", "nowhere/a.svg", ""])
def test_an_impossible_file_is_an_error_before_anything_is_spent(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="--chart") as caught:
        check_chart(str(tmp_path / name))
    assert caught.value.argument == "--chart"
    check_chart(None)


def test_an_answer_is_drawn_and_a_failure_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.svg"
    assert save_chart(answer().plot, str(file)) == f"Wrote the chart to {file}."
    assert file.read_text(encoding="utf-8").startswith("<svg")
    empty = answer("SELECT x, count(*) AS n FROM t GROUP BY x LIMIT 0")
    assert save_chart(empty.plot, str(file)).startswith("No chart was drawn. ")

    class Broken:
        def save(self, chart: str) -> None:
            raise OSError(chart)

    monkeypatch.setattr(Release, "plot", lambda *_: Broken())
    message = "The chart could not be written (OSError); the answer above is complete."
    assert save_chart(answer().plot, str(file)) == message
