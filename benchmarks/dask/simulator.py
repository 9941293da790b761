"""Rounds against workers: the real rounds on real data with 4 to 1,024 logical workers, and a model of their seconds.

    python benchmarks/dask/simulator.py [--data FOLDER] [--names a,b] [--losses a,b] [--workers 4,16,64,256,1024]
                                        [--sample 0.01] [--limit SECONDS] [--again] [--latency 0.0005] [--gigabits 10]
                                        [--cores 16] [--write benchmarks/results/simulator.md]
                                        [--picture docs/scale.png]

The rows are cut into one partition for each worker, in one process (logical.py), and `train` runs on them with solver
`auto`, as it does on a cluster: rounds and bytes are counted, not modelled. The CPU time of the partitions and of the
client's own work is measured. The network is modelled: see model.py. Solvers begin with steps on a sample of the rows,
which is --sample of them here: 200,000 rows, which they would take, are a small share of what a cluster is for.

The runs go to FILE.jsonl as they end, and those in it are not made again, unless with --again. --latency, --gigabits
and --cores change the report only.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from contenders import say
from data import is_generated, prepare, whole
from logical import cut
from model import Machines, draw, report
from report import DATA, ROOT, append, found
from threadpoolctl import threadpool_limits

import maxmargin

NAMES = "covtype.binary.scale,kddcup99_10pct.scale,20news.binary,wide:200000x100000"
TOL = 1e-4
LEAST_SAMPLE = 1000


def main() -> None:
    options = given()
    written = options.write or str(ROOT / "benchmarks" / "results" / "simulator.md")
    kept = Path(written).with_suffix(".jsonl")
    problems = wanted(options)
    runs = read(kept)
    if options.again:
        runs = [run for run in runs if key_of(run) not in problems]
        kept.unlink(missing_ok=True)
        append(kept, runs)
    for problem in problems:
        if problem in {key_of(run) for run in runs}:
            say(f"{' '.join(map(str, problem))} is in {kept}")
        else:
            append(kept, simulated(options, *problem))
    machines = Machines(options.latency, options.gigabits * 1e9 / 8, options.cores)
    report(read(kept), machines, " ".join(["python benchmarks/dask/simulator.py", *sys.argv[1:]]), written)
    if options.picture:
        draw(read(kept), machines, Path(options.picture))


def given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--names", default=NAMES)
    parser.add_argument("--losses", default="hinge,squared_hinge,logistic")
    parser.add_argument("--workers", default="4,16,64,256,1024")
    parser.add_argument("--sample", type=float, default=0.01)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--latency", type=float, default=0.0005)
    parser.add_argument("--gigabits", type=float, default=10.0)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "maxmargin-bench-dask")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--picture")
    return parser.parse_args()


def wanted(options: argparse.Namespace) -> list[tuple[str, str, int]]:
    names = []
    for name in filter(None, options.names.split(",")):
        if is_generated(name) or found(name, options.data):
            names.append(name)
        else:
            say(f"{name}: not in {options.data}, left out")
    return list(product(names, options.losses.split(","), map(int, options.workers.split(","))))


def key_of(run: dict) -> tuple[str, str, int]:
    return run["data"], run["loss"], run["workers"]


def read(kept: Path) -> list[dict]:
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def simulated(options: argparse.Namespace, name: str, loss: str, workers: int) -> list[dict]:
    """Train once with this many logical workers; everything counted at each certificate. Nothing if it is refused."""
    prepare(name, options.data, options.cache)
    X, y = whole(name, options.cache)
    sample = max(LEAST_SAMPLE, int(options.sample * len(y)))
    try:
        with threadpool_limits(1):
            counted(X, y, loss, 2, sample, max_epochs=2)  # compiles
            run = counted(X, y, loss, workers, sample, max_seconds=options.limit)
    except maxmargin.MaxmarginError as error:
        say(f"{name} {loss} {workers}: {error}")
        return []
    say(f"{name} {loss} {workers}: {run['solver']}, {run['status']}, gap {run['gap']:.1e}, {run['rounds']} rounds")
    return [{"data": name, "loss": loss, "workers": workers, **run, "date": datetime.date.today().isoformat()}]


def counted(X, y, loss: str, workers: int, sample: int, **limits: float) -> dict:
    """Train on logical workers. A line of history: gap, rounds, bytes down and up, CPU seconds of rows and client."""
    from maxmargin.settings.settings import settings_of
    from maxmargin.training.on_cluster import trained

    rows, history = cut(X, y, workers, sample), list[list[float]]()

    def note(record) -> None:
        at = rows.counts
        alone = time.process_time() - began - at.work - at.adding
        history.append([record.best.relative_gap, at.rounds, at.down, at.up, at.work, alone])

    began = time.process_time()
    settings = settings_of("train", X, {"loss": loss, "tol": TOL, "callback": note, "threads": 1, **limits})
    result = trained(rows, settings, time.perf_counter())
    certificate = result.certificate
    return {
        "solver": result.solver, "status": result.status.name, "gap": certificate.relative_gap,
        "primal": certificate.primal, "dual": certificate.dual, "rounds": rows.rounds, "history": history,
        "n": rows.facts.n, "d": rows.facts.d, "nnz": rows.facts.nnz,
    }  # fmt: skip


if __name__ == "__main__":
    main()
