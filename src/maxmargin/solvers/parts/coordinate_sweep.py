"""One sweep of dual coordinate descent, compiled.

Step     G = m − d_i′(α_i),  m = y_i(⟨w, x_i⟩ + b);   α_i ← the best value of α_i alone, unless G points out of its box
Keeps    w, b = c + B² s and s = Σ α_i y_i, after every step; the violations |G|, and the gap summed over the visits
Drops    an example at a bound whose G is beyond every violation of the sweep before (shrinking)
After    Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.rows import announce, axpy, dot, fetch
from maxmargin.problems.dual_terms import DualTerm, best, fenchel_young_gap, slope
from maxmargin.solvers.parts.sweeps import shuffle
from maxmargin.system.compiled import compiled, kernel
from maxmargin.system.prefetch import prefetch

# Prefetching halves the time of a sweep in random order over data larger than the CPU caches.
NUMBERS_AHEAD = 4  # label, α and other numbers of an example are prefetched this many visits early
ROW_AHEAD = 2  # its row is prefetched this many visits early, when the address of the row is in cache


class Examples(NamedTuple):
    """The data that a sweep reads: rows, labels, d_i with its box, ‖x_i‖², and B²."""

    rows: Any  # Rows, or the rows of a cache: accessed through the functions of data/rows
    y: np.ndarray
    term: DualTerm
    Q: np.ndarray
    B2: float


@compiled
def sweep(examples, alpha, w, order, violations, start, stop, drop, seen, sigma):
    """Visit order[start:stop], moving the kept examples to the front. Takes and returns the fields of Seen.

    An example at a bound is dropped if its G is outside the range `drop`. With several threads ‖x_i‖² is multiplied by
    σ (see parts/cocoa); a single thread has σ = 1. Arguments are plain tuples, because passing named tuples to compiled
    code takes as long as a short sweep.
    """
    rows, y, term, Q, B2 = examples
    drop_below, drop_above = drop
    b, s, kept, low, high, gap = seen
    for k in range(start, stop):
        if k + NUMBERS_AHEAD < stop:
            ask_for(rows, y, term, Q, alpha, order[k + NUMBERS_AHEAD])
            fetch(rows, order[k + ROW_AHEAD])
        i = order[k]
        m = y[i] * (dot(rows, i, w) + b)
        G = m - slope(term, i, alpha[i])
        gap += fenchel_young_gap(term, i, alpha[i], m)
        if stays(G, alpha[i], term.U[i], drop_below, drop_above):
            continue
        G = projected(G, alpha[i], term.U[i])
        order[kept], violations[kept] = i, abs(G)
        kept += 1
        low, high = min(low, G), max(high, G)
        if G != 0.0:
            new = best(term, i, alpha[i], m, sigma * (Q[i] + B2))
            change = (new - alpha[i]) * y[i]
            alpha[i] = new
            axpy(rows, i, sigma * change, w)
            s += change
            b += B2 * sigma * change
    return b, s, kept, low, high, gap


@kernel
def stays(G, alpha, U, drop_below, drop_above):
    """Return whether α is at a bound and its G is beyond every violation of the last sweep."""
    if alpha == 0.0:
        return G > drop_above > 0.0
    return alpha == U and G < drop_below < 0.0


@kernel
def projected(G, alpha, U):
    """Return the projected gradient: G, or 0 if the step −G points out of the box."""
    if alpha == 0.0:
        return min(G, 0.0)
    return max(G, 0.0) if alpha == U else G


@compiled
def ask_for(rows, y, term, Q, alpha, i):
    """Prefetch the numbers of example i."""
    announce(rows, i)
    prefetch(y, i)
    prefetch(term.U, i)
    prefetch(Q, i)
    prefetch(alpha, i)


@compiled
def resolve_hot(examples, alpha, w, b, s, hot, seed, most, enough):
    """Visit the hot examples until none violates by more than `enough`, or `most` visits are used up."""
    violations, visited = np.empty(hot.size), 0
    while visited + hot.size <= most:
        shuffle(hot, seed + visited)
        seen = b, s, 0, np.inf, -np.inf, 0.0
        b, s, _, low, high, _ = sweep(examples, alpha, w, hot, violations, 0, hot.size, (-np.inf, np.inf), seen, 1.0)
        visited += hot.size
        if max(-low, high) <= enough:
            break
    return b, s, visited
