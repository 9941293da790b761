"""The steps of the dual solvers against a bounded search that knows only the definition of the objective."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from maxmargin.problems.dual_terms import best, best_pair, fenchel_young_gap, response, slope, sum_of_dual_values
from maxmargin.problems.losses import LOSSES
from maxmargin.system.compiled import compiled

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
numbers = st.floats(-20, 20).map(lambda number: round(number, 9))
positive = st.floats(1e-3, 1e3)
shares = st.floats(0, 1).map(lambda share: round(share, 9))  # the reference search knows no 1e-300


def pairs_of(strategy):
    return st.tuples(strategy, strategy)


@compiled
def best_of(term, i, alpha, g, q):
    return best(term, i, alpha, g, q)


@compiled
def best_pair_of(term, ai, aj, si, sj, g, q):
    return best_pair(term, 0, 1, ai, aj, si, sj, g, q)


@compiled
def slope_of(term, i, alpha):
    return slope(term, i, alpha)


@compiled
def excess_of(term, i, alpha, m):
    return fenchel_young_gap(term, i, alpha, m)


@compiled
def response_of(term, i, m):
    return response(term, i, m)


def root(falling, low, high):
    """Where a falling function crosses zero in [low, high], or the end beyond which it would."""
    if falling(low) <= 0:
        return low
    if falling(high) >= 0:
        return high
    return brentq(falling, low, high, xtol=1e-15 * high, rtol=1e-14)


@every_loss
@given(C=pairs_of(positive), share=pairs_of(shares))
def test_worth_is_the_dual_term(loss, C, share):
    C = np.array([*C, 0.0])  # and an example without weight
    alpha = np.array([*share, 0.0]) * C
    expected = np.sum(loss.dual(alpha, C))
    assert sum_of_dual_values(loss.dual_term(C), alpha) == pytest.approx(expected, rel=1e-12, abs=1e-15 * C.sum())


@every_loss
def test_slope_is_the_finite_difference_of_the_dual_term(loss):
    C = np.array([2.0])
    term = loss.dual_term(C)
    for alpha in (0.1, 0.7, 1.9):
        h = 1e-6
        numeric = (loss.dual(np.array([alpha + h]), C) - loss.dual(np.array([alpha - h]), C)) / (2 * h)
        assert slope_of(term, 0, alpha) == pytest.approx(numeric[0], abs=1e-6)


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=positive, m=st.one_of(numbers, st.sampled_from([-800.0, 1.0, 800.0])))
def test_the_response_to_a_margin_is_the_loss_and_its_derivatives(loss, C, m):
    m = np.array([m])
    expected = C * loss.value(m)[0], -C * loss.slope(m)[0], C * loss.curvature(m)[0]
    assert response_of(loss.dual_term(np.array([C])), 0, m[0]) == pytest.approx(expected, rel=1e-12)


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=positive, share=shares, m=numbers)
def test_excess_is_the_part_of_an_example_in_the_gap(loss, C, share, m):
    C, alpha = np.array([C]), np.array([share * C])
    gap = C * loss.value(np.array([m])) - loss.dual(alpha, C) + alpha * m
    assert excess_of(loss.dual_term(C), 0, alpha[0], m) == pytest.approx(gap[0], rel=1e-9, abs=1e-9 * C[0])


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=positive, share=shares, g=numbers, q=positive)
def test_best_is_where_the_derivative_crosses_zero(loss, C, share, g, q):
    term = loss.dual_term(np.array([C]))
    alpha = share * C
    q = q / C
    high = term.U[0] if np.isfinite(term.U[0]) else alpha + (1 + abs(g)) / q
    expected = root(lambda z: slope_of(term, 0, z) - g - q * (z - alpha), 0.0, high)
    found = best_of(term, 0, alpha, g, q)
    assert 0 <= found <= term.U[0]
    assert found == pytest.approx(expected, abs=1e-9 * (C + alpha))


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=pairs_of(positive), share=pairs_of(shares), s=pairs_of(st.sampled_from([-1.0, 1.0])), g=numbers, q=positive)
def test_best_pair_is_where_the_derivative_crosses_zero(loss, C, share, s, g, q):
    C = np.array(C)
    term = loss.dual_term(C)
    (ai, aj), (si, sj) = np.array(share) * C, s
    most = min(term.U[0] - ai if si > 0 else ai, aj if sj > 0 else term.U[1] - aj)
    bound = min(most, 1e6 * C.max())

    def derivative(delta):
        return si * slope_of(term, 0, ai + si * delta) - sj * slope_of(term, 1, aj - sj * delta) - g - q * delta

    expected = root(derivative, 0.0, bound) if bound > 0 else 0.0
    found = best_pair_of(term, ai, aj, si, sj, g, q)
    assert 0 <= found <= most
    assert found == pytest.approx(expected, abs=1e-6 * min(bound, C.max() * 10) + 1e-12)


def test_an_empty_row_goes_to_the_end_of_the_box_that_its_gradient_points_to():
    term = LOSSES["hinge"].dual_term(np.array([3.0]))
    assert best_of(term, 0, 1.0, 0.0, 0.0) == 3.0
    assert best_of(term, 0, 1.0, 2.0, 0.0) == 0.0
