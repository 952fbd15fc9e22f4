"""Where chance comes from: cryptographic bits and exact samplers on the integers.

Every sampler takes its parameters as rationals, its randomness from a `BitSource`, and returns a variable
whose law is exactly the stated one if the bits are uniform. The proofs stand in the modules:

* `bits`       the operating system's randomness, stretched
* `reals`      probabilities as refinable binary expansions
* `bernoulli`  coins, also with probability e^(-γ)
* `uniform`    integers below n
* `tables`     inversion of a distribution function
* `geometric`  by independent digits
* `laplace`    the discrete Laplace law
* `gaussian`   the discrete Gaussian law
* `choice`     one candidate with probability ∝ e^(score)
"""

from tacit.noise.bernoulli import bernoulli, bernoulli_exp
from tacit.noise.bits import SYSTEM, BitSource, SystemBits
from tacit.noise.choice import choose_exp
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.geometric import MAX_SCALE, geometric
from tacit.noise.laplace import discrete_laplace, discrete_laplace_of_private_scale
from tacit.noise.reals import Real, exp_neg, logistic, rational
from tacit.noise.uniform import below_integer

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
