"""`sampled(n)`: every n-th of a test's cases runs under `make test`, the others under `make test-long`."""

from __future__ import annotations

from collections import Counter

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that are left out as long, before -m selects."""
    seen = Counter[str]()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            function = item.nodeid.partition("[")[0]
            if seen[function] % sampled.args[0]:
                item.add_marker(pytest.mark.long)
            seen[function] += 1
