"""Known-bad implementations, written as a textbook would write them. Each attack of this folder defeats one of them.

They draw from seeded generators, so a test of an attack's power gives the same result in each run.
"""

# ruff: noqa: S311 - these are known to be bad
from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

UNIT = 2.0**-53
"""The distance of two neighbouring uniform floats of `random.random`."""


@dataclass
class FloatLaplace:
    """The Laplace mechanism in floats: the logarithm of a uniform float, times the scale, plus the value."""

    scale: float
    random: Random = field(default_factory=lambda: Random(1))

    def release(self, value: float) -> float:
        """Return the value with noise."""
        sign = self.random.choice((-1.0, 1.0))
        return value + sign * self.scale * math.log(1.0 - self.random.random())

    def reaches(self, output: float, value: float) -> bool:
        """Return whether some uniform float gives this output for this value: the attack of Mironov (CCS 2012)."""
        middle = round(math.exp(-abs(output - value) / self.scale) / UNIT)
        near = (k * UNIT for k in range(max(middle - 16, 1), middle + 17) if k * UNIT <= 1)
        noises = [self.scale * math.log(uniform) for uniform in near]
        return any(output in (value + noise, value - noise) for noise in noises)


@dataclass
class BoxMuller:
    """The Gaussian mechanism in floats: two noises from two uniform floats by the method of Box and Muller."""

    sigma: float
    random: Random = field(default_factory=lambda: Random(2))

    def release(self, pair: tuple[float, float]) -> tuple[float, float]:
        """Return two values with noise."""
        first, second = 1.0 - self.random.random(), self.random.random()
        one, other = self._noise(first, second)
        return pair[0] + one, pair[1] + other

    def _noise(self, first: float, second: float) -> tuple[float, float]:
        radius = self.sigma * math.sqrt(-2.0 * math.log(first))
        angle = 2.0 * math.pi * second
        return radius * math.cos(angle), radius * math.sin(angle)

    def reaches(self, output: tuple[float, float], pair: tuple[float, float]) -> bool:
        """Return whether some two uniform floats give this output: the attack of Jin et al. (S&P 2022)."""
        x, y = output[0] - pair[0], output[1] - pair[1]
        first = round(math.exp(-(x * x + y * y) / (2 * self.sigma**2)) / UNIT)
        second = round(math.atan2(y, x) / (2 * math.pi) % 1.0 / UNIT)
        for one in range(max(first - 8, 1), first + 9):
            for other in range(max(second - 8, 0), second + 9):
                noise = self._noise(one * UNIT, other * UNIT)
                if (pair[0] + noise[0], pair[1] + noise[1]) == output:
                    return True
        return False


@dataclass
class RoundedNoise:
    """Noise that is rounded to two digits and added to the value as it is: its type, sign and digits stay visible."""

    scale: float
    random: Random = field(default_factory=lambda: Random(3))

    def release(self, value: float) -> float:
        """Return a value of the same type with noise."""
        noise = round(self.random.choice((-1, 1)) * self.random.expovariate(1 / self.scale), 2)
        return value + (int(noise) if isinstance(value, int) else noise)


def underflowing_laplace(value: float, *, sensitivity: float, epsilon: float) -> float:
    """Return a value with noise of the scale Δ/ε in floats, which may be 0 or infinite."""
    return FloatLaplace(sensitivity / epsilon).release(value)


@dataclass
class CountedGeometric:
    """Two-sided geometric noise by counting coins until the first one shows: large noise takes longer."""

    scale: float
    random: Random = field(default_factory=lambda: Random(4))

    def release(self, value: int) -> int:
        """Return a count with noise."""
        return value + self._coins() - self._coins()

    def _coins(self) -> int:
        coins, heads = 0, math.exp(-1 / self.scale)
        while self.random.random() < heads:
            coins += 1
        return coins


@dataclass
class BlockNoise:
    """Noise from a block of random numbers that is drawn in advance, and copied with the process and the object."""

    scale: float
    block: list[float] = field(default_factory=list)

    def release(self, value: float) -> float:
        """Return a value with the next noise of the block."""
        if not self.block:
            self.block = np.random.default_rng().laplace(0, self.scale, 1000).tolist()
        return value + self.block.pop()


def single_precision_sum(values: npt.NDArray[np.float32]) -> float:
    """Return a sum in floats of 32 bits, from the first value to the last."""
    return float(np.add.accumulate(values, dtype=np.float32)[-1]) if values.size else 0.0


def wrapping_sum(values: npt.NDArray[np.int64]) -> int:
    """Return a sum in 64 bits, which wraps around."""
    return int(values.sum())


class TextbookDatabase:
    """A database that runs the text of a query, adds noise for the stated sensitivity, and charges an answer."""

    def __init__(self, table: pa.Table, *, sensitivity: float = 1.0) -> None:
        """Register the table as `t`."""
        self.connection, self.sensitivity = duckdb.connect(), sensitivity
        self.connection.register("t", table)
        self.noise = Random(5)
        self.spent = 0.0

    def answer(self, sql: str, epsilon: float) -> list[tuple[object, ...]]:
        """Return the rows of a query, with noise on each number."""
        rows = self.connection.execute(sql).fetchall()
        self.spent += epsilon
        return [tuple(self._noisy(value, epsilon) for value in row) for row in rows]

    def _noisy(self, value: object, epsilon: float) -> object:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        noise = FloatLaplace(self.sensitivity / epsilon, self.noise).release(0.0)
        return value + (round(noise) if isinstance(value, int) else noise)
