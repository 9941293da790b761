"""Mutated files: whatever is in a file, it is read, or refused in one line.

Findings are: any exception but MaxmarginError, an error of several lines, a signal, more than 10 seconds, and more
memory than the budget and 200 MB. Each mutant that is one is saved with what was seen.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.corpus import IN_MEMORY, KMERS, STREAMED, WITH_KERNEL, make_corpus, rows
from fuzz.mutators import mutate
from fuzz.tally import Finding, Tally, place_of

BUDGET = 16 << 20  # bytes for which training asks
ALLOWANCE = 200 << 20  # bytes beyond the budget
ADDRESSES = 4 << 30  # bytes of address space beyond what a worker has at its start: more is refused by the system
SOLVERS = ("auto", "cached_loops", "block_minimization", "selective_blocks")
TRAINED = 0.02  # of the data files; the rest are only read
SAVED = 300  # mutants that are saved at most
FORMATS = {  # how often each is taken
    "text": 0.2, "csv": 0.1, "parquet": 0.1, "arrow": 0.15, "blocks": 0.1, "npy": 0.08, "dna": 0.05,
    "libsvm_model": 0.07, "liblinear_model": 0.05, "model": 0.12, "checkpoint": 0.03,
}  # fmt: skip


def read_data(path: Path, rng: np.random.Generator) -> None:
    """A file of rows: read as a source, as a whole, or trained on."""
    import maxmargin
    from maxmargin.data.open_source import open_source

    draw = rng.random()
    if draw < TRAINED:
        train_on(path, str(rng.choice(SOLVERS)))
        return
    if draw < 0.2 and path.name.startswith(("a.svm", "b.svm")):
        maxmargin.read(path, threads=1)
        return
    capacity, lenient = int(rng.choice([1 << 8, 1 << 15])), bool(rng.random() < 0.1)
    source = open_source(
        path, labels_of(path), capacity=capacity, lenient=lenient, kmers=3 if path.suffix == ".dna" else None
    )
    for _ in source.blocks():
        pass
    places = getattr(source, "places", None)
    if places and source.any_order:
        for place in places[:100]:
            source.block_at(place)


def train_on(path: Path, solver: str) -> None:
    """A short training."""
    import maxmargin

    maxmargin.train(
        path, labels_of(path), solver=solver, memory=BUDGET, max_seconds=0.5, max_epochs=5, threads=1,
        expand=KMERS if path.suffix == ".dna" else None,
    )  # fmt: skip


def labels_of(path: Path) -> Path | None:
    """The file of labels that an array needs."""
    return path.parent / "y.npy" if path.suffix == ".npy" else None


def read_arrays(path: Path, rng: np.random.Generator) -> None:
    """Rows and labels as two .npy files, of which either may be damaged."""
    for name in ("a.npy", "y.npy"):
        if path.name != name and not (path.name == "b.npy" and name == "a.npy"):
            shutil.copyfile(corpus_of(path) / name, path.parent / name)
    read_data(path.parent / "a.npy" if path.name == "y.npy" else path, rng)


def corpus_of(path: Path) -> Path:
    """The whole files beside which a mutant is read."""
    return path.parent / "whole"


def read_model(path: Path, rng: np.random.Generator) -> None:
    """A model: loaded, and asked to decide."""
    import maxmargin

    model: Any = maxmargin.load(path)
    if model.d <= 1000 and rng.random() < 0.5:
        X = np.random.default_rng(0).normal(size=(3, model.d))
        model.decide(X, threads=1)
        model.predict(X, threads=1)


def read_checkpoint(path: Path, rng: np.random.Generator) -> None:
    """A run: resumed."""
    import maxmargin

    settings: dict[str, Any] = {"checkpoint": path, "resume": True, "max_seconds": 0.2, "max_epochs": 5}
    if path.name.startswith("streamed"):
        maxmargin.train(corpus_of(path) / ".data.svm", **STREAMED, **settings)
    else:
        maxmargin.train(*rows(), **(WITH_KERNEL if path.name.startswith("kernel") else IN_MEMORY), **settings)


READERS: dict[str, Callable[[Path, np.random.Generator], None]] = {
    "npy": read_arrays,
    "model": read_model,
    "libsvm_model": read_model,
    "liblinear_model": read_model,
    "checkpoint": read_checkpoint,
}


@dataclass
class FileRunner:
    """Mutants of the files in `folder`/corpus; what is found is saved in `folder`."""

    folder: Path
    formats: tuple[str, ...] = tuple(FORMATS)
    name: str = "files"
    limit_seconds: float = 10.0

    def __post_init__(self) -> None:
        if not (self.folder / "corpus").exists():
            make_corpus(self.folder / "corpus")
            (self.folder / "findings").mkdir()
        self.base = tempfile.mkdtemp(prefix="maxmargin-fuzz-", dir=fast_folder())

    def close(self) -> None:
        """Remove what the workers have written."""
        shutil.rmtree(self.base, ignore_errors=True)

    def prepare(self) -> None:
        """Read every whole file in every way, which compiles; then limit the memory."""
        self.scratch = Path(tempfile.mkdtemp(dir=self.base))
        for form in self.formats:
            (self.place(form) / "whole").symlink_to(self.folder / "corpus" / form)
            for path in self.whole[form]:
                self.try_whole(form, path)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + ADDRESSES, size + ADDRESSES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self.baseline = peak_memory()

    def try_whole(self, form: str, path: Path) -> None:
        """A whole file must be read, and trained on by every solver that reads files."""
        target = self.place(form) / path.name
        for seed in range(4):
            shutil.copyfile(path, target)
            READERS.get(form, read_data)(target, np.random.default_rng(seed))
        if form not in READERS:
            for solver in SOLVERS:
                train_on(target, solver)

    @cached_property
    def whole(self) -> dict[str, list[Path]]:
        """The whole files of each format."""
        return {
            form: sorted(path for path in (self.folder / "corpus" / form).iterdir() if path.name[0] != ".")
            for form in self.formats
        }

    def place(self, form: str) -> Path:
        """Where the mutants of a format are written."""
        place = self.scratch / form
        place.mkdir(exist_ok=True)
        return place

    def mutant(self, seed: int) -> tuple[str, str, bytes, np.random.Generator]:
        """The format, the name and the bytes of a mutant."""
        rng = np.random.default_rng([seed, 3])
        shares = np.array([FORMATS[form] for form in self.formats])
        form = str(rng.choice(self.formats, p=shares / shares.sum()))
        paths = self.whole[form]
        path, other = (paths[rng.integers(len(paths))] for _ in range(2))
        return form, path.name, mutate(rng, form, path, other.read_bytes()), rng

    def run(self, seed: int, tally: Tally) -> bool:
        """One mutant."""
        from maxmargin import MaxmarginError

        form, name, data, rng = self.mutant(seed)
        target = self.place(form) / name
        target.write_bytes(data)
        tally.count("files")
        tally.count(f"{form} files")
        try:
            READERS.get(form, read_data)(target, rng)
            tally.count("read")
        except MaxmarginError as error:
            tally.count("refused")
            if "\n" in str(error):
                tally.report(self.finding(f"{form}: error of several lines", seed, repr(str(error))))
        except Exception as error:
            seen = "".join(traceback.format_exception(error))
            tally.report(self.finding(f"{form}: {place_of(error)}", seed, str(error)[:200], seen))
        used = peak_memory() - self.baseline
        if used > BUDGET + ALLOWANCE:
            tally.report(self.finding(f"{form}: memory", seed, f"{used >> 20} MB", severity=used / 2**20))
            return False
        return True

    def finding(self, kind: str, seed: int, text: str, seen: str = "", severity: float = 1.0) -> Finding:
        """A finding whose mutant is saved."""
        return Finding(kind, f"{self.name}:{seed}", f"{text} [{self.save(seed, seen or text)}]", severity)

    def save(self, seed: int, reason: str) -> str:
        """The mutant and what was seen of it, in a folder of its own."""
        form, name, data, _ = self.mutant(seed)
        place = self.folder / "findings" / f"{form}-{seed}"
        if len(list((self.folder / "findings").glob("*"))) >= SAVED:
            return f"{form} {name}"
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
        (place / "seen.txt").write_text(reason + "\n")
        return f"{place.name}/{name}"


def fast_folder() -> str | None:
    """A folder in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
