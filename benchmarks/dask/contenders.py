"""Who is measured: ours on a cluster of 1, 2, 4 processes and on one machine; Spark MLlib; dask-ml.

Each is a generator of runs, dictionaries that can be written as JSON. Rows are loaded, distributed and held in memory
before the clock starts, and every contender has fitted a few iterations before, so that its code is compiled.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data import is_dense, is_generated, objective, piece, size_of, whole
from vectors import vector_files

import maxmargin

TOL = 1e-4  # the tightest gap of the table
TIGHT_TOL = 1e-9  # of a second run of ours, since a peer may come nearer to the optimum than TOL
REFERENCE_TOL = 1e-6  # of one machine, whose objective the cluster's is compared with
ITERATIONS = (10, 30, 100, 300, 1000, 3000)  # limits given to peers, one after the other
GROWTH = 3.4  # the next limit takes at most this many times as long as the last one
WIDEST = 2000  # features up to which rows are made dense for dask-ml, which takes no SciPy matrices
SPARK_MEMORY = "10g"
SPARK_CORES = 2  # as many as the workers of ours that it is compared with


class Task(NamedTuple):
    """One problem: which data, loss and C, how long one run may take, how many partitions."""

    name: str
    loss: str
    C: float
    limit: float
    cache: Path
    partitions: int


@contextmanager
def local_client(workers: int, **how: Any) -> Iterator[Any]:
    """Yield the client of a cluster of processes on this machine, one thread each."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0,
            silence_logs=logging.CRITICAL, **how,
        ) as cluster,
        distributed.Client(cluster, direct_to_workers=True) as client,
    ):  # fmt: skip
        yield client


def blocks_on(client: Any, task: Task) -> list[tuple[Any, Any]]:
    """Return the partitions, computed and held by the workers."""
    import dask
    import distributed

    make = dask.delayed(piece, pure=False)
    made = client.persist([make(task.name, k, task.partitions, task.cache) for k in range(task.partitions)])
    distributed.wait(made)
    return [(one[0], one[1]) for one in made]


def on_cluster(task: Task, workers: int) -> Iterator[dict]:
    """Train ours on a cluster; every certificate with its seconds, rounds and bytes."""
    from maxmargin.cluster.intake import rows_on_cluster

    with local_client(workers) as client:
        blocks = blocks_on(client, task)
        say(f"{task.name}: {task.partitions} partitions on {workers} workers")
        with closing(rows_on_cluster(blocks, client=client)) as rows:
            trained_on(rows, blocks, client, task, max_epochs=3)  # compiles
        for tol in (TOL, TIGHT_TOL) if workers == SPARK_CORES else (TOL,):
            with closing(rows_on_cluster(blocks, client=client)) as rows:
                yield trained_on(rows, blocks, client, task, tol=tol, max_seconds=task.limit)


def trained_on(rows: Any, blocks: Any, client: Any, task: Task, **limits: Any) -> dict:
    """Train on rows that are on the workers."""
    from maxmargin.settings.settings import settings_of
    from maxmargin.training.on_cluster import trained

    history: list[list[float]] = []

    def note(record: Any) -> None:
        found = record.certificate
        history.append([record.seconds, rows.rounds, rows.sent, rows.received, found.primal, record.best.relative_gap])

    given = {"loss": task.loss, "C": task.C, "client": client, "callback": note, "tol": TOL, **limits}
    result = trained(rows, settings_of("train", blocks, given), time.perf_counter())
    return {
        **outcome(result), "tol": given["tol"], "rounds": rows.rounds, "sent": rows.sent, "received": rows.received,
        "history": history,
        "n": rows.facts.n, "d": rows.facts.d, "nnz": rows.facts.nnz, "partitions": task.partitions,
    }  # fmt: skip


def outcome(result: maxmargin.Result) -> dict:
    found = result.certificate
    return {
        "seconds": result.seconds, "primal": found.primal, "dual": found.dual, "gap": found.relative_gap,
        "status": result.status.name, "solver": result.solver, "why": result.why,
    }  # fmt: skip


def on_one_machine(task: Task) -> Iterator[dict]:
    """Train ours in memory, to a tighter gap: the objective that the cluster's must agree with."""
    if is_generated(task.name):
        raise SystemExit("generated data are not collected on one machine")
    X, y = whole(task.name, task.cache)
    given = {"loss": task.loss, "C": task.C, "tol": REFERENCE_TOL}
    maxmargin.train(X, y, max_epochs=1, **given)
    yield outcome(maxmargin.train(X, y, max_seconds=task.limit, **given))


