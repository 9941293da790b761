"""Which solver takes which problem, for every solver, loss and bias, with C finite and infinite."""

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, overlapping, posed

from maxmargin.choose import choose
from maxmargin.errors import RefusedError
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.solvers import SOLVERS, WITH_KERNELS
from maxmargin.solvers.pairings import PAIRINGS, refusal

# n none, r regularised, f free: the biases that are taken. At C = inf a regularised bias of logistic is a free one.
TAKEN = """
                   C = 1                              C = inf
solver             hinge  squared_hinge  logistic     hinge  squared_hinge  logistic
dual_coordinate    nrf    nrf            nrf          nrf    nrf            -
dual_pairs         f      f              f            f      f              -
second_order       nrf    nrf            nrf          -      -              -
interior_point     nrf    -              -            -      -              -
newton             -      nrf            nrf          -      -              nrf
lbfgs              -      nrf            nrf          -      -              nrf
gradient_descent   nrf    nrf            nrf          -      -              -
sgd                nrf    nrf            nrf          -      -              -
adaptive           nrf    nrf            nrf          -      -              -
pegasos            nr     -              -            -      -              -
implicit           nr     -              -            -      -              -
smo_simple         f      -              -            -      -              -
perceptron         nrf    -              -            nrf    nrf            -
"""
ROWS = {line.split()[0]: line.split()[1:] for line in TAKEN.splitlines()[3:]}
COLUMNS = [(C, loss) for C in (1.0, np.inf) for loss in ("hinge", "squared_hinge", "logistic")]
EVERY_PAIRING = [
    (solver, C, loss, bias, bias[0] in taken)
    for solver, row in ROWS.items()
    for (C, loss), taken in zip(COLUMNS, row, strict=True)
    for bias in EVERY_BIAS
]


def test_the_table_is_of_all_there_is():
    assert set(ROWS) == set(SOLVERS) == set(PAIRINGS) - {"smo"}
    assert set(WITH_KERNELS) <= set(PAIRINGS)
    assert {loss for _, loss in COLUMNS} == set(EVERY_LOSS)
    assert len(EVERY_PAIRING) == len(SOLVERS) * 2 * len(EVERY_LOSS) * len(EVERY_BIAS)


@pytest.mark.parametrize(("solver", "C", "loss", "bias", "taken"), EVERY_PAIRING)
def test_a_pairing_is_taken_or_refused_with_a_reason_and_a_way_out(solver, C, loss, bias, taken):
    problem = posed(*overlapping(n=30), C=C, loss=loss, bias=bias)
    reason = refusal(solver, problem)
    if taken:
        assert reason is None
        assert np.isfinite(solve(problem, SOLVERS[solver], Limits(max_epochs=3)).w).all()
        return
    assert "\n" not in reason
    other = next(known for known in SOLVERS if f"solver='{known}'" in reason)
    assert refusal(other, problem) is None
    with pytest.raises(RefusedError, match=f"^{solver} .*: use solver='{other}'$"):
        solve(problem, SOLVERS[solver], Limits())


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_auto_chooses_one_that_takes_the_problem(C, loss, bias):
    problem = posed(*overlapping(), C=C, loss=loss, bias=bias)
    name, why = choose(problem)
    assert refusal(name, problem) is None
    assert why
