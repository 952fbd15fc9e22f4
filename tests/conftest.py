"""Settings of all tests, and the marker `sampled`.

No Hypothesis example has a deadline: the load of the machine must not fail a test. `tools/plant_faults.py` takes the
profile `planted`, which does not make a failing example smaller.

`sampled(n)`: about every n-th case of a test runs under `make test`, the others under `make test-long`.

Parameters with few values keep all of them: each value is in at least one case that runs, so that no mechanism, model
or direction is left out because a stride skips it.

Python's collector of garbage leaves out what exists when the tests begin: 13,000 tests and their modules, which it
would search again and again.

Tests on Spark come first. Of parallel processes, then, one runs them all, and Java starts and warms up once.
"""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Generator

import pytest
from hypothesis import Phase, settings

import receipts_seen

settings.register_profile("tacit", deadline=None)
settings.register_profile("planted", deadline=None, phases=[Phase.explicit, Phase.generate], database=None)
settings.load_profile("tacit")

receipts_seen.install()

ON_SPARK = ("test_engines_agree.py", "test_database_engines.py")
"""Files that ask Spark in tests whose names do not say so."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, object, object]:
    """Mark the cases that are left out as long, before -m selects, and put tests on Spark first at the end."""
    cases = defaultdict[str, list[pytest.Function]](list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("sampled"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for functions in cases.values():
        _mark_others(functions)
    result = yield
    items.sort(key=lambda item: "spark" not in item.nodeid.lower() and item.path.name not in ON_SPARK)
    return result


@pytest.fixture(autouse=True)
def _receipts_hold() -> Generator[None]:
    """Fail a test that produced a receipt which the separate check rejects."""
    yield
    assert receipts_seen.problems() == []


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # DuckDB's module prints what was not collected at the end


def _mark_others(functions: list[pytest.Function]) -> None:
    marker = functions[0].get_closest_marker("sampled")
    stride = marker.args[0] if marker else 1
    values = [{(name, repr(value)) for name, value in function.callspec.params.items()} for function in functions]
    sizes = Counter(name for name, _ in set().union(*values))
    few, seen = len(functions) // stride, set[tuple[str, str]]()
    for index, function in enumerate(functions):
        short = {(name, value) for name, value in values[index] if sizes[name] <= few}
        if index % stride and short <= seen:
            function.add_marker(pytest.mark.long)
        else:
            seen |= short
