"""One page for each group of public names: signatures, docstrings, examples and members."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from docs_site import names
from docs_site.docstrings import markdown, prose, summary
from docs_site.names import Member, Name
from docs_site.pages import Page, sentence, table
from docs_site.parameters import CALLS, described

FOLDER = "reference/python"
_INTRODUCTIONS = {
    "databases": "Open private data, locally or behind a server, and ask it.",
    "questions": "What plans and answers hold, and the forms in which they can be read.",
    "policies": "What a database says about its tables, and the unit of a table of single rows.",
    "columns": "Private statistics of a list, an array or a column of a frame, in one call.",
    "many-columns": "Marginals, synthetic rows and itemsets, which methods of a database return.",
    "mechanisms": "Noise for numbers that you already have, and private choices.",
    "laws": "The laws of noise as functions: probabilities, quantiles and samples.",
    "guarantees": "Guarantees of one release and of several together, and conversions between them.",
    "audits": "Lower bounds on the ε of any release, and their reports.",
}
_DEFAULTS = re.compile(r"<[^>]*>")


def pages(found: Iterable[Name]) -> list[Page]:
    """Return the pages of all names; errors have a separate page."""
    groups: dict[str, list[Name]] = {page: [] for page in names.PAGES if page != "errors"}
    for name in found:
        if name.page != "errors":
            groups[name.page].append(name)
    return [_page(page, members) for page, members in groups.items()]


def _page(page: str, members: list[Name]) -> Page:
    module = next((m for m in names.public_modules() if m.__name__.rpartition(".")[2] == page), None)
    introduction = markdown(inspect.cleandoc(module.__doc__ or "")) if module else _INTRODUCTIONS[page]
    purpose = summary(module.__doc__) if module else _INTRODUCTIONS[page]
    ordered = sorted(members, key=lambda name: (name.name.count(".") == 0, not inspect.isclass(name.value), name.name))
    rows = [[f"[`{_called(name.name)}`](#{name.name})", prose(summary(name.doc))] for name in ordered]
    text = [f"# {names.PAGES[page]}", introduction, table(["name", "meaning"], rows), *map(entry, ordered)]
    return Page(f"{FOLDER}/{page}.md", "\n\n".join(text) + "\n", prose(purpose))


def _called(name: str) -> str:
    """Return a name as programs write it.

    >>> _called("tacit.local.OLH"), _called("Release")
    ('tc.local.OLH', 'Release')
    """
    return re.sub(r"^tacit\.", "tc.", name)


def entry(name: Name) -> str:
    """Return the directive of a name with those of its members."""
    value, doc = name.value, markdown(name.doc, without=("Attributes",))
    if inspect.isclass(value):
        members = "\n\n".join(_member(name, member) for member in name.members)
        public = "." in name.name and not getattr(value, "_is_protocol", False)
        note = "" if "." in name.name else f"Calls return it; for annotations, import it from `{value.__module__}`."
        head, more = (name.name + _signature(value), _further(name)) if public else (name.name, "")
        return _directive("py:class", head, [doc, more, note, members], 5)
    if inspect.isroutine(value):
        return _directive("py:function", name.name + _signature(value), [doc, _further(name)], 4)
    return _directive("py:data", name.name, [doc], 4)


def _member(owner: Name, member: Member) -> str:
    options: list[str] = []
    match member.kind:
        case "attribute":
            kind, head = "py:attribute", member.name
            options = [f":type: {_annotation(member.value)}"] if member.value is not None else []
        case "property":
            kind, head = "py:property", member.name
            returned = getattr(member.value, "__annotations__", {}).get("return")
            options = [f":type: {_annotation(returned)}"] if returned else []
        case _:
            kind, head = "py:method", member.name + _signature(member.value, bound=member.kind != "staticmethod")
            options = [f":{member.kind}:"] if member.kind != "method" else []
    doc = prose(sentence(member.doc)) if member.kind == "attribute" else markdown(member.doc)
    more = _further(owner, member) if member.kind in CALLS else ""
    return _directive(kind, head, [doc, more], 4, options)


def _further(name: Name, member: Member | None = None) -> str:
    """Return the arguments that a docstring leaves to the class or to the options of others."""
    lines = [f"* `{each}`: {prose(text)}" for each, text in described(name, member).items() if text]
    return "\n".join(["**Further arguments**", "", *lines]) if lines else ""


def _directive(kind: str, head: str, parts: list[str], colons: int, options: Iterable[str] = ()) -> str:
    fence = ":" * colons
    lines = [f"{fence}{{{kind}}} {head}", *options, "", "\n\n".join(part for part in parts if part), fence]
    return "\n".join(lines)


def _signature(call: Any, *, bound: bool = False) -> str:  # noqa: ANN401 - any callable
    """Return the parameters and the type of the result, as the source has them."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return ""
    parameters = list(signature.parameters.values())[1 if bound else 0 :]
    parts: list[str] = []
    for index, one in enumerate(parameters):
        if one.kind is one.KEYWORD_ONLY and not any(
            p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY) for p in parameters[:index]
        ):
            parts.append("*")
        parts.append(_parameter(one))
        after = parameters[index + 1] if index + 1 < len(parameters) else None
        if one.kind is one.POSITIONAL_ONLY and (after is None or after.kind is not after.POSITIONAL_ONLY):
            parts.append("/")
    returned = signature.return_annotation
    arrow = "" if inspect.isclass(call) or returned is inspect.Signature.empty else f" -> {_annotation(returned)}"
    return f"({', '.join(parts)}){arrow}"


def _parameter(one: inspect.Parameter) -> str:
    stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(one.kind.name, "")
    text = stars + one.name
    if one.annotation is not one.empty:
        text += f": {_annotation(one.annotation)}"
    if one.default is not one.empty:
        shown = _DEFAULTS.sub("...", repr(one.default))
        text += f" = {shown}" if one.annotation is not one.empty else f"={shown}"
    return text


def _annotation(value: object) -> str:
    text = value if isinstance(value, str) else str(inspect.formatannotation(value))
    forward = re.sub(r"ForwardRef\('([^']+)'\)", r"\1", text)
    return re.sub(r"\b(?:typing|collections\.abc|tacit(?:\.\w+)+)\.(?=\w)", "", forward).strip("'\"")
