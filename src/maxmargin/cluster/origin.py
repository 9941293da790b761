"""Where partitions come from: they can be made at any time, also again after the loss of a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from maxmargin.cluster.partition import from_blocks, from_file


class Origin(Protocol):
    """Partitions that can be computed on the workers."""

    @property
    def count(self) -> int:
        """Number of partitions."""

    def submit(self, client: Any, numbers: Sequence[int]) -> list[Any]:
        """Start to compute partitions on the workers; return a future of a `Partition` for each."""


@dataclass(eq=False)
class Blocks:
    """Blocks of a Dask collection: (X, y, weights) of each partition, delayed."""

    blocks: Sequence[tuple[Any, Any, Any]]

    @property
    def count(self) -> int:
        """Number of partitions."""
        return len(self.blocks)

    def submit(self, client: Any, numbers: Sequence[int]) -> list[Any]:
        """Compute the graph of each partition."""
        from dask import delayed

        make = delayed(from_blocks, pure=False)
        return list(client.compute([make(number, *self.blocks[number]) for number in numbers]))


@dataclass(eq=False)
class FileParts:
    """Files, one for each partition, which any worker can read; `share` is the number of partitions of a worker.

    `weights_column` is the column of weights, if there is one: it is no feature.
    """

    paths: Sequence[Path]
    how: Sequence[dict[str, Any]]
    share: int
    weights_column: str | None = None

    @property
    def count(self) -> int:
        """Number of partitions."""
        return len(self.paths)

    def submit(self, client: Any, numbers: Sequence[int]) -> list[Any]:
        """Read each file on some worker."""
        return [
            client.submit(from_file, number, self.paths[number], self.how[number], self.share, pure=False)
            for number in numbers
        ]
