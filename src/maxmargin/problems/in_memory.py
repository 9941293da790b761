"""What problems share whose rows are in memory: sizes, norms, and certificates that come at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.passes import squared_norms
from maxmargin.data.rows import Rows, count_columns, count_rows, longest_row
from maxmargin.system.rounding import UNDERFLOW


class Offer(NamedTuple):
    """A point of a problem: its certificate can be had at once."""

    certify: Callable[[Any, Any], Any]
    problem: Any
    point: Any

    def certified(self) -> Any:
        """The point, certified."""
        return self.certify(self.problem, self.point)


class InMemory:
    """A problem with `rows`, `threads`, and a `summary` and `arrays` that identify it among those with these rows."""

    immediate = True  # a certificate comes at once
    rows: Rows
    threads: int
    summary: Any
    arrays: Any

    def opened(self, seed: int) -> AbstractContextManager[None]:
        """Nothing is to be opened."""
        return nullcontext()

    def close(self) -> None:
        """Nothing is to be closed."""

    def kept_aside(self, found: Any) -> Any:
        """A certified point that outlasts the next one: each has arrays of its own."""
        return found

    def fingerprint(self, solver: str, seed: int) -> dict[str, Any]:
        """What makes a run this run: the data by digest, the problem and the solver by name."""
        return {**self.summary, "solver": solver, "seed": seed, "data": digest_of(*self.rows, *self.arrays)}

    @property
    def n(self) -> int:
        """Number of examples."""
        return count_rows(self.rows)

    @property
    def d(self) -> int:
        """Number of features."""
        return count_columns(self.rows)

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """‖x_i‖² of every row."""
        return squared_norms(self.rows, self.threads)

    @cached_property
    def norms(self) -> np.ndarray:
        """‖x_i‖ of every row, with a bound on the underflow of the squares added."""
        return np.asarray(np.sqrt(self.squared_norms) + UNDERFLOW * self.longest)

    @cached_property
    def longest(self) -> int:
        """The most values stored in a row."""
        return longest_row(self.rows)


def digest_of(*values: Any) -> str:
    """The digest of arrays by their bytes, of anything else by how it is written."""
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        digest.update(
            np.ascontiguousarray(value).data.cast("B") if isinstance(value, np.ndarray) else repr(value).encode()
        )
    return digest.hexdigest()
