"""Training a linear classifier on the rows of a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from maxmargin.choose import ASKED
from maxmargin.cluster.cluster_rows import ClusterRows
from maxmargin.cluster.connection import connected
from maxmargin.cluster.intake import rows_on_cluster
from maxmargin.cluster.origin import FileParts
from maxmargin.data.files import digest_of, is_file
from maxmargin.data.frames import is_frame
from maxmargin.errors import DataError, RefusedError
from maxmargin.loop.interrupts import postponed
from maxmargin.models.scaling import saved
from maxmargin.problems.losses import find_loss
from maxmargin.results import Result
from maxmargin.settings.parameters import is_given
from maxmargin.settings.settings import Settings
from maxmargin.solvers import PASS_SOLVERS, find_pass_solver
from maxmargin.system.budget import half_of_free
from maxmargin.training.by_passes import PassTask, check_finite_C, fit_by_passes, path_by_passes
from maxmargin.training.cluster_choice import OnCluster, choose_by_cost
from maxmargin.training.file_passes import problems_at_once

NOT_THERE = ("kernel", "expand", "memory", "nu")  # parameters for one machine


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
        rows = rows_on_cluster(
            settings.X, labels_for(settings), settings.weights, client, timeout=settings.timeout,
            request=settings.request, scale=settings.scale, **how,
        )  # fmt: skip
        with closing(rows):
            yield task_of(rows, settings, began)


def labels_for(settings: Settings) -> Any:
    """Return the labels, or the name of their column in a Dask data frame."""
    if is_frame(settings.X) and settings.label is not None:
        if settings.y is not None:
            raise DataError(f"label={settings.label!r} names the labels, and y gives them too: leave one out")
        return settings.label
    return settings.y


def trained(rows: ClusterRows, settings: Settings, began: float) -> Result:
    """Train on rows that are on the workers already."""
    return fit_by_passes(task_of(rows, settings, began))


def task_of(rows: ClusterRows, settings: Settings, began: float) -> PassTask:
    """Return the task of rows that are on the workers."""
    rows.threads = settings.thread_count
    name, why = choose_on_cluster(rows, settings)
    method = find_pass_solver(name, settings.options)
    identity = {"partitions": [one.n for one in rows.partition_facts], "squares": f"{rows.facts.squares:.8e}"}
    if rows.origin.encoder is not None:
        identity["encoder"] = digest_of(rows.origin.encoder)
    left = settings.limits.after(time.perf_counter() - began)
    return PassTask(
        rows, settings, left, method, why, identity, described=described(rows, settings),
        at_once=problems_at_once(rows.facts.d, name, half_of_free()),
        counted=lambda: {"rounds": rows.rounds, "bytes_sent": rows.sent, "bytes_received": rows.received},
        succession=OnCluster(workers_of(rows)) if settings.solver == "auto" else None,
    )  # fmt: skip


def described(rows: ClusterRows, settings: Settings) -> dict[str, Any]:
    """Return what a model says of its rows: where they were, the column of weights, and what columns became."""
    origin = rows.origin
    found: dict[str, Any] = {"partitions": origin.count, "workers": workers_of(rows)}
    if isinstance(origin, FileParts) and origin.weights_column:
        found["weights_column"] = origin.weights_column
    if origin.divisors is not None:
        found["scale"] = saved(origin.divisors)
    if rows.columns is not None:
        found["columns"] = rows.columns.names
        if (label := rows.columns.label or label_of_frame(settings)) is not None:
            found["label_column"] = label
    if origin.encoder is not None:
        found["encoder"] = replace(origin.encoder, label=origin.encoder.label or label_of_frame(settings)).saved()
    return found


def label_of_frame(settings: Settings) -> str | None:
    """Return the name of the column of labels of a data frame, if there is one."""
    label = settings.y if isinstance(settings.y, str) else settings.label
    return label if label is None else str(label)


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
