"""Data that trouble other packages: each still ends certified, whatever auto takes for it."""

import pytest
from problems import EVERY_BIAS, EVERY_LOSS, overlapping
from scipy import sparse
from troubles import TROUBLES, units

import maxmargin


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
@pytest.mark.parametrize("wide", [False, True], ids=["long", "wide"])
@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_trouble_ends_certified(trouble, wide, loss, bias):
    X, y, weights = trouble(*(overlapping(n=60, d=90) if wide else overlapping(n=400, d=6)))
    for rows in (X, sparse.csr_matrix(X)):
        result = maxmargin.train(rows, y, loss=loss, bias=bias, weights=weights, max_seconds=20)
        assert result.status is maxmargin.Status.CONVERGED, (result.solver, result.certificate)


@pytest.mark.parametrize("seed", range(8))
def test_no_luck_is_needed_for_features_of_any_unit(seed):
    """At some round no row may be inside its box: the step has the units of the gradient, twenty orders too long."""
    X, y, _ = units(*overlapping(n=400, d=6, seed=seed))
    result = maxmargin.train(X, y, loss="hinge", bias="free", solver="second_order", max_seconds=20)
    assert result.status is maxmargin.Status.CONVERGED, (seed, result.certificate)
