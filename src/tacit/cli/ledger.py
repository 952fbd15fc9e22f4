"""`tacit ledger`: show who spent how much; verify, copy, change, renew, upgrade and move a ledger.

Costs and totals are the ledger's exact numbers; they are rounded up for display.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias, cast

from tacit import opening
from tacit.cli import output_files
from tacit.cli.output import REFUSED, put, put_json, say
from tacit.cli.output_tables import TextTable, make_table, put_table
from tacit.errors import InvalidError, LedgerError, RefusedError, UnreadableFileError, bad_value, show_name
from tacit.guarantees.exact import round_up
from tacit.guarantees.filters import Spent, limit
from tacit.ledger import check_name, described, history, shown_outcome
from tacit.ledger.backup import export, load
from tacit.ledger.history import Charge
from tacit.ledger.open_ledger import read_ledger, require_ledger, upgrade_ledger
from tacit.ledger.policies import RecordedPolicy, recorded_changes
from tacit.ledger.records import UNLISTED, Record, decode_budget
from tacit.ledger.relocation import move
from tacit.ledger.replay import VerifyReport, verify
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.formatting import amounts, spell
from tacit.query.policy import file as policy_file
from tacit.query.policy.declaration import ANYBODY
from tacit.query.policy.locations import fill
from tacit.safe_text import visible, width

ACTIONS = ("show", "verify", "export", "import", "accept", "renew", "upgrade")
_LAST = 20
_DIGITS = Context(prec=6, rounding=ROUND_CEILING)
_Fields: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    """The options of `tacit ledger`; each action uses some of them."""

    file: str | None = None
    receipts: Sequence[str] = ()
    disjoint: bool = False
    delta: float | None = None
    chart: str | None = None
    json: bool = False


def run(policy: str, action: str, location: str | None, options: LedgerOptions) -> int:
    """Run one action on the ledger of a policy and return the exit code.

    Args:
        policy: the policy file.
        action: one of `ACTIONS`.
        location: the ledger to use instead of the policy's.
        options: the options of the action.
    """
    declared = policy_file.load(policy)
    location = location or declared.ledger_location()
    if location is None:
        raise RefusedError(
            "The policy has no ledger.",
            hint='Add a line such as ledger = "policy.ledger" above the first table of the policy.',
        )
    if action not in ACTIONS:
        raise bad_value("action", action, f"one of {', '.join(ACTIONS)}")
    direct: Mapping[str, Callable[[], int]] = {
        "import": lambda: _import(options.file, location),
        "accept": lambda: _accept(policy, location),
        "upgrade": lambda: _upgrade(location),
    }
    if action in direct:
        return direct[action]()
    with closing(read_ledger(location)) as ledger:
        match action:
            case "verify":
                return _verify(ledger, options.receipts, json=options.json)
            case "export":
                return _export(ledger)
            case "renew":
                return _renew(ledger, declared.data_version, disjoint=options.disjoint)
            case _:
                return _show(ledger, tuple(declared.analysts), options)


def _verify(ledger: SqlLedger, receipts: Sequence[str], *, json: bool) -> int:
    """Compute the chain and all totals again."""
    report = verify(ledger, [_read_receipt(file) for file in receipts])
    _print_report(report, json=json)
    return 0 if report.holds else REFUSED


def _print_report(report: VerifyReport, *, json: bool) -> None:
    if json:
        put_json({"holds": report.holds, "records": report.records, "wrong": report.wrong, "why": report.why})
    else:
        put(str(report))


def _read_receipt(file: str) -> dict[str, object]:
    """Return a receipt from a file that holds it, or that holds the output of `tacit query --json`."""
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError:
        raise UnreadableFileError(
            file, "the file does not exist, or you may not read it.", argument="--receipt"
        ) from None
    except (ValueError, RecursionError):
        content = None
    receipt = content.get("receipt", content) if isinstance(content, dict) else None
    if not isinstance(receipt, dict):
        raise UnreadableFileError(file, "it is not a receipt in JSON.", argument="--receipt")
    return receipt


def _export(ledger: SqlLedger) -> int:
    for line in export(ledger):
        print(line)
    return 0


def _import(file: str | None, location: str) -> int:
    if file is None:
        raise InvalidError(
            "There is no file to import.",
            argument="file",
            hint="Name the file of JSON lines that `tacit ledger … export` printed, or - for standard input.",
        )
    try:
        lines = sys.stdin if file == "-" else Path(file).read_text(encoding="utf-8").splitlines()
        report = load(lines, location)
    except (OSError, UnicodeError):
        raise LedgerError(
            f"Cannot read {show_name(file)}. Nothing was written.",
            hint="Check the path, and that the file is text in UTF-8.",
        ) from None
    say(str(report))
    return 0 if report.holds else REFUSED


def _upgrade(location: str) -> int:
    changed = upgrade_ledger(location)
    say("The ledger was upgraded." if changed else "The ledger needs no upgrade.")
    return 0


def move_ledger(old: str, new: str, *, lost: bool, json: bool) -> int:
    """Move a ledger, print the report on the new one, and return the exit code.

    Args:
        old: the path or URL of the ledger; `${NAME}` stands for an environment variable.
        new: the path or URL of an empty place.
        lost: whether the place of an earlier, unfinished move is lost.
        json: whether to print JSON.
    """
    report = move(fill(old, os.environ), fill(new, os.environ), lost=lost)
    _print_report(report, json=json)
    if report.holds and not json:
        say("The old ledger is sealed. Write the new place into the policy: ledger = …")
    return 0 if report.holds else REFUSED


def _accept(policy: str, location: str) -> int:
    """Record a changed budget, changed bounds or a changed limit of an analyst, and print the changes."""
    require_ledger(location)
    with opening.open(policy, ledger=location, accept=True) as db:
        ledger = cast("SqlLedger", db.ledger)
        changes = _changes(ledger.records(), ledger.opened_after)
        if ledger.server_replaced:
            changes.append("the server, which was replaced, promoted or restored")
        accepted = "; ".join(changes)
        outcome = f"Accepted: {accepted}." if accepted else "Nothing to accept."
        say(f"{outcome} Left: {spell(history.left(ledger))} of {spell(ledger.budget)}.")
    return 0


def _changes(records: Iterable[Record], after: int) -> list[str]:
    """Return the changes of a ledger's settings in the records after a number.

    Args:
        records: all records of the ledger, oldest first.
        after: the number of the last record before the changes.
    """
    before: dict[tuple[str, object], _Fields] = {}
    texts: list[str] = []
    for record in records:
        kind = "budget" if record.kind == "begin" else record.kind
        if kind not in _DESCRIPTIONS:
            continue
        fields = record.fields
        subject = kind, fields.get("analyst")
        if record.number > after:
            texts += _DESCRIPTIONS[kind](before.get(subject, {}), fields)
        before[subject] = fields
    return texts


def _describe_budget(before: _Fields, after: _Fields) -> list[str]:
    return [f"budget {spell(decode_budget(before))} → {spell(decode_budget(after))}"]


def _describe_limit(before: _Fields, after: _Fields) -> list[str]:
    who = "unlisted analysts" if after["analyst"] == UNLISTED else after["analyst"]
    return [f"limit of {who} {_spell_limit(before.get('budget'))} → {_spell_limit(after['budget'])}"]


def _spell_limit(budget: object) -> str:
    return "none" if budget is None else spell(decode_budget(cast("_Fields", budget)))


def _describe_policy(before: _Fields, after: _Fields) -> list[str]:
    return recorded_changes(cast("RecordedPolicy", before.get("tables", {})), cast("RecordedPolicy", after["tables"]))


def _describe_version(before: _Fields, after: _Fields) -> list[str]:
    return [f"version of the data {before.get('version') or 'none'} → {after['version']}"]


def _describe_clock(_before: _Fields, after: _Fields) -> list[str]:
    return [f"clock, which was wrong at the last record ({after['was']})"]


_DESCRIPTIONS: Mapping[str, Callable[[_Fields, _Fields], list[str]]] = {
    "budget": _describe_budget,
    "analyst": _describe_limit,
    "policy": _describe_policy,
    "version": _describe_version,
    "clock": _describe_clock,
}


def _renew(ledger: SqlLedger, version: str, *, disjoint: bool) -> int:
    """Record a new version of the data with other units, which gets a new budget."""
    check_name(version, "data_version")
    if not version:
        raise RefusedError(
            "The policy has no data_version. Nothing was changed.", hint='Add a line such as: data_version = "2026-01"'
        )
    if not disjoint:
        raise RefusedError(
            "A new version of the data shares the old budget, because a unit is all its rows in all versions. Nothing "
            "was changed.",
            hint="If no unit was in any earlier version, declare it with --disjoint-units.",
        )
    ledger.set_version(version, disjoint=True)
    say(f"The data version is now {version}, with other units. Left: {spell(history.left(ledger))}.")
    return 0


def _show(ledger: SqlLedger, analysts: Sequence[str], options: LedgerOptions) -> int:
    """Print the budget, the amounts spent and left, each analyst's share, and the last queries with their costs.

    The analysts that the policy lists are shown also if they have asked nothing.
    """
    output_files.check_chart(options.chart)
    charges, shares = history.charges(ledger.entries()), history.by_analyst(ledger)
    asked = bool(shares)
    idle = {name for name in analysts if name != ANYBODY} - {share.analyst for share in shares}
    shares += [history.Share(name, 0, ledger.spent_by(name)) for name in sorted(idle)]
    delta = options.delta
    as_plan = None if delta is None or not asked else history.as_plan(ledger, delta).upper
    if options.json:
        extra = {} if as_plan is None else {"as_one_plan": {"delta": delta, "epsilon": as_plan}}
        put_json({**_ledger_json(ledger, charges, shares), **extra})
    else:
        _print_ledger(ledger, charges, shares)
        if as_plan is not None:
            say(
                f"If all queries had been declared in advance as one plan, they would have cost ε = {as_plan:.4g} at "
                f"δ = {delta:g}. This is for information: separate queries are charged separately."
            )
    if options.chart is not None:
        history.burn_down(ledger).save(options.chart)
        say(f"Wrote the chart to {options.chart}.")
    return 0


def _ledger_json(ledger: SqlLedger, charges: Sequence[Charge], shares: Sequence[history.Share]) -> dict[str, object]:
    number, link = ledger.head
    return {
        "budget": amounts(ledger.budget),
        "left": amounts(history.left(ledger)),
        "records": number + 1,
        "head": link,
        "moved_to": ledger.moved_to or None,
        "analysts": [
            {
                "analyst": share.analyst,
                "questions": share.questions,
                **_amounts(share.spent),
                "limit": None if (own_limit := ledger.limit_of(share.analyst)) is None else amounts(own_limit),
                "left": amounts(history.left(ledger, share.analyst)),
            }
            for share in shares
        ],
        "entries": [
            {
                **described(charge.entry),
                "cost": _amounts(charge.cost),
                "spent": _amounts(charge.total),
                "since": charge.entry.since,
            }
            for charge in charges
        ],
    }


def _amounts(spent: Spent) -> dict[str, float]:
    return {"epsilon" if spent.currency == "basic" else "rho": round_up(spent.loss), "delta": round_up(spent.delta)}


def _print_ledger(ledger: SqlLedger, charges: Sequence[Charge], shares: Sequence[history.Share]) -> None:
    put_table(_share_table(ledger, shares))
    with_delta = limit(ledger.budget).delta > 0 or any(charge.total.delta for charge in charges)
    for line in _charge_lines(charges[-_LAST:], with_delta=with_delta):
        put(line)
    if len(charges) > _LAST:
        say(f"These are the last {_LAST} of {len(charges):,} queries; --json prints all.")
    say(f"Left: {spell(history.left(ledger))} of {spell(ledger.budget)}. Head of the chain: {ledger.head[1]}")
    if ledger.moved_to:
        say(f"The ledger is sealed: it was moved to {ledger.moved_to}. What is left can be spent there only.")


def _share_table(ledger: SqlLedger, shares: Sequence[history.Share]) -> TextTable:
    """Return the table of each analyst's spending, with the total in the last row.

    If an analyst has a limit, the last column is what each has left; without a limit that is the rest of the budget.
    """
    spent, limits = ledger.spent, [ledger.limit_of(share.analyst) for share in shares]
    limited = any(each is not None for each in limits)
    rows = []
    for share, budget in zip(shares, limits, strict=True):
        about = (share.analyst or "–", f"{share.questions}", rounded(share.spent.loss), rounded(share.spent.delta))
        left = [spell(history.left(ledger, share.analyst))] if limited else []
        rows.append((*about, "" if budget is None else spell(budget), *left))
    queries, left = sum(share.questions for share in shares), [spell(history.left(ledger))] if limited else []
    total = ("all", f"{queries}", rounded(spent.loss), rounded(spent.delta), spell(ledger.budget), *left)
    headings = ("analyst", "queries", _unit(spent), "δ", "limit", *(["left"] if limited else []))
    return make_table(headings, rows, total=total)


def _unit(spent: Spent) -> str:
    return "ε" if spent.currency == "basic" else "ρ"


def rounded(amount: Fraction) -> str:
    """Return an amount with six digits, rounded up.

    >>> rounded(Fraction(1, 5)), rounded(Fraction(1, 3)), rounded(Fraction(1, 10**7)), rounded(Fraction(0))
    ('0.2', '0.333334', '1e-07', '0')
    """
    digits = _DIGITS.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return f"{round_up(Fraction(digits)):g}"


def _charge_lines(charges: Sequence[Charge], *, with_delta: bool) -> Iterator[str]:
    """Yield a line for each query: its record, cost, the total after it, and last its text."""
    if not charges:
        return
    unit = _unit(charges[0].cost)
    deltas = ("δ", "total δ") if with_delta else ()
    headings = ("record", "time", "analyst", "outcome", unit, f"total {unit}", *deltas)
    rows = [headings, *(_charge_cells(charge, with_delta=with_delta) for charge in charges)]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    queries = ["query", *(visible(charge.entry.question) for charge in charges)]
    budgets = [charges[0].entry.since, *(charge.entry.since for charge in charges)]
    previous = budgets[0]
    for row, query, since in zip(rows, queries, budgets, strict=True):
        if since != previous:
            yield f"A new budget for other units starts at record {since}."
        previous = since
        padded = [cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)]
        yield "  ".join([*padded, query])


def _charge_cells(charge: Charge, *, with_delta: bool) -> tuple[str, ...]:
    entry, cost, total = charge.entry, charge.cost, charge.total
    deltas = (rounded(cost.delta), rounded(total.delta)) if with_delta else ()
    about = (f"{entry.number}", f"{entry.time:.19}", entry.analyst or "–", shown_outcome(entry))
    return (*map(visible, about), rounded(cost.loss), rounded(total.loss), *deltas)
