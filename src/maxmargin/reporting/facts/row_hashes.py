"""A 64-bit hash of each row, to count rows that are there more than once.

Stored values are hashed with their column and added up modulo 2⁶⁴, which is exact in any order. Zeros do not count, so
sparse and dense rows have the same hash. Two different rows among a million have the same one with a probability of
about 3e-8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Dense, Rows, count_columns, count_rows, part_of_rows, row_length

VALUES_AT_ONCE = 1 << 20
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ, the multiplier of Fibonacci hashing


class Repeats(NamedTuple):
    """Rows that repeat an earlier one, and rows whose copies have different labels."""

    repeated: int
    contradicting: int


def row_hashes(rows: Rows) -> np.ndarray:
    """Return the hash of each row."""
    salts = np.random.default_rng(0).integers(1, 2**63, size=count_columns(rows), dtype=np.uint64) * np.uint64(2)
    salts += np.uint64(1)
    n, step = count_rows(rows), max(1, int(VALUES_AT_ONCE / max(row_length(rows), 1.0)))
    parts = [of_some(part_of_rows(rows, start, min(start + step, n)), salts) for start in range(0, n, step)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)


def of_some(rows: Rows, salts: np.ndarray) -> np.ndarray:
    """Return the hashes of so many rows that their values fit well into memory once more."""
    if isinstance(rows, Dense):
        return np.asarray(hashed(rows.values, salts).sum(axis=1, dtype=np.uint64))
    sums = np.append(np.uint64(0), np.cumsum(hashed(rows.values, salts[rows.indices])))
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def hashed(values: np.ndarray, salts: np.ndarray) -> np.ndarray:
    """Return the hash of each value in its column; 0 for a value of 0."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * ODD
    bits = (bits ^ (bits >> np.uint64(29))) * salts
    return np.asarray(np.where(values == 0.0, np.uint64(0), bits ^ (bits >> np.uint64(31))))


def repeats(hashes: np.ndarray, labels: np.ndarray) -> Repeats:
    """Count rows that repeat an earlier one, and rows with the same features but different labels."""
    order = np.argsort(hashes, kind="stable")
    sorted_hashes, sorted_labels = hashes[order], labels[order]
    same = sorted_hashes[1:] == sorted_hashes[:-1]
    group = np.append(0, np.cumsum(~same))
    mixed = np.zeros(group[-1] + 1, dtype=bool)
    mixed[group[1:][same & (sorted_labels[1:] != sorted_labels[:-1])]] = True
    return Repeats(int(np.count_nonzero(same)), int(np.count_nonzero(mixed[group])))
