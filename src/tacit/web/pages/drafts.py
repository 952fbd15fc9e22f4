"""The suggestion of a report, as a change of the policy's draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from tacit.query.policy.toml_lines import dotted_key
from tacit.web.questions import Question
from tacit.web.services.asked import AskedBounds, AskedLimits
from tacit.web.services.asking import read_body


@dataclass(frozen=True, slots=True)
class DraftChange:
    """A key of the policy and its suggested value, with the address of the draft that has it."""

    key: str
    value: str
    address: str


def drafts_of(question: Question, report: Mapping[str, Any]) -> list[DraftChange]:
    """Return what a report suggests: a reach, or the bounds of a column. The table is known if there is one."""
    body = read_body(question)
    table = report["receipt"].get("table")
    if not isinstance(table, str):
        return []
    if isinstance(body, AskedLimits) and report.get("limited") == "rows":
        return [_change(question.dataset, ("tables", table, "reach"), str(int(report["reach"])))]
    ends = report.get("low"), report.get("high")
    if isinstance(body, AskedBounds) and all(isinstance(end, int | float) for end in ends):
        path = ("tables", table, "columns", body.column, "bounds")
        return [_change(question.dataset, path, f"[{', '.join(f'{end:.15g}' for end in ends)}]")]
    return []


def _change(dataset: str, path: tuple[str, ...], value: str) -> DraftChange:
    key = dotted_key(path)
    query = urlencode([*(("path", part) for part in path), ("value", value)])
    return DraftChange(key, value, f"/datasets/{quote(dataset, safe='')}/policy?{query}")
