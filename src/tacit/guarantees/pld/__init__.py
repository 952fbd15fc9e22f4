"""Privacy-loss distributions: the loss of each event on a grid, convolved, with certified bounds on both sides.

* `cells`     a law on a grid, from above and from below
* `laws`      each event's law
* `sampled`   the same on a Poisson sample, in both directions
* `merge`     many laws side by side, short ones merged
* `steps`     how fine the grid is
* `convolve`  many laws together, in the tilted Fourier domain
* `bracket`   ε(δ) and δ(ε) to a width that is asked for
"""

from tacit.guarantees.pld.bracket import Bounds, delta_bounds, delta_curve, epsilon_bounds
from tacit.guarantees.pld.steps import Lawful

__all__ = ["Bounds", "Lawful", "delta_bounds", "delta_curve", "epsilon_bounds"]
