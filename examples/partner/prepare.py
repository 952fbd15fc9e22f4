"""Prepare a file of patients for a partner: anonymous rows with their risks, and synthetic rows.

python prepare.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import tacit as tc

DIAGNOSES = ("asthma", "diabetes", "fracture", "heart disease", "migraine")
POSTCODES = ("8001", "8002", "8003", "8400", "8401", "9000")
"""Public: the postcodes that the hospital serves, not those that occur in the table."""
QUASI = ["age", "postcode", "sex"]


def patients() -> pd.DataFrame:
    """Return 2,000 made-up patients; older ones have more heart disease."""
    rng = np.random.default_rng(7)
    age = rng.integers(18, 95, 2_000)
    weights = np.stack([np.full(2_000, 3.0), age / 25, 120 / age, age / 15, 90 / age])
    diagnosis = [rng.choice(DIAGNOSES, p=column / column.sum()) for column in weights.T]
    postcode = rng.choice(POSTCODES, 2_000)
    return pd.DataFrame(
        {"age": age, "postcode": postcode, "sex": rng.choice(["f", "m"], 2_000), "diagnosis": diagnosis}
    )


def write_anonymous(table: pd.DataFrame, folder: Path) -> None:
    """Write the recoded rows, their risks and the attacks on them."""
    out = tc.anonymity.anonymize(
        table,
        quasi=QUASI,
        sensitive="diagnosis",
        require=[tc.KAnonymity(5), tc.LDiversity(3)],
        suppression=0.01,
        seconds=5,
    )
    out.table.to_csv(folder / "anonymous.csv", index=False)
    attacks = [
        tc.anonymity.attack(out.table, kind="homogeneity", quasi=QUASI, sensitive="diagnosis"),
        tc.anonymity.attack(out.table, kind="background", quasi=QUASI, sensitive="diagnosis", excluded=1),
        tc.anonymity.attack(out.table, kind="skewness", quasi=QUASI, sensitive="diagnosis", factor=3),
    ]
    lines = [str(out), *(str(attack).splitlines()[0] for attack in attacks)]
    (folder / "anonymous.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_synthetic(table: pd.DataFrame, folder: Path) -> None:
    """Write synthetic rows and the report on their quality."""
    with tc.open(
        table,
        name="patients",
        unit=tc.ROW,
        bounds={"age": (18, 95)},
        keys={"postcode": list(POSTCODES), "sex": ["f", "m"], "diagnosis": list(DIAGNOSES)},
        budget=tc.ApproxDP(epsilon=2, delta=1e-7),
        ledger=folder / "partner.ledger",
    ) as db:
        rows = db.synthesize(bins={"age": 16}, target="diagnosis", epsilon=2, delta=1e-7)
    rows.to_pandas().to_csv(folder / "synthetic.csv", index=False)
    (folder / "synthetic.txt").write_text(f"{rows}\n", encoding="utf-8")


def main(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    table = patients()
    write_anonymous(table, folder)
    write_synthetic(table, folder)
    for name in ("anonymous.txt", "synthetic.txt"):
        print(f"== {name}\n{(folder / name).read_text('utf-8')}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/partner"))
