import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.errors import ParameterError
from maxmargin.problems.losses import LOSSES, find_loss

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
margins = st.floats(-30, 30)
weights = st.floats(1e-3, 1e3)
shares = st.floats(0, 1)


@every_loss
def test_slope_is_the_finite_difference_of_the_value(loss):
    m = np.linspace(-5, 5, 1001)
    m = m[np.abs(m - 1.0) > 1e-3]
    h = 1e-6
    numeric = (loss.value(m + h) - loss.value(m - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(m), numeric, atol=1e-6)


@every_loss
def test_curvature_is_the_finite_difference_of_the_slope(loss):
    m = np.linspace(-5, 5, 1001)
    m = m[np.abs(m - 1.0) > 1e-3]
    h = 1e-5
    numeric = (loss.slope(m + h) - loss.slope(m - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(m), numeric, atol=1e-5)


@every_loss
@given(m=margins, C=weights, share=shares)
def test_value_and_dual_term_satisfy_fenchel_young(loss, m, C, share):
    m, C = np.array([m]), np.array([C])
    alpha = share * np.minimum(loss.upper(C), 100 * C)
    surplus = C * loss.value(m) - loss.dual(alpha, C) + alpha * m
    assert surplus[0] >= -1e-9 * C[0] * (1 + abs(m[0])) * (1 + share)


@every_loss
@given(m=margins, C=weights)
def test_fenchel_young_is_an_equality_at_minus_C_times_the_slope(loss, m, C):
    m, C = np.array([m]), np.array([C])
    alpha = -C * loss.slope(m)
    np.testing.assert_allclose(C * loss.value(m), loss.dual(alpha, C) - alpha * m, rtol=1e-9, atol=1e-9 * C[0])


@every_loss
def test_a_weight_of_zero_is_worth_zero(loss):
    zero = np.zeros(1)
    assert loss.upper(zero)[0] == 0.0
    assert loss.dual(zero, zero)[0] == 0.0


@every_loss
def test_extreme_margins_stay_finite(loss):
    m = np.array([-1e8, -800.0, 0.0, 800.0, 1e8])
    for values in (loss.value(m), loss.slope(m), loss.curvature(m)):
        assert np.all(np.isfinite(values))


def test_an_unknown_loss_lists_the_known_ones():
    with pytest.raises(ParameterError, match="hinge, squared_hinge, logistic"):
        find_loss("log")


@every_loss
@pytest.mark.parametrize("C", [1e-300, 1e-200, 1e-100, 1e100])
def test_tiny_and_huge_weights_keep_weak_duality(loss, C):
    m, weight = np.linspace(-3, 3, 7), np.full(7, C)
    alpha = -weight * loss.slope(m)
    np.testing.assert_allclose(loss.dual(alpha, weight) - alpha * m, weight * loss.value(m), rtol=1e-9, atol=1e-12 * C)
