"""A sampler that leaks on purpose: it counts coins, so large noise takes long. The instrument must see it."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from random import SystemRandom

from serve import Missing, serve

_coin = SystemRandom().random


def releases(law: str, kind: str, level: float) -> Callable[[float], float]:
    """Return a Laplace release whose geometric magnitude is found by one coin a step."""
    if (law, kind) != ("laplace", "int"):
        raise Missing("–")  # the control is Laplace on integers
    ratio = exp(-level)

    def release(value: float) -> float:
        while True:
            magnitude, sign = 0, 1 if _coin() < 0.5 else -1
            while _coin() < ratio:
                magnitude += 1
            if magnitude or sign > 0:
                return value + sign * magnitude

    return release


if __name__ == "__main__":
    serve({}, releases=releases)