def spark(task: Task) -> Iterator[dict]:
    """Run Spark MLlib with growing limits on its iterations. Its regParam is 1 / (n C); it does not regularise b."""
    from pyspark.ml.classification import LinearSVC, LogisticRegression
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DoubleType, StructField, StructType

    folder = vector_files(task.name, task.partitions, task.cache)
    say(f"{task.name}: written for Spark")
    session = (
        SparkSession.builder.master(f"local[{SPARK_CORES}]")
        .config("spark.driver.memory", SPARK_MEMORY)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    schema = StructType([StructField("label", DoubleType()), StructField("features", VectorUDT())])
    frame = session.read.schema(schema).parquet(str(folder)).cache()
    n = frame.count()
    if n != size_of(task.name, task.cache)[0]:
        raise SystemExit(f"Spark has {n} rows of {task.name}")
    make = {"hinge": LinearSVC, "logistic": LogisticRegression}[task.loss]
    same = {
        "regParam": 1.0 / (n * task.C), "tol": 1e-12, "fitIntercept": True, "standardization": False,
        "aggregationDepth": 2,
    }  # fmt: skip

    def fit(iterations: int) -> tuple[np.ndarray, float]:
        model = make(maxIter=iterations, **same).fit(frame)
        return model.coefficients.toArray(), float(model.intercept)

    yield from growing(task, fit)
    session.stop()


def dask_ml(task: Task, solver: str) -> Iterator[dict]:
    """Run dask-ml's LogisticRegression on dense arrays. It regularises b; admm takes fewer, longer iterations."""
    import dask.array as da
    from dask_ml.linear_model import LogisticRegression

    n, d = size_of(task.name, task.cache)
    if d > WIDEST:
        raise SystemExit(f"dask-ml takes dense arrays only: {n} rows of {d} features are too many")
    with local_client(SPARK_CORES) as client:
        made = [piece(task.name, k, task.partitions, task.cache) for k in range(task.partitions)]
        X = da.concatenate([da.from_array(np.asarray(X if is_dense(task.name) else X.toarray()), -1) for X, _ in made])
        y = da.concatenate([da.from_array(y > 0, -1) for _, y in made])
        X, y = client.persist([X, y])
        X.sum().compute()

        def fit(iterations: int) -> tuple[np.ndarray, float]:
            given = {"C": task.C, "solver": solver, "max_iter": iterations, "tol": 1e-12}
            model = LogisticRegression(**given).fit(X, y)
            return np.asarray(model.coef_, dtype=np.float64).ravel(), float(np.ravel(model.intercept_)[0])

        yield from growing(task, fit)


def growing(task: Task, fit: Callable[[int], tuple[np.ndarray, float]]) -> Iterator[dict]:
    """Fit with growing limits on the iterations, as long as the next one can be expected to end in time."""
    fit(2)
    for iterations in ITERATIONS:
        began = time.perf_counter()
        w, b = fit(iterations)
        seconds = time.perf_counter() - began
        primal = objective(task.name, task.partitions, task.cache, w, b, task.loss, task.C)
        yield {"iterations": iterations, "seconds": seconds, "primal": primal}
        if seconds * GROWTH > task.limit:
            return


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Contender(NamedTuple):
    """How it runs, and the losses it knows."""

    run: Callable[[Task], Iterator[dict]]
    losses: tuple[str, ...] = ("hinge", "squared_hinge", "logistic")


OURS = {workers: f"maxmargin-{workers}" for workers in (1, 2, 4)}
ONE_MACHINE = "one-machine"
CONTENDERS = {
    ONE_MACHINE: Contender(on_one_machine),
    OURS[1]: Contender(lambda task: on_cluster(task, 1)),
    OURS[2]: Contender(lambda task: on_cluster(task, 2)),
    OURS[4]: Contender(lambda task: on_cluster(task, 4)),
    "spark": Contender(spark, ("hinge", "logistic")),
    "dask-ml-lbfgs": Contender(lambda task: dask_ml(task, "lbfgs"), ("logistic",)),
    "dask-ml-admm": Contender(lambda task: dask_ml(task, "admm"), ("logistic",)),
}
PEERS = [name for name in CONTENDERS if name != ONE_MACHINE and name not in OURS.values()]


def shown(run: dict) -> str:
    """Return a run as one line of JSON."""
    return json.dumps(run)
