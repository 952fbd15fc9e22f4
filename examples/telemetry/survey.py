"""The questions of the survey, and how a browser randomises each answer."""

from __future__ import annotations

import tacit as tc
from tacit.local import Protocol

ENGINES = ["Kagi", "DuckDuckGo", "Google", "Bing", "Ecosia", "Startpage", "Qwant", "other"]


def questions() -> dict[str, Protocol]:
    """Return the protocol of each question. It is the same in every run."""
    best = tc.local.choose(domain_size=len(ENGINES), epsilon=1.0, client="browser")
    return {"engine": best.make(ENGINES), "crash": tc.local.Warner(epsilon=0.5, words=("no crash", "a crash"))}
