"""What machine code may be cached."""

import re
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import maxmargin
from maxmargin.problems.dual_terms import Quadratic
from maxmargin.solvers.parts.coordinate_sweep import Examples
from maxmargin.system.compiled import COMPILED, is_covered


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


def test_the_digest_covers_every_file_that_compiles_or_that_compiled_code_imports():
    package = Path(maxmargin.__file__).parent
    for path in package.rglob("*.py"):
        text, folder = path.read_text(), path.relative_to(package).parts[0]
        if re.search(r"^(import numba|from numba|from maxmargin\.system\.compiled import)", text, re.MULTILINE):
            assert folder in COMPILED, path
        if folder in COMPILED and folder != "testing":  # testing has compiled losses, which import nothing but testing
            imported = set(re.findall(r"^\s*(?:from|import) maxmargin\.(\w+)", text, re.MULTILINE))
            assert imported <= {*COMPILED, "errors", "status"}, path


def test_two_processes_that_compile_at_once_do_not_mix_up_their_machine_code(tmp_path, monkeypatch):
    """Both read the index of the cache before either has written to it, and write their code last."""
    from maxmargin.system import compiled as module

    monkeypatch.setattr(module, "cache_folder", lambda: str(tmp_path))
    first, second, third = (module.compiled(weighted_mean) for _ in range(3))
    files, late = [one._cache._cache_file for one in (first, second)], []
    for one in files:
        monkeypatch.setattr(one, "_load_index", dict)
    monkeypatch.setattr(files[0], "_save_data", lambda name, data: late.append((name, data)))
    assert first(np.ones(3)) == 1.0
    assert second(np.full(3, 2.0, dtype=np.float32)) == 2.0
    monkeypatch.undo()
    for name, data in late:
        files[0]._save_data(name, data)
    assert third(np.full(3, 2.0, dtype=np.float32)) == 2.0


def weighted_mean(values):
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total / values.size
