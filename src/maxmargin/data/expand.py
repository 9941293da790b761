"""Feature expansion: features computed from others while rows are read, instead of stored.

    poly2              √2 x_i, x_i² and √2 x_i x_j: ⟨φ(x), φ(z)⟩ = (⟨x, z⟩ + 1)² − 1
    hash:SIZE          column j is added to column h(j) of SIZE, with a sign ±1 from another bit of h; SIZE may be 2**20
    fourier:M:GAMMA    √(2/M) (cos Wx, sin Wx), W normal, variance 2γ: approximates a Gaussian kernel; γ is 1 if omitted
    kmers:K            counts of the 4^K words of K letters in a sequence of the letters A, C, G, T (see dna)

This text determines an expansion completely. A model stores it, and so expands new rows in the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Protocol

import numpy as np

from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows, matrix_of, row_lengths
from maxmargin.errors import DataError, ParameterError
from maxmargin.system.compiled import compiled

KNOWN = "poly2, hash:SIZE, fourier:M, fourier:M:GAMMA and kmers:K"
MOST_COLUMNS = 2**31 - 2
WIDEST_POLY2 = 65_534  # Largest number of features whose products int32 can index.
LONGEST_WORD = 15
CHUNK = 256  # Random frequencies are drawn for this many features at once.


class Expansion(Protocol):
    """A map from rows to rows with more features."""

    @property
    def text(self) -> str:
        """The name of the expansion with its parameters. It determines the expansion completely."""

    def columns(self, d: int) -> int:
        """Return the number of features after expansion of d features."""

    def sizes(self, rows: Rows) -> np.ndarray:
        """Return the number of values of each row after expansion, or an upper bound."""

    def apply(self, rows: Rows) -> Rows:
        """Return the expanded rows."""


@dataclass(frozen=True)
class Poly2:
    """All products of two features."""

    text: str = "poly2"

    def columns(self, d: int) -> int:
        """Return the number of pairs i ≤ j of 1, x_1, ..., x_d without 1·1. Column numbers do not depend on d."""
        if d > WIDEST_POLY2:
            raise DataError(f"poly2 of {d:,} features has too many products: take hash:2**16 first, or fewer features")
        return (d + 1) * (d + 2) // 2 - 1

    def sizes(self, rows: Rows) -> np.ndarray:
        """Return ℓ (ℓ + 3) / 2 for each row with ℓ stored values."""
        lengths = row_lengths(sparse_of(rows))
        return np.asarray(lengths * (lengths + 3) // 2)

    def apply(self, rows: Rows) -> Csr:
        """Return the products, in the order of their columns."""
        self.columns(count_columns(rows))
        few = sparse_of(rows)
        indptr = np.concatenate([[0], np.cumsum(self.sizes(few))])
        values, indices = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int32)
        multiply(few.values, few.indices, few.indptr, values, indices)
        return Csr(values, indices, indptr, self.columns(few.d))


@dataclass(frozen=True)
class Hash:
    """Feature hashing: columns are mapped to a smaller number of columns."""

    text: str
    size: int

    def columns(self, d: int) -> int:
        """Return `size`."""
        return self.size

    def sizes(self, rows: Rows) -> np.ndarray:
        """Return the number of stored values of each row, an upper bound."""
        return row_lengths(sparse_of(rows))

    def apply(self, rows: Rows) -> Csr:
        """Move each value to its new column; values in the same column are added."""
        few = sparse_of(rows)
        values, indices = few.values.astype(np.float64), np.empty(len(few.values), dtype=np.int32)
        indptr = np.zeros(len(few.indptr), dtype=np.int64)
        end = scatter(few.indices, few.indptr, self.size, values, indices, indptr)
        return Csr(values[:end].copy(), indices[:end].copy(), indptr, self.size)


@dataclass(frozen=True)
class Fourier:
    """Random Fourier features."""

    text: str
    components: int
    gamma: float
    drawn: list[np.ndarray] = field(default_factory=list, repr=False, compare=False)

    def columns(self, d: int) -> int:
        """Return `components`."""
        return self.components

    def sizes(self, rows: Rows) -> np.ndarray:
        """Return `components` for each row."""
        return np.full(count_rows(rows), self.components)

    def apply(self, rows: Rows) -> Dense:
        """Return the cosines, then the sines."""
        d, half = count_columns(rows), self.components // 2
        while len(self.drawn) * CHUNK < d:
            rng = np.random.default_rng([half, len(self.drawn)])
            self.drawn.append(sqrt(2.0 * self.gamma) * rng.normal(size=(CHUNK, half)))
        X, phases = matrix_of(rows), np.zeros((count_rows(rows), half))
        for start, W in zip(range(0, d, CHUNK), self.drawn, strict=False):
            phases += X[:, start : min(start + CHUNK, d)] @ W[: min(CHUNK, d - start)]
        out = np.empty((len(phases), 2 * half), dtype=np.float32)
        write_waves(phases, out, np.float32(1.0 / sqrt(half)))
        return Dense(out)


@dataclass(frozen=True)
class Kmers:
    """Counts of words of K letters, which `DnaSource` has already computed."""

    text: str
    k: int

    def columns(self, d: int) -> int:
        """Return 4^K, the number of words of K letters."""
        return int(4**self.k)

    def sizes(self, rows: Rows) -> np.ndarray:
        """Return the number of stored values of each row."""
        return row_lengths(sparse_of(rows))

    def apply(self, rows: Rows) -> Rows:
        """Return the rows unchanged."""
        return rows


def find_expansion(text: Any) -> Expansion | None:
    """Return the expansion that a text names; None for None."""
    if text is None:
        return None
    name, *numbers = str(text).split(":")
    try:
        if name == "poly2" and not numbers:
            return Poly2()
        if name == "hash" and len(numbers) == 1:
            return Hash(str(text), checked(whole(numbers[0]), 2, MOST_COLUMNS, "SIZE", text))
        if name == "kmers" and len(numbers) == 1:
            return Kmers(str(text), checked(whole(numbers[0]), 1, LONGEST_WORD, "K", text))
        if name == "fourier" and len(numbers) in (1, 2):
            components = checked(whole(numbers[0]), 2, MOST_COLUMNS, "M", text)
            return Fourier(str(text), components + components % 2, positive(numbers[1]) if numbers[1:] else 1.0)
    except ValueError:
        pass
    raise ParameterError(f"expand={text!r} is not known: write one of {KNOWN}, such as hash:2**20 or fourier:2000:0.1")


def whole(text: str) -> int:
    """Parse a whole number, which may be written as a power: 2**20 or 2^20."""
    found = re.fullmatch(r"(\d+)(?:(?:\*\*|\^)(\d+))?", text.strip())
    if found is None or len(found[2] or "") > 2:
        raise ValueError(text)
    return int(int(found[1]) ** int(found[2] or 1))


def positive(text: str) -> float:
    """Parse a finite number above 0."""
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise ValueError(text)
    return value


def checked(value: int, least: int, most: int, name: str, text: Any) -> int:
    """Return the value; raise if it is not within its limits."""
    if not least <= value <= most:
        raise ParameterError(f"expand={text!r}: {name} must be from {least} to {most}")
    return value


def sparse_of(rows: Rows) -> Csr:
    """Return the rows as CSR; zeros of dense rows are omitted."""
    if isinstance(rows, Csr):
        return rows
    where = rows.values != 0.0
    indptr = np.concatenate([[0], np.cumsum(np.sum(where, axis=1))])
    return Csr(rows.values[where], np.nonzero(where)[1].astype(np.int32), indptr, rows.values.shape[1])


def write_waves(phases: np.ndarray, out: np.ndarray, scale: Any) -> None:
    """Write cosines of the phases, then sines, times `scale`, to `out`: random Fourier features (Rahimi and Recht)."""
    half = phases.shape[1]
    out[:, :half], out[:, half:] = np.cos(phases), np.sin(phases)
    out *= scale


@compiled
def multiply(x, columns, indptr, values, indices):
    """Write √2 x_j, √2 x_i x_j for i < j, and x_j², for every j of every row."""
    root, to = sqrt(2.0), 0
    for i in range(indptr.size - 1):
        for q in range(indptr[i], indptr[i + 1]):
            j = np.int64(columns[q]) + 1
            first = j * (j + 1) // 2 - 1
            values[to], indices[to] = root * x[q], first
            to += 1
            for p in range(indptr[i], q):
                values[to], indices[to] = root * x[p] * x[q], first + columns[p] + 1
                to += 1
            values[to], indices[to] = np.float64(x[q]) * x[q], first + j
            to += 1


@compiled
def scatter(columns, indptr, size, values, indices, ends):
    """Move values to their columns h(j) in place, sorted, and add those in the same column; return their number."""
    to = 0
    for i in range(indptr.size - 1):
        start, stop = indptr[i], indptr[i + 1]
        row = np.empty(stop - start, dtype=np.int64)
        for p in range(start, stop):
            z = np.uint64(columns[p]) + np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
            row[p - start] = np.int64((z >> np.uint64(1)) % np.uint64(size))
            if z & np.uint64(1):
                values[p] = -values[p]
        order = np.argsort(row)
        sorted_values = np.empty(stop - start)
        for p in range(stop - start):
            sorted_values[p] = values[start + order[p]]
        first = to
        for p in range(stop - start):
            j = row[order[p]]
            if to > first and indices[to - 1] == j:
                values[to - 1] += sorted_values[p]
            else:
                indices[to], values[to] = j, sorted_values[p]
                to += 1
        ends[i + 1] = to
    return to
