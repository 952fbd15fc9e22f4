"""Generators with a seed, for simulations that people study. No release uses them: `noise` takes no seed."""

from __future__ import annotations

import numpy as np

from tacit.errors import bad_value
from tacit.guarantees.exact import whole


def generator(seed: object) -> np.random.Generator:
    """Return NumPy's generator for a whole number ≥ 0."""
    number = whole(seed)
    if number is None or number < 0:
        raise bad_value("seed", seed, "a whole number ≥ 0")
    return np.random.default_rng(number)
