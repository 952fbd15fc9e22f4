"""Audits of every local protocol: one report, for two values of the person who sends it."""

from __future__ import annotations

import inspect

import numpy as np

import tacit as tc
from auditing.audits import Outputs, Path, Record, Sides, check, in_both_forms
from tacit.local import Protocol

EPSILON = 2.0
DOMAIN = ["a", "b", "c", "d", "e"]


def reports(protocol: Protocol, value: object, runs: int) -> Outputs:
    """Return what each report counts for, by cell of the tally, and its bytes if they are few."""
    records = protocol.randomize([value] * runs).records
    tallies = [protocol._tally(record.reshape(1, -1))[0].tolist() for record in np.asarray(records)]
    return [(*tally[:8], record.tobytes()[:2].hex()) for tally, record in zip(tallies, records, strict=True)]


def path(protocol: Protocol, what: str = "", values: tuple[object, object] = ("a", "e")) -> Path:
    def draw(runs: int) -> list[Sides]:
        return [(reports(protocol, values[0], runs), reports(protocol, values[1], runs))]

    name = f"{type(protocol).__name__}{what}"
    return Path(name=name, draw=draw, epsilon=protocol.epsilon)


def protocols() -> list[Path]:
    local = tc.local
    by_epsilon = (
        *(local.GRR, local.SUE, local.OUE, local.BLH, local.OLH),
        *(local.Hadamard, local.SubsetSelection, local.ProjectiveGeometry),
    )
    return [
        *(path(kind(domain=DOMAIN, epsilon=EPSILON)) for kind in by_epsilon),
        path(local.Warner(epsilon=EPSILON), values=(True, False)),
        path(local.Warner(p=0.875), " of p", values=(True, False)),
        path(local.GRR(domain=DOMAIN, p=0.625), " of p"),
        path(local.SUE(domain=DOMAIN, p=0.75), " of p"),
        path(local.OUE(domain=DOMAIN, p=0.5, q=0.125), " of p and q"),
        path(local.OUE(domain=DOMAIN, p=0.625, q=0.125), " of another p and q"),
        path(local.OLH(domain=DOMAIN, epsilon=EPSILON, buckets=3), " of three buckets"),
        path(local.SubsetSelection(domain=DOMAIN, epsilon=EPSILON, size=2), " of two values"),
    ]


PATHS = protocols()


def test_every_protocol_has_an_audit() -> None:
    kinds = {name: getattr(tc.local, name) for name in tc.local.__all__}
    public = {name for name, kind in kinds.items() if inspect.isclass(kind) and issubclass(kind, Protocol)}
    assert {each.name.split()[0] for each in PATHS} == public - {"Protocol"}
    assert len(PATHS) >= 9


@in_both_forms(*PATHS)
def test_no_report_exceeds_its_claim(path: Path, record_property: Record) -> None:
    check(path, record_property)
