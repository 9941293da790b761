"""Vectorised e^t for t ≤ 0 over arrays. NumPy's exp takes several times as long in float64.

Write t = k log 2 + r with an integer k and |r| ≤ ½ log 2. Then e^t = 2^k e^r, and e^r is its Taylor series. Adding
1.5·2^52 rounds a number to an integer, which is then in the lowest bits. Shifting these bits to the position of the
exponent gives 2^k. In float32 the constant is 1.5·2^23.
"""

from __future__ import annotations

import numpy as np

from maxmargin.system.compiled import compiled, exact

TO_INTEGER = 1.5 * 2.0**52  # Added and subtracted again, it rounds to an integer.
PER_LOG_2 = 1.4426950408889634  # 1 / log 2
LOG_2_HIGH = 0.6931471803691238  # log 2 with zeros in its low bits, so that k times it is exact
LOG_2_LOW = 1.9082149292705877e-10  # log 2 − LOG_2_HIGH
LOWEST = -708.0  # e^t of smaller t underflows.

TO_INTEGER_32 = np.float32(1.5 * 2.0**23)
PER_LOG_2_32 = np.float32(PER_LOG_2)
LOG_2_HIGH_32 = np.float32(0.693359375)
LOG_2_LOW_32 = np.float32(-2.12194440e-4)
LOWEST_32 = np.float32(-87.0)
# Coefficients of the Taylor series, C for float32 and D for float64.
ONE, HALF, SIXTH = np.float32(1.0), np.float32(0.5), np.float32(1.0 / 6.0)
C4, C5, C6, C7 = np.float32(1 / 24), np.float32(1 / 120), np.float32(1 / 720), np.float32(1 / 5040)
D3, D4, D5, D6, D7, D8 = 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320
D9, D10, D11, D12, D13 = 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600, 1 / 6227020800


@exact
def exp_line(t, work):
    """Compute e^t in place, in float64."""
    for c in range(t.size):
        x = max(t[c], LOWEST)
        y = x * PER_LOG_2 + TO_INTEGER
        work[c] = y
        k = y - TO_INTEGER
        r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
        s = r * r
        low = (1.0 + r) + s * (0.5 + r * D3)
        middle = (D4 + r * D5) + s * (D6 + r * D7)
        high = (D8 + r * D9) + s * ((D10 + r * D11) + s * (D12 + r * D13))
        t[c] = low + (s * s) * (middle + (s * s) * high)
    bits = work.view(np.int64)
    for c in range(t.size):
        bits[c] = (bits[c] + 1023) << 52
    for c in range(t.size):
        t[c] *= work[c]


@exact
def exp_line_32(t, work):
    """Compute e^t in place, in float32."""
    for c in range(t.size):
        x = max(t[c], LOWEST_32)
        y = x * PER_LOG_2_32 + TO_INTEGER_32
        work[c] = y
        k = y - TO_INTEGER_32
        r = (x - k * LOG_2_HIGH_32) - k * LOG_2_LOW_32
        s = r * r
        low = (ONE + r) + s * (HALF + r * SIXTH)
        t[c] = low + (s * s) * ((C4 + r * C5) + s * (C6 + r * C7))
    bits = work.view(np.int32)
    for c in range(t.size):
        bits[c] = (bits[c] + np.int32(127)) << np.int32(23)
    for c in range(t.size):
        t[c] *= work[c]


@compiled
def gaussian(values, a, b, twice):
    """Turn ⟨x, z⟩ into exp(−γ‖x − z‖²) in place, given a = γ‖x‖², b = γ‖z‖² and twice = 2γ, in float64."""
    work = np.empty(b.size)
    for i in range(a.size):
        line = values[i]
        for c in range(b.size):
            line[c] = min(twice * line[c] - a[i] - b[c], 0.0)
        exp_line(line, work)


@compiled
def gaussian_32(values, a, b, twice):
    """Like `gaussian`, in float32."""
    work = np.empty(b.size, np.float32)
    for i in range(a.size):
        line = values[i]
        for c in range(b.size):
            line[c] = min(twice * line[c] - a[i] - b[c], np.float32(0.0))
        exp_line_32(line, work)
