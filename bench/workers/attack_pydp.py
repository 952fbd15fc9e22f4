"""Run PyDP's mechanisms and algorithms.

Neighbours add or remove the rows of one user, as in the C++ library that PyDP binds. The caller passes the rows, so
there is no query of an analyst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib.metadata import version

from attack_serve import serve
from pydp.algorithms.laplacian import BoundedSum  # type: ignore[import-not-found]  # in the library's environment only
from pydp.algorithms.numerical_mechanisms import (  # type: ignore[import-not-found]  # in the library's environment only
    GaussianMechanism,
    LaplaceMechanism,
)
from pydp.algorithms.partition_selection import (  # type: ignore[import-not-found]  # in the library's environment only
    create_partition_strategy,
)
from serve import Missing


def number(value: float, law: str) -> Callable[[], float]:
    """Return add_noise. It returns an int for an int."""
    if law == "snapping":
        raise Missing("no snapping mechanism")
    noise = GaussianMechanism(1.0, 1e-6, 1.0) if law == "gaussian" else LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    return lambda: noise.add_noise(value)


def total(
    rows: list[float], upper: float, *, lower: float = 0, single: bool = False, ignore_nan: bool = False
) -> Callable[[], float]:
    """Return a bounded sum, in which each user has one row."""
    if single or ignore_nan:
        raise Missing("no 32-bit floats" if single else "no other sum")
    kind = "int64" if isinstance(upper, int) else "float"

    def release() -> float:
        algorithm = BoundedSum(
            epsilon=1.0,
            delta=0,
            lower_bound=lower,
            upper_bound=upper,
            l0_sensitivity=1,
            linf_sensitivity=1,
            dtype=kind,
        )
        return algorithm.quick_result(rows)  # type: ignore[no-any-return]  # the library has no types

    return release


def keys(rows: list[str]) -> Callable[[], list[str]]:
    """Return the keys that the strategy for selecting partitions keeps."""
    users = Counter(rows)
    strategy = create_partition_strategy("truncated_geometric", 1.0, 1e-6, 1)
    return lambda: sorted(key for key, count in users.items() if strategy.should_keep(count))


if __name__ == "__main__":
    serve(
        {"python-dp": version("python-dp")},
        neighbours="add/remove",
        number=number,
        sum=total,
        keys=keys,
    )
