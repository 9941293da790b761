"""What every test shares: weak duality is checked at every certificate, and small problems are at hand."""

import os

import numpy as np
import pytest
from hypothesis import settings

from maxmargin import certificate, solve

settings.register_profile("ci", derandomize=True)  # what is searched at home must not fail a stranger's change
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(autouse=True)
def weak_duality_holds_at_every_certificate(monkeypatch):
    def checked(problem, point):
        found = certificate.certify(problem, point)
        assert found.certificate.gap >= -1e-9 * abs(found.certificate.primal)
        assert np.all(found.alpha >= 0)
        assert np.all(found.alpha <= problem.loss.upper(problem.C))
        if problem.bias == "free":
            whole = found.alpha.sum() if problem.ridge else problem.C.sum()  # the bound pays for the rest
            assert abs(found.alpha @ problem.y) <= 1e-9 * max(whole, 1e-300)
        return found

    monkeypatch.setattr(solve, "certify", checked)
