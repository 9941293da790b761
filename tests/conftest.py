"""What every test shares: weak duality is checked at every certificate, and small problems are at hand."""

import os

import numpy as np
import pytest
from hypothesis import settings

from maxmargin.loop import solve
from maxmargin.problems import certificate

settings.register_profile("home", deadline=None)  # no test is a stopwatch
settings.register_profile("ci", deadline=None, derandomize=True)  # what is searched at home must not fail a stranger
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(autouse=True)
def weak_duality_holds_at_every_certificate(monkeypatch):
    def checked(problem, point):
        found = certificate.certify(problem, point)
        assert not found.certificate.gap < 0.0  # not a number where a run diverges
        assert np.all(found.alpha >= 0)
        assert np.all(found.alpha <= problem.loss.upper(problem.C))
        if problem.bias == "free" and problem.ridge:  # without a ridge the bound pays for what is left
            assert abs(found.alpha @ problem.y) <= 1e-9 * max(found.alpha.sum(), 1e-300)
        return found

    monkeypatch.setattr(solve, "certify", checked)
