"""The package as a whole: what importing costs, what is public, what the compiled-code cache may never do."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parent.parent
SOURCE = Path(maxmargin.__file__).parent


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_public_name_can_be_had():
    for name in maxmargin.__all__:
        assert getattr(maxmargin, name) is not None
    assert set(maxmargin.__all__) == set(dir(maxmargin))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = maxmargin.nonsense


def test_the_names_that_type_checkers_see_are_the_names_there_are():
    text = (SOURCE / "__init__.py").read_text()
    seen = set(re.findall(r"(\w+) as \1", text))
    assert seen == set(maxmargin.__all__) - {"__version__"}


def test_importing_brings_in_nothing_heavy():
    heavy = ["numpy", "numba", "scipy", "sklearn", "pyarrow", "rich", "typer", "safetensors"]
    assert python(f"import maxmargin, sys; print([m for m in {heavy} if m in sys.modules])") == "[]"


def test_help_brings_in_nothing_heavy():
    code = "import sys; from maxmargin.cli import run; run(['--help']); print({'numba', 'numpy'} & set(sys.modules))"
    assert python(code).splitlines()[-1] == "set()"


def test_training_does_not_wait_for_what_it_does_not_need():
    heavy = "{'sklearn', 'scipy.sparse', 'scipy.special', 'pyarrow'}"
    code = f"import maxmargin, sys; maxmargin.train([[0.], [1.]], [0, 1]); print({heavy} & set(sys.modules))"
    assert python(code) == "set()"


ASK = "import maxmargin.data.passes as p, numpy as np; from maxmargin.data.take import take; p.FEW_VALUES = 0; " \
      "print(float(p.scores(take(np.ones((1, 2))), np.ones(2))[0]))"  # fmt: skip


def test_the_cache_never_serves_stale_code(tmp_path):
    """An edit in an imported module (data/rows.py) must reach a kernel that lives in another (data/passes.py)."""
    copy = tmp_path / "library" / "maxmargin"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(copy.parent), "MAXMARGIN_CACHE_DIR": str(tmp_path / "cache")}
    assert python("import maxmargin; print(maxmargin.__file__)", **environment).startswith(str(copy))
    assert python(ASK, **environment) == "2.0"
    assert python(ASK, **environment) == "2.0"
    memory = copy / "data" / "rows.py"
    kept, edited = memory.stat(), memory.read_text().replace("total = 0.0", "total = 40.0")
    memory.write_text(edited)
    os.utime(memory, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    shutil.rmtree(copy / "data" / "__pycache__", ignore_errors=True)
    assert python(ASK, **environment) == "42.0"


def test_the_second_process_takes_its_code_from_the_cache(tmp_path):
    cache = tmp_path / "cache"
    python(ASK, MAXMARGIN_CACHE_DIR=str(cache))
    files = sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*.nb?"))
    assert files
    python(ASK, MAXMARGIN_CACHE_DIR=str(cache))
    assert sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*.nb?")) == files


def test_a_damaged_cache_is_no_error(tmp_path):
    cache = tmp_path / "cache"
    python(ASK, MAXMARGIN_CACHE_DIR=str(cache))
    for file in cache.rglob("*.nb?"):
        file.write_bytes(file.read_bytes()[:20])
    assert python(ASK, MAXMARGIN_CACHE_DIR=str(cache)) == "2.0"


def test_without_a_place_for_the_cache_everything_still_works(tmp_path):
    (tmp_path / "file").write_text("")
    assert python(ASK, MAXMARGIN_CACHE_DIR=str(tmp_path / "file" / "folder")) == "2.0"


def test_machine_code_that_has_not_run_for_long_is_forgotten_and_nothing_else_is(tmp_path):
    old, recent, foreign = tmp_path / ("a" * 20), tmp_path / ("b" * 20), tmp_path / "photos"
    for folder in (old, recent, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    assert python(ASK, MAXMARGIN_CACHE_DIR=str(tmp_path)) == "2.0"
    assert (old.exists(), recent.exists(), foreign.exists()) == (False, True, True)


def test_no_file_names_a_registry_or_a_path_of_one_machine():
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    words = ["pypi" + ".org", "python" + "hosted", "/ro" + "ot/", "/ho" + "me/", "/wo" + "rk/", "index" + "-url"]
    for file in files:
        content = (ROOT / file).read_bytes()
        for word in words:
            assert word.encode() not in content, f"{file} names {word}"


def test_arrow_takes_the_memory_of_the_system_unless_told_otherwise():
    code = "import maxmargin.data, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    for given, expected in ((None, "system"), ("mimalloc", "mimalloc")):
        environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
        if given:
            environment["ARROW_DEFAULT_MEMORY_POOL"] = given
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected
