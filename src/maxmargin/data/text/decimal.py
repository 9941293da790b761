"""Conversion of decimal text to float64, with exactly the bits of Python's float().

Reads    [+-] digits [. digits] [e [+-] digits], eight digits at a time in one machine word
Means    ± m 10^q, where m has the leading digits, as many as fit in 63 bits (18 always do)
Rounds   m ≤ 2^53, |q| ≤ 22: one exact division or product (Clinger 1990)
         else: the upper 128 bits of m 5^q, from a table of powers of five (after Lemire 2021)
Proof    the true product lies in a known interval above the computed one. If both ends round alike, the bits are
         decided. Otherwise the result is a NaN that holds the address of the number, and float() decides
Costs    about 5 ns a number. Exact ties are undecided, and one in 100 of the numbers with 19 or more digits

Text is read by address, from memory that the caller keeps alive: helpers that take an array would count references
to it on every call, which costs more than the parsing. For the same reason, all helpers are inlined. Only functions
that are called from outside need the package's `compiled`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

LARGEST = float(np.finfo(np.float64).max)
SMALLEST_POWER, LARGEST_POWER = -342, 308  # below, 19 digits round to zero; above, one digit is infinite
INFINITE = 0x7FF << 52
UNDECIDED = 0xFFF << 51  # a NaN; the address is added in its lower bits

PLUS, MINUS, POINT, ZERO, LETTER_E = b"+-.0e"
TEN_TO = np.array([10**k for k in range(9)])
ROOM_FOR = np.array([10 ** (18 - k) for k in range(9)])  # k more digits can be appended to m below this
FULL = (2**63 - 10) // 10  # one more digit can be appended to m below this
EXACT_TEN_TO = np.array([10.0**k for k in range(23)])

NOTHING = np.int64(0)
WORD_ONE, WORD_TWO_BELOW = np.uint64(1), np.uint64(2**64 - 2)

inlined = njit(error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def leading_128_bits(q: int) -> tuple[int, int]:
    """Return 5^q without its binary exponent, truncated to 128 bits, as two words."""
    power: int = 5 ** abs(q)
    length = power.bit_length()
    bits = (1 << (length + 127)) // power if q < 0 else (power << 128) >> length
    return bits >> 64, bits & (2**64 - 1)


POWERS = np.array([leading_128_bits(q) for q in range(SMALLEST_POWER, LARGEST_POWER + 1)], dtype=np.uint64)


@inlined
def number(p):
    """Return the number at p, a NaN that holds p if it is undecided, and its end, which is p if there is no number."""
    start = p
    negative = byte(p) == MINUS
    if negative or byte(p) == PLUS:
        p += 1
    m, end, dropped = digits(p, NOTHING)
    found, q = end - p, dropped
    if byte(end) == POINT:
        p = end + 1
        m, end, dropped = digits(p, m)
        found, q = found + end - p, q + dropped + p - end
    if found == 0:
        return 0.0, start
    if byte(end) | 32 == LETTER_E:
        e, p = exponent(end + 1)
        if p == end + 1:
            return 0.0, start
        end, q = p, q + e
    if m <= 1 << 53 and -22 <= q <= 22:
        x = m / EXACT_TEN_TO[-q] if q < 0 else m * EXACT_TEN_TO[q]
    else:
        x = rounded(m, q, start)
    return (-x if negative else x), end


@inlined
def digits(p, m):
    """Append the digits at p to m; return m, the end of the digits, and how many were dropped for lack of room."""
    y, n = leading_digits(p)
    while n == 8 and m < ROOM_FOR[8]:
        m = m * TEN_TO[8] + joined(y)
        p += 8
        y, n = leading_digits(p)
    if n < 8 and m < ROOM_FOR[n]:
        return m * TEN_TO[n] + joined((y << 8) << (56 - 8 * n)), p + n, 0
    return last_digits(p, m)


@inlined
def last_digits(p, m):
    """Like `digits`, but one digit at a time, when m approaches 63 bits."""
    dropped = 0
    while ZERO <= byte(p) < ZERO + 10:
        if m < FULL:
            m = 10 * m + byte(p) - ZERO
        else:
            dropped += 1
        p += 1
    return m, p, dropped


@inlined
def leading_digits(p):
    """Return the eight bytes at p, less "0", and the number of digits among them before any other byte."""
    y = eight_bytes(p) ^ 0x3030303030303030
    others = ((y + 0x7676767676767676) | y) & -0x7F7F7F7F7F7F7F80  # the top bit of each byte above 9
    return y, trailing_zeros(others) >> 3


@inlined
def joined(y):
    """Return the number that eight digits spell, a byte each: neighbours are joined to pairs, fours and eight."""
    y = (10 * y + (y >> 8)) & 0x00FF00FF00FF00FF
    y = (100 * y + (y >> 16)) & 0x0000FFFF0000FFFF
    return (10000 * y + (y >> 32)) & 0xFFFFFFFF


@inlined
def exponent(p):
    """Return the whole number at p, inexact beyond 10^15, and its end, which is p if there is no number."""
    start, e = p, 0
    negative = byte(p) == MINUS
    if negative or byte(p) == PLUS:
        p += 1
    first = p
    while ZERO <= byte(p) < ZERO + 10:
        if e < 10**15:
            e = 10 * e + byte(p) - ZERO
        p += 1
    return (-e if negative else e), (start if p == first else p)


@inlined
def rounded(m, q, address):
    """Return the float64 nearest to m 10^q, or a NaN with the address. Dropped digits add less than 10^q."""
    bits = nearest(m, q)
    if m >= FULL and bits != nearest(m + 1, q):
        bits = UNDECIDED
    return as_float(bits + address if bits == UNDECIDED else bits)


@inlined
def nearest(m, q):
    """Return the bits of the float64 nearest to m 10^q, or UNDECIDED."""
    if m == 0 or q < SMALLEST_POWER:
        return 0
    if q > LARGEST_POWER:
        return INFINITE
    zeros = leading_zeros(m)
    w = m << zeros
    # w 5^q, truncated, is high.low; the missing part adds less than one to `high`
    high, low = product(w, POWERS[q - SMALLEST_POWER, 0])
    top = np.int64(high >> np.uint64(63))
    e = ((217706 * q) >> 16) + 1086 + top - zeros  # biased; 217706 / 2^16 ≈ log2(10), close enough for these q
    shift = 10 + top
    if e < 1:  # subnormal: fewer bits are kept
        shift, e = shift + 1 - e, 1
    if shift > 63:
        return UNDECIDED
    half = WORD_ONE << np.uint64(shift - 1)
    rest = high & (half + half - WORD_ONE)
    if rest == half - WORD_ONE or (rest == half and low == 0):
        second, _ = product(w, POWERS[q - SMALLEST_POWER, 1])
        low += second  # now the missing part adds less than two to `low`
        if low < second:
            rest += WORD_ONE
        if (rest < half and low >= WORD_TWO_BELOW) or (rest == half and low == 0):
            return UNDECIDED
    bits = ((e - 1) << 52) + np.int64(high >> np.uint64(shift)) + (rest >= half)
    return bits if bits < INFINITE else INFINITE


@intrinsic
def byte(typing, p):
    """Return the byte at address p."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        return builder.zext(builder.load(pointer), ir.IntType(64))

    return types.int64(types.int64), generate


@intrinsic
def eight_bytes(typing, p):
    """Return the eight bytes at address p as one word, the first byte lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.int64(types.int64), generate


@intrinsic
def product(typing, a, b):
    """Return the upper and the lower word of a b, both taken as unsigned."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, double = ir.IntType(64), ir.IntType(128)
        whole = builder.mul(builder.zext(arguments[0], double), builder.zext(arguments[1], double))
        halves = builder.trunc(builder.lshr(whole, double(64)), word), builder.trunc(whole, word)
        return context.make_tuple(builder, signature.return_type, halves)

    return types.UniTuple(types.uint64, 2)(types.int64, types.uint64), generate


@intrinsic
def leading_zeros(typing, word):
    """Return the number of leading zero bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.int64), generate


@intrinsic
def trailing_zeros(typing, word):
    """Return the number of trailing zero bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.int64), generate


@intrinsic
def as_float(typing, bits):
    """Return the float64 with these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate
