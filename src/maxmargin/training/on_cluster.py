"""Training a linear classifier on the rows of a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from maxmargin.choose import ASKED
from maxmargin.cluster.cluster_rows import ClusterRows
from maxmargin.cluster.connection import connected
from maxmargin.cluster.intake import rows_on_cluster
from maxmargin.data.files import is_file
from maxmargin.errors import RefusedError
from maxmargin.loop.interrupts import postponed
from maxmargin.problems.losses import find_loss
from maxmargin.results import Result
from maxmargin.settings.parameters import is_given
from maxmargin.settings.settings import Settings
from maxmargin.solvers import PASS_SOLVERS, find_pass_solver
from maxmargin.system.budget import half_of_free
from maxmargin.training.by_passes import PassTask, check_finite_C, fit_by_passes, path_by_passes
from maxmargin.training.cluster_choice import OnCluster, choose_by_cost
from maxmargin.training.file_passes import problems_at_once

NOT_THERE = ("kernel", "expand", "memory", "nu", "columns", "drop", "kinds", "scale")  # parameters for one machine


def fit_on_cluster(settings: Settings) -> Result:
    """Train on a cluster."""
    began = time.perf_counter()
    with task_on_cluster(settings) as task:
        loading = time.perf_counter() - began
        result = fit_by_passes(task)
    result.seconds += loading
    return result


def path_on_cluster(settings: Settings, Cs: Sequence[float]) -> list[Result]:
    """Train on a cluster for each of the increasing C, in the same rounds."""
    with task_on_cluster(settings) as task:
        return path_by_passes(task, Cs)


@contextmanager
def task_on_cluster(settings: Settings) -> Iterator[PassTask]:
    """Yield the task with its rows on the workers. Workers that are started for it are stopped at the end."""
    check_on_cluster(settings)
    began = time.perf_counter()
    how = (
        {name: getattr(settings, name) for name in ("label", "zero_based", "on_bad_line")}
        if is_file(settings.X)
        else {}
    )
    with postponed(), connected(settings.client, settings.timeout) as client:
        rows = rows_on_cluster(settings.X, settings.y, settings.weights, client, timeout=settings.timeout, **how)
        with closing(rows):
            yield task_of(rows, settings, began)


def trained(rows: ClusterRows, settings: Settings, began: float) -> Result:
    """Train on rows that are on the workers already."""
    return fit_by_passes(task_of(rows, settings, began))


def task_of(rows: ClusterRows, settings: Settings, began: float) -> PassTask:
    """Return the task of rows that are on the workers."""
    rows.threads = settings.thread_count
    name, why = choose_on_cluster(rows, settings)
    method = find_pass_solver(name, settings.options)
    workers = workers_of(rows)
    described = {"partitions": rows.origin.count, "workers": workers}
    if column := getattr(rows.origin, "weights_column", None):
        described["weights_column"] = column
    identity = {"partitions": [one.n for one in rows.partition_facts], "squares": f"{rows.facts.squares:.8e}"}
    left = settings.limits.after(time.perf_counter() - began)
    return PassTask(
        rows, settings, left, method, why, identity, described=described,
        at_once=problems_at_once(rows.facts.d, name, half_of_free()),
        counted=lambda: {"rounds": rows.rounds, "bytes_sent": rows.sent, "bytes_received": rows.received},
        succession=OnCluster(workers) if settings.solver == "auto" else None,
    )  # fmt: skip


def choose_on_cluster(rows: ClusterRows, settings: Settings) -> tuple[str, str]:
    """Return the name of the solver and the reason."""
    if settings.solver != "auto":
        return settings.solver, ASKED
    return choose_by_cost(rows.facts, settings.penalty(rows.facts.n), find_loss(settings.loss), workers_of(rows))


def workers_of(rows: ClusterRows) -> int:
    """Return the number of workers that hold rows."""
    return len({actor.worker for actor in rows.actors})


def check_on_cluster(settings: Settings) -> None:
    """Refuse settings that need all rows on one machine."""
    if settings.task != "classify":
        raise RefusedError(f"task={settings.task!r} is not for a cluster: leave client out")
    check_finite_C(settings)
    for name in NOT_THERE:
        if is_given(name, settings.values[name]):
            raise RefusedError(f"{name} is not for a cluster: leave it out, or train without client")
    if settings.solver not in ("auto", *PASS_SOLVERS):
        raise RefusedError(
            f"{settings.solver} is not for a cluster: take solver='auto', or one of {', '.join(PASS_SOLVERS)}"
        )
