"""tacit: publish what the data says, not who is in it.

>>> import tacit as tc
>>> m = tc.Laplace(sensitivity=1, epsilon=0.1)
>>> m.scale, m.guarantee
(10.0, PureDP(epsilon=0.1))
>>> isinstance(m.release(337), int)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tacit.version import VERSION

if TYPE_CHECKING:
    from tacit import anonymity, learn, ledger, local
    from tacit.activity import counters
    from tacit.anonymity.privacy_models import KAnonymity, LDiversity, NTCloseness, TCloseness
    from tacit.auditing.audit import audit
    from tacit.auditing.one_run import audit_one_run
    from tacit.column_functions import count, histogram, mean, quantile, sum  # noqa: A004 - as below
    from tacit.declared import declare
    from tacit.errors import BudgetError, InvalidError, RefusedError, SourceError, TacitError
    from tacit.guarantees import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, PureDP, RenyiDP, events, filters
    from tacit.guarantees.arithmetic import parallel, split
    from tacit.guarantees.composition import Composition, compose
    from tacit.guarantees.pld import Bounds
    from tacit.guarantees.profile import PrivacyProfile
    from tacit.mechanisms import (
        AboveThreshold,
        Exponential,
        Gaussian,
        Laplace,
        NoisyMax,
        PermuteAndFlip,
        ProposeTestRelease,
        RandomizedResponse,
        SmoothMedian,
        compare_noise,
        figures,
        sensitivity,
    )
    from tacit.mechanisms.calibrate import Calibration, calibrate
    from tacit.opening import open  # noqa: A004 - the name is the public surface's
    from tacit.query.policy import ROW
    from tacit.remote import connect

__version__ = VERSION

__all__ = [
    "ROW",
    "ZCDP",
    "AboveThreshold",
    "ApproxDP",
    "ApproxZCDP",
    "Bounds",
    "BudgetError",
    "Calibration",
    "Composition",
    "Exponential",
    "Gaussian",
    "GaussianDP",
    "InvalidError",
    "KAnonymity",
    "LDiversity",
    "Laplace",
    "NTCloseness",
    "NoisyMax",
    "PermuteAndFlip",
    "PrivacyProfile",
    "ProposeTestRelease",
    "PureDP",
    "RandomizedResponse",
    "RefusedError",
    "RenyiDP",
    "SmoothMedian",
    "SourceError",
    "TCloseness",
    "TacitError",
    "anonymity",
    "audit",
    "audit_one_run",
    "calibrate",
    "compare_noise",
    "compose",
    "connect",
    "count",
    "counters",
    "declare",
    "events",
    "figures",
    "filters",
    "histogram",
    "learn",
    "ledger",
    "local",
    "mean",
    "open",
    "parallel",
    "quantile",
    "sensitivity",
    "split",
    "sum",
]

_MODULES = {
    "anonymity": "tacit.anonymity",
    "events": "tacit.guarantees.events",
    "figures": "tacit.mechanisms.figures",
    "filters": "tacit.guarantees.filters",
    "learn": "tacit.learn",
    "ledger": "tacit.ledger",
    "local": "tacit.local",
    "sensitivity": "tacit.mechanisms.sensitivity",
}
_NAMES = {
    "tacit.activity": ("counters",),
    "tacit.anonymity": ("KAnonymity", "LDiversity", "NTCloseness", "TCloseness"),
    "tacit.auditing.audit": ("audit",),
    "tacit.auditing.one_run": ("audit_one_run",),
    "tacit.column_functions": ("count", "histogram", "mean", "quantile", "sum"),
    "tacit.declared": ("declare",),
    "tacit.errors": ("BudgetError", "InvalidError", "RefusedError", "SourceError", "TacitError"),
    "tacit.guarantees": ("ZCDP", "ApproxDP", "ApproxZCDP", "GaussianDP", "PureDP", "RenyiDP"),
    "tacit.guarantees.arithmetic": ("parallel", "split"),
    "tacit.guarantees.composition": ("Composition", "compose"),
    "tacit.guarantees.pld": ("Bounds",),
    "tacit.guarantees.profile": ("PrivacyProfile",),
    "tacit.mechanisms": (
        "AboveThreshold",
        "Exponential",
        "Gaussian",
        "Laplace",
        "NoisyMax",
        "PermuteAndFlip",
        "ProposeTestRelease",
        "RandomizedResponse",
        "SmoothMedian",
        "compare_noise",
    ),
    "tacit.mechanisms.calibrate": ("Calibration", "calibrate"),
    "tacit.opening": ("open",),
    "tacit.query.policy": ("ROW",),
    "tacit.remote": ("connect",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import the module of a public name on its first use, so that a program and a command load only what they need."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
