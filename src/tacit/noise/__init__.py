"""Random noise: cryptographic bits and exact samplers on the integers.

Every sampler takes its parameters as rationals and its randomness from a `BitSource`. If the bits are uniform, the
variable that it returns has exactly the stated law. Each module proves its part:

* `bits`         the operating system's randomness, stretched; uniform integers
* `reals`        probabilities as refinable binary expansions
* `bernoulli`    coins, also with probability e^(-γ)
* `inverse_cdf`  inversion of a distribution function
* `geometric`    the geometric law, by independent digits
* `laplace`      the discrete Laplace law
* `gaussian`     the discrete Gaussian law
* `choice`       one candidate with probability ∝ e^(score)
"""

from tacit.noise.bernoulli import bernoulli, bernoulli_exp
from tacit.noise.bits import SYSTEM, BitSource, SystemBits, below_integer
from tacit.noise.choice import choose_exp
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.geometric import MAX_SCALE, geometric
from tacit.noise.laplace import discrete_laplace, discrete_laplace_of_private_scale
from tacit.noise.reals import Real, exp_neg, logistic, rational

__all__ = [
    "MAX_SCALE",
    "SYSTEM",
    "BitSource",
    "Real",
    "SystemBits",
    "below_integer",
    "bernoulli",
    "bernoulli_exp",
    "choose_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "discrete_laplace_of_private_scale",
    "exp_neg",
    "geometric",
    "logistic",
    "rational",
]
