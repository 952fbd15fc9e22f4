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

from tacit.errors import BudgetError, InvalidError, RefusedError, SourceError, TacitError
from tacit.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from tacit.guarantees.arithmetic import parallel, split
from tacit.guarantees.composition import Composition, compose
from tacit.guarantees.filters import ApproxZCDP
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
    from tacit import anonymity, local
    from tacit.anonymity.privacy_models import KAnonymity, LDiversity, NTCloseness, TCloseness
    from tacit.declared import declare
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
    "declare",
    "local",
    "open",
    "parallel",
    "sensitivity",
    "split",
]


def __getattr__(name: str) -> object:
    """Load what needs a database or a parser only when it is asked for: `import tacit` stays quick."""
    if name == "open":
        from tacit import opening  # noqa: PLC0415 - heavy

        return opening.open
    if name == "declare":
        from tacit import declared  # noqa: PLC0415 - heavy

        return declared.declare
    if name == "local":
        return import_module("tacit.local")
    if name == "anonymity":
        return import_module("tacit.anonymity")
    if name in {"KAnonymity", "LDiversity", "NTCloseness", "TCloseness"}:
        from tacit.anonymity import privacy_models  # noqa: PLC0415 - heavy

        return getattr(privacy_models, name)
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
