"""The command-line page lists every command, option and action of the program, and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from tacit.anonymity import load
from tacit.cli.ledger import ACTIONS
from tacit.cli.main import app

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
COMMANDS: Any = typer.main.get_command(app)


def commands() -> dict[str, Any]:
    """Return every command by its name; a subcommand of a group has both names."""
    by_name: dict[str, Any] = {}
    for name, command in COMMANDS.commands.items():
        group = getattr(command, "commands", None)
        by_name |= {name: command} if group is None else {f"{name} {each}": group[each] for each in group}
    return by_name


def options() -> dict[str, set[str]]:
    """Return every option of the program, with the commands that take it."""
    takers: dict[str, set[str]] = {}
    for name, command in [("", COMMANDS), *commands().items()]:
        for parameter in command.params:
            for spelling in parameter.opts if parameter.param_type_name == "option" else ():
                takers.setdefault(spelling, set()).add(name)
    return takers


def listed() -> dict[str, set[str]]:
    """Return every option of the page's table, with the commands that it names."""
    takers: dict[str, set[str]] = {}
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 3 and cells[0].startswith("`-"):
            for spelling in re.findall(r"`(-[\w-]+)`", cells[0]):
                takers[spelling] = {name.strip() for name in cells[1].split(",")}
    return takers


def test_every_command_is_on_the_page_and_no_other() -> None:
    shown = set(re.findall(r"^\| `tacit ((?:local |ledger |user )?\w+)", PAGE, re.MULTILINE))
    assert shown == set(commands())


def test_every_option_is_on_the_page_with_its_commands_and_no_other() -> None:
    program, page = options(), listed()
    page.pop("--help")
    assert set(program) == set(page)
    for spelling, commands in program.items():
        assert commands == page[spelling], spelling


def test_every_action_of_the_ledger_is_on_the_page() -> None:
    section = PAGE.partition("## The ledger")[2].partition("## JSON")[0]
    assert set(re.findall(r"^\| `(\w+)", section, re.MULTILINE)) - {"tacit"} == set(ACTIONS)


def test_every_option_says_what_it_is_for() -> None:
    for command in commands().values():
        assert command.help
        for parameter in command.params:
            assert getattr(parameter, "help", None), (command.name, parameter.name)


def test_the_hierarchies_of_the_page_can_be_read_and_are_what_it_says(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(PAGE.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    (tmp_path / "country.csv").write_text("Chile;America;*\nKenya;Africa;*\n", encoding="utf-8")
    held = load(rules)
    assert set(held) == {"zip", "age", "education", "birthday", "sex", "country", "disease"}
    values = {"zip": "47677", "age": "29", "birthday": "2024-12-31"}
    for name, value in values.items():
        levels = re.search(rf"^\[{name}\]\s*# (.*)$", rules.read_text(encoding="utf-8"), re.MULTILINE)
        assert levels is not None
        assert ", ".join(map(str, held[name].over((value,)).rows[0])) == levels[1]
    assert held["country"].over(("Chile",)).height == 3
