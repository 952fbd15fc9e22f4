"""Private classifiers in the shape of scikit-learn's: `tc.learn`.

>>> import tacit as tc
>>> model = tc.learn.LogisticRegression(epsilon=1, delta=1e-6, bounds={"age": (0, 100), "sex": ["f", "m"]})
>>> model.get_params()["epsilon"]
1
"""

from tacit.learn.logistic_regression import LogisticRegression
from tacit.learn.model import Classifier

__all__ = ["Classifier", "LogisticRegression"]
