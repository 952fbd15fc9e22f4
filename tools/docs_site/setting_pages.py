"""The page of all settings: keys of the policy file, settings of engines and of the server, and the environment."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from typing import Final

from docs_site.docstrings import items, prose
from docs_site.pages import ROOT, Page, code, sentence, table

from tacit.query.policy import engine_settings
from tacit.query.policy.file_schema import KEYS
from tacit.web.settings import ServerSettings, variable

PATH: Final = "reference/code/settings.md"
POLICY_PAGE: Final = ROOT / "docs" / "reference" / "policy.md"
ENVIRONMENT: Final = {
    "TACIT_LEDGER": "sets the option `--ledger` of commands that read or charge a ledger.",
    "TACIT_ANALYST": "sets the option `--analyst` of commands that plan or charge.",
    "TACIT_TIMEOUT": "sets `timeout` of the engine.",
    "TACIT_MEMORY": "sets `memory` of the engine.",
    "TACIT_THREADS": "sets `threads` of the engine.",
    "TACIT_TEMPORARY": "sets `temporary` of the engine.",
}
"""The environment variables beside those of the server."""

_ENGINES = (
    "[Engine settings](../engine-settings.md) says which engine applies which. Each is an argument of `tc.open`, an "
    "option of commands, a variable of the environment, and a key of `[engine]`."
)
_ROW = re.compile(r"^\| `(?P<key>[^`]+)` \| .+? \| `.+?` \| (?P<needed>.*?) \| (?P<meaning>.*?) \|$", re.MULTILINE)
_SEVERAL = ("tables.NAME", "public.NAME", "tables.NAME.columns.NAME", "public.NAME.columns.NAME", "analysts.NAME")


def meanings() -> dict[str, tuple[str, str]]:
    """Return for each key of the policy file, as its page says, whether it is needed and what it means."""
    return {row["key"]: (row["needed"], row["meaning"]) for row in _ROW.finditer(POLICY_PAGE.read_text("utf-8"))}


def engine_meanings() -> dict[str, str]:
    """Return what each setting of engines means."""
    described = items(engine_settings.EngineSettings.__doc__, "Attributes")
    return {name: described.get(name, "") for name in engine_settings.SETTINGS}


def server_meanings() -> dict[str, tuple[str, str]]:
    """Return the default and the meaning of each variable of the server."""
    return {variable(one.name): (_default(one.default), one.metadata.get("help", "")) for one in fields(ServerSettings)}


def _default(value: object) -> str:
    if value is MISSING or value in ("", ()):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _key(want: str, example: str, needed: str, meaning: str) -> str:
    """Return what a key of the policy file means, what to write, and whether it is needed."""
    said = sentence(meaning).replace("](", "](../")
    return f"{said} Write {prose(want)}, such as {code(example)}. Needed: {needed}."


def page() -> Page:
    """Return the page."""
    said = meanings()
    keys = [
        [code(key), _key(want, example, *said[key])] for key, (want, example) in KEYS.items() if key not in _SEVERAL
    ]
    engines = [[code(name), prose(sentence(text))] for name, text in engine_meanings().items()]
    server = [
        [code(name), code(default) if default else "", prose(sentence(text))]
        for name, (default, text) in server_meanings().items()
    ]
    environment = [[code(name), sentence(text)] for name, text in ENVIRONMENT.items()]
    text = (
        "# Every setting",
        "An argument or an option comes before a variable of the environment, which comes before the policy file.",
        "## Keys of the policy file",
        "[The policy file](../policy.md) has examples and notes on each key.",
        table(["key", "meaning"], keys),
        "## Engines",
        _ENGINES,
        table(["setting", "meaning"], engines),
        "## The server",
        "[Run a server](../../how-to/run-a-server.md) says how to use them.",
        table(["variable", "default", "meaning"], server),
        "## The environment",
        "`${NAME}` in a source or a ledger of a policy is replaced by the variable of that name.",
        table(["variable", "meaning"], environment),
    )
    return Page(
        PATH, "\n\n".join(text) + "\n", "Keys of the policy file, engine settings, and variables of the environment."
    )
