"""The mechanisms: noise, guarantee and accuracy together, one file for each mechanism.

A mechanism computes the noise for a guarantee (construction), the guarantee of its noise (`guarantee`), its error
(`error`), and the guarantee that a given error needs (`for_error`). Its module proves the guarantee for the law that is
drawn.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.mechanisms import sensitivity
    from tacit.mechanisms.above_threshold import AboveThreshold
    from tacit.mechanisms.exponential import Exponential
    from tacit.mechanisms.gaussian import Gaussian, NoiseComparison, compare_noise
    from tacit.mechanisms.laplace import Laplace
    from tacit.mechanisms.noisy_max import NoisyMax
    from tacit.mechanisms.permute_and_flip import PermuteAndFlip
    from tacit.mechanisms.propose_test_release import ProposeTestRelease
    from tacit.mechanisms.randomized_response import RandomizedResponse
    from tacit.mechanisms.smooth_median import SmoothMedian

__all__ = [
    "AboveThreshold",
    "Exponential",
    "Gaussian",
    "Laplace",
    "NoiseComparison",
    "NoisyMax",
    "PermuteAndFlip",
    "ProposeTestRelease",
    "RandomizedResponse",
    "SmoothMedian",
    "compare_noise",
    "sensitivity",
]

_HOMES = {
    "AboveThreshold": "above_threshold",
    "Exponential": "exponential",
    "Gaussian": "gaussian",
    "Laplace": "laplace",
    "NoiseComparison": "gaussian",
    "NoisyMax": "noisy_max",
    "PermuteAndFlip": "permute_and_flip",
    "ProposeTestRelease": "propose_test_release",
    "RandomizedResponse": "randomized_response",
    "SmoothMedian": "smooth_median",
    "compare_noise": "gaussian",
}


def __getattr__(name: str) -> object:
    """Import a mechanism on its first use: a query needs few of them."""
    if name == "sensitivity":
        return import_module("tacit.mechanisms.sensitivity")
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(f"tacit.mechanisms.{_HOMES[name]}"), name)
        return value
    raise AttributeError(f"module 'tacit.mechanisms' has no attribute {name!r}")
