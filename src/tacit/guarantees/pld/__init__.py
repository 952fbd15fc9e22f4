"""Privacy-loss distributions: the loss of each event on a grid, convolved, with certified bounds on both sides.

* `cells`     a law on a grid, from above and from below
* `laws`      each event's law
* `convolve`  many laws together, in the tilted Fourier domain
* `bracket`   ε(δ) and δ(ε) to a width that is asked for
"""

from tacit.guarantees.pld.bracket import Bounds, delta_bounds, epsilon_bounds

__all__ = ["Bounds", "delta_bounds", "epsilon_bounds"]
