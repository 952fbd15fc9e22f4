"""The same in Python, TOML and the shell: what a screen shows, as text to copy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from tacit.query.policy.toml_lines import quoted, string
from tacit.web.services.asked import Asked


@dataclass(frozen=True, slots=True)
class Same:
    """Texts to copy, and the address of the same in JSON. `terminal` has the commands of a shell."""

    python: str
    terminal: str
    toml: str
    json: str


def connected(request: Request, dataset: str) -> str:
    """Return the lines of Python that open a dataset of this server."""
    address = f"{request.url.scheme}://{request.url.netloc}"
    return f"import tacit as tc\n\ndb = tc.connect({address!r}, token=token, dataset={dataset!r})"


def of_dataset(request: Request, content: Mapping[str, Any]) -> Same:
    """Return how to see a dataset: what is left, and its tables."""
    name = str(content["name"])
    return Same(
        python=f"{connected(request, name)}\ndb.left, db.tables",
        terminal=f"tacit ledger show {policy_file(name)}",
        toml=toml_of(content),
        json=f"/api/v1/datasets/{name}",
    )


def of_question(request: Request, content: Mapping[str, Any], asked: Asked | None) -> Same:
    """Return how to plan and ask a question; without a whole question, an example takes its place."""
    name = str(content["name"])
    given = asked.model_dump(exclude_defaults=True) if asked is not None else {"sql": "SELECT …", "epsilon": "…"}
    sql = str(given.pop("sql", "SELECT …"))
    arguments = "".join(f", {key}={_python(value)}" for key, value in given.items())
    options = "".join(f" --{key.replace('_', '-')} {_shell(value)}" for key, value in given.items())
    return Same(
        python=f"{connected(request, name)}\nquestion = {_python(sql)}\n"
        f"db.plan(question{arguments})   # spends nothing\nr = db.sql(question{arguments})    # charged",
        terminal=f"tacit plan {policy_file(name)} {shlex.quote(sql)}{options}\n"
        f"tacit query {policy_file(name)} {shlex.quote(sql)}{options}",
        toml=toml_of(content),
        json=f"/api/v1/datasets/{name}",
    )


def of_limits(request: Request, content: Mapping[str, Any], currency: str) -> Same:
    """Return how to measure limits and bounds."""
    name = str(content["name"])
    return Same(
        python=f"{connected(request, name)}\ndb.limits({currency}=…)\ndb.bounds('column', {currency}=…)",
        terminal=f"tacit limits {policy_file(name)} --{currency} …\n"
        f"tacit bounds {policy_file(name)} COLUMN --{currency} …",
        toml=toml_of(content),
        json=f"/api/v1/datasets/{name}",
    )


def of_ledger(name: str) -> Same:
    """Return how to see and check a ledger."""
    return Same(
        python=f"import tacit as tc\n\ndb = tc.open({name + '.toml'!r})\ntc.ledger.verify(db.ledger).holds",
        terminal=f"tacit ledger show {policy_file(name)}\ntacit ledger verify {policy_file(name)}",
        toml='budget = { epsilon = … }\nledger = "…"',
        json=f"/api/v1/datasets/{name}/ledger",
    )


def of_policy(name: str, draft: str) -> Same:
    """Return how to open a policy and accept its changes."""
    return Same(
        python=f"import tacit as tc\n\ndb = tc.open({name + '.toml'!r})",
        terminal=f"tacit ledger accept {policy_file(name)}",
        toml=draft.strip(),
        json=f"/api/v1/datasets/{name}/policy",
    )


def of_account(request: Request, dataset: str) -> Same:
    """Return how to use a token."""
    address = f"{request.url.scheme}://{request.url.netloc}"
    return Same(
        python=f"{connected(request, dataset)}\ndb.left",
        terminal=f'curl --header "Authorization: Bearer $TOKEN" {address}/api/v1/datasets',
        toml="# Tokens are in the server's database, not in a policy.",
        json="/api/v1/tokens",
    )


def of_admin(request: Request) -> Same:
    """Return how to see and change people."""
    address = f"{request.url.scheme}://{request.url.netloc}"
    return Same(
        python=f"import json, urllib.request\n\nrequest = urllib.request.Request({address + '/api/v1/users'!r}, "
        'headers={"Authorization": f"Bearer {token}"})\njson.load(urllib.request.urlopen(request))',
        terminal="tacit user list POLICY\ntacit user add POLICY NAME --role analyst",
        toml="[analysts.ann]\nepsilon = 1.0   # a limit in the policy takes the place of one here",
        json="/api/v1/users",
    )


def policy_file(name: str) -> str:
    """Return the name of a dataset's policy file, as a shell reads it."""
    return shlex.quote(f"{name}.toml")


def _python(value: object) -> str:
    """Return a value as Python; a fraction such as 1/3 stays exact."""
    if isinstance(value, str) and value.replace("/", "").isdecimal():
        return f"Fraction({value!r})"
    return "…" if value == "…" else repr(value)


def _shell(value: object) -> str:
    return shlex.quote(str(value))


def toml_of(content: Mapping[str, Any]) -> str:
    """Return the part of the policy that this screen rests on: the budget, units, limits, bounds and keys."""
    budget = ", ".join(
        f"{name} = {_toml(value)}" for name, value in content["budget"].items() if value or name != "delta"
    )
    lines = [f"budget = {{ {budget} }}"]
    for table in content["schema"]:
        lines += ["", f"[{'public' if table['public'] else 'tables'}.{quoted(table['name'])}]", *_table(table)]
        columns = [line for column in table["columns"] if (line := _column(column)) is not None]
        lines += ["", f"[tables.{quoted(table['name'])}.columns]", *columns] if columns and not table["public"] else []
    return "\n".join(lines)


def _table(table: Mapping[str, Any]) -> list[str]:
    unit = [f"unit = {string(table['unit'])}"] if table["unit"] is not None else []
    names = ("reach", "max_groups", "max_rows")
    return unit + [f"{name} = {_toml(table[name])}" for name in names if table[name] is not None]


def _column(column: Mapping[str, Any]) -> str | None:
    """Return a column as a line of the policy; None without keys and bounds."""
    facts = {"type": string(column["kind"])} if column["keys"] is None else {}
    if column["keys"] is not None:
        facts["keys"] = _toml(_first(column["keys"]))
    if column["bounds"] is not None:
        facts["bounds"] = _toml(column["bounds"])
    return f"{quoted(column['name'])} = {{ {', '.join(f'{key} = {value}' for key, value in facts.items())} }}"


_MOST_KEYS = 12


def _first(keys: Sequence[object]) -> list[object]:
    return [*keys[:_MOST_KEYS], *(["…"] if len(keys) > _MOST_KEYS else [])]


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return string(value)
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case float() if value.is_integer() and abs(value) < 1e15:  # noqa: PLR2004 - exact integers
            return str(int(value))
    return str(value)
