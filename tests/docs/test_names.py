"""Every public name, member and argument is described in the generated reference."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace

import pytest
from docs_site import name_pages, names
from docs_site.docstrings import summary
from docs_site.names import Member, Name, members
from docs_site.parameters import CALLS, described

import tacit

NAMES = names.public_names()
SENTENCE = re.compile(r"\w+ \w+.*[.:]$|^\S+$|^.{1,12}\.$", re.DOTALL)


def undescribed(name: Name) -> list[str]:
    """Return what a name lacks: a docstring, members without one, and arguments that nothing describes."""
    missing = [] if SENTENCE.search(summary(name.doc)) else ["its docstring"]
    text = name.doc
    for member in name.members:
        mentioned = member.kind == "attribute" and re.search(rf"\b{re.escape(member.name)}\b", text)
        if not (member.doc.strip() or mentioned):
            missing.append(member.name)
    for call in _calls(name):
        missing += [f"{call.name if call else ''}({each}=)" for each, said in described(name, call).items() if not said]
    return missing


def _calls(name: Name) -> list[Member | None]:
    if not inspect.isclass(name.value):
        return [None] if inspect.isroutine(name.value) else []
    made_here: list[Member | None] = [None] if "." in name.name else []
    return [*(member for member in name.members if member.kind in CALLS), *made_here]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.name)
def test_a_name_with_its_members_and_arguments_is_described(name: Name) -> None:
    assert undescribed(name) == []


def test_every_name_of_the_surface_has_an_entry_on_one_page() -> None:
    documented = {name.name for name in NAMES}
    modules = {module.__name__: module for module in names.public_modules()}
    surface = {f"tacit.{name}" for name in tacit.__all__ if not inspect.ismodule(getattr(tacit, name))}
    assert surface <= documented
    ids = {id(name.value) for name in NAMES}
    for module in modules.values():
        values = [getattr(module, name) for name in names.module_names(module)]
        assert [value for value in values if not inspect.ismodule(value) and id(value) not in ids] == []


def test_the_pages_have_every_name_and_member_once() -> None:
    text = "\n".join(page.text for page in name_pages.pages(NAMES))
    for name in NAMES:
        if name.page == "errors":
            continue
        head = rf"^:::+\{{py:(?:class|function|data)\}} {re.escape(name.name)}(?:\(|$)"
        assert len(re.findall(head, text, re.MULTILINE)) == 1, name.name
    assert text.count("{py:method} sql(") == 2  # of Database and of RemoteDatabase


def test_types_that_calls_return_are_documented_too() -> None:
    documented = {name.name for name in NAMES}
    assert {"Database", "Release", "Quote", "AuditReport", "SyntheticRows", "RemoteDatabase"} <= documented


@dataclass(frozen=True)
class Undocumented:
    """A class whose field and argument nothing describes."""

    depth: int

    def lower(self, *, steps: int) -> int:
        """Return less."""
        return self.depth - steps


def test_a_planted_gap_is_found() -> None:
    name = Name("tacit.Undocumented", Undocumented, "ledger", tuple(_own(Undocumented)))
    assert undescribed(name) == ["depth", "lower(steps=)", "(depth=)"]
    silent = Name("tacit.silent", lambda: None, "ledger")
    assert undescribed(silent) == ["its docstring"]


def _own(kind: type) -> list[Member]:
    """Return the members as if the class were tacit's."""
    kind.__module__ = "tacit.ledger"
    found = list(members(kind))
    return [replace(member) for member in found]
