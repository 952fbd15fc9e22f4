from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract.homes import homes
from contract.tables import Opener

ENGINES = ("duckdb", "postgres", "spark")


@pytest.fixture(scope="session")
def every_engine() -> Iterator[dict[str, Opener]]:
    """All engines, as ways to open them on some rows."""
    with homes() as found:
        yield found


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest, every_engine: dict[str, Opener]) -> Opener:
    """Every engine in turn."""
    return every_engine[request.param]
