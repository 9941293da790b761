"""The campaign itself: exact arithmetic against values by hand, and a few cases of each part."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from problems import EVERY_LOSS

sys.path.append(str(Path(__file__).parent.parent))  # the campaign is no part of the package

from fuzz import exact, mutators
from fuzz.certificates import KernelRunner, LinearRunner, streamed_runner
from fuzz.concurrency import on_threads, trained
from fuzz.dyadic import dyadic, with_sum
from fuzz.files import FileRunner
from fuzz.invariances import InvarianceRunner
from fuzz.kills import complaints, ended, lacking, left_behind, started, write_data
from fuzz.problems import LOSSES, KernelCase, LinearCase, kernel_case, linear_case
from fuzz.tally import Finding, Tally
from fuzz.workers import campaign


def linear(X, y, loss="hinge", C=1.0, bias="none", weights=None, bias_scale=1.0):
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    return LinearCase(0, X, X, y, weights, loss, C, bias, bias_scale, 1e-4, ("auto",), 10.0)


def kernel(formulation, X, y, name="linear", C=1.0, nu=0.5, epsilon=0.0, gamma=1.0, degree=2, coef0=0.0):
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    return KernelCase(0, formulation, X, X, y, None, name, gamma, degree, coef0, C, nu, epsilon, "free", 1e-4)


def test_sums_and_products_of_floats_are_exact():
    a, b = np.array([0.1, 1e300, -5e-324]), np.array([3.0, 1e-300, 0.7])
    expected = sum(Fraction(x) * Fraction(z) for x, z in zip(a.tolist(), b.tolist(), strict=True))
    assert (dyadic(a) @ dyadic(b)).fraction() == expected
    assert (dyadic(a) - dyadic(b)).fractions() == [Fraction(x) - Fraction(z) for x, z in zip(a, b, strict=True)]


def test_values_are_moved_to_an_exact_sum_inside_their_box():
    moved = with_sum(dyadic([0.1, 0.7, 2.0]), dyadic([0.0, 0.0, 0.0]), dyadic([1.0, 1.0, 1.0]), dyadic(1.5))
    assert sum(moved.fractions()) == Fraction(3, 2)
    assert all(0 <= value <= 1 for value in moved.fractions())
    assert with_sum(dyadic([0.0]), dyadic([0.0]), dyadic([1.0]), dyadic(2.0)) is None


def test_linear_objectives_by_hand():
    X, y = [[2.0], [-1.0]], [1.0, -1.0]
    assert exact.linear_primal(linear(X, y), np.array([0.5]), 0.0) == Fraction(1, 8) + Fraction(1, 2)
    assert exact.linear_primal(linear(X, y, "squared_hinge", C=4.0), np.array([0.5]), 0.0) == Fraction(1, 8) + 1
    assert exact.linear_primal(linear(X, y, C=np.inf), np.array([1.0]), 0.0) == Fraction(1, 2)
    assert exact.linear_primal(linear(X, y, C=np.inf), np.array([0.9]), 0.0) == math.inf
    regularised = linear(X, y, bias="regularised", bias_scale=2.0)
    assert exact.linear_primal(regularised, np.array([1.0]), 1.0) == Fraction(1, 2) + Fraction(1, 8) + 1
    assert exact.linear_primal(linear(X, y), np.array([0.5]), 1.0, np.array([2.0])) == exact.linear_primal(
        linear(X, y), np.array([0.5]), 0.0
    )
    logistic = exact.linear_primal(linear(X, y, "logistic", C=3.0), np.array([0.0]), 0.0)
    assert math.isclose(logistic, 6.0 * math.log(2.0), rel_tol=1e-15)


def test_linear_duals_by_hand():
    X, y = [[2.0], [-1.0]], [1.0, -1.0]
    assert exact.linear_dual(linear(X, y), np.array([0.25, 0.0])) == Fraction(1, 4) - Fraction(1, 8)
    free = exact.linear_dual(linear(X, y, bias="free"), np.array([0.25, 0.125]))
    assert free == Fraction(1, 2) - Fraction(9, 32)  # the lighter class has more room, and is raised to 1/4
    squared = exact.linear_dual(linear(X, y, "squared_hinge", C=0.5), np.array([0.5, 0.0]))
    assert squared == Fraction(1, 2) - Fraction(1, 8) - Fraction(1, 2)
    entropy = exact.linear_dual(linear(X, y, "logistic", C=1.0), np.array([0.5, 0.0]))
    assert math.isclose(entropy, math.log(2.0) - 0.5, rel_tol=1e-15)


def test_unregularised_logistic_has_an_exact_lower_bound():
    case = linear([[1.0], [1.0], [1.0]], [1.0, 1.0, -1.0], "logistic", C=np.inf)
    best = 2 * math.log(1.5) + math.log(3.0)  # probabilities 2/3 and 1/3
    assert math.isclose(exact.linear_dual(case, np.array([0.3333, 0.3333, 0.6667])), best, rel_tol=1e-6)


def test_kernel_objectives_by_hand():
    X, y, c = [[1.0], [-1.0]], [1.0, -1.0], np.array([0.25, -0.25])
    assert exact.kernel_primal(kernel("C-SVC", X, y), c, 0.0, 0.0) == Fraction(1, 8) + 1
    assert exact.kernel_dual(kernel("C-SVC", X, y), c) == Fraction(1, 2) - Fraction(1, 8)
    svr = kernel("epsilon-SVR", X, [2.0, 0.0], epsilon=0.5)
    assert exact.kernel_primal(svr, c, 1.0, 0.0) == Fraction(1, 8)
    assert exact.kernel_dual(svr, c) == Fraction(1, 2) - Fraction(1, 4) - Fraction(1, 8)
    tube = kernel("nu-SVR", X, [2.0, 0.0])
    assert exact.kernel_primal(tube, c, 1.0, 0.5) == Fraction(1, 8) + Fraction(1, 2)
    one = kernel("one-class", [[1.0], [3.0]], y)
    assert exact.kernel_primal(one, np.array([0.5, 0.5]), -1.0, 0.0) == 2 - 1
    assert exact.kernel_dual(one, np.array([1.0, 0.0])) == -Fraction(1, 2)
    assert exact.kernel_primal(kernel("nu-SVC", X, y), np.array([1.0, -1.0]), 0.0, 0.0) == -Fraction(1, 2)
    assert exact.kernel_dual(kernel("nu-SVC", X, y), np.array([1.0, -1.0])) == -Fraction(1, 2)


def test_kernels_by_hand():
    X = [[1.0], [3.0]]
    polynomial = exact.kernel_matrix(kernel("C-SVC", X, [1, -1], "polynomial", gamma=0.5, degree=3, coef0=1.0))
    assert polynomial.fractions() == [Fraction(27, 8), Fraction(125, 8), Fraction(125, 8), Fraction(1331, 8)]
    gaussian = exact.kernel_matrix(kernel("C-SVC", X, [1, -1], "gaussian", gamma=0.25)).fractions()
    assert gaussian[0] == 1
    assert math.isclose(gaussian[1], math.exp(-1.0), rel_tol=1e-15)


@pytest.mark.parametrize("seed", range(40))
def test_weak_duality_holds_exactly(seed):
    rng = np.random.default_rng(seed)
    case = linear_case(seed)
    n, d = case.X.shape
    w, alpha = rng.normal(size=d) / (1.0 + np.max(np.abs(case.X))), np.abs(rng.normal(size=n))
    assert exact.linear_dual(case, alpha) <= exact.linear_primal(case, w, 0.5 if case.bias != "none" else 0.0)
    case = kernel_case(seed)
    c = rng.normal(size=len(case.y)) * (case.y if case.formulation == "C-SVC" else 1.0)
    assert exact.kernel_dual(case, c) <= exact.kernel_primal(case, c, 0.5 if case.bias != "none" else 0.0, 0.1)


def findings(runner, seeds):
    tally = Tally()
    for seed in seeds:
        runner.run(seed, tally)
    return [str(finding) for kind in tally.findings.values() for finding in kind]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "runner", [LinearRunner(), KernelRunner(), streamed_runner()], ids=["linear", "kernel", "streamed"]
)
def test_certificates_are_true_in_exact_arithmetic(runner):
    assert findings(runner, range(25)) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("runner", "seed"),
    [
        (LinearRunner(), 3015305),  # losses that underflow
        (LinearRunner(), 3007575),  # an infimum of 0 and a dual of 3e-15
        (LinearRunner(), 3022162),  # a value of 3e15 beside others of 1
        (KernelRunner(), 3017401),  # a kernel of 1e-300
    ],
)
def test_what_the_campaign_has_found_stays_mended(runner, seed):
    assert findings(runner, [seed]) == []


@pytest.mark.filterwarnings("ignore")
def test_other_forms_of_a_problem_have_overlapping_intervals():
    assert findings(InvarianceRunner(), range(12)) == []


@pytest.mark.filterwarnings("ignore")
def test_mutated_files_are_read_or_refused(tmp_path):
    runner = FileRunner(tmp_path)
    try:
        tally = campaign(runner, 400, 120.0, workers=1)
    finally:
        runner.close()
    assert tally.counts["files"] > 0
    assert [str(finding) for kind in tally.findings.values() for finding in kind] == []


def test_a_mutant_depends_on_its_seed_alone(tmp_path):
    runner = FileRunner(tmp_path)
    runner.close()
    assert [runner.mutant(seed)[:3] for seed in range(50)] == [runner.mutant(seed)[:3] for seed in range(50)]


def test_offsets_of_lists_are_found_in_the_bytes():
    words = np.concatenate([[7, 9], np.arange(0, 61, 3), [5]]).astype(np.int32)
    assert mutators.rising_runs(words) == [(2, 23)]


class Crashing:
    """A runner whose case 3 ends the process."""

    name, limit_seconds = "crashing", 60.0

    def prepare(self):
        pass

    def run(self, seed, tally):
        if seed == 3:
            import os

            os.abort()
        tally.count("cases")
        return True

    def save(self, seed, reason):
        return reason


def test_a_crash_is_laid_to_its_seed_and_the_rest_goes_on():
    tally = campaign(Crashing(), 8, 120.0, workers=1)
    assert [(finding.kind, finding.seed) for finding in tally.findings["signal SIGABRT"]] == [
        ("signal SIGABRT", "crashing:3")
    ]
    assert tally.counts["cases"] >= 4  # those that were not yet sent are lost with the process


def test_the_worst_findings_are_kept():
    tally = Tally()
    for k in range(100):
        tally.report(Finding("kind", f"part:{k}", "", float(k)))
    assert tally.found["kind"] == 100
    assert tally.findings["kind"][0].seed == "part:99"


def test_a_run_with_many_checkpoints_ends_well_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "tmp").mkdir()
    write_data(tmp_path / "data.svm", np.random.default_rng(0))
    assert complaints(*ended(started(tmp_path, "cached_loops", 0))) == []
    assert lacking(tmp_path / "model.safetensors") == []
    assert left_behind(tmp_path) == []


def test_eight_threads_give_the_bits_of_one():
    assert on_threads(1) == [trained(1, number) for number in range(8)]


def test_every_loss_is_in_the_campaign():
    assert set(LOSSES) == set(EVERY_LOSS), "enter a new loss in fuzz/problems.py, its exact forms in fuzz/exact.py"
