"""`tacit serve`: run the server, or a demo of it on the made-up survey."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tacit.cli.demo import write_survey
from tacit.cli.output import say
from tacit.errors import InvalidError, MissingPackageError

DEMO_POLICY = """\
budget = { epsilon = 10.0, delta = 1e-6 }
ledger = "survey.ledger"
data_version = "2026"

[analysts.ann]
epsilon = 4.0
delta = 1e-6

[analysts.bob]
epsilon = 4.0
delta = 1e-6

[tables.survey]
source = "survey.csv"
unit = "person_id"
reach = 2

[tables.survey.columns]
region = { keys = ["north", "south", "east", "west"] }
urban = { type = "boolean" }
age = { type = "integer", bounds = [18, 95] }
income = { type = "real", bounds = [0, 200_000] }
"""
_PEOPLE = {"ann": "analyst", "bob": "analyst", "sue": "steward", "ada": "admin"}


def run(given: Mapping[str, Any], *, demo: bool) -> None:
    """Serve until a signal.

    Args:
        given: the settings that options give, by their names; None for a missing one.
        demo: whether to serve the made-up survey, with people who can sign in at once.
    """
    try:
        from tacit.web import run as web  # noqa: PLC0415 - heavy
        from tacit.web.settings import read_settings  # noqa: PLC0415 - heavy
    except ImportError as missing:
        raise MissingPackageError(missing.name or "fastapi", "tacit serve", extra="web") from None
    if demo and given.get("policies"):
        raise InvalidError("--demo serves its own policy.", argument="--demo", hint="Leave out the policies.")
    with _demo_folder() if demo else nullcontext() as folder:
        policies = {"policies": (str(folder / "survey.toml"),)} if folder is not None else {}
        settings = read_settings({**given, **policies})
        if folder is not None:
            _add_people(settings.policies[0])
        web.run(settings, say)


@contextmanager
def _demo_folder() -> Iterator[Path]:
    """Yield a folder with the survey and its policy, which is removed at the end."""
    with TemporaryDirectory(prefix="tacit-demo-") as name:
        folder = Path(name)
        write_survey(folder)
        (folder / "survey.toml").write_text(DEMO_POLICY, encoding="utf-8")
        yield folder


def _add_people(policy: str) -> None:
    """Add people with new passwords and tokens, and write them to the terminal."""
    from tacit.cli.users import opened_store  # noqa: PLC0415 - heavy
    from tacit.web import people  # noqa: PLC0415 - heavy
    from tacit.web.credentials import make_token  # noqa: PLC0415 - heavy

    say("A demo on a made-up survey. It ends with this command, and so do these people:")
    with opened_store(policy, None) as store:
        for name, role in _PEOPLE.items():
            password = secrets.token_urlsafe(12)
            people.add(store, name, role, password)
            _, token = make_token(store, name, "demo", days=1)
            say(f"  {role:<8} {name}  password {password}  token {token}")
