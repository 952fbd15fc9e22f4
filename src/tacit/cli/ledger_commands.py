"""The commands of `tacit ledger`. Each collects its options and calls `tacit.cli.ledger`, which is slow to import."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from tacit.cli import options


class _LedgerGroup(TyperGroup):
    """The commands of `tacit ledger`; `tacit ledger POLICY` means show, and POLICY may come before the command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer may bundle its copy of click
        """Put the command first."""
        if args and args[0] not in self.commands and "--help" not in args:
            command = next((arg for arg in args if arg in self.commands), None)
            others = list(args)
            if command is not None:
                others.remove(command)
            args = [command or "show", *others]
        return super().parse_args(ctx, args)


ledger_app = typer.Typer(
    name="ledger",
    help="Show, verify, copy, change, renew or move the ledger of a policy.",
    no_args_is_help=True,
    rich_markup_mode=None,
    cls=_LedgerGroup,
)


@ledger_app.command()
def show(
    policy: options.PolicyArgument,
    *,
    ledger: options.LedgerOption = None,
    delta: options.PlanDeltaOption = None,
    chart: options.ChartOption = None,
    json: options.JsonOption = False,
) -> None:
    """Show what was spent, by whom, and what is left."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "show", ledger, group.LedgerOptions(delta=delta, chart=chart, json=json)))


@ledger_app.command()
def verify(
    policy: options.PolicyArgument,
    *,
    receipt: options.ReceiptOption = None,
    ledger: options.LedgerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Compute all totals again, and check that no record was changed."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    chosen = group.LedgerOptions(receipts=receipt or (), json=json)
    raise typer.Exit(group.run(policy, "verify", ledger, chosen))


@ledger_app.command()
def export(
    policy: options.PolicyArgument, *, ledger: options.LedgerOption = None, json: options.JsonOption = False
) -> None:
    """Print a copy of the ledger: each record as one line of JSON."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "export", ledger, group.LedgerOptions(json=json)))


@ledger_app.command("import")
def import_(
    policy: options.PolicyArgument,
    file: options.ImportArgument = None,
    *,
    ledger: options.LedgerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Restore a ledger from a copy that `export` printed."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "import", ledger, group.LedgerOptions(file=file, json=json)))


@ledger_app.command()
def accept(
    policy: options.PolicyArgument, *, ledger: options.LedgerOption = None, json: options.JsonOption = False
) -> None:
    """Accept a changed budget, bounds or limit."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "accept", ledger, group.LedgerOptions(json=json)))


@ledger_app.command()
def renew(
    policy: options.PolicyArgument,
    *,
    ledger: options.LedgerOption = None,
    disjoint: options.DisjointOption = False,
    json: options.JsonOption = False,
) -> None:
    """Start the budget of a new version of the data."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "renew", ledger, group.LedgerOptions(disjoint=disjoint, json=json)))


@ledger_app.command()
def upgrade(
    policy: options.PolicyArgument, *, ledger: options.LedgerOption = None, json: options.JsonOption = False
) -> None:
    """Upgrade a ledger that an older version of tacit wrote."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "upgrade", ledger, group.LedgerOptions(json=json)))


@ledger_app.command()
def move(
    old: options.OldLedgerArgument,
    new: options.NewLedgerArgument,
    *,
    lost: options.LostOption = False,
    json: options.JsonOption = False,
) -> None:
    """Move a ledger to another file or server, and seal the old one. If it is interrupted, run it again."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.move_ledger(old, new, lost=lost, json=json))
