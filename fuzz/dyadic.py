"""Exact arithmetic on arrays of floats.

A float64 is a whole number times a power of two. `Dyadic` keeps an array of Python integers with one common exponent,
so that sums, products and inner products are exact, and fast: NumPy loops over the integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

MANTISSA = 53  # bits of a float64
FINE = 1500  # bits of a ratio: what is left, times a value of 1e308, is nothing


@dataclass(frozen=True, eq=False)
class Dyadic:
    """The numbers `ints` · 2^`exponent`."""

    ints: np.ndarray
    exponent: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ints", np.asarray(self.ints, dtype=object))  # NumPy unpacks single numbers

    def __add__(self, other: Dyadic) -> Dyadic:
        low = min(self.exponent, other.exponent)
        return Dyadic(self.at(low) + other.at(low), low)

    def __sub__(self, other: Dyadic) -> Dyadic:
        return self + (-other)

    def __neg__(self) -> Dyadic:
        return Dyadic(-self.ints, self.exponent)

    def __mul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(self.ints * other.ints, self.exponent + other.exponent)

    def __matmul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(np.dot(self.ints, other.ints), self.exponent + other.exponent)

    def __abs__(self) -> Dyadic:
        return Dyadic(np.abs(self.ints), self.exponent)

    def __getitem__(self, place: Any) -> Dyadic:
        return Dyadic(self.ints[place], self.exponent)

    def __len__(self) -> int:
        return len(self.ints)

    @property
    def T(self) -> Dyadic:
        """Transposed."""
        return Dyadic(self.ints.T, self.exponent)

    def at(self, exponent: int) -> np.ndarray:
        """The integers at a lower exponent."""
        return self.ints if exponent == self.exponent else self.ints * (1 << (self.exponent - exponent))

    def positive_part(self) -> Dyadic:
        """max(0, ·)."""
        return Dyadic(np.where(self.ints > 0, self.ints, 0), self.exponent)

    def sum(self) -> Dyadic:
        """The sum of all."""
        return Dyadic(self.ints.sum(), self.exponent)

    def fraction(self) -> Fraction:
        """A single number as a fraction."""
        return scaled(int(self.ints), self.exponent)

    def fractions(self) -> list[Fraction]:
        """Each of them as a fraction."""
        return [scaled(int(value), self.exponent) for value in self.ints.reshape(-1)]


def scaled(whole: int, exponent: int) -> Fraction:
    """The whole number times a power of two."""
    return Fraction(whole << exponent) if exponent >= 0 else Fraction(whole, 1 << -exponent)


def dyadic(values: Any) -> Dyadic:
    """Finite floats, exactly."""
    array = np.asarray(values, dtype=np.float64)
    mantissas, exponents = np.frexp(array)
    whole = (mantissas * 2.0**MANTISSA).astype(np.int64).reshape(-1)
    exponents = exponents.reshape(-1).astype(int) - MANTISSA
    low = int(exponents[whole != 0].min()) if np.any(whole) else 0
    shifts = np.where(whole != 0, exponents - low, 0)
    ints = np.empty(len(whole), dtype=object)
    ints[:] = [value << shift for value, shift in zip(whole.tolist(), shifts.tolist(), strict=True)]
    return Dyadic(ints.reshape(array.shape), low)


def lifted(values: Dyadic, lo: Dyadic, hi: Dyadic, total: Dyadic) -> tuple[Dyadic, Dyadic, Dyadic, int]:
    """Four quantities at one exponent."""
    low = min(values.exponent, lo.exponent, hi.exponent, total.exponent)
    return Dyadic(values.at(low), low), Dyadic(lo.at(low), low), Dyadic(hi.at(low), low), int(total.at(low))


def nearly_balanced(values: Dyadic) -> Dyadic:
    """Values whose positive and negative sums are the same to 2⁻¹⁵⁰⁰ of them: the larger side is made smaller."""
    positive = values.ints > 0
    up, down = int(values.ints[positive].sum()), -int(values.ints[~positive].sum())
    more, less = max(up, down), min(up, down)
    ratio = (less << FINE) // more if more else 0
    heavier = positive if up > down else ~positive
    factors = np.array([ratio if heavy else 1 << FINE for heavy in heavier], dtype=object)
    return Dyadic(values.ints * factors, values.exponent - FINE)


def with_sum(values: Dyadic, lo: Dyadic, hi: Dyadic, total: Dyadic) -> Dyadic | None:
    """Values moved into their box and to an exact sum; None if the box has no such point.

    Those inside their box move first, the one with most room before the others.
    """
    values, lo, hi, target = lifted(values, lo, hi, total)
    ints = np.where(values.ints < lo.ints, lo.ints, np.where(values.ints > hi.ints, hi.ints, values.ints))
    surplus = int(ints.sum()) - target
    rooms = ints - lo.ints if surplus > 0 else hi.ints - ints
    inside = (lo.ints < ints) & (ints < hi.ints)
    for place in sorted(range(len(ints)), key=lambda k: (inside[k], rooms[k]), reverse=True):
        if surplus == 0:
            break
        step = min(rooms[place], abs(surplus))
        ints[place] += -step if surplus > 0 else step
        surplus += -step if surplus > 0 else step
    return Dyadic(ints, values.exponent) if surplus == 0 else None
