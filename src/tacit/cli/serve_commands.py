"""`tacit serve` and the commands of `tacit user`. Each calls the module that does the work, which is slow to import."""

from __future__ import annotations

import typer

from tacit.cli import options

user_app = typer.Typer(
    name="user",
    help="Add, list and remove the people of a server, and make tokens for them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def serve(  # noqa: PLR0913 - one for each option
    policies: options.PoliciesArgument = None,
    *,
    demo: options.DemoOption = False,
    host: options.HostOption = None,
    port: options.PortOption = None,
    workers: options.WorkersOption = None,
    tls_cert: options.TlsCertOption = None,
    tls_key: options.TlsKeyOption = None,
    trust_header: options.TrustHeaderOption = None,
    plain_http: options.PlainHttpOption = None,
    quantum: options.QuantumOption = None,
    store: options.StoreOption = None,
) -> None:
    """Serve policies, with an API under /api/v1. Each setting may be in the environment too: TACIT_SERVE_PORT."""
    from tacit.cli import serve as group  # noqa: PLC0415 - heavy

    given = {
        "policies": tuple(policies) if policies else None,
        "host": host,
        "port": port,
        "workers": workers,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "trust_header": trust_header,
        "plain_http": plain_http,
        "quantum": quantum,
        "store": store,
    }
    group.run(given, demo=demo)


@user_app.command()
def add(
    policy: options.PolicyArgument,
    name: options.PersonArgument,
    *,
    role: options.RoleOption = "analyst",
    no_password: options.NoPasswordOption = False,
    store: options.StoreOption = None,
) -> None:
    """Add a person. The password is typed, or the first line of standard input."""
    from tacit.cli import users  # noqa: PLC0415 - heavy

    users.add(policy, name, role, store, no_password=no_password)


@user_app.command("list")
def list_(
    policy: options.PolicyArgument, *, store: options.StoreOption = None, json: options.JsonOption = False
) -> None:
    """Print all people with their roles."""
    from tacit.cli import users  # noqa: PLC0415 - heavy

    users.show(policy, store, json=json)


@user_app.command()
def remove(policy: options.PolicyArgument, name: options.PersonArgument, *, store: options.StoreOption = None) -> None:
    """Remove a person with their sessions and tokens; their charges stay in the ledger."""
    from tacit.cli import users  # noqa: PLC0415 - heavy

    users.remove(policy, name, store)


@user_app.command()
def token(
    policy: options.PolicyArgument,
    name: options.PersonArgument,
    *,
    label: options.LabelOption = "",
    days: options.DaysOption = 90,
    store: options.StoreOption = None,
) -> None:
    """Make an API token for a person, and print it."""
    from tacit.cli import users  # noqa: PLC0415 - heavy

    users.token(policy, name, store, label=label, days=days)
