"""Actors of Dask: created on chosen workers, called, and waited for within a limit.

A call of an actor whose worker dies may never return in Dask, so nothing here waits for one call without an end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from maxmargin.cluster.connection import wait_for_workers, within
from maxmargin.cluster.holder import Holder, Reply
from maxmargin.data.reduction import PassStoppedError
from maxmargin.errors import ClusterError, MaxmarginError

POLL_SECONDS = 0.1  # how often `stop` is asked while partitions are made
STEP_SECONDS = 0.02


class Actor:
    """The actor of one worker, and the partitions it holds."""

    def __init__(self, worker: str, numbers: Iterable[int], future: Any) -> None:
        self.worker, self.numbers, self.future = worker, set(numbers), future
        self.proxy: Any = None

    @property
    def lost(self) -> bool:
        """Whether Dask knows that the actor is gone."""
        return self.future.status not in ("finished", "pending")

    def call(self, method: str, *given: Any) -> Any:
        """Call a method; return what can be awaited, or None if the worker is lost."""
        with suppress(RuntimeError, ValueError, OSError):
            return getattr(self.proxy, method)(*given)
        return None


async def outcome(call: Any) -> tuple[Reply | None]:
    """Return the reply of a call; (None,) if the worker is lost."""
    if call is None:
        return (None,)
    try:
        return (await call,)
    except Exception:  # errors inside the actor are part of its Reply: this one is Dask's
        return (None,)


async def outcomes(calls: list[Any], seconds: float) -> list[tuple[Reply | None] | None]:
    """Return the replies that come within some seconds; None for those that do not."""
    tasks = [asyncio.ensure_future(outcome(call)) for call in calls]
    done, pending = await asyncio.wait(tasks, timeout=seconds)
    for task in pending:
        task.cancel()
    return [task.result() if task in done else None for task in tasks]


def settled(client: Any, pending: dict[Actor, Any], seconds: float) -> list[tuple[Actor, Reply | None]]:
    """Return the actors that have replied within some seconds; the reply is None where the worker is lost."""
    found = client.sync(outcomes, list(pending.values()), seconds, asynchronous=False)
    return [(actor, one[0]) for actor, one in zip(list(pending), found, strict=True) if one is not None]


def created(
    rows: Any, numbers: list[int], vectors: dict[int, dict[str, np.ndarray]], stop: Callable[[], object] | None
) -> list[Actor]:
    """Compute partitions on the workers and create an actor on each worker. Those that die meanwhile are left out."""
    client = rows.client
    futures = dict(zip(numbers, rows.origin.submit(client, numbers), strict=True))
    wait(rows, list(futures.values()), stop)
    workers = rows.workers()
    if not workers:
        wait_for_workers(client, rows.timeout)
        workers = rows.workers()
    where = within(client, rows.timeout, client.scheduler.who_has, keys=[future.key for future in futures.values()])
    held = {worker: sum(len(actor.numbers) for actor in rows.actors if actor.worker == worker) for worker in workers}
    actors = []
    for worker, own in placed({n: where.get(futures[n].key, ()) for n in numbers}, held).items():
        future = client.submit(
            Holder, [futures[number] for number in own], rows.origin.count,
            {number: vectors[number] for number in own if number in vectors}, rows.d,
            actor=True, workers=[worker], allow_other_workers=False, pure=False,
        )  # fmt: skip
        actors.append(Actor(worker, own, future))
    return [actor for actor in actors if ready(rows, actor, stop)]


def ready(rows: Any, actor: Actor, stop: Callable[[], object] | None) -> bool:
    """Wait until an actor is created; return whether it is: not if its worker is lost."""
    wait(rows, [actor.future], stop, actor.worker)
    if actor.future.status != "finished":
        if actor.future.status == "error":
            raise explained(actor.future)
        return False
    try:
        with rows.client.as_current():  # Dask binds the proxy to the current client, which may be of another cluster
            actor.proxy = actor.future.result(timeout=rows.timeout)
    except Exception:
        return False
    return True


def wait(rows: Any, futures: list[Any], stop: Callable[[], object] | None, worker: str | None = None) -> None:
    """Wait until all futures are computed, or `worker` is gone. Errors of tasks are raised."""
    began = looked = time.monotonic()
    while not all(future.status in ("finished", "error") for future in futures):
        if worker is not None and any(future.status in ("cancelled", "lost") for future in futures):
            return
        if any(future.status == "cancelled" for future in futures):
            raise ClusterError("the cluster has cancelled a partition: was it restarted? Start the training again")
        if stop is not None and stop():
            raise PassStoppedError
        now = time.monotonic()
        if now - looked > POLL_SECONDS:
            looked = now
            alive = rows.workers()
            if worker is not None and worker not in alive:
                return
        if now - began > rows.timeout:
            raise ClusterError(
                f"partitions were not ready within {rows.timeout:g} s: raise timeout=, or give the cluster more workers"
            )
        time.sleep(STEP_SECONDS)
    for future in futures:
        if future.status == "error" and worker is None:
            raise explained(future)


def explained(future: Any) -> MaxmarginError:
    """Return the error of a task in one line."""
    error = future.exception()
    if isinstance(error, MaxmarginError):
        return error
    said = " ".join(str(error).split())
    return ClusterError(f"a partition could not be made: {type(error).__name__}: {said}")


def placed(where: dict[int, Iterable[str]], held: dict[str, int]) -> dict[str, list[int]]:
    """Return the partitions of each worker: where their data are, but none gets more than its share.

    `held` are the numbers of partitions that living workers hold already.
    """
    load = dict(held)
    limit = -(-(sum(held.values()) + len(where)) // len(held))
    found: dict[str, list[int]] = {}
    left = []
    for number, workers in sorted(where.items()):
        near = min(
            (worker for worker in workers if load.get(worker, limit) < limit), key=lambda w: load[w], default=None
        )
        if near is None:
            left.append(number)
        else:
            found.setdefault(near, []).append(number)
            load[near] += 1
    for number in left:
        worker = min(load, key=lambda w: (load[w], w))
        found.setdefault(worker, []).append(number)
        load[worker] += 1
    return found
