"""Drawn examples for every engine: fewer where each costs a job of Spark, never none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.tables import Opener

SHARE = {"duckdb": 1, "postgres": 2, "spark": 20}
"""One of how many examples an engine is shown."""


def examples(most: int, *drawn: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[[Opener], None]]:
    """Run a test, which takes an engine and what is drawn, on so many examples."""

    def decorate(test: Callable[..., None]) -> Callable[[Opener], None]:
        def on_examples(engine: Opener) -> None:
            @settings(
                deadline=None,
                max_examples=max(4, most // SHARE[engine.name]),
                suppress_health_check=[HealthCheck.too_slow],
            )
            @given(st.tuples(*drawn))
            def run(found: tuple[Any, ...]) -> None:
                test(engine, *found)

            run()

        on_examples.__name__ = on_examples.__qualname__ = test.__name__
        on_examples.__doc__ = test.__doc__
        return on_examples

    return decorate
