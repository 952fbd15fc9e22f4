"""The two modes of `db.synthesize` behind one shape: noisy content, and a model that is fitted to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.events import Neighbours
from tacit.synthetic import fast
from tacit.synthetic.coded_rows import CodedRows
from tacit.synthetic.cost import ReleaseCost
from tacit.synthetic.row_source import Model

MODES = ("fast", "quality")


@dataclass(frozen=True, slots=True)
class Parts:
    """The cost of the content: ρ, ε if pure noise is admitted, and the neighbour relation."""

    rho: Fraction
    epsilon: Fraction | None
    neighbours: Neighbours


@dataclass(frozen=True, slots=True)
class Task:
    """The task of the model: its target, the public number of rows, a time limit, and a listener to progress."""

    target: int | None
    total: int | None
    seconds: float | None
    progress: Callable[[float, str], None] | None


def check(mode: object, cost: ReleaseCost, seconds: object) -> None:
    """Raise InvalidError for an unknown mode, or one that the cost or the time limit does not fit."""
    if mode not in MODES:
        raise bad_value("mode", mode, '"fast" or "quality"')
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds > 0
    if seconds is not None and not number:
        raise bad_value("seconds", seconds, "a number of seconds above 0")
    if mode == "quality" and not cost.rho:
        raise InvalidError(
            'mode="quality" needs Gaussian noise, so it has no price in ε alone.',
            argument="mode",
            hint='Give delta=, or use mode="fast".',
        )
    if mode == "quality" and find_spec("tacit.synthetic.quality") is None:
        raise InvalidError('mode="quality" is not installed.', argument="mode", hint='Use mode="fast".')


def content(mode: str, rows: CodedRows, sizes: tuple[int, ...], parts: Parts, task: Task) -> Mapping[str, object]:
    """Return the noisy content of a model; the caller has charged `parts`."""
    if mode == "fast":
        return fast.fast_content(
            rows,
            sizes,
            rho=parts.rho,
            epsilon=parts.epsilon,
            neighbours=parts.neighbours,
            target=task.target,
            total=task.total,
        )
    found = import_module("tacit.synthetic.quality").quality_content(
        rows,
        sizes,
        rho=parts.rho,
        neighbours=parts.neighbours,
        target=task.target,
        seconds=task.seconds,
        progress=task.progress,
    )
    return cast("Mapping[str, object]", found)


def model(mode: str, content: Mapping[str, object], sizes: tuple[int, ...]) -> Model:
    """Return the model that fits a content."""
    if mode == "fast":
        return fast.fast_model(content, sizes)
    return cast("Model", import_module("tacit.synthetic.quality").quality_model(content, sizes))
