"""Publish three tables for each month of a year, from one policy and one ledger.

python publish.py FOLDER
"""

from __future__ import annotations

import json
import shutil
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tacit as tc
from tacit.database import Database

POLICY = Path(__file__).with_name("clinic.toml")
WARDS = ("medicine", "surgery", "maternity", "emergency")
TABLES = {
    "visits": ("SELECT ward, count(*) AS visits FROM visits WHERE day BETWEEN $first AND $last GROUP BY ward", 0.05),
    "cost": ("SELECT ward, avg(cost) AS cost FROM visits WHERE day BETWEEN $first AND $last GROUP BY ward", 0.15),
    "patients": ("SELECT count(DISTINCT patient_id) AS patients FROM visits WHERE day BETWEEN $first AND $last", 0.05),
}
"""Each table has its query and its ε."""


def write_visits(file: Path) -> None:
    """Write 60,000 made-up visits of 20,000 patients in 2025."""
    rng = np.random.default_rng(2025)
    patient = rng.integers(0, 20_000, 60_000)
    days = rng.integers(0, 365, 60_000)
    columns = {
        "patient_id": patient,
        "name": [f"patient {number}" for number in patient],
        "age": 20 + patient % 70,
        "ward": rng.choice(WARDS, 60_000, p=[0.4, 0.25, 0.1, 0.25]),
        "cost": rng.gamma(2, 400, 60_000).round(2),
        "day": pa.array(np.datetime64("2025-01-01") + days, pa.date32()),
    }
    pq.write_table(pa.table(columns), file)


def month_of(number: int) -> tuple[date, date]:
    """Return the first and the last day of a month of 2025."""
    first = date(2025, number, 1)
    end = date(2025 + number // 12, number % 12 + 1, 1)
    return first, date.fromordinal(end.toordinal() - 1)


def publish(db: Database, folder: Path, number: int) -> list[dict[str, object]]:
    """Write the tables of one month with their receipts; return the receipts."""
    first, last = month_of(number)
    place = folder / f"2025-{number:02}"
    place.mkdir(exist_ok=True)
    receipts = []
    for name, (query, epsilon) in TABLES.items():
        answer = db.sql(query, epsilon=epsilon, params={"first": first, "last": last}, request=f"{place.name} {name}")
        answer.to_csv(place / f"{name}.csv", intervals=True)
        (place / f"{name}.receipt.json").write_text(json.dumps(answer.receipt, indent=1), encoding="utf-8")
        receipts.append(answer.receipt)
    return receipts


def main(folder: Path) -> None:
    """Write the data and the policy if they are missing, and publish all months."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "visits.parquet").exists():
        write_visits(folder / "visits.parquet")
    shutil.copy(POLICY, folder / "clinic.toml")
    with tc.open(str(folder / "clinic.toml")) as db:
        receipts = [each for number in range(1, 13) for each in publish(db, folder, number)]
        print(f"{len(receipts)} tables, spent {db.spent}, left {db.left}")
        print(tc.ledger.verify(db.ledger, receipts))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/clinic"))
