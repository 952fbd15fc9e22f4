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

from tacit.activity import counters
from tacit.errors import BudgetError, InvalidError, RefusedError, SourceError, TacitError
from tacit.guarantees import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, PureDP, RenyiDP
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
    sensitivity,
)
from tacit.mechanisms.calibrate import Calibration, calibrate
from tacit.query.policy import ROW
from tacit.version import VERSION

if TYPE_CHECKING:
    from tacit import anonymity, ledger, local
    from tacit.anonymity.privacy_models import KAnonymity, LDiversity, NTCloseness, TCloseness
    from tacit.column_functions import count, histogram, mean, quantile, sum  # noqa: A004 - as below
    from tacit.declared import declare
    from tacit.guarantees import events, filters
    from tacit.opening import open  # noqa: A004 - the name is the public surface's

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
    "calibrate",
    "compare_noise",
    "compose",
    "count",
    "counters",
    "declare",
    "events",
    "filters",
    "histogram",
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
    "filters": "tacit.guarantees.filters",
    "ledger": "tacit.ledger",
    "local": "tacit.local",
}
_HOMES = {
    "KAnonymity": "tacit.anonymity",
    "LDiversity": "tacit.anonymity",
    "NTCloseness": "tacit.anonymity",
    "TCloseness": "tacit.anonymity",
    **dict.fromkeys(("count", "histogram", "mean", "quantile", "sum"), "tacit.column_functions"),
    "declare": "tacit.declared",
    "open": "tacit.opening",
}


def __getattr__(name: str) -> object:
    """Import the parts that need a database, a parser or a compiler on first use: `import tacit` stays quick."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
