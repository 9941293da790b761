"""What every test shares: weak duality holds at every certificate, and what a test registers is forgotten after it."""

import os

import pytest
from hypothesis import settings

from maxmargin.data.formats import FORMATS
from maxmargin.kernels.functions import KERNELS, LIBSVM_NAMES, NAMES
from maxmargin.loop import solve
from maxmargin.problems import certificate, kernel_certificate
from maxmargin.problems.dual_terms import SHAPES
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers import SOLVERS, WITH_KERNELS
from maxmargin.solvers.pairings import PAIRINGS
from maxmargin.testing import check_certificate

TABLES = (FORMATS, KERNELS, LIBSVM_NAMES, NAMES, SHAPES, LOSSES, SOLVERS, WITH_KERNELS, PAIRINGS)

settings.register_profile("home", deadline=None)  # no test is a stopwatch
settings.register_profile("ci", deadline=None, derandomize=True)  # what is searched at home must not fail a stranger
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(autouse=True)
def weak_duality_holds_at_every_certificate(monkeypatch):
    def guard(name, certify):
        def checked(problem, point):
            found = certify(problem, point)
            check_certificate(problem, found)
            return found

        monkeypatch.setattr(solve, name, checked)

    guard("certify", certificate.certify)
    guard("certify_kernel", kernel_certificate.certify_kernel)


@pytest.fixture(autouse=True)
def what_a_test_registers_is_forgotten():
    before = [dict(table) for table in TABLES]
    yield
    for table, kept in zip(TABLES, before, strict=True):
        if table != kept:
            table.clear()
            table.update(kept)
