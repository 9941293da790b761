"""Where partitions come from: they can be made at any time, also again after the loss of a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from maxmargin.cluster.partition import from_blocks, from_file
from maxmargin.data.encoding.encoder import Encoder, encoder_of
from maxmargin.models.scaling import divisors_in, saved


class Origin(Protocol):
    """Partitions that can be computed on the workers; they are encoded, or their features divided, if that is given."""

    encoder: Encoder | None
    divisors: np.ndarray | None

    @property
    def count(self) -> int:
        """Number of partitions."""

    def submit(self, client: Any, numbers: Sequence[int]) -> list[Any]:
        """Start to compute partitions on the workers; return a future of a `Partition` for each."""


@dataclass(eq=False)
class Blocks:
    """Blocks of a Dask collection: (X, y, weights) of each partition, delayed."""

    blocks: Sequence[tuple[Any, Any, Any]]
    encoder: Encoder | None = None
    divisors: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of partitions."""
        return len(self.blocks)

    def submit(self, client: Any, numbers: Sequence[int]) -> list[Any]:
        """Compute the graph of each partition."""
        from dask import delayed

        make, more = delayed(from_blocks, pure=False), on_workers(client, self)
        return list(client.compute([make(number, *self.blocks[number], *more) for number in numbers]))


@dataclass(eq=False)
class FileParts:
    """Files, one for each partition, which any worker can read; `share` is the number of partitions of a worker.

    `weights_column` is the column of weights, if there is one: it is no feature.
    """

    paths: Sequence[Path]
    how: Sequence[dict[str, Any]]
    share: int
    weights_column: str | None = None
    encoder: Encoder | None = None
    divisors: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of partitions."""
        return len(self.paths)

    def submit(self, client: Any, numbers: Sequence[int]) -> list[Any]:
        """Read each file on some worker."""
        more = on_workers(client, self)
        return [
            client.submit(from_file, number, self.paths[number], self.how[number], self.share, *more, pure=False)
            for number in numbers
        ]


def on_workers(client: Any, origin: Origin) -> tuple[Any, Any]:
    """Return futures of the encoder and of the divisors, if there are any.

    They are sent to each worker once. They are tasks, so that they outlive any worker.
    """
    encoder, divisors = origin.encoder, origin.divisors
    return (
        None if encoder is None else client.submit(encoder_of, dict(encoder.saved())),
        None if divisors is None else client.submit(divisors_in, saved(divisors)),
    )
