"""Training on a cluster of processes on this machine, beside one machine, Spark MLlib and dask-ml.

    python benchmarks/dask/run.py [--data FOLDER] [--names a,b] [--losses a,b] [--contenders a,b] [--C 1]
                                  [--limit SECONDS] [--partitions 4] [--cache FOLDER] [--again] [--write FILE.md]

Generated data are named by their size: dense:5000000x100, wide:2000000x1000000; --names dense:100000x20 tries a small
one. Each contender runs in a process of its own, which is killed with all its workers if it takes too long; a crash or
a hang is a row of the table.

The runs go to FILE.jsonl (without --write: benchmarks/results/dask.jsonl) as they end. Start the same command again and
it goes on where it stopped; --again replaces the runs that are asked for. Then tables.py writes the report.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import tables
from contenders import CONTENDERS, ITERATIONS, Task, shown
from data import FILES, GENERATED, is_generated, prepare
from report import DATA, ROOT, append, found

STARTING = 600.0  # seconds for starting processes, generating and loading rows, and a first fit of peers
KEY = ("data", "loss", "C", "contender")


def main() -> None:
    options = given()
    if options.one:
        one(options, *options.one)
        return
    kept = (
        Path(options.write).with_suffix(".jsonl") if options.write else ROOT / "benchmarks" / "results" / "dask.jsonl"
    )
    problems = wanted(options)
    if options.again:
        forget(kept, problems)
    done = {key_of(run) for run in tables.read(kept)}
    for problem in problems:
        if problem in done:
            print(*problem, "is in", kept, file=sys.stderr)
        else:
            append(kept, in_own_process(options, problem))
    if options.write:
        tables.write(kept, Path(options.write), " ".join(["python benchmarks/dask/run.py", *sys.argv[1:]]))


def given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--names", default=",".join([*FILES, *GENERATED]))
    parser.add_argument("--losses", default="hinge,squared_hinge,logistic")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--C", default="1")
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "maxmargin-bench-dask")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--one", nargs=4, metavar=("DATA", "LOSS", "C", "CONTENDER"), help=argparse.SUPPRESS)
    return parser.parse_args()


def wanted(options: argparse.Namespace) -> list[tuple[str, ...]]:
    """Return data, loss, C and contender of the runs that make sense and whose data are at hand."""
    names = []
    for name in options.names.split(","):
        if is_generated(name) or found(name, options.data):
            names.append(name)
        else:
            print(f"{name}: not in {options.data}, left out", file=sys.stderr)
    every = product(names, options.losses.split(","), options.C.split(","), options.contenders.split(","))
    return [(name, loss, C, who) for name, loss, C, who in every if fits(name, loss, who)]


def fits(name: str, loss: str, who: str) -> bool:
    return loss in CONTENDERS[who].losses and not (who == "one-machine" and is_generated(name))


def key_of(run: dict) -> tuple[str, ...]:
    return tuple(run[part] for part in KEY)


def forget(kept: Path, problems: list[tuple[str, ...]]) -> None:
    """Remove runs that will be made again."""
    runs = [run for run in tables.read(kept) if key_of(run) not in set(problems)]
    kept.unlink(missing_ok=True)
    append(kept, runs)


def in_own_process(options: argparse.Namespace, problem: tuple[str, ...]) -> list[dict]:
    """Run one contender; return its runs, and why it failed if it did."""
    print(*problem, "begins", file=sys.stderr, flush=True)
    same = ["--data", options.data, "--cache", options.cache, "--limit", options.limit]
    command = [sys.executable, __file__, *map(str, same), "--partitions", str(options.partitions), "--one", *problem]
    budget = STARTING + options.limit * (1 if problem[3] not in tables.PEERS else len(ITERATIONS))
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors, text=True, start_new_session=True)
        failure = waited(process, budget)
        output.seek(0)
        errors.seek(0)
        runs = [json.loads(line) for line in output if line.startswith("{")]
        if failure is None and (process.returncode or not runs):
            failure = last_line(errors.read()) or f"exit code {process.returncode}"
    runs += [{"failure": failure}] if failure else []
    for run in runs:
        print(*problem, tables.told(run), file=sys.stderr, flush=True)
    label = dict(zip(KEY, problem, strict=True))
    return [{**label, **run, "limit": options.limit, "date": datetime.date.today().isoformat()} for run in runs]


def waited(process: subprocess.Popen, budget: float) -> str | None:
    """Wait for a process; kill it with its children if it takes too long or this process is interrupted."""
    try:
        process.wait(budget)
    except subprocess.TimeoutExpired:
        return f"killed after {budget:g} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # a session of its own: it, its workers, its Java process
        process.wait()
    return None


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line or "Exception" in line]
    return (named or lines or [""])[-1][:200]


def one(options: argparse.Namespace, name: str, loss: str, C: str, who: str) -> None:
    """Run one contender in this process, and print its runs."""
    prepare(name, options.data, options.cache)
    task = Task(name, loss, float(C), options.limit, options.cache, options.partitions)
    for run in CONTENDERS[who].run(task):
        print(shown(run), flush=True)


if __name__ == "__main__":
    main()
