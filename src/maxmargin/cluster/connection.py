"""The client of a Dask cluster: the caller's, the default one, or one that is started here and closed at the end."""

from __future__ import annotations

import os
import re
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import maxmargin
from maxmargin.errors import ClusterError

CONNECT_SECONDS = 30.0  # longest wait for a scheduler to answer: Dask's own limit
LOCAL = re.compile(r"local:([1-9][0-9]*)")
INSTALL = "a cluster needs the packages dask and distributed: pip install maxmargin[dask]"


def distributed() -> Any:
    """Return the package distributed; raise with the remedy if it is not installed."""
    try:
        import distributed as package
    except ImportError as error:
        raise ClusterError(INSTALL) from error
    return package


@contextmanager
def connected(given: Any, timeout: float) -> Iterator[Any]:
    """Yield the client. One that is started here is closed at the end, with its workers if they were started too."""
    package = distributed()
    if given is None:
        yield default_client(package)
        return
    if not isinstance(given, str):
        yield given
        return
    if local := LOCAL.fullmatch(given):
        with (
            local_cluster(package, int(local[1])) as cluster,
            package.Client(cluster, direct_to_workers=True) as client,
        ):
            client.run(ignore_interrupts)
            yield client
        return
    seconds = min(timeout, CONNECT_SECONDS)
    try:
        client = package.Client(given, timeout=seconds, direct_to_workers=True, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {given}: waited {seconds:g} s: check the address, or start one by "
            "`dask scheduler`"
        ) from error
    with client:
        yield client


def default_client(package: Any) -> Any:
    """Return the client that Dask would use."""
    try:
        return package.get_client()
    except ValueError as error:
        raise ClusterError(
            "there is no Dask client: start one by dask.distributed.Client(), or give client="
        ) from error


def local_cluster(package: Any, workers: int) -> Any:
    """Return a new cluster of processes on this machine."""
    threads = max(1, (os.cpu_count() or 1) // workers)
    return package.LocalCluster(n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=":0")


def ignore_interrupts() -> None:
    """Let Ctrl-C, which a terminal sends to all processes, reach the client only."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def version_there(package: str) -> str:
    """Return the version of a package on a worker; "" if it cannot be imported."""
    try:
        return str(getattr(__import__(package), "__version__", "unknown"))
    except ImportError:
        return ""


def check_workers(client: Any, timeout: float, package: str = "maxmargin") -> None:
    """Raise if there are no workers, or one of them lacks the package or has another version."""
    probe = types.FunctionType(version_there.__code__, {"__builtins__": __builtins__})
    probe.__module__ = "__main__"  # so that it is sent as code, and not by name: the worker may lack this module
    wait_for_workers(client, timeout)
    for worker, found in within(client, timeout, client._run, probe, package, on_error="return").items():
        if found == "" or isinstance(found, BaseException):
            raise ClusterError(f"worker {worker} has no {package}: install {package} {maxmargin.__version__} there")
        if found != maxmargin.__version__:
            raise ClusterError(
                f"worker {worker} has {package} {found}, this process {maxmargin.__version__}: install the same version"
            )


def wait_for_workers(client: Any, timeout: float) -> None:
    """Wait for the first worker."""
    address = client.scheduler.address if client.scheduler is not None else "?"
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError as error:
        raise ClusterError(
            f"the scheduler {address} has no workers: waited {timeout:g} s: start some by `dask worker {address}`"
        ) from error


def within(client: Any, timeout: float, call: Any, *given: Any, **named: Any) -> Any:
    """Return the result of a coroutine function of the client; raise if it takes longer than `timeout` seconds."""
    try:
        return client.sync(call, *given, asynchronous=False, callback_timeout=timeout, **named)
    except TimeoutError as error:
        raise ClusterError(f"the cluster did not answer within {timeout:g} s: raise timeout=, or restart it") from error
    except OSError as error:
        raise lost_scheduler(client) from error


def living(client: Any, timeout: float) -> set[str]:
    """Return the addresses of the living workers."""
    if client.status != "running":
        raise lost_scheduler(client)
    return set(within(client, timeout, client.scheduler.ncores))


def lost_scheduler(client: Any) -> ClusterError:
    """Return the error for a scheduler that is gone."""
    address = getattr(client.scheduler, "address", "")
    return ClusterError(f"the scheduler {address} is lost: start a new cluster, and resume from the checkpoint")
