"""What every test shares: weak duality is checked at every certificate, and small problems are at hand."""

import os

import numpy as np
import pytest
from hypothesis import settings

from maxmargin.problems import certificate, kernel_certificate, stream

settings.register_profile("home", deadline=None)  # no test is a stopwatch
settings.register_profile("ci", deadline=None, derandomize=True)  # what is searched at home must not fail a stranger
settings.load_profile("ci" if os.environ.get("CI") else "home")

CERTIFY, CERTIFY_KERNEL = certificate.certify, kernel_certificate.certify_kernel
CERTIFIED_NOW = stream.Stream.certified_now


@pytest.fixture(autouse=True)
def weak_duality_holds_at_every_certificate(monkeypatch):
    """Of linear problems, problems with a kernel and streamed ones."""

    def checked(problem, point):
        found = CERTIFY(problem, point)
        assert not found.certificate.gap < 0.0  # not a number where a run diverges
        assert np.all(found.alpha >= 0)
        assert np.all(found.alpha <= problem.loss.upper(problem.C))
        if problem.bias == "free" and problem.ridge:  # without a ridge the bound pays for what is left
            assert abs(found.alpha @ problem.y) <= 1e-9 * max(found.alpha.sum(), 1e-300)
        return found

    def checked_kernel(problem, point):
        found, form = CERTIFY_KERNEL(problem, point), problem.formulation
        assert not found.certificate.gap < 0.0
        assert np.all((found.alpha >= form.lo) & (found.alpha <= form.hi))
        for group, total in enumerate(form.sums):
            own = found.alpha[form.group == group]
            assert abs(np.sum(own) - total) <= 1e-9 * max(np.sum(np.abs(own)), abs(total), 1e-300)
        return found

    def checked_stream(self):
        found = CERTIFIED_NOW(self)
        assert not found.certificate.gap < 0.0
        assert np.all(found.alpha >= 0)
        assert np.all(found.alpha <= self.described.loss.upper(np.full(1, self.described.C))[0])
        return found

    monkeypatch.setattr(certificate, "certify", checked)
    monkeypatch.setattr(kernel_certificate, "certify_kernel", checked_kernel)
    monkeypatch.setattr(stream.Stream, "certified_now", checked_stream)
