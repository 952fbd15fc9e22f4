"""Drawn examples for every engine: fewer where each costs a job of Spark, never none.

`make test-long` draws TACIT_TEST_EXAMPLES times as many.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.tables import Opener

SHARE = {"duckdb": 2, "postgres": 4, "spark": 20}
LEAST = {"duckdb": 12, "postgres": 8, "spark": 2}
"""One of how many examples an engine is shown, and how many at least."""

TIMES = int(os.environ.get("TACIT_TEST_EXAMPLES", "1"))


def drawn(count: int) -> int:
    """Return a number of examples, multiplied in a long run."""
    return TIMES * count


def examples(
    most: int, *strategies: st.SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[[Opener], None]]:
    """Run a test, which takes an engine and what is drawn, on so many examples."""

    def decorate(test: Callable[..., None]) -> Callable[[Opener], None]:
        def on_examples(engine: Opener) -> None:
            @settings(
                deadline=None,
                max_examples=drawn(max(LEAST[engine.name], most // SHARE[engine.name])),
                suppress_health_check=[HealthCheck.too_slow],
            )
            @given(st.tuples(*strategies))
            def run(found: tuple[Any, ...]) -> None:
                test(engine, *found)

            run()

        on_examples.__name__ = on_examples.__qualname__ = test.__name__
        on_examples.__doc__ = test.__doc__
        return on_examples

    return decorate
