"""The public names: those of `tacit.__all__`, those of its modules, and the types that calls of them return."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType
from typing import Any

from docs_site.docstrings import items

import tacit

PAGES = {
    "databases": "Databases",
    "questions": "Plans and answers",
    "policies": "What is public about a table",
    "columns": "One column without a database",
    "many-columns": "Many columns at once",
    "mechanisms": "Mechanisms",
    "laws": "Laws of noise",
    "guarantees": "Guarantees and composition",
    "events": "Events",
    "filters": "Filters",
    "sensitivity": "Sensitivity",
    "figures": "Figures",
    "ledger": "Ledgers",
    "learn": "Classifiers",
    "local": "The local model",
    "anonymity": "Microdata",
    "audits": "Audits",
    "errors": "Errors",
}
"""The pages of names, with their titles, in the order of the navigation."""

_HOMES = {
    "tacit.activity": "databases",
    "tacit.anonymity": "anonymity",
    "tacit.auditing": "audits",
    "tacit.column_functions": "columns",
    "tacit.database": "databases",
    "tacit.declared": "databases",
    "tacit.errors": "errors",
    "tacit.guarantees": "guarantees",
    "tacit.guarantees.events": "events",
    "tacit.guarantees.filters": "filters",
    "tacit.laws": "laws",
    "tacit.learn": "learn",
    "tacit.ledger": "ledger",
    "tacit.local": "local",
    "tacit.mechanisms": "mechanisms",
    "tacit.mechanisms.figures": "figures",
    "tacit.mechanisms.sensitivity": "sensitivity",
    "tacit.mechanisms.function_sensitivity": "sensitivity",
    "tacit.opening": "databases",
    "tacit.outside_release": "databases",
    "tacit.query.policy": "policies",
    "tacit.query.results": "questions",
    "tacit.quotes": "questions",
    "tacit.remote": "databases",
    "tacit.remote.results": "questions",
    "tacit.synthetic.itemsets": "many-columns",
    "tacit.synthetic.marginal_table": "many-columns",
    "tacit.synthetic.marginals": "many-columns",
    "tacit.synthetic.release_plan": "many-columns",
    "tacit.synthetic.synthetic_report": "many-columns",
    "tacit.synthetic.synthetic_rows": "many-columns",
}
"""The page of each module, or of its package. A type of another module is internal, also if a call returns it."""


@dataclass(frozen=True, slots=True)
class Member:
    """A method, a property or an attribute of a class."""

    name: str
    kind: str
    value: Any
    doc: str


@dataclass(frozen=True, slots=True)
class Name:
    """A public name with its value and the page that documents it."""

    name: str
    value: Any
    page: str
    members: tuple[Member, ...] = field(default=())

    @property
    def doc(self) -> str:
        """The docstring; that of a constant is beside its definition."""
        if inspect.isclass(self.value) or inspect.isroutine(self.value):
            return inspect.cleandoc(self.value.__doc__ or "")
        return _beside(self.name)


def public_names() -> tuple[Name, ...]:
    """Return all public names, each once: under `tacit.` if it is there."""
    found: dict[int, Name] = {}
    for name in tacit.__all__:
        value = getattr(tacit, name)
        if not inspect.ismodule(value):
            found[id(value)] = _name(f"tacit.{name}", value)
    for module in public_modules():
        for path, value in _values(module, f"tacit.{_short(module)}"):
            found.setdefault(id(value), _name(path, value, module.__name__))
    queue = list(found.values())
    while queue:
        for kind in _returned(queue.pop()):
            if id(kind) not in found and home(kind.__module__) is not None:
                found[id(kind)] = _name(kind.__name__, kind)
                queue.append(found[id(kind)])
    return tuple(found.values())


def public_modules() -> list[ModuleType]:
    """Return the modules of `tacit.__all__`."""
    return [value for name in tacit.__all__ if inspect.ismodule(value := getattr(tacit, name))]


def module_names(module: ModuleType) -> list[str]:
    """Return the public names of a module: its `__all__`, or what it defines."""
    listed = getattr(module, "__all__", None)
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
    return sorted(listed) if listed else [name for name in own if not name.startswith("_")]


def _values(module: ModuleType, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the public values of a module, and of the modules that it lists."""
    for name in module_names(module):
        value = getattr(module, name)
        if inspect.ismodule(value):
            yield from _values(value, f"{path}.{name}")
        else:
            yield f"{path}.{name}", value


