"""Full disks: a checkpoint that cannot be written costs no model, a model that cannot be is an error of one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuzz.kills import OFTEN, lacking, write_data
from fuzz.tally import Finding, Tally

SMALL = "64k"  # size of the disk: less than a checkpoint of 3,000 rows
CHECKS = 4


def train(folder: Path, *options: str) -> tuple[int, str]:
    """Train in that folder: the exit code and what was said."""
    run = subprocess.run(
        [sys.executable, str(OFTEN), "train", "data.svm", "--tol", "1e-3", "--quiet", "--threads", "1", *options],
        cwd=folder, text=True, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    return run.returncode, run.stderr


def checkpoint_on_full_device(folder: Path) -> str:
    """The model is saved although no checkpoint can be."""
    code, said = train(folder, "--checkpoint", "/dev/full", "--model", "model.safetensors")
    return wrong(code == 0 and not lacking(folder / "model.safetensors"), code, said)


def model_on_full_device(folder: Path) -> str:
    """One line says so."""
    code, said = train(folder, "--model", "/dev/full")
    return wrong(code == 1 and "Traceback" not in said and len(said.strip().splitlines()) == 1, code, said)


def checkpoint_on_small_disk(folder: Path) -> str:
    """The model is saved elsewhere, and nothing is left on the full disk but the checkpoint that was there."""
    with small_disk(folder / "disk"):
        code, said = train(folder, "--checkpoint", "disk/run.checkpoint", "--model", "model.safetensors")
        left = [path.name for path in (folder / "disk").iterdir() if path.name != "run.checkpoint"]
    return wrong(code == 0 and not left and not lacking(folder / "model.safetensors"), code, f"{said} left {left}")


def model_on_small_disk(folder: Path) -> str:
    """The model that was there stays."""
    with small_disk(folder / "disk"):
        old = folder / "disk" / "model.safetensors"
        train(folder, "--model", str(old))
        before = old.read_bytes()
        (folder / "disk" / "filler").write_bytes(bytes(max(0, free_bytes(folder / "disk") - 4096)))
        code, said = train(folder, "--model", str(old), "--C", "50")
        return wrong(code == 1 and old.read_bytes() == before and "Traceback" not in said, code, said)


def free_bytes(folder: Path) -> int:
    """What is left on a disk."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def wrong(fine: bool, code: int, said: str) -> str:
    """What to report, if anything."""
    return "" if fine else f"exit code {code}: {said.strip()[-300:]}"


class NoMountError(Exception):
    """A small disk cannot be mounted here."""


@contextmanager
def small_disk(place: Path):
    """A disk in memory with next to no room."""
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(place)], capture_output=True, check=False
    )  # fmt: skip
    if mounted.returncode:
        raise NoMountError(mounted.stderr.decode().strip())
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=False)


@dataclass
class DiskRunner:
    """Each check is a case."""

    name: str = "disks"
    limit_seconds: float = 600.0

    def prepare(self) -> None:
        """Nothing."""

    def run(self, seed: int, tally: Tally) -> bool:
        """One check."""
        checks = (checkpoint_on_full_device, model_on_full_device, checkpoint_on_small_disk, model_on_small_disk)
        check = checks[seed % CHECKS]
        folder = Path(tempfile.mkdtemp(prefix="maxmargin-disks-"))
        write_data(folder / "data.svm", np.random.default_rng(seed))
        try:
            problem = check(folder)
            tally.count("full disks")
            if problem:
                tally.report(Finding(check.__name__.replace("_", " "), f"{self.name}:{seed}", problem, 1.0))
        except NoMountError as error:
            tally.count(f"skipped, as no disk can be mounted ({error})")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return True

    def save(self, seed: int, reason: str) -> str:
        """The seed says it all."""
        return ""
