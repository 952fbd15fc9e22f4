"""A latent-class model of rows: hidden classes with weights. Within a class the columns are independent.

    p(x) = Σ_k w_k·∏_i θ_ki(x_i)

With enough classes every distribution has this form, and its tables are sums of products: no junction tree is needed,
so any set of columns may be measured. Conditioning is exact: given x_i = v, class k has the weight w_k·θ_ki(v), and the
other columns do not change within a class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats

Real = TypeVar("Real", bound=np.floating[Any])

_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class LatentModel:
    """The weights of the classes, and each column's chances of its codes: an array of classes by codes."""

    weights: Floats
    chances: tuple[Floats, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return tuple(each.shape[1] for each in self.chances)

    def table(self, columns: Sequence[int]) -> Floats:
        """Return the probabilities of the codes of some columns, as an array of their sizes.

        >>> both = np.eye(2)
        >>> LatentModel(np.array([0.25, 0.75]), (both, both)).table([0, 1]).tolist()
        [[0.25, 0.0], [0.0, 0.75]]
        """
        product = self.weights[:, None]
        for column in columns[:-1]:
            product = outer(product, self.chances[column])
        found = product.T @ self.chances[columns[-1]]
        return np.asarray(found.reshape([self.chances[column].shape[1] for column in columns]))

    def given(self, codes: Mapping[int, int]) -> LatentModel:
        """Return the model of rows with given codes; codes of probability 0 leave the other columns unchanged."""
        chances, log_weights = list(self.chances), np.log(np.maximum(self.weights, _LEAST))
        met = self.weights > 0
        for column, code in codes.items():
            likelihood = self.chances[column][:, code]
            met &= likelihood > 0
            log_weights = log_weights + np.log(np.maximum(likelihood, _LEAST))
            chances[column] = np.zeros_like(self.chances[column])
            chances[column][:, code] = 1
        if not met.any():
            return LatentModel(self.weights, tuple(chances))
        weights = np.where(met, np.exp(log_weights - log_weights[met].max()), 0.0)
        return LatentModel(weights / weights.sum(), tuple(chances))

    @property
    def information(self) -> float:
        """The mutual information of the class with all columns, in nats; 0 if the columns are independent."""
        total = 0.0
        for chances in self.chances:
            mean = self.weights @ chances
            ratio = np.log(np.maximum(chances, _LEAST)) - np.log(np.maximum(mean, _LEAST))
            total += float(self.weights @ (chances * ratio).sum(axis=1))
        return total


def outer(first: npt.NDArray[Real], second: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """Return the products of the entries of two arrays, class by class.

    >>> outer(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]])).tolist()
    [[3.0, 5.0, 6.0, 10.0]]
    """
    return cast("npt.NDArray[Real]", (first[:, :, None] * second[:, None, :]).reshape(len(first), -1))
