"""Drawn examples for every engine: fewer where each costs a job of Spark, never none.

`make test-long` draws TACIT_TEST_EXAMPLES times as many. Hypothesis begins with the simplest example, such as a table
without rows; where few examples are drawn, `varied` leaves it out, so that each of them is a random one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.tables import Opener

SHARE = {"duckdb": 2, "postgres": 4, "spark": 20}
LEAST = {"duckdb": 12, "postgres": 8, "spark": 2}
"""One of how many examples an engine is shown, and how many at least."""

T = TypeVar("T")
TIMES = int(os.environ.get("TACIT_TEST_EXAMPLES", "1"))


def drawn(count: int) -> int:
    """Return a number of examples, multiplied in a long run."""
    return TIMES * count


def varied(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Return a strategy without the simplest example that Hypothesis begins with: that one has 0 as its mark."""
    marked = st.tuples(st.integers(0, 999), strategy)
    return marked.filter(lambda one: one[0] > 0).map(lambda one: one[1])


def _count(engine: str, most: int) -> int:
    """Return how many examples an engine is shown; on Spark, half as many in a short run, but none is the simplest."""
    count = max(LEAST[engine], most // SHARE[engine])
    return (count + 1) // 2 if engine == "spark" and TIMES == 1 else drawn(count)


def examples(
    most: int, *strategies: st.SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[[Opener], None]]:
    """Run a test, which takes an engine and what is drawn, on so many examples."""

    def decorate(test: Callable[..., None]) -> Callable[[Opener], None]:
        shown = st.tuples(*strategies)

        def on_examples(engine: Opener) -> None:
            @settings(
                deadline=None,
                max_examples=_count(engine.name, most),
                suppress_health_check=[HealthCheck.too_slow],
            )
            @given(varied(shown) if engine.name == "spark" else shown)
            def run(found: tuple[Any, ...]) -> None:
                test(engine, *found)

            run()

        on_examples.__name__ = on_examples.__qualname__ = test.__name__
        on_examples.__doc__ = test.__doc__
        return on_examples

    return decorate
