"""The base class of problems with rows in memory: sizes, norms, and immediate certificates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.passes import squared_norms
from maxmargin.data.rows import Rows, count_columns, count_rows, longest_row
from maxmargin.system.lazy import lazy
from maxmargin.system.rounding import UNDERFLOW


class Offer(NamedTuple):
    """A point to certify, and the function that certifies it."""

    certify: Callable[[Any, Any], Any]
    problem: Any
    point: Any

    def certified(self) -> Any:
        """Certify the point."""
        return self.certify(self.problem, self.point)

    def tightened(self, found: Any) -> Any:
        """Return a certificate of the point with a smaller rounding bound than `found`, if there is one."""
        return self.problem.tightened(self.point, found)


class InMemory:
    """A problem with `rows` in memory. `summary` and `arrays` distinguish it from other problems with the same rows."""

    immediate = True  # a certificate is computed immediately
    rows_at_hand = True  # a checkpoint holds the best model, which can be checked against the rows
    rows: Rows
    threads: int
    summary: Any
    arrays: Any

    def opened(self, seed: int) -> AbstractContextManager[None]:
        """Do nothing: there is nothing to open."""
        return nullcontext()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def kept_aside(self, found: Any) -> Any:
        """Return the point itself: later points do not overwrite its arrays."""
        return found

    def tightened(self, point: Any, found: Any) -> Any:
        """Return the certificate itself: its rounding bound is as small as it can be."""
        return found

    def fingerprint(self, solver: str, seed: int) -> dict[str, Any]:
        """Return the identity of a run: a digest of the data, the problem, the solver and the seed."""
        return {**self.summary, "solver": solver, "seed": seed, "data": digest_of(*self.rows, *self.arrays)}

    @lazy
    def n(self) -> int:
        """Number of examples."""
        return count_rows(self.rows)

    @lazy
    def d(self) -> int:
        """Number of features."""
        return count_columns(self.rows)

    @lazy
    def squared_norms(self) -> np.ndarray:
        """‖x_i‖² of every row."""
        return squared_norms(self.rows, self.threads)

    @lazy
    def norms(self) -> np.ndarray:
        """‖x_i‖ of every row, with a bound on the underflow of the squares added."""
        return np.asarray(np.sqrt(self.squared_norms) + UNDERFLOW * self.longest)

    @lazy
    def longest(self) -> int:
        """The largest number of values stored in a row."""
        return longest_row(self.rows)


def digest_of(*values: Any) -> str:
    """Return a digest of the values: of the bytes of arrays, and of the repr of anything else."""
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        digest.update(
            np.ascontiguousarray(value).data.cast("B") if isinstance(value, np.ndarray) else repr(value).encode()
        )
    return digest.hexdigest()
