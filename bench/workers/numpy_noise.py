"""Draw with numpy's Laplace and normal generators: floats from a fast generator that is not cryptographic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from serve import serve


def draws(law: str, scale: float, size: int) -> Callable[[], object]:
    """Return a draw of `size` floats at this scale or standard deviation."""
    generator = np.random.default_rng()
    return partial(generator.laplace if law == "laplace" else generator.normal, 0.0, scale, size)


if __name__ == "__main__":
    serve({"numpy": np.__version__}, draws=draws)
