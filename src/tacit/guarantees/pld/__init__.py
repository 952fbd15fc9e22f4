"""Privacy-loss distributions: the loss of each event on a grid, convolved, with certified bounds on both sides.

* `cells`     a law on a grid, from above and from below
* `laws`      each event's law
* `sampled`   the law of any event in one direction, also on a Poisson sample
* `merge`     many laws side by side, short ones merged
* `convolve`  the law of a total, in the tilted Fourier domain
* `bounds`    bounds on ε(δ) and δ(ε), to a requested width
"""

from tacit.guarantees.pld.bounds import Bounds, PldComponent, delta_bounds, delta_curve, epsilon_bounds

__all__ = ["Bounds", "PldComponent", "delta_bounds", "delta_curve", "epsilon_bounds"]
