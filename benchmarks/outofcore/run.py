"""Training larger than memory: dual cached loops beside its forerunners, in a tenth of the file's size.

    python benchmarks/outofcore/run.py [--names kddb,webspam,ocr,dna,covtype,mnist] [--methods a,b] [--scale 1]
                                       [--folder FOLDER] [--data FOLDER] [--limit SECONDS] [--part 10] [--write FILE.md]

Each method runs in a process of its own, after a training on a few rows that compiles. Its memory is read from outside,
ten times a second, and counted from what it takes when it is ready. The page cache of the file is dropped before and
between passes. Bias none, C = 1, hinge. Block methods count the time of splitting.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import DATA, append, heading, publish, table
from shapes import REAL, SIZES, shape

import maxmargin

METHODS = ("cached_loops", "cached_loops random", "block_minimization", "selective_blocks")
LEVELS = (1e-2, 1e-3)
SETTINGS = {"bias": "none", "tol": 1e-3}


def main() -> None:
    options = given()
    if options.one:
        one(options, *options.one)
        return
    kept = Path(options.write or Path(tempfile.mkdtemp()) / "outofcore.md").with_suffix(".jsonl")
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for name in options.names.split(","):
        if shape(name, options.folder, options.data, options.scale) is None:
            print(f"{name}: not in {options.data}, left out", file=sys.stderr)
            continue
        for method in options.methods.split(","):
            if not any(run["data"] == name and run["method"] == method for run in done):
                run = watched(options, name, method)
                print(name, method, {key: value for key, value in run.items() if key != "history"}, file=sys.stderr)
                append(kept, [run])
                done.append(run)
    report(done, options.write)


def given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", default=",".join([*SIZES, *REAL]))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "maxmargin-outofcore")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--part", type=float, default=10.0, help="the file is so many times the memory")
    parser.add_argument("--write")
    parser.add_argument("--one", nargs=2, metavar=("DATA", "METHOD"), help=argparse.SUPPRESS)
    return parser.parse_args()


def watched(options, name: str, method: str) -> dict:
    """Run one method, and read its memory from outside."""
    same = ["--scale", str(options.scale), "--folder", str(options.folder), "--data", str(options.data)]
    same += ["--limit", str(options.limit), "--part", str(options.part)]
    command = [sys.executable, __file__, *same, "--one", name, method]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    ready, most, said = None, 0, []
    lines = threading.Thread(target=lambda: said.extend(iter(child.stdout.readline, "")))
    lines.start()
    while child.poll() is None:
        now = resident(child.pid)
        if ready is None and said:
            ready = now
        most = max(most, now) if ready is not None else 0
        time.sleep(0.1)
    lines.join()
    label = {"data": name, "method": method, "scale": options.scale}
    if len(said) < 2:
        return {**label, "failure": f"exit code {child.returncode}"}
    return {**label, **json.loads(said[-1]), "peak": most - (ready or 0)}


def resident(pid: int) -> int:
    """Bytes in memory, as the system counts them."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
    except OSError:
        return 0


def one(options, name: str, method: str) -> None:
    """Train, and print one line of JSON."""
    given_shape = shape(name, options.folder, options.data, options.scale)
    solver, _, evict = method.partition(" ")
    settings = {**SETTINGS, **given_shape.options, "solver": solver, "options": {"evict": evict} if evict else {}}
    memory = max(int(given_shape.size / options.part), 5_000_000)
    warm_up(given_shape, settings)
    paths = (
        [Path(given_shape.X)]
        if Path(given_shape.X).exists()
        else sorted(Path(given_shape.X).parent.glob(Path(given_shape.X).name))
    )
    passes = [-1]

    def watch(record) -> None:
        if record.reading.passes != passes[0]:
            passes[0] = record.reading.passes
            drop(paths)

    drop(paths)
    print("ready", flush=True)
    time.sleep(0.5)
    result = maxmargin.train(
        given_shape.X, given_shape.y, memory=memory, max_seconds=options.limit, callback=watch, **settings
    )
    training = result.model.training
    history = [
        (record.seconds + training["splitting"], record.best.primal, record.best.dual) for record in result.history
    ]
    found = {
        "bytes": given_shape.size, "memory": memory, "status": result.status.name, "seconds": result.seconds,
        "splitting": training["splitting"], "passes": training["passes"], "primal": result.certificate.primal,
        "dual": result.certificate.dual, "n": training["n"], "d": training["d"], "history": history,
    }  # fmt: skip
    print(json.dumps(found), flush=True)


def warm_up(given_shape, settings: dict) -> None:
    """Compile on a few rows of the same kind."""
    from maxmargin.data_files import Files
    from maxmargin.rows.expand import find_expansion
    from maxmargin.rows.memory import part_of_rows
    from maxmargin.rows.write_text import write_text

    with tempfile.TemporaryDirectory() as folder:
        expansion = find_expansion(settings.get("expand"))
        block = next(Files(given_shape.X, given_shape.y, expansion=expansion).source.blocks())
        few = min(len(block.labels), 200)
        labels = np.where(np.arange(few) % 2, 1, -1)
        if given_shape.y is not None:
            np.save(Path(folder) / "X.npy", block.rows.values[:few])
            maxmargin.train(Path(folder) / "X.npy", labels, memory="50MB", max_seconds=5, **settings)
        elif settings.get("expand"):
            (Path(folder) / "X.txt").write_text("".join(f"{label} ACGTACGTTGCAACGT\n" for label in labels))
            maxmargin.train(Path(folder) / "X.txt", memory="50MB", max_seconds=5, **settings)
        else:
            write_text(Path(folder) / "X.svm", part_of_rows(block.rows, 0, few)._replace(d=1000), labels)
            maxmargin.train(Path(folder) / "X.svm", memory="2GB", max_seconds=5, **settings)


def drop(paths: list[Path]) -> None:
    """Take the files out of the page cache."""
    if hasattr(os, "posix_fadvise"):
        for path in paths:
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def report(runs: list[dict], written: str | None) -> None:
    text = heading("Larger than memory", " ".join(["python benchmarks/outofcore/run.py", *sys.argv[1:]]))
    text += f"\n{__doc__.split(chr(10) * 2)[2]}\n\n"
    rows = []
    for run in runs:
        label = [run["data"], run["method"]]
        if "failure" in run:
            rows.append([*label, run["failure"], *[""] * 8])
            continue
        best = max(other["dual"] for other in runs if other["data"] == run["data"] and "dual" in other)
        reached = [first_time(run, best, level) for level in LEVELS]
        rows.append([
            *label, f"{run['n']:,} × {run['d']:,}", f"{run['bytes'] / 1e6:.0f}", f"{run['memory'] / 1e6:.0f}",
            f"{run['peak'] / run['memory']:.2f}", f"{run['splitting']:.1f}", *reached, run["passes"],
            f"{(run['primal'] - run['dual']) / run['primal']:.1e}",
        ])  # fmt: skip
    names = ["data", "method", "rows × features", "file, MB", "memory, MB", "peak / memory", "splitting, s"]
    names += [*(f"{level:g}, s" for level in LEVELS), "passes", "certified"]
    publish(text + table(names, rows), written)


def first_time(run: dict, best: float, level: float) -> str:
    """When the objective was within the level of the best bound."""
    times = [seconds for seconds, primal, _ in run["history"] if primal <= best * (1.0 + level)]
    return f"{times[0]:.1f}" if times else f"> {run['seconds']:.0f}"


if __name__ == "__main__":
    main()
