"""What machine code may be cached."""

from typing import NamedTuple

import numba
import numpy as np
import pytest

from maxmargin.problems.dual_terms import Quadratic
from maxmargin.solvers.parts.coordinate_sweep import Examples
from maxmargin.system.compiled import is_covered


class Outside(NamedTuple):
    U: np.ndarray
    D: np.ndarray


def nested(term):
    fields = {name: np.ones(2) for name in Examples._fields}
    return Examples(**{**fields, "term": term})


@pytest.mark.parametrize(("term", "covered"), [(Quadratic, True), (Outside, False)])
@pytest.mark.parametrize("wrap", [lambda term: term, lambda term: (term, 1.0), nested])
def test_code_for_a_tuple_from_outside_the_package_is_not_cached(term, covered, wrap):
    value = wrap(term(np.ones(2), np.zeros(2)))
    assert is_covered((numba.float64, numba.typeof(value))) == covered
