"""`cached_loops` on every file of a folder: it must converge on each, scaled or not, however small.

    python benchmarks/outofcore/every_file.py [--names a9a,madelon.all,...] [--threads 1,2] [--limit SECONDS]
                                              [--data FOLDER] [--write FILE.md]

Hinge, C = 1, free bias, tolerance 1e-4, files as they are, the smallest first. Where dual steps are too slow, a solver
by passes goes on: the column `by` names the one that finished. The memory is 20 MB; 50 MB for mnist.t, where the
matrices of 780 features need 25 MB, and 200 MB for mnist, so that all ten classes share the passes; and the least of
MEMORY that is not refused for the number of features. `--limit` is the
most seconds of a run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import DATA, found, heading, publish, table

import maxmargin
from maxmargin.errors import ParameterError

MEMORY = "20MB", "50MB", "200MB", "1GB"
FIRST = {"mnist.t": 1, "mnist": 2}  # the least of MEMORY that is tried
HEADS = ["data", "threads", "memory", "status", "gap", "seconds", "passes", "by"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--names")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", default="benchmarks/results/every_file.md")
    options = parser.parse_args()
    rows = []
    for name, path in files(options.names, options.data):
        for threads in map(int, options.threads.split(",")):
            rows.append([name, str(threads), *measured(path, threads, options.limit)])
            print(*rows[-1], file=sys.stderr, flush=True)
            Path(options.write).write_text(report(rows))  # what is measured so far survives an interrupt
    if not rows:
        print(f"no data in {options.data}: nothing measured", file=sys.stderr)
        return
    publish(report(rows), options.write)


def report(rows: list[list[str]]) -> str:
    """Return the table with its heading."""
    given = [one for one in sys.argv[1:] if "/" not in one and one not in ("--data", "--write")]
    return heading("cached_loops on every file", " ".join(["python benchmarks/outofcore/every_file.py", *given])) + (
        "\nThe memory is 20 MB, or more where that is refused for the number of features. Seconds were measured while "
        "other programs ran: passes are what to compare.\n\n" + table(HEADS, rows)
    )


def files(names: str | None, folder: Path) -> list[tuple[str, Path]]:
    """Return the names and paths of the files, the smallest first; those that are not there are left out."""
    if names is not None:
        named = {name: found(name, folder) for name in names.split(",")}
    else:
        named = {path.name.removesuffix(".xz"): path for path in folder.glob("*.xz")}
    there = [(name, path) for name, path in named.items() if path is not None]
    return sorted(there, key=lambda one: one[1].stat().st_size)


def measured(path: Path, threads: int, limit: float) -> list[str]:
    """Train in the least memory that is not refused, and return the cells of a row."""
    for memory in MEMORY[FIRST.get(path.name.partition(".xz")[0], 0) :]:
        try:
            result = maxmargin.train(path, solver="cached_loops", memory=memory, threads=threads, max_seconds=limit)
            break
        except ParameterError as error:
            refused = str(error)
    else:
        return ["", f"refused: {refused}", "", "", "", ""]
    last = result.parts[0].solvers[-1]
    return [
        memory, result.status.value, f"{result.certificate.relative_gap:.1e}", f"{result.seconds:.1f}",
        str(result.model.training["passes"]), last,
    ]  # fmt: skip


if __name__ == "__main__":
    main()
