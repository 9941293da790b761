"""φ of the polynomial kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, DataError, LinearSVC, ParameterError, PolynomialMap

rng = np.random.default_rng(0)


@parametrize_with_checks([PolynomialMap()])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(1, 5),
    degree=st.integers(1, 4),
    gamma=st.floats(0.1, 3.0),
    coef0=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_the_kernel_is_the_inner_product_of_phi(d, degree, gamma, coef0):
    X = rng.normal(size=(6, d))
    phi = PolynomialMap(degree=degree, gamma=gamma, coef0=coef0).fit_transform(X)
    assert phi @ phi.T == pytest.approx((gamma * X @ X.T + coef0) ** degree, rel=1e-9, abs=1e-9)


def test_a_machine_on_phi_is_the_machine_with_the_kernel():
    X = rng.normal(size=(150, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2 > 0.3, 1, -1)
    settings = {"degree": 2, "gamma": 0.5, "coef0": 1.0}
    phi = PolynomialMap(**settings).fit(X)
    linear = LinearSVC(loss="hinge", tol=1e-8).fit(phi.transform(X), y)
    kernel = SVC(kernel="poly", tol=1e-8, **settings).fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-6)
    test = rng.normal(size=(50, 3))
    expected = linear.decision_function(phi.transform(test))
    assert kernel.decision_function(test) == pytest.approx(expected, abs=1e-2 * np.abs(expected).max())


def test_what_has_no_phi_is_refused():
    with pytest.raises(ParameterError, match=r"coef0=-1\.0"):
        PolynomialMap(coef0=-1.0).fit(np.eye(3))
    with pytest.raises(ParameterError, match="degree=0"):
        PolynomialMap(degree=0).fit(np.eye(3))
    with pytest.raises(DataError, match="use the kernel"):
        PolynomialMap(degree=4).fit(np.ones((2, 300)))
