"""Find the meaning of each parameter of a public call: in its docstring, in its class, or in that of its options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from docs_site.docstrings import items
from docs_site.names import Member, Name, resolved

import tacit
from tacit.database import Database
from tacit.database_verbs import DatabaseVerbs

CALLS = ("method", "classmethod", "staticmethod")
_SHARED: tuple[Callable[..., Any], ...] = (Database.plan, DatabaseVerbs, tacit.open, tacit.count)
"""Calls whose docstrings describe the options that other calls take as `**options`."""


def described(name: Name, member: Member | None = None) -> dict[str, str]:
    """Return the parameters that the docstring of a call leaves to others, each with what they say; "" if none does.

    Args:
        name: the function, or the class of the call.
        member: the method; without it, the function or the constructor.
    """
    call = name.value if member is None else member.value
    if getattr(call, "_is_protocol", False):
        return {}
    doc = name.doc if member is None else member.doc
    bound = member is not None and member.kind != "staticmethod"
    missing = [one for one in parameters(call, bound=bound) if not re.search(rf"\b{re.escape(one)}\b", doc)]
    sources = list(_sources(name)) if inspect.isclass(name.value) else []
    return {one: _said(one, [*sources, *(source.__doc__ or "" for source in _shared(call))]) for one in missing}


def parameters(call: Any, *, bound: bool) -> list[str]:  # noqa: ANN401 - any callable
    """Return the names of the public parameters of a call, with those that `**options` stands for."""
    try:
        found = list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        return []
    names: list[str] = []
    for one in found[1 if bound else 0 :]:
        options = _options(call, one)
        names += [one.name] if options is None else list(options)
    return [name for name in names if not name.startswith("_")]


def _options(call: Any, one: inspect.Parameter) -> dict[str, object] | None:  # noqa: ANN401 - any callable
    """Return the fields of the TypedDict that `**options` stands for; None for another parameter."""
    text = str(one.annotation)
    match = re.search(r"Unpack\[(?:[\w.]+\.)?(\w+)\]", text)
    if one.kind is not one.VAR_KEYWORD or match is None:
        return None
    kind = resolved(inspect.unwrap(call).__module__, match[1])
    return {name: None for base in _bases(kind) for name in getattr(base, "__annotations__", {})}


def _bases(kind: object) -> Iterator[object]:
    for base in getattr(kind, "__orig_bases__", ()):
        yield from _bases(base)
    yield kind


def _sources(name: Name) -> Iterator[str]:
    """Yield the docstrings of a class, of its constructor and of its calls."""
    yield name.doc
    for base in name.value.__mro__:
        if base.__module__.startswith("tacit"):
            yield inspect.cleandoc(base.__doc__ or "")
            yield from (value.__doc__ or "" for value in vars(base).values() if inspect.isfunction(value))
    yield from (member.doc for member in name.members if member.kind in CALLS)
    yield from (f"Attributes:\n    {one.name}: {one.doc}" for one in name.members if one.kind not in CALLS and one.doc)


def _shared(call: Any) -> Sequence[Callable[..., Any]]:  # noqa: ANN401 - any callable
    unpacked = any(_options(call, one) is not None for one in inspect.signature(call).parameters.values())
    return _SHARED if unpacked or "remote" in getattr(call, "__module__", "") else ()


def _said(name: str, docstrings: Sequence[str]) -> str:
    for docstring in docstrings:
        clean = inspect.cleandoc(docstring)
        for section in ("Args", "Attributes"):
            text = items(clean, section).get(name)
            if text:
                return text
    return ""
