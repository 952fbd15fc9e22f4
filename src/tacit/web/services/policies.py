"""Policies: read, check, compare, and save.

A policy is saved into its file in one step: under a lock of the database, the file still has the version that the
steward started from, the new policy opens, its ledger accepts it, and then it replaces the file. Two stewards who edit
one policy therefore get the conflict 409, never a mixture.

**What the server does not change.** Where data and ledger are (`source`, `table`, `ledger`, `[engine]`), and which
tables there are, is up to those who have the files of the server. Otherwise a steward of one dataset could read other
files of the machine, or start with a new budget. Edit these in the file.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from secrets import token_hex
from typing import Any

from tacit import opening
from tacit.errors import RefusedError, TacitError
from tacit.ledger.open_ledger import read_ledger
from tacit.ledger.policies import changes_of, under_recorded_names
from tacit.query.formatting import spell
from tacit.query.policy.declaration import Policy
from tacit.query.policy.file import parse
from tacit.web import audit
from tacit.web.credentials import Person
from tacit.web.datasets import Dataset, version_of
from tacit.web.problems import Problem
from tacit.web.server import Server
from tacit.web.services.contents import Content


def show(server: Server, name: str) -> Content:
    """Return the text of a policy file and its version."""
    content = _content(server.datasets[name])
    return {"dataset": name, "text": content.decode("utf-8", "replace"), "version": version_of(content)}


def _content(dataset: Dataset) -> bytes:
    try:
        return dataset.path.read_bytes()
    except OSError:
        raise Problem(503, "policy", "The policy file cannot be read.", hint="Tell the administrator.") from None


def compare(server: Server, name: str, text: str) -> Content:
    """Check a draft; return its mistakes, its difference from the file, and what it changes in the promise.

    No ledger is changed and no private row is read; the schemas of the sources are.
    """
    dataset = server.datasets[name]
    before = _content(dataset).decode("utf-8", "replace")
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "now", "draft", lineterm="")
    content: Content = {"valid": True, "mistakes": [], "diff": "\n".join(lines), "changes": []}
    try:
        policy = _draft(dataset, text)
        content["changes"] = _changes(policy)
    except TacitError as error:
        problem = _mistakes(error, server)
        return {**content, "valid": False, "mistakes": problem}
    return content


def _mistakes(error: TacitError, server: Server) -> list[Content]:
    """Return the mistakes of a draft, each with its line and its keys."""
    mistakes = getattr(error, "mistakes", None)
    if mistakes is None:
        return [{"line": None, "where": error.where or "", "message": server.clean(error.message)}]
    return [{"line": each.line, "where": each.where, "message": server.clean(each.message)} for each in mistakes]


def _draft(dataset: Dataset, text: str) -> Policy:
    """Return a draft as a policy, or raise an error for mistakes and for parts that the server does not change."""
    policy = parse(text.encode("utf-8", "surrogatepass"), dataset.path)
    present = parse(_content(dataset), dataset.path)
    changed = [
        place
        for place, was, now in (
            ("ledger", present.ledger, policy.ledger),
            ("engine", dict(present.engine), dict(policy.engine)),
            ("the tables", _places(present), _places(policy)),
        )
        if was != now
    ]
    if changed:
        raise RefusedError(
            f"The server does not change {' or '.join(changed)} of a policy: where data and ledger are.",
            hint="Edit the file on the server.",
        )
    return policy


def _places(policy: Policy) -> dict[str, tuple[object, str | None]]:
    tables = {f"tables.{name}": table for name, table in policy.tables.items()}
    tables |= {f"public.{name}": table for name, table in policy.public.items()}
    return {name: (table.source, table.table) for name, table in tables.items()}


def _changes(policy: Policy) -> list[Content]:
    """Return what a policy changes in the promise that the ledger has recorded, and whether it can be accepted."""
    found: list[tuple[str, bool]] = []
    with opening.open_policy(policy, recorded=False) as database:
        promises = {each.name: opening.promise_of(each) for each in database.tables.values() if not each.public}
        budget = database.ledger.budget
    with closing(read_ledger(str(policy.ledger_location()))) as ledger:
        recorded = ledger.policy
        for name, promise in under_recorded_names(promises, recorded).items():
            found += [(change.text, change.acceptable) for change in changes_of(name, recorded, promise)]
        if ledger.budget != budget:
            found.append((f"budget {spell(ledger.budget)} → {spell(budget)}", True))
        for analyst, own_limit in policy.analysts.items():
            if analyst != "*" and ledger.limit_of(analyst) != own_limit:
                found.append((f"limit of {analyst} → {spell(own_limit)}", True))
    return [{"text": text, "acceptable": acceptable} for text, acceptable in found]


def save(server: Server, person: Person, name: str, draft: Mapping[str, Any]) -> Content:
    """Replace the policy file by a draft.

    Args:
        server: the server.
        person: the steward.
        name: the dataset.
        draft: its `text`; `version`, the version of the file that it started from; `accept`, whether changes of the
            promise are intended.
    """
    dataset, text = server.datasets[name], str(draft["text"])
    try:
        with server.store.writing() as connection:  # one steward at a time, on this machine and all that share it
            content = _content(dataset)
            if version_of(content) != draft["version"]:
                raise Problem(
                    409,
                    "changed",
                    "The policy was changed since you opened it.",
                    hint="Load it again, and make your change in the new text.",
                )
            policy = _draft(dataset, text)
            _check_accepted(_changes(policy), accept=bool(draft["accept"]))
            _replace(dataset.path, text)
            audit.write(
                connection, person.name, "save policy", dataset=name, detail=version_of(text.encode()), outcome="done"
            )
    except RefusedError:
        audit.note(server.store, person.name, "save policy", dataset=name, outcome="refused")
        raise
    try:
        opening.open_policy(policy, accept=bool(draft["accept"])).close()  # which records what was accepted
    except TacitError:
        _replace(dataset.path, content.decode("utf-8", "replace"))
        audit.note(
            server.store, person.name, "save policy", dataset=name, detail=version_of(content), outcome="restored"
        )
        raise
    dataset.look_again()
    return show(server, name)


def _check_accepted(changes: list[Content], *, accept: bool) -> None:
    """Raise RefusedError for changes that are never allowed, or that are not accepted."""
    fixed = [change["text"] for change in changes if not change["acceptable"]]
    if fixed:
        raise RefusedError(
            f"The draft changes a part that can never change after a charge ({'; '.join(fixed)}).",
            hint="Restore it.",
        )
    if changes and not accept:
        raise RefusedError(
            f"The draft changes the promise ({'; '.join(change['text'] for change in changes)}).",
            hint="If this is intended, save it with accept.",
        )


def _replace(path: Path, text: str) -> None:
    """Write a file beside the policy, and put it in its place."""
    draft = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.chmod(path.stat().st_mode & 0o777)
        os.replace(draft, path)  # noqa: PTH105 - as atomic as the system can
    except OSError:
        draft.unlink(missing_ok=True)
        raise Problem(
            503, "policy", "The policy file cannot be written.", hint="Let the server write the file, or edit it there."
        ) from None
