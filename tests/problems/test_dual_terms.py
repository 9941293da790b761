"""The steps of the dual solvers against a bounded search that knows only the definition of the objective."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.errors import ParameterError
from maxmargin.problems.dual_terms import SHAPES, VERBS, Quadratic, best, register, sum_of_dual_values
from maxmargin.problems.losses import LOSSES
from maxmargin.testing.losses import (
    best_of,
    check_best,
    check_best_pair,
    check_dual_slope,
    check_dual_values,
    check_gap,
    check_response,
    check_softened,
)

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
numbers = st.floats(-20, 20).map(lambda number: round(number, 9))
positive = st.floats(1e-3, 1e3)
shares = st.floats(0, 1).map(lambda share: round(share, 9))  # the reference search knows no 1e-300


def pairs_of(strategy):
    return st.tuples(strategy, strategy)


@every_loss
@given(C=pairs_of(positive), share=pairs_of(shares))
def test_worth_is_the_dual_term(loss, C, share):
    check_dual_values(loss, np.array(C), np.array(share))


@every_loss
def test_slope_is_the_finite_difference_of_the_dual_term(loss):
    check_dual_slope(loss)


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=positive, m=st.one_of(numbers, st.sampled_from([-800.0, 1.0, 800.0])))
def test_the_response_to_a_margin_is_the_loss_and_its_derivatives(loss, C, m):
    check_response(loss, C, m)


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=positive, share=shares, m=numbers, epsilon=positive)
def test_a_softened_response_is_the_best_one(loss, C, share, m, epsilon):
    check_softened(loss, C, share, m, epsilon)


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=positive, share=shares, m=numbers)
def test_excess_is_the_part_of_an_example_in_the_gap(loss, C, share, m):
    check_gap(loss, C, share, m)


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=positive, share=shares, g=numbers, q=positive)
def test_best_is_where_the_derivative_crosses_zero(loss, C, share, g, q):
    check_best(loss, C, share, g, q)


@every_loss
@settings(max_examples=300, deadline=None)
@given(C=pairs_of(positive), share=pairs_of(shares), s=pairs_of(st.sampled_from([-1.0, 1.0])), g=numbers, q=positive)
def test_best_pair_is_where_the_derivative_crosses_zero(loss, C, share, s, g, q):
    check_best_pair(loss, np.array(C), np.array(share), np.array(s), g, q)


def test_an_empty_row_goes_to_the_end_of_the_box_that_its_gradient_points_to():
    term = LOSSES["hinge"].dual_term(np.array([3.0]))
    assert best_of(term, 0, 1.0, 0.0, 0.0) == 3.0
    assert best_of(term, 0, 1.0, 2.0, 0.0) == 0.0


class Other(NamedTuple):
    U: np.ndarray
    D: np.ndarray


@pytest.mark.parametrize("verb", VERBS)
def test_a_shape_that_lacks_a_form_is_refused_by_the_name_of_the_form(verb):
    forms = {name: form for name, form in SHAPES[Quadratic].forms.items() if name != verb}
    with pytest.raises(ParameterError, match=f"dual term Other lacks {verb}: give {verb}=lambda term, i, "):
        register(Other, **forms)
    assert Other not in SHAPES


def test_a_form_with_other_arguments_or_no_verb_is_refused():
    forms = SHAPES[Quadratic].forms
    with pytest.raises(ParameterError, match=r"best must take \(term, i, alpha, g, q\)"):
        register(Other, **{**forms, "best": lambda term, i, a, g, q: a})
    with pytest.raises(ParameterError, match="has better, which is not a verb"):
        register(Other, better=lambda term: 1.0, **forms)
    with pytest.raises(ParameterError, match="int lacks U"):
        register(int, **forms)


def test_an_unknown_shape_is_an_error_when_compiled_and_never_another_shape():
    term, alpha = Other(np.ones(2), np.ones(2)), np.ones(2)
    with pytest.raises(ParameterError, match="Other is not a known shape of a dual term"):
        sum_of_dual_values(term, alpha)
    register(Other, **SHAPES[Quadratic].forms)
    assert sum_of_dual_values(term, alpha) == sum_of_dual_values(Quadratic(*term), alpha)


def test_a_verb_says_that_it_is_for_compiled_code():
    with pytest.raises(NotImplementedError, match="best works inside compiled functions only"):
        best(None, 0, 0.0, 0.0, 0.0)
