"""A promise kept: noise, guarantee and accuracy together, one file a mechanism.

Every mechanism answers four questions from one place: what noise does this guarantee need (construction), what
guarantee does this noise give (`guarantee`), what error will I see (`error`), and what guarantee do I need for
a wanted error (`for_error`). Its docstring proves the guarantee for the law that is drawn.
"""

from tacit.mechanisms import sensitivity
from tacit.mechanisms.above_threshold import AboveThreshold
from tacit.mechanisms.choose_noise import NoiseComparison, compare_noise
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gaussian import Gaussian
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
