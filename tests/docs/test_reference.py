"""Every command, option, setting, error class and route is described in the generated reference."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from docs_site import command_pages, error_pages, route_pages, setting_pages
from docs_site.docstrings import summary

from tacit.errors import TacitError
from tacit.query.policy.engine_settings import SETTINGS
from tacit.query.policy.file_schema import KEYS
from tacit.web.settings import ServerSettings, variable

COMMANDS = list(command_pages.commands())
PAGES = {page.title: page for page in command_pages.pages()}
DESCRIPTION = route_pages.description()
ROUTES = list(route_pages.routes(DESCRIPTION))
BODIES = route_pages.bodies(DESCRIPTION)
ROUTE_PAGE = route_pages.page().text


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_a_command_and_each_of_its_options_is_described(name: str, command: object) -> None:
    page = PAGES[" ".join(name.split()[:2])]
    section = page.text.partition(f"## {name}\n")[2].partition("\n## ")[0] or page.text
    assert len(summary(command.help).split()) >= 3  # type: ignore[attr-defined]  # typer may bundle its copy of click
    for one in command.params:  # type: ignore[attr-defined]  # as above
        assert len(one.help.split()) >= 2, one.name
        for spelling in one.opts if one.param_type_name == "option" else ():
            assert re.search(rf"^\|.*`{re.escape(spelling)}`.*\| \S+", section, re.MULTILINE), spelling


def test_every_setting_is_on_its_page_with_a_meaning() -> None:
    text = setting_pages.page().text
    rows = dict(re.findall(r"^\| `([\w.]+)` \|(?: [^|]*\|)? ?(.{12,}) \|$", text, re.MULTILINE))
    several = {key for key in KEYS if key.endswith("NAME")}
    wanted = (set(KEYS) - several) | set(SETTINGS) | {variable(one.name) for one in fields(ServerSettings)}
    assert wanted | set(setting_pages.ENVIRONMENT) <= set(rows)
    assert all(text.count(f"| `{name}` |") == 1 for name in wanted)


def test_the_environment_of_engines_and_commands_is_listed() -> None:
    server = {variable(one.name) for one in fields(ServerSettings)}
    options = {one.envvar for _, command in COMMANDS for one in command.params if one.envvar} - server
    engines = {f"TACIT_{name.upper()}" for name in SETTINGS}
    assert options | engines == set(setting_pages.ENVIRONMENT)


def test_every_error_is_on_its_page_with_a_sentence() -> None:
    kinds, text = error_pages.classes(), error_pages.page().text
    assert {kind.__name__ for kind in kinds} >= {"TacitError", "CommitError", "NoLedgerError", "PolicyError"}
    for kind in kinds:
        assert len(summary(kind.__doc__).split()) >= 4, kind
        assert re.search(rf"^:::+\{{py:class\}} tacit[\w.]*\.{kind.__name__}\(", text, re.MULTILINE), kind
    assert TacitError.__subclasses__()


def test_the_tree_of_errors_in_the_source_has_every_class_of_the_module() -> None:
    import tacit.errors  # noqa: PLC0415 - its docstring is under test

    tree = re.findall(r"[─ ] (\w+Error)\s{2,}\S", tacit.errors.__doc__ or "")
    defined = {kind.__name__ for kind in error_pages.classes() if kind.__module__ == "tacit.errors"}
    assert {*tree, "TacitError"} == defined


def test_codes_are_those_of_the_shell_and_the_server() -> None:
    text = error_pages.page().text
    assert re.search(r"`BudgetError`\]\(#tacit\.BudgetError\) \| 3, 409 \|", text)
    assert re.search(r"`LedgerError`\]\(#tacit\.errors\.LedgerError\) \| 4, 503 \|", text)


@pytest.mark.parametrize(("method", "path", "route"), ROUTES, ids=[f"{method} {path}" for method, path, _ in ROUTES])
def test_a_route_and_its_parameters_are_described(method: str, path: str, route: dict[str, object]) -> None:
    assert f"`{method} {path}`, role" in ROUTE_PAGE
    assert len(str(route["description"]).split()) >= 4
    for each in route.get("parameters", ()):  # type: ignore[attr-defined]  # JSON
        assert each.get("description"), each["name"]


@pytest.mark.parametrize("name", sorted(BODIES))
def test_a_body_and_its_fields_are_described(name: str) -> None:
    assert len(str(BODIES[name].get("description", "")).split()) >= 2
    missing = [field for field, one in BODIES[name].get("properties", {}).items() if not one.get("description")]
    assert missing == []
