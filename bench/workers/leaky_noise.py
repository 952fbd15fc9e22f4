"""Draw noise with a deliberate timing leak: one coin per step. The bench must detect that large noise takes long."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from random import SystemRandom

from serve import Missing, serve

_coin = SystemRandom().random


def releases(law: str, kind: str, level: float) -> Callable[[float], float]:
    """Return a Laplace release that finds its geometric magnitude with one coin per step."""
    if (law, kind) != ("laplace", "int"):
        raise Missing("–")  # the control has Laplace noise on integers only
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
