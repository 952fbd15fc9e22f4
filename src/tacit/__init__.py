"""tacit: publish what the data says, not who is in it.

>>> import tacit as tc
>>> m = tc.Laplace(sensitivity=1, epsilon=0.1)
>>> m.scale, m.guarantee
(10.0, PureDP(epsilon=0.1))
>>> isinstance(m.release(337), int)
True
"""

from tacit.errors import BudgetError, InvalidError, RefusedError, SourceError, TacitError
from tacit.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
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

__version__ = "0.1.0"

__all__ = [
    "ZCDP",
    "AboveThreshold",
    "ApproxDP",
    "Bounds",
    "BudgetError",
    "Calibration",
    "Composition",
    "Exponential",
    "Gaussian",
    "GaussianDP",
    "InvalidError",
    "Laplace",
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
    "TacitError",
    "calibrate",
    "compare_noise",
    "compose",
    "parallel",
    "sensitivity",
    "split",
]
