"""The encoder of a table in parts on a cluster: statistics by a task a part, merged in a tree of tasks.

Only the merged statistics come to the client, with a sample of at most 20,000 rows. The encoder is fitted there, once.
Tasks return errors and do not raise them, as in partition.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from maxmargin.cluster.actors import wait
from maxmargin.cluster.connection import living, within
from maxmargin.cluster.origin import Blocks, FileParts
from maxmargin.cluster.partition import files_on_worker, placed
from maxmargin.data.encoding.arrow_columns import NotNumbersError
from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.encoding.fit import fit_encoder
from maxmargin.data.encoding.frames import encoder_beside_labels, frame_statistics, is_table
from maxmargin.data.encoding.request import Request
from maxmargin.data.encoding.statistics import TableStatistics
from maxmargin.data.table_parts import Look, agreed, look_at, part_of_table
from maxmargin.errors import DataError, MaxmarginError, ParameterError

T = TypeVar("T")


class Cluster(NamedTuple):
    """A cluster, and how many seconds it is waited for."""

    client: Any
    timeout: float

    def workers(self) -> set[str]:
        """Return the addresses of the living workers."""
        return living(self.client, self.timeout)

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks; raise the first error among them."""
        wait(self, list(futures), None)
        found = within(self.client, self.timeout, self.client._gather, list(futures))
        for one in found:
            if isinstance(one, Exception):
                raise one
        return list(found)

    def merged(self, parts: Sequence[Any], together: Callable[[Any, Any], Any]) -> Any:
        """Merge the results of tasks, neighbours first, on the workers; return what `together` makes of them."""
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            last = parts[-1:] if len(parts) % 2 else []
            parts = [*(self.client.submit(together, one, other, pure=False) for one, other in pairs), *last]
        return self.results(parts)[0]


def encoder_of_files(origin: FileParts, request: Request, cluster: Cluster) -> Encoder | None:
    """Return the encoder of files that are tables; None for other files."""
    given = list(zip(range(origin.count), origin.paths, origin.how, strict=True))
    submit = partial(cluster.client.submit, pure=False)
    looks = [one for one in cluster.results([submit(looked, *one, origin.share) for one in given]) if one is not None]
    if not looks or not all(look.encodable for look in looks):
        refuse_wishes(request)
        return None
    request = request._replace(label=looks[0].label, weights=origin.weights_column)
    guessed = agreed(looks)

    def scan(types: Mapping[str, bool]) -> TableStatistics:
        more = (origin.share, request, {**guessed, **types})
        found: TableStatistics = cluster.merged([submit(statistics_of_file, *one, *more) for one in given], sum_of)
        return found

    return fit_encoder(scan, request, str(origin.paths[0]), typed=not guessed)


def encoder_of_frames(origin: Blocks, request: Request, cluster: Cluster) -> Encoder | None:
    """Return the encoder of blocks that are data frames; None for arrays. The first block tells which they are."""
    from dask import delayed

    compute = cluster.client.compute
    if not cluster.results(compute([delayed(is_table, pure=False)(origin.blocks[0][0])]))[0]:
        refuse_wishes(request)
        return None
    statistics = delayed(statistics_of_frame, pure=False)
    found = cluster.merged(
        compute([statistics(number, X, y, request) for number, (X, y, _) in enumerate(origin.blocks)]), sum_of
    )
    if not found.rows:
        raise DataError("X has 0 rows in all partitions: there is nothing to train on")
    return encoder_beside_labels(found, request)


def refuse_wishes(request: Request) -> None:
    """Raise if columns are named that rows without names do not have."""
    if request.named:
        raise ParameterError(f"{request.named[0]!r} names a column of a table, and X is none: leave it out")


def looked(number: int, path: Path, how: dict[str, Any], share: int) -> Look | Exception | None:
    """Look at the beginning of a file, on a worker; None if it is no table."""
    return answered(number, lambda: next(map(look_at, files_on_worker(path, how, share).tables), None))


def statistics_of_file(
    number: int, path: Path, how: dict[str, Any], share: int, request: Request, types: Mapping[str, bool]
) -> TableStatistics | Exception:
    """Return the statistics of a file, on a worker."""

    def run() -> TableStatistics:
        tables = files_on_worker(path, how, share).tables
        return part_of_table(tables[0], number, request, types) if tables else TableStatistics(number, str(path))

    return answered(number, run)


def statistics_of_frame(number: int, X: Any, y: Any, request: Request) -> TableStatistics | Exception:
    """Return the statistics of a data frame, on a worker."""
    place = f"partition {number}"
    try:
        return frame_statistics(X, y, request, place, number)
    except MaxmarginError as error:
        return error


def answered(number: int, run: Callable[[], T]) -> T | Exception:
    """Return the result of a task about a file, or its error."""
    try:
        return run()
    except NotNumbersError as error:
        return error
    except MaxmarginError as error:
        return placed(error, f"partition {number}")
    except OSError as error:
        return DataError(f"partition {number}: {error.filename}: {error.strerror or error}")


def sum_of(one: TableStatistics | Exception, other: TableStatistics | Exception) -> TableStatistics | Exception:
    """Return the statistics of two parts of a table together, or the first error."""
    if isinstance(one, Exception):
        return one
    if isinstance(other, Exception):
        return other
    found = one.copy()
    try:
        found.merge(other)
    except MaxmarginError as error:
        return error
    return found
