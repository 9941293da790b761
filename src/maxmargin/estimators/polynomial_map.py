"""PolynomialMap: the explicit feature map φ of the polynomial kernel, K(x, z) = ⟨φ(x), φ(z)⟩ = (γ⟨x, z⟩ + r)^p.

The features are all products of p factors out of √γ x_1, …, √γ x_d and √r, each product once, times
√(p!/(k_1! k_2! …)), where k_j counts how often factor j occurs in the product. With r = 0 the factor √r is left out,
and the products have degree exactly p; otherwise they have all degrees up to p.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from maxmargin.data.take import take
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.validation import validated
from maxmargin.kernels.functions import checked_degree, checked_gamma, checked_number

MOST = 10_000_000  # largest number of features


class PolynomialMap(TransformerMixin, BaseEstimator):
    """The feature map φ with ⟨φ(x), φ(z)⟩ = (γ⟨x, z⟩ + r)^p.

    Parameters
    ----------
    degree : p
    gamma : γ, a number, "scale" or "auto", as for the kernel
    coef0 : r, 0 or above; 0 for products of degree exactly p

    Attributes
    ----------
    powers_ : array (features, p): the numbers of the factors of each feature; number d is the constant
    n_features_in_ : d

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import PolynomialMap
    >>> phi = PolynomialMap(degree=2, gamma=1.0, coef0=1.0)
    >>> x, z = phi.fit_transform(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> round(float(x @ z), 9)  # (1*3 + 2*4 + 1)²
    144.0
    """

    def __init__(self, *, degree: int = 2, gamma: Any = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def fit(self, X: Any, y: Any = None) -> PolynomialMap:
        """List the products, and compute γ."""
        X = validated(self, X, accept_sparse=False, dtype=np.float64)
        p, r = checked_degree(self.degree), checked_number("coef0", self.coef0)
        if r < 0.0:
            raise ParameterError(f"coef0={self.coef0!r} must be 0 or above: below, the kernel is no inner product")
        factors = X.shape[1] + (r > 0.0)
        if comb(factors + p - 1, p) > MOST:
            raise DataError(
                f"{X.shape[1]} features have {comb(factors + p - 1, p):,} products of degree {p}: use the kernel"
            )
        self.gamma_ = checked_gamma(self.gamma, take(X))
        self.powers_ = np.array(list(combinations_with_replacement(range(factors), p)))
        counts = (np.unique(powers, return_counts=True)[1] for powers in self.powers_)
        self.scales_ = np.array([sqrt(factorial(p) / prod(map(factorial, k.tolist()))) for k in counts])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return φ of every row."""
        check_is_fitted(self)
        X = validated(self, X, reset=False, accept_sparse=False, dtype=np.float64)
        factors = np.hstack([sqrt(self.gamma_) * X, np.full((len(X), 1), sqrt(self.coef0))])
        found = np.tile(self.scales_, (len(X), 1))
        for chosen in self.powers_.T:
            found *= factors[:, chosen]
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the products, such as "a^2", "a b" and "1"; `set_output` makes them column names."""
        check_is_fitted(self)
        names = [*_check_feature_names_in(self, input_features), None]  # the last factor is the constant
        found = []
        for powers in self.powers_:
            factors, counts = np.unique(powers, return_counts=True)
            words = [
                f"{names[j]}^{k}" if k > 1 else str(names[j])
                for j, k in zip(factors, counts, strict=True)
                if names[j] is not None
            ]
            found.append(" ".join(words) or "1")
        return np.array(found, dtype=object)
