"""The contract of every loss, searched by hypothesis where numbers matter, and what a registration refuses."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.errors import ParameterError
from maxmargin.problems.losses import LOSSES, Hinge, Loss, SquaredHinge, find_loss, register
from maxmargin.testing import check_loss
from maxmargin.testing.losses import (
    check_curvature,
    check_equality,
    check_extreme_margins,
    check_extreme_weights,
    check_fenchel_young,
    check_slope,
    check_zero_weight,
)

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
margins = st.floats(-30, 30)
weights = st.floats(1e-3, 1e3)
shares = st.floats(0, 1)


@every_loss
def test_every_loss_keeps_the_contract(loss):
    check_loss(loss)


@every_loss
def test_slope_is_the_finite_difference_of_the_value(loss):
    check_slope(loss)


@every_loss
def test_curvature_is_the_finite_difference_of_the_slope(loss):
    check_curvature(loss)


@every_loss
@given(m=margins, C=weights, share=shares)
def test_value_and_dual_term_satisfy_fenchel_young(loss, m, C, share):
    check_fenchel_young(loss, m, C, share)


@every_loss
@given(m=margins, C=weights)
def test_fenchel_young_is_an_equality_at_minus_C_times_the_slope(loss, m, C):
    check_equality(loss, m, C)


@every_loss
def test_a_weight_of_zero_is_worth_zero(loss):
    check_zero_weight(loss)


@every_loss
def test_extreme_margins_stay_finite(loss):
    check_extreme_margins(loss)


def test_an_unknown_loss_lists_the_known_ones():
    with pytest.raises(ParameterError, match="hinge, squared_hinge, logistic"):
        find_loss("log")


@every_loss
@pytest.mark.parametrize("C", [1e-300, 1e-200, 1e-100, 1e100])
def test_tiny_and_huge_weights_keep_weak_duality(loss, C):
    check_extreme_weights(loss, C)


@pytest.mark.parametrize("piece", ["value", "slope", "curvature", "dual", "upper", "dual_term", "name", "smooth"])
def test_a_loss_that_lacks_a_piece_is_refused_by_the_name_of_the_piece(piece):
    pieces = {name: getattr(SquaredHinge, name) for name in vars(SquaredHinge) if not name.startswith("__")}
    pieces |= {"name": "incomplete"}
    del pieces[piece]
    with pytest.raises(ParameterError, match=f"lacks {piece}"):
        register(type("Incomplete", (Loss,), pieces)())
    assert "incomplete" not in LOSSES


def test_a_loss_with_a_kink_must_say_how_its_bias_is_found():
    class Kinked(Hinge):
        name = "kinked"
        bias_rule = "newton"

    with pytest.raises(ParameterError, match="newton for a smooth loss only"):
        register(Kinked())


def test_a_name_is_not_taken_twice():
    class Other(SquaredHinge):
        name = "hinge"

    with pytest.raises(ParameterError, match="hinge is taken by Hinge"):
        register(Other())
    register(Hinge())


class Unknown(NamedTuple):
    U: np.ndarray


class OfUnknownShape(SquaredHinge):
    name = "of_unknown_shape"

    def dual_term(self, C):
        return Unknown(C)


def test_a_dual_term_of_an_unknown_shape_is_refused():
    with pytest.raises(ParameterError, match="dual_term returns Unknown, which is not a known shape"):
        register(OfUnknownShape())


class Rising(SquaredHinge):
    def value(self, m):
        return np.square(1.0 - m)

    def slope(self, m):
        return -2.0 * (1.0 - m)


class WrongSlope(SquaredHinge):
    def slope(self, m):
        return -np.maximum(0.0, 1.0 - m)


class WrongDual(SquaredHinge):
    def dual(self, alpha, C):
        return alpha


class WrongTerm(SquaredHinge):
    def dual_term(self, C):
        return super().dual_term(2.0 * C)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Rising(), "curvature"),
        (WrongSlope(), "slope"),
        (WrongDual(), "squared_hinge"),
        (WrongTerm(), "compiled slope"),
    ],
)
def test_a_wrong_loss_does_not_pass(loss, words):
    with pytest.raises(AssertionError, match=words):
        check_loss(loss)
