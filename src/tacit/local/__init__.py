"""The local model: each person's device randomises the answer before it leaves. No party is trusted.

| protocol | a report is | best for |
|---|---|---|
| `Warner` | yes or no | one question |
| `GRR` | a value | small domains, d < 3e^ε + 2 |
| `SUE`, `OUE` | a bit for each value | teaching; domains up to some thousands |
| `BLH`, `OLH` | a hash function and a bucket | small reports of large domains |
| `Hadamard` | one output | large domains, quick decoding |
| `SubsetSelection` | a set of values | the least error, with large reports |
| `ProjectiveGeometry` | one output | large domains, quick decoding, nearly the least error |

Make a protocol from a public domain and ε. `randomize` runs on the device and needs only `parameters()`. An
`Aggregator` counts reports on the server. An `Estimate` has unbiased counts, their errors and intervals.

>>> import tacit as tc
>>> oracle = tc.local.OLH(domain=["tea", "coffee", "water"], epsilon=1.0)
>>> e = oracle.estimate(oracle.randomize(["tea"] * 600 + ["coffee"] * 400))
>>> e.n, e.counts.shape
(1000, (3,))
"""

from tacit.local.aggregator import Aggregator
from tacit.local.base import Protocol
from tacit.local.choose import Choice, choose, plot_errors
from tacit.local.estimate import Estimate
from tacit.local.grr import GRR
from tacit.local.hadamard import Hadamard
from tacit.local.local_hashing import BLH, OLH
from tacit.local.optimum import plot_optimum
from tacit.local.parameters import protocol
from tacit.local.projective_geometry import ProjectiveGeometry
from tacit.local.reports import Reports
from tacit.local.simulate import Simulation, simulate
from tacit.local.subset_selection import SubsetSelection
from tacit.local.unary_encoding import OUE, SUE
from tacit.local.warner import Warner

__all__ = [
    "BLH",
    "GRR",
    "OLH",
    "OUE",
    "SUE",
    "Aggregator",
    "Choice",
    "Estimate",
    "Hadamard",
    "ProjectiveGeometry",
    "Protocol",
    "Reports",
    "Simulation",
    "SubsetSelection",
    "Warner",
    "choose",
    "plot_errors",
    "plot_optimum",
    "protocol",
    "simulate",
]


def __dir__() -> list[str]:
    return sorted(__all__)
