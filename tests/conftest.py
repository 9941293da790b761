"""What every test shares: weak duality is checked at every certificate, and registrations are undone."""

import os

import numpy as np
import pytest
from hypothesis import settings

import maxmargin.data.open_source  # noqa: F401  it registers the formats, which no test may forget
from maxmargin.data.formats import FORMATS
from maxmargin.kernels.functions import KERNELS, LIBSVM_NAMES, NAMES
from maxmargin.problems import certificate, kernel_certificate, stream
from maxmargin.problems.dual_terms import SHAPES
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers import KERNEL_SOLVERS, SOLVERS
from maxmargin.testing import check_certificate

TABLES = (FORMATS, KERNELS, LIBSVM_NAMES, NAMES, SHAPES, LOSSES, SOLVERS, KERNEL_SOLVERS)

settings.register_profile("home", deadline=None)  # no test is a stopwatch
settings.register_profile("ci", deadline=None, derandomize=True)  # what is searched at home must not fail a stranger
settings.load_profile("ci" if os.environ.get("CI") else "home")

CERTIFIED_NOW = stream.Stream.certified_now


@pytest.fixture(autouse=True)
def weak_duality_holds_at_every_certificate(monkeypatch):
    """Of linear problems, problems with a kernel and streamed ones."""

    def guard(module, name, certify):
        def checked(problem, point, **options):
            found = certify(problem, point, **options)
            check_certificate(problem, found)
            return found

        monkeypatch.setattr(module, name, checked)

    def checked_stream(self):
        found = CERTIFIED_NOW(self)
        assert not found.certificate.gap < 0.0
        assert np.all(found.alpha >= 0)
        assert np.all(found.alpha <= self.described.loss.upper(np.full(1, self.described.C))[0])
        return found

    guard(certificate, "certify", certificate.certify)
    guard(kernel_certificate, "certify_kernel", kernel_certificate.certify_kernel)
    monkeypatch.setattr(stream.Stream, "certified_now", checked_stream)


@pytest.fixture(autouse=True)
def what_a_test_registers_is_forgotten():
    before = [dict(table) for table in TABLES]
    yield
    for table, kept in zip(TABLES, before, strict=True):
        if table != kept:
            table.clear()
            table.update(kept)
