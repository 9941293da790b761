"""The divisors of scaled features on a cluster: a task a partition, merged in a tree of tasks (see data/scaling).

Tasks return errors and do not raise them, as in partition.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.cluster.origin import Blocks, FileParts, Origin
from maxmargin.cluster.partition import files_on_worker, placed
from maxmargin.cluster.table_parts import Cluster, answered
from maxmargin.data.scaling import check_not_encoded, divisors_from, larger, largest, sizes_of_source
from maxmargin.data.take import take
from maxmargin.errors import MaxmarginError


def divisors_on_cluster(origin: Origin, cluster: Cluster) -> np.ndarray:
    """Return the divisors of all rows, after a task a partition; refuse an encoded table."""
    check_not_encoded(origin.encoder)
    return divisors_from(cluster.merged(tasks_of(origin, cluster), larger_of))


def tasks_of(origin: Origin, cluster: Cluster) -> list[Any]:
    """Start a task for each partition that finds the sizes of its features."""
    if isinstance(origin, FileParts):
        given = zip(range(origin.count), origin.paths, origin.how, strict=True)
        return [cluster.client.submit(sizes_of_file, *one, origin.share, pure=False) for one in given]
    from dask import delayed

    assert isinstance(origin, Blocks)
    sizes = delayed(sizes_of_block, pure=False)
    return list(cluster.client.compute([sizes(number, X) for number, (X, _, _) in enumerate(origin.blocks)]))


def sizes_of_file(number: int, path: Path, how: dict[str, Any], share: int) -> np.ndarray | Exception:
    """Return the largest absolute value of each feature of a file, on a worker."""

    def run() -> np.ndarray:
        files = files_on_worker(path, how, share)
        sizes = sizes_of_source(files.source, files.budget)
        assert sizes is not None
        return sizes

    return answered(number, run)


def sizes_of_block(number: int, X: Any) -> np.ndarray | Exception:
    """Return the largest absolute value of each feature of a block in memory."""
    try:
        return larger(np.zeros(0), take(X))
    except MaxmarginError as error:
        return placed(error, f"partition {number}")


def larger_of(one: np.ndarray | Exception, other: np.ndarray | Exception) -> np.ndarray | Exception:
    """Return the larger sizes of two parts of the rows, or the first error."""
    if isinstance(one, Exception):
        return one
    return other if isinstance(other, Exception) else largest(one, other)
