"""Many uses of one kind of noise: how many, how heavy each is, and what each draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar, cast

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import Exact, Number, positive, whole
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace

M = TypeVar("M", bound=Laplace | Gaussian)
Weights: TypeAlias = int | tuple[Fraction, ...] | dict[str, Fraction]

_MOST, _APART = 10**9, 10**15


@dataclass(frozen=True, eq=False)
class Uses(Generic[M]):
    """What every use draws: noise of one scale, divided by the weight of the use.

    Attributes:
        kind: `Laplace` or `Gaussian`.
        sensitivity: of one use.
        outputs: how many reals one use releases.
        weights: how many equal uses there are; or the weight of each, 1 being the heaviest.
        scale: the noise of the heaviest, in the units of the values.
    """

    kind: type[M]
    sensitivity: Number
    outputs: int
    weights: Weights
    scale: Exact

    @property
    def mechanism(self) -> M:
        """The mechanism of every use, if all weights are equal."""
        if len(self._made) > 1:
            got = f"{len(self._made)} different ones"
            raise InvalidError("weights", got, "equal for one mechanism (.mechanisms has one for each use)")
        return next(iter(self._made.values()))

    @property
    def mechanisms(self) -> tuple[M, ...] | dict[str, M]:
        """One mechanism for each use: by name if the weights had names, else in their order."""
        if isinstance(self.weights, dict):
            return {name: self._made[weight] for name, weight in self.weights.items()}
        if isinstance(self.weights, int):
            return (self.mechanism,) * self.weights
        return tuple(self._made[weight] for weight in self.weights)

    @property
    def parts(self) -> list[tuple[M, int]]:
        """Each different mechanism and how often it is used, as `compose` takes them."""
        return [(self._made[weight], count) for weight, count in self.counts.items()]

    @cached_property
    def counts(self) -> Mapping[Fraction, int]:
        """Each different weight and how often it occurs."""
        if isinstance(self.weights, int):
            return {Fraction(1): self.weights}
        return Counter(self.weights.values() if isinstance(self.weights, dict) else self.weights)

    @cached_property
    def _made(self) -> dict[Fraction, M]:
        return {weight: self._make(Exact(self.scale.fraction / weight)) for weight in self.counts}

    def _make(self, scale: Exact) -> M:
        if self.kind is Laplace:
            return cast("M", Laplace(sensitivity=self.sensitivity, scale=scale, outputs=self.outputs))
        return cast("M", Gaussian(sensitivity=self.sensitivity, sigma=scale, outputs=self.outputs))

    def at(self, scale: Number) -> Uses[M]:
        """Return the same uses with another noise scale."""
        return Uses(self.kind, self.sensitivity, self.outputs, self.weights, Exact(scale))

    def total(self, power: int = 1) -> Fraction:
        """Return the sum of all weights, raised to a power."""
        return sum((count * weight**power for weight, count in self.counts.items()), Fraction(0))


def read_weights(uses: object) -> Weights:
    """Return how many equal uses there are, or their weights relative to the heaviest.

    >>> read_weights([1, 2])
    (Fraction(1, 2), Fraction(1, 1))
    """
    count = whole(uses)
    if count is not None and 1 <= count <= _MOST:
        return count
    if not isinstance(uses, (list, tuple, Mapping)) or not uses:
        raise InvalidError("uses", show(uses), "a whole number from 1 to 10^9, or weights > 0 in a list or by name")
    given = uses.values() if isinstance(uses, Mapping) else uses
    weights = [positive(weight, "weight") for weight in given]
    top = max(weights)
    if min(weights) * _APART < top:
        raise InvalidError("uses", "weights further apart", "weights within a factor of 1e15 of each other")
    relative = tuple(weight / top for weight in weights)
    return dict(zip(uses, relative, strict=True)) if isinstance(uses, Mapping) else relative
