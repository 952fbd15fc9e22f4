"""Probability laws as functions: mass or density, distribution function, survivor function, quantile, variance.

| module | laws |
|---|---|
| `lattice` | discrete Laplace and discrete Gaussian noise, which mechanisms add: all integers |
| `continuous` | the Laplace, normal and exponential densities of the textbooks |
| `finite` | finitely many values: an answer of randomized response, the shortfall of a choice |
| `choice` | the probability of each candidate of a selection |

These functions are for study. They never draw the noise of a release, and no guarantee depends on them: `noise` draws
exact laws, and `guarantees` prices them. Floats are within a relative 1e-12 of the law, down to 1e-300.
"""

from tacit.laws.choice import exponential_choice, first_coin_choice
from tacit.laws.continuous import ContinuousLaw, ExponentialLaw, LaplaceLaw, NormalLaw
from tacit.laws.finite import FiniteLaw
from tacit.laws.lattice import DiscreteGaussian, DiscreteLaplace, LatticeLaw, sum_tail

__all__ = [
    "ContinuousLaw",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialLaw",
    "FiniteLaw",
    "LaplaceLaw",
    "LatticeLaw",
    "NormalLaw",
    "exponential_choice",
    "first_coin_choice",
    "sum_tail",
]
