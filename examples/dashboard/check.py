"""Check that the panels of a dashboard fit the budget of a policy; read no row and spend nothing.

python check.py DASHBOARD POLICY
"""

from __future__ import annotations

import sys
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import tacit as tc
from tacit.database import Database

FITS, REFUSED, TOO_MUCH = 0, 2, 3


def cost(db: Database, panel: dict[str, Any]) -> Decimal:
    """Return the ε of a panel, as the decimal that tacit prints."""
    terms = {name: panel[name] for name in ("epsilon", "error") if name in panel}
    return Decimal(repr(db.plan(panel["query"], **terms).cost.epsilon))


def check(dashboard: dict[str, Any], db: Database) -> int:
    """Print the cost of each panel and of all refreshes; return the exit code."""
    refreshes, total = dashboard["refreshes"], Decimal(0)
    for name, panel in dashboard["panels"].items():
        try:
            each = cost(db, panel)
        except tc.TacitError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return REFUSED
        total += each
        print(f"{name:<12} ε = {each:.6f} a refresh, {each * refreshes:.4f} in all")
    budget = Decimal(repr(db.left.epsilon))
    fits = total * refreshes <= budget
    verdict = "the dashboard fits" if fits else "too much; raise an error, lower an ε, or refresh less often"
    print(f"{refreshes} refreshes cost ε = {total * refreshes:.4f} of {budget:.4f}: {verdict}")
    return FITS if fits else TOO_MUCH


def main() -> int:
    """Check the files that the command line names."""
    dashboard = tomllib.loads(Path(sys.argv[1]).read_text("utf-8"))
    with tc.open(sys.argv[2]) as db:
        return check(dashboard, db)


if __name__ == "__main__":
    raise SystemExit(main())
