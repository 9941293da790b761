"""scikit-learn's own tests of `sklearn.svm`, with maxmargin's estimators in the place of its own.

    python benchmarks/compatibility/run.py [--modules test_svm,test_sparse] [--write FILE]

The tests come with scikit-learn. Nothing is installed and no file of scikit-learn is changed: `swapped.py` replaces the
classes in memory, in a process of its own. Each failure is listed with its reason, from `REASONS`, and the first line
of its error.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)

from report import heading, publish, table  # noqa: E402

MODULES = "test_svm,test_sparse,test_bounds"
LIMIT_SECONDS = 1800
KINDS = ("passed", "failed", "skipped")
LONGEST = 100  # characters of an error
UNEXPLAINED = "**not explained yet**"

# Why a test fails: a pattern for its name, and the reason. The first pattern that matches counts.
REASONS = (
    (r"test_libsvm_parameters|test_precomputed", "compares every bit of dual_coef_; ours differ in the 15th digit"),
    (r"test_sparse_oneclasssvm\[.*rbf-X_train3", "compares dense and sparse fits to 1e-7; both are within tol"),
    (r"test_linearsvc_parameters\[.*l1-squared_hinge", "needs penalty='l1', which is not there yet"),
    (r"test_linearsvc\[42\]", "needs penalty='l1', which is not there yet; the parts before it pass"),
    (r"test_linearsvm_liblinear_sample_weight.*params0", "needs penalty='l1', which is not there yet"),
    (r"test_l1_min_c", "needs penalty='l1', which is not there yet"),
    (
        r"test_(dense|sparse)_liblinear_intercept_handling",
        "needs penalty='l1', and intercept_scaling=1 by default: ours is None on purpose, not regularised",
    ),
    (r"crammer_singer", "needs multi_class='crammer_singer', which is not there yet"),
    (r"test_svr_errors", "fit refuses a kernel function that returns the wrong shape; scikit-learn only in predict"),
    (r"test_tweak_params", "tests internals: a private copy of dual_coef_ is changed"),
    (r"test_svc_raises_error_internal_representation", "tests internals: a private copy of n_support_ is changed"),
    (r"test_bad_input", "ours also predicts on sparse rows after a fit on dense ones"),
    (
        r"test_libsvm_convergence_warnings|test_timeout",
        "max_iter counts epochs: the fit converges within the limit, so there is nothing to warn of",
    ),
    (r"test_linear_svm_convergence_warnings", "tests the name Liblinear in the text of the warning; ours warns too"),
    (
        r"test_svc\[.*-poly-X_train2|test_sparse_oneclasssvm\[.*-linear-X_train2",
        "compares dense and sparse fits to 1e-7: both are within tol=1e-4 of the optimum, by different steps",
    ),
)


def results_of(module: str) -> list[tuple[str, str, str]]:
    """Run one module; name, outcome and error of each test."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            sys.executable, "-m", "pytest", "--pyargs", f"sklearn.svm.tests.{module}", "-q", "-p", "swapped",
            "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder, f"--junit-xml={report}", "--tb=line",
        ]  # fmt: skip
        given = [str(Path(path).resolve()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *given])}
        subprocess.run(command, env=environment, cwd=folder, check=False, timeout=LIMIT_SECONDS, capture_output=True)
        return [outcome(case) for case in ET.parse(report).iter("testcase")]


def outcome(case: ET.Element) -> tuple[str, str, str]:
    """Name, outcome and error of a test."""
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            lines = (found.get("message") or "").splitlines() or [""]
            return case.get("name", ""), "skipped" if kind == "skipped" else "failed", lines[0][:LONGEST]
    return case.get("name", ""), "passed", ""


def reason(name: str) -> str:
    """Return why a test fails."""
    return next((text for pattern, text in REASONS if re.search(pattern, name)), UNEXPLAINED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", default=MODULES)
    parser.add_argument("--write")
    options = parser.parse_args()
    found = {module: results_of(module) for module in options.modules.split(",")}
    command = "python benchmarks/compatibility/run.py"
    text = heading("scikit-learn's tests of svm with maxmargin's estimators", command, "scikit-learn") + "\n"
    counts = {module: Counter(kind for _, kind, _ in results) for module, results in found.items()}
    lines = [
        [module, *(str(count[kind]) for kind in ("passed", "failed", "skipped"))] for module, count in counts.items()
    ]
    text += table(["module", "passed", "failed", "skipped"], lines)
    for module, results in found.items():
        failed = [
            [f"`{name}`", reason(name), error.replace("|", "\\|")] for name, kind, error in results if kind == "failed"
        ]
        if failed:
            text += f"\n## {module}: what fails\n\n{table(['test', 'reason', 'first line of the error'], failed)}"
    publish(text, options.write)


if __name__ == "__main__":
    main()