def home(module: str) -> str | None:
    """Return the page of a module: its own, or that of the nearest package.

    >>> home("tacit.guarantees.events"), home("tacit.guarantees.values"), home("tacit.session")
    ('events', 'guarantees', None)
    """
    while module:
        if module in _HOMES:
            return _HOMES[module]
        module = module.rpartition(".")[0]
    return None


def _name(name: str, value: Any, module: str | None = None) -> Name:  # noqa: ANN401 - a value of any kind
    page = home(module or getattr(value, "__module__", None) or type(value).__module__)
    if page is None:
        raise LookupError(f"{name} has no page: add its module to _HOMES of {__file__}.")
    return Name(name, value, page, tuple(members(value)) if inspect.isclass(value) else ())


def members(kind: type) -> Iterator[Member]:
    """Yield the public members that classes of tacit define, in the order of their definitions."""
    described: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        doc = inspect.cleandoc(base.__doc__ or "") if base.__module__.startswith("tacit") else ""
        described |= items(doc, "Args") | items(doc, "Attributes")
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("tacit"):
            continue
        names = [name for name in (*getattr(base, "__annotations__", ()), *vars(base)) if not name.startswith("_")]
        for name in names:
            if name not in seen:
                seen.add(name)
                yield _member(base, name, described)
    listed = items(inspect.cleandoc(kind.__doc__ or ""), "Attributes")
    yield from (Member(name, "attribute", None, text) for name, text in listed.items() if name not in seen)


def _member(base: type, name: str, described: dict[str, str]) -> Member:
    value = vars(base).get(name)
    match value:
        case property():
            return Member(name, "property", value.fget, inspect.cleandoc(value.__doc__ or ""))
        case functools.cached_property():
            return Member(name, "property", value.func, inspect.cleandoc(value.__doc__ or ""))
        case classmethod():
            return Member(name, "classmethod", value.__func__, inspect.cleandoc(value.__doc__ or ""))
        case staticmethod():
            return Member(name, "staticmethod", value.__func__, inspect.cleandoc(value.__doc__ or ""))
        case _ if inspect.isfunction(value):
            return Member(name, "method", value, inspect.cleandoc(value.__doc__ or ""))
    return Member(name, "attribute", base.__annotations__.get(name), described.get(name) or _field_doc(base, name))


def _field_doc(base: type, name: str) -> str:
    """Return the text below an attribute in the source of its class."""
    return _text_below(_class_body(base), name)


def _class_body(kind: type) -> list[ast.stmt]:
    tree = _tree(kind.__module__)
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    return next((node.body for node in classes), [])


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


def _beside(name: str) -> str:
    """Return the text below the definition of a constant, or the docstring of its class."""
    parent, _, short = name.rpartition(".")
    module = functools.reduce(getattr, parent.split(".")[1:], tacit)
    kind = type(getattr(module, short))
    if kind.__module__.startswith("tacit"):
        return inspect.cleandoc(kind.__doc__ or "")
    imported = _origin(module.__name__, short)
    return _text_below(_tree(imported).body, short)


def _text_below(body: list[ast.stmt], name: str) -> str:
    """Return the string that stands below the assignment of a name."""
    for line, after in pairwise(body):
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
        if isinstance(text, str) and any(isinstance(one, ast.Name) and one.id == name for one in targets):
            return inspect.cleandoc(text)
    return ""


def _origin(module: str, name: str) -> str:
    """Return the module from which a module imports a name; the module itself if it imports none."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module and any((n.asname or n.name) == name for n in node.names):
            importlib.import_module(node.module)
            return node.module
    return module


def _returned(name: Name) -> Iterator[type]:
    """Yield the classes of tacit that a call, a method or a property returns."""
    calls = [member.value for member in name.members if member.kind != "attribute"]
    calls += [inspect.unwrap(name.value)] if inspect.isroutine(name.value) else []
    for call in calls:
        text = getattr(call, "__annotations__", {}).get("return")
        for word in re.findall(r"\b[A-Z]\w+", text) if isinstance(text, str) else ():
            kind = resolved(call.__module__, word)
            if inspect.isclass(kind) and kind.__module__.startswith("tacit"):
                yield kind


def resolved(module: str, word: str) -> object:
    """Return what a word of an annotation names, also if its import is for type checkers alone."""
    value = getattr(sys.modules[module], word, None)
    return getattr(sys.modules[_origin(module, word)], word, None) if value is None else value


def _short(module: ModuleType) -> str:
    return next(name for name in tacit.__all__ if getattr(tacit, name) is module)
