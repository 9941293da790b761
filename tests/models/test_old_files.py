"""Model files of version 0.1 are loaded as they were written."""

import json
from pathlib import Path

import numpy as np
import pytest

import maxmargin

FOLDER = Path(__file__).parent / "version_0_1"
CASES = json.loads((FOLDER / "expected.json").read_text())


@pytest.mark.parametrize("name", CASES["expected"])
def test_a_model_of_version_0_1_decides_as_it_did(name):
    model = maxmargin.load(FOLDER / f"{name}.safetensors")
    np.testing.assert_allclose(model.decide(np.array(CASES["rows"])), CASES["expected"][name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "formulation"), [("regression", "epsilon-SVR"), ("novelty", "one-class")])
def test_what_version_0_1_called_a_machine_is_a_formulation(name, formulation):
    model = maxmargin.load(FOLDER / f"{name}.safetensors")
    assert model.formulation == formulation
    assert "machine" not in model.training


def test_a_novelty_model_of_version_0_1_still_says_inside_or_outside():
    model = maxmargin.load(FOLDER / "novelty.safetensors")
    assert set(model.predict(np.array(CASES["rows"])).tolist()) <= {-1, 1}
