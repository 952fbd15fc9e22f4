"""Runs of a release on two inputs, and tables of the features of their outputs.

The two runs of a pair follow each other in a random order, drawn from the audit's seed. So a drift of the machine
meets both inputs alike. The release must not remember earlier runs: give a function that constructs a stateful
mechanism in each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from time import perf_counter_ns

import numpy as np

from tacit.arrays import Floats, Objects, as_objects
from tacit.auditing.features import Feature, Features, Raised, describe, of_caller
from tacit.errors import InvalidError, TacitError

Column = Floats | Objects
"""The values of one feature: numbers, with NaN where an output has no such number, or texts."""

TIME = "seconds"
PROJECTION = "projection"
ABSENT = "(absent)"
_CHUNK = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A release, and how its outputs are observed."""

    release: Callable[..., object]
    features: Callable[[object], object] | None = None
    messages: bool = False
    time: bool = False
    batched: bool = False

    def describe(self, output: object) -> Features:
        """Return the features of one output."""
        if self.features is not None:
            return of_caller(self.features, output)
        return describe(output, messages=self.messages)


class Table:
    """The features of outputs, one column each, stored in chunks.

    A chunk is an array of numbers, with NaN where an output lacks the feature, or an array of numbers and texts, with
    `ABSENT` there.
    """

    def __init__(self) -> None:
        """Create a table without rows."""
        self.size = 0
        self._chunks: list[tuple[int, dict[str, Column]]] = []

    def add(self, outputs: Sequence[Features]) -> None:
        """Append outputs."""
        for start in range(0, len(outputs), _CHUNK):
            part = outputs[start : start + _CHUNK]
            names = dict.fromkeys(name for output in part for name in output)
            self._chunks.append((len(part), {name: _chunk(part, name) for name in names}))
            self.size += len(part)

    def names(self) -> dict[str, bool]:
        """Return the features, and whether all values of each are numbers."""
        found: dict[str, bool] = {}
        for _, chunk in self._chunks:
            for name, values in chunk.items():
                found[name] = found.get(name, True) and values.dtype != object
        return found

    def numbers(self, name: str) -> Floats:
        """Return a feature as numbers, with NaN where an output lacks it or has a text."""
        parts = [as_floats(chunk.get(name), size) for size, chunk in self._chunks]
        return np.concatenate([np.empty(0), *parts])

    def texts(self, name: str) -> list[str]:
        """Return a feature as texts."""
        return [text for size, chunk in self._chunks for text in _as_texts(chunk.get(name), size)]

    def chunks(self) -> Iterator[tuple[int, dict[str, Column]]]:
        """Yield the chunks with their sizes."""
        yield from self._chunks


def _chunk(outputs: Sequence[Features], name: str) -> Column:
    values = [output.get(name) for output in outputs]
    if not any(isinstance(value, str) for value in values):
        return np.array([nan if value is None else value for value in values], dtype=np.float64)
    return as_objects([ABSENT if value is None else value for value in values])


def as_floats(values: Column | None, size: int) -> Floats:
    """Return a chunk as numbers, with NaN for texts; None stands for a chunk without the feature."""
    if values is None:
        return np.full(size, nan)
    if values.dtype != object:
        return values.astype(np.float64)
    return np.array([nan if isinstance(value, str) else value for value in values.tolist()], dtype=np.float64)


def _as_texts(values: Column | None, size: int) -> list[str]:
    if values is None:
        return [ABSENT] * size
    return [as_text(value) for value in values.tolist()]


def as_text(value: Feature) -> str:
    """Return a feature as a text; NaN means that it is absent."""
    if isinstance(value, str):
        return value
    return ABSENT if isnan(value) else repr(value)


def run_pairs(
    recipe: Recipe, inputs: tuple[object, object], runs: int, order: np.random.Generator
) -> tuple[list[Features], list[Features]]:
    """Run a release on both inputs, and describe the outputs.

    Raises:
        InvalidError: if every run on both inputs raised an exception.
    """
    if recipe.batched:
        return _batch(recipe, inputs[0], runs), _batch(recipe, inputs[1], runs)
    described: tuple[list[Features], list[Features]] = ([], [])
    errors: list[Exception] = []
    for first in order.integers(0, 2, runs).tolist():
        for place in (first, 1 - first):
            described[place].append(_one_run(recipe, inputs[place], errors))
    if len(errors) == 2 * runs:
        raise InvalidError(
            f"Every run raised an exception; the first was {type(errors[0]).__name__}.",
            argument="release",
            hint="Check that release(input) works on both inputs.",
        ) from errors[0]
    return described


def _one_run(recipe: Recipe, value: object, errors: list[Exception]) -> Features:
    start = perf_counter_ns()
    try:
        output = recipe.release(value)
    except Exception as error:  # noqa: BLE001 - an exception is an output of an audited release
        output = Raised(type(error).__name__, str(error))
        errors.append(error)
    end = perf_counter_ns()
    found = recipe.describe(output)
    if recipe.time:
        found[TIME] = (end - start) / 1e9
    return found


def _batch(recipe: Recipe, value: object, runs: int) -> list[Features]:
    try:
        outputs = recipe.release(value, runs)
    except TacitError:
        raise
    except Exception as error:
        raise InvalidError(
            f"release(input, {runs}) raised {type(error).__name__}.",
            argument="release",
            hint="With batched=True, return a list of that many independent outputs, and raise no exception.",
        ) from error
    if not isinstance(outputs, (Sequence, np.ndarray)) or len(outputs) != runs:
        raise InvalidError(
            f"release(input, {runs}) did not return {runs} outputs.",
            argument="release",
            hint="With batched=True, return a list or an array of that many independent outputs.",
        )
    if isinstance(outputs, np.ndarray) and outputs.ndim == 1:
        outputs = outputs.tolist()
    return [recipe.describe(output) for output in outputs]
