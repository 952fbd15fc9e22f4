"""Constructors whose arguments have names: a call without the names raises InvalidError, not Python's TypeError."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import TypeVar

from tacit.errors import InvalidError, show, show_name, suggestion

_Class = TypeVar("_Class", bound=type)


def keyword_only(kind: _Class) -> _Class:
    """Let the constructor of a class, all of whose arguments are keywords, raise InvalidError for a wrong call.

    >>> @keyword_only
    ... class Noise:
    ...     def __init__(self, *, scale: int, outputs: int = 1) -> None: ...
    >>> Noise(3)
    Traceback (most recent call last):
    tacit.errors.InvalidError: The arguments of Noise have names. Write Noise(scale=3).
    """
    build: Callable[..., None] = kind.__init__  # type: ignore[misc]  # of this class, not of a subclass
    parameters = list(signature(build).parameters.values())[1:]
    names = tuple(parameter.name for parameter in parameters)
    known = frozenset(names)
    required = frozenset(parameter.name for parameter in parameters if parameter.default is Parameter.empty)

    @wraps(build)
    def checked(self: object, *values: object, **arguments: object) -> None:
        if values or not required <= arguments.keys() <= known:
            _check(type(self).__name__, names, required, values, arguments)
        build(self, **arguments)

    kind.__init__ = checked  # type: ignore[misc]  # as above
    return kind


def _check(
    name: str,
    names: tuple[str, ...],
    required: frozenset[str],
    values: tuple[object, ...],
    arguments: dict[str, object],
) -> None:
    """Raise InvalidError for arguments without names, with unknown names, or that are missing."""
    if values:
        rest = [each for each in names if each not in arguments]
        given = ", ".join(f"{each}={_written(value)}" for each, value in zip(rest, values, strict=False))
        hint = f"Write {name}({given})." if len(values) <= len(rest) else f"They are {', '.join(names)}."
        raise InvalidError(f"The arguments of {name} have names.", argument=(rest or names)[0], hint=hint)
    unknown = next((each for each in arguments if each not in names), None)
    if unknown is not None:
        hint = suggestion(unknown, names) or f"Its arguments are {', '.join(names)}."
        raise InvalidError(f"{name} has no argument {show_name(unknown)}.", argument=unknown, hint=hint)
    missing = next(each for each in names if each in required and each not in arguments)
    raise InvalidError(f"{name} needs the argument {missing}.", argument=missing, hint=f"Write {name}({missing}=…).")


def _written(value: object) -> str:
    """Return a number or a pair as code; anything else could be data or a secret, and stays out."""
    text = show(value)
    return text if isinstance(value, (int, float, tuple)) and text[:1] in "(-0123456789TF" else "…"
