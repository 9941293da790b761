"""scikit-learn's own tests of `sklearn.svm`, with maxmargin's estimators in the place of its own.

    python benchmarks/compatibility/run.py [--modules test_svm,test_sparse] [--write FILE]

The tests come with scikit-learn. Nothing is installed and no file of scikit-learn is changed: `swapped.py` replaces the
classes in memory, in a process of its own. Each failure is listed with the first line of its error.
"""

from __future__ import annotations

import argparse
import os
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
LONGEST = 140  # characters of an error


def results_of(module: str) -> list[tuple[str, str, str]]:
    """Run one module; name, outcome and error of each test."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            sys.executable, "-m", "pytest", "--pyargs", f"sklearn.svm.tests.{module}", "-q", "-p", "swapped",
            "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder, f"--junit-xml={report}", "--tb=line",
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
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
        failed = [[f"`{name}`", error.replace("|", "\\|")] for name, kind, error in results if kind == "failed"]
        if failed:
            text += f"\n## {module}: what fails\n\n{table(['test', 'error'], failed)}"
    publish(text, options.write)


if __name__ == "__main__":
    main()
