"""The ledgers of the datasets, for stewards and administrators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import InvalidError
from tacit.guarantees.exact import Exact, to_fraction
from tacit.guarantees.filters import Budget, limit
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.ledger import described, history, verify
from tacit.query.formatting import amounts, spell
from tacit.web import audit
from tacit.web.credentials import Person
from tacit.web.people import check_person
from tacit.web.problems import Problem
from tacit.web.server import Server
from tacit.web.services.contents import Content, amount_or_none, spent_content


def overview(server: Server) -> list[Content]:
    """Return what was spent and what is left of each dataset."""
    found = []
    for name, dataset in server.datasets.items():
        with dataset.use() as one:
            ledger = one.ledger
            found.append(
                {
                    "dataset": name,
                    "budget": amounts(ledger.budget),
                    "left": amounts(history.left(ledger)),
                    "records": ledger.head[0] + 1,
                    "head": ledger.head[1],
                    "policy_version": one.version,
                }
            )
    return found


def charges(server: Server, dataset: str, before: int | None, most: int) -> Content:
    """Return a page of the charges of a dataset, newest first, with the cost of each."""
    with server.datasets[dataset].use() as one:
        ledger = one.ledger
        priced = [each for each in history.charges(ledger.entries()) if before is None or each.entry.number < before]
        content = {"budget": amounts(ledger.budget), "left": amounts(history.left(ledger)), "head": ledger.head[1]}
    newest = priced[::-1][: most + 1]
    shown = [
        {**described(each.entry), "cost": spent_content(each.cost), "spent": spent_content(each.total)}
        for each in newest[:most]
    ]
    more = str(shown[-1]["number"]) if len(newest) > most else None
    return {**content, "charges": shown, "next": more}


def shares(server: Server, dataset: str) -> list[Content]:
    """Return what each analyst has spent, and what is left for each."""
    with server.datasets[dataset].use() as one:
        ledger = one.ledger
        spent = history.by_analyst(ledger)
        return [
            {
                "analyst": share.analyst,
                "questions": share.questions,
                "spent": spent_content(share.spent),
                "limit": amount_or_none(ledger.limit_of(share.analyst)),
                "left": amounts(history.left(ledger, share.analyst)),
            }
            for share in spent
        ]


def check(server: Server, dataset: str, receipts: Sequence[Mapping[str, Any]]) -> Content:
    """Compute all totals of a ledger again."""
    with server.datasets[dataset].use() as one:
        report = verify(one.ledger, [dict(each) for each in receipts])
    return {
        "holds": report.holds,
        "records": report.records,
        "wrong": report.wrong,
        "why": server.clean(report.why),
    }


def set_limit(
    server: Server, person: Person, dataset: str, name: str, given: Mapping[str, Any] | None
) -> list[Content]:
    """Set or remove the limit of an analyst in the ledger, unless the policy file has one for them."""
    check_person(name)
    with server.datasets[dataset].use() as one:
        if name in one.policy.analysts:
            raise Problem(
                409, "in-policy", "The policy file has the limit of this analyst.", hint="Change it in the policy."
            )
        budget = None if given is None else _limit(given, one.ledger.budget)
        one.ledger.set_limit(name, budget)
        shown = "none" if budget is None else spell(budget)
    audit.note(server.store, person.name, "limit analyst", dataset=dataset, detail=f"{name}: {shown}")
    return shares(server, dataset)


def _limit(given: Mapping[str, Any], budget: Budget) -> Budget:
    """Return a limit in the currency of a budget, or raise InvalidError."""
    name = "epsilon" if limit(budget).currency == "basic" else "rho"
    other = "rho" if name == "epsilon" else "epsilon"
    if given.get(name) is None or given.get(other) is not None:
        raise InvalidError(f"A limit of this dataset is in {name}.", argument=name, hint=f"Give {name}.")
    loss, delta = (_exact(given.get(each), each) for each in (name, "delta"))
    if name == "epsilon":
        return PureDP(epsilon=loss) if given.get("delta") is None else ApproxDP(epsilon=loss, delta=delta)
    return ZCDP(rho=loss) if given.get("delta") is None else ApproxZCDP(rho=loss, delta=delta)


def _exact(value: object, name: str) -> Exact:
    return Exact(to_fraction(0 if value is None else value, name, "a finite number ≥ 0"))
