"""Which solver takes which problem, for every solver, loss and bias, with C finite and infinite."""

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, overlapping, posed

from maxmargin.choose import choose
from maxmargin.data.take import take
from maxmargin.errors import RefusedError
from maxmargin.kernels.functions import Gaussian
from maxmargin.loop.solve import solve
from maxmargin.loop.stopping import Limits
from maxmargin.problems.formulations import c_svc, epsilon_svr, nu_svc, nu_svr, one_class
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers import KERNEL_SOLVERS, SOLVERS, refusal
from maxmargin.solvers.takes import EVERY_FORMULATION

# n none, r regularised, f free: the biases that are taken. Without regularisation a regularised bias is a free one.
TAKEN = """
                   C = 1             C = inf
solver             hinge   smooth    hard_margin   unregularised
dual_coordinate    nrf     nrf       nrf           -
dual_pairs         f       f         f             -
second_order       nrf     nrf       -             -
interior_point     nrf     -         -             -
newton             -       nrf       -             nrf
lbfgs              -       nrf       -             nrf
gradient_descent   nrf     nrf       -             -
sgd                nrf     nrf       -             -
adaptive           nrf     nrf       -             -
pegasos            nr      -         -             -
implicit           nr      -         -             -
smo_simple         f       -         -             -
perceptron         nrf     -         nrf           -
small_newton       -       nrf       -             -
small_smo          nrf     -         -             -
"""
SORTS, *LINES = (line.split() for line in TAKEN.splitlines()[2:])
ROWS = {solver: dict(zip(SORTS[1:], taken, strict=True)) for solver, *taken in LINES}


def sort_of(loss, C):
    """The column of a loss."""
    return ("smooth" if LOSSES[loss].smooth else loss) if np.inf > C else LOSSES[loss].limit


EVERY_PAIRING = [
    (solver, C, loss, bias, bias[0] in row[sort_of(loss, C)])
    for solver, row in ROWS.items()
    for C in (1.0, np.inf)
    for loss in EVERY_LOSS
    for bias in EVERY_BIAS
]


def test_the_table_is_of_all_there_is():
    assert set(ROWS) == set(SOLVERS)


@pytest.mark.parametrize(("solver", "C", "loss", "bias", "taken"), EVERY_PAIRING)
def test_a_pairing_is_taken_or_refused_with_a_reason_and_a_way_out(solver, C, loss, bias, taken):
    problem = posed(*overlapping(n=30), C=C, loss=loss, bias=bias)
    reason = refusal(SOLVERS[solver], problem)
    if taken:
        assert reason is None
        assert np.isfinite(solve(problem, SOLVERS[solver], Limits(max_epochs=3)).w).all()
        return
    assert "\n" not in reason
    other = next(known for known in SOLVERS if f"solver='{known}'" in reason)
    assert refusal(SOLVERS[other], problem) is None
    with pytest.raises(RefusedError, match=f"^{solver} .*: use solver='{other}'$"):
        solve(problem, SOLVERS[solver], Limits())


@pytest.mark.parametrize("name", KERNEL_SOLVERS)
def test_a_kernel_solver_takes_the_formulations_it_declares(name):
    y, C = np.tile([1.0, -1.0], 15), np.ones(30)
    formulations = {
        "C-SVC": c_svc(y, C, KERNEL_SOLVERS[name].takes.biases[0]),
        "epsilon-SVR": epsilon_svr(y, C, 0.1),
        "one-class": one_class(C, 0.5),
        "nu-SVC": nu_svc(y, C, 0.5),
        "nu-SVR": nu_svr(y, C, 0.5),
    }
    assert set(formulations) == set(EVERY_FORMULATION)
    for kind, formulation in formulations.items():
        reason = refusal(KERNEL_SOLVERS[name], KernelProblem(take(overlapping(n=30)[0]), Gaussian(0.5), formulation))
        if kind in KERNEL_SOLVERS[name].takes.formulations:
            assert reason is None
        else:
            assert reason == f"{name} is made for C-SVC, not for {kind}: use solver='smo'"


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_auto_chooses_one_that_takes_the_problem(C, loss, bias):
    problem = posed(*overlapping(), C=C, loss=loss, bias=bias)
    name, why = choose(problem)
    assert refusal(SOLVERS[name], problem) is None
    assert why
