"""Kill −9 at a random instant, then resume, until a run reaches the gap.

Findings are: a run that does not converge in the end, a model whose certificate is above the tolerance, an error on the
way, and files that the last run has left behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuzz.tally import Finding, Tally

OFTEN = Path(__file__).with_name("often.py")
TOL = 1e-3
KILLS = 3  # of one training, at most
PATIENCE_SECONDS = 240.0
SOLVERS = ("dual_coordinate", "cached_loops", "block_minimization", "selective_blocks")
EXPECTED = {"data.svm", "run.checkpoint", "model.safetensors", "tmp"}


def command(folder: Path, solver: str, seed: int) -> list[str]:
    """A training that can be resumed."""
    options = ["--solver", solver, "--C", "1", "--tol", str(TOL), "--seed", str(seed), "--threads", "1"]
    if solver != "dual_coordinate":
        options += ["--memory", "8MB"]
    kept = ["--checkpoint", "run.checkpoint", "--resume", "--model", "model.safetensors", "--quiet"]
    limit = ["--max-seconds", str(PATIENCE_SECONDS / 2)]
    return [sys.executable, str(OFTEN), "train", "data.svm", *options, *kept, *limit]


def started(folder: Path, solver: str, seed: int) -> subprocess.Popen[str]:
    """That training, in a process group and with a folder for temporary files of its own."""
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        command(folder, solver, seed), cwd=folder, env=environment, text=True, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def write_data(path: Path, rng: np.random.Generator) -> None:
    """Two thousand rows, which take a second or two."""
    import maxmargin

    n, d = 2000, 10
    X = np.round(rng.normal(size=(n, d)), 3)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)
    maxmargin.write(path, X, y)


@dataclass
class KillRunner:
    """One training, killed up to three times."""

    name: str = "kills"
    limit_seconds: float = 3 * PATIENCE_SECONDS

    def prepare(self) -> None:
        """How long a training takes that is not killed, by each solver; this compiles too."""
        self.usual = {}
        for solver in SOLVERS:
            folder = self.folder(np.random.default_rng(0))
            for _ in range(2):
                began = time.monotonic()
                started(folder, solver, 0).communicate()
                self.usual[solver] = time.monotonic() - began
                (folder / "run.checkpoint").unlink(missing_ok=True)
            shutil.rmtree(folder)

    def folder(self, rng: np.random.Generator) -> Path:
        """A folder with nothing but data."""
        folder = Path(tempfile.mkdtemp(prefix="maxmargin-kills-"))
        (folder / "tmp").mkdir()
        write_data(folder / "data.svm", rng)
        return folder

    def run(self, seed: int, tally: Tally) -> bool:
        """Kill, resume, and look at what is there in the end."""
        rng = np.random.default_rng([seed, 4])
        solver, folder = SOLVERS[seed % len(SOLVERS)], self.folder(rng)
        problems = []
        for _ in range(int(rng.integers(1, KILLS + 1))):
            run = started(folder, solver, seed)
            try:
                _, error = run.communicate(timeout=float(rng.uniform(0.2, 1.1)) * self.usual[solver])
                problems += complaints(run.returncode, error)
                tally.count("finished before the kill")
                break
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                run.communicate()
                tally.count("kills")
        run = started(folder, solver, seed)
        problems += complaints(*ended(run)) + lacking(folder / "model.safetensors") + left_behind(folder)
        tally.count(f"{solver} resumed")
        for problem in problems:
            tally.report(Finding(f"{solver}: {problem.split(':')[0]}", f"{self.name}:{seed}", problem, 1.0))
        shutil.rmtree(folder)
        return True

    def save(self, seed: int, reason: str) -> str:
        """The seed says which solver; the instant cannot be repeated."""
        return SOLVERS[seed % len(SOLVERS)]


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and what was said, within the time allowed."""
    try:
        _, error = run.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return -signal.SIGKILL, "too slow"
    return run.returncode, error


def complaints(code: int, error: str) -> list[str]:
    """What is wrong with how a run ended."""
    return [] if code == 0 else [f"exit code {code}: {error.strip()[-300:]}"]


def lacking(path: Path) -> list[str]:
    """What is wrong with the model."""
    import maxmargin

    try:
        gap = maxmargin.load(path).certificate.relative_gap
    except maxmargin.MaxmarginError as error:
        return [f"no model: {error}"]
    return [] if gap <= TOL else [f"gap not reached: {gap}"]


def left_behind(folder: Path) -> list[str]:
    """Files that nobody asked for."""
    found = {path.name for path in folder.iterdir()} - EXPECTED
    found |= {f"tmp/{path.name}" for path in (folder / "tmp").iterdir() if not path.name.startswith("pymp-")}
    return [f"left behind: {', '.join(sorted(found))}"] if found else []
